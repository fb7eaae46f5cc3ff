"""Summarises the records of run.py by family."""

import math
import statistics
import sys
from pathlib import Path

import predict

sys.path.append(str(Path(__file__).resolve().parents[1]))
from tables import show_number, show_time, table  # noqa: E402, of the benchmarks

LONG = 20e-6  # the best peer's seconds from which on a case counts as long
BELOW, LEVEL = 0.8, 0.95
WORST = 10


def best_peer(record):
    """Returns the mode and the seconds of the fastest peer."""
    times = {mode: values["time"] for mode, values in record["torch"].items() if isinstance(values, dict) and "time" in values}
    mode = min(times, key=times.get)
    return mode, times[mode]


def line(name, records):
    ratios = [record["ratio"] for record in records]
    count = len(ratios)
    if not count:
        return [name, "0", "", "", "", ""]
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    return [name, str(count), show_number(mean), f"{sum(r >= LEVEL for r in ratios) / count:.0%}",
            f"{sum(r < BELOW for r in ratios) / count:.0%}", show_number(min(ratios))]


def families(records, title):
    names = sorted({record["family"] for record in records})
    rows = [line(name, [r for r in records if r["family"] == name]) for name in names] + [line("all", records)]
    header = [title, "cases", "geometric mean", f">= {LEVEL}", f"< {BELOW}", "worst"]
    return table(header, rows)


def worst(records):
    text = ""
    for name in sorted({record["family"] for record in records}):
        below = sorted((r for r in records if r["family"] == name and r["ratio"] < LEVEL), key=lambda r: r["ratio"])
        for r in below[:WORST]:
            mode, seconds = best_peer(r)
            text += f"- {r['ratio']:.2f} `{r['name']}` TSL {show_time(r['tsl']['time'])}, {mode} {show_time(seconds)}: `{r['source']}`\n"
    return text


def first_calls(records, key, title):
    times = [value for r in records if (value := r.get(key) if key == "cached" else r["tsl"]["first"])]
    if not times:
        return ""
    return f"{title}: median {show_time(statistics.median(times))}, longest {show_time(max(times))}.\n"


def report(records):
    done = [r for r in records if "ratio" in r]
    text = f"{len(records)} cases, {len(done)} measured. A ratio is the best peer's time / TSL's.\n"
    text += f"Load of the machine: {statistics.median(r['load'] for r in records):.1f} processes (median).\n\n" if records else ""
    if not done:
        return text + failures(records)
    is_long = {id(r): best_peer(r)[1] >= LONG for r in done}
    long, short = [r for r in done if is_long[id(r)]], [r for r in done if not is_long[id(r)]]
    text += families([r for r in done if r.get("large")], "large cases") + "\n"
    text += families(long, "long cases") + "\n" + families(short, "short cases") + "\n"
    text += predict.report([r for r in done if is_long[id(r)]]) + "\n"
    text += first_calls(done, "first", "First calls") + first_calls(done, "cached", "First calls from the disk cache")
    return text + "\nThe slowest of the long cases:\n\n" + worst(long) + failures(records)


def failures(records):
    text = ""
    for r in records:
        if "ratio" not in r:
            text += f"- no result, `{r['name']}`: `{r['source']}`: {' '.join(str(r['tsl'].get('error') or r['torch']).split())[:400]}\n"
        for mode, same in r.get("agrees", {}).items():
            if not same:
                text += (f"- results differ, `{r['name']}` and {mode}: `{r['source']}`: {r['tsl']['sums']}, "
                         f"{r['torch'][mode]['sums']}\n")
    return f"\nWhat failed:\n\n{text}" if text else ""
