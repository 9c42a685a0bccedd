"""What the Python clients check of a server, whichever version of the SDK they stand on.

A client hands in an adapter with `list_tools`, `call`, `ping`, `cancel_call`, `late_progress` and facts about the connection;
each check notes its name under `passed` or a reason under `failed`.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

CHECK_SECONDS = 15
CONNECT_SECONDS = 20
EXIT_CONNECT = 4


class Refused(Exception):
    """The server answered with a JSON-RPC error."""


@dataclass
class Outcome:
    is_error: bool
    text: str
    structured: Any
    kinds: list[str] = field(default_factory=list)


# What the clients answer when `--features` has them asked: the user fills in every field with his name.
NAME = "Ada"
MODEL, REPLY = "parrot", "Paris"
HOME = "file:///home/ada"
WATCHED = "test://watched-resource"


def filled_in(schema: dict[str, Any]) -> dict[str, str]:
    return {name: NAME for name in schema["properties"]}


def is_sum(text):
    """The sum 42 as text: the number, or the JSON of the structured content."""
    value = json.loads(text)
    return (value["sum"] if isinstance(value, dict) else value) == 42


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=("legacy", "modern", "auto"), default="legacy")
    parser.add_argument("--tools", default="greet", help="the tools the server must offer, each of them is tried")
    parser.add_argument("--features", action="store_true", help="the server is our everything_server: try all it has")
    parser.add_argument("--pids", help="file with the process ids of the server, to see it end")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


class Report:
    def __init__(self, peer: str, era: str) -> None:
        self.seen: dict[str, Any] = {"peer": peer, "era": era, "passed": [], "failed": []}

    async def check(self, name: str, body) -> None:
        try:
            with anyio.fail_after(CHECK_SECONDS):
                await body()
        except TimeoutError:
            self.fail(name, f"no end within {CHECK_SECONDS} s")
        except Exception as error:
            self.fail(name, f"{type(error).__name__}: {error}")
        else:
            self.seen["passed"].append(name)

    def fail(self, name: str, why: str) -> None:
        self.seen["failed"].append({"check": name, "why": why})

    def finish(self) -> int:
        print(json.dumps(self.seen), flush=True)
        return 1 if self.seen["failed"] else 0


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


async def check_features(report: Report, peer, without: Sequence[str] = ()) -> None:
    """Runs what a server can do beside tools, against our `everything_server`; the client answers when it is asked."""

    async def lists():
        resources, templates, prompts = await peer.resources(), await peer.templates(), await peer.prompts()
        expect(resources[0] == "test://static-text" and WATCHED in resources, f"resources {resources}")
        expect(templates == ["test://template/{id}/data", "fixture://item/{id}"], f"templates {templates}")
        expect(prompts[:3] == ["hello", "greet", "third"], f"prompts {prompts}")

    async def reads():
        for uri, expected in (
            ("fixture://hello", "hello, resource"),
            ("fixture://unicode", "Grüße, 世界 🌍\u2028 end"),
            ("fixture://item/7", "item 7"),
            ("fixture://blob", bytes(range(256))),
        ):
            got = await peer.read(uri)
            expect(got == [expected], f"{uri} holds {got}")

    async def reads_nothing():
        code = "-32002" if report.seen["revision"] < "2026" else "-32602"
        try:
            got = await peer.read("fixture://nothing")
        except Refused as refusal:
            expect(str(refusal).startswith(f"{code}: "), f"a resource that does not exist is refused with {refusal}, not {code}")
        else:
            raise AssertionError(f"a resource that does not exist holds {got}")

    async def prompts():
        got = await peer.prompt("greet", {"name": NAME})
        expect(got == ["Please greet Ada."], f"prompt greet became {got}")
        got = await peer.prompt("test_prompt_with_arguments", {"arg1": "é", "arg2": "2"})
        expect(got == ["Prompt with arguments: arg1='é', arg2='2'"], f"the prompt became {got}")

    async def completes():
        got = await peer.complete_prompt("greet", "name", "al")
        expect(got == ["alice", "albert"], f"completion of a prompt's argument {got}")
        got = await peer.complete_template("fixture://item/{id}", "id", "7")
        expect(got == ["7", "700"], f"completion of a template's variable {got}")

    async def contents():
        got = await peer.call("test_multiple_content_types", {})
        expect(got.kinds == ["text", "image", "resource"], f"content {got.kinds}")
        got = await peer.call("structured", {})
        expect(got.structured == {"temperature": 22.5, "ok": True}, f"structured content {got.structured}")

    async def asks():
        fields = '{"email":"Ada","username":"Ada"}'
        for tool, arguments, text in (
            ("test_elicitation", {"message": "Who are you?"}, f"User response: accept {fields}"),
            ("test_sampling", {"prompt": "The capital of France?"}, f"LLM response: {REPLY}"),
            ("test_input_required_result_list_roots", {}, f"Roots: {HOME}"),
            ("test_input_required_result_multiple_inputs", {}, f"{NAME}: {REPLY} ({HOME})"),
            ("test_input_required_result_multi_round", {}, f"{NAME} likes {NAME}."),
        ):
            got = await peer.call(tool, arguments)
            expect(got.text == text, f"{tool} answered {got}")

    async def asks_for_a_prompt():
        got = await peer.prompt("test_input_required_result_prompt", {})
        expect(got == [f"Write about {NAME}."], f"the prompt became {got}")

    async def logs():
        await peer.wants_logs()
        await peer.call("test_tool_with_logging", {})
        await until(lambda: len(peer.logs) >= 3)
        expect(peer.logs[0] == "Tool execution started" and len(peer.logs) == 3, f"log messages {peer.logs}")

    async def subscribes():
        async with peer.subscribed(WATCHED) as events:
            await peer.call("touch", {"uri": "fixture://hello"})
            await peer.call("touch", {"uri": WATCHED})
            await peer.call("test_trigger_tool_change", {})
            await until(lambda: "tools" in events)
            expect(events[:2] == [WATCHED, "tools"], f"events {events}")

    for name, body in (
        ("lists", lists),
        ("read", reads),
        ("unknown resource", reads_nothing),
        ("prompts", prompts),
        ("completion", completes),
        ("content", contents),
        ("questions", asks),
        ("question of a prompt", asks_for_a_prompt),
        ("log messages", logs),
        ("subscription", subscribes),
    ):
        if name not in without:
            await report.check(name, body)


async def until(condition) -> None:
    """Waits for notifications; the check's own deadline ends it."""
    while not condition():
        await anyio.sleep(0.01)


