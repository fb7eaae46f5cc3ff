#!/usr/bin/env python3
"""Times hessian, vmap and odeint with its gradient in TSL, JAX and diffrax, on one thread; prints README.md's table.

    benchmarks/transforms.py [--tsl PATH] [--repeats 200]
"""

import argparse
import os
import time
from pathlib import Path

from tables import printed_seconds, show_time, table

FOLDER = Path(__file__).resolve().parent


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tsl", default=FOLDER.parent / "build/release/tsl")
    parser.add_argument("--repeats", type=int, default=200)
    return parser.parse_args()


def calls():
    """The calls of transforms.tsl, by their names there, jitted; its data is as large, and random."""
    import diffrax
    import jax
    import numpy
    from jax import numpy as jnp

    random = numpy.random.default_rng(1)

    def normal(*shape):
        return jnp.asarray(random.standard_normal(shape), dtype=jnp.float32)

    x, points, weights, rows = jnp.linspace(-1, 1, 100), normal(200, 100), normal(64, 64), normal(1000, 64)
    field = 0.3 * normal(16, 16)

    def rosenbrock(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def logistic(w):
        return jnp.mean(jnp.log1p(jnp.exp(-(points @ w)))) + 0.1 * jnp.sum(w * w)

    def layer(v):
        return jnp.tanh(weights @ v) / jnp.sqrt(jnp.sum(v * v) + 1)

    def by_hand(rows):
        return jnp.tanh(rows @ weights.T) / jnp.sqrt(jnp.sum(rows * rows, axis=1, keepdims=True) + 1)

    def end_of(a):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, a: jnp.tanh(a @ y)), diffrax.Dopri5(), 0.0, 5.0, 0.1, jnp.ones(16), args=a,
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6), max_steps=256)
        return jnp.sum(solution.ys[-1] ** 2)

    compiled = {
        "hessian, Rosenbrock": (jax.jit(jax.hessian(rosenbrock)), x),
        "hessian, logistic loss": (jax.jit(jax.hessian(logistic)), x),
        "vmap of a layer": (jax.jit(jax.vmap(layer)), rows),
        "the layer by hand": (jax.jit(by_hand), rows),
        "odeint with its gradient": (jax.jit(jax.value_and_grad(end_of)), field),
    }
    return {name: lambda f=f, given=given: jax.block_until_ready(f(given)) for name, (f, given) in compiled.items()}


def median(call, repeats):
    for _ in range(5):
        call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return sorted(times)[repeats // 2]


def main():
    given = options()
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    command = [given.tsl, "--device", "cpu", "--threads", "1", FOLDER / "transforms.tsl", str(given.repeats)]
    ours = printed_seconds(command)
    rows = []
    for name, call in calls().items():
        theirs = median(call, given.repeats)
        rows.append([name, show_time(ours[name]), show_time(theirs), f"{theirs / ours[name]:.2f} ×"])
    print(table(["what", "TSL", "JAX", "JAX / TSL"], rows))


if __name__ == "__main__":
    main()
