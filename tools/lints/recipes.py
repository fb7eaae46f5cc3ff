"""Checks the recipes of tests/recipes/, patches that each add one thing to TSL as CONTRIBUTING.md says.

Each applies to this tree alone, all apply together in the order of their names, and none touches more files than it
may. `tools/check --long recipes` builds and tests a copy with all of them. For dtypes there is no patch, since TSL has
those of each kind: the files that name one are counted.
"""
import re
import subprocess
import sys
from pathlib import Path

# The most files of a recipe: implementation, documentation and tests.
MOST_FILES = {"builtin": 3, "gpu_option": 3, "reduction": 5, "unary_op": 3}
# The most files of src/ of a recipe, which has documentation and tests besides.
MOST_SOURCES = {"composed_op": 2, "cuda_kernel": 3, "device_fact": 3, "ordered_op": 4, "provider": 2, "with_library_op": 6}
# A recipe of these adds a folder, tests, and one line elsewhere.
ADDS_FOLDER = {"stub_backend": "src/backend/stub/"}
# Names a dtype of a kind that has others: the files of the program and its borders that do so change for the next one.
DTYPE, MOST_FILES_OF_DTYPE = re.compile(r"\bu16\b|_U16\b"), 20


def git_apply(root, option, patches):
    """Runs git apply on patches, as one text: each is checked on top of those before it."""
    text = "\n".join(patch.read_text() for patch in patches)
    return subprocess.run(["git", "apply", option, "-"], cwd=root, input=text, capture_output=True, text=True)


def changes_of(root, patch):
    """Gives {file: (lines added, lines removed)}."""
    changes = {}
    for line in git_apply(root, "--numstat", [patch]).stdout.splitlines():
        added, removed, name = line.split("\t")
        changes[name] = (int(added), int(removed))
    return changes


def problems_of(root, patch):
    name, changes = patch.stem, changes_of(root, patch)
    applied = git_apply(root, "--check", [patch])
    if applied.returncode:
        return [f"does not apply: {applied.stderr.strip()}"]
    if name in MOST_FILES:
        most = MOST_FILES[name]
        return [f"{len(changes)} files, and {most} are the most"] if len(changes) > most else []
    if name in MOST_SOURCES:
        most, sources = MOST_SOURCES[name], sum(file.startswith("src/") for file in changes)
        return [f"{sources} files of src/, and {most} are the most"] if sources > most else []
    if name in ADDS_FOLDER:
        folder = ADDS_FOLDER[name]
        outside = {file: lines for file, lines in changes.items() if not file.startswith((folder, "tests/"))}
        if len(outside) == 1 and all(lines in ((1, 0), (1, 1)) for lines in outside.values()):
            return []
        return [f"not one line outside of {folder} and tests/: {', '.join(outside) or 'none'}"]
    return ["tools/lints/recipes.py has no limit for it"]


def files_of_dtype(root):
    """Gives the files that name the dtype."""
    folders = [root / folder for folder in ("src", "include", "stdlib", "python")]
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return [str(file.relative_to(root)) for file in files if DTYPE.search(file.read_text(errors="replace"))]


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    patches = sorted((root / "tests/recipes").glob("*.patch"))
    problems = [f"{patch.relative_to(root)}: {what}" for patch in patches for what in problems_of(root, patch)]
    missing = {*MOST_FILES, *MOST_SOURCES, *ADDS_FOLDER} - {patch.stem for patch in patches}
    problems += [f"tests/recipes/{name}.patch: does not exist" for name in sorted(missing)]
    if not problems:
        together = git_apply(root, "--check", patches)
        if together.returncode:
            problems.append(f"tests/recipes: do not apply together: {together.stderr.strip()}")
    files = files_of_dtype(root)
    if len(files) > MOST_FILES_OF_DTYPE:
        problems.append(f"{len(files)} files name a dtype, and {MOST_FILES_OF_DTYPE} are the most: {', '.join(files)}")
    print("\n".join(problems) or
          f"recipes: {len(patches)} apply, alone and together; {len(files)} files name a dtype")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
