"""Checks that each mistake of tests/mutants.txt can still be made: there is one file of its name, and it changes it.

`tools/check --long mutants` makes each, and runs the tests that must notice it.
"""
import subprocess
import sys
from pathlib import Path


def problem_of(root, mutant):
    """Gives what is wrong with a line of the list, or None."""
    parts = mutant.split(" ;; ")
    if len(parts) != 3:
        return "not FILE ;; EXPRESSION ;; TESTS"
    name, expression, _ = parts
    files = sorted((root / "src").rglob(name))
    if len(files) != 1:
        return f"{len(files)} files in src/ are named {name}"
    text = files[0].read_text()
    changed = subprocess.run(["sed", expression], input=text, capture_output=True, text=True)
    if changed.returncode:
        return changed.stderr.strip()
    return f"changes nothing of {files[0].relative_to(root)}: {expression}" if changed.stdout == text else None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    lines = enumerate((root / "tests/mutants.txt").read_text().splitlines(), 1)
    mutants = [(number, line) for number, line in lines if line and not line.startswith("#")]
    found = [(number, problem) for number, line in mutants if (problem := problem_of(root, line))]
    if not mutants:
        sys.exit("mutants: there are none to check")
    print("\n".join(f"tests/mutants.txt:{number}: {problem}" for number, problem in found) or
          f"mutants: {len(mutants)} change a file each")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
