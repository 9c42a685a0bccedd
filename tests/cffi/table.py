#!/usr/bin/env python3
"""What of the Rust API the C interface has: tests/cffi/table.txt against the sources of both sides, and docs/c-table.md that is made of it.

    tests/cffi/table.py check    each public method of Rust has its C functions or a reason, each C function has its methods or a reason, and the page fits
    tests/cffi/table.py write    writes docs/c-table.md anew
    tests/cffi/table.py count    how many methods are covered, and how many have a reason
"""

import fnmatch
import pathlib
import re
import sys
import textwrap

import abi

ROOT = abi.HEADER.parent.parent
TABLE = pathlib.Path(__file__).with_name("table.txt")
PAGE = ROOT / "docs" / "c-table.md"
# Types whose public fields are settings too.
FIELDS = ["Limits"]


def rust_methods():
    """The public methods of the types that users of the Rust crate can name: {type: (folder, [method, …])}."""
    files = [file for file in sorted((ROOT / "src").rglob("*.rs")) if "cffi" not in file.relative_to(ROOT).parts and not file.stem.endswith("loom_tests")]
    # Tests are behind the rest of a file.
    texts = {file: re.split(r"(?m)^#\[cfg\((?:test|all\(test)", file.read_text())[0] for file in files}
    exported = set()
    for text in texts.values():
        for names in re.findall(r"(?m)^pub use ([^;]+);", text):
            exported |= set(re.findall(r"\b[A-Z]\w+", names))
    # Or without a `pub use`: in a public module.
    modules = {name for text in texts.values() for name in re.findall(r"(?m)^pub mod (\w+);", text)}
    for file, text in texts.items():
        if (file.parent.name if file.stem == "mod" else file.stem) in modules:
            exported |= set(re.findall(r"(?m)^pub (?:struct|enum|trait) (\w+)", text))
    methods = {}
    for file, text in texts.items():
        folder = file.relative_to(ROOT / "src").parts[0].removesuffix(".rs")
        for name in re.findall(r"(?m)^pub (?:struct|enum|trait) (\w+)", text):
            if name in exported:
                methods.setdefault(name, (folder, []))
        # The macro `object!` of the data model defines a struct and its constructors.
        for block in re.finditer(r"(?ms)^object! \{\n.*?^    pub struct (\w+)(.*?)^\}", text):
            if block[1] in exported:
                methods.setdefault(block[1], (folder, []))[1].extend(re.findall(r"(?m)^    pub fn (\w+)", block[2]))
    for file, text in texts.items():
        for block in re.finditer(r"(?ms)^impl(?:<.*?>)? ([A-Z]\w*)(?:<[^{;]*?>)?(?:\s+where[^{]*)? \{\n(.*?)^\}", text):
            if block[1] in methods:
                found = re.findall(r"(?m)((?:^    #\[[^\n]*\n)*)^    pub (?:const )?fn (\w+)", block[2])
                methods[block[1]][1].extend(name for attributes, name in found if "doc(hidden)" not in attributes)
        for block in re.finditer(r"(?ms)^pub trait (\w+)[^{;]*\{\n(.*?)^\}", text):
            if block[1] in methods:
                methods[block[1]][1].extend(re.findall(r"(?m)^    fn (\w+)", block[2]))
        for block in re.finditer(r"(?ms)^pub struct (\w+) \{\n(.*?)^\}", text):
            if block[1] in FIELDS:
                methods[block[1]][1].extend(re.findall(r"(?m)^    pub (\w+):", block[2]))
    # An item may be there once for each of several features.
    return {name: (folder, list(dict.fromkeys(found))) for name, (folder, found) in methods.items() if found}


class Table:
    def __init__(self):
        """Sections: (heading, [(types, [(methods, C names, reason)])]); rules: {pattern: reason} for what only C has."""
        self.sections, self.folders, self.only_c = [], {}, {}
        rows = None
        for number, line in enumerate(TABLE.read_text().splitlines(), 1):
            line = line.split("#!")[0].rstrip()
            if not line or line.startswith("#"):
                if line.startswith("## "):
                    self.sections.append((line[3:], []))
                continue
            heading = re.fullmatch(r"\[(.*?)\](?: - (.*))?", line)
            if heading:
                names = heading[1].split()
                if names[0] == "folder":
                    self.folders[names[1]] = heading[2]
                    rows = None
                elif names == ["C", "only"]:
                    rows = self.only_c
                else:
                    rows = [(["*"], [], heading[2])] if heading[2] else []
                    self.sections[-1][1].append((names, rows))
                continue
            left, _, right = line.partition(": ")
            if rows is None or not right:
                sys.exit(f"{TABLE.name}:{number}: {line}")
            if rows is self.only_c:
                for pattern in left.split():
                    self.only_c[pattern] = right
            elif right.startswith("- "):
                rows.append((left.split(), [], right[2:]))
            else:
                names, _, remark = right.partition(" (")
                rows.append((left.split(), names.split(), remark.removesuffix(")")))

    def types(self):
        return {name: rows for _, types in self.sections for names, rows in types for name in names}


