"""Checks of `mcplink`, the command line: what it prints for people and for programs, at a terminal and without one, and how it ends."""

import json
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM

from harness import Check, Failed, noting_pids, run_at_terminal, run_program, short

DONE, TOOL_FAILED, USAGE, REFUSED, LOST, TIMED_OUT = range(6)
INTERRUPTED = 130
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}


def mcp(check: Check, argv: list[str], words: list[str], server: list[str], folder: Path, typed: str = "") -> tuple[int, str, str]:
    """Exit status, standard output and standard error of one run."""
    pids = folder / "pids"
    pids.unlink(missing_ok=True)
    status, out = run_program(check, [*argv, *words, "--", *noting_pids(pids, server)], pids, typed)
    return status, out, check.stderr


def expect(holds: bool, what: str, seen) -> None:
    if not holds:
        raise Failed(f"{what}: {short(seen)}")


# --- every action, for programs -------------------------------------------------------------------------------------------------

TEXT = {"uri": "demo://text", "mimeType": "text/plain", "text": "a text: é 😀"}
PRAISE = [{"role": "user", "content": {"type": "text", "text": "Please praise Ada."}}]

# What is typed, and the members that the line of JSON for it has to have; a function looks at the value.
ACTIONS = [
    ("tools", {"tools": lambda all: "greet" in [each["name"] for each in all]}),
    ("call greet name=Ada", {"content": [{"type": "text", "text": "Hello, Ada!"}]}),
    ('call greet {"name": "two words"}', {"content": [{"type": "text", "text": "Hello, two words!"}]}),
    ("call greet name=42", {"content": [{"type": "text", "text": "Hello, 42!"}]}),
    ("call add a=2 b=40", {"structuredContent": {"sum": 42}}),
    ("call media", {"content": lambda all: [each["type"] for each in all][1:] == ["image", "audio", "resource_link", "resource"]}),
    ("resources", {"resources": lambda all: [each["uri"] for each in all] == ["demo://text", "demo://bytes"]}),
    ("templates", {"resourceTemplates": lambda all: [each["uriTemplate"] for each in all] == ["demo://item/{id}"]}),
    ("read demo://text", {"contents": [TEXT]}),
    ("read demo://item/7", {"contents": [{"uri": "demo://item/7", "mimeType": "text/plain", "text": "item 7"}]}),
    ("prompts", {"prompts": lambda all: [(each["name"], len(each["arguments"])) for each in all] == [("praise", 1)]}),
    ("prompt praise name=Ada", {"messages": PRAISE}),
    ("complete prompt praise name al", {"completion": lambda it: it["values"] == ["alice", "albert"]}),
    ("complete resource demo://item/{id} id 7", {"completion": lambda it: it["values"] == ["7", "70"]}),
    ("ping", {}),
    ("call fail", {"isError": True, "content": lambda all: "it failed on purpose" in all[0]["text"]}),
]
# These print nothing but why.
REFUSALS = [("read demo://nothing", "refused resources/read"), ("prompt no_such_prompt", "refused prompts/get")]


def check_of_actions(argv: list[str], name: str, server: list[str], server_name: str, era: str) -> Check:
    """Every action with `--json`, on one connection."""

    def is_right(info: dict) -> bool:
        members = {"name", "version", "protocolVersion", "capabilities", "instructions"}
        return set(info) == members and (info["name"], info["protocolVersion"]) == (server_name, REVISIONS[era])

    def body(check: Check, folder: Path) -> str:
        script = ["info", *(action for action, _ in ACTIONS), *(action for action, _ in REFUSALS)]
        words = ["--era", era, "--json", "--timeout", "20", "shell"]
        status, out, err = mcp(check, argv, words, server, folder, "\n".join(script))
        info, *results = [json.loads(line) for line in out.splitlines()]
        expect(is_right(info), "info", info)
        expect(len(results) == len(ACTIONS), f"{len(ACTIONS)} results", results)
        for (action, expected), got in zip(ACTIONS, results):
            for member, value in expected.items():
                fits = value(got[member]) if callable(value) else got[member] == value
                expect(fits, f"{action}: {member}", got)
        for action, said in REFUSALS:
            expect(said in err, f"{action} has to say {said!r}", err)
        expect(status == TOOL_FAILED, "exit status, that of the first failure", [status, err])
        return f"{len(script)} actions"

    return Check(f"mcplink --json -> {name} {era}", body)


# --- a person at a terminal -----------------------------------------------------------------------------------------------------


TELLING = [
    ("mcplink> ", "listen demo://text\n"),
    ("mcplink> ", "call touch uri=demo://text\n"),
    ("demo://text has changed\n", ""),
    ("the tools have changed\n", "quit\n"),
]
TELLING_JSON = [
    *TELLING[:2],
    ('"event": "resourceUpdated",\n  "uri": "demo://text"\n}\n', ""),
    ('"event": "toolsChanged"\n}\n', "quit\n"),
]


