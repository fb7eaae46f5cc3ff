#!/usr/bin/env python3
"""Cuts the power while programs save, by a library that loses what they have not synced (power_cut.cpp).

  power_cuts.py TSL LIBRARY [--seeds N]   N: how often at each call, with other losses (default 1)

The file is then the old one or a new one, whole, and never older than a save that has returned.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from killed_saves import FORMATS

SAVES = 3
CUT = 9  # the exit status of a program whose power was cut


def programs(save, load):
    start = "let path = args()[0]\n"
    writer = start + f"for i in 1..{SAVES + 1} {{\n  {save}\n  print(i)\n}}\n"
    reader = start + f"let x = {load}\nassert((x == x[0]).all().item() and x.shape[0] >= 10_000)\nprint(int(x[0]))\n"
    return writer, reader


def last_number(text):
    words = text.split()
    return int(words[-1]) if words else 0


def losses(tsl, library, path, writer, reader, seeds, variables):
    """Cuts the power at each call in turn. Returns how often, and how often the file was wrong afterwards."""
    cuts = wrong = 0
    for seed in range(seeds):
        call = 0
        while True:
            call += 1
            for name in os.listdir(os.path.dirname(path)):
                os.remove(os.path.join(os.path.dirname(path), name))
            environment = dict(os.environ, LD_PRELOAD=library, TSL_POWER_CUT=str(call), TSL_POWER_CUT_SEED=str(seed),
                               **variables)
            run = subprocess.run([tsl, "-e", writer, path], env=environment, stdout=subprocess.PIPE, text=True)
            if run.returncode == 0:
                break
            if run.returncode != CUT:
                sys.exit(f"the writer ended with {run.returncode}")
            cuts += 1
            saved = last_number(run.stdout)
            if not os.path.exists(path):
                wrong += saved > 0
                continue
            found = subprocess.run([tsl, "-e", reader, path], capture_output=True, text=True)
            wrong += found.returncode != 0 or last_number(found.stdout) < saved
    return cuts, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tsl")
    parser.add_argument("library")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    tsl, library = os.path.abspath(options.tsl), os.path.abspath(options.library)
    for name, save, load in FORMATS:
        writer, reader = programs(save, load)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x." + name)
            cuts, wrong = losses(tsl, library, path, writer, reader, options.seeds, {})
            if wrong or cuts < 3 * SAVES:
                sys.exit(f"{name}: {wrong} of {cuts} cuts leave a wrong file")
            print(f"{name}: {cuts} cuts, each leaves the old file or a new one")
    no_sync = {"TSL_POWER_CUT_NO_SYNC": "1"}
    with tempfile.TemporaryDirectory() as folder:
        writer, reader = programs(*FORMATS[0][1:])
        cuts, wrong = losses(tsl, library, os.path.join(folder, "x.npy"), writer, reader, 1, no_sync)
        if not wrong:
            sys.exit(f"without fsync, none of {cuts} cuts leaves a wrong file: nothing is tested")


if __name__ == "__main__":
    main()
