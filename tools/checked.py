"""Keeps docs/checked.md, which says at which commit each part of tools/check --release was last run, and with which result.
  checked.py commit           the commit that is checked: the last one that changed more than that page
  checked.py note PART TEXT   PART was run at that commit; TEXT: its result
  checked.py gpu STATE        what tools/check --gpu has left in STATE, as the part "gpu"
"""
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

PAGE = Path("docs/checked.md")
HEAD = """# What was checked, and when

The last run of each part of `tools/check --release`, which writes this page, and of `tools/check --gpu`. A part that has
another commit here than the one you look at was not run at that one. [Testing](testing.md#the-tiers) says what the parts
prove.

| part | date | commit | result |
|---|---|---|---|
"""
ROW = re.compile(r"^\| `(\S+)` \| (\S+) \| (\S+) \| (.*) \|$", re.M)


def commit():
    """Gives the last commit that changed more than the page; one that only adds rows has been checked, too."""
    command = ["git", "log", "-1", "--format=%H", "--", ".", f":(exclude){PAGE}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def rows_of(text):
    return {part: rest for part, *rest in ROW.findall(text)}


def page_of(rows):
    return HEAD + "".join(f"| `{part}` | {' | '.join(rest)} |\n" for part, rest in sorted(rows.items()))


def note(part, result, date=None, at=None):
    """Writes the row of a part in place of the one before."""
    rows = rows_of(PAGE.read_text()) if PAGE.exists() else {}
    date = date or time.strftime("%Y-%m-%d", time.gmtime())
    rows[part] = [date, (at or commit())[:10], result.replace("|", "/").replace("\n", " ")]
    PAGE.write_text(page_of(rows))


def describe_gpu(state):
    """Gives the result of a state of tools/check --gpu."""
    results = Counter(job["result"] for job in state["jobs"].values())
    left = max(0, state.get("of", 0) - sum(results.values()))
    machine = f", on {state['machine']}" if state.get("machine") else ""
    return f"{results['passed']} passed, {results['failed']} failed, {left} left, {results['skipped']} skipped{machine}"


def note_gpu(file):
    state = json.loads(Path(file).read_text())
    if "+" in state["commit"] or not state["commit"]:
        sys.exit(f"{file} is of a tree that was not committed")
    note("gpu", describe_gpu(state), state["date"], state["commit"])


def main(arguments):
    if arguments[:1] == ["commit"]:
        print(commit())
    elif arguments[:1] == ["note"] and len(arguments) == 3:
        note(*arguments[1:])
    elif arguments[:1] == ["gpu"] and len(arguments) == 2:
        note_gpu(arguments[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
