"""run.py TSL LIBRARY SCRIPT...: runs each script many times, each time with another allocation that fails.
run.py --host HOST SCRIPT...: the same with a host program of the API, host.cpp.

The program must end as if nothing had happened, or with an error of its own; never by a signal. LIBRARY is
failing_new.cpp, compiled; it is part of the host. TSL_ALLOCATIONS is how many of a script's allocations fail, in turn
(default 200).
"""
import os
import re
import subprocess
import sys


def run(command, library, number=None):
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if library:
        env["LD_PRELOAD"] = library
    if number:
        env["TSL_FAIL_ALLOCATION"] = str(number)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def count(command, library):
    result = run(command, library)
    found = re.search(r"^allocations: (\d+)$", result.stderr, re.M)
    if result.returncode or not found:
        sys.exit(f"{' '.join(command)} does not run: {result.stderr}")
    return int(found[1]), result.stdout


def main():
    if sys.argv[1] == "--host":
        program, *scripts = sys.argv[2:]
        library, command, nothing = None, [program], []
    else:
        program, library, *scripts = sys.argv[1:]
        command, nothing = [program, "--device", "cpu"], ["-e", "0"]
    begin = 1 + count([*command, *nothing], library)[0]  # before that, nothing could be reported
    failures = errors = runs = 0
    for script in scripts:
        end, output = count([*command, script], library)
        for number in range(begin, end + 1, max(1, (end - begin) // int(os.environ.get("TSL_ALLOCATIONS", "200")))):
            result = run([*command, script], library, number)
            runs += 1
            if result.returncode == 0 and result.stdout == output:
                continue
            if result.returncode in (0, 1) and "out of memory" in result.stdout + result.stderr:
                errors += 1  # of the program, or one that the script has caught
                continue
            failures += 1
            print(f"TSL_FAIL_ALLOCATION={number} {script}: exit code {result.returncode}: {result.stderr[-300:]}")
    print(f"{runs} runs, {errors} ended in an error of memory, {failures} failed")
    sys.exit(bool(failures or not errors))


if __name__ == "__main__":
    main()
