"""Runs cases in PyTorch: reads one as JSON from each line of standard input, and writes its results as a line.

A line is {"case": …, "warm": bool}: warm only compiles, which fills the compiler's cache on disk.
"""

import json
import sys
import time

import torch
import torch.nn.functional as F

MODES = {"eager": None, "compile": "default", "reduce": "reduce-overhead"}
BATCHES, BATCH_SECONDS = 7, 0.03
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64}


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def floats(shape, salt, dtype, device):
    i = torch.arange(elements(shape), dtype=torch.int32, device=device)
    i = (i % 2039 * 61 + i % 1021 * 37 + salt) % 2039
    return ((i - 1019).to(torch.float32) / 512.0).reshape(shape).to(dtype)


def make_input(number, spec, device):
    """Makes an input with the numbers of timing.tsl."""
    from tsl_side import base_shape

    shape, layout = spec["shape"], spec["layout"]
    if spec["below"]:
        i = torch.arange(elements(shape), device=device)
        return ((i * 7919 + number) % spec["below"]).reshape(shape)
    x = floats(base_shape(shape, layout), number * 331, DTYPES[spec["dtype"]], device)
    if layout == "sliced":
        return x[..., 2:-3]
    return x.transpose(-2, -1) if layout == "transposed" and len(shape) > 1 else x


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def functions(case):
    """Returns the function to run eagerly and the one to compile."""
    names = [f"x{i}" for i in range(len(case["inputs"]))]
    scope = {"torch": torch, "F": F}
    exec(f"def f({', '.join(names)}):\n    return {case['torch']}\n", scope)  # made by draw.py
    f = scope["f"]
    if not case["gradient"]:
        return f, f

    def gradients(*inputs):
        inputs = [x.detach().requires_grad_() for x in inputs]
        return torch.autograd.grad(f(*inputs), inputs)

    return gradients, torch.func.grad(f, argnums=tuple(range(len(names))))


def checksum(r):
    x = r.detach().flatten().to(torch.float64)
    weights = (torch.arange(x.numel(), device=x.device) % 7 + 1).to(torch.float64)
    return [x.sum().item(), (x * weights).sum().item(), x.abs().sum().item()]


def checksums(case, inputs, r):
    if case["gradient"]:
        return [checksum(g) for g in r]
    scope = {"torch": torch, "r": r, **{f"x{i}": x for i, x in enumerate(inputs)}}
    return [checksum(eval(case["check_torch"], scope))]


def repeat(call, n, device):
    begin = time.perf_counter()
    for _ in range(n):
        call()
    wait(device)
    return time.perf_counter() - begin


def measure(call, device):
    """Returns the median seconds of a call, over batches."""
    repeat(call, 5, device)
    n = 1
    while (seconds := repeat(call, n, device)) < BATCH_SECONDS:
        n = max(n + 1, int(n * min(10.0, 1.2 * BATCH_SECONDS / max(seconds, 1e-6))))
    return sorted(repeat(call, n, device) / n for _ in range(BATCHES))[BATCHES // 2]


class Prepared:
    """A case with its inputs and compiled functions, kept for more measurements of it."""

    def __init__(self, case, device):
        torch.compiler.reset()
        self.case, self.device = case, device
        self.inputs = [make_input(i, spec, device) for i, spec in enumerate(case["inputs"])]
        eager, f = functions(case)
        self.calls = {"eager": eager, "compile": torch.compile(f, dynamic=False)}
        if device == "cuda":
            self.calls["reduce"] = torch.compile(f, dynamic=False, mode="reduce-overhead")

    def warm(self):
        for mode in ("compile", "reduce"):
            if mode in self.calls:
                self.calls[mode](*self.inputs)

    def results(self):
        found = {}
        for mode, f in self.calls.items():
            try:
                sums = checksums(self.case, self.inputs, f(*self.inputs))
                found[mode] = {"time": measure(lambda: f(*self.inputs), self.device), "sums": sums}
            except Exception as error:  # whatever a compiler raises is this mode's result
                found[mode] = {"error": f"{type(error).__name__}: {error}"[:400]}
        return found


def main():
    device, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    torch.backends.cudnn.allow_tf32 = False  # f32 is f32 on both sides
    prepared, name = None, None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["case"]["name"] != name:
                prepared = None
                if device == "cuda":
                    torch.cuda.empty_cache()
                prepared, name = Prepared(request["case"], device), request["case"]["name"]
            answer = prepared.warm() or {} if request["warm"] else prepared.results()
        except Exception as error:  # the next case may work
            name, answer = None, {"error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps({"torch": torch.__version__, "results": answer}), flush=True)


if __name__ == "__main__":
    main()
