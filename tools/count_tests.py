"""count_tests.py [--expect FILE [--without-cuda]] [--checks PASSED FAILED] JUNIT...

Adds up what ctest has written with --output-junit, names what was skipped and why, and ends with the line
"N passed, N failed, N skipped". Fails if anything failed or nothing passed.

A test that is named in FILE and is in no JUNIT has failed. Lines of FILE are a test's name, or "N PATTERN": at least N
tests of that pattern; with "cuda:" in front, only where the CUDA backend is built: elsewhere these count as skipped.
"""
import argparse
import fnmatch
import re
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

# What a test says of a case that it skips: TSL_SKIP with Catch2 2, SKIP of Catch2 3, and tests/on_gpu.sh.
SKIPPED_CASE = re.compile(r"^\s*skipped: (.*)|: SKIPPED:\s*\n(?:explicitly with message:\s*\n)?\s*(.*)", re.M)
RAN_NOTHING = re.compile(r"^No test cases matched|^No tests ran", re.M)


class Count:
    def __init__(self, passed, failed):
        self.passed, self.failed, self.skipped = passed, failed, Counter()

    def add(self, test):
        """Adds a test, and the cases that it has skipped if it passed otherwise. Gives its name."""
        name = test.get("name")
        output = test.findtext("system-out") or ""
        reasons = [(first or second).strip() for first, second in SKIPPED_CASE.findall(output)]
        if test.find("failure") is not None or test.get("status") == "fail" or RAN_NOTHING.search(output):
            self.fail(name + (": its filter matches no case" if RAN_NOTHING.search(output) else ""))
        elif test.find("skipped") is not None or test.get("status") != "run":
            self.skipped[name, reasons[0] if reasons else test.find("skipped").get("message", "not run")] += 1
        else:
            self.passed += 1
            for reason in reasons:
                self.skipped["a case of " + name, reason] += 1
        return name

    def fail(self, what):
        self.failed += 1
        print("failed:", what)

    def expect(self, lines, names, has_cuda):
        for line in lines:
            line = line.split("#")[0].strip()
            of_cuda = line.startswith("cuda:")
            parts = line.removeprefix("cuda:").split()
            if not parts:
                continue
            least, pattern = (int(parts[0]), parts[1]) if len(parts) == 2 else (1, parts[0])
            if of_cuda and not has_cuda:
                self.skipped[pattern, "the CUDA backend is not built: there are no headers of the CUDA Toolkit"] += least
            elif len(fnmatch.filter(names, pattern)) < least:
                self.fail(f"there are fewer than {least} tests {pattern}" if least > 1 else f"there is no test {pattern}")

    def report(self):
        for (name, reason), count in self.skipped.items():
            print(f"skipped: {name}{f' ({count} times)' if count > 1 else ''}: {reason}")
        skipped = sum(self.skipped.values())
        print(f"{self.passed} passed, {self.failed} failed" + (f", {skipped} skipped" if skipped else ""))
        return bool(self.failed or not self.passed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expect", type=Path)
    parser.add_argument("--without-cuda", action="store_true")
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
        count.expect(arguments.expect.read_text().splitlines(), names, not arguments.without_cuda)
    sys.exit(count.report())


if __name__ == "__main__":
    main()
