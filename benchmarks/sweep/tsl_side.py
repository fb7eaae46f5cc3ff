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


def definitions(case):
    """Returns the lines that make the inputs and define f."""
    names = ", ".join(f"x{i}" for i in range(len(case.inputs)))
    lines = [f'import "{FOLDER}/timing.tsl" as timing', "let (floats, indices) = (timing.floats, timing.indices)"]
    lines += [input_text(i, spec) for i, spec in enumerate(case.inputs)]
    if case.gradient:
        wrt = list(range(len(case.inputs)))
        return [*lines, f"fn loss({names}) = {case.tsl}", f"@compile\nfn f({names}) = grad(loss, wrt: {wrt})({names})"]
    return [*lines, f"@compile\nfn f({names}) = {case.tsl}"]


def measure_text(case):
    names = ", ".join(f"x{i}" for i in range(len(case.inputs)))
    checked = "r" if case.gradient else f"[{case.check_tsl}]"
    return f"timing.measure(fn() = f({names}), fn(r) = {checked})"


def script(case, call=None):
    return "\n".join([*definitions(case), call or measure_text(case)]) + "\n"


def run_script(case, call, options, cache, *flags):
    """Returns {lines}, the numbers that the script prints, or {error}."""
    file = options.out / "scripts" / f"{case.name}.tsl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script(case, call))
    command = [options.tsl, "--device", options.device, "--threads", str(options.threads), str(file), *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TSL_CACHE_DIR": str(cache)},
                              timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)[-200:]}
    if done.returncode != 0:
        return {"error": done.stderr.strip()[:600] or f"exit code {done.returncode}"}
    return {"lines": [[float(word) for word in line.split()] for line in done.stdout.splitlines()]}


def run(case, options, cache, *flags):
    """Returns {first, time, sums}, or {error}."""
    done = run_script(case, None, options, cache, *flags)
    if "error" in done:
        return done
    (first, time), *sums = done["lines"]
    return {"first": first, "time": time, "sums": sums}
