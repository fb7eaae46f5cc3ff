"""What the jobs of tools/check --gpu have given so far, in a file that the next call goes on from."""
import json
import os
import time
from pathlib import Path

DONE = ("passed", "failed", "skipped")


class State:
    """Results belong to a commit: those of another one are dropped. `file`: none, if nothing is kept."""

    def __init__(self, file, commit, seed):
        self.file = Path(file) if file else None
        self.data = {"commit": commit, "seed": seed, "date": "", "machine": "", "passed_commit": "", "jobs": {}}
        before = read(self.file)
        self.data["passed_commit"] = before.get("passed_commit", "")
        if before.get("commit") == commit and commit:
            self.data.update(before)

    @property
    def seed(self):
        """What random programs and drawn shards come from: the same until all jobs of a commit have run."""
        return self.data["seed"]

    def result(self, job):
        return self.data["jobs"].get(job.name, {}).get("result", "")

    def is_done(self, job):
        """Whether a job need not be run again. A job that failed is run again, since it may have been mended."""
        return self.result(job) in ("passed", "skipped")

    def record(self, job, result, seconds):
        self.data["jobs"][job.name] = {"result": result, "seconds": round(seconds, 1)}
        self.write()

    def finish(self, jobs):
        """Notes that a commit has passed, if each of the jobs has."""
        if self.data["commit"] and jobs and all(self.is_done(job) for job in jobs):
            self.data["passed_commit"] = self.data["commit"]
        self.write()

    def write(self):
        """Writes the whole file under another name and renames it, so that a call that is killed leaves all or nothing."""
        if not self.file:
            return
        self.data["date"] = time.strftime("%Y-%m-%d", time.gmtime())
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_name(self.file.name + ".new")
        new.write_text(json.dumps(self.data, indent=1))
        os.replace(new, self.file)


def read(file):
    """Gives what a file has; nothing if there is none, or if it is damaged."""
    try:
        data = json.loads(Path(file).read_text())
        return data if isinstance(data, dict) and isinstance(data.get("jobs"), dict) else {}
    except (OSError, ValueError, TypeError):
        return {}
