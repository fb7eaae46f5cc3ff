"""Runs the scripts beside this file as 1, 2 and 3 ranks, on every tier, and compares what rank 0 prints with their
comments "# expect:"; then faults: ranks that fail, end, hang, are asked to
end or do different things; and the example.

    python3 tests/ranks/run.py BUILD [NAME...]
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
TIERS = ([], ["--compile"], ["--no-compile"])
LIMIT = 120  # seconds, of one run
SOON = 25  # within which ranks end when another one has ended: 10 seconds, on a machine that does other things, too


def run(program, arguments, **options):
    """Returns the exit code, the output and the errors of a run, and how long it took."""
    begin = time.monotonic()
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LIMIT, check=False, **options)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - begin


def expected_of(script):
    """Returns the lines that a script's comments expect, those in a loop repeated as the comment says."""
    return re.findall(r"# expect: (.*)", script.read_text())


class Report:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, name, holds, text=""):
        if holds:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}\n{text}")


def check_scripts(program, report, names):
    for script in sorted(HERE.glob("*.tsl")):
        if names and script.stem not in names:
            continue
        outputs = {}
        for ranks in (1, 2, 3):
            for tier in TIERS:
                code, out, err, _ = run(program, ["--ranks", str(ranks), *tier, str(script)])
                outputs[ranks, *tier] = out
                name = f"{script.stem} as {ranks} ranks {' '.join(tier)}"
                report.check(name, code == 0 and not err, f"exit code {code}\n{out}{err}")
                wrong = [line for line in out.splitlines() if line not in expected_of(script)]
                report.check(name + ", its lines", out and not wrong, "\n".join(wrong))
        report.check(f"{script.stem}: one output", len(set(outputs.values())) == 1, "\n".join(sorted(set(outputs.values()))))


FAULTS = {
    # name: (code, arguments, exit codes, what the errors contain)
    "a rank fails": (
        'import world\nif world.rank == 1 { error("no data") }\nprint(world.all_sum(ones([2])))',
        {1},
        ["no data", "rank 1 has ended, while this rank waits in `gather_ranks f32[2]` at", ":3: no data"],
    ),
    "a rank ends early": (
        "import world\nif world.rank == 0 { world.barrier() }",
        {1},
        ["rank 1 has ended, while this rank waits in `gather_ranks f32[0]` at", "its program has ended"],
    ),
    "a rank is killed": (
        "import world\nworld.barrier()\nif world.rank == 1 { KILL }\nworld.barrier()",
        {137},
        ["rank 1 was ended by signal 9", "rank 1 has ended, while this rank waits in `gather_ranks f32[0]` at",
         "it was ended by signal 9"],
    ),
    "shapes differ": (
        "import world\nprint(world.all_sum(ones([2 + world.rank])))",
        {1},
        ["the ranks do different things: rank 0 calls `gather_ranks f32[2]` at", "rank 1 calls `gather_ranks f32[3]` at"],
    ),
    "lines differ": (
        "import world\nlet x = ones([2])\nif world.rank == 0 { world.all_max(x) }\nelse { world.broadcast(x, 0) }",
        {1},
        ["rank 0 calls `gather_ranks f32[2]` at", "rank 1 calls `broadcast_rank f32[2], 0` at"],
    ),
    "an error is caught, and the ranks stay apart": (
        "import world\ntry { world.all_sum(ones([2 + world.rank])) } catch e { print(e.name) }\nworld.barrier()",
        {1},
        ["the ranks are not connected any more"],
    ),
}


def kill_text():
    """Returns code that kills its own process."""
    return 'let n = 1\n  while true { eprint("kill me"); sleep(60) }'


def check_faults(program, report):
    for name, (code, exits, texts) in FAULTS.items():
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "fault.tsl")
            is_kill = "KILL" in code
            script.write_text(code.replace("KILL", kill_text()))
            if is_kill:
                exit_code, errors, seconds = run_killed(program, script)
            else:
                exit_code, _, errors, seconds = run(program, ["--ranks", "2", str(script)])
        report.check(f"{name}: exit code", exit_code in exits, f"{exit_code}\n{errors}")
        for text in texts:
            report.check(f"{name}: errors", text in errors, f"'{text}' is not in\n{errors}")
        report.check(f"{name}: time", seconds < SOON, f"{seconds:.1f} s")


