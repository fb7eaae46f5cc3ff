#!/usr/bin/env python3
"""Times TSL on a GPU beside PyTorch and JAX, in one session, and prints one table in Markdown.

    benchmarks/gpu/run.py                                      everything
    benchmarks/gpu/run.py --peers torch,jax fma softmax        some rows, some peers ("" for none)
    benchmarks/gpu/run.py --tsl PATH --out FOLDER              the program; where results.json and table.md go
    benchmarks/gpu/run.py --merge A.json B.json                one table of several runs, the later ones first

PyTorch and JAX are optional. What fails leaves its cell empty, and the reason below the table.
"""

import argparse
import importlib.util
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date
from pathlib import Path

from report import report
from rows import ROWS

FOLDER = Path(__file__).resolve().parent
PEERS = ["torch", "jax", "compile", "reduce"]  # the slow ones last, for when time runs out
MODULES = {"torch": "torch", "compile": "torch", "reduce": "torch", "copy": "torch", "jax": "jax"}
COMPILERS = {"compile", "jax"}  # whose first calls are measured; reduce-overhead has the compiler of compile
TSL_ROW_SECONDS = 120  # more means that something hangs
PEER_LINE_SECONDS = 240
FIRST_CALLS = [name for name, row in ROWS.items() if row.script == "first_call"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(ROWS))
    parser.add_argument("--tsl", default=str(FOLDER.parents[1] / "tools" / "tsl"), help="the program")
    parser.add_argument("--device", default="cuda", help="of TSL; the peers take the GPU if there is one")
    parser.add_argument("--peers", default=",".join(PEERS), help="default: %(default)s")
    parser.add_argument("--no-tsl", action="store_true", help="only the peers, to be merged with another run")
    parser.add_argument("--scale", type=float, default=1.0, help="shrinks the extents of the large tensors")
    parser.add_argument("--seconds", type=float, default=450, help="nothing new begins later (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=FOLDER.parents[1] / "build" / "benchmarks-gpu", metavar="FOLDER")
    parser.add_argument("--merge", action="store_true", help="NAMEs are results.json files of earlier runs")
    options = parser.parse_intermixed_args()
    options.peers = [peer for peer in options.peers.split(",") if peer]
    unknown = set(options.peers) - set(PEERS) | (set() if options.merge else set(options.names) - set(ROWS))
    if unknown:
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    return options


class Results:
    """The results by row and column: a dict of numbers, or of the error. Saved after every change, in case the session
    is interrupted."""

    def __init__(self, folder, scale):
        self.file = folder / "results.json"
        self.data = {"date": str(date.today()), "scale": scale, "machine": machine(), "versions": {}, "rows": {}}
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, row, column, values):
        print(f"{row} {column}: {values.get('error') or values}", file=sys.stderr)
        self.data["rows"].setdefault(row, {}).setdefault(column, {}).update(values)
        self.save()

    def save(self):
        self.file.write_text(json.dumps(self.data, indent=1))


def machine():
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "no GPU"


# ---- TSL --------------------------------------------------------------------------------------------------------


def run_tsl(options, script, rows, cache, *flags):
    """Returns the lines that the script prints, by row: dicts of numbers."""
    tf32 = ["--tf32"] if script == "matmul" else []  # as the peers, in the row that has it in its name
    command = [options.tsl, "--device", options.device, *tf32, str(FOLDER / f"{script}.tsl"), *rows, *flags,
               "--scale", str(options.scale)]
    environment = {**os.environ, "TSL_CACHE_DIR": cache}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TSL_ROW_SECONDS,
                              check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {row: {"error": str(error)} for row in rows}
    if done.returncode != 0:
        return {row: {"error": done.stderr.strip() or f"exit code {done.returncode}"} for row in rows}
    lines = [line.split() for line in done.stdout.splitlines()]
    found = {name: {key: float(value) for key, value in (pair.split("=") for pair in pairs)} for name, *pairs in lines}
    return {row: found.get(row, {"error": f"{script}.tsl prints nothing about it"}) for row in rows}


def measure_tsl(options, names, results, deadline):
    """Runs each row in a process with an empty cache of kernels, and its first call again with the filled cache."""
    results.data["tsl_start"] = start_of_process(options)
    scripts = {name: [name] for name in names if name not in FIRST_CALLS}
    if set(names) & set(FIRST_CALLS):
        scripts["first_fma"] = FIRST_CALLS
    for name, rows in scripts.items():
        if time.monotonic() > deadline:
            results.put(name, "tsl", {"error": "no time left"})
            continue
        with tempfile.TemporaryDirectory() as cache:
            measured = run_tsl(options, ROWS[name].script, rows, cache)
            for row, values in measured.items():
                results.put(row, "tsl", values)
            if "error" in measured[name]:
                continue
            for row, values in run_tsl(options, ROWS[name].script, rows, cache, "--first").items():
                if "first" in values:
                    results.put(row, "tsl", {"cached": values["first"]})


