"""run.py TSL LIBRARY SCRIPT...: runs each script many times, each time with another allocation that fails.

The program must end as if nothing had happened, or with an error of its own; never by a signal. LIBRARY is
failing_new.cpp, compiled. TSL_ALLOCATIONS is how many of a script's allocations fail, in turn (default 200).
"""
import os
import re
import subprocess
import sys


def run(program, library, script, number=None):
    env = {**os.environ, "LD_PRELOAD": library, "OPENBLAS_NUM_THREADS": "1"}
    if number:
        env["TSL_FAIL_ALLOCATION"] = str(number)
    return subprocess.run([program, "--device", "cpu", *script], env=env, capture_output=True, text=True, timeout=300)


def count(program, library, script):
    result = run(program, library, script)
    found = re.search(r"^allocations: (\d+)$", result.stderr, re.M)
    if result.returncode or not found:
        sys.exit(f"{script} does not run: {result.stderr}")
    return int(found[1]), result.stdout


def main():
    program, library, *scripts = sys.argv[1:]
    begin = count(program, library, ["-e", "0"])[0]  # before that, nothing could be reported
    failures = errors = runs = 0
    for script in scripts:
        end, output = count(program, library, [script])
        for number in range(begin, end, max(1, (end - begin) // int(os.environ.get("TSL_ALLOCATIONS", "200")))):
            result = run(program, library, [script], number)
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
