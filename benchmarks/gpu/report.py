"""Makes the table of the results of run.py."""

import sys
from pathlib import Path

from rows import ROWS

sys.path.append(str(Path(__file__).resolve().parents[1]))
from tables import show_number, show_time, table  # noqa: E402, of the benchmarks for the CPU

TITLES = {"torch": "eager", "compile": "compile", "reduce": "reduce-overhead", "jax": "JAX"}
HEADER = ["row", "TSL ms", "GB/s", "of copy", "host µs", "first call: cold, cached", "kernels", "copied B",
          *TITLES.values(), "ratio", "goal"]


def result(cells, column):
    """Returns the measured values, or {} if the measurement failed."""
    values = cells.get(column, {})
    return {} if "error" in values else values


def show(values, key, scale=1.0):
    return show_number(values[key] * scale) if key in values else ""


IMPOSSIBLE = 1.15  # of a copy's speed: kernels that write little exceed it by 6 %


def copy_speed(data):
    """Returns the GB/s of a copy, which reads and writes each byte."""
    copied = result(data["rows"].get("copy", {}), "copy")
    n = max(1, int(16000 * data["scale"]))
    return 2 * 4 * n * n / copied["device"] / 1e9 if copied else None


def speed(row, values, scale):
    """Returns GB/s."""
    return row.bytes(scale) / values["device"] / 1e9 if row.bytes and "device" in values else None


def show_speed(row, values, scale):
    gigabytes = speed(row, values, scale)
    if gigabytes:
        return f"{gigabytes:.0f}" if gigabytes >= 100 else show_number(gigabytes)
    if row.flops and "device" in values:
        return f"{show_number(row.flops(scale) / values['device'] / 1e12)} TFLOP/s"
    return ""


def show_first(values):
    """Returns the first call's time with an empty and with a filled cache on disk."""
    return ", ".join(show_time(values[key]) for key in ("first", "cached") if key in values)


def show_peer(row, values):
    """Formats milliseconds, or the unit that suits the row: microseconds of the host, seconds of a first call."""
    if row.metric == "host":
        return show_time(values.get("host"))
    if row.metric == "first":
        return show_first(values)
    return show(values, "device", 1e3)


def ratio(row, cells):
    """Returns the best peer's time divided by TSL's."""
    peers = [values[row.metric] for values in (result(cells, peer) for peer in TITLES) if row.metric in values]
    ours = result(cells, "tsl").get(row.metric)
    return f"{show_number(min(peers) / ours)} ×" if peers and ours else ""


def show_goal(key, goal):
    if key == "GB/s":
        return f"≥ {goal} GB/s"
    if key in ("first", "cached"):
        return f"{key} ≤ {goal:g} s"
    return f"{key} ≤ {goal * 1e3:g} ms" if goal >= 1e-4 else f"{key} ≤ {goal * 1e6:g} µs"


def show_goals(row, values, scale):
    parts = []
    for key, goal in row.goals.items():
        found = speed(row, values, scale) if key == "GB/s" else values.get(key)
        verdict = ""
        if found is not None:
            is_met = found >= goal if key == "GB/s" else found <= goal
            verdict = ": met" if is_met else f": **missed** ({show_number(found / goal)} × the goal)"
        parts.append(show_goal(key, goal) + verdict)
    return "; ".join(parts)


def line(name, row, cells, data, ceiling):
    scale = data["scale"]
    values = result(cells, "tsl")
    gigabytes = speed(row, values, scale)
    return [f"`{name}`: {row.of}", show(values, "device", 1e3), show_speed(row, values, scale),
            f"{gigabytes / ceiling:.1%}" if gigabytes and ceiling else "", show(values, "host", 1e6), show_first(values),
            f"{values['kernels']:g}" if "kernels" in values else "", f"{values['copied']:g}" if "copied" in values else "",
            *(show_peer(row, result(cells, peer)) for peer in TITLES), ratio(row, cells), show_goals(row, values, scale)]


def errors(data):
    return [f"- `{name}`, {TITLES.get(column, column)}: {' '.join(values['error'].split())[:300]}" for name, cells in data["rows"].items()
            for column, values in cells.items() if "error" in values]


def not_warm(data):
    """Returns the rows whose warm calls still allocate memory from the driver, or compile."""
    found = {name: result(cells, "tsl") for name, cells in data["rows"].items()}
    return [f"`{name}`" for name, values in found.items() if values.get("allocations") or values.get("compiled")]


def too_fast(data, ceiling):
    """Returns the cells that would need a faster memory than there is."""
    if not ceiling:
        return []
    return [f"`{name}`, {TITLES.get(column, column)} ({found / ceiling:.2f} × a copy)" for name, row in ROWS.items()
            for column in data["rows"].get(name, {})
            if (found := speed(row, result(data["rows"][name], column), data["scale"])) and found > IMPOSSIBLE * ceiling]


def report(data):
    ceiling = copy_speed(data)
    rows = [line(name, row, data["rows"][name], data, ceiling) for name, row in ROWS.items() if name in data["rows"]]
    about = [data["machine"], *dict.fromkeys(data["versions"].values()), data["date"]]
    if data["scale"] != 1:
        about.append(f"scale {data['scale']}: the goals are for the full size")
    if ceiling:
        about.append(f"a copy within the device: {ceiling:.0f} GB/s")
    if data.get("tsl_start"):
        about.append(f"a process of TSL that opens the device: {data['tsl_start']:.3f} s")
    text = "; ".join(about) + "\n\n" + (table(HEADER, rows) if rows else "Nothing was measured.\n")
    text += f"\nWarm calls that allocate from the driver or compile: {', '.join(not_warm(data)) or 'none'}.\n"
    impossible = too_fast(data, ceiling)
    if impossible:
        text += "\nFaster than the memory can be, since data stayed in a cache or was not computed; no results: "
        text += f"{', '.join(impossible)}.\n"
    failed = errors(data)
    return text + ("\nWhat failed:\n\n" + "\n".join(failed) + "\n" if failed else "")
