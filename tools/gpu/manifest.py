"""manifest.py base STATE: the last commit that passed on a GPU, by that file; nothing if there is none.
manifest.py write FOLDER BASE: FOLDER/manifest.json says what the bundle in FOLDER is from; standard input names the files
that differ from the commit BASE, one a line."""
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

from state import read


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def is_commit(name):
    return bool(name) and subprocess.run(["git", "cat-file", "-e", name + "^{commit}"], capture_output=True).returncode == 0


def passed_commit(state):
    """Gives the commit that passed last, if the repository has it."""
    commit = read(state).get("passed_commit", "")
    return commit if is_commit(commit) else ""


def changes_of_tree():
    """Gives a digest of what is not committed; "" if all is."""
    if not git("status", "--porcelain"):
        return ""
    untracked = git("ls-files", "--others", "--exclude-standard").splitlines()
    digest = hashlib.sha1(git("diff", "HEAD").encode())
    for name in untracked:
        digest.update(name.encode() + b"\0" + Path(name).read_bytes())
    return digest.hexdigest()[:10]


def describe(folder, base, changed):
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in sorted(Path(folder).rglob("*")) if path.is_file()}
    return {"commit": git("rev-parse", "HEAD"), "dirty": changes_of_tree(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "base": base, "changed": changed, "files": sizes}


def main(arguments):
    if arguments[0] == "base":
        print(passed_commit(arguments[1]))
        return 0
    folder, base = arguments[1:]
    manifest = describe(Path(folder), base, [line.strip() for line in sys.stdin if line.strip()])
    Path(folder, "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
