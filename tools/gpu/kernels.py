"""Fills a cache with the kernels of the jobs of tools/check --gpu, where there is no GPU, and packs it; see tools/kernels."""
import argparse
import io
import json
import lzma
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import check
import jobs as all_of
import runner

ROOT = Path(__file__).parents[2]
NULL = ROOT / "build/check/null"
LIMIT = 900  # seconds of a job; without results, some would wait for ever
# Jobs whose time does not go into kernels, by the start of their names.
LEFT_OUT = ("python", "sharing", "test_backend_cuda: what a profile costs", "test_backend_cuda: the times of long kernels",
            "test_backend_cuda: device memory", "test_jit: out of memory", "test_api")


def worth_filling(jobs):
    return [replace(job, limit=LIMIT) for job in jobs if not job.name.startswith(LEFT_OUT)]


def environment_of(bundle, folder, arch):
    libraries = f"{NULL}:{bundle.environment()['LD_LIBRARY_PATH']}"
    return {"LD_LIBRARY_PATH": libraries, "TSL_CACHE_DIR": str(folder), "TSL_CUPTI": "off",
            "NULL_DRIVER_COMPUTE": arch.removeprefix("sm_")}


def entries(folder):
    """Gives the entries of a cache, the first that was stored first."""
    files = [path for path in (Path(folder) / "kernels").glob("*") if path.is_file() and path.name != "cap"]
    return sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))


def add(archive, name, data, mode):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    archive.addfile(info, io.BytesIO(data))


def add_folder(archive, name):
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o700
    archive.addfile(info)


class Limited(io.RawIOBase):
    """Counts what is written to a file."""

    def __init__(self, file):
        self.file, self.size = file, 0

    def writable(self):
        return True

    def write(self, data):
        self.size += len(data)
        return self.file.write(data)


def pack(folder, to, most, about):
    """Packs the entries that fit into `most` bytes, the first stored first. Gives how many, and of how many."""
    found, taken = entries(folder), 0
    reserve = 1 << 20  # what the compressor may hold back
    new = Path(str(to) + ".new")
    new.parent.mkdir(parents=True, exist_ok=True)
    with open(new, "wb") as file:
        limited = Limited(file)
        with lzma.open(limited, "wb", preset=3) as compressed, tarfile.open(fileobj=compressed, mode="w|") as archive:
            add(archive, "about.json", json.dumps(about).encode(), 0o600)
            add_folder(archive, "kernels")
            pending = 0  # bytes since the compressor last wrote
            for path in found:
                before, data = limited.size, path.read_bytes()
                if limited.size + min(pending + len(data), reserve) > most:
                    break
                add(archive, f"kernels/{path.name}", data, 0o600)
                pending = 0 if limited.size > before else pending + len(data)
                taken += 1
    new.replace(to)
    return taken, len(found)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/kernels", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--most", type=float, default=20, help="MiB")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--bundle")
    parser.add_argument("--cache", default=ROOT / "build/check/kernels")
    parser.add_argument("--to", default=ROOT / "build/carry/kernels.tar.xz")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--changed", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--pack", metavar="FOLDER")
    return parser.parse_args(arguments)


def fill(options, folder, bundle, about):
    """Runs jobs, whatever they say, and notes in the folder which have ended, so that the next call goes on."""
    file = folder / "done.json"
    key = [about["commit"], options.arch, about["seed"]]
    done = json.loads(file.read_text()) if file.exists() else {}
    if done.get("key") != key:
        done = {"key": key, "jobs": []}
    _, jobs = check.select(bundle, options, check.manifest_of(bundle.folder), about["seed"])
    jobs = [job for job in worth_filling(jobs) if job.name not in done["jobs"]]

    def report(job, _, seconds, output):
        done["jobs"].append(job.name)
        file.write_text(json.dumps(done))
        print(f"{seconds:6.1f} s  {len(entries(folder)):6} kernels  {job.name}", flush=True)

    until = time.monotonic() + options.minutes * 60
    ended = runner.Runner(runner.this_machine(options.jobs), bundle.folder, environment_of(bundle, folder, options.arch), until,
                          report).run(jobs)
    print(f"{sum(ended.values())} of {len(jobs)} jobs")


def begin(options, folder):
    """Makes the folder, and fills it. Gives what is known about it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    bundle = all_of.Bundle(check.unpacked(options.bundle or check.default_bundle()))
    commit = check.commit_of(check.manifest_of(bundle.folder))
    about = {"commit": commit, "seed": options.seed or check.seed_for(commit, read(folder)), "arch": options.arch}
    (folder / "about.json").write_text(json.dumps(about))
    fill(options, folder, bundle, about)
    return about


def read(folder):
    file = folder / "about.json"
    return json.loads(file.read_text()) if file.exists() else {}


def main(arguments):
    options = parse(arguments)
    folder = Path(options.pack or options.cache)
    about = read(folder) if options.pack else begin(options, folder)
    taken, found = pack(folder, options.to, int(options.most * (1 << 20)), about)
    size = Path(options.to).stat().st_size / (1 << 20)
    print(f"{options.to}: {taken} of {found} entries, {size:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
