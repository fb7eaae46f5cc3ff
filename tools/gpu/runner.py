"""Runs jobs side by side until a time has come, and reports each as it ends."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ALL_SKIPPED = 77  # the exit code of a test whose cases were all skipped
TICK = 0.05
LEAST_TIME = 3  # seconds that must be left for a job to be started
TAIL = 25  # lines of a failed job's output


@dataclass
class Running:
    job: object
    process: object
    log: Path
    files: Path  # $TMPDIR of the job alone: two may run the same script
    begin: float
    slot: int


@dataclass
class Machine:
    cores: list  # numbers of those that may be used
    gpus: int = 1
    name: str = ""  # of the GPUs

    @property
    def width(self):
        return len(self.cores)

    def gpus_of(self, slot):
        """A GPU and, for tests of two, the next one."""
        gpu = slot % max(self.gpus, 1)
        return str(gpu) if self.gpus < 2 else f"{gpu},{(gpu + 1) % self.gpus}"


def this_machine(width=0):
    """Gives the cores that this process may use, at most `width` of them if it is given, and the number of GPUs."""
    cores = sorted(os.sched_getaffinity(0))
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        listed = []
    names = dict.fromkeys(line.split(":")[1].split("(")[0].strip() for line in listed if ":" in line)
    return Machine(cores[:width] if width else cores, len(listed), f"{len(listed)} {', '.join(names)}" if listed else "")


class Runner:
    """`report(job, result, seconds, output)` is called as each job ends; `environment` is that of all jobs. `until`: the
    time, as time.monotonic() has it, at which what still runs is killed."""

    def __init__(self, machine, folder, environment, until, report):
        self.machine, self.folder, self.environment, self.until, self.report = machine, folder, environment, until, report
        self.logs = Path(tempfile.mkdtemp(prefix="tsl_gpu_"))
        self.running, self.counts = [], Counter()

    def run(self, jobs):
        """Runs the jobs in their order. Gives how many passed, failed and were skipped; all others are left."""
        waiting = list(jobs)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # what still runs ends with this process
        try:
            while (waiting or self.running) and time.monotonic() < self.until:
                self.start_what_fits(waiting)
                self.collect()
                time.sleep(TICK)
        finally:
            for each in self.running:
                kill(each.process)
        return self.counts

    def start_what_fits(self, waiting):
        while waiting and len(self.running) < self.machine.width and self.until - time.monotonic() > LEAST_TIME:
            groups = {each.job.group for each in self.running if each.job.group}
            at = next((i for i, job in enumerate(waiting) if job.group not in groups), None)
            if at is None or "alone" in groups or (waiting[at].group == "alone" and self.running):
                return
            self.start(waiting.pop(at))

    def start(self, job):
        slot = min(set(range(self.machine.width)) - {each.slot for each in self.running})
        name = f"{sum(self.counts.values())}_{slot}"
        log, files = self.logs / f"{name}.log", self.logs / name
        files.mkdir()
        cores = self.machine.cores if job.group == "alone" else [self.machine.cores[slot]]
        environment = {**os.environ, **self.environment, "TMPDIR": str(files), **job.environment}
        if self.machine.gpus:
            environment["CUDA_VISIBLE_DEVICES"] = self.machine.gpus_of(slot)
        with open(log, "wb") as out:
            process = subprocess.Popen(job.command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, preexec_fn=lambda: separate(cores))
        self.running.append(Running(job, process, log, files, time.monotonic(), slot))

    def collect(self):
        for each in list(self.running):
            seconds = time.monotonic() - each.begin
            status = each.process.poll()
            if status is None and seconds < each.job.limit:
                continue
            self.running.remove(each)
            if status is None:
                kill(each.process)
            self.end(each, status, seconds)

    def end(self, each, status, seconds):
        output = each.log.read_text(errors="replace")
        result = "passed" if status == 0 else "skipped" if status == ALL_SKIPPED else "failed"
        self.counts[result] += 1
        if status is None:
            output += f"\nran into its limit of {each.job.limit} s"
        elif result == "failed":
            output += f"\nended with {status}"
        each.log.unlink()
        shutil.rmtree(each.files, ignore_errors=True)
        self.report(each.job, result, seconds, output)


def separate(cores):
    """Gives this process a group of its own, so that it ends with all that it starts, and these cores."""
    os.setpgid(0, 0)
    os.sched_setaffinity(0, cores)


def kill(process):
    """Ends a job with all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def tail(output):
    return "\n".join("    " + line for line in output.strip().splitlines()[-TAIL:])
