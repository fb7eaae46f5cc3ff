#!/usr/bin/env python3
"""Times what programs do besides tensors (text, lists, records, files) in TSL and in CPython; prints README.md's table.

    benchmarks/language.py [--tsl PATH] [--most 3]

Fails if anything but what `SLOW` names takes more than `--most` times as long as in CPython.
"""

import argparse
import csv
import functools
import json
import re
import sys
import tempfile
import time
from pathlib import Path

from tables import printed_seconds, show_time, table

FOLDER = Path(__file__).resolve().parent
N = 20_000
TEXT = "The quick brown fox; " * (N // 20)
WIDE = "Größe, Maße, 東京; ab " * (N // 20)
WORDS = TEXT.split(" ")
NUMBERS = [i * 7919 % 20_011 for i in range(N)]
NAMES = [f"key{i}" for i in range(N)]
MIXED = [f"key{i}" for i in NUMBERS]
TABLE = {name: 1 for name in NAMES}
COLUMNS = {"number": NUMBERS, "half": [i / 2 for i in NUMBERS], "name": MIXED}
ENTRIES = {i: i for i in NUMBERS}
OTHERS = set(range(N // 2, N + N // 2))
NESTED = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
TABLE_TEXT = json.dumps(TABLE)
# Known to take longer: an error is a C++ exception, a loop over a record makes a tuple and a str in each turn, and a
# removal is a call.
SLOW = {"catch errors", "loop over a record", "remove entries"}
KEPT = tempfile.TemporaryDirectory()


def build_text():
    s = ""
    for _ in range(N):
        s += "ab"
    return s


def index_text(t):
    count = 0
    for i in range(N):
        if t[i] == "o":
            count += 1
    return count


def slice_text(t):
    count = 0
    for i in range(N):
        if t[i:i + 3] == "fox":
            count += 1
    return count


def loop_text():
    count = 0
    for c in TEXT:
        if c == "o":
            count += 1
    return count


def format_text():
    length = 0
    for i in range(N):
        length += len(f"{i}: {0.5:.2f}")
    return length


def parse_numbers():
    total = 0
    for i in range(N):
        total += int(str(i))
    return total


def push():
    items = []
    for i in range(N):
        items += [i]
    return items


def pop():
    items = list(NUMBERS)
    total = 0
    while len(items) > 0:
        total += items[-1]
        items.pop()
    return total


def change_list():
    items = list(NUMBERS)
    for i in range(N):
        items[i] = items[i] + 1
    return items


def slice_list():
    total = 0
    for i in range(N):
        total += len(NUMBERS[i:i + 10])
    return total


def index_nested():
    total = 0
    for i in range(N):
        total += NESTED[i % 3][1]
    return total


def sum_list():
    total = 0
    for x in NUMBERS:
        total += x
    return total


def zip_lists():
    total = 0
    for a, b in zip(NUMBERS, NUMBERS):
        total += a * b
    return total


def set_entries():
    m = {}
    for i in range(N):
        m[i] = i
    return m


def get_entries():
    total = 0
    for i in NUMBERS:
        total += ENTRIES[i]
    return total


def pairs_as_keys():
    m = {}
    for i in range(N):
        m[(i, "a")] = i
    return m


def loop_map():
    total = 0
    for _, value in ENTRIES.items():
        total += value
    return total


def remove_entries():
    m = dict(ENTRIES)
    for i in NUMBERS:
        del m[i]
    return m


def count_in_map():
    counts = {}
    for word in WORDS:
        counts[word] = counts.get(word, 0) + 1
    return counts


def count_words():
    counts = {}
    for word in WORDS:
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return counts


def set_keys():
    record = {}
    for name in NAMES:
        record[name] = 1
    return record


def get_keys():
    total = 0
    for name in NAMES:
        total += TABLE[name]
    return total


class Point:  # what a small record is in Python
    def __init__(self, x, y):
        self.x = x
        self.y = y


def change_fields():
    p = Point(0, 0)
    for i in range(N):
        p.x += i
        p.y = p.x
    return p


def loop_record():
    total = 0
    for _, value in TABLE.items():
        total += value
    return total


def make_records():
    items = []
    for i in range(N):
        items += [{"x": i, "y": i}]
    return items


def call_closure():
    total = 0
    add = lambda k: k + 1  # noqa: E731
    for _ in range(N):
        total = add(total)
    return total


def catch_errors():
    count = 0
    for _ in range(N // 10):
        try:
            raise RuntimeError("no")
        except RuntimeError:
            count += 1
    return count


def save_json():
    with open(f"{KEPT.name}/python.json", "w", encoding="utf-8") as file:
        json.dump(TABLE, file, indent=2)


def load_json():
    with open(f"{KEPT.name}/table.json", encoding="utf-8") as file:
        return json.load(file)


def save_table():
    with open(f"{KEPT.name}/python.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(zip(*COLUMNS.values()))


def load_table():
    with open(f"{KEPT.name}/table.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    number, half, name = zip(*rows)
    return dict(zip(header, (list(map(int, number)), list(map(float, half)), list(name))))


# By the names that language.tsl prints.
PYTHON = {
    'build text: s += "ab"': build_text,
    "index text: t[i]": lambda: index_text(TEXT),
    "index text that is not ASCII": lambda: index_text(WIDE),
    "slice text: t[i:i + 3]": lambda: slice_text(TEXT),
    "slice text that is not ASCII": lambda: slice_text(WIDE),
    "loop over text": loop_text,
    "upper": lambda: TEXT.upper(),
    "upper of text that is not ASCII": lambda: WIDE.upper(),
    "find": lambda: WIDE.find("x"),
    "search: findall": lambda: re.findall(r"\w+", TEXT),
    "search: substitute": lambda: re.sub(r"(\w+) (\w+)", r"\2 \1", TEXT),
    "split": lambda: TEXT.split(" "),
    "join": lambda: " ".join(WORDS),
    "replace": lambda: TEXT.replace("fox", "dog"),
    'format: f"{i}: {x:.2f}"': format_text,
    "int(str(i))": parse_numbers,
    "push: l += [i]": push,
    "pop: l[-1], l = l[:-1]": pop,
    "change a list: l[i] = l[i] + 1": change_list,
    "slice a list: l[i:i + 10]": slice_list,
    "index nested lists": index_nested,
    "loop over a list": sum_list,
    "loop over zip": zip_lists,
    "sort numbers": lambda: sorted(NUMBERS),
    "sort text": lambda: sorted(MIXED),
    "sort with a key": lambda: sorted(NUMBERS, key=lambda x: -x),
    "map": lambda: list(map(lambda x: x + 1, NUMBERS)),
    "filter": lambda: list(filter(lambda x: x % 2 == 0, NUMBERS)),
    "reduce": lambda: functools.reduce(lambda a, b: a + b, NUMBERS),
    "reverse": lambda: list(reversed(NUMBERS)),
    "concatenate": lambda: NUMBERS + NUMBERS,
    "search a list: x in l": lambda: -1 in NUMBERS,
    "compare lists": lambda: NUMBERS == list(map(lambda x: x, NUMBERS)),
    "new keys: r[name] = 1": set_keys,
    "read keys: r[name]": get_keys,
    "count words": count_words,
    "new entries: m[i] = i": set_entries,
    "read entries: m[i]": get_entries,
    'tuples as keys: m[(i, "a")]': pairs_as_keys,
    "count in a map: get(m, k, 0)": count_in_map,
    "loop over a map": loop_map,
    "remove entries": remove_entries,
    "make a set": lambda: set(NUMBERS),
    "union of sets": lambda: set(NUMBERS) | OTHERS,
    "change fields: p.x += i": change_fields,
    "loop over a record": loop_record,
    "make records: {x: i, y: i}": make_records,
    "call a closure": call_closure,
    "catch errors": catch_errors,
    "save JSON": save_json,
    "load JSON": load_json,
    "JSON to text": lambda: json.dumps(TABLE),
    "JSON from text": lambda: json.loads(TABLE_TEXT),
    "save a table": save_table,
    "load a table": load_table,
    "text of a list: str(l)": lambda: str(NUMBERS),
}


def measure(work):
    times = []
    for _ in range(25):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure_tsl(program):
    """Returns the seconds of each line of language.tsl, by its name."""
    return printed_seconds([program, str(FOLDER / "language.tsl"), KEPT.name])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tsl", default=str(FOLDER.parent / "tools" / "tsl"), help="the program")
    parser.add_argument("--most", type=float, default=3.0, help="the greatest ratio that is accepted")
    options = parser.parse_args()
    ours = measure_tsl(options.tsl)
    if set(ours) != set(PYTHON):
        sys.exit(f"measured by one only: {sorted(set(ours) ^ set(PYTHON))}")
    theirs = {name: measure(work) for name, work in PYTHON.items()}
    ratios = {name: ours[name] / theirs[name] for name in ours}
    version = ".".join(str(part) for part in sys.version_info[:3])
    print(table(["what", "TSL", f"CPython {version}", "TSL / CPython"],
                [[name, show_time(ours[name]), show_time(theirs[name]), f"{ratios[name]:.2f} ×"] for name in ours]))
    slow = [name for name, ratio in ratios.items() if ratio > options.most and name not in SLOW]
    if slow:
        sys.exit(f"more than {options.most} × CPython's time: {', '.join(slow)}")


if __name__ == "__main__":
    main()
