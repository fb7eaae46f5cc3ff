#!/usr/bin/env python3
"""Calls cases of the sweep with 200 drawn sizes each, and counts TSL's compilations.

    benchmarks/sweep/sizes.py --device cuda --tsl PATH --seed 1 --out DIR

The goal: at most two compilations, and the median call takes at most 1.2 times that of one fixed size.
"""

import argparse
import math
import random
import sys
from pathlib import Path

import tsl_side
from draw import draw

sys.path.append(str(Path(__file__).resolve().parents[1]))
from tables import show_time, table  # noqa: E402, of the benchmarks

SIZES, CASES = 200, 20
MOST_COMPILATIONS, MOST_RATIO = 2, 1.2
LEAST_ROWS = 2 * SIZES
MOST_ELEMENTS = {"cuda": 3e7, "cpu": 1e6}  # so that some 600 calls end soon
FAMILIES = {"reduction", "pointwise", "norm", "reduce_broadcast_reduce", "arg_reduction", "scan", "sort", "arrange"}


def has_rows(case, most):
    """Tells whether the case's inputs can be cut along the first axis of x0, and are not larger than `most`."""
    shape = case.inputs[0]["shape"]
    return math.prod(shape) <= most and case.family in FAMILIES and shape[0] >= LEAST_ROWS and all(x["layout"] != "transposed" for x in case.inputs)


def cut_inputs(case):
    """Returns for each input whether it has the rows of x0; weights have another number of axes."""
    first = case.inputs[0]["shape"]
    return [len(x["shape"]) == len(first) and x["shape"][0] == first[0] for x in case.inputs]


def call_text(case):
    """Returns TSL that calls the case with drawn sizes."""
    rows, draws = case.inputs[0]["shape"][0], random.Random(case.name)
    sizes = [draws.randint(rows // 2, rows) for _ in range(SIZES)]
    names = ", ".join(f"x{i}" for i in range(len(case.inputs)))
    parts = ", ".join(f"p[{i}]" for i in range(len(case.inputs)))
    cut = ", ".join(str(is_cut).lower() for is_cut in cut_inputs(case))
    return f"timing.measure_sizes(fn(p) = f({parts}), [{names}], [{cut}], {sizes})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--tsl", default="build/release/tsl", help="the program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/sweep"))
    options = parser.parse_args()
    options.out = options.out.resolve()
    cases = [case for case in draw(options.seed, 300, options.device) if has_rows(case, MOST_ELEMENTS[options.device])][:CASES]
    rows, met = [], 0
    for case in cases:
        done = tsl_side.run_script(case, call_text(case), options, options.out / "cache" / case.name)
        if "error" in done:
            print(f"{case.name}: {done['error']}: {case.source()}", file=sys.stderr)
            continue
        drawn, fixed, traces = done["lines"][0]
        is_met = traces <= MOST_COMPILATIONS and drawn <= MOST_RATIO * fixed
        met += is_met
        rows.append([f"`{case.name}`", f"{traces:g}", show_time(drawn), show_time(fixed), f"{drawn / fixed:.2f}",
                     "" if is_met else "**missed**"])
    print(table(["case", "compilations", "drawn sizes", "fixed size", "ratio", "goal"], rows))
    print(f"{met} of {len(cases)} met the goal.")


if __name__ == "__main__":
    main()
