"""Formats the tables of the C interface in src/cffi, which rustfmt does not: they are macros.

python3 tests/cffi/format_tables.py          fails if a table is not formatted
python3 tests/cffi/format_tables.py write    formats the tables
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = re.compile(r"^(?:actions|fallible|getters|calls|enumeration)! \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
# A table, line by line, as Rust that rustfmt reads, and back. Both sides are equally long.
HEAD = re.compile(r"^    (?:\w+\(\w+: [^()]+\)|client: \w+);$", re.MULTILINE)
START = re.compile(r"^    start (\w+);$", re.MULTILINE)
USER = re.compile(r"; user(?=\s*\))")
RESULT = re.compile(r"-> (\w+): (?=mcplink_)")


def rust_of(table):
    table = START.sub(r"    fn START_\1() {}", table)
    table = HEAD.sub(lambda found: "    //HEAD" + found.group(0)[4:], table)
    table = USER.sub(", _: U", table)
    table = RESULT.sub(r"-> \1::", table)
    return re.sub(r"^\w+! \{", "impl Table {" if "\n    fn " in table else "mod table {", table)


def table_of(rust, macro):
    rust = re.sub(r"^(?:impl|mod) \w+ \{", macro + "! {", rust)
    rust = re.sub(r", _: U\)", "; user)", rust)
    rust = re.sub(r",\n        _: U,\n", "; user\n", rust)
    rust = re.sub(r"-> (?!arg)(\w+)::(?=mcplink_)", r"-> \1: ", rust)
    rust = re.sub(r"fn START_(\w+)\(\) \{\}", r"start \1;", rust)
    return rust.replace("    //HEAD", "    ")


def formatted(source):
    tables = TABLE.findall(source)
    if not tables:
        return source
    between = "// BETWEEN\n"
    text = between.join(rust_of(table) for table in tables)
    command = ["rustfmt", "--edition", "2024", "--emit", "stdout"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60)
    new = re.split(r"\n*// BETWEEN\n", done.stdout)
    macros = [table.split("!")[0] for table in tables]
    replaced = iter([table_of(rust.rstrip("\n") + "\n", macro) for rust, macro in zip(new, macros, strict=True)])
    return TABLE.sub(lambda _: next(replaced), source)


def main():
    wrong = []
    for path in sorted((ROOT / "src" / "cffi").rglob("*.rs")):
        source = path.read_text()
        new = formatted(source)
        if new != source:
            wrong.append(str(path.relative_to(ROOT)))
            if sys.argv[1:] == ["write"]:
                path.write_text(new)
    if wrong and sys.argv[1:] != ["write"]:
        sys.exit("tables are not formatted (python3 tests/cffi/format_tables.py write):\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
