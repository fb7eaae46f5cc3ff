#!/usr/bin/env python3
"""Runs the tests with each mutant of tests/mutants/ until one fails, and prints the score.

    cmake -G Ninja -B build/mutants -DTSL_MUTANTS=ON -DTSL_CUDA=OFF -DCMAKE_BUILD_TYPE=Release && ninja -C build/mutants
    tests/mutants/run.py [--build build/mutants] [--minutes 180] [--jobs N] [--again] [--draw N] [--seed S] [--named] [NUMBER...]

Results are kept in BUILD/mutants.json, so that a run that was stopped goes on. --again runs those that no test noticed
once more; a mutant that is named runs in any case. All tests run first without a mutant: they must pass, and cheap ones
come first later, after those that the list names. Fails if less than 95 % are noticed, or not all have run. --draw runs N
mutants by chance, and all of sharing.txt; --named runs the tests alone that the lists name, and no others.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lists

WANTED = 0.95
PATIENCE, GRACE = 3, 20  # a test with a mutant may take so many times as long, and so many seconds more; then it has failed
SKIPPED = 77


class Suite:
    """The tests of a build, as ctest knows them."""

    def __init__(self, build):
        shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
        self.tests = {}
        self.locks = defaultdict(threading.Lock)
        for test in json.loads(shown.stdout)["tests"]:
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            if "command" not in test:
                sys.exit(f"{test['name']} is not built: ninja -C {build}")
            self.tests[test["name"]] = (test["command"], properties)

    def run(self, name, mutant, limit=None):
        """Runs a test; gives whether it passed, and the seconds it took. One runs once at a time, since it may write files."""
        command, properties = self.tests[name]
        environment = dict(os.environ, TSL_MUTANT=str(mutant), TSL_RANDOM_FIRST="1")
        environment.update(text.split("=", 1) for text in properties.get("ENVIRONMENT", []))
        is_catch = Path(command[0]).name.startswith("test_")
        with self.locks[name], self.locks[properties.get("RESOURCE_LOCK", [name + "'s"])[0]]:
            begin = time.monotonic()
            process = subprocess.Popen(command + ["--abort"] * is_catch, env=environment, start_new_session=True,
                                       cwd=properties.get("WORKING_DIRECTORY"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                passed = process.wait(limit) in (0, SKIPPED)
            except subprocess.TimeoutExpired:
                passed = False
            finally:
                try:
                    os.killpg(process.pid, 9)  # with what it has started
                except ProcessLookupError:
                    pass
                process.wait()
            return passed, time.monotonic() - begin


class Results:
    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.data = json.loads(path.read_text()) if path.exists() else {"costs": {}, "mutants": {}}

    @staticmethod
    def key(mutant):
        return hashlib.sha256(str(mutant).split(" ", 1)[1].encode() + mutant.line.encode()).hexdigest()[:16]

    def of(self, mutant):
        return self.data["mutants"].get(self.key(mutant))

    def put(self, section, key, value):
        with self.lock:
            self.data[section][key] = value
            fresh = self.path.with_suffix(".new")
            fresh.write_text(json.dumps(self.data, indent=1))
            fresh.replace(self.path)


def measure(suite, results, jobs, names):
    """Runs each of these tests without a mutant, unless that was done."""
    def one(name):
        passed, seconds = suite.run(name, 0)
        if not passed:
            sys.exit(f"{name} fails without a mutant")
        results.put("costs", name, round(seconds, 2))

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, [name for name in names if name not in results.data["costs"]]))


def ordered(mutant, costs, is_named):
    """The tests for a mutant: those that its list names, by cost within a pattern, then the others by cost."""
    by_cost = sorted(costs, key=costs.get)
    named = [name for pattern in mutant.tests for name in by_cost if fnmatch.fnmatch(name, pattern)]
    return list(dict.fromkeys(named if is_named else named + by_cost))


def try_mutant(suite, results, mutant, deadline, is_named):
    costs = {name: cost for name, cost in results.data["costs"].items() if name in suite.tests}
    begin = time.monotonic()
    for name in ordered(mutant, costs, is_named):
        if time.monotonic() > deadline:
            return
        passed, _ = suite.run(name, mutant.number, PATIENCE * costs[name] + GRACE)
        if not passed:
            break
    else:
        name = None
    seconds = round(time.monotonic() - begin)
    results.put("mutants", results.key(mutant), {"number": mutant.number, "noticed_by": name, "seconds": seconds})
    print(f"{'noticed by ' + name if name else 'NOT NOTICED'}, {seconds} s: {mutant}", flush=True)


def drawn(mutants, count, seed):
    """Some mutants by chance, and all of those that share memory wrongly."""
    sharing = [mutant for mutant in mutants if mutant.place.startswith("sharing.txt")]
    others = [mutant for mutant in mutants if mutant not in sharing and not mutant.equivalent]
    return random.Random(seed).sample(others, min(count, len(others))) + sharing


def report(mutants, results):
    counted = [mutant for mutant in mutants if not mutant.equivalent]
    run = [mutant for mutant in counted if results.of(mutant)]
    survivors = [mutant for mutant in run if not results.of(mutant)["noticed_by"]]
    for mutant in survivors:
        print(f"not noticed: tests/mutants/{mutant.place}: {mutant}")
    noticed = len(run) - len(survivors)
    print(f"{noticed} of {len(run)} mutants noticed ({100 * noticed / max(len(run), 1):.1f} %); "
          f"{len(counted) - len(run)} have not run, {len(mutants) - len(counted)} are equivalent")
    return len(run) == len(counted) and noticed >= WANTED * len(run)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", type=Path, default=Path(__file__).parents[2] / "build/mutants")
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--named", action="store_true")
    parser.add_argument("numbers", nargs="*", type=int)
    arguments = parser.parse_args()
    deadline = time.monotonic() + 60 * arguments.minutes
    mutants = lists.read_all()
    if arguments.draw is not None:
        mutants = drawn(mutants, arguments.draw, arguments.seed)
    suite, results = Suite(arguments.build), Results(arguments.build / "mutants.json")

    def is_wanted(mutant):
        if arguments.numbers:
            return mutant.number in arguments.numbers
        result = results.of(mutant)
        return not mutant.equivalent and (not result or arguments.again and not result["noticed_by"])

    patterns = [pattern for mutant in mutants for pattern in mutant.tests]
    named = [name for name in suite.tests if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    measure(suite, results, arguments.jobs, named if arguments.named else suite.tests)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda mutant: try_mutant(suite, results, mutant, deadline, arguments.named), filter(is_wanted, mutants)))
    sys.exit(not report(mutants, results))


if __name__ == "__main__":
    main()
