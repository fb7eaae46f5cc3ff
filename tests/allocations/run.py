"""run.py TSL LIBRARY SCRIPT...: runs each script many times, each time with another allocation that fails.
run.py --host HOST SCRIPT...: the same with a host program of the API, host.cpp.

The program must end as if nothing had happened, or with an error of its own; never by a signal, nor with a report of a
sanitizer. LIBRARY is failing_new.cpp, compiled; it is part of the host.
  TSL_ALLOCATIONS  how many of a script's allocations fail, in turn, drawn at random (default 200), or `all`
  TSL_SCRIPTS      how many of the scripts are run, those that allocate least (default: all)
  TSL_SEED         of what is drawn (default: another one each time, which is printed)
"""
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# The replaced allocation is by malloc; and 1 is the exit code of an error that TSL reports.
LEAKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leaks.txt")  # of libraries
ENVIRONMENT = {"ASAN_OPTIONS": "alloc_dealloc_mismatch=0:exitcode=99",
               "LSAN_OPTIONS": f"suppressions={LEAKS}:print_suppressions=0"}


def run(command, library, number=None):
    env = {**os.environ, **ENVIRONMENT}
    if library:
        env["LD_PRELOAD"] = library
    if number:
        env["TSL_FAIL_ALLOCATION"] = str(number)
    return subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=120)


def count(command, library):
    result = run(command, library)
    found = re.search(r"^allocations: (\d+)$", result.stderr, re.M)
    if result.returncode or not found:
        sys.exit(f"{' '.join(command)} does not run: {result.stderr}")
    return int(found[1]), result.stdout


def outcome(command, library, number, output):
    """How the run ended whose allocation failed: "same", "error", or what went wrong."""
    try:
        result = run(command, library, number)
    except subprocess.TimeoutExpired:
        return "does not end"
    if result.returncode == 0 and result.stdout == output:
        return "same"
    if result.returncode in (0, 1) and "out of memory" in result.stdout + result.stderr:
        return "error"  # of the program, or one that the script has caught
    return f"exit code {result.returncode}: {result.stderr[-3000:]}"


def drawn(numbers):
    wanted = os.environ.get("TSL_ALLOCATIONS", "200")
    if wanted == "all" or int(wanted) >= len(numbers):
        return numbers
    return sorted(random.sample(numbers, int(wanted)))


def writes_files(script):
    with open(script, encoding="utf-8") as file:
        return re.search(r"\b(save|write_text)\(", file.read())


def main():
    if sys.argv[1] == "--host":
        program, *scripts = sys.argv[2:]
        library, command, nothing, empty = None, [program], [], ["/dev/null"]
    else:
        program, library, *scripts = sys.argv[1:]
        command, nothing, empty = [program, "--device", "cpu"], ["-e", "0"], ["-e", "0"]
    seed = os.environ.get("TSL_SEED") or str(random.randrange(10**9))
    random.seed(seed)
    begin = 1 + count([*command, *nothing], library)[0]  # before that, nothing could be reported
    before_scripts = 1 + count([*command, *empty], library)[0]
    counted = [(*count([*command, script], library), script) for script in scripts]
    counted.sort()
    failures = errors = runs = 0
    for end, output, script in counted[: int(os.environ.get("TSL_SCRIPTS", len(counted)))]:
        numbers = drawn(range(begin, end + 1))
        begin = before_scripts  # what is the same for all fails with the first one
        with ThreadPoolExecutor(1 if writes_files(script) else os.cpu_count()) as pool:
            tried = [*command, script]
            for number, ended in zip(numbers, pool.map(lambda n: outcome(tried, library, n, output), numbers)):
                runs += 1
                errors += ended == "error"
                if ended not in ("same", "error"):
                    failures += 1
                    print(f"TSL_FAIL_ALLOCATION={number} {script}: {ended}", flush=True)
    print(f"{runs} runs, {errors} ended in an error of memory, {failures} failed; to repeat it: TSL_SEED={seed}")
    sys.exit(bool(failures or not errors))


if __name__ == "__main__":
    main()
