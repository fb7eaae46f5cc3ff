#!/usr/bin/env python3
"""Compares what kernels take inside their plans with what they take under `tsl bench`.

    benchmarks/gpu/alone.py --tsl PATH                 every row whose device time is measured
    benchmarks/gpu/alone.py --tsl PATH softmax chain   some rows
    benchmarks/gpu/alone.py --device cpu --scale 0.05  without a GPU

Each row runs with --dump and --profile=FILE, whose trace has each run of each kernel. The table has the medians of both,
and their ratio; kernels that take less than --least of their plan are left out. Exits with 1 if any differs by more than
--tolerance.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from rows import ROWS

FOLDER = Path(__file__).resolve().parent
SECONDS = 300  # more means that something hangs


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(ROWS))
    parser.add_argument("--tsl", default=str(FOLDER.parents[1] / "tools" / "tsl"), help="the program")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0, help="shrinks the extents of the large tensors")
    parser.add_argument("--least", type=float, default=0.01, help="share of a plan below which kernels are left out")
    parser.add_argument("--tolerance", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each kernel alone")
    options = parser.parse_args()
    if unknown := set(options.names) - set(ROWS):
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    return options


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise RuntimeError(errors[0] if errors else f"exit code {done.returncode}")
    return done.stdout


def inside_plan(options, name, folder):
    """Runs a row, dumps it to folder/dump, and returns the seconds of each run of each kernel, by specialisation,
    name and types."""
    row = ROWS[name]
    tf32 = ["--tf32"] if row.script == "matmul" else []
    run([options.tsl, "--device", options.device, *tf32, "--dump", f"{folder}/dump", f"--profile={folder}/trace.json",
         str(FOLDER / f"{row.script}.tsl"), name, "--scale", str(options.scale)])
    trace = json.loads(Path(folder, "trace.json").read_text())
    times = defaultdict(list)
    for event in trace if isinstance(trace, list) else trace["traceEvents"]:
        if event.get("ph") == "X" and "specialisation" in (event.get("args") or {}):
            key = (event["args"]["specialisation"], event["name"], event["args"]["types"])
            times[key].append(event["dur"] * 1e-6)
    return times


def compare(options, name):
    """Returns a line for each kernel, and whether all agree."""
    with tempfile.TemporaryDirectory() as folder:
        inside = inside_plan(options, name, folder)
        alone = json.loads(run([options.tsl, "bench", "--json", "--seconds", str(options.seconds), "--device",
                                options.device, f"{folder}/dump"]))
    whole = sum(sum(times) for times in inside.values())
    lines, agrees = [], True
    for kernel in alone["kernels"]:
        times = inside.get((kernel["specialisation"], kernel["symbol"], kernel["types"]), [])
        if not times or sum(times) < options.least * whole:
            continue
        where = f"{name} {kernel['symbol']}"
        if kernel["seconds"] is None:
            lines.append((where, statistics.median(times), None, kernel["problem"]))
            agrees = False
            continue
        median, expected = kernel["seconds"]["median"], statistics.median(times)
        is_close = abs(median / expected - 1) <= options.tolerance
        agrees &= is_close
        note = ("" if is_close else "differs") + (" cold" if kernel["cold"] else "")
        lines.append((where, expected, median, note))
    return lines, agrees


def main():
    options = parse_arguments()
    names = options.names or [name for name, row in ROWS.items() if row.metric == "device"]
    all_agree = True
    print("| kernel | in its plan, us | alone, us | ratio | |\n|---|---|---|---|---|")
    for name in names:
        try:
            lines, agrees = compare(options, name)
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            lines, agrees = [(name, None, None, str(error))], False
        all_agree &= agrees
        for where, expected, median, note in lines:
            cells = [f"{seconds * 1e6:.2f}" if seconds is not None else "" for seconds in (expected, median)]
            ratio = f"{median / expected:.3f}" if expected and median else ""
            print(f"| {where} | {cells[0]} | {cells[1]} | {ratio} | {note} |", flush=True)
    return 0 if all_agree else 1


if __name__ == "__main__":
    sys.exit(main())
