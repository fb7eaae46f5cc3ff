"""Runs a case in TSL: writes a script, runs it in a process of its own, and reads what it prints."""

import os
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
VIEWS = {"contiguous": "", "transposed": ".transpose()", "sliced": "[..., 2:-3]"}
SECONDS = 90  # more means that something hangs


def base_shape(shape, layout):
    """Returns the shape of the tensor that the input is a view of."""
    if layout == "sliced":
        return shape[:-1] + [shape[-1] + 5]
    return shape[:-2] + shape[:-3:-1] if layout == "transposed" and len(shape) > 1 else shape


def input_text(number, spec):
    shape, layout = spec["shape"], spec["layout"]
    if spec["below"]:
        return f"let x{number} = indices({shape}, {number}, {spec['below']})"
    view = VIEWS[layout] if layout != "transposed" or len(shape) > 1 else ""
    return f"let x{number} = floats({base_shape(shape, layout)}, {number * 331}, {spec['dtype']}){view}"


def script(case):
    names = ", ".join(f"x{i}" for i in range(len(case.inputs)))
    lines = [f'import "{FOLDER}/timing.tsl" as timing',
             "let (measure, floats, indices) = (timing.measure, timing.floats, timing.indices)"]
    lines += [input_text(i, spec) for i, spec in enumerate(case.inputs)]
    if case.gradient:
        wrt = list(range(len(case.inputs)))
        lines += [f"fn loss({names}) = {case.tsl}", f"@compile\nfn f({names}) = grad(loss, wrt: {wrt})({names})"]
        checked = "[r[0], r[1]]"
    else:
        lines += [f"@compile\nfn f({names}) = {case.tsl}"]
        checked = f"[{case.check_tsl}]"
    lines += [f"measure(fn() = f({names}), fn(r) = {checked})"]
    return "\n".join(lines) + "\n"


def run(case, options, cache, *flags):
    """Returns {first, time, sums}, or {error}."""
    file = options.out / "scripts" / f"{case.name}.tsl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script(case))
    command = [options.tsl, "--device", options.device, "--threads", str(options.threads), str(file), *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TSL_CACHE_DIR": str(cache)},
                              timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)[-200:]}
    if done.returncode != 0:
        return {"error": done.stderr.strip()[:600] or f"exit code {done.returncode}"}
    (first, time), *sums = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    return {"first": first, "time": time, "sums": sums}
