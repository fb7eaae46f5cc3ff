#!/usr/bin/env python3
"""Times steps without and with --profile on the CPU, and prints the table of docs/profiling.md.

    benchmarks/profile_cost.py [--tsl PATH] [--runs 7] [--threads 2]

Runs without and with alternate; each figure is the least median of all runs, as other users of a machine only add time.
"""

import argparse
import subprocess
from pathlib import Path

from tables import show_time, table

FOLDER = Path(__file__).resolve().parent


def measure(tsl, threads, options):
    """Returns the seconds of a warm step, by name."""
    command = [tsl, "--device", "cpu", "--threads", str(threads), *options, FOLDER / "profile_cost.tsl"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: float(warm) for name, _, warm in (line.split() for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tsl", default=FOLDER.parent / "build/release/tsl")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    least = [{}, {}]
    for _ in range(arguments.runs):
        for at, options in zip(least, ([], ["--profile"])):
            for name, seconds in measure(arguments.tsl, arguments.threads, options).items():
                at[name] = min(seconds, at.get(name, seconds))
    rows = []
    for name, without in least[0].items():
        profiled = least[1][name]
        rows.append([name, show_time(without), show_time(profiled), f"{100 * (profiled / without - 1):.1f} %"])
    print(table(["step", "without", "with", "more"], rows), end="")


if __name__ == "__main__":
    main()
