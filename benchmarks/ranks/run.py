#!/usr/bin/env python3
"""Times sums over ranks and a step of training by several GPUs, beside PyTorch in the same run.

    benchmarks/ranks/run.py TSL [RANKS] [sums] [training]     on a machine of so many GPUs (2)

Prints a line a row: the best of TSL's and of PyTorch's rounds, which take turns, and the ratio, above 1 where TSL is faster.
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROUNDS = int(os.environ.get("ROUNDS", "2"))


def lines_of(command, **more):
    """Returns the rows that a command prints: the seconds by name; and its output, if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env={**os.environ, **more})
    if done.returncode != 0:
        print(f"{' '.join(map(str, command))} failed ({done.returncode}):\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    if done.stderr.strip() and done.returncode == 0 and "tsl:" in done.stderr:
        print(done.stderr.strip())
    return {name: float(seconds) for name, seconds in re.findall(r"^(.*?): ([0-9.e-]+)", done.stdout, re.M)}, done.stdout


def main():
    program, ranks = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "2"
    rows = sys.argv[3:] or ["sums", "training"]
    peer = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", ranks, HERE / "torch_peer.py"]
    tsl, torch = {}, {}
    for _ in range(ROUNDS):
        for best, (found, text) in (
            (tsl, lines_of([program, "--ranks", ranks, HERE / "rows.tsl", *rows])),
            (torch, lines_of([*peer, *rows])),
        ):
            for name, seconds in found.items():
                key = name.replace("all_reduce", "all_sum")
                best[key] = min(best.get(key, seconds), seconds)
            print(text.strip())
    print(f"{'ranks: ' + ranks:16} {'TSL':>10} {'PyTorch':>10}  ratio (ms)")
    for name, seconds in tsl.items():
        if name in torch:
            print(f"{name:16} {seconds * 1e3:10.4f} {torch[name] * 1e3:10.4f}  {torch[name] / seconds:.2f}")


main()
