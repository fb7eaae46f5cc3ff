"""selection.py: prints what the tests of this commit have to run, as assignments for a shell.

    sanitized=yes|no   whether the sanitizers' half runs
    lets=N             how many random functions of many lets run
    turn=K/3           which third of the oracle and of the op matrix runs
    why='...'          the reason, for people

.ci/complete names the last commit whose complete run has passed. If nothing has changed since then that the sanitizers' half
depends on, that half is left out, but for every eighth commit (by its hash) and every merge. Changes that are not committed
count. A file that no pattern of UNSANITIZED matches needs the complete run; so does a history without that commit.
"""
import fnmatch
import subprocess
import sys
from pathlib import Path

# What no test of the sanitizers' half reads. (fnmatch's * includes slashes.)
UNSANITIZED = ("*.md", "docs/*", "benchmarks/*", "examples/*", "stdlib/*", "python/*", "tests/lang/*", "tests/oracle/*",
               "tests/python/*", ".ci/complete", ".ci/stages")
# Where a mistake shows in memory that compiled code shares, which random functions of many lets look for.
SHARING = ("src/tensor/*", "src/graph/*", "src/exec/*", "src/jit/*", "src/backend/*", "tests/support/random_*")
FEW_LETS, MANY_LETS = 250, 600
TURNS = 8          # of complete runs
THIRDS = 3         # of the oracle and the op matrix


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def select(head, parents, changed):
    """Gives what to run for a commit; `changed`: paths since the last complete run, None where that is not known."""
    number = int(head[:8], 16)
    chosen = {"turn": f"{number % THIRDS + 1}/{THIRDS}"}
    everything = changed is None or parents > 1 or number % TURNS == 0
    chosen["lets"] = MANY_LETS if everything or any(matches(path, SHARING) for path in changed) else FEW_LETS
    needing = [] if changed is None else [path for path in changed if not matches(path, UNSANITIZED)]
    chosen["sanitized"] = "yes" if everything or needing else "no"
    if changed is None:
        chosen["why"] = "no complete run is known"
    elif parents > 1:
        chosen["why"] = "a merge"
    elif number % TURNS == 0:
        chosen["why"] = "the turn of this commit"
    elif needing:
        chosen["why"] = f"{needing[0]} has changed" + (f", and {len(needing) - 1} more" if len(needing) > 1 else "")
    else:
        chosen["why"] = "nothing that the sanitizers read has changed"
    return chosen


def git(*arguments):
    result = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return result.stdout.split("\n")[:-1] if result.returncode == 0 else None


def changed_since(commit):
    """Gives the paths that differ from a commit in the working tree; None: it is not in this history."""
    if git("merge-base", "--is-ancestor", commit, "HEAD") is None:
        return None
    differing, untracked = git("diff", "--name-only", "--no-renames", commit), git("ls-files", "--others", "--exclude-standard")
    return None if differing is None or untracked is None else sorted({*differing, *untracked})


def main():
    head = git("rev-parse", "HEAD")
    if not head:
        chosen = select("0", 1, None)
    else:
        complete = Path(".ci/complete")
        commit = complete.read_text().strip() if complete.exists() else ""
        parents = len(git("rev-list", "--parents", "-n", "1", "HEAD")[0].split()) - 1
        chosen = select(head[0], parents, changed_since(commit) if commit else None)
    for name, value in chosen.items():
        print(f"{name}='{value}'")


if __name__ == "__main__":
    sys.exit(main())