def check_at_terminal(argv: list[str], name: str, server: list[str], era: str, tells: bool) -> Check:
    """A session of the shell at a terminal: tables, a bar, the server's questions, and what it tells by itself."""
    dialogue = [
        ("mcplink> ", "tools\n"),
        ("mcplink> ", "call slow steps=3 delay_ms=150\n"),
        ("mcplink> ", "call ask\n"),
        ("Who are you?", ""),
        ("name", "Ada\n"),
        ("(c)ancel: ", "y\n"),
        ("It is Ada.", ""),
        ("mcplink> ", "call sample\n"),
        ("(user) The capital of France?", ""),
        ("refuses): ", "Paris\n"),
        ("The model says Paris.", ""),
        ("mcplink> ", "call roots\n"),
        ("Roots: file:///home/ada", ""),
        ("mcplink> ", "call media\n"),
        ("mcplink> ", "resources\n"),
        ("mcplink> ", "read demo://bytes\n"),
        ("mcplink> ", "prompts\n"),
        ("mcplink> ", "prompt praise name=Ada\n"),
        ("mcplink> ", "call no_such_tool\n"),
        ("mcplink> ", "dance\n"),
        *(TELLING if tells else [("mcplink> ", "quit\n")]),
    ]
    shows = [
        "NAME ",
        "[##########                    ]  33 %",
        "done 3\n",
        "[image: image/png, 3 bytes]\n[audio: audio/wav, 3 bytes]\n[text: demo://text]\nembedded\n",
        "demo://bytes  application/octet-stream  ",
        "[demo://bytes: application/octet-stream, 4 bytes]",
        "praise  name ",
        "user: Please praise Ada.",
        "there is no action dance",
        "try 'help'",
    ]

    def body(check: Check, folder: Path) -> str:
        pids = folder / "pids"
        words = ["--era", era, "--root", "file:///home/ada", "shell"]
        status, shown = run_at_terminal(check, [*argv, *words, "--", *noting_pids(pids, server)], pids, dialogue)
        for part in shows:
            if part not in shown:
                raise Failed(f"{part!r} was not shown; this was: {shown!r}")
        expect(status == DONE, "exit status", status)
        if tells and era == "modern":
            pids.unlink()
            run_at_terminal(check, [*argv, "--json", "shell", "--", *noting_pids(pids, server)], pids, TELLING_JSON)
        return f"{len(dialogue)} steps"

    return Check(f"mcplink at a terminal -> {name} {era}", body)


FORMS = [
    # Words of the call, what is asked and typed, exit status, and what is shown at the end.
    (
        ["call", "test_elicitation", "message=Who?"],
        [("username (Your user name): ", "\n"), ("it has to be filled in", ""), ("username", "Ada\n"), ("email", "a@b.c\n"), ("(c)ancel: ", "\n")],
        DONE,
        'User response: accept {"email":"a@b.c","username":"Ada"}',
    ),
    (["call", "test_elicitation", "message=Who?"], [("username", "Ada\n"), ("email", "x\n"), ("(c)ancel: ", "n\n")], DONE, "User response: decline"),
    (["call", "test_elicitation", "message=Who?"], [("username", "\x04")], DONE, "User response: cancel"),
    (
        ["call", "test_elicitation_sep1034_defaults"],
        [("name [John Doe]: ", "\n"), ("age", "old\n"), ("no whole number", ""), ("age", "31\n"), ("score", "\n"), ("status", "3\n"),
         ("verified", "no\n"), ("(c)ancel: ", "\n")],
        DONE,
        'accept {"age":31,"name":"John Doe","score":95.5,"status":"pending","verified":false}',
    ),
    (
        ["call", "test_elicitation_sep1330_enums"],
        [("untitledSingle", "nine\n"), ("'nine' is none of them", ""), ("untitledSingle", "2\n"), ("titledSingle", "The option1\n"),
         ("legacyEnum", "option3\n"), ("untitledMulti", "1, option3\n"), ("titledMulti", "\n"), ("(c)ancel: ", "\n")],
        DONE,
        'accept {"legacyEnum":"option3","titledSingle":"option1","untitledMulti":["option1","option3"],"untitledSingle":"option2"}',
    ),
    (
        ["call", "test_input_required_result_multi_round"],
        [("name: ", "Ada\n"), ("(c)ancel: ", "\n"), ("Ada, what is your favourite colour?", ""), ("color: ", "red\n"), ("(c)ancel: ", "\n")],
        DONE,
        "Ada likes red.",
    ),
    (["prompt", "test_input_required_result_prompt"], [("context: ", "birds\n"), ("(c)ancel: ", "\n")], DONE, "user: Write about birds."),
    (["call", "test_sampling", "prompt=Why?"], [("(user) Why?", ""), ("refuses): ", "\n")], None, "the user refused"),
]  # fmt: skip