def start(program, script):
    """Starts two ranks, and returns their launcher and the first line of their errors."""
    process = subprocess.Popen([program, "--ranks", "2", str(script)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    return process, process.stderr.readline()


def rank_of(launcher, rank):
    """Returns the process of a rank."""
    for child in pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split():
        if f"TSL_RANK={rank}".encode() in pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return int(child)
    raise LookupError(f"no rank {rank}")


def run_killed(program, script):
    """Kills a rank when its program says so. Returns the exit code, the errors and the seconds since."""
    process, first = start(program, script)
    begin = time.monotonic()
    os.kill(rank_of(process, 1), signal.SIGKILL)
    _, errors = process.communicate(timeout=LIMIT)
    return process.returncode, first + errors, time.monotonic() - begin


def check_silence(program, report):
    """A rank that is stopped, as by a host that hangs, ends the others with its number."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "stopped.tsl")
        script.write_text("import world\nworld.barrier()\nif world.rank == 0 { eprint(\"began\") }\n"
                          "while true { world.barrier() }\n")
        process, _ = start(program, script)
        begin = time.monotonic()
        os.kill(rank_of(process, 1), signal.SIGSTOP)
        _, errors = process.communicate(timeout=LIMIT)
        report.check("a stopped rank: exit code", process.returncode == 1, f"{process.returncode}\n{errors}")
        report.check("a stopped rank: errors", "rank 1 has not answered for 8 seconds, while this rank waits in" in errors, errors)
        report.check("a stopped rank: time", time.monotonic() - begin < SOON, errors)


def check_interrupt(program, report):
    """Ctrl-C ends ranks that wait for one another."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "wait.tsl")
        script.write_text('import world\nworld.barrier()\nif world.rank == 0 { eprint("waits"); world.barrier() }\n'
                          "sleep(100)\nworld.barrier()\n")
        process = subprocess.Popen([program, "--ranks", "2", str(script)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        process.stderr.readline()
        time.sleep(0.5)
        begin = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
        report.check("Ctrl-C: exit code", process.returncode == 130, f"{process.returncode}\n{errors}")
        report.check("Ctrl-C: time", time.monotonic() - begin < SOON, errors)


PREEMPTED = """import parallel
import world
var (state, _) = parallel.load_checkpoint(args()[0], {step: 0, w: zeros([3])})
if world.rank == 0 { eprint("from", state.step) }
while state.step < 1000 {
  state = {step: state.step + 1, w: world.all_mean(state.w + world.rank)}
  sleep(0.05)
  if world.ending() {
    parallel.save_checkpoint(args()[0], state)
    if world.rank == 0 { eprint("saved", state.step) }
    exit(143)
  }
}
"""


def check_preemption(program, report):
    """SIGTERM to the launcher, or to one rank, lets the ranks save and end; without a question it ends them at once."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "train.tsl")
        script.write_text(PREEMPTED)
        saved = 0
        for to_all in (True, False):
            process = subprocess.Popen([program, "--ranks", "2", str(script), folder], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            report.check("preemption: it goes on", process.stderr.readline() == f"from {saved}\n")
            time.sleep(0.5)
            os.kill(process.pid if to_all else rank_of(process, 1), signal.SIGTERM)
            _, errors = process.communicate(timeout=LIMIT)
            report.check("preemption: exit code", process.returncode == 143, f"{process.returncode}\n{errors}")
            report.check("preemption: errors", errors.startswith("saved ") and errors.count("\n") == 1, errors)
            saved = int(errors.split()[1]) if errors.startswith("saved ") else 0
            report.check("preemption: step", saved > 0, errors)
        script.write_text('import world\nworld.barrier()\nif world.rank == 0 { eprint("waits") }\nsleep(100)\n')
        process, _ = start(program, script)
        begin = time.monotonic()
        process.terminate()
        process.communicate(timeout=LIMIT)
        report.check("SIGTERM: exit code", process.returncode == 143, str(process.returncode))
        report.check("SIGTERM: time", time.monotonic() - begin < SOON)


def check_torchrun(program, report):
    """Under torchrun's variables, SIGTERM to each process lets the ranks save and end, and the next run goes on from there."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "train.tsl")
        script.write_text(PREEMPTED)
        saved = 0
        for _ in range(2):
            ranks = [subprocess.Popen([program, str(script), folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, **TORCHRUN, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                     for rank in (0, 1)]
            first = ranks[0].stderr.readline()
            report.check("torchrun: it goes on", first == f"from {saved}\n", first)
            time.sleep(0.5)
            for rank in ranks:
                rank.terminate()
            errors = [rank.communicate(timeout=LIMIT)[1] for rank in ranks]
            report.check("torchrun: exit codes", [rank.returncode for rank in ranks] == [143, 143], str(errors))
            step = re.fullmatch(r"saved (\d+)\n", errors[0])
            report.check("torchrun: it saves", step and int(step[1]) > saved and not errors[1], str(errors))
            saved = int(step[1]) if step else 0


TRACED = """import world
let x = ones([100_000])
for i in range(0, 3) {
  if world.rank == 1 { sleep(0.2) }
  world.send_receive(x)
}
FAIL
"""


def check_profile(program, report):
    """A profile has one trace of all ranks on one clock, tells waiting from passing, and names the slowest rank."""
    with tempfile.TemporaryDirectory() as folder:
        script, trace = pathlib.Path(folder, "traced.tsl"), pathlib.Path(folder, "trace.json")
        script.write_text(TRACED.replace("FAIL", ""))
        code, _, err, _ = run(program, ["--ranks", "2", f"--profile={trace}", str(script)])
        report.check("profile: exit code", code == 0, err)
        report.check("profile: what passes", len(re.findall(r"3 calls pass 1\.1 MiB between ranks in .*GB/s, after waiting", err)) == 2, err)
        report.check("profile: the slowest", "rank 1 is the slowest: it waits" in err, err)
        events = json.loads(trace.read_text())["traceEvents"]
        names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
        report.check("profile: tracks", {"rank 0: host", "rank 1: host"} <= names, str(names))
        slices = {(kind, rank): [event for event in events if event["name"] == kind and event["pid"] // 1000 == rank]
                  for kind in ("waiting for other ranks", "passing tensors between ranks") for rank in (0, 1)}
        report.check("profile: slices", all(len(found) == 3 for found in slices.values()), str(slices))
        ends = [[event["ts"] + event["dur"] for event in slices["waiting for other ranks", rank]] for rank in (0, 1)]
        apart = [abs(a - b) for a, b in zip(*ends)]
        report.check("profile: one clock", max(apart) < 100_000, f"the ranks meet {apart} us apart")
        waits = [sum(event["dur"] for event in slices["waiting for other ranks", rank]) for rank in (0, 1)]
        report.check("profile: who waits", waits[0] > 400_000 > waits[1], str(waits))
        passed = [event["args"]["bytes"] for event in slices["passing tensors between ranks", 1]]
        report.check("profile: bytes", passed == [400_000] * 3, str(passed))

        script.write_text(TRACED.replace("FAIL", 'if world.rank == 1 { error("no data") }'))
        code, _, err, _ = run(program, ["--ranks", "2", f"--profile={trace}", str(script)])
        own = [pathlib.Path(folder, f"trace-0000{number}-of-00002.json") for number in (1, 2)]
        report.check("profile: of ranks that fail", code == 1 and all(json.loads(each.read_text()) for each in own), err)


def check_metrics(program, report):
    """Each rank writes lines of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        code = ("import parallel\nimport world\nfor step in range(0, 3) {\n  parallel.metrics(f\"{args()[0]}/run.jsonl\", step, "
                "{loss: ones([1]) * world.rank, all: {x: nan, name: \"a\"}})\n}")
        script = pathlib.Path(folder, "metrics.tsl")
        script.write_text(code)
        for ranks, files in ((1, ["run.jsonl"]), (2, ["run-00001-of-00002.jsonl", "run-00002-of-00002.jsonl"])):
            exit_code, _, err, _ = run(program, ["--ranks", str(ranks), str(script), folder])
            lines = [[json.loads(line) for line in pathlib.Path(folder, file).read_text().splitlines()] for file in files]
            expected = [[{"step": step, "rank": rank, "loss": float(rank), "all": {"x": None, "name": "a"}} for step in range(3)]
                        for rank in range(ranks)]
            times = [line.pop("time") for found in lines for line in found]
            report.check("metrics", exit_code == 0 and lines == expected and min(times) > 0, f"{err}{lines}")


def check_example(program, report):
    """The example trains as two ranks, and goes on from its checkpoint as one."""
    root = HERE.parent.parent
    with tempfile.TemporaryDirectory() as folder:
        def train(ranks, steps):
            arguments = ["--ranks", str(ranks), "examples/parallel_gpt.tsl", "--steps", str(steps), "--batch", "4",
                         "--context", "8", "--layers", "1", "--every", "10", "--checkpoints", folder]
            code, out, err, _ = run(program, arguments, cwd=root)
            report.check(f"the example: {ranks} ranks", code == 0 and not err, f"{code}\n{out}{err}")
            return out
        out = train(2, 20)
        losses = [float(number) for number in re.findall(r"loss ([0-9.]+)", out)]
        report.check("the example: it learns", len(losses) == 3 and losses[-1] < losses[0], out)
        report.check("the example: it goes on", "1 rank, from step 20" in train(1, 30), out)


# With what names the run, so that what starts the ranks may have shells between them and itself.
TORCHRUN = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_PORT": str(os.getpid()), "TORCHELASTIC_RUN_ID": "test"}


def check_killed_run(program, report):
    """A run whose ranks were all killed, under the name of the next one, does not keep that from running."""
    code = ("import world\nworld.barrier()\nif env(\"STAY\", nil) != nil { eprint(\"met\"); sleep(60) }\n"
            "print(world.all_sum(tensor(1.0)).item())")

    def ranks(**more):
        return [subprocess.Popen(["sh", "-c", '"$0" -e "$1"; true', program, code], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 env={**os.environ, **TORCHRUN, "RANK": str(rank), "LOCAL_RANK": str(rank), **more})
                for rank in (0, 1)]

    for process in ranks(STAY="1"):
        process.stderr.readline()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT)
    outputs = [process.communicate(timeout=LIMIT) for process in ranks()]
    report.check("after a killed run", outputs == [("2.0\n", ""), ("2.0\n", "")], str(outputs))


def check_python(report, build):
    """Processes of Python join, too."""
    code = ('import sys, tsl\nengine = tsl.Engine(("compile", "environment"))\n'
            'print(engine.run("import world; world.all_sum(tensor(world.rank + 1.0)).item()"))')
    folder = HERE.parent.parent / "python"
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, **TORCHRUN, "RANK": str(rank), "LOCAL_RANK": str(rank),
                                       "PYTHONPATH": str(folder), "TSL_LIBRARY": str(build / "libtsl.so")})
                 for rank in (0, 1)]
    outputs = [process.communicate(timeout=LIMIT)[0] for process in processes]
    report.check("Python", outputs == ["3.0\n", "3.0\n"], str(outputs))


def check_launchers(program, report):
    """The same script under the variables of other launchers, whose processes find each other through their parent."""
    text = "import world\nprint(world.rank, world.size, world.all_sum(tensor([1.0])).item())"
    rows = {
        "torchrun": lambda r: TORCHRUN | {"RANK": r, "LOCAL_RANK": r},
        "Open MPI": lambda r: {"OMPI_COMM_WORLD_RANK": r, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": r,
                               "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
        "MPICH": lambda r: {"PMI_RANK": r, "PMI_SIZE": "2"},
        "Slurm": lambda r: {"SLURM_PROCID": r, "SLURM_NTASKS": "2", "SLURM_LOCALID": r, "SLURM_STEP_ID": "0"},
    }
    for name, variables in rows.items():
        processes = [subprocess.Popen([program, "-e", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      env={**os.environ, **variables(str(rank))}) for rank in (0, 1)]
        outputs = [process.communicate(timeout=LIMIT)[0] for process in processes]
        report.check(name, outputs == ["0 2 2.0\n", "1 2 2.0\n"], str(outputs))
    code, out, _, _ = run(program, ["-e", text], env={**os.environ, "RANK": "2", "WORLD_SIZE": "2"})
    report.check("a contradiction", code == 1 and not out)


def check_output(program, report):
    text = 'import world\nprint("out", world.rank)\neprint("err", world.rank)'
    _, out, err, _ = run(program, ["--ranks", "3", "-e", text])
    report.check("output of rank 0", out == "out 0\n", out)
    lines = sorted(err.splitlines())
    report.check("errors of all", lines == ["[rank 1] err 1", "[rank 2] err 2", "err 0"], err)
    _, out, _, _ = run(program, ["--ranks", "3", "--all-ranks", "-e", text])
    lines = sorted(out.splitlines())
    report.check("output of all", lines == ["[rank 0] out 0", "[rank 1] out 1", "[rank 2] out 2"], out)
    code, out, err, _ = run(program, ["doctor", "--ranks", "2"])
    rows = r"ranks      4 KB, µs   25 MB, GB/s\n0 - 1 +[0-9.]+ +[0-9.]+\n"
    report.check("the links", code == 0 and re.fullmatch(rows, out), f"{code}\n{out}{err}")
    code, _, err, _ = run(program, ["--ranks", "0", "-e", text])
    report.check("no ranks", code == 2, err)


def main():
    program = str(pathlib.Path(sys.argv[1], "tsl").resolve())
    names = sys.argv[2:]
    report = Report()
    check_scripts(program, report, names)
    if not names:
        check_faults(program, report)
        check_silence(program, report)
        check_interrupt(program, report)
        check_preemption(program, report)
        check_torchrun(program, report)
        check_profile(program, report)
        check_metrics(program, report)
        check_example(program, report)
        check_launchers(program, report)
        check_killed_run(program, report)
        check_python(report, pathlib.Path(sys.argv[1]).resolve())
        check_output(program, report)
    print(f"ranks: {report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed or not report.passed else 0)


main()
