"""Kills all ranks of a program, or one, at drawn moments while it trains and saves. What is there must be a whole checkpoint,
which any number of ranks goes on from, to the bit.

    python3 tests/ranks/checkpoints.py BUILD [--count N] [--seed N]
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

STEPS = 40
LIMIT = 120

# Each rank computes with the whole batch, so that their number changes no bit; the states are in parts.
PROGRAM = """import optim
import parallel
import world
let (folder, last) = (args()[0], int(args()[1]))
seed(3)
let (x, y) = (randn([16, 40]), randn([16, 1]))
let first = {layers: [{w: randn([40, 60]), b: zeros([60])}, {w: bf16(randn([60, 1]))}], name: "a"}
fn loss_of(p) = mean((tanh(x @ p.layers[0].w + p.layers[0].b) @ f32(p.layers[1].w) - y) ** 2)
var (state, opt) = parallel.load_checkpoint(folder, {p: first, step: 0, random: random_state()},
                                            parallel.sharded_init(optim.adamw_init, first))
set_random_state(state.random)
if last == -1 { last = state.step + 1 }
if world.rank == 0 { print("from", state.step) }
for step in range(state.step, last) {
  let g = grad(fn(q) = loss_of({...q, name: "a"}))({layers: state.p.layers})
  let noisy = tree_map(fn(d) = d + randn(d.shape) * 0.01, g)
  let (p, next) = parallel.sharded(fn(p, g, s) = optim.adamw(p, g, s, lr: 0.01), state.p, {...noisy, name: nil}, opt)
  state = {p, step: step + 1, random: random_state()}
  opt = next
  if len(args()) < 3 { parallel.save_checkpoint(folder, state, opt, background: BACKGROUND) }
  PAUSE
  if world.rank == 0 { print(state.step, state.p.name, sum(state.p.layers[0].w).item(), sum(f32(state.p.layers[1].w)).item()) }
}
parallel.wait_checkpoint()
""".replace("let (folder, last)", "var (folder, last)")


def command(program, ranks, script, *arguments):
    return [program, "--ranks", str(ranks), "--warn", "off", script, *arguments]


def run(program, ranks, script, *arguments):
    """Returns the lines of a run that ends by itself."""
    done = subprocess.run(command(program, ranks, script, *arguments), capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{ranks} ranks end with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def children_of(process):
    return [int(child) for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def write_script(script, background, pause):
    """Writes the program that saves in the background or not, and pauses between steps or not."""
    text = PROGRAM.replace("BACKGROUND", str(background).lower()).replace("PAUSE", f"sleep({pause})" if pause else "")
    pathlib.Path(script).write_text(text)


def run_killed(program, draw, ranks, script, folder, step):
    """Kills a run a drawn while after it has begun. Returns the lines that it has printed."""
    process = subprocess.Popen(command(program, ranks, script, folder, str(step)), stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    lines = [process.stdout.readline().strip()]
    time.sleep(draw.uniform(0, 0.25))
    try:
        if draw.random() < 0.3:
            os.kill(draw.choice(children_of(process)), signal.SIGKILL)
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, IndexError, FileNotFoundError):
        pass  # it has ended
    out, _ = process.communicate(timeout=LIMIT)
    return lines + out.splitlines()


def check(program, draw, script, folder, expected, printed, late):
    """Goes on for a step with some number of ranks. Returns the step, and what is wrong. `late`: how many steps after the last
    whole checkpoint a step may have been printed."""
    ranks = draw.choice((1, 2, 3))
    try:
        lines = run(program, ranks, script, folder, "-1", "dry")
    except RuntimeError as problem:
        return 0, str(problem)
    step = int(lines[0].split()[1])
    if printed and step < int(printed[-1].split()[0]) - late:
        return step, f"it goes on from {step}, but had saved {printed[-1]}"
    if step < STEPS and lines[1] != expected[step]:
        return step, f"{ranks} ranks go on with {lines[1]}, not {expected[step]}"
    return step, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = str(pathlib.Path(options.build, "tsl").resolve())
    draw = random.Random(options.seed)
    failed, resumed = 0, 0
    with tempfile.TemporaryDirectory() as place:
        script = str(pathlib.Path(place, "train.tsl"))
        write_script(script, False, 0)
        expected = run(program, 1, script, str(pathlib.Path(place, "none")), str(STEPS), "dry")[1:]
        folder = str(pathlib.Path(place, "checkpoint-0"))
        for kill in range(options.count):
            background = draw.random() < 0.6
            write_script(script, background, draw.choice((0, 0, 0.002, 0.01)))
            lines = run_killed(program, draw, draw.choice((1, 2, 3)), script, folder, STEPS)
            printed = [line for line in lines if line and line[0].isdigit() and line.count(" ") == 3]
            wrong = [line for line in printed if line != expected[int(line.split()[0]) - 1]]
            step, problem = check(program, draw, script, folder, expected, printed, int(background))
            if wrong or problem:
                failed += 1
                print(f"FAILED: kill {kill}: {wrong} {problem}")
            resumed += step > 0
            if step >= STEPS:
                folder = str(pathlib.Path(place, f"checkpoint-{kill + 1}"))
    print(f"kills of ranks that save: {options.count - failed} passed, {failed} failed; {resumed} had a checkpoint")
    sys.exit(1 if failed or not options.count else 0)


main()
