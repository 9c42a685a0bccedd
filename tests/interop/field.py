"""The servers, bridges and clients that people install, in the versions that the registries give today: `run --field`.

Each server is opened, listed and called once by `mcplink`, in each era; each bridge stands between `mcplink` and two servers, ours and
server-everything; each client lists and calls ours. Nothing is pinned here: what fails may be new, and the versions are printed.
"""

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Callable, Iterator

import installs
from harness import Check, Failed, end_noted, listening, noting_pids, run_program, short, tail

INSTALL_DEADLINE = 300  # seconds for one command
TIMEOUT = 30  # seconds that `mcplink` waits for one answer; `run_program` ends the whole run after 60
DONE, TOOL_FAILED, REFUSED, LOST = 0, 1, 3, 4
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
ERAS = ("auto", "legacy", "modern")

# Packages that a machine may lack, and why. Every other one that can't be installed makes the run fail.
MAY_LACK = {
    "@anthropic-ai/claude-code": "its program is fetched when it is installed, and there is none for some machines",
}


class Unavailable(Exception):
    """A package that a check needs could not be installed."""


# --- packages -------------------------------------------------------------------------------------------------------------------


@dataclass
class Package:
    """A package of a registry, installed by its name into a directory of its own."""

    name: str
    registry: str  # npm or PyPI
    program: str = ""  # the command that it installs; defaults to the package's name
    scripts: bool = False  # needs what npm runs at the end of an installation

    def folder(self, cache: Path) -> Path:
        return cache / self.registry / self.name.lstrip("@").replace("/", "-")

    def command(self, cache: Path) -> str:
        where = "node_modules/.bin" if self.registry == "npm" else "bin"
        return str(self.folder(cache) / where / (self.program or self.name))

    def version(self, cache: Path) -> str:
        folder = self.folder(cache)
        if self.registry == "npm":
            return json.loads((folder / "node_modules" / self.name / "package.json").read_text())["version"]
        script = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
        return output_of([str(folder / "bin" / "python"), "-c", script, self.name], INSTALL_DEADLINE).strip()

    def install(self, cache: Path, fresh: bool) -> str:
        """Installs the package unless the cache has it, and gives its version."""
        folder = self.folder(cache)
        mark = folder / "installed"
        if fresh or not mark.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            if self.registry == "npm":
                flags = ["--no-audit", "--no-fund", "--no-save", "--loglevel", "error", *([] if self.scripts else ["--ignore-scripts"])]
                installs.command(["npm", "install", "--prefix", str(folder), *flags, self.name])
            else:
                output_of([sys.executable, "-m", "venv", str(folder)], INSTALL_DEADLINE)
                python = str(folder / "bin" / "python")
                installs.command([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", self.name])
        command = Path(self.command(cache))
        if not command.exists():
            raise Failed(f"the package has no command {command.name}")
        version = self.version(cache)
        mark.write_text(version)
        return version


def output_of(argv: list[str], deadline: float) -> str:
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(str(error)) from None
    if done.returncode != 0:
        why = "; ".join(tail(done.stderr or done.stdout, 3).splitlines())
        raise Failed(f"{Path(argv[0]).name} ended with {done.returncode}: {why}")
    return done.stdout


TIME = Package("mcp-server-time", "PyPI")
GIT = Package("mcp-server-git", "PyPI")
FETCH = Package("mcp-server-fetch", "PyPI")
MCP_PROXY = Package("mcp-proxy", "PyPI")
THINKING = Package("@modelcontextprotocol/server-sequential-thinking", "npm", "mcp-server-sequential-thinking")
PLAYWRIGHT = Package("@playwright/mcp", "npm", "playwright-mcp")
DEVTOOLS = Package("chrome-devtools-mcp", "npm")
CONTEXT7 = Package("@upstash/context7-mcp", "npm", "context7-mcp")
COMMANDER = Package("@wonderwhy-er/desktop-commander", "npm", "desktop-commander")
KUBERNETES = Package("mcp-server-kubernetes", "npm")
FIRECRAWL = Package("firecrawl-mcp", "npm")
NOTION = Package("@notionhq/notion-mcp-server", "npm", "notion-mcp-server")
MCP_REMOTE = Package("mcp-remote", "npm")
MCPORTER = Package("mcporter", "npm")
SUPERGATEWAY = Package("supergateway", "npm")
EVERYTHING = Package("@modelcontextprotocol/server-everything", "npm", "mcp-server-everything")
CLAUDE = Package("@anthropic-ai/claude-code", "npm", "claude", scripts=True)

PACKAGES = [
    TIME, GIT, FETCH, THINKING, PLAYWRIGHT, DEVTOOLS, CONTEXT7, COMMANDER, KUBERNETES, FIRECRAWL, NOTION,
    MCP_PROXY, MCP_REMOTE, MCPORTER, SUPERGATEWAY, EVERYTHING, CLAUDE,
]  # fmt: skip


# --- what is tried --------------------------------------------------------------------------------------------------------------

RESULT, TOOL_ERROR, REFUSAL = "result", "tool error", "refusal"


@dataclass
class Call:
    """A call, and the kinds of answer that are right, with a text that has to be in it."""

    tool: str
    arguments: dict
    has: str = ""
    kinds: tuple[str, ...] = (RESULT,)


@dataclass
class Server:
    """A server that `mcplink` starts; the words after the command and the call may need a directory of the check's own."""

    package: Package
    call: Callable[[Path], Call]
    words: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    modern: bool = False  # speaks the modern era too
    around: Callable[[Path], object] | None = None  # what has to be there meanwhile


class Page(BaseHTTPRequestHandler):
    """A page of text, without rules for robots."""

    def do_GET(self) -> None:  # noqa: N802, the name that http.server calls
        found = self.path == "/page"
        body = b"<html><body><p>a page for a server that fetches</p></body></html>" if found else b""
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def page_of(scratch: Path) -> Iterator[None]:
    """Serves a page, and notes its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    (scratch / "page").write_text(f"http://127.0.0.1:{server.server_port}/page")
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def repository_of(scratch: Path) -> Iterator[None]:
    output_of(["git", "init", "-q", str(scratch / "repository")], TIMEOUT)
    yield


def always(call: Call) -> Callable[[Path], Call]:
    return lambda _: call


SERVERS = [
    Server(TIME, always(Call("get_current_time", {"timezone": "UTC"}, '"timezone": "UTC"')), modern=True),
    Server(
        GIT,
        lambda scratch: Call("git_status", {"repo_path": str(scratch / "repository")}, "No commits yet"),
        modern=True,
        around=repository_of,
    ),
    Server(
        FETCH,
        lambda scratch: Call("fetch", {"url": (scratch / "page").read_text()}, "a page for a server that fetches"),
        ("--allow-private-ips",),  # the page is on this machine
        modern=True,
        around=page_of,
    ),
    Server(
        THINKING,
        always(
            Call(
                "sequentialthinking",
                {"thought": "one", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False},
                '"thoughtNumber": 1',
            )
        ),
    ),
    # Without a browser the answer is a tool error.
    Server(PLAYWRIGHT, always(Call("browser_tabs", {"action": "list"}, kinds=(RESULT, TOOL_ERROR))), ("--headless",)),
    Server(DEVTOOLS, always(Call("list_pages", {}, kinds=(RESULT, TOOL_ERROR))), ("--headless",)),
    # Without the network the text of the result says so.
    Server(CONTEXT7, always(Call("resolve-library-id", {"libraryName": "react", "query": "hooks"})), modern=True),
    Server(COMMANDER, always(Call("get_config", {}, "blockedCommands"))),
    Server(KUBERNETES, always(Call("ping", {}))),  # needs no cluster
    # The arguments are checked before the key is.
    Server(
        FIRECRAWL,
        always(Call("firecrawl_scrape", {"url": "no address"}, "Invalid URL", (TOOL_ERROR, REFUSAL))),
        env={"FIRECRAWL_API_KEY": "fc-none"},
    ),
    # The key is not one of theirs; without the network the server says that.
    Server(NOTION, always(Call("API-get-self", {}, kinds=(RESULT, TOOL_ERROR, REFUSAL))), env={"NOTION_TOKEN": "ntn_none"}),
]


# --- running `mcplink` --------------------------------------------------------------------------------------------------------------


@dataclass
class Programs:
    """Where the programs are: our examples, and what was installed."""

    examples: Path
    cache: Path
    missing: dict[str, str] = field(default_factory=dict)  # packages that could not be installed, and why

    def ours(self, name: str) -> str:
        # The tool is no example: it lies beside their folder.
        folder = self.examples.parent if name == "mcplink" else self.examples
        return str((folder / name).absolute())

    def of(self, package: Package) -> str:
        if package.name in self.missing:
            raise Unavailable(f"{package.name} is not installed: {self.missing[package.name]}")
        return package.command(self.cache)


@dataclass
class Place:
    """Where a server is: behind a command, or at an address."""

    command: list[str] | None = None
    url: str | None = None
    env: dict[str, str] = field(default_factory=dict)


def open_list_call(programs: Programs, check: Check, scratch: Path, era: str, place: Place, call: Call, modern: bool) -> str:
    """Opens a server, lists its tools and calls one, on one connection; or sees that it does not speak the era."""
    pids = scratch / "pids"
    script = "\n".join(["info", "tools", f"call {call.tool} {json.dumps(call.arguments)}"])
    env = {"HOME": str(scratch), **place.env}
    words = [programs.ours("mcplink"), "--json", "--era", era, "--timeout", str(TIMEOUT)]
    if place.url:
        words += ["--url", place.url, "shell"]
    else:
        words += [word for name, value in env.items() for word in ("--env", f"{name}={value}")]
        words += ["shell", "--", *noting_pids(pids, place.command or [])]
    status, out = run_program(check, words, pids, script)
    if era == "modern" and not modern and status == LOST and "does not speak the modern era" in check.stderr:
        return "does not speak this era, and mcp says so"
    if status not in (DONE, TOOL_FAILED, REFUSED):
        raise Failed(f"exit status {status}: {last_word(check.stderr)}")
    lines = [json.loads(line) for line in out.splitlines()]
    if len(lines) < 2:
        raise Failed(f"{len(lines)} answers of the 2 that open and list, exit status {status}: {last_word(check.stderr)}")
    info, listed, *called = lines
    revision = info["protocolVersion"]
    right = [MODERN] if modern and era != "legacy" else [*LEGACY, MODERN] if era == "modern" else LEGACY
    if era == "auto" and not modern:
        right = [*LEGACY, MODERN]  # a server may have learnt it since this was written
    if revision not in right:
        raise Failed(f"revision {revision}, not {' or '.join(right)}")
    names = [tool["name"] for tool in listed["tools"]]
    if call.tool not in names:
        raise Failed(f"no tool {call.tool} among {short(names)}")
    kind, text = answer_of(status, called, check.stderr)
    if kind not in call.kinds:
        raise Failed(f"{call.tool}: a {kind}, not a {' or '.join(call.kinds)}: {short(text)}")
    if call.has not in text:
        raise Failed(f"{call.tool}: {call.has!r} is not in the {kind}: {short(text)}")
    learnt = ", which field.py does not know of" if revision == MODERN and not modern else ""
    return f"{revision}{learnt}, {len(names)} tools, {call.tool}: {kind}"


def answer_of(status: int, called: list[dict], stderr: str) -> tuple[str, str]:
    """The kind of an answer to a call, and its text."""
    if status == REFUSED:
        return REFUSAL, last_word(stderr, "refused tools/call")
    if len(called) != 1 or not isinstance(called[0].get("content"), list):
        raise Failed(f"the call brought {short(called)}, exit status {status}: {last_word(stderr)}")
    (result,) = called
    texts = [block.get("text", "") for block in result["content"]]
    kind = TOOL_ERROR if result.get("isError") else RESULT
    if (status == TOOL_FAILED) is not (kind == TOOL_ERROR):
        raise Failed(f"exit status {status} for a {kind}")
    return kind, "\n".join(texts)


def last_word(stderr: str, of: str = "") -> str:
    """The last line of `mcplink` on standard error; servers write there too."""
    lines = [line for line in stderr.splitlines() if line.startswith("mcplink: ") and of in line]
    return short(lines[-1].removeprefix("mcplink: ")) if lines else "mcplink does not say why"


def check_of_server(programs: Programs, server: Server, era: str) -> Check:
    def body(check: Check, scratch: Path) -> str:
        place = Place([programs.of(server.package), *server.words], env=server.env)
        with ExitStack() as stack:
            if server.around:
                stack.enter_context(server.around(scratch))
            return open_list_call(programs, check, scratch, era, place, server.call(scratch), server.modern)

    return Check(f"mcplink -> {server.package.name} {era}", body)


# --- bridges --------------------------------------------------------------------------------------------------------------------


@dataclass
class Behind:
    """A server that bridges stand in front of."""

    name: str
    modern: bool
    stdio: Callable[[Programs], list[str]]
    http: Callable[[Programs], list[str]]  # `{port}` stands for the port
    call: Call


BEHIND = [
    Behind(
        "everything_server",
        True,
        lambda programs: [programs.ours("everything_server"), "stdio"],
        lambda programs: [programs.ours("everything_server"), "http", "127.0.0.1:{port}"],
        Call("greet", {"name": "Ada"}, "Hello, Ada!"),
    ),
    Behind(
        "server-everything",
        False,
        lambda programs: [programs.of(EVERYTHING), "stdio"],
        lambda programs: ["env", "PORT={port}", programs.of(EVERYTHING), "streamableHttp"],
        Call("echo", {"message": "Ada"}, "Echo: Ada"),
    ),
]


@contextmanager
def serving(folder: Path, name: str, argv: list[str], path: str = "/mcp") -> Iterator[str]:
    """Runs a server, or a bridge, that listens; afterwards neither it nor what it started is left."""
    own = folder / name
    own.mkdir()
    pids = own / "pids"
    try:
        with listening([word.replace("{pids}", str(pids)) for word in argv], own) as url:
            yield url.removesuffix("/mcp") + path
    finally:
        end_noted(pids)


def at_its_address(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> str:
    return stack.enter_context(serving(scratch, "behind", behind.http(programs)))


def noted(argv: list[str]) -> list[str]:
    """The command, whose process id is noted where `serving` looks for it."""
    return noting_pids(Path("{pids}"), argv)


def by_mcp_remote(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> Place:
    url = at_its_address(stack, programs, scratch, behind)
    return Place([programs.of(MCP_REMOTE), url], env={"MCP_REMOTE_CONFIG_DIR": str(scratch / "config")})


def by_mcp_proxy_from_stdio(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> Place:
    url = at_its_address(stack, programs, scratch, behind)
    return Place([programs.of(MCP_PROXY), "--transport", "streamablehttp", url])


def by_mcp_proxy_to_stdio(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> Place:
    argv = [programs.of(MCP_PROXY), "--port", "{port}", "--", *noted(behind.stdio(programs))]
    return Place(url=stack.enter_context(serving(scratch, "bridge", argv)))


def by_supergateway_from_stdio(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> Place:
    url = at_its_address(stack, programs, scratch, behind)
    return Place([programs.of(SUPERGATEWAY), "--streamableHttp", url])


def supergateway_to_stdio(programs: Programs, behind: Behind, *words: str) -> list[str]:
    command = shlex.join(noted(behind.stdio(programs)))
    return [programs.of(SUPERGATEWAY), "--port", "{port}", "--stdio", command, "--outputTransport", *words]


def by_supergateway_to_stdio(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> Place:
    argv = supergateway_to_stdio(programs, behind, "streamableHttp", "--stateful")
    return Place(url=stack.enter_context(serving(scratch, "bridge", argv)))


def at_supergateways_sse(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> Place:
    argv = supergateway_to_stdio(programs, behind, "sse")
    return Place(url=stack.enter_context(serving(scratch, "bridge", argv, "/sse")))


def by_two_supergateways(stack: ExitStack, programs: Programs, scratch: Path, behind: Behind) -> Place:
    at = at_supergateways_sse(stack, programs, scratch, behind)
    return Place([programs.of(SUPERGATEWAY), "--sse", str(at.url)])


# What stands between, how it is reached, and whether the modern era passes.
BRIDGES = [
    ("mcp-remote (stdio to HTTP)", by_mcp_remote, True),
    ("mcp-proxy (stdio to HTTP)", by_mcp_proxy_from_stdio, False),
    ("mcp-proxy (HTTP to stdio)", by_mcp_proxy_to_stdio, False),
    ("supergateway (stdio to HTTP)", by_supergateway_from_stdio, False),
    ("supergateway (HTTP to stdio)", by_supergateway_to_stdio, True),
    ("supergateway (SSE to stdio)", at_supergateways_sse, False),
    ("supergateway (stdio to SSE to stdio)", by_two_supergateways, True),
]


def check_of_bridge(programs: Programs, name: str, reach: Callable, modern: bool, behind: Behind, era: str) -> Check:
    def body(check: Check, scratch: Path) -> str:
        with ExitStack() as stack:
            place = reach(stack, programs, scratch, behind)
            return open_list_call(programs, check, scratch, era, place, behind.call, modern and behind.modern)

    return Check(f"mcplink -> {name} -> {behind.name} {era}", body)


# --- clients of others ----------------------------------------------------------------------------------------------------------


def run_in_home(check: Check, scratch: Path, argv: list[str]) -> str:
    """Runs a client with a home of its own, and gives what it printed."""
    home = {"HOME": str(scratch), "CLAUDE_CONFIG_DIR": str(scratch / "claude"), "CI": "1"}
    argv = ["env", *(f"{name}={value}" for name, value in home.items()), *argv]
    status, out = run_program(check, argv, scratch / "pids")
    if status != 0:
        raise Failed(f"exit status {status}: {short(tail(check.stderr or out, 3))}")
    return out


def check_of_mcporter(programs: Programs, behind: Behind, over_http: bool) -> Check:
    def body(check: Check, scratch: Path) -> str:
        mcporter = programs.of(MCPORTER)
        with ExitStack() as stack:
            if over_http:
                where = ["--http-url", at_its_address(stack, programs, scratch, behind), "--allow-http"]
            else:
                where = ["--stdio", shlex.join(behind.stdio(programs))]
            listed = json.loads(run_in_home(check, scratch, [mcporter, "list", *where, "--name", "behind", "--json"]))
            names = [tool["name"] for tool in listed.get("tools", [])]
            if listed.get("status") != "ok" or behind.call.tool not in names:
                raise Failed(f"mcporter list: {short(listed)}")
            arguments = ["--args", json.dumps(behind.call.arguments)]
            said = run_in_home(check, scratch, [mcporter, "call", *where, "--name", "behind", "--tool", behind.call.tool, *arguments])
            if behind.call.has not in said:
                raise Failed(f"mcporter call: {short(said)}")
        return f"{len(names)} tools, {behind.call.tool}: {RESULT}"

    return Check(f"mcporter -> {behind.name} over {'HTTP' if over_http else 'stdio'}", body)


def check_of_claude(programs: Programs, over_http: bool) -> Check:
    def body(check: Check, scratch: Path) -> str:
        claude, behind = programs.of(CLAUDE), BEHIND[0]
        with ExitStack() as stack:
            if over_http:
                url = at_its_address(stack, programs, scratch, behind)
                run_in_home(check, scratch, [claude, "mcp", "add", "--transport", "http", "behind", url])
            else:
                run_in_home(check, scratch, [claude, "mcp", "add", "behind", "--", *behind.stdio(programs)])
            said = run_in_home(check, scratch, [claude, "mcp", "list"])
        lines = [line for line in said.splitlines() if line.startswith("behind: ")]
        if len(lines) != 1 or "Connected" not in lines[0]:
            raise Failed(f"claude mcp list: {short(said)}")
        return "claude mcp list: Connected"

    return Check(f"claude -> everything_server over {'HTTP' if over_http else 'stdio'}", body)


# --- all of it ------------------------------------------------------------------------------------------------------------------


def checks(programs: Programs) -> list[Check]:
    found = [check_of_server(programs, server, era) for server in SERVERS for era in ERAS]
    for name, reach, modern in BRIDGES:
        found += [check_of_bridge(programs, name, reach, modern, behind, era) for behind in BEHIND for era in ERAS]
    found += [check_of_mcporter(programs, behind, over_http) for behind in BEHIND for over_http in (False, True)]
    found += [check_of_claude(programs, over_http) for over_http in (False, True)]
    for check in found:
        check.untidy = True
    return found


def install(programs: Programs, lanes: int, fresh: bool) -> None:
    """Installs all packages, prints their versions, and notes those that can't be had."""
    programs.cache.mkdir(parents=True, exist_ok=True)

    def one(package: Package) -> tuple[Package, str, str]:
        try:
            return package, package.install(programs.cache, fresh), ""
        except (Failed, installs.Missing) as failure:
            return package, "", str(failure)

    with open(programs.cache / "lock", "w") as lock, ThreadPoolExecutor(lanes) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for package, version, why in pool.map(one, PACKAGES):
            if version:
                print(f"     {package.name} {version} ({package.registry})", flush=True)
            else:
                programs.missing[package.name] = why
                may_lack = package.name in MAY_LACK
                print(f"{'none' if may_lack else 'FAILED'} {package.name}: can't be installed: {why}", flush=True)
                if may_lack:
                    print(f"     it may be missing: {MAY_LACK[package.name]}", flush=True)


def run(programs: Programs, perform: Callable, lanes: int, only: str, lists: bool, fresh: bool, verbose: bool) -> int:
    wanted = [check for check in checks(programs) if only in check.name]
    if lists:
        print("\n".join(check.name for check in wanted))
        return 0
    for name in ("mcplink", "everything_server"):
        if not os.access(programs.ours(name), os.X_OK):
            print(f"FAILED there is no {programs.ours(name)}: build it with cargo build -p mcplink-cli && cargo build --example everything_server")
            return 1
    install(programs, lanes, fresh)
    counts = {"ok": 0, "FAILED": 0, "none": 0}
    began = time.monotonic()
    with ThreadPoolExecutor(lanes) as pool:
        for check, seconds, saw, why, unavailable in pool.map(perform, wanted):
            outcome = "none" if unavailable else "FAILED" if saw is None else "ok"
            counts[outcome] += 1
            said = f" ({saw}; {seconds:.1f} s)" if saw is not None else f": {'not available: ' if unavailable else ''}{why}"
            print(f"{outcome:4} {check.name}{said}", flush=True)
            if outcome == "FAILED":
                print("".join(f"     | {line}\n" for line in tail(check.stderr).splitlines()), end="", flush=True)
            if verbose and check.report:
                print(f"     {check.report.strip()}", flush=True)
    lacking = [name for name in programs.missing if name not in MAY_LACK]
    print(f"\n{time.monotonic() - began:.0f} s")
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['none']} not available")
    if lacking:
        print(f"could not be installed, and has to be: {', '.join(lacking)}")
    return 0 if counts["ok"] and not counts["FAILED"] and not lacking else 1