def checks_of_questions(argv: list[str], everything: list[str]) -> list[Check]:
    """Forms of every kind, filled in, declined and left, at a terminal in both eras."""

    def check_of(era: str) -> Check:
        def body(check: Check, folder: Path) -> str:
            pids = folder / "pids"
            for words, dialogue, code, end in FORMS:
                pids.unlink(missing_ok=True)
                command = [*argv, "--era", era, *words, "--", *noting_pids(pids, everything)]
                status, shown = run_at_terminal(check, command, pids, dialogue)
                if end not in shown:
                    raise Failed(f"{words[1]}: {end!r} was not shown; this was: {shown!r}")
                # A modern call fails when the model may not be asked; a legacy tool is told so, and fails.
                wanted = code if code is not None else {"legacy": TOOL_FAILED, "modern": REFUSED}[era]
                expect(status == wanted, f"{words[1]}: exit status, not {wanted}", status)
            return f"{len(FORMS)} dialogues"

        return Check(f"mcplink is asked by everything_server {era}", body)

    return [check_of("legacy"), check_of("modern")]


def check_of_signals(argv: list[str], everything: list[str], era: str) -> Check:
    """Signals while a call runs, while the server asks, and while nothing runs."""
    slow, ask = "call slow steps=600", "call test_elicitation message=Who?"
    once = [
        # Words of the call, and what is shown when the signal comes.
        (slow.split(), [("[", SIGINT)]),
        (ask.split(), [("username", SIGINT)]),
        (ask.split(), [("username", "Ada\n"), ("email", "a@b.c\n"), ("(c)ancel: ", SIGTERM)]),
        (["call", "test_sampling", "prompt=Why?"], [("refuses): ", SIGHUP)]),
        (["shell"], [("mcplink> ", SIGINT)]),
    ]
    in_shell = [
        ("mcplink> ", f"{slow}\n"),
        ("[", SIGINT),
        ("mcplink: interrupted\n", ""),
        ("mcplink> ", f"{ask}\n"),
        ("(Your user name)", SIGINT),
        ("mcplink: interrupted\n", ""),
        # What is typed from now on is the shell's.
        ("mcplink> ", "call echo message=hej\n"),
        ("\nhej\n", ""),
        ("mcplink> ", f"{ask}\n"),
        ("(Your user name)", "Eve\n"),
        ("email", "a@b.c\n"),
        ("(c)ancel: ", "y\n"),
        ("accept", ""),
        ("mcplink> ", SIGTERM),
    ]

    def body(check: Check, folder: Path) -> str:
        pids = folder / "pids"
        for words, dialogue in [*once, (["shell"], in_shell)]:
            pids.unlink(missing_ok=True)
            command = [*argv, "--era", era, *words, "--", *noting_pids(pids, everything)]
            status, shown = run_at_terminal(check, command, pids, dialogue)
            expect(status == INTERRUPTED, f"{words}: exit status", [status, shown])
        return f"{len(once) + 1} dialogues"

    return Check(f"mcplink is interrupted {era}", body)


# --- what goes wrong ------------------------------------------------------------------------------------------------------------


