#!/usr/bin/env python3
"""Sends Ctrl-C to builtins that are busy for long, in a script and at the prompt.

  interrupted.py TSL

The script ends, and the prompt is there again, within 50 ms of processor time. A program that is done before is left out.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "prompt"))
from terminal import Terminal  # noqa: E402

GRACE = 0.05
BUSY = 0.03  # seconds of processor time in the builtin before Ctrl-C
RUNS = 10  # the least counts: others may delay a run
INTERRUPTED = 130

# What is made first, and the builtin that is busy.
PROGRAMS = [
    ("", "while true {}"),
    ("let texts = [\"x\" * 1000000 + \"y\", \"x\" * 1000000 + \"z\"]", "sorted(map(fn(i) = texts[i % 2], range(1000000)))"),
    ("let l = [[1]] * 2000000", "for i in 0..100 { [2] in l }"),
    ("let t = \"a\" * 3000000", "for i in 0..1000 { t.replace(\"a\", \"bc\") }"),
    ("let t = \"ab\" * 3000000", "for i in 0..1000 { t.split(\"a\") }"),
    ("let t = \"ab\" * 3000000", "for i in 0..1000 { t.strip(\"ba\") }"),
    ("let t = \"ab\" * 3000000", "for i in 0..1000 { t.upper() }"),
    ("var shared = [1]\nfor i in 0..26 { shared = [shared, shared] }", "len(str(shared))"),
    ("let l = [1.5] * 2000000", "for i in 0..100 { tensor(l) }"),
    ("let a = ones([1500, 1500])", "for i in 0..100 { a @ a }"),
    ("let l = range(3000000)", "for i in 0..100 { sum(map(fn(i) = i, l)) }"),
    ("let l = [\"abc\"] * 1500000", "for i in 0..100 { join(l, \", \") }"),
]


def busy_seconds(process):
    """Returns the processor time of a process so far, of all its threads; None if it has ended."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return None
    return total / 1e9


def wait_until_busy(process, seconds):
    """Waits for some processor time. Returns what it is then; None if the process ended."""
    begin = now = busy_seconds(process)
    while now is not None and now - begin < seconds:
        time.sleep(0.001)
        now = busy_seconds(process)
    return now


def delay_of_script(tsl, made, busy, folder):
    """Returns the processor time after Ctrl-C; None if the script was done before."""
    started = os.path.join(folder, "started")
    command = [tsl, "--device", "cpu", "-e", f'{made}\nwrite_text(args()[0], "")\n{busy}\n', started]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(started):
        time.sleep(0.001)
    os.remove(started)
    before = wait_until_busy(process.pid, BUSY)
    process.send_signal(signal.SIGINT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if before is None or process.returncode == 0:
        return None
    if process.returncode != INTERRUPTED:
        sys.exit(f"{busy} ends with {process.returncode}")
    return usage.ru_utime + usage.ru_stime - before


def delay_at_prompt(terminal, busy):
    """Returns the processor time from Ctrl-C to the next prompt; None if the entry was done before."""
    prompts = terminal.prompts()
    terminal.type(busy + "\r")
    terminal.settle(0.05)  # until the entry is shown
    before = wait_until_busy(terminal.child, BUSY)
    if terminal.prompts() > prompts:
        return None
    terminal.interrupt()
    terminal.wait(lambda: terminal.screen.text_lines()[-1] == ">>>", f"the prompt after {busy}")
    return busy_seconds(terminal.child) - before


def least(measure):
    """Returns the least of some delays; None if the program was done before Ctrl-C each time."""
    delays = []
    for _ in range(RUNS):
        delay = measure()
        if delay is not None:
            delays.append(delay)
            if delay < GRACE:
                break
    return min(delays, default=None)


def main():
    tsl = os.path.abspath(sys.argv[1])
    late, measured = [], 0
    with tempfile.TemporaryDirectory() as folder:
        environment = {"TSL_HISTORY": os.path.join(folder, "history"), "NO_COLOR": "", "LC_ALL": "C"}
        for made, busy in PROGRAMS:
            terminal = Terminal([tsl, "--device", "cpu"], 40, 200, environment, folder)
            terminal.until(">>>")
            for line in made.split("\n"):
                if line:
                    terminal.enter(line)
            delays = {"script": least(lambda: delay_of_script(tsl, made, busy, folder)),
                      "prompt": least(lambda: delay_at_prompt(terminal, busy))}
            terminal.kill()
            for where, delay in delays.items():
                measured += delay is not None
                if delay is not None and delay >= GRACE:
                    late.append(f"{where}: {1000 * delay:.0f} ms: {busy}")
    print(f"{measured} programs interrupted")
    if late or measured < len(PROGRAMS):
        sys.exit("\n".join(["late:"] + late))


if __name__ == "__main__":
    main()
