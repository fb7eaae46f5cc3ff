#!/usr/bin/env python3
"""Kills programs that save. The file is then the old one or a new one, whole, and the next save removes what was left.

  killed_saves.py TSL [--moments N]   N: how often a program of each format is killed (default 5)

Where strace can trace, also checks the order that a loss of power asks for: the file reaches the disk before it gets
its name, and the folder after that.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

# Format, what saves the number i, and what loads a tensor again.
FORMATS = [
    ("npy", "save(path, full([300_000], i, dtype: f32))", "load(path)"),
    ("npz", "save(path, {x: full([300_000], i, dtype: f32)})", "load(path).x"),
    ("safetensors", "save(path, {x: full([300_000], i, dtype: f32)})", "load(path).x"),
    ("json", "save(path, full([10_000], i, dtype: f32))", "tensor(load(path))"),
    ("txt", 'write_text(path, join(map(fn(k) = str(i), range(20_000)), " "))',
     'tensor(map(fn(t) = float(t), split(read_text(path), " ")))'),
]
LONGEST = 0.08  # seconds after the first save at which a program is killed


def programs(save, load):
    start = "let path = args()[0]\n"
    writer = start + f'var i = 0\n{save}\nwrite_text(path + ".started", "")\nwhile true {{\n  i += 1\n  {save}\n}}\n'
    reader = start + f"let x = {load}\nassert((x == x[0]).all().item() and x.shape[0] >= 10_000)\n"
    return writer, reader, start + f"let i = 1\n{save}\n"


def temporaries(folder):
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def kill_at_a_moment(tsl, writer, path):
    started = path + ".started"
    process = subprocess.Popen([tsl, "-e", writer, path])
    while not os.path.exists(started):
        if process.poll() is not None:
            sys.exit(f"the writer ended with {process.returncode}")
        time.sleep(0.001)
    time.sleep(random.uniform(0, LONGEST))
    process.kill()
    process.wait()
    os.remove(started)


def check_format(tsl, folder, moments, name, save, load):
    writer, reader, once = programs(save, load)
    path = os.path.join(folder, "x." + name)
    left_behind = 0
    for _ in range(moments):
        kill_at_a_moment(tsl, writer, path)
        left_behind += len(temporaries(folder))
        subprocess.run([tsl, "-e", reader, path], check=True)
    subprocess.run([tsl, "-e", once, path], check=True)
    if temporaries(folder):
        sys.exit(f"{name}: {temporaries(folder)} is left")
    print(f"{name}: {moments} kills, {left_behind} of them with a file half written")
    return once, path


def check_order(tsl, name, once, path):
    """Compares the calls of one save with the order that a loss of power asks for."""
    log = path + ".strace"
    command = ["strace", "-f", "-y", "-o", log, "-e", "trace=fsync,rename,renameat,renameat2"]
    try:
        traced = subprocess.run(command + [tsl, "-e", once, path], capture_output=True)
    except FileNotFoundError:
        return False
    if traced.returncode != 0:
        return False
    with open(log, encoding="utf-8") as file:
        calls = re.findall(r"\b(fsync|rename)\w*\((.*)", file.read())
    os.remove(log)
    base = os.path.basename(path)
    order = [call for call, arguments in calls if base in arguments or call == "fsync"]
    if order != ["fsync", "rename", "fsync"]:
        sys.exit(f"{name}: a save calls {order}")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tsl")
    parser.add_argument("--moments", type=int, default=5)
    options = parser.parse_args()
    tsl = os.path.abspath(options.tsl)
    traced = True
    for name, save, load in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            once, path = check_format(tsl, folder, options.moments, name, save, load)
            traced = traced and check_order(tsl, name, once, path)
    print("the order of calls: " + ("as it must be" if traced else "not checked, since strace cannot trace here"))


if __name__ == "__main__":
    main()