def check_of_failures(argv: list[str], everything: list[str], changeless: list[str]) -> Check:
    """Exit codes, where standard output stays empty and standard error says what to do; `changeless` is a server that tells nothing."""
    server = object()  # stands for everything_server
    cases = [
        ([], None, USAGE, "there is nothing to do"),
        (["tools"], None, USAGE, "the server is missing"),
        (["tools", "node", "server.js"], None, USAGE, "the server's command stands behind --"),
        (["dance"], server, USAGE, "there is no action dance"),
        (["call"], server, USAGE, "<NAME>"),
        (["call", "greet", "Ada"], server, USAGE, "KEY=VALUE"),
        (["call", "greet", '{"name": '], server, USAGE, "not a JSON object"),
        (["call", "greet", "name=a", "name=b"], server, USAGE, "given twice"),
        (["--loud", "tools"], server, USAGE, "unexpected argument '--loud'"),
        (["--era", "stone", "tools"], server, USAGE, "auto, legacy, modern"),
        (["--revision", "2020-01-01", "tools"], server, USAGE, "2026-07-28"),
        (["--era", "modern", "--revision", "2025-06-18", "tools"], server, USAGE, "contradict"),
        (["--timeout", "soon", "tools"], server, USAGE, "expected a number of seconds"),
        (["--root", "/does/not/exist", "tools"], server, USAGE, "--root"),
        (["--url", "nonsense", "tools"], None, USAGE, "neither with http://"),
        (["--url", "http://127.0.0.1:9/mcp", "tools"], None, LOST, "can't be reached"),
        (["call", "fail"], server, TOOL_FAILED, "the tool failed: it failed on purpose"),
        (["call", "add", "a=1"], server, TOOL_FAILED, "the tool failed"),
        (["call", "no_such_tool"], server, REFUSED, "no_such_tool"),
        (["read", "fixture://nothing"], server, REFUSED, "fixture://nothing"),
        (["prompt", "greet"], server, REFUSED, "argument 'name' is required"),
        (["complete", "prompt", "greet", "nobody", "x"], server, REFUSED, "there is no argument 'nobody'"),
        (["call", "test_elicitation", "message=Who?"], server, REFUSED, "elicitation"),
        (["listen"], changeless, REFUSED, "the server tells of no changes"),
        (["--timeout", "0.3", "call", "slow", "steps=100"], server, TIMED_OUT, "no answer to tools/call"),
        (["--timeout", "1", "tools"], ["sleep", "60"], TIMED_OUT, "no connection within the 1 s of --timeout"),
        (["tools"], ["/does/not/exist"], LOST, "can't start '/does/not/exist'"),
        (["tools"], ["sh", "-c", "echo its last words >&2; exit 3"], LOST, "its last words"),
        (["tools"], ["cat"], LOST, "connecting to 'cat"),
        (["--era", "modern", "tools"], ["cat"], LOST, "connecting to 'cat"),
    ]

    def body(check: Check, folder: Path) -> str:
        pids = folder / "pids"
        for words, command, code, said in cases:
            # What can't start is not wrapped, and what is no server is told by its own name.
            command = everything if command is server else command
            command = noting_pids(pids, command) if command in (everything, changeless) else command
            pids.unlink(missing_ok=True)
            status, out = run_program(check, [*argv, *words, *(["--", *command] if command else [])], pids)
            seen = [status, out, check.stderr]
            expect(status == code, f"mcplink {' '.join(words)} has to end with {code}", seen)
            expect(out == "" and said in check.stderr and check.stderr.startswith("mcplink: "), f"mcplink {' '.join(words)} has to say {said!r}", seen)
        status, out, err = mcp(check, argv, ["--trace", "--era", "legacy", "call", "echo", "message=hej"], everything, folder)
        expect((status, out) == (DONE, "hej\n"), "a traced call", [status, out])
        traced = [line.split(None, 2) for line in err.splitlines()]
        calls = [text for _, sign, text in traced if sign == ">" and '"tools/call"' in text]
        expect(len(calls) == 1 and json.loads(calls[0])["params"]["name"] == "echo", "the call in the trace", err)
        status, out, err = mcp(check, argv, ["--log", "debug", "call", "test_logging_tool"], everything, folder)
        expect(status == DONE and "[info] everything: One message\n" in err, "a log message", [status, out, err])
        status, out, _ = mcp(check, argv, ["--revision", "2024-11-05", "--json", "info"], everything, folder)
        expect(json.loads(out)["protocolVersion"] == "2024-11-05", "a pinned revision", [status, out])
        return f"{len(cases) + 3} commands"

    return Check("mcplink says what went wrong", body)


# --- the published servers ------------------------------------------------------------------------------------------------------


def check_of_calls(argv: list[str], name: str, choose) -> Check:
    """The calls of a published server's table, as JSON, on one connection."""

    def body(check: Check, folder: Path) -> str:
        server = choose(folder)
        calls = [call for call in server.calls if not (call.cancelled or call.refused or call.is_error)]
        script = ["tools", *(f"call {call.tool} {json.dumps(call.arguments)}" for call in calls)]
        status, out, err = mcp(check, argv, ["--json", "shell"], server.argv, folder, "\n".join(script))
        expect(status == DONE, "exit status", [status, err])
        listed, *results = [json.loads(line) for line in out.splitlines()]
        names = [tool["name"] for tool in listed["tools"]]
        expect(set(server.tools) <= set(names), "tools", names)
        expect(len(results) == len(calls), f"{len(calls)} results", results)
        for call, got in zip(calls, results):
            text = "".join(block.get("text", "") for block in got["content"])
            kinds = [block["type"] for block in got["content"]]
            seen = {"name": call.tool, "isError": got.get("isError", False), "text": text, "kinds": kinds}
            if "structuredContent" in got:
                seen["structured"] = got["structuredContent"]
            why = call.complaint(seen, False)
            if why:
                raise Failed(why)
        return f"{len(calls)} calls"

    return Check(f"mcplink --json -> {name}", body)
