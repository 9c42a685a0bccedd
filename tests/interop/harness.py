"""Running programs for one check: to their end, within a deadline, and with nothing left behind."""

import errno
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from isolation import environment, free_port

DEADLINE = 60  # seconds for one program, far above what any needs

class Failed(Exception):
    pass


@dataclass
class Check:
    name: str
    body: Callable[["Check", Path], str]  # gets a directory of its own, returns what it saw, or raises Failed
    stderr: str = ""
    report: str = ""
    needs: set[str] = field(default_factory=set)  # names of installations
    untidy: bool = False  # a helper of a program that is not ours may still write into the directory when it is removed


def short(value) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) < 400 else text[:400] + "…"


def tail(text: str, lines: int = 15) -> str:
    return "\n".join(line[:300] for line in text.splitlines()[-lines:])


def run_program(check: Check, argv: list[str], pids: Path, typed: str = "", cwd: Path | None = None) -> tuple[int, str]:
    """Runs a program to its end, at most to the deadline; afterwards nothing it started is left. It runs in the check's directory unless
    `cwd` names another one.

    Its output goes to files: a pipe would stay open for as long as any grandchild holds it.
    """
    folder = pids.parent
    (folder / "stdin").write_text(typed)
    with open(folder / "stdin") as words, open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        process = subprocess.Popen(
            argv, stdin=words, stdout=out, stderr=err, start_new_session=True, cwd=cwd or folder, env=environment(folder)
        )
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            late = process.poll() is None
            left = [] if late else still_alive(pids)
            kill_all(process, pids)
    check.stderr = (folder / "stderr").read_text(errors="replace")
    stdout = (folder / "stdout").read_text(errors="replace")
    check.report = stdout
    if late:
        raise Failed(f"no end within {DEADLINE} s; stdout so far: {short(stdout)!r}")
    if left:
        raise Failed(f"the server outlived its client (process {', '.join(map(str, left))})")
    return process.returncode, stdout


def started(pids: Path) -> list[int]:
    return [int(word) for word in pids.read_text().split()] if pids.exists() else []


def still_alive(pids: Path) -> list[int]:
    """The servers that have not ended half a second after their client has."""
    give_up = time.monotonic() + 0.5
    while True:
        left = [pid for pid in started(pids) if is_alive(pid)]
        if not left or time.monotonic() > give_up:
            return left
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def kill_all(process: subprocess.Popen, pids: Path) -> None:
    """Ends the program's process group and the servers it put into groups of their own."""
    end_groups({process.pid, *noted_groups(pids)})
    process.wait()


def end_noted(pids: Path) -> None:
    """Ends the servers whose process ids were noted, with their process groups."""
    end_groups(noted_groups(pids))


def noted_groups(pids: Path) -> set[int]:
    groups = set()
    for pid in started(pids):
        try:
            if is_alive(pid):
                groups.add(os.getpgid(pid))
        except ProcessLookupError:  # it has ended meanwhile
            pass
    return groups


def end_groups(groups: set[int]) -> None:
    for group in groups - {os.getpgrp()}:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


def noting_pids(pids: Path, argv: list[str]) -> list[str]:
    """The same command, but its process id is noted first; nothing stands between client and server."""
    return ["sh", "-c", 'echo $$ >> "$0" && exec "$@"', str(pids), *argv]


@contextmanager
def listening(argv: list[str], folder: Path) -> Iterator[str]:
    """Runs a server at a port of its own, which stands for `{port}` in its command, and gives the URL once it listens there."""
    port = free_port()
    argv = [word.replace("{port}", str(port)) for word in argv]
    with open(folder / "server", "wb") as said:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True, cwd=folder, env=environment(folder)
        )
    try:
        give_up = time.monotonic() + DEADLINE
        while True:
            if process.poll() is not None or time.monotonic() > give_up:
                raise Failed(f"the server does not listen: {tail((folder / 'server').read_text(errors='replace'))}")
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def run_at_terminal(
    check: Check, argv: list[str], pids: Path, dialogue: list[tuple[str, str | signal.Signals]]
) -> tuple[int, str]:
    """Runs a program at a terminal of its own: each text that is waited for, and what is typed or
    which signal comes then. Gives all that was shown."""
    ours, theirs = pty.openpty()
    folder = pids.parent
    env = environment(folder, COLUMNS="80", TERM="dumb")
    process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, cwd=folder, env=env)
    os.close(theirs)
    shown, looked_at, left, give_up = "", 0, list(dialogue), time.monotonic() + DEADLINE
    collected = b""
    try:
        while time.monotonic() < give_up:
            readable, _, _ = select.select([ours], [], [], 0.1)
            if not readable:
                if process.poll() is not None:
                    break
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError as error:  # how Linux says that nobody is at the other end any more
                if error.errno != errno.EIO:
                    raise
                break
            if not piece:
                break
            collected += piece
            shown = collected.decode(errors="replace").replace("\r\n", "\n")
            while left and (at := shown.find(left[0][0], looked_at)) >= 0:
                text, answer = left.pop(0)
                looked_at = at + len(text)
                if isinstance(answer, signal.Signals):
                    process.send_signal(answer)
                else:
                    os.write(ours, answer.encode())
        process.wait(max(0.1, give_up - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    finally:
        late = process.poll() is None
        alive = [] if late else still_alive(pids)
        kill_all(process, pids)
        os.close(ours)
    check.report = shown
    if left:
        raise Failed(f"{left[0][0]!r} was never shown; this was: {shown!r}")
    if late:
        raise Failed(f"no end within {DEADLINE} s; shown so far: {shown!r}")
    if alive:
        raise Failed(f"the server outlived mcp (process {', '.join(map(str, alive))})")
    return process.returncode, shown
