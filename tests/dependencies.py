#!/usr/bin/env python3
"""The crates that the library is built from: docs/dependencies.md and deny.toml, held against the tree of crates. Needs no network.

    tests/dependencies.py check    the page has one row for each crate, with its features, licence, keepers and kind of code; the licences are
                                   allowed, the bans hold, and everything comes from the registry, by the rules of deny.toml
    tests/dependencies.py write    writes the rows anew, after a change that is meant; the reason of each crate is kept
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "dependencies.md"
TARGET = "x86_64-unknown-linux-gnu"
FEATURES = ["schemars", "http-client", "http-server", "tls", "auth", "jwt", "validation", "skills", "cffi"]
# The rows of the page that this program writes stand behind this line.
HEAD = "| crate | comes with | licence | kept by | code | why it is here |\n|---|---|---|---|---|---|\n"
# What stands in the table for a crate that has no reason yet; the check refuses it.
UNKNOWN = "?"


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def tree(*arguments):
    """The crates of a build, as pairs of name and version."""
    lines = cargo("tree", "--locked", "-e", "normal", "--prefix", "none", "--target", TARGET, *arguments).splitlines()
    return {tuple(line.split()[:2]) for line in lines if line.strip()} - {("mcplink", f"v{version()}")}


def version():
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]


def keepers(package):
    """The authors, without their addresses, and the place of the source."""
    names = [re.sub(r"\s*<.*>", "", author) for author in package["authors"]]
    place = (package["repository"] or "").removesuffix("/").removesuffix(".git")
    parts = place.removeprefix("https://").split("/")
    link = f"[{'/'.join(parts[1:3])}]({place})" if place else "no repository named"
    return ", ".join([link, *names])


def code(package):
    """What kind of code a crate has, by its sources and its metadata."""
    folder = pathlib.Path(package["manifest_path"]).parent
    kinds = {kind for target in package["targets"] for kind in target["kind"]}
    forbids, uses = False, False
    for file in sorted((folder / "src").rglob("*.rs")):
        text = file.read_text(errors="replace")
        forbids |= re.search(r"#!\[(cfg_attr\([^\]]*)?forbid\([^)]*unsafe_code", text) is not None
        text = re.sub(r"/\*.*?\*/", "", re.sub(r"//.*", "", text), flags=re.S)
        uses |= re.search(r"\bunsafe\b\s*(\{|fn|impl|extern|trait)", text) is not None
    words = ["forbids `unsafe`" if forbids else "`unsafe`" if uses else "no `unsafe`"]
    words += ["build script"] if "custom-build" in kinds else []
    words += ["macro, at build time only"] if "proc-macro" in kinds else []
    return ", ".join(words)


def rows():
    """The facts of each crate by its name: what the columns but the last one say."""
    always = tree("--no-default-features")
    brings = {feature: tree("--no-default-features", "--features", feature) - always for feature in FEATURES}
    metadata = json.loads(cargo("metadata", "--locked", "--format-version", "1", "--all-features", "--filter-platform", TARGET))
    packages = {(package["name"], "v" + package["version"]): package for package in metadata["packages"]}
    facts = {}
    every = tree("--all-features")
    for crate in sorted(every):
        package = packages[crate]
        features = [f"`{feature}`" for feature in FEATURES if crate in brings[feature]]
        # Two versions of a crate are told apart by their first numbers.
        twice = sum(name == crate[0] for name, _ in every) > 1
        name = crate[0] + (" " + re.match(r"v(0\.\d+|[1-9]\d*)", crate[1]).group(1) if twice else "")
        facts[name] = [f"`{name}`", "always" if crate in always else ", ".join(features), package["license"] or "none named",
                       keepers(package), code(package)]
    return facts


def written():
    """The table of the page: for each crate its cells."""
    _, _, rest = PAGE.read_text().partition(HEAD)
    table = {}
    for line in rest.splitlines():
        if not line.startswith("| `"):
            break
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        table[cells[0].strip("`")] = cells
    return table


def choices(expression):
    """The licences of an expression, as sets of which one has to be allowed as a whole; "/" is an old way to write OR."""
    expression = expression.replace("/", " OR ")
    parts = re.split(r"\s+AND\s+(?![^(]*\))", expression)
    return [[choice.strip(" ()") for choice in part.split(" OR ")] for part in parts]


def adapters():
    """The crates that only the crates in adapters/ bring, with their licences. The page has no rows for them."""
    metadata = json.loads(cargo("metadata", "--locked", "--format-version", "1", "--all-features", "--filter-platform", TARGET))
    licences = {(package["name"], "v" + package["version"]): package["license"] or "none named" for package in metadata["packages"]}
    crates = tree("-p", "mcplink-redis", "-p", "mcplink-skills", "--all-features") - tree("--all-features")
    return {name: ["", "", licences[name, number]] for name, number in crates if (name, number) in licences}


def faults_of_rules(packages_on_page):
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    allowed = set(rules["licenses"]["allow"])
    exceptions = {entry["crate"]: set(entry["allow"]) for entry in rules["licenses"]["exceptions"]}
    used = set()
    for name, cells in packages_on_page.items():
        takes = allowed | exceptions.get(name.split()[0], set())
        for part in choices(cells[2]):
            good = [licence for licence in part if licence in takes]
            used |= set(good)
            if not good:
                yield f"{name}: deny.toml allows none of {part}"
    yield from (f"deny.toml allows {licence}, which no crate has" for licence in sorted(allowed - used))
    banned = {entry["crate"]: entry["reason"] for entry in rules["bans"]["deny"]}
    # One registry, and neither git nor a second one.
    sources = sorted({package["source"] for package in lock if "source" in package})
    if len(sources) != 1 or not sources[0].startswith("registry+"):
        yield f"the crates come from {', '.join(sources)}"
    for package in lock:
        if package["name"] in banned:
            yield f"{package['name']} is {banned[package['name']]}: deny.toml bans it"


def check():
    facts, table = rows(), written()
    faults = [f"docs/dependencies.md lacks {name}" for name in facts if name not in table]
    faults += [f"docs/dependencies.md names {name}, which is not in the tree" for name in table if name not in facts]
    for name, cells in table.items():
        if name in facts and cells[:5] != facts[name]:
            faults.append(f"{name}: the page says {cells[:5]}, the crate {facts[name]}")
        if cells[5:] in ([], [UNKNOWN]):
            faults.append(f"{name}: no reason")
    faults += faults_of_rules({**adapters(), **facts})
    if faults:
        sys.exit("\n".join([*faults, "after a change that is meant: tests/dependencies.py write"]))
    print(f"{len(facts)} crates are described, and keep to deny.toml")


def write():
    table = written()
    lines = [" | ".join(["| " + cells[0], *cells[1:], table.get(name, [UNKNOWN])[-1]]) + " |\n" for name, cells in rows().items()]
    before, _, rest = PAGE.read_text().partition(HEAD)
    after = re.sub(r"\A(\| .*\n)*", "", rest)
    PAGE.write_text(before + HEAD + "".join(lines) + after)


if __name__ == "__main__":
    os.environ["CARGO_TERM_COLOR"] = "never"
    {"check": check, "write": write}.get(sys.argv[1] if len(sys.argv) == 2 else "", lambda: sys.exit(__doc__))()
