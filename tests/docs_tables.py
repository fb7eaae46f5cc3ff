#!/usr/bin/env python3
"""Runs the TSL in tables of Markdown: the code spans of each column that is headed "TSL".

    tests/docs_tables.py build/release/tsl docs/coming-from.md …

Each span runs by itself, behind the names that the page declares in a comment above the table, `<!-- tsl: let x = … -->`,
which counts up to the next one. A span is a program, or `program` → `what printing its value shows`.
"""
import re
import subprocess
import sys
from pathlib import Path

NAMES = re.compile(r"<!-- tsl:(.*?)-->", re.S)
SPAN = re.compile(r"`` (.+?) ``|`([^`]+)`")
CELLS = re.compile(r"(?<!\\)\|")


def code(span):
    return span[1] or span[2]


def spans(cell):
    """Gives pairs of a program and what it is to print, or None."""
    found = list(SPAN.finditer(cell))
    while found:
        span = found.pop(0)
        shown = None
        if found and cell[span.end():found[0].start()].strip() == "→":
            shown = code(found.pop(0))
        yield code(span).replace("\\|", "|"), shown


def programs(page):
    """Gives the line, the names, the program and what it prints, of each span."""
    text = page.read_text()
    text = NAMES.sub(lambda m: "\0" + m[1].replace("\n", "\1") + "\n" * m[1].count("\n"), text)
    names, column = "", None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("\0"):
            names = line[1:].replace("\1", "\n")
        elif not line.startswith("|"):
            column = None
        else:
            cells = CELLS.split(line)[1:-1]
            heads = [cell.strip() for cell in cells]
            if column is None:
                column = heads.index("TSL") if "TSL" in heads else -1
            elif column >= 0:
                yield from ((number, names, *pair) for pair in spans(cells[column]))


def run(tsl, names, program, shown):
    """Returns what is wrong with a program, or None."""
    *before, last = program.split("; ")
    if shown is not None:
        last = f"print({last})"
    program = "\n".join([*before, last])
    done = subprocess.run([tsl, "--warn", "off", "-e", f"{names}\n{program}"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.splitlines()[0]
    if shown is not None and " ".join(done.stdout.split()) != shown:
        return f"prints {' '.join(done.stdout.split())}, not {shown}"
    return None


def main():
    tsl, *pages = sys.argv[1:]
    count = failures = 0
    for page in pages:
        for number, declared, program, shown in programs(Path(page)):
            count += 1
            if problem := run(tsl, declared, program, shown):
                failures += 1
                print(f"{page}:{number}: `{program}` {problem}")
    print(f"{count} programs of tables, {failures} failed")
    sys.exit(failures > 0 or not count)


main()
