"""Ranks whose tensors are on GPUs, on a driver and an NCCL that compute nothing and pass bytes: what links the devices, what
takes its place, and faults.

    python3 tests/ranks/devices.py TSL FOLDER_OF_DRIVER FOLDER_OF_NCCL
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 120  # seconds, of one run
SOON = 25    # within which ranks end when another one has ended: 10 seconds, on a machine that does other things, too

# Kernels do not run, so what is passed comes from the host.
MOVES = """import world
let x = tensor([world.rank + 1.0, 5.0])
fn moved(x) = [world.broadcast(x, 1), world.send_receive(x), world.broadcast(x[:0], 0)]
@compile fn compiled(x) = moved(x)
print(x.device, map(fn(y) = y.tolist(), moved(x)))
for i in range(0, 4) { print(map(fn(y) = y.tolist(), compiled(x + 0.0 * i))) }
# More calls than the ranks tell each other at a time, of which the host waits for none.
var last = x
for i in range(0, 100) { last = world.broadcast(last, i % 2) }
print(last.tolist())
print(map(fn(y) = y.tolist(), moved(x)))
"""
MOVED = "[[2.0, 5.0], [2.0, 5.0], []]"


# Sums that plans make: of the first call, before the devices are linked, none. What kernels would write is not there.
SUMS = """import parallel
import world
let x = ones([4])
fn loss_of(p, x) = mean((x * p.a + p.b) ** 2)
@compile fn step(p, x) {
  let (loss, g) = parallel.value_and_grad(loss_of)(p, x)
  return tree_map(fn(p, g) = p - 0.1 * g, p, g)
}
@compile fn looked(x, i) = take(world.all_sum(x), i)
@compile fn ignored(x) {
  world.all_sum(x * 2.0)
  return x + 1.0
}
fn graphs(f) {
  for i in 0..4 { f() }
  let before = counters().graph_launches
  f()
  return counters().graph_launches - before
}
let p = {a: tensor(1.0), b: ones([4])}
print(graphs(fn() = step(p, x)), graphs(fn() = looked(x, tensor([1]))), graphs(fn() = ignored(x)))
if world.rank == 0 { print(explain(all: true)) }
"""
PASSED_ALONE = """import world
let x = ones([4])
@compile fn both(x) = world.all_sum(x * 2.0) + world.all_sum(x + 1.0)
for i in 0..3 { both(x) }
both(ones([4 + world.rank]))
print(both(x).tolist())
"""


class Ranks:
    def __init__(self, program, driver, nccl):
        self.program, self.folders = program, [driver, nccl]

    def start(self, script, *, with_nccl=True, **more):
        environment = {**os.environ, "NULL_DRIVER_COUNT": "2", "LD_LIBRARY_PATH": ":".join(self.folders[:1 + with_nccl]),
                       **more}
        return subprocess.Popen([self.program, "--ranks", "2", "--device", "cuda", str(script)], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, script, **more):
        process = self.start(script, **more)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err


def check_moves(ranks, script, check):
    script.write_text(MOVES)
    note = "tsl: tensors pass between ranks through host memory: "
    for name, more, said in (
        ("by NCCL", {}, ""),
        ("by NCCL alone", {"TSL_RANK_LINK": "nccl"}, ""),
        ("by an NCCL that is too old", {"NULL_NCCL_VERSION": "21000"}, "is older than NCCL 2.18"),
        ("by the host", {"TSL_RANK_LINK": "host"}, "TSL_RANK_LINK says so"),
    ):
        code, out, err = ranks.run(script, **more)
        first, *others = out.splitlines() or [""]
        check(f"moves {name}", code == 0 and first == f"cuda:0 {MOVED}", f"{code}\n{out}{err}")
        check(f"moves {name}, later", others[-2:] == ["[1.0, 5.0]", MOVED], out)
        check(f"moves {name}, note", err == "" if not said else err.startswith(note) and said in err, err)


def check_sums(ranks, script, check):
    """Sums over ranks of compiled code are nodes of its plan, where kernels make them: one graph, as of one rank."""
    script.write_text(SUMS)
    code, out, err = ranks.run(script, NULL_DRIVER_PEERS="1")
    check("sums in plans", code == 0 and out.startswith("1 2 1\n"), f"{code}\n{out[:500]}{err}")
    text = "sum over ranks: f32[5], 20 bytes; of the launches after it 0 need not wait for it; sum_ranks ("
    check("sums in plans, explained", text in out and "recompile() was called, or devices were linked" in out, out)
    for link in ("nccl", "host"):  # their sums are exchanges, which the host enqueues between plans
        code, out, err = ranks.run(script, NULL_DRIVER_PEERS="1", TSL_RANK_LINK=link)
        check(f"sums by {link}", code == 0 and int(out.split()[0]) > 1 and "sum over ranks:" not in out, f"{code}\n{out[:500]}{err}")
    script.write_text(PASSED_ALONE)
    code, _, err = ranks.run(script, NULL_DRIVER_PEERS="1")
    check("sums in plans differ", code == 1 and "rank 0 calls `sum_ranks f32[4] on a device` at" in err
          and "rank 1 calls `sum_ranks f32[5] on a device` at" in err, err)


def check_names(ranks, script, check):
    script.write_text(MOVES)
    code, _, err = ranks.run(script, TSL_RANK_LINK="smoke")
    check("no such link", code == 1 and "TSL_RANK_LINK is 'smoke', and is to be peer, nccl or host" in err, err)


def check_faults(ranks, script, check):
    script.write_text("import world\nlet x = tensor([1.0, 2.0, 3.0])\nworld.broadcast(x)\n"
                      "print(world.broadcast(x[:2 + world.rank]).tolist())")
    code, _, err = ranks.run(script)
    check("shapes differ", code == 1 and "rank 0 calls `broadcast_rank f32[2], 0 on a device` at" in err
          and "rank 1 calls `broadcast_rank f32[3], 0 on a device` at" in err, err)

    script.write_text("import world\nlet x = tensor([1.0, 2.0])\nworld.broadcast(x)\n"
                      'if world.rank == 1 { error("no data") }\nprint(world.send_receive(x).tolist())')
    begin = time.monotonic()
    code, _, err = ranks.run(script)
    check("a rank fails", code == 1 and "no data" in err and "rank 1 has ended, while this rank waits in" in err, err)
    check("a rank fails, soon", time.monotonic() - begin < SOON)

    script.write_text("import world\nlet x = tensor([1.0, 2.0])\nworld.broadcast(x)\n"
                      "if world.rank == 1 {\n  eprint(\"kill me\")\n  sleep(60)\n}\nprint(world.send_receive(x).tolist())")
    process = ranks.start(script)
    process.stderr.readline()
    begin = time.monotonic()
    for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        if "TSL_RANK=1" in pathlib.Path(f"/proc/{child}/environ").read_text(errors="replace").split("\0"):
            os.kill(int(child), signal.SIGKILL)
    _, err = process.communicate(timeout=LIMIT)
    check("a rank is killed", "rank 1 has ended, while this rank waits in `shift_ranks f32[2], 1 on a device`" in err, err)
    check("a rank is killed, soon", time.monotonic() - begin < SOON)


def main():
    failed = []

    def check(name, holds, text=""):
        if not holds:
            failed.append(name)
            print(f"FAILED {name}\n{text}")

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TSL_CACHE_DIR"] = folder
        ranks, script = Ranks(*sys.argv[1:4]), pathlib.Path(folder, "ranks.tsl")
        check_moves(ranks, script, check)
        check_sums(ranks, script, check)
        check_names(ranks, script, check)
        check_faults(ranks, script, check)
    print("ranks on devices:", f"{len(failed)} failed" if failed else "passed")
    sys.exit(1 if failed else 0)


main()
