"""Measures what TSL costs: instructions on the host, kernels, and their texts."""
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compare import Costs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "benchmarks/gpu"))
import host_cost  # noqa: E402

# Paths of the CPU's host side, in rows.tsl, with a number of turns; they are run again with twice as many.
CPU_ROWS = {
    "eager_op": 500, "host_read": 500, "compiled_call": 500, "guarded_call": 100, "interpreted_loop": 2000, "function_call": 1000,
    "builtin_call": 1000, "list_push": 1000, "text_format": 500, "gradient": 30,
}
CUDA_ROWS = {"toy": 500, "adam_100x1000": 200, "adam_symbolic": 200, "third_shape": 31}  # of host_cost.tsl
# Functions of which a program has a number, and what the program is run with.
FUNCTION = """fn f{n}(x, y) {{
  var sum = 0
  for i in 0..10 {{ if i > x {{ sum += i * y }} }}
  return {{sum, y: [x, y]}}
}}
"""
PARSED = (FUNCTION, ["--check"])
COMPILED = ("@compile fn f{n}(x) = sum(exp(x) * {n}.0) + max(x)\nf{n}(ones([4, 4]))\n", [])
TEXT_ROWS = {"parse_function": (PARSED, 100), "trace_and_compile": (COMPILED, 10)}
LONGEST_NAME = 110

# Scripts with what follows them on the command line. Of `timed` ones the launches depend on the clock.
CASES = {
    "fma": ["examples/fma.tsl"], "image_filter": ["examples/image_filter.tsl"], "digits": ["examples/digits.tsl"],
    "digits_cnn": ["examples/digits_cnn.tsl", "1"], "text_model": ["examples/text_model.tsl", "2"], "adam200": ["benchmarks/adam200.tsl"],
}
CUDA_CASES = {
    "adam_symbolic": ["benchmarks/gpu/host_cost.tsl", "adam_symbolic", "2"],
    "third_shape": ["benchmarks/gpu/host_cost.tsl", "third_shape", "3"],
    "launch_bound": ["benchmarks/gpu/launch_bound.tsl"], "pointwise": ["benchmarks/gpu/pointwise.tsl"],
    "reductions": ["benchmarks/gpu/reductions.tsl"], "rows": ["benchmarks/gpu/rows.tsl"], "training": ["benchmarks/gpu/training.tsl"],
}
TIMED = {"launch_bound", "pointwise", "reductions", "rows", "training"}
NO_CUDA = "the program has no CUDA backend"


def line_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def machine(build):
    """Describes what instruction counts depend on. Valgrind shows programs a processor without AVX-512."""
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M))
    compiler = line_of([cache["CMAKE_CXX_COMPILER"], "--version"])
    flags = set(re.findall(r"\b(?:avx2|fma|bmi2)\b", Path("/proc/cpuinfo").read_text().split("\n\n")[0]))
    libc = "-".join(platform.libc_ver())
    parts = [compiler, cache["CMAKE_BUILD_TYPE"], libc, line_of(["valgrind", "--version"]), platform.machine(), "+".join(sorted(flags))]
    return ", ".join(part for part in parts if part)