async def check_server(report: Report, peer, tools: list[str], has_ping: bool) -> None:
    """Runs every check that the server's tools allow, one after the other."""

    async def lists():
        offered = await peer.list_tools()
        report.seen["tools"] = offered
        missing = set(tools) - set(offered)
        expect(not missing, f"tools not offered: {sorted(missing)}")

    async def pings():
        await peer.ping()

    async def greets():
        got = await peer.call("greet", {"name": "Ada"})
        expect(not got.is_error and got.text == "Hello, Ada!", f"greet answered {got}")

    async def greets_at_length():
        name = 'é\n"\\ 😀' * 20_000
        got = await peer.call("greet", {"name": name})
        expect(got.text == f"Hello, {name}!", f"a text of {len(name)} characters came back as {len(got.text)}")

    async def greets_eight_at_once():
        texts: dict[int, str] = {}

        async def one(number: int) -> None:
            texts[number] = (await peer.call("greet", {"name": str(number)})).text

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(one, number)
        expect(texts == {n: f"Hello, {n}!" for n in range(8)}, f"answers {texts}")

    async def unknown_tool():
        try:
            got = await peer.call("no_such_tool", {})
        except Refused as refusal:
            report.seen["unknown_tool"] = str(refusal)
        else:
            report.seen["unknown_tool"] = "isError"
            expect(got.is_error, f"an unknown tool answered {got}")

    async def wrong_arguments():
        try:
            got = await peer.call("greet", {"nobody": 1})
        except Refused as refusal:
            report.seen["wrong_arguments"] = str(refusal)
        else:
            report.seen["wrong_arguments"] = "isError"
            expect(got.is_error, f"greet without a name answered {got}")

    async def adds():
        got = await peer.call("add", {"a": 2, "b": 40})
        expect(not got.is_error and is_sum(got.text), f"add answered {got}")
        expect((got.structured or {}).get("sum") == 42, f"structured content {got.structured}")

    async def fails():
        got = await peer.call("fail", {})
        expect(got.is_error, f"fail answered {got}")
        expect("it failed on purpose" in got.text, f"the tool's own words are missing in {got.text!r}")

    async def progresses():
        values: list[tuple[float, float | None]] = []
        got = await peer.call("slow", {"steps": 5, "delay_ms": 20}, lambda *value: values.append(value))
        report.seen["progress"] = values
        expect(got.text == "done 5", f"slow answered {got}")
        expect([value for value, _ in values] == [1, 2, 3, 4, 5], f"progress {values}")
        expect(all(total in (5, None) for _, total in values), f"totals in {values}")

    async def cancels():
        await peer.cancel_call("slow", {"steps": 100, "delay_ms": 50})
        await greets()

    async def cancelling_stops_the_tool():
        await anyio.sleep(0.2)
        before = peer.late_progress()
        await anyio.sleep(0.4)
        late = peer.late_progress() - before
        expect(late <= 1, f"{late} progress notifications in 0.4 s, long after the call was cancelled")

    await report.check("list", lists)
    if has_ping:
        await report.check("ping", pings)
    if "greet" in tools:
        await report.check("greet", greets)
        await report.check("long text", greets_at_length)
        await report.check("eight at once", greets_eight_at_once)
        await report.check("wrong arguments", wrong_arguments)
    await report.check("unknown tool", unknown_tool)
    if "add" in tools:
        await report.check("structured", adds)
    if "fail" in tools:
        await report.check("tool error", fails)
    if "slow" in tools:
        await report.check("progress", progresses)
        await report.check("cancel", cancels)
        await report.check("cancel stops the tool", cancelling_stops_the_tool)


def check_exit(report: Report, close_began: float, pids: str | None) -> None:
    """The SDK has closed: the server must be gone, and it should not have needed a signal."""
    report.seen["close_ms"] = round((time.monotonic() - close_began) * 1000)
    if pids is None:
        return
    alive = [pid for pid in open(pids).read().split() if is_alive(int(pid))]
    report.seen["servers_started"] = len(open(pids).read().split())
    if alive:
        report.fail("server exit", f"still running after close: {alive}")
    else:
        report.seen["passed"].append("server exit")


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run(main) -> None:
    """Runs a client's `main`; what goes wrong while connecting is exit status 4."""
    try:
        status = anyio.run(main)
    except BaseException as error:
        for line in leaves(error):
            print(line, file=sys.stderr)
        status = EXIT_CONNECT
    sys.exit(status)


def leaves(error: BaseException):
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield f"{type(error).__name__}: {error}"
