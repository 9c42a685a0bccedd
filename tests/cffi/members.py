#!/usr/bin/env python3
"""The names of include/mcplink.hpp: a member is named after its C function, without the prefix of the object.

    tests/cffi/members.py check    each member that calls a function of its object has that function's name, by the rule of docs/c.md; each C function
                                   has a member
"""

import re
import sys

import abi

HPP = abi.HEADER.parent / "mcplink.hpp"

# Classes whose C object has another name.
OBJECTS = {"call_result": "result", "kept_responder": "responder", "kept_login": "login", "kept_fetch": "fetch", "resource_template": "template", "json_view": "json"}
# Members with another name, because C++ has no room for the C name, or one member is two functions.
OTHERS = {
    "server::make": "server_new_with makes a server, as make() of the other classes",
    "oauth_client::for_any": "oauth_client_new_for_any",
    "client_options::on_stderr": "one C function, and stderr is a macro",
    "client_options::stderr_mode": "one C function, and stderr is a macro",
    "pump::make": "a constructor that can fail",
    "watcher::make": "a constructor that can fail",
    "json_view::type": "mcplink_json_type is the enumeration",
    "json_view::size": "as containers of C++",
    "json::parse": "a constructor that can fail",
}


# C functions without an object, which C++ calls as they are.
PLAIN = ["mcplink_check_version", "mcplink_debug_dump", "mcplink_has_feature", "mcplink_revisions", "mcplink_version", "mcplink_version_number"]


def named(function):
    """The name of the member for a C function without the prefix of its object."""
    return re.sub(r"_ms$", "", re.sub(r"^(set|add)_", "", function))


def members():
    """Each member as (class, member, names of the C functions of its object that it calls, those without set_ and add_ cut)."""
    text = re.sub(r"/\*.*?\*/", "", HPP.read_text(), flags=re.S)
    for found in re.finditer(r"\nclass (?:\[\[nodiscard\]\] )?(\w+)[^;{]*\{\n(.*?)\n\};", text, flags=re.S):
        kind, body = found.groups()
        public = body.split("\nprivate:")[0]
        for member in re.split(r"\n(?=    [\w\[~])", public):
            head = re.search(r"(\w+)\([^\n]*\)[^\n]*(?:\{|\n|$)", member)
            prefix = f"mcplink_{OBJECTS.get(kind, kind)}_"
            called = re.findall(rf"\b{prefix}(\w+)\b(?!_t\b)", member.split("(", 1)[1]) if head else []
            called = [it for it in called if not it.endswith(("_t", "_fn")) and f"{prefix}{it}" in FUNCTIONS]
            name = re.match(r"\s*(?:template <[^>]*>\s*)?(?:static |explicit |friend )*(?:[\w:<>\[\]]+(?: const)? [&*]?|)(\w+)\(", member)
            if called and name:
                yield kind, name.group(1), called


FUNCTIONS = set(abi.functions())


def check():
    count, wrong = 0, []
    for kind, member, called in members():
        if member == kind or f"{kind}::{member}" in OTHERS:
            continue
        count += 1
        if member not in {named(it) for it in called} | set(called):
            wrong.append(f"{kind}::{member} calls {', '.join(called)}")
    words = set(re.findall(r"\w+", HPP.read_text()))
    wrong += [f"no member calls {function}" for function in sorted(FUNCTIONS - words - set(PLAIN))]
    if wrong or count < 300:
        sys.exit("\n".join([*wrong, f"{count} members have the names of their C functions; {len(wrong)} do not: see docs/c.md"]))
    print(f"{count} members")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check"]:
            check()
        case _:
            sys.exit(__doc__)
