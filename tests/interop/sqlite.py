"""Checks of examples/sqlite_server: a complete server, used with the Inspector's command line and with a host in Python."""

import json
from contextlib import nullcontext
from pathlib import Path

from harness import Check, Failed, listening, noting_pids, run_program, short

CREATED = "CREATE TABLE people (name TEXT, age REAL)"
PEOPLE = {"columns": ["name", "age"], "rows": [["Ada", 36.0], [None, 1.5]]}


def expect(got, wanted, what: str) -> None:
    if got != wanted:
        raise Failed(f"{what} {short(got)}, not {short(wanted)}")


def check_of_inspector(argv: list[str], inspector: list[str], over_http: bool) -> Check:
    """Lists and calls with the Inspector, which starts the server anew or reaches it for each request."""

    def body(check: Check, scratch: Path) -> str:
        pids, file = scratch / "pids", str(scratch / "data.db")

        def ask(where: list[str], *words: str) -> dict:
            transport = ["--transport", "http"] if over_http else []
            # The Inspector reads ../package.json, from where it runs: that has to be its own.
            status, out = run_program(check, [*inspector, *where, *transport, *words], pids, cwd=Path(inspector[1]).parent)
            if status != 0:
                raise Failed(f"exit status {status}: {short(check.stderr)}")
            return json.loads(out)

        with listening([*argv, file, "{port}"], scratch) if over_http else nullcontext() as url:
            where = [url] if url else noting_pids(pids, [*argv, file])
            tools = {tool["name"]: tool for tool in ask(where, "--method", "tools/list")["tools"]}
            expect(sorted(tools), ["execute", "query"], "the tools are")
            expect(tools["query"]["inputSchema"]["required"], ["sql"], "query needs")
            expect(tools["query"]["annotations"], {"readOnlyHint": True}, "query says")
            call = ("--method", "tools/call", "--tool-name", "query", "--tool-arg", "sql=SELECT 1 AS one, 'x' AS two")
            answer = ask(where, *call)
            expect(answer["structuredContent"], {"columns": ["one", "two"], "rows": [[1, "x"]]}, "query answers")
            call = ("--method", "tools/call", "--tool-name", "query", "--tool-arg", "sql=DROP TABLE x")
            expect(ask(where, *call).get("isError"), True, "a statement that fails has isError")
        return "3 requests"

    return Check(f"sqlite_server <- Inspector {'over HTTP' if over_http else 'over stdio'}", body, needs={"node"})


def check_of_host(argv: list[str], host: list[str], mode: str, over_http: bool) -> Check:
    """A host that agrees to changes, but for one."""

    def body(check: Check, scratch: Path) -> str:
        pids, file = scratch / "pids", str(scratch / "data.db")
        with listening([*argv, file, "{port}"], scratch) if over_http else nullcontext() as url:
            where = [url] if url else noting_pids(pids, [*argv, file])
            status, out = run_program(check, [*host, mode, *where], pids)
        if status != 0:
            raise Failed(f"exit status {status}: {short(check.stderr)}")
        seen = json.loads(out)
        expect(sorted(seen["tools"]), ["execute", "query"], "the tools are")
        expect(seen["texts"][:3], ["0 rows changed", "2 rows changed", "the user did not agree"], "execute answers")
        expect(seen["texts"][3], PEOPLE, "query answers")
        expect(seen["texts"][4], "this statement changes the database: use execute", "query of a change answers")
        if "no such column" not in seen["texts"][5]:
            raise Failed(f"a wrong query answers {short(seen['texts'][5])}")
        expect(seen["table"], CREATED, "the resource is")
        expect(seen["prompt"], f"Explain this table: {CREATED}", "the prompt is")
        expect(seen["missing"], -32002 if mode == "legacy" else -32602, "the code of a missing resource is")
        return "6 calls, a resource, a prompt"

    return Check(f"sqlite_server <- py-2.3.0 {mode}{' over HTTP' if over_http else ''}", body, needs={"py2"})


def checks(argv: list[str], inspector: list[str], host: list[str]) -> list[Check]:
    found = [check_of_inspector(argv, inspector, over_http) for over_http in (False, True)]
    return found + [check_of_host(argv, host, mode, over_http) for mode in ("legacy", "2026-07-28") for over_http in (False, True)]
