#!/usr/bin/env python3
"""Makes the case files of the oracle: generate.py [PART...]. Needs numpy, scipy, mpmath, ml_dtypes, onnx and torch."""

import importlib
import os
import sys

import numpy as np

SEED = 20261124
PARTS = {
    "elementwise": "elementwise builtins and operators, by NumPy's long doubles and mpmath",
    "reduce": "reductions, running sums and order, by NumPy",
    "science": "the module science, by SciPy, and by definitions in NumPy",
    "shape": "builtins that make, move and join elements, by NumPy",
    "signals": "convolutions, windows, transforms and interpolation, by NumPy and SciPy",
    "fourier": "complex numbers and Fourier transforms, by NumPy's and SciPy's long doubles",
    "index": "reading and writing elements, by NumPy",
    "linear": "products of matrices, by NumPy",
    "linalg": "factorisations and what they give, by mpmath, NumPy and SciPy",
    "neural": "composites, layers and losses, by definitions in NumPy's long doubles",
    "derivatives": "vmap, derivatives as functions and by rules, by definitions in NumPy",
    "nn_activations": "activations and losses of nn, by PyTorch in f64",
    "nn_layers": "layers of nn, by PyTorch in f64",
    "onnx": "the ONNX backend's node tests (Apache-2.0, https://github.com/onnx/onnx), translated by onnx_*.py",
    "optim": "optimizers, clipping and schedules, by definitions in NumPy's long doubles",
    "arrays": "making, moving, ordering and indexing arrays in the prelude, by NumPy",
    "measures": "statistics, running results, differences and integrals in the prelude, by NumPy",
    "optimizers": "more optimizers and schedules, by PyTorch in f64 and by their papers in NumPy",
    "unsigned": "unsigned integers of 16, 32 and 64 bits, by NumPy",
    "special": "special functions, parts of numbers and shifts, by mpmath and NumPy",
    "random": "random numbers, by Philox in Python and mpmath",
    "samplers": "samplers by inverse distribution functions, by Philox in Python, mpmath and SciPy",
}
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")


def main():
    from oracle import write
    total = 0
    for name in sys.argv[1:] or PARTS:
        rng = np.random.default_rng([SEED, *name.encode()])
        module = importlib.import_module(name + "_cases" if name in ("onnx", "random") else name)
        about = [PARTS[name] + ".", f"Made by generate.py with seed {SEED}; not to be edited."]
        count = write(os.path.join(FOLDER, name + ".txt"), about, module.sections(rng))
        print(f"{name}: {count} cases")
        total += count
    print(f"{total} cases, seed {SEED}")


if __name__ == "__main__":
    main()
