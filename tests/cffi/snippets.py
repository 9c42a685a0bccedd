#!/usr/bin/env python3
"""Compiles every snippet of C and C++ in the guides, README.md and docs/*.md, as C99 and C++17; and every example, with what POSIX adds."""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent.parent
COMPILERS = {
    "c": ["gcc", "-std=c99", "-x", "c"],
    "cpp": ["g++", "-std=c++17", "-x", "c++"],
}
FLAGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", f"-I{ROOT / 'include'}"]


def sources():
    """Each source as (name, language, text, further flags)."""
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]):
        text = page.read_text()
        for found in re.finditer(r"^```(c|cpp)\n(.*?)^```", text, re.M | re.S):
            line = text[: found.start()].count("\n") + 1
            # A snippet may show a function that nobody calls.
            yield f"{page.relative_to(ROOT)}:{line}", found[1], found[2], ["-Wno-unused-function"]
    for example in sorted((ROOT / "examples").glob("c*/**/*.c*")):
        more = ["-D_GNU_SOURCE", f"-I{example.parent}"]
        yield str(example.relative_to(ROOT)), example.suffix[1:], example.read_text(), more


def compiled(source):
    name, language, text, more = source
    done = subprocess.run([*COMPILERS[language], *FLAGS, *more, "-"], input=text, capture_output=True, text=True)
    return f"{name}:\n{done.stderr}" if done.returncode else ""


def main():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        said = list(pool.map(compiled, sources()))
    print("".join(said) + f"{len(said)} snippets and examples")
    # Fewer would mean that none are found any more.
    if any(said) or len(said) < 40:
        sys.exit(1)


if __name__ == "__main__":
    main()
