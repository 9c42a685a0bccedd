#!/usr/bin/env python3
"""Compiles every snippet of C and C++ in the guides: README.md and docs/*.md."""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent.parent
COMPILERS = {
    "c": ["gcc", "-std=c11", "-D_GNU_SOURCE", "-x", "c"],
    "cpp": ["g++", "-std=c++17", "-x", "c++"],
}
# A snippet may show a function that nobody calls.
FLAGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-function", "-fsyntax-only", f"-I{ROOT / 'include'}"]


def main():
    count, failed = 0, False
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]):
        for found in re.finditer(r"^```(c|cpp)\n(.*?)^```", page.read_text(), re.M | re.S):
            line = page.read_text()[: found.start()].count("\n") + 1
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write(found[2])
                file.flush()
                done = subprocess.run([*COMPILERS[found[1]], *FLAGS, file.name], capture_output=True, text=True)
            count += 1
            if done.returncode:
                failed = True
                print(f"{page.relative_to(ROOT)}:{line}:\n{done.stderr}")
    print(f"{count} snippets")
    if failed or not count:
        sys.exit(1)


if __name__ == "__main__":
    main()
