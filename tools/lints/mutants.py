"""Checks that each mistake of tests/mutants/*.txt can still be made: its line is in its file.

`tools/check --long mutants` makes each, and runs the tests that must notice it.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/mutants"))
import lists


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    try:
        problems, count = lists.lint(root / "src", root / "tests/mutants")
    except lists.ListError as error:
        sys.exit(f"tests/mutants/{error}")
    print("\n".join(problems) or f"mutants: {count} can be made")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
