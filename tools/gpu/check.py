"""tools/check --gpu [--minutes N] [--bundle PATH] [--cache PATH] [--state FILE] [--changed FILE...] [--only PATTERN]
[--shards N] [--jobs N] [--seed N] [--list]

Runs what needs a GPU, the most worth first, from what tools/bundle has made, and ends by itself within N minutes (8) with
the line "N passed, N failed, N left". What is left, and what failed, is run by the next call with the same state.

  --bundle PATH   a folder or an archive (default: build/carry/tsl.tar.xz, else build/bundle)
  --cache PATH    compiled kernels: a folder, or an archive of tools/kernels (default: build/carry/kernels.tar.xz if it exists)
  --state FILE    results so far (default: build/check/gpu.json); it is written after each
  --only PATTERN  jobs whose names the pattern matches; --list names all, in order
  --changed FILE  what a change concerns is run first (default: what the bundle's manifest names)
  --shards N      of the 96 shards of the matrix and of derivatives (8): drawn anew for each commit
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import jobs as all_of
import runner
from state import State

ROOT = Path(__file__).parents[2]
CARRY, WORK = ROOT / "build/carry", ROOT / "build/check"
SPARE = 6  # seconds of the time given that nothing runs in


def unpacked(path, name="bundle"):
    """Gives the folder of a bundle or of kernels, which may be an archive: it is extracted once."""
    path = Path(path)
    if path.is_dir():
        return path.resolve()
    folder = WORK / name
    stamp = folder / ".from"
    state = f"{path.stat().st_size} {path.stat().st_mtime_ns}"
    if not stamp.exists() or stamp.read_text() != state:
        if name == "bundle":
            shutil.rmtree(folder, ignore_errors=True)
        extract(path, folder)
        stamp.write_text(state)
    return folder.resolve()


def extract(archive, folder):
    try:
        files = tarfile.open(archive)
    except tarfile.CompressionError:  # a Python without lzma
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
        return
    with files:
        if hasattr(tarfile, "data_filter"):
            files.extractall(folder, filter="tar")
        else:
            files.extractall(folder)


def default_bundle():
    archive = CARRY / "tsl.tar.xz"
    return archive if archive.exists() else ROOT / "build/bundle"


def kernels_in(path):
    """Gives the folder for compiled kernels, and what is known about it: the seed of the random programs of a commit."""
    archive = CARRY / "kernels.tar.xz"
    folder = Path(path or (archive if archive.exists() else WORK / "kernels"))
    folder = unpacked(folder, "kernels") if folder.is_file() else folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in (folder, folder / "kernels"):  # the program takes no kernels from a folder that others may write to
        if each.exists():
            os.chmod(each, 0o700)
    about = folder / "about.json"
    return folder.resolve(), json.loads(about.read_text()) if about.exists() else {}


def manifest_of(folder):
    file = folder / "manifest.json"
    return json.loads(file.read_text()) if file.exists() else {}


def commit_of(manifest):
    """Gives the commit of a bundle, with a digest of what was not committed."""
    return "+".join(filter(None, (manifest.get("commit"), manifest.get("dirty"))))


def seed_for(commit, about):
    """Gives the seed whose kernels were compiled for a commit, else a new one: each commit has other random programs."""
    return about["seed"] if about.get("commit") == commit and about.get("seed") else random.SystemRandom().randrange(1, 1 << 30)


def reporter(state):
    """Prints each result as it comes, and keeps it."""
    def report(job, result, seconds, output):
        state.record(job, result, seconds)
        print(f"{result:7} {seconds:6.1f} s  {job.name}", flush=True)
        if result == "failed":
            settings = " ".join(f"{name}={value}" for name, value in job.environment.items())
            print(f"{runner.tail(output)}\n    to repeat it: {settings} {' '.join(map(repr, job.command))}", flush=True)
        elif result == "skipped":
            reasons = dict.fromkeys(re.findall(r"^skipped: (.*)$", output, re.M))
            print("\n".join("    " + reason for reason in list(reasons)[:3]), flush=True)
    return report


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/check --gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--bundle")
    parser.add_argument("--cache")
    parser.add_argument("--state", default=ROOT / "build/check/gpu.json")
    parser.add_argument("--changed", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(arguments)


def select(bundle, options, manifest, seed):
    """Gives the jobs in their order."""
    changed = options.changed if options.changed is not None else manifest.get("changed", [])
    areas = all_of.touched_areas(changed)
    chosen = all_of.in_order(all_of.all_jobs(bundle, seed, options.shards), areas)
    return areas, [job for job in chosen if not options.only or re.search(options.only, job.name)]


def why_not(bundle, environment):
    """Gives why the bundle's program finds no GPU; "" if it finds one."""
    program = Path(bundle.program("tsl"))
    if not program.exists():
        return ""
    tried = subprocess.run([program, "--device", "cuda", "-e", "0"], cwd=bundle.folder, env={**os.environ, **environment},
                           capture_output=True, text=True)
    return (tried.stdout + tried.stderr).strip() if tried.returncode else ""


def describe(state, manifest, areas, width, jobs, left):
    commit = manifest.get("commit") or "an unknown commit"
    print(f"commit {commit}{', with changes' if manifest.get('dirty') else ''}; {len(jobs)} jobs, {len(left)} to run, "
          f"{width} at a time; seed {state.seed}", flush=True)
    if areas:
        print(f"first what a change since {manifest.get('base', '')[:10]} concerns: {', '.join(sorted(areas))}", flush=True)


def conclude(state, jobs):
    """Prints the last line. Gives the exit status."""
    results = [state.result(job) for job in jobs]
    passed, failed, skipped = (results.count(result) for result in ("passed", "failed", "skipped"))
    left = len(results) - passed - failed - skipped
    state.finish(jobs)
    for job in jobs:
        if state.result(job) == "failed":
            print(f"failed: {job.name}")
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed, {left} left", flush=True)
    return 1 if failed or not passed else 0


def main(arguments):
    begin = time.monotonic()
    options = parse(arguments)
    bundle = all_of.Bundle(unpacked(options.bundle or default_bundle()))
    manifest = manifest_of(bundle.folder)
    kernels, about = kernels_in(options.cache)
    commit = commit_of(manifest)
    seed = options.seed or seed_for(commit, about)
    state = State(options.state, commit, seed)
    areas, jobs = select(bundle, options, manifest, state.seed)
    if options.list:
        print("\n".join(job.name for job in jobs))
        return 0
    machine = runner.this_machine(options.jobs)
    state.data.update(machine=machine.name, of=len(jobs))
    left = [job for job in jobs if not state.is_done(job)]
    environment = {**bundle.environment(), "TSL_CACHE_DIR": str(kernels), "TSL_TEST_NEEDS_NVRTC": "yes"}
    if reason := why_not(bundle, environment):
        print(f"skipped: {reason}")
        return runner.ALL_SKIPPED
    describe(state, manifest, areas, machine.width, jobs, left)
    until = begin + options.minutes * 60 - SPARE
    runner.Runner(machine, bundle.folder, environment, until, reporter(state)).run(left)
    return conclude(state, jobs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