def check():
    table, rust = Table(), rust_methods()
    header = abi.HEADER.read_text()
    functions = set(re.findall(r"\b(mcplink_\w+)\(", header)) & set((pathlib.Path(__file__).with_name("symbols.txt")).read_text().split())
    wrong, used = [], set()
    types = table.types()
    for name, (folder, methods) in sorted(rust.items()):
        rows = types.get(name)
        if rows is None:
            if folder not in table.folders:
                wrong.append(f"{name} ({folder}): in no section: {' '.join(methods)}")
            continue
        listed = [method for row in rows for method in row[0]]
        if listed == ["*"]:
            continue
        wrong += [f"{name}::{method}: what of it has C?" for method in methods if method not in listed]
        wrong += [f"{name}::{method}: Rust has no such method" for method in listed if method not in methods]
        wrong += [f"{name}::{method}: twice" for method in sorted({one for one in listed if listed.count(one) > 1})]
    wrong += [f"{name}: Rust has no such type with methods" for name in types if name not in rust]
    wrong += [f"folder {name}: nothing of it is left" for name in table.folders if name not in {folder for folder, _ in rust.values()}]
    for name, rows in types.items():
        for methods, names, _ in rows:
            for one in names:
                used.add(one)
                if one not in functions and not (one.isupper() and re.search(rf"\b{one}\b", header)):
                    wrong.append(f"{name}::{methods[0]}: C has no {one}")
    matched = set()
    for function in sorted(functions):
        rules = [pattern for pattern in table.only_c if fnmatch.fnmatchcase(function, pattern)]
        matched |= set(rules)
        if function not in used and not rules:
            wrong.append(f"{function}: in no row of a method, and not under [C only]")
    wrong += [f"[C only] {pattern}: C has no such function" for pattern in table.only_c if pattern not in matched]
    if wrong:
        sys.exit("\n".join([f"tests/cffi/table.txt does not fit ({len(wrong)}):", *wrong]))
    if not PAGE.exists() or PAGE.read_text() != page():
        sys.exit("docs/c-table.md does not fit: tests/cffi/table.py write")


def counts():
    table, rust = Table(), rust_methods()
    covered = elsewhere = missing = folders = 0
    for name, (folder, methods) in rust.items():
        rows = table.types().get(name)
        if rows is None:
            folders += len(methods)
            continue
        for row, names, reason in rows:
            number = len(methods) if row == ["*"] else len(row)
            if names:
                covered += number
            elif reason.startswith("not in C yet"):
                missing += number
            else:
                elsewhere += number
    return covered, elsewhere, missing, folders


def page():
    covered, elsewhere, missing, folders = counts()
    table, rust = Table(), rust_methods()
    intro = ("This page lists the public methods of the Rust crate with their C functions. [mcplink from C and C++](c.md) is the guide; "
             "`include/mcplink.h` describes each function.")
    counted = (f"{covered} methods have C functions. {elsewhere} need none: C has another form, which the row names. "
               + (f"{missing} are not in C yet. " if missing else "")
               + f"{folders} more are methods of the data model, which C reads and writes as JSON.")
    text = ["# Rust and C", "", "<!-- Made of tests/cffi/table.txt by tests/cffi/table.py write; tests/cffi/all checks it. -->", ""]
    text += [textwrap.fill(intro, 100), "", textwrap.fill(counted, 100), ""]
    for heading, types in table.sections:
        text += [f"## {heading}", "", "| Rust | C |", "|---|---|"]
        for names, rows in types:
            for name in names:
                for methods, functions, reason in rows:
                    if methods == ["*"]:
                        rust_side = f"`{name}`, all {len(rust[name][1])} methods" if len(rust[name][1]) > 1 else f"`{name}`"
                    else:
                        rust_side = ", ".join(f"`{name}::{method}`" for method in methods)
                    c_side = ", ".join(f"`{one}`" for one in functions)
                    if reason:
                        c_side = f"{c_side}: {reason}" if c_side else reason
                    text.append(f"| {rust_side} | {c_side} |")
        text.append("")
    text += ["## Functions that only C has", "", "| C | why |", "|---|---|"]
    by_reason = {}
    for pattern, reason in table.only_c.items():
        by_reason.setdefault(reason, []).append(f"`{pattern}`")
    text += [f"| {', '.join(patterns)} | {reason} |" for reason, patterns in by_reason.items()]
    text += ["", "## The data model", "", "| Rust | C |", "|---|---|"]
    text += [f"| the types of `{folder}` | {reason} |" for folder, reason in table.folders.items()]
    return "\n".join([*text, ""])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check"]:
            check()
        case ["write"]:
            PAGE.write_text(page())
            check()
        case ["count"]:
            print("%d with C functions, %d in another form, %d not in C yet, %d of the data model" % counts())
        case _:
            sys.exit(__doc__)
