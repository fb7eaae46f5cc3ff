"""Compares cholesky and eigh with NumPy on 40 matrices: factorisations.py TSL

An error is that of the product of the factors, and of the vectors' orthogonality, in f128. TSL's may be 4 times NumPy's.
Needs NumPy; the tests of the project do not run this.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SCRIPT = """
let a = load("a.npy")
save("lower.npy", cholesky(a))
let (values, vectors) = eigh(a)
save("values.npy", values)
save("vectors.npy", vectors)
"""


def matrices():
    """Yields 40 positive definite matrices, or batches of them, with a name each."""
    random = np.random.default_rng(38)
    for dtype in (np.float32, np.float64):
        for shape in [(0,), (1,), (2,), (3,), (5,), (7,), (16,), (33,), (64,), (127,), (200,), (512,), (4, 3), (2, 3, 8), (3, 0), (0, 4)]:
            n = shape[-1]
            x = random.standard_normal((*shape, n))
            yield f"normal {shape}", (x @ np.swapaxes(x, -1, -2) + n * np.eye(n)).astype(dtype)
        n = 6 if dtype == np.float64 else 3
        index = np.arange(n)
        yield "Hilbert", (1 / (1 + index[:, None] + index)).astype(dtype)
        yield "diagonal", np.diag(10.0 ** np.arange(-4, 5)).astype(dtype)
        yield "equal values", (np.eye(9) * 2 + 1e-3).astype(dtype)
        q = np.linalg.qr(random.standard_normal((40, 40)))[0]
        condition = 1e4 if dtype == np.float32 else 1e10
        yield "ill-conditioned", (q * np.geomspace(1, 1 / condition, 40) @ q.T + 0).astype(dtype)


def largest(x):
    return float(np.max(np.abs(x), initial=0))


def errors(a, lower, values, vectors):
    a, lower, values, vectors = (np.asarray(x, np.longdouble) for x in (a, lower, values, vectors))
    scale = max(largest(a), 1e-300)
    turned = np.swapaxes(vectors, -1, -2)
    return {
        "L Lᵀ - A": largest(np.matmul(lower, np.swapaxes(lower, -1, -2)) - a) / scale,
        "A V - V w": largest(np.matmul(a, vectors) - vectors * values[..., None, :]) / scale,
        "Vᵀ V - I": largest(np.matmul(turned, vectors) - np.eye(vectors.shape[-1])),
    }


def run(tsl, folder, a):
    np.save(folder / "a.npy", a)
    (folder / "t.tsl").write_text(SCRIPT)
    subprocess.run([tsl, "t.tsl", "--device", "cpu"], cwd=folder, check=True)
    return [np.load(folder / f"{name}.npy") for name in ("lower", "values", "vectors")]


def main():
    tsl = pathlib.Path(sys.argv[1]).resolve()
    worst, count, failures = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, a in matrices():
            symmetric = np.tril(a) + np.swapaxes(np.tril(a, -1), -1, -2)
            numpy = [np.linalg.cholesky(a), *np.linalg.eigh(a)]
            ours = run(tsl, pathlib.Path(scratch), a)
            for x, y in zip(ours, numpy):
                assert x.shape == y.shape and x.dtype == y.dtype, name
            own, theirs = errors(symmetric, *ours), errors(symmetric, *numpy)
            for what, error in own.items():
                least = np.finfo(a.dtype).eps  # below it, nobody could do better
                ratio = error / max(theirs[what], least)
                worst = max(worst, ratio)
                if ratio > 4:
                    failures += 1
                    print(f"{name} {a.dtype}: {what} is {error:.3g}, NumPy's {theirs[what]:.3g}")
            count += 1
    print(f"{count} matrices, the largest error is {worst:.2f} of NumPy's")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
