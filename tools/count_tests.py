"""count_tests.py [--expect FILE [--without KIND REASON]...] [--checks PASSED FAILED] JUNIT...

Adds up what ctest has written with --output-junit, names what was skipped and why, and ends with the line
"N passed, N failed, N skipped". Fails if anything failed or nothing passed.

A test program counts as its cases, by the lines that tests/catch/main.cpp prints; any other test counts as one.

A test that is named in FILE and is in no JUNIT has failed. Lines of FILE are a test's name, or "N PATTERN": at least N
tests of that pattern. A kind in front, "cuda:" or "sanitized:", says what such a test needs: without it, it counts as skipped.
"""
import argparse
import fnmatch
import re
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict
from pathlib import Path

CASES = re.compile(r"^cases: (\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
SKIPPED_CASE = re.compile(r'^skipped: "(.*)": (.*)$', re.M)
SKIPPED_TEST = re.compile(r"^skipped: (.*)$", re.M)  # tests/on_gpu.sh


class Count:
    def __init__(self, passed, failed):
        self.passed, self.failed = passed, failed
        self.skipped = defaultdict(list)  # by reason

    def add(self, test):
        """Adds a test of a JUNIT. Gives its name."""
        name = test.get("name")
        output = test.findtext("system-out") or ""
        cases = CASES.search(output)
        passed, failed, skipped = map(int, cases.groups()) if cases else (0, 0, 0)
        is_failure = test.find("failure") is not None or test.get("status") == "fail"
        is_skipped = not is_failure and (test.find("skipped") is not None or test.get("status") != "run")
        reasons = SKIPPED_CASE.findall(output)
        if is_failure:
            self.fail(name, max(failed, 1))
        elif cases and len(reasons) != skipped:
            self.fail(f"{name}: {skipped} cases were skipped, and {len(reasons)} of them are named")
        elif is_skipped and not cases:
            reason = SKIPPED_TEST.search(output)
            self.skipped[reason.group(1) if reason else test.find("skipped").get("message", "not run")].append(name)
        elif not cases:
            self.passed += 1
        elif not passed and not skipped:
            self.fail(f"{name}: its filter matches no case")
        self.passed += passed
        for case, reason in reasons:
            self.skipped[reason].append(name if name.endswith(case) else f"{name}: {case}")
        return name

    def fail(self, what, count=1):
        self.failed += count
        print("failed:", what)

    def expect(self, lines, names, without):
        """Looks for the tests of `lines`; `without`: {kind: why tests that need it did not run}."""
        for line in lines:
            *kinds, line = line.split("#")[0].strip().split(":")
            parts = line.split()
            if not parts:
                continue
            least, pattern = (int(parts[0]), parts[1]) if len(parts) == 2 else (1, parts[0])
            missing = [without[kind] for kind in kinds if kind in without]
            if missing:
                self.skipped[missing[0]] += [pattern] * least
            elif len(fnmatch.filter(names, pattern)) < least:
                self.fail(f"there are fewer than {least} tests {pattern}" if least > 1 else f"there is no test {pattern}")

    def report(self):
        for reason, names in self.skipped.items():
            print(f"skipped, {len(names)}: {reason}")
            for name in sorted(set(names)):
                print(f"  {name}{f' ({names.count(name)} times)' if names.count(name) > 1 else ''}")
        skipped = sum(map(len, self.skipped.values()))
        print(f"{self.passed} passed, {self.failed} failed, {skipped} skipped")
        return bool(self.failed or not self.passed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expect", type=Path)
    parser.add_argument("--without", nargs=2, action="append", default=[], metavar=("KIND", "REASON"))
    parser.add_argument("--checks", nargs=2, type=int, default=[0, 0])
    parser.add_argument("junit", nargs="*", type=Path)
    arguments = parser.parse_args()
    count = Count(*arguments.checks)
    names = set()
    for path in arguments.junit:
        try:
            tests = xml.parse(path).findall("testcase")
        except (OSError, xml.ParseError):  # ctest itself has failed
            tests = []
        names.update(count.add(test) for test in tests)
        if not tests:
            count.fail(f"ctest ran no test: {path}")
    if arguments.expect:
        count.expect(arguments.expect.read_text().splitlines(), names, dict(arguments.without))
    sys.exit(count.report())


if __name__ == "__main__":
    main()
