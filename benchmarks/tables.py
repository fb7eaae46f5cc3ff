"""Reads the times that scripts print, and formats times and tables of the benchmarks."""

import math
import subprocess


def printed_seconds(command):
    """Runs a script that prints a name and seconds a line, and returns the seconds by name."""
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: float(seconds) for name, seconds in (line.rsplit(" ", 1) for line in lines)}


def show_number(value):
    """Formats three significant digits."""
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{digits}f}"


def show_time(seconds):
    if seconds is None:
        return ""
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            break
    else:
        unit, scale = "ns", 1e9
    return f"{show_number(seconds * scale)} {unit}"


def table(header, rows):
    """Formats a table in Markdown."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])], *rows]
    text = ""
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        text += "| " + " | ".join(cells) + " |\n"
    return text
