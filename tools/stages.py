"""stages.py MEASURED LAST: prints how long each stage of a run took, beside the last run's.

Both files have a line a stage: its name, seconds of the clock and seconds of processors, separated by tabs.
"""
import sys
from pathlib import Path


def read(path):
    """Gives {stage: (seconds, seconds of processors)} in the file's order; of a file that is missing, nothing."""
    rows = {}
    if path.exists():
        for line in path.read_text().splitlines():
            name, wall, core = line.split("\t")
            rows[name] = (float(wall), float(core))
    return rows


def table(measured, last):
    """Gives the lines of the table, with a sum; `-` stands for a stage that the last run did not have."""
    lines = [f"{'stage':<28}{'s':>8}{'before':>8}{'core s':>9}{'before':>8}"]
    sums = [tuple(sum(row[i] for row in rows.values()) for i in (0, 1)) for rows in (measured, last)]
    for name, now in [*measured.items(), ("all", sums[0])]:
        before = sums[1] if name == "all" and last else last.get(name)
        before = [f"{value:.0f}" for value in before] if before else ["-", "-"]
        lines.append(f"{name:<28}{now[0]:>8.0f}{before[0]:>8}{now[1]:>9.0f}{before[1]:>8}")
    return lines


def main():
    print("\n".join(table(read(Path(sys.argv[1])), read(Path(sys.argv[2])))))


if __name__ == "__main__":
    main()
