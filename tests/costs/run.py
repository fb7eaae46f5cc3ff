#!/usr/bin/env python3
"""Compares what TSL costs with expected.txt, and names what changed: instructions on the host, kernels a case, their texts.

    tests/costs/run.py --build build/release [--only instructions|kernels] [--update] [ROW...]

ROW is a row or a case, such as cpu/eager_op or cuda/digits; without any, all are measured. --update stores what was
measured. Fails if anything differs; instruction counts may by 2 %. See docs/testing.md.
"""
import argparse
import difflib
import fnmatch
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import compare
import measure

EXPECTED = Path(__file__).parent / "expected.txt"
HEADING = """What TSL costs, as tests/costs/run.py measures it. tools/check --costs --update writes this file.
docs/testing.md says what it is for."""
MOST_LINES = 6


class Hints:
    """Shows how texts changed: compares the dumps of this run with those of the last run in which the case was as stored."""

    def __init__(self, dumps, kept):
        self.dumps, self.kept = dumps, kept
        self.shown = set()

    def text(self, folder, case, specialisation, symbol):
        place = measure.folder_of(folder / case.replace("/", "."), specialisation)
        return measure.text_of_kernel(place / "kernels", symbol.replace("_(", " ("))

    def __call__(self, case, specialisation, before, now):
        old, new = self.text(self.kept, case, specialisation, before), self.text(self.dumps, case, specialisation, now)
        if not old or not new or (before, now, old, new) in self.shown:
            return []
        self.shown.add((before, now, old, new))
        old, new = old.replace(before, now).splitlines(), new.splitlines()
        changed = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if not line.startswith(("---", "+++", "@@"))]
        return changed[:MOST_LINES] + ([f"… {len(changed) - MOST_LINES} more lines"] if len(changed) > MOST_LINES else [])

    def keep(self, case):
        name = case.replace("/", ".")
        shutil.rmtree(self.kept / name, ignore_errors=True)
        self.kept.mkdir(parents=True, exist_ok=True)
        shutil.move(self.dumps / name, self.kept / name)


def report(result):
    for line in result.lines:
        print(line)
    for reason, rows in result.skipped.items():
        print(f"skipped {rows}: {reason}")
    print(f"costs: {result.passed} passed, {result.failed} failed, {sum(result.skipped.values())} skipped")


def is_wanted(name, patterns):
    return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path, help="the folder of a build, with the targets tsl and null_libraries")
    parser.add_argument("--only", choices=["instructions", "kernels"])
    parser.add_argument("--update", action="store_true", help="store what was measured")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    options = parser.parse_args()

    rows = [row for row in measure.all_rows() if options.only != "kernels" and is_wanted(row, options.rows)]
    cases = [case for case in measure.all_cases() if options.only != "instructions" and is_wanted(case, options.rows)]
    if not rows and not cases:
        sys.exit("no such row")
    libraries = [options.build / "tests" / name for name in ("null_driver", "null_libraries")]
    folder = options.build / "costs"
    measured = measure.Measurement(options.build / "tsl", folder, libraries if all(each.is_dir() for each in libraries) else [])
    cases = measured.read_all_kernels(cases)
    measured.count_instructions(options.build, rows)

    stored = compare.read(EXPECTED.read_text()) if EXPECTED.exists() else compare.Costs()
    hints = Hints(folder / "dumps", folder / "kept")
    result = compare.compare(stored, measured.costs, cases, hints)
    for reason, count in measured.skipped.items():
        result.skip(reason, count)
    changed = {line.split()[1].rstrip(":") for line in result.lines if not line.startswith(" ")}
    if result.failed:
        print(f"compare whole dumps: tsl diff {hints.kept}/CASE {hints.dumps}/CASE")
    for case in cases:
        if options.update or case not in changed:
            hints.keep(case)
    if options.update:
        EXPECTED.write_text(compare.write(compare.merge(stored, measured.costs, cases), HEADING))
        result.lines.append(f"stored in {EXPECTED}")
        result.passed, result.failed = result.passed + result.failed, 0
    report(result)
    sys.exit(result.failed > 0)


if __name__ == "__main__":
    main()
