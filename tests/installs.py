"""Installations of other implementations, kept outside of the checkout so that every checkout uses them.

Each lies in a folder `NAME-HASH` of the cache. The hash is of all that decides what is installed: pins and interpreter. So an
installation never changes once it is complete, and checkouts with other pins have another one. The cache is $MCPLINK_CACHE, or
else `mcplink` in $XDG_CACHE_HOME or in `.cache` of the home; where neither can be written, `mcplink-cache` in the target directory.
"""

import fcntl
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target")
DEADLINE = 300  # seconds for one try of one command
TRIES = 3
PAUSE = 5  # seconds before the second try; twice as many before the third
KEPT = 7 * 24 * 3600  # seconds for which an installation is kept that nothing uses
MARK = "complete"


class Missing(Exception):
    """Something could not be installed."""


@functools.cache
def cache() -> Path:
    """The folder of all installations."""
    if named := os.environ.get("MCPLINK_CACHE"):
        folder = Path(named).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    usual = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and os.path.join(os.environ["HOME"], ".cache"))
    for folder in [Path(usual).absolute() / "mcplink"] if usual else []:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    folder = TARGET / "mcplink-cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass
class Installation:
    """One installation: its name, the files that pin it, what else decides what it is, and what fills its folder."""

    name: str
    pins: list[Path]
    extra: str
    fill: Callable[[Path], None]

    @property
    def folder(self) -> Path:
        parts = [*(pin.read_bytes() for pin in self.pins), self.extra.encode(), platform.machine().encode(), sys.platform.encode()]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(len(part).to_bytes(8, "big") + part)
        return cache() / f"{self.name}-{digest.hexdigest()[:16]}"

    def install(self) -> None:
        """Fills the folder unless it is complete. Raises Missing where that is not possible.

        The folder is filled where it stays, because a venv can't be moved. Only the mark makes it complete, and the lock keeps
        others out until then.
        """
        folder = self.folder
        mark = folder / MARK
        with open(cache() / f"{self.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not mark.exists():
                print(f"installing {self.name} …\n", end="", flush=True)
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                self.fill(folder)
            mark.touch()
            self.remove_old(folder)

    def remove_old(self, used: Path) -> None:
        """Removes other installations with this name that were not used for a week."""
        length = len(used.name)
        for old in cache().glob(f"{self.name}-*"):
            if old == used or len(old.name) != length:
                continue
            mark = old / MARK
            last = (mark if mark.exists() else old).stat().st_mtime
            if time.time() - last > KEPT:
                # Without the mark it is not used, even if the removal is interrupted.
                mark.unlink(missing_ok=True)
                shutil.rmtree(old, ignore_errors=True)


def command(argv: list[str], folder: Path | None = None, tries: int = TRIES) -> None:
    """Runs a command that downloads, several times if need be. Raises Missing with the reason of the last failure."""
    for number in range(1, tries + 1):
        why = failure_of(argv, folder)
        if why is None:
            return
        if number < tries:
            time.sleep(PAUSE * number)
    raise Missing(why)


def failure_of(argv: list[str], folder: Path | None = None, deadline: float = DEADLINE) -> str | None:
    """Runs a command; why it failed, or None."""
    words = " ".join([Path(argv[0]).name, *argv[1:4]])
    env = dict(os.environ)
    if not os.access(env.get("HOME") or "/", os.W_OK):
        env["npm_config_cache"] = str(cache() / "npm")
    try:
        done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{words}: {error}"
    if done.returncode == 0:
        return None
    said = [line.strip()[:200] for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    # npm says the reason first, and other programs last.
    reasons = [line for line in said if line.startswith("npm error")][:4] or said[-4:]
    return f"{words} ended with {done.returncode}: {'; '.join(reasons)}"


def python(name: str, pins: Path) -> Installation:
    """A venv with the packages of a list of pins."""

    def fill(folder: Path) -> None:
        command([sys.executable, "-m", "venv", str(folder)], tries=1)
        command([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r", str(pins)])

    return Installation(name, [pins], sys.version + sys.base_prefix, fill)


def node(name: str, pins: Path, *words: str) -> Installation:
    """The packages of package-lock.json in the folder `pins`."""
    files = [pins / "package.json", pins / "package-lock.json"]

    def fill(folder: Path) -> None:
        for pin in files:
            shutil.copy(pin, folder)
        command(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", *words], folder)

    return Installation(name, files, " ".join(words), fill)
