#!/usr/bin/env python3
"""Times linear algebra in TSL and in NumPy (expm: SciPy), whose BLAS has as many threads; prints README.md's table.

    benchmarks/linalg.py [--tsl PATH] [--repeats 25] [--threads 2]
"""

import argparse
import os
import time
from pathlib import Path

from tables import printed_seconds, show_time, table

FOLDER = Path(__file__).resolve().parent


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tsl", default=FOLDER.parent / "build/release/tsl")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def calls():
    """The calls of linalg.tsl, by their names there."""
    import numpy
    import scipy.linalg

    linalg = numpy.linalg
    random = numpy.random.default_rng(0)
    large = random.random((500, 500)) - 0.5 + 10 * numpy.eye(500)
    right = random.random((500, 500)) - 0.5
    small = random.random((1000, 16, 16)) - 0.5 + 4 * numpy.eye(16)
    positive = large @ large.T
    return {
        "cholesky": lambda: linalg.cholesky(positive),
        "eigh": lambda: linalg.eigh(positive),
        "solve": lambda: linalg.solve(large, right),
        "inv": lambda: linalg.inv(large),
        "slogdet": lambda: linalg.slogdet(large),
        "qr": lambda: linalg.qr(large),
        "svd": lambda: linalg.svd(large, full_matrices=False),
        "pinv": lambda: linalg.pinv(large),
        "expm": lambda: scipy.linalg.expm(right),
        "cholesky of 1000": lambda: linalg.cholesky(small @ numpy.swapaxes(small, -1, -2)),
        "solve 1000": lambda: linalg.solve(small, small),
        "slogdet of 1000": lambda: linalg.slogdet(small),
        "svd of 1000": lambda: linalg.svd(small),
    }


def fastest(call, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    given = options()
    # Read when the library is loaded: NumPy is imported below.
    os.environ["OPENBLAS_NUM_THREADS"] = str(given.threads)
    command = [given.tsl, "--device", "cpu", "--threads", str(given.threads), FOLDER / "linalg.tsl", str(given.repeats)]
    ours = printed_seconds(command)
    rows = []
    for name, call in calls().items():
        theirs = fastest(call, given.repeats)
        rows.append([name, show_time(ours[name]), show_time(theirs), f"{ours[name] / theirs:.2f} ×"])
    print(table(["what", "TSL", "NumPy", "TSL / NumPy"], rows))


if __name__ == "__main__":
    main()
