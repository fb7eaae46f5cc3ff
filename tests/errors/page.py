#!/usr/bin/env python3
"""page.py TSL [--update]: runs the example of each error, checks that it has the error's name, and compares the page of
all errors with docs/errors.md, or stores it there.

The names are those of src/base/errors.def. tests/errors/*.programs hold the examples: a program under "#--- NAME", which
`tsl t.tsl` runs, or the commands behind "#--- NAME: ". tests/errors/names.txt keeps every name that there has been, with
its kind: names may be added, by --update, and not removed, renamed or given another kind. In a build without OpenBLAS the
examples that need it are left out, and the test is skipped if all others are right."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PAGE = ROOT / "docs/errors.md"
NAMES = FOLDER / "names.txt"
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(rf"^ERROR(?:_UNSHOWN)?\((\w+), (\w+),\s+{TEXT}(?:,\s+{TEXT})?\)$", re.M)
DEFAULT = "tsl t.tsl"
# Their errors are text in any case, so that only the kind can be checked.
SUBCOMMANDS = r"test|fmt|explain|diff|bench"
KINDS = {
    "user": "Errors of the program itself",
    "syntax": "The text of a program",
    "name": "What names stand for",
    "type": "What kind of value something is",
    "shape": "The extents of tensors",
    "index": "Places in values",
    "value": "Values of the right type that do not serve",
    "io": "Files and modules",
    "memory": "Memory",
    "device": "Devices",
    "limit": "Limits of the configuration or the language",
    "interrupt": "Interruption",
    "exit": "The end of a program",
    "warning": "Warnings",
}
INTRODUCTION = """# Errors

Every error and warning has a name, the cause that a program may tell from others. Texts may change with any version;
names and their kinds do not, and new ones may be added. The name is seen by

| who | as |
|---|---|
| a script | `e.name` of what `catch e` gets, beside `e.kind`, `e.message` and `e.line` |
| an editor, a build | `"name"` in what `tsl --check --json FILE` and `tsl --json FILE` print |
| a host program | `tsl_get_error_name()`, `Error::name` in C++, `Error.name` in Python ([embedding](embedding.md)) |
| a reader | `tsl help NAME` |

An error of the API itself has the name `misuse`, or `internal` for a defect of TSL.

This page is made from `src/base/errors.def` and the programs in `tests/errors/`, which are run: `tests/errors/page.py
build/release/tsl --update` makes it anew.
"""

WITHOUT_OPENBLAS = "TSL was built without OpenBLAS"

problems = []
left_out = []


def read_rows():
    """Gives (name, kind, when, why it is not shown) of each error."""
    text = (ROOT / "src/base/errors.def").read_text()
    rows = [[re.sub(r"\\(.)", r"\1", part or "") for part in row] for row in ROW.findall(text)]
    if len(rows) != len(re.findall(r"^ERROR", text, re.M)):
        sys.exit("page.py: src/base/errors.def has a row that is not of the usual form")
    return [(name.replace("_", "-"), *rest) for name, *rest in rows]


def read_examples():
    """Gives the program and the commands of each name."""
    examples = {}
    for file in sorted(FOLDER.glob("*.programs")):
        parts = re.split(r"^#--- (.*)\n", file.read_text(), flags=re.M)[1:]
        for heading, program in zip(parts[::2], parts[1::2]):
            name, _, commands = heading.partition(": ")
            if name in examples:
                problems.append(f"{file.name}: {name} has two examples")
            examples[name] = program, commands or DEFAULT
    return examples


def run(tsl, program, commands, options=""):
    """Gives what the commands print to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.tsl").write_text(program)
        function = f'tsl() {{ case $1 in {SUBCOMMANDS}) "$TSL" "$@" ;; *) "$TSL" {options} --device cpu "$@" ;; esac; }}\n'
        done = subprocess.run(["bash", "-c", function + commands], cwd=folder, capture_output=True,
                              env={**os.environ, "TSL": tsl, "NO_COLOR": "1"}, timeout=120)
        return done.stderr.decode(errors="replace")


