#!/usr/bin/env python3
"""Runs TSL beside NumPy, PyTorch and torch.compile on this machine and prints the tables of README.md.

    benchmarks/run.py                      every benchmark
    benchmarks/run.py fma chain            some of them
    benchmarks/run.py --tsl PATH --threads N --seconds S

NumPy and PyTorch are optional; columns that cannot be measured are empty.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tables import show_time, table

FOLDER = Path(__file__).resolve().parent
NAMES = ["fib", "loop", "toy", "index_write", "fma", "chain", "softmax", "layer_norm", "mlp_train", "adam200"]
TSL_COLUMNS = {"TSL eager": ["--no-compile"], "TSL": []}
MANY_CALLS_A_TIME = {"toy", "index_write"}  # their first time says nothing of compiling
PEER_COLUMNS = ["CPython", "NumPy", "PyTorch", "torch.compile"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(NAMES))
    parser.add_argument("--tsl", default=str(FOLDER.parent / "tools" / "tsl"), help="the program")
    parser.add_argument("--threads", type=int, default=2, help="for everybody")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each peer is measured")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    return options


def keep_freed_memory():
    """Starts this process anew so that glibc keeps freed memory, as TSL does: page faults must not count against a peer."""
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    if any(os.environ.get(name) != value for name, value in kept.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **kept})


def set_threads(threads):
    """Sets thread counts; must run before NumPy and PyTorch are imported."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)


def measure_tsl(program, name, flags, threads):
    """Returns (first call, median of the calls after the third) in seconds, or None if the script fails."""
    command = [program, *flags, "--threads", str(threads), str(FOLDER / f"{name}.tsl")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"{name}: {' '.join(command)} failed\n{result.stderr}", file=sys.stderr)
        return None
    printed_name, first, median = result.stdout.split()
    assert printed_name == name
    return float(first), float(median)


def measure_peer(prepare, seconds):
    work, pieces = prepare()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 9 or time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        times.append((time.perf_counter() - begin) / pieces)
    return times[0], statistics.median(times[3:])


def measure_process(command, runs=20):
    """Returns the median time of a whole process, in seconds."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            return None
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def measure_all(options):
    """Returns (first, median) for each benchmark and column."""
    set_threads(options.threads)
    from peers import peers, torch  # imported here because the libraries read the number of threads at import

    if torch:
        torch.set_num_threads(options.threads)
    results = {}
    for name in options.names or NAMES:
        print(f"{name} …", file=sys.stderr)
        row = {column: measure_tsl(options.tsl, name, flags, options.threads) for column, flags in TSL_COLUMNS.items()}
        row.update({column: measure_peer(prepare, options.seconds) for column, prepare in peers(name).items()})
        results[name] = {column: times for column, times in row.items() if times}
    return results


def ratio(row):
    """Returns how much faster TSL is than the best peer."""
    others = [row[column][1] for column in PEER_COLUMNS if column in row]
    ours = [row[column][1] for column in TSL_COLUMNS if column in row]
    return f"{min(others) / min(ours):.2f} ×" if others and ours else ""


def main():
    options = parse_arguments()
    keep_freed_memory()
    results = measure_all(options)
    columns = [*TSL_COLUMNS, *PEER_COLUMNS]

    print(f"{options.threads} threads; medians; the ratio is the best peer's time over TSL's best.\n")
    print(table(["benchmark", *columns, "ratio"],
                [[name, *(show_time(row[c][1]) if c in row else "" for c in columns), ratio(row)]
                 for name, row in results.items()]))

    print("The first call less a warm one: tracing and compiling.\n")
    compilers = ["TSL", "torch.compile"]
    print(table(["benchmark", *compilers],
                [[name, *(show_time(max(row[c][0] - row[c][1], 0)) if c in row else "" for c in compilers)]
                 for name, row in results.items() if "torch.compile" in row and name not in MANY_CALLS_A_TIME]))

    print("A whole process that does nothing.\n")
    commands = {"tsl -e ''": [options.tsl, "-e", ""], "python3 -c ''": [sys.executable, "-c", ""],
                "python3 -c 'import torch'": [sys.executable, "-c", "import torch"]}
    print(table(["process", "time"],
                [[name, show_time(measure_process(command, 20 if name.startswith("tsl") else 5))]
                 for name, command in commands.items()]))


if __name__ == "__main__":
    main()
