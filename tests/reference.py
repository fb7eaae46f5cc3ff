#!/usr/bin/env python3
"""reference.py TSL: runs the examples of docs/reference/, and checks that `tsl doc` writes one for every name but a few."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "docs" / "reference"
# These end the program, or wait for a person.
WITHOUT = {"exit", "input"}
ENTRY = re.compile(r"^## (\S+)$(.*?)(?=^## |\Z)", re.M | re.S)


def names_of(page):
    """Gives the names of a page, and those of them that have an example."""
    entries = {name.replace("\\", ""): text for name, text in ENTRY.findall(page.read_text())}
    return set(entries), {name for name, text in entries.items() if "```tsl\n" in text}


def main():
    tsl = str(Path(sys.argv[1]).resolve())
    files = sorted(EXAMPLES.glob("*.tsl"))
    with tempfile.TemporaryDirectory() as folder:
        for file in files:  # they write files, which the next one need not find
            with tempfile.TemporaryDirectory() as place:
                subprocess.run([tsl, "test", file], cwd=place, check=True)
        subprocess.run([tsl, "doc", folder], check=True)
        pages = [names_of(Path(folder) / f"{file.stem}.md") for file in files]
    names, explained = set().union(*(page[0] for page in pages)), set().union(*(page[1] for page in pages))
    given = set(re.findall(r"^# ([\w.]+)$", "".join(file.read_text() for file in files), re.M))
    wrong = (names - explained) ^ WITHOUT | given - names
    if wrong:
        sys.exit("these names have no example, or these examples no name: " + ", ".join(sorted(wrong)))
    print(f"{len(explained)} of {len(names)} names have an example")


if __name__ == "__main__":
    main()
