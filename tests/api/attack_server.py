#!/usr/bin/env python3
"""Attacks examples/embed/server.cpp with scripts that once took a host's time or memory.

  attack_server.py SERVER

Each script runs in a process of its own. It must end within 50 ms of processor time after the service's deadline, and
the process must stay within 160 MiB above what it takes for `1`: the limits are 64 MiB of tensors and 64 of values.
"""
import os
import subprocess
import sys

DEADLINE = 0.5  # of the service, in seconds
GRACE = 0.05
MOST_GROWTH = 160 << 20
RUNS = 10  # the least counts: others may delay a run

SCRIPTS = [
    # Texts and lists under construction.
    'str(["x" * 1000000] * 3000)',
    'repr(["x" * 1000000] * 3000)',
    'print(["x" * 1000000] * 3000)',
    '["x" * 1000000] * 3000',  # the service asks for its text
    'let s = ["x" * 1000000] * 3000\nf"{s}"',
    'join(["x" * 1000000] * 3000, ",")',
    '("a" * 10000).replace("a", "x" * 300000)',
    'error(["x" * 1000000] * 3000)',
    'var t = "ab"\nwhile true { t = t + t }',
    'var l = [0]\nwhile true { l = l + l }',
    # Names that a script makes.
    'var r = {}\nvar i = 0\nwhile true { i += 1\nr["x" * 1000 + str(i)] = i }',
    'var i = 0\nwhile true { i += 1\nhas({a: 1}, "x" * 10000 + str(i)) }',
    # Builtins that are busy for long.
    '("a" * 10000000).strip("b" * 10000000 + "a")',
    '("a" * 2000000).replace("a" * 1000000 + "b", "c")',
    '("a" * 2000000).split("a" * 1000000 + "b")',
    '"a" * 500000 + "b" in "a" * 1000000',
    'let texts = ["x" * 1000000 + "y", "x" * 1000000 + "z"]\nsorted(map(fn(i) = texts[i % 2], range(100000)))',
    '5 in [["x" * 1000000]] * 3000000',
    'var shared = [1]\nfor i in 0..30 { shared = [shared, shared] }\nshared == shared + []\nstr(shared)',
    # Loops, calls and errors.
    "while true {}",
    "try { while true {} } catch e { 0 }",
    "while true { try { error(1) } catch e { } }",
    "fn deep(n) = deep(n + 1) + 1\ndeep(0)",
    "fn deep(n) = map(fn(i) = deep(i), [n])\ndeep(0)",
    'while true { print("x" * 10000) }',
    # Tensors.
    "zeros([1000000000])",
    "map(fn(i) = ones([1000000]) * i, range(100))",
    "let a = ones([2000, 2000])\nwhile true { a @ a }",
    "cumsum(ones([4000, 4000]), axis: 0)",
    "let a = expand(ones([1, 1, 1]), [8000000, 1, 1])\na @ a",  # a batch of many small matrices
    "let a = expand(ones([1, 1, 1, 1]), [2000, 4000, 1, 1])\na @ a",
    "@compile\nfn f(a) = a @ a\nlet a = expand(ones([1, 1, 1]), [8000000, 1, 1])\nfor i in 0..3 { f(a) }",
    "vmap(fn(x) = x @ x)(expand(ones([1, 1, 1]), [8000000, 1, 1]))",
    "qr(expand(ones([1, 1, 1]), [4000000, 1, 1]))",
    "fft(ones([2999999]))",
    "rfft(ones([3000001]))",
    "conv(ones([3000000, 1, 1]), ones([1, 1, 1]))",
    "grad(fn(w) = sum(conv(ones([1, 1, 1000000]), w)))(ones([1, 1, 500000]))",
    "str(expand(ones([1]), [16000000]), full: true)",
    "@compile\nfn f(x) { var s = []\nfor i in 0..100000 { s += [x[i:i + 1]] }\nreturn concat(s) }\nf(ones([100000]))",
    # LAPACK, which does not begin what it could not end in time.
    "svd(ones([1000, 700]))",
    "eig(ones([1200, 1200]))",
    "qr(ones([1500, 1500]))",
    "pinv(ones([1000, 1000]))",
    "expm(ones([1000, 1000]))",
    "matrix_power(ones([1000, 1000]), 10 ** 18)",
    # Many parts.
    "array_split(arange(10), 9223372036854775807)",
    "chunk(expand(ones([1]), [10000000]), 9223372036854775807)",
    "unstack(expand(ones([1]), [16000000]))",
    "map(fn(i) = i, 0..9223372036854775807)",
    "list(0..10 ** 18)",
    # Functions of functions, and values that are deep or shared.
    "fn f(x) = grad(f)(x)\nf(ones([2]))",
    "fn f(x) = vjp(f, x)\nf(ones([2]))",
    "fn f() { try { return f() } catch e { return f() } }\nf()",
    "var f = fn(x) = x\nfor i in 0..200000 { let g = f\nf = fn(x) = g(x) }\nf = nil",
    "var l = [1]\nfor i in 0..60 { l = [l, l] }\ngrad(fn(x) = sum(x))(l)",
    "var l = []\nfor i in 0..900000 { l = [l] }\nl = nil",
    "var m = dict([])\nfor i in 0..300000 { m[i] = m }\nstr(m)",
    'from_json("{" + join(map(fn(i) = f"\\"k{i}\\": {i}", 0..200000), ",") + "}")',
    # Sources.
    'f"' + "{1}" * 20000 + '"',
    "let (" + "a," * 30000 + ") = 1",
    "f(" + ",".join(f"a{i}: 1" for i in range(6000)) + ")",
    "a." * 30000 + "b",
    "(\n" * 900 + "\n" * 60000,
    "(" * 30000,
    "x = 1\n" * 10000,
    "fn f(n) = n\n" * 5000 + "f(1)",
    "let x = (",
]


def cost(server, script):
    """Runs a script, and returns the processor time and the peak of memory of its process."""
    process = subprocess.Popen([server, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        process.stdin.write(script.encode())
        process.stdin.close()
    except BrokenPipeError:
        pass
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"{script[:200]}\nends the service with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def main():
    server = os.path.abspath(sys.argv[1])
    baseline = [cost(server, "1") for _ in range(RUNS)]
    start_time = min(seconds for seconds, _ in baseline)
    start_bytes = max(peak for _, peak in baseline)
    late, large = [], []
    latest = largest = 0
    for script in SCRIPTS:
        for _ in range(RUNS):
            seconds, peak = cost(server, script)
            if seconds - start_time < DEADLINE + GRACE:
                break
        latest = max(latest, seconds - start_time - DEADLINE)
        largest = max(largest, peak - start_bytes)
        if seconds - start_time >= DEADLINE + GRACE:
            late.append(f"{seconds - start_time:.3f} s: {script[:200]}")
        if peak - start_bytes >= MOST_GROWTH:
            large.append(f"{(peak - start_bytes) >> 20} MiB: {script[:200]}")
    print(f"{len(SCRIPTS)} scripts: {1000 * latest:.0f} ms after the deadline at most, {largest >> 20} MiB at most")
    if late or large:
        sys.exit("\n".join(["late:"] * bool(late) + late + ["too large:"] * bool(large) + large))


if __name__ == "__main__":
    main()
