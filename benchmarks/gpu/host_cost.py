#!/usr/bin/env python3
"""Counts the instructions that a warm call takes on the host, without a GPU: valgrind's callgrind runs host_cost.tsl with two numbers
of calls on a driver that does nothing (null_driver.cpp), and the difference is divided by theirs. Needs valgrind, a C++ compiler,
NVRTC and CUDA's headers ($CUDA_HOME, else /usr/local/cuda)."""
import argparse
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The first of the two numbers of calls; the second is twice as many. A region keeps plans for 64 sizes.
ROWS = {"toy": 2000, "adam_100x1000": 2000, "adam_symbolic": 1000, "third_shape": 31}
MOST_FUNCTIONS = 8


def build_driver(folder):
    include = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O2", "-shared", "-fPIC", "-I" + include]
    subprocess.run(command + [os.path.join(HERE, "null_driver.cpp"), "-o", os.path.join(folder, "libcuda.so.1")], check=True)


def self_costs(profile):
    """Returns the instructions of each function, without those of its callees."""
    text = subprocess.run(["callgrind_annotate", "--threshold=100", profile], check=True, capture_output=True, text=True).stdout
    costs = {}
    for count, function in re.findall(r"^ *([\d,]+) \([^)]*\)  \S*?:(.*?)(?: \[.*)?$", text, re.M):
        costs[function] = costs.get(function, 0) + int(count.replace(",", ""))
    return costs


def count(command, out, environment):
    """Runs a command twice, the second time counting: kernels that it compiles are kept on disk by the first one."""
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    callgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]
    subprocess.run(callgrind + command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return self_costs(out)


def profile(tsl, row, calls, folder):
    script = [tsl, "--device", "cuda", os.path.join(HERE, "host_cost.tsl"), row, str(calls)]
    environment = dict(os.environ, TSL_CACHE_DIR=os.path.join(folder, "kernels"))
    environment["LD_LIBRARY_PATH"] = folder + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    return count(script, os.path.join(folder, f"{row}.{calls}"), environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tsl", required=True, help="the program")
    parser.add_argument("rows", nargs="*", default=list(ROWS), metavar="ROW", help=", ".join(ROWS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build_driver(folder)
        for row in options.rows:
            calls = ROWS[row]
            few, many = (profile(options.tsl, row, n, folder) for n in (calls, 2 * calls))
            costs = {f: (many[f] - few.get(f, 0)) / calls for f in many}
            print(f"{row}: {sum(costs.values()):,.0f} instructions a call")
            for function in sorted(costs, key=costs.get, reverse=True)[:MOST_FUNCTIONS]:
                print(f"  {costs[function]:8,.0f}  {function[:110]}")


if __name__ == "__main__":
    main()
