#!/usr/bin/env python3
"""Times random cases in TSL beside PyTorch (eager, torch.compile and its reduce-overhead), and summarises them by family.

    benchmarks/sweep/run.py --device cuda --tsl PATH --seed 1 --shard 1/4 --out DIR --minutes 7
    benchmarks/sweep/run.py --list --seed 1                    what would be measured
    benchmarks/sweep/run.py --merge DIR...                     one summary of several shards

Results are written to DIR/shard-K.jsonl as they come, so that a run that is cut keeps them.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import predict
import tsl_side
from draw import draw
from report import BELOW, report

FOLDER = Path(__file__).resolve().parent
CASES = {"cuda": 300, "cpu": 150}
PEER_SECONDS = {"cuda": 150, "cpu": 600}  # more means that something hangs
REPEATS = 3  # more measurements of a case in which TSL is slower
TOLERANCES = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}  # of the sum of absolute values


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=list(CASES))
    parser.add_argument("--tsl", default=str(FOLDER.parents[1] / "build" / "release" / "tsl"), help="the program")
    parser.add_argument("--python", default=sys.executable, help="that has PyTorch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, help="default: 300 on a GPU, 150 on the CPU")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="run only each N-th case, from the K-th on")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only the cases whose name contains TEXT")
    parser.add_argument("--large", action="store_true", help="run only cases with much to move or to compute (draw.py)")
    parser.add_argument("--minutes", type=float, default=60, help="no case begins later (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="for each side, on the CPU")
    parser.add_argument("--warm", type=int, help="processes that compile PyTorch's side first; default: 4 on a GPU, else 0")
    parser.add_argument("--cached", action="store_true", help="time first calls from TSL's cache on disk, too")
    parser.add_argument("--out", type=Path, default=FOLDER.parents[1] / "build" / "sweep", metavar="DIR")
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="DIR", help="summarise earlier results")
    options = parser.parse_args()
    options.cases = options.cases or CASES[options.device]
    if options.warm is None:
        options.warm = 4 if options.device == "cuda" else 0
    options.out = options.out.resolve()
    return options


class Torch:
    """A process of torch_side.py that is started anew after it died or was silent for too long."""

    def __init__(self, options):
        self.options, self.process = options, None

    def start(self):
        cache = self.options.out / "cache"
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"), "TRITON_CACHE_DIR": str(cache / "triton"),
                       "OMP_NUM_THREADS": str(self.options.threads), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [self.options.python, str(FOLDER / "torch_side.py"), self.options.device, str(self.options.threads)]
        with open(self.options.out / "torch.log", "a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env=environment)

    def ask(self, case, warm=False):
        if self.process is None:
            self.start()
        watch = threading.Timer(PEER_SECONDS[self.options.device], self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps({"case": vars(case), "warm": warm}) + "\n")
            self.process.stdin.flush()
            while line := self.process.stdout.readline():
                if line.startswith("{"):
                    return json.loads(line)
        except OSError:
            pass
        finally:
            watch.cancel()
        self.end()
        return {"results": {"error": "the process of PyTorch ended"}}

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None


def warm_up(options, cases, deadline):
    """Compiles PyTorch's side of the cases in several processes, so that its cache on disk has them."""
    children = []
    for k in range(options.warm):
        if (child := os.fork()) == 0:
            torch = Torch(options)
            for case in cases[k :: options.warm]:
                if time.monotonic() < deadline:
                    torch.ask(case, warm=True)
            torch.end()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def is_same(x, y, scale, tolerance):
    return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= tolerance * scale + 1e-6


def agree(ours, theirs, dtype):
    """Checks that the checksums are the same, in relation to the sum of absolute values."""
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs):
        scale = max(a[2], b[2]) if math.isfinite(a[2]) else 0.0
        weights = (1, 4, 1)  # the second sum has weights from 1 to 7
        if not all(is_same(x, y, weight * scale, TOLERANCES[dtype]) for x, y, weight in zip(a, b, weights)):
            return False
    return True


def times_of(results):
    return {mode: values["time"] for mode, values in results.items() if isinstance(values, dict) and "time" in values}


def measure(case, options, torch, caches):
    """Returns the record of a case: the times of all, the ratio, and whether the checksums agree."""
    cache = caches / case.name
    ours = tsl_side.run(case, options, cache)
    answer = torch.ask(case)
    theirs = answer["results"]
    record = {"name": case.name, "family": case.family, "source": case.source(), "large": case.large, "device": options.device,
              "tsl": ours, "torch": theirs, "version": answer.get("torch"), "load": os.getloadavg()[0], "repeats": []}
    peers = times_of(theirs)
    if "error" in ours or not peers:
        return record
    dtype = case.inputs[0]["dtype"]
    record["agrees"] = {mode: agree(ours["sums"], theirs[mode]["sums"], dtype) for mode in peers}
    record["ratio"] = min(peers.values()) / ours["time"]
    if record["ratio"] < BELOW:
        rounds = [(ours["time"], peers)]
        for _ in range(REPEATS):
            again, others = tsl_side.run(case, options, cache), times_of(torch.ask(case)["results"])
            if "time" in again and others:
                rounds.append((again["time"], others))
        record["repeats"] = [min(p.values()) / t for t, p in rounds]
        ours["time"] = statistics.median(t for t, _ in rounds)
        for mode in peers:
            theirs[mode]["time"] = statistics.median(p[mode] for _, p in rounds if mode in p)
        record["ratio"] = min(times_of(theirs).values()) / ours["time"]
    record["prediction"] = predict.predict(case, options, cache)
    if options.cached:
        record["cached"] = tsl_side.run(case, options, cache, "--first").get("first")
    return record


def show(record):
    if "ratio" not in record:
        return f"{record['name']}: {str(record['tsl'].get('error') or record['torch'])[:300]}"
    peers = " ".join(f"{mode} {seconds * 1e6:.1f}" for mode, seconds in times_of(record["torch"]).items())
    wrong = [mode for mode, same in record["agrees"].items() if not same]
    return (f"{record['name']}: ratio {record['ratio']:.2f}, TSL {record['tsl']['time'] * 1e6:.1f} us, {peers}"
            + (f" DIFFERS from {' '.join(wrong)}" if wrong else ""))


def run(options, cases, k):
    deadline = time.monotonic() + options.minutes * 60
    options.out.mkdir(parents=True, exist_ok=True)
    caches = options.out / "cache" / f"tsl-{os.getpid()}"
    if options.warm:
        warm_up(options, cases, time.monotonic() + options.minutes * 20)
    torch = Torch(options)
    records = []
    with open(options.out / f"shard-{k}.jsonl", "w") as file:
        for case in cases:
            if time.monotonic() > deadline:
                print(f"no time left for {len(cases) - len(records)} cases", file=sys.stderr)
                break
            records.append(measure(case, options, torch, caches))
            file.write(json.dumps(records[-1]) + "\n")
            file.flush()
            print(show(records[-1]), file=sys.stderr, flush=True)
    torch.end()
    return records


def main():
    options = parse_arguments()
    if options.merge:
        files = [file for folder in options.merge for file in sorted(folder.glob("shard-*.jsonl"))]
        print(report([json.loads(line) for file in files for line in file.read_text().splitlines()]))
        return
    k, n = (int(part) for part in options.shard.split("/"))
    cases = [case for case in draw(options.seed, options.cases, options.device)
             if options.only in case.name and case.large >= options.large][k - 1 :: n]
    if options.list:
        for case in cases:
            print(case.name, case.source())
        return
    text = report(run(options, cases, k))
    (options.out / f"summary-{k}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
