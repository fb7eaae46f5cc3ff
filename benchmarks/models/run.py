#!/usr/bin/env python3
"""Runs the models of rows.tsl in TSL and in PyTorch, a row a process, and prints the table of README.md.

    benchmarks/models/run.py [ROW...] [--device cpu|cuda] [--threads 1] [--modes eager,compile] [--rounds 1]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from tables import show_time, table

OF_BOTH = ["resnet18", "mobilenet_v2", "densenet121", "vit_tiny", "unet", "lstm", "bert", "llama"]
ROWS = [f"{name}.{task}" for name in OF_BOTH for task in ("inference", "training")]
GPT2 = {"cpu": ["gpt2.inference", "gpt2.training", "gpt2.decoding"],
        "cuda": ["gpt2.inference", "gpt2_8x1024.inference", "gpt2_8x1024.training", "gpt2.decoding"]}
FUNCTIONS = ["vae.training", "neural_ode.training", "pinn.training"]


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--tsl", default=str(FOLDER.parents[1] / "build/release/tsl"))
    parser.add_argument("--python", default=sys.executable, help="of PyTorch")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--modes", default="eager,compile", help="of PyTorch; on a GPU also reduce-overhead")
    parser.add_argument("--rounds", type=int, default=1, help="processes of each in turn, of which the fastest counts")
    return parser.parse_args()


def run(command):
    """Returns what a command prints and the most memory that it took, in bytes."""
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}  # of freed memory, as TSL keeps it by itself
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **kept})
    text = process.stdout.read()
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        print(f"{' '.join(map(str, command))} failed\n{errors}", file=sys.stderr)
        return "", 0
    return text, usage.ru_maxrss * 1024


def measure_tsl(row, given):
    """Returns the seconds of the first call, those of a later one, and the most memory."""
    flags = ["--tf32"] if given.device == "cuda" else ["--threads", str(given.threads)]
    text, peak = run([given.tsl, "--device", given.device, *flags, FOLDER / "run.tsl", row])
    if not text:
        return None
    if given.device == "cpu":
        first, median = text.splitlines()[0].split()[1:]
        return float(first), float(median), peak
    fields = dict(field.split("=") for field in text.split()[1:])
    return float(fields["first"]), float(fields["device"]), int(fields["memory_peak"])


def measure_torch(row, mode, given):
    text, peak = run([given.python, FOLDER / "torch_side.py", given.device, str(given.threads), mode, row])
    found = json.loads(text) if text else {"error": "failed"}
    if "error" in found:
        print(f"{row}, {mode}: {found['error']}", file=sys.stderr)
        return None
    return found["first"], found["seconds"], found.get("peak", peak)


def show_memory(size):
    return f"{size / 2**20:.0f}"


def fastest(found):
    return min((times for times in found if times), key=lambda times: times[1], default=None)


def line(row, given):
    """Measures a row; one line of the table."""
    modes = given.modes.split(",")
    rounds = [[measure_tsl(row, given), *(measure_torch(row, mode, given) for mode in modes)] for _ in range(given.rounds)]
    ours, *theirs = (fastest(found) for found in zip(*rounds))
    cells = [row, *(show_time(found[1]) if found else "" for found in [ours, *theirs])]
    ran = [found for found in theirs if found]
    if not ours or not ran:
        return [*cells, "", "", ""]
    best = min(ran, key=lambda found: found[1])
    memory = f"{show_memory(ours[2])} / {show_memory(min(found[2] for found in ran))}"
    return [*cells, f"{best[1] / ours[1]:.2f} ×", memory, f"{show_time(ours[0])} / {show_time(ran[-1][0])}"]


def main():
    given = options()
    lines = []
    for row in given.rows or ROWS + GPT2[given.device] + FUNCTIONS:
        lines.append(line(row, given))
        print(" ".join(lines[-1]), file=sys.stderr, flush=True)
    print(table(["row", "TSL", *given.modes.split(","), "ratio", "memory, MiB: TSL / PyTorch", "first call"], lines))


if __name__ == "__main__":
    main()
