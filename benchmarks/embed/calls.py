#!/usr/bin/env python3
"""calls.py: what a call costs a program in Python: of TSL, of a function of Python, and of C++ by pybind11 where it is installed.

PYTHONPATH=python TSL_LIBRARY=build/release/libtsl.so benchmarks/embed/calls.py prints a table. Times are processor time of a
turn, the median of rounds in which all take turns.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

import tsl

ROUNDS, TURNS = 9, 20000
SOURCE = """#include <pybind11/pybind11.h>
PYBIND11_MODULE(added, module) { module.def("add", [](double a, double b) { return a + b; }); }
"""


def by_pybind11():
    """Returns a function of C++ that adds, or None without pybind11 or a compiler."""
    try:
        import pybind11
        folder = tempfile.mkdtemp()
        source = pathlib.Path(folder, "added.cpp")
        source.write_text(SOURCE)
        subprocess.run(["c++", "-O3", "-shared", "-fPIC", "-std=c++17", "-I", pybind11.get_include(), "-I", sysconfig.get_path("include"),
                        str(source), "-o", os.path.join(folder, "added" + sysconfig.get_config_var("EXT_SUFFIX"))], check=True)
        sys.path.insert(0, folder)
        import added
        return added.add
    except (ImportError, OSError, subprocess.CalledProcessError):
        return None


def rows():
    engine = tsl.Engine()
    engine.define("plus(a: float, b: float)", lambda a, b: a + b)
    engine.run("fn add(a, b) = a + b\nfn same(x) = x\nfn added(n) { var s = 0.0\nfor i in 0..n { s = plus(s, 1.0) }\nreturn s }")
    add, same, added = map(engine.get, ("add", "same", "added"))
    tensor, one = engine.run("ones([8])"), engine.run("ones([])")
    yield "`add(1.0, 2.0)` of TSL", lambda: add(1.0, 2.0)
    yield "`same(x)` of a tensor", lambda: same(tensor)
    yield "`x.item()`", one.item
    yield "`x + 1.0`", lambda: tensor + 1.0
    yield "a hundred calls of a function of Python by a script", lambda: added(100)
    if "TSL_CTYPES" in os.environ:
        return
    yield "`add(1.0, 2.0)` of Python", lambda: python_add(1.0, 2.0)
    compiled = by_pybind11()
    if compiled:
        yield "`add(1.0, 2.0)` of C++, by pybind11", lambda: compiled(1.0, 2.0)


def python_add(a, b):
    return a + b


def microseconds(function, turns):
    begin = time.process_time()
    for _ in range(turns):
        function()
    return (time.process_time() - begin) / turns * 1e6


def main():
    table = list(rows())
    times = {name: [] for name, _ in table}
    for _ in range(ROUNDS):
        for name, function in table:
            times[name].append(microseconds(function, TURNS // 50 if "hundred" in name else TURNS))
    title = "by ctypes" if "TSL_CTYPES" in os.environ else "µs"
    print(f"| | {title} |\n|---|---|")
    for name, each in times.items():
        print(f"| {name} | {statistics.median(each):.2f} |")
    if "TSL_CTYPES" not in os.environ:
        subprocess.run([sys.executable, __file__], env={**os.environ, "TSL_CTYPES": "1"}, check=True)


if __name__ == "__main__":
    main()