def start_of_process(options):
    """Returns the seconds of a process that only opens the device, or None."""
    times = []
    for _ in range(3):
        begin = time.monotonic()
        command = [options.tsl, "--device", options.device, "-e", "zeros([1]).item()"]
        try:
            if subprocess.run(command, capture_output=True, timeout=TSL_ROW_SECONDS, check=False).returncode != 0:
                return None
        except (OSError, subprocess.TimeoutExpired):
            return None
        times.append(time.monotonic() - begin)
    return statistics.median(times)


# ---- Peers ------------------------------------------------------------------------------------------------------


def peer_environment(cache):
    """Makes compilers store their results in `cache`, and keeps JAX from reserving all memory."""
    return {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor", "TRITON_CACHE_DIR": f"{cache}/triton",
            "JAX_COMPILATION_CACHE_DIR": f"{cache}/jax", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONDONTWRITEBYTECODE": "1"}


def lines_of(process):
    """Yields the lines that a process prints; None if there was none for too long, which ends it."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=PEER_LINE_SECONDS)
        except queue.Empty:
            process.kill()
            yield None
            return
        if not line:
            return
        yield line


def run_peer(options, peer, rows, cache, results, deadline, keep=lambda row, values: values):
    """Measures the rows in a process. Returns the rows that it has not started; the row in which it died is not one of
    them. `keep` selects the values to keep of a row."""
    command = [sys.executable, str(FOLDER / "peer.py"), peer, "--scale", str(options.scale),
               "--seconds", str(max(1, deadline - time.monotonic())), *rows]
    left = list(rows)
    begun, ended = rows[0], None
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                                   env=peer_environment(cache))
        for line in lines_of(process):
            if line is None:
                ended = f"nothing for {PEER_LINE_SECONDS} seconds"
                break
            if not line.startswith("{"):
                continue  # what a framework has to say
            values = json.loads(line)
            begun = values.get("begins", begun)
            if "version" in values:
                results.data["versions"][peer] = values["version"]
            if "row" in values:
                row = values.pop("row")
                left.remove(row)
                results.put(row, peer, keep(row, values))
        process.wait()
        if left:
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:]
            results.put(begun, peer, {"error": ended or f"exit code {process.returncode}: {''.join(last)}"})
            left = [row for row in left if row != begun]
    return left


def has_framework(peer):
    """Checks that the peer is installed; otherwise its column stays empty."""
    found = importlib.util.find_spec(MODULES[peer]) is not None
    if not found:
        print(f"{peer}: there is no Python module {MODULES[peer]}", file=sys.stderr)
    return found


def cached_first_call(row, values):
    return {"cached": values["first"]} if row == "first_fma" else {}


def measure_peer(options, peer, names, results, deadline):
    with tempfile.TemporaryDirectory() as cache:
        rows = [name for name in names if name not in FIRST_CALLS]
        while rows and time.monotonic() < deadline:
            rows = run_peer(options, peer, rows, cache, results, deadline)
            if peer not in results.data["versions"]:
                return  # it does not even start
    if peer in COMPILERS and set(names) & set(FIRST_CALLS) and time.monotonic() < deadline:
        with tempfile.TemporaryDirectory() as cache:
            run_peer(options, peer, FIRST_CALLS, cache, results, deadline)
            run_peer(options, peer, FIRST_CALLS, cache, results, deadline, cached_first_call)


def measure_copy(options, results):
    """Measures the ceiling: bytes read and written by a copy of a gigabyte within the device."""
    with tempfile.TemporaryDirectory() as cache:
        run_peer(options, "copy", ["copy"], cache, results, time.monotonic() + 60)


def measure_all(options):
    results = Results(options.out, options.scale)
    names = [name for name in ROWS if not options.names or name in options.names]
    deadline = time.monotonic() + options.seconds
    if has_framework("copy"):
        measure_copy(options, results)
    if not options.no_tsl:
        measure_tsl(options, names, results, deadline)
    for peer in filter(has_framework, options.peers):
        measure_peer(options, peer, names, results, deadline)
    return results.data


def merge(files):
    """Merges results cell by cell: the last one counts, but an error does not replace a result."""
    merged = json.loads(Path(files[0]).read_text())
    for file in files[1:]:
        data = json.loads(Path(file).read_text())
        for row, columns in data["rows"].items():
            cells = merged["rows"].setdefault(row, {})
            for column, values in columns.items():
                if "error" not in values or column not in cells:
                    cells[column] = values
        merged["versions"].update(data["versions"])
        merged.update({key: data[key] for key in ("date", "machine", "tsl_start") if data.get(key)})
    return merged


def main():
    options = parse_arguments()
    data = merge(options.names) if options.merge else measure_all(options)
    text = report(data)
    print(text)
    if not options.merge:
        (options.out / "table.md").write_text(text)


if __name__ == "__main__":
    main()