def check_name(tsl, name, kind, program, commands, shown):
    """Checks that an example has the error that it is an example of."""
    heading = "warning: " if kind == "warning" else f"error[{kind}]: "
    if not shown.startswith(heading):
        problems.append(f"{name}: its example prints no \"{heading}\" but\n{shown}")
    if re.search(rf"\btsl (?:{SUBCOMMANDS})\b[^;]*$", commands):
        return
    lines = run(tsl, program, commands, "--json").splitlines()
    found = [json.loads(line)["name"] for line in lines]
    if found != [name]:
        problems.append(f"{name}: its example has the errors {', '.join(found) or 'none'}")


def stored(name):
    """Gives the part of the page about a name as it is stored."""
    part = re.search(rf"^### {name}$.*?(?=^##|\Z)", PAGE.read_text(), re.M | re.S)
    return part.group().rstrip().splitlines() + [""] if part else []


def entry(tsl, row, example):
    """Gives the part of the page about a name."""
    name, kind, when, unshown = row
    lines = [f"### {name}", "", when[0].upper() + when[1:] + ".", ""]
    if not example:
        if not unshown:
            problems.append(f"{name}: no file of tests/errors has an example")
        return lines + [f"No example: {unshown}.", ""]
    if unshown:
        problems.append(f"{name}: it has an example, although its row says why there is none")
    program, commands = example
    shown = re.sub(r"(\.|__)[0-9a-f]{4}([0-9a-f]{4})?\b", r"\1…", run(tsl, program, commands))  # hashes of contents
    if WITHOUT_OPENBLAS in shown:
        left_out.append(name)
        return stored(name)
    check_name(tsl, name, kind, program, commands, shown)
    if "<t.tsl" in commands:
        lines += ["At the prompt:", "", "```text", *program.splitlines(), "```", ""]
    else:
        if program:
            lines += ["```tsl fails", *program.splitlines(), "```", ""]
        if commands != DEFAULT:
            lines += ["```bash", *commands.split("; "), "```", ""]
    return lines + ["```text", *shown.splitlines(), "```", ""]


def check_names(rows, is_update):
    """Checks that no name has gone, and that all are kept."""
    kept = NAMES.read_text().splitlines()
    there = [f"{name} {kind}" for name, kind, *_ in rows]
    for gone in sorted(set(kept) - set(there)):
        problems.append(f"{gone}: hosts may rely on this name and kind, so that it cannot go")
    if set(there) - set(kept):
        if is_update:
            NAMES.write_text("".join(line + "\n" for line in sorted(set(kept) | set(there))))
        else:
            problems.append(f"not in tests/errors/names.txt: {', '.join(sorted(set(there) - set(kept)))}")


def main():
    tsl = str(Path(sys.argv[1]).resolve())
    is_update = "--update" in sys.argv
    rows, examples = read_rows(), read_examples()
    check_names(rows, is_update)
    for name in set(examples) - {row[0] for row in rows}:
        problems.append(f"{name}: an example of no error")
    lines = INTRODUCTION.splitlines()
    for kind, title in KINDS.items():
        lines += ["", f"## {kind}", "", title + ".", ""]
        for row in rows:
            if row[1] == kind:
                lines += entry(tsl, row, examples.get(row[0]))
        lines.pop()
    page = "\n".join(lines) + "\n"
    if is_update:
        PAGE.write_text(page)
    elif page != PAGE.read_text():
        problems.append("docs/errors.md is not as the examples print it: tests/errors/page.py TSL --update")
    print("\n".join(problems) or f"{len(rows)} errors, {len(examples)} examples")
    if left_out and not problems:
        print(f"skipped: {WITHOUT_OPENBLAS}: the examples of {', '.join(left_out)} need it")
        sys.exit(77)
    sys.exit(bool(problems))


main()
