"""Drawn faults of ranks: one is killed, stopped, ends early, fails, or calls something else than the others. Each must end all
ranks soon, with an error that names the rank.

    python3 tests/ranks/faults.py BUILD [--count N] [--seed N]
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

# Seconds until the error, of which a rank that is stopped takes 8, and until all have ended: 10, on a machine that does other
# things, too.
NAMED, ENDED = 14, 20
LIMIT = 120

# Rank CULPRIT does something wrong in step STEP, after ranks have met.
PROGRAM = """import parallel
import world
let folder = args()[0]
let file = f"{folder}/rows-{world.rank}.npy"
save(file, arange(600).reshape([100, 6]))
let data = parallel.loader(file, size: world.size, ahead: 2, last: "pad")
var x = ones([SIZE]) * world.rank
for step in range(0, 100_000) {
  x = world.all_mean(x) + 1.0
  if step == STEP and world.rank == CULPRIT {
    eprint("now")
    WRONG
  }
  PACE
  ASIDE
  x = world.send_receive(x)
  if step % 3 == 0 { world.barrier() }
}
"""
KINDS = {
    # name: (what the culprit does, what the errors say of it)
    "killed": ("sleep(0.5)", "rank CULPRIT was ended by signal 9"),
    "stopped": ("sleep(0.5)", "rank CULPRIT has not answered for 8 seconds"),
    "ends": ("exit(0)", "rank CULPRIT has ended, while this rank waits in `"),
    "fails": ("error(\"no data\")", "rank CULPRIT has ended, while this rank waits in `[^`]*` at .*: no data"),
    "another shape": ("x = x[:1]", "the ranks do different things: (.*rank CULPRIT calls|rank [01] calls.*, rank [012] calls)"),
    "another call": ("world.all_max(x)", "the ranks do different things: (.*rank CULPRIT calls|rank [01] calls.*, rank [012] calls)"),
}
# What threads do beside the steps.
ASIDES = ("", "data.batch(step)", "parallel.save_checkpoint(f\"{folder}/checkpoint\", {step, x: x * 0.0}, background: true)")
# Work of GPUs is asynchronous, so that a rank may say that it is at its end before the others ask for it.
ENDS_ON_GPU = "rank CULPRIT calls `the end of the program"
OFTEN = ["killed"] * 3 + ["stopped"] + ["ends", "fails", "another shape", "another call"]


class Fault:
    def __init__(self, seed, is_on_gpu):
        draw = random.Random(seed)
        self.seed, self.kind = seed, draw.choice(OFTEN)
        self.ranks = draw.choice((2, 3))
        self.culprit = draw.randrange(self.ranks)
        self.wait = draw.uniform(0, 0.4)
        wrong, text = KINDS[self.kind]
        if is_on_gpu and self.kind == "ends":
            text = f"({text}|{ENDS_ON_GPU})"
        pace = draw.choice(("", "", "if world.rank == 0 { sleep(0.02) }", "if world.rank == 1 { sleep(0.3) }"))
        self.text = re.compile(text.replace("CULPRIT", str(self.culprit)))
        self.code = PROGRAM
        for word, value in (("SIZE", draw.choice((2, 50, 40_000))), ("STEP", draw.randrange(6)), ("CULPRIT", self.culprit),
                            ("WRONG", wrong), ("PACE", pace), ("ASIDE", draw.choice(ASIDES))):
            self.code = self.code.replace(word, str(value))

    def __str__(self):
        return f"seed {self.seed}, {self.ranks} ranks, rank {self.culprit}: {self.kind}"


def rank_of(launcher, rank):
    """Returns the process of a rank."""
    for child in pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split():
        if f"TSL_RANK={rank}".encode() in pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return int(child)
    raise LookupError(f"no rank {rank}")


def run(program, fault, folder):
    """Returns what is wrong, "" if nothing is, and the seconds until the error and until the end."""
    script = pathlib.Path(folder, f"fault_{fault.seed}.tsl")
    place = pathlib.Path(folder, f"fault_{fault.seed}")
    place.mkdir()
    script.write_text(fault.code)
    process = subprocess.Popen([program, "--ranks", str(fault.ranks), "--warn", "off", str(script), str(place)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    guard = threading.Timer(LIMIT, process.kill)
    guard.start()
    try:
        errors = ""
        while "now" not in errors:
            line = process.stderr.readline()
            if not line:
                return f"it ended before the fault\n{errors}", 0, 0
            errors += line
        if fault.kind in ("killed", "stopped"):
            time.sleep(fault.wait)
            os.kill(rank_of(process, fault.culprit), signal.SIGKILL if fault.kind == "killed" else signal.SIGSTOP)
        begin, named = time.monotonic(), None
        for line in process.stderr:
            errors += line
            if named is None and fault.text.search(line):
                named = time.monotonic() - begin
        code = process.wait()
        ended = time.monotonic() - begin
    finally:
        guard.cancel()
    if named is None:
        return f"no error names the rank\n{errors}", 0, ended
    if code == 0:
        return f"exit code 0\n{errors}", named, ended
    if named > NAMED or ended > ENDED:
        return f"the error came after {named:.1f} s, the end after {ended:.1f} s\n{errors}", named, ended
    return "", named, ended


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = str(pathlib.Path(options.build, "tsl").resolve())
    device = subprocess.run([program, "-e", "print(ones([1]).device)"], capture_output=True, text=True, timeout=LIMIT, check=True)
    is_on_gpu = device.stdout.startswith("cuda")
    faults = [Fault(seed, is_on_gpu) for seed in range(options.seed, options.seed + options.count)]
    failed, longest_named, longest = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(3) as pool:
        for fault, (problem, named, ended) in zip(faults, pool.map(lambda each: run(program, each, folder), faults)):
            longest_named, longest = max(longest_named, named), max(longest, ended)
            if problem:
                failed += 1
                print(f"FAILED: {fault}: {problem}\n{fault.code}")
    print(f"faults of ranks: {len(faults) - failed} passed, {failed} failed; the error came within {longest_named:.1f} s, "
          f"the end within {longest:.1f} s")
    sys.exit(1 if failed or not faults else 0)


main()
