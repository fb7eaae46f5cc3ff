#!/usr/bin/env python3
"""Measures rows of the table in one framework; run.py starts it, a process for each framework.

    peer.py torch|compile|reduce|jax|copy [--scale S] [--seconds S] ROW…

Prints a line of JSON when a row begins and one when it ends. A framework is a class with prepare(row), which gives a
function that does the work once, wait(result), which waits for the device, release(), which gives memory back, and
compiled_fma(), which gives a function of three vectors, and vectors(n), which gives them.
"""

import argparse
import json
import statistics
import time

# Equal to those of timing.tsl.
BATCHES = 11
BATCH_SECONDS = 0.02
MOST_CALLS = 200

# The median over several sizes is reported.
FIRST_CALLS = {"first_fma": [1000], "second_shape": [2000], "third_shape": range(3000, 12000, 1000)}


def timed(call, wait, n):
    """Returns (seconds until n calls have returned, seconds until the device has finished)."""
    begin = time.perf_counter()
    for _ in range(n - 1):
        call()
    result = call()
    returned = time.perf_counter()
    wait(result)
    return returned - begin, time.perf_counter() - begin


def measure(call, wait):
    first = timed(call, wait, 1)[1]
    timed(call, wait, 5)
    trial = timed(call, wait, 3)[1] / 3
    n = min(max(int(BATCH_SECONDS / trial), 5), MOST_CALLS)
    batches = [timed(call, wait, n) for _ in range(BATCHES)]
    hosts, devices = zip(*batches)
    return {"first": first, "host": statistics.median(hosts) / n, "device": statistics.median(devices) / n}


def first_calls(peer):
    """Times a compiled function in a new process, then other sizes of its arguments."""
    fma = peer.compiled_fma()
    for row, sizes in FIRST_CALLS.items():
        times = []
        for n in sizes:
            vectors = peer.vectors(n)
            peer.wait(vectors)
            times.append(timed(lambda: fma(*vectors), peer.wait, 1))  # noqa: B023, called before the next turn
        hosts, wholes = zip(*times)
        yield row, {"host": statistics.median(hosts), "first": statistics.median(wholes)}


def open_peer(name, scale):
    if name == "jax":
        from jax_peer import Jax

        return Jax(scale)
    from torch_peer import Torch

    return Torch({"torch": None, "copy": None, "compile": "default", "reduce": "reduce-overhead"}[name], scale)


def say(**line):
    print(json.dumps(line), flush=True)


def measure_row(peer, row):
    say(begins=row)
    try:
        say(row=row, **measure(peer.prepare(row), peer.wait))
    except Exception as error:  # whatever a framework raises: the next row may do
        say(row=row, error=f"{type(error).__name__}: {error}"[:500])
    peer.release()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=["torch", "compile", "reduce", "jax", "copy"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=480, help="no row begins later")
    parser.add_argument("rows", nargs="*")
    options = parser.parse_intermixed_args()
    begin = time.perf_counter()
    peer = open_peer(options.peer, options.scale)
    say(version=peer.version)
    if set(options.rows) & set(FIRST_CALLS):
        for row, times in first_calls(peer):
            say(row=row, **times)
        return
    for row in options.rows:
        if time.perf_counter() - begin > options.seconds:
            say(row=row, error="no time left")
        else:
            measure_row(peer, row)


if __name__ == "__main__":
    main()
