#!/usr/bin/env python3
"""What the header promises, as data: every function, callback type and constant, and the tests that follow from it.

    tests/cffi/abi.py check            compares the header with symbols.txt and abi.txt, and with include/mcplink.json and mcplink.cdef
    tests/cffi/abi.py write            writes them anew, after a change that is meant
    tests/cffi/abi.py link FILE.c      writes a C program that takes the address of every function
    tests/cffi/abi.py exports LIBRARY  compares what a library defines with symbols.txt
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
HEADER = HERE.parent.parent / "include" / "mcplink.h"
# Parameters that receive an object which remains another's. All others of their kind hand over what they receive.
BORROWED = ["found"]


def statements():
    """The header without comments and preprocessor lines, cut at its semicolons outside of braces."""
    text = HEADER.read_text()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"(?m)//.*$", "", text)
    text = re.sub(r"(?m)^\s*#.*(\\\n.*)*$", "", text)
    text = text.replace('extern "C" {', "")
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == ";" and depth <= 0:
            yield " ".join(text[start:at].split())
            start, depth = at + 1, 0


def promises():
    """The lines of abi.txt."""
    lines = []
    for statement in statements():
        if "MCPLINK_API " in statement:
            attribute = "MCPLINK_NODISCARD " if "MCPLINK_NODISCARD " in statement else ""
            lines.append(attribute + statement[statement.index("MCPLINK_API ") + len("MCPLINK_API "):])
        elif statement.startswith("typedef enum "):
            name = statement.split()[2]
            for constant in re.findall(r"(MCPLINK_\w+ = -?\w+)", statement):
                lines.append(f"{name}: {constant}")
        elif statement.startswith("typedef"):
            lines.append(statement)
    return lines


def functions():
    names = [re.search(r"(mcplink_\w+)\(", line).group(1) for line in promises()
             if not line.startswith(("typedef", "mcplink_status:")) and re.search(r"(mcplink_\w+)\(", line)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        sys.exit(f"the header declares these more than once: {twice}")
    return sorted(names)


def wanted():
    import describe  # It imports this file.
    return {HERE / "symbols.txt": "\n".join(functions()) + "\n", HERE / "abi.txt": "\n".join(sorted(promises())) + "\n",
            HEADER.parent / "mcplink.json": describe.as_json(), HEADER.parent / "mcplink.cdef": describe.as_cdef()}


# Functions without err whose status the caller has to act on, though it is no mistake.
OUTCOMES = {
    "mcplink_debug_dump": "the file could not be written",
    "mcplink_login_answer": "the URL is not the answer",
    "mcplink_request_boolean": "the call was answered: return", "mcplink_request_integer": "the call was answered: return",
    "mcplink_request_number": "the call was answered: return", "mcplink_request_string": "the call was answered: return",
    "mcplink_responder_require_extension": "the call was answered: return", "mcplink_responder_require_scopes": "the call was answered: return",
    "mcplink_transport_feed": "the bytes were not accepted: feed them again",
}


def check_warnings():
    """Compilers warn by one rule: see "Warnings" in the header. That all other functions remember or log a mistake, restricts.py and kinds.c check."""
    import describe  # It imports this file.
    wrong = []
    for function in json.loads(describe.as_json())["functions"]:
        tells = any(it["name"] == "err" for it in function["parameters"]) or function["returns"].get("owner") == "caller"
        if function["must_use"] != (tells or function["name"] in OUTCOMES):
            wrong.append(function["name"])
    if wrong:
        sys.exit(f"#[must_use] does not follow the rule of the header: {wrong}")


def check():
    check_warnings()
    for file, text in wanted().items():
        if not file.exists() or file.read_text() != text:
            before = set(file.read_text().splitlines()) if file.exists() else set()
            after = set(text.splitlines())
            for line in sorted(before - after):
                print(f"gone or changed: {line}")
            for line in sorted(after - before):
                print(f"new: {line}")
            sys.exit(f"{file.name} does not match the header; if the change is meant: tests/cffi/abi.py write")


def link(file):
    names = functions()
    lines = ["/* Written by tests/cffi/abi.py: every function that the header declares is there. */", "#include <mcplink.h>", "#include <stdio.h>",
             "", "typedef void (*any_fn)(void);", "", "int main(void)", "{", "    static const any_fn all[] = {"]
    lines += [f"        (any_fn){name}," for name in names]
    lines += ["    };", "    size_t i, there = 0;", "    for (i = 0; i < sizeof all / sizeof *all; i++) there += all[i] != NULL;",
              f"    printf(\"%zu functions\\n\", there);", f"    return there != {len(names)};", "}", ""]
    pathlib.Path(file).write_text("\n".join(lines))


def exports(library):
    dynamic = ["--dynamic"] if ".so" in library else []
    symbols = subprocess.run(["nm", "--defined-only", "--extern-only", *dynamic, library], capture_output=True, text=True, check=True)
    # Where symbols have versions, the version is one too, without an address of its own.
    found = {line.split()[-1].split("@")[0] for line in symbols.stdout.splitlines() if len(line.split()) == 3 and " A " not in line}
    ours = {name for name in found if name.startswith("mcplink_")}
    expected = set(functions())
    others = sorted(found - ours) if dynamic else []
    if ours != expected or others:
        sys.exit(f"{library}: missing {sorted(expected - ours)}, too many {sorted(ours - expected)}, foreign {others[:5]}")
    print(f"{library}: {len(expected)} functions")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check"]:
            check()
        case ["write"]:
            for file, text in wanted().items():
                file.write_text(text)
        case ["link", file]:
            link(file)
        case ["exports", library]:
            exports(library)
        case _:
            sys.exit(__doc__)
