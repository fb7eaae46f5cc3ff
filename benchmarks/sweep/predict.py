#!/usr/bin/env python3
"""Compares what TSL predicts for kernels with what they take, on the cases of the sweep.

    benchmarks/sweep/predict.py --device cuda --tsl PATH --seed 11 --least 0.5
    benchmarks/sweep/predict.py --device cpu                    150 cases, one thread

Exits with 1 if fewer than `--least` of the long cases are within 30 % of their prediction.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import tsl_side
from draw import draw

sys.path.append(str(Path(__file__).resolve().parents[1]))
from tables import show_number, show_time, table  # noqa: E402, of the benchmarks

CASES = 150
WITHIN = 1.3
LONG = 20e-6  # seconds of all kernels, from which on a case counts
WORST = 12


def prediction_of(profile):
    """Returns {predicted, measured}: seconds of the kernels that a call of f launches; {} if there are none. Predicted is null if
    the model does not know one of them."""
    launches = {}
    for row in profile["rows"]:
        if row["activity"] == "kernels" and row["specialisation"].startswith("f:") and row["calls"] > 1:
            launch = launches.setdefault((row["specialisation"], row["launch"]), [row["predicted_seconds"], 0.0])
            launch[1] += row["seconds_of_least"]
    if not launches:
        return {}
    predicted = [seconds for seconds, _ in launches.values()]
    return {"predicted": None if None in predicted else sum(predicted), "measured": sum(m for _, m in launches.values())}


def predict(case, options, cache):
    """Runs a case under the profiler, apart from its measurement beside others."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile.json"
        done = tsl_side.run(case, options, cache, "--profile-json", str(file))
        return {"error": done["error"]} if "error" in done else prediction_of(json.loads(file.read_text()))


def ratio(record):
    """Returns how much of the time was predicted; 0 if the model does not know the case."""
    return (record["prediction"]["predicted"] or 0) / record["prediction"]["measured"]


def is_within(record):
    return 1 / WITHIN <= ratio(record) <= WITHIN


def long_cases(records):
    return [r for r in records if r.get("prediction", {}).get("measured", 0) >= LONG]


def share_within(records):
    """Returns the share of the long cases that the model predicts; one that it does not know is none of them."""
    long = long_cases(records)
    return sum(map(is_within, long)) / len(long) if long else 0.0


def line(name, records):
    known = [ratio(r) for r in records if ratio(r) > 0]
    middle = show_number(statistics.median(known)) if known else ""
    return [name, str(len(records)), str(len(records) - len(known)), f"{share_within(records):.0%}", middle]


def report(records):
    """Summarises the long cases by family."""
    long = long_cases(records)
    names = sorted({r["family"] for r in long})
    rows = [line(name, [r for r in long if r["family"] == name]) for name in names] + [line("all", long)]
    return table(["predictions of long cases", "cases", "not predicted", "within 30 %", "predicted / measured (median)"], rows)


def worst(records):
    known = [r for r in long_cases(records) if ratio(r) > 0]
    known.sort(key=lambda r: max(ratio(r), 1 / ratio(r)), reverse=True)
    return "".join(f"- {ratio(r):.2f} `{r['name']}`, {show_time(r['prediction']['measured'])}: `{r['source']}`\n" for r in known[:WORST])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--tsl", default="build/release/tsl", help="the program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--threads", type=int, default=1, help="on the CPU")
    parser.add_argument("--least", type=float, default=0.0, metavar="SHARE", help="of the long cases within 30 %%")
    parser.add_argument("--out", type=Path, default=Path("build/sweep"))
    options = parser.parse_args()
    options.out = options.out.resolve()
    records = []
    for case in draw(options.seed, options.cases, options.device):
        prediction = predict(case, options, options.out / "cache" / "predict")
        if "error" in prediction:
            print(f"{case.name}: {prediction['error']}: {case.source()}", file=sys.stderr)
            continue
        records.append({"name": case.name, "family": case.family, "source": case.source(), "prediction": prediction})
    share = share_within(records)
    print(f"{report(records)}\nFarthest from their prediction (predicted / measured):\n\n{worst(records)}")
    print(f"{share:.0%} of the long cases are within 30 % of their prediction; at least {options.least:.0%} must be.")
    sys.exit(share < options.least)


if __name__ == "__main__":
    main()