class Measurement:
    """`folder` is for its files; `libraries` are those of the driver, NVRTC and cuBLASLt that compute nothing; may be empty."""

    def __init__(self, tsl, folder, libraries):
        self.tsl, self.folder, self.libraries = Path(tsl).resolve(), Path(folder).resolve(), libraries
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.folder / "kernels", ignore_errors=True)  # each run generates them
        self.costs = Costs()
        self.skipped = {}  # reason: rows

    def environment(self):
        libraries = [str(Path(folder).resolve()) for folder in self.libraries] + [os.environ.get("LD_LIBRARY_PATH", "")]
        return dict(os.environ, LD_LIBRARY_PATH=":".join(filter(None, libraries)), TSL_CACHE_DIR=str(self.folder / "kernels"),
                    TSL_LOG="")

    # ---- Instructions ----

    def count_row(self, row, arguments_of, turns):
        """`arguments_of(n)` are the program's for n turns."""
        few, many = (self.count(row, n, arguments_of(n)) for n in (turns, 2 * turns))
        functions = {f: (many.get(f, 0) - few.get(f, 0)) / turns for f in {*few, *many}}
        short = {}
        for name, of in functions.items():
            key = re.sub(r"\s+", " ", name)[:LONGEST_NAME].strip()
            short[key] = short.get(key, 0) + of
        self.costs.instructions[row] = (round(sum(functions.values()), 1), {f: round(of, 1) for f, of in short.items()})

    def count(self, row, turns, arguments):
        out = self.folder / f"callgrind.{row.replace('/', '.')}.{turns}"
        command = [self.tsl, "--threads", "1", "--warn", "off", "--seed", "1", *arguments]
        return host_cost.count([str(part) for part in command], str(out), self.environment())

    def count_instructions(self, build, rows):
        if not shutil.which("valgrind"):
            self.skipped["there is no valgrind"] = len(rows)
            return
        self.costs.machine = machine(build)
        jobs = []
        for row in rows:
            device, name = row.split("/")
            if device == "cuda" and not self.libraries:
                self.skipped[NO_CUDA] = self.skipped.get(NO_CUDA, 0) + 1
            elif device == "text":
                jobs.append((row, lambda n, name=name: self.text_of(name, n), TEXT_ROWS[name][1]))
            elif device == "cuda":
                script = ROOT / "benchmarks/gpu/host_cost.tsl"
                jobs.append((row, lambda n, name=name: ["--device", "cuda", script, name, n], CUDA_ROWS[name]))
            else:
                jobs.append((row, lambda n, name=name: ["--device", "cpu", HERE / "rows.tsl", name, n], CPU_ROWS[name]))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for future in [pool.submit(self.count_row, *job) for job in jobs]:
                future.result()

    def text_of(self, name, count):
        (text, arguments), _ = TEXT_ROWS[name]
        script = self.folder / f"{name}.{count}.tsl"
        script.write_text("".join(text.format(n=n) for n in range(count)))
        return ["--device", "cpu", *arguments, script]

    # ---- Kernels ----

    def dump_of(self, case):
        return self.folder / "dumps" / case.replace("/", ".")

    def read_kernels(self, case):
        device, name = case.split("/")
        dump = self.dump_of(case)
        shutil.rmtree(dump, ignore_errors=True)
        dump.parent.mkdir(parents=True, exist_ok=True)
        script = {**CASES, **CUDA_CASES}[name]
        command = [self.tsl, "--device", device, "--dump", dump, "--warn", "off", "--seed", "1", *script]
        run = subprocess.run(command, cwd=ROOT, env=self.environment(), capture_output=True, text=True)
        if device == "cpu" and run.returncode != 0:  # on a driver that computes nothing, scripts fail that look at results
            raise RuntimeError(f"{case} failed:\n{run.stderr}")
        launched = re.search(r"(\d+) kernels launched", (dump / "explain.txt").read_text())
        self.costs.launched[case] = None if name in TIMED else int(launched[1])
        for name, folder, plan in specialisations_of(dump):
            symbols = [kernel["symbol"] for kernel in plan.get("loaded", [])]
            kernels = [(symbol.replace(" ", "_"), digest_of(folder / "kernels", symbol)) for symbol in symbols]
            if kernels:
                self.costs.kernels[case, name] = kernels

    def read_all_kernels(self, cases):
        wanted = [case for case in cases if self.libraries or not case.startswith("cuda/")]
        if len(wanted) < len(cases):
            self.skipped[NO_CUDA] = self.skipped.get(NO_CUDA, 0) + len(cases) - len(wanted)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.read_kernels, wanted))
        self.costs.launched = {case: count for case, count in self.costs.launched.items() if count is not None}
        return wanted


def specialisations_of(dump):
    """Returns the name, the folder and the plan of each specialisation in a dump: "step.12.0" is that of step:12#0."""
    plans = [(file.parent, json.loads(file.read_text())) for file in sorted(dump.glob("*/plan.json"))]
    return [(re.sub("[^A-Za-z0-9_]", ".", plan["specialisation"]), folder, plan) for folder, plan in plans]


def folder_of(dump, name):
    """Returns the folder of a specialisation in a dump."""
    return next((folder for each, folder, _ in specialisations_of(dump) if each == name), dump / name)


def digest_of(folder, symbol):
    """Returns the digest of a kernel's text; "-": it has none."""
    text = text_of_kernel(folder, symbol)
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else "-"


def text_of_kernel(folder, symbol):
    """Reads a kernel's text, without its prelude, and without comments, which name lines of the script. In kernel IR, buffers
    and symbols are numbered anew by their first use, since their numbers depend on other kernels."""
    for suffix in ("cu", "txt"):
        file = folder / f"{symbol}.{suffix}"
        if not file.exists():
            continue
        text = file.read_text().split(f"\n// {symbol}\n", 1)[-1]
        text = "\n".join(line for line in text.splitlines() if line and not line.startswith("//"))
        if suffix == "cu":
            return text
        numbers = {"b": {}, "s": {}}
        return re.sub(r"\b([bs])(\d+)\b", lambda m: m[1] + str(numbers[m[1]].setdefault(m[2], len(numbers[m[1]]))), text)
    return ""


def all_rows():
    return [f"cpu/{row}" for row in CPU_ROWS] + [f"text/{row}" for row in TEXT_ROWS] + [f"cuda/{row}" for row in CUDA_ROWS]


def all_cases():
    return [f"cpu/{case}" for case in CASES] + [f"cuda/{case}" for case in {**CASES, **CUDA_CASES}]
