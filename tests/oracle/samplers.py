"""Cases of samplers that are the inverse of a distribution function: Philox in Python, then mpmath and SciPy."""

import mpmath
import numpy as np
from scipy import special

from oracle import LONG, Section, round_to
from random_cases import normal, uniform, words

L = LONG


def ends(dtype, seed, n):
    """Uniform u in (0, 1), and 1 - u, in long doubles: what 32 or 53 bits stand for, each end with its own digits."""
    if dtype == "f64":
        u = uniform("f64", seed, n).astype(L) + L(2) ** -54
        return u, 1 - u
    bits = np.array(words(seed, n))
    near = lambda b: (b.astype(np.float32) + np.float32(0.5)).astype(L) / L(2) ** 32
    return near(bits), near(2**32 - 1 - bits)


def exponential(dtype, seed, n):
    u, rest = ends(dtype, seed, n)
    return np.where(u < 0.5, -np.log(u), -np.log1p(-rest))


def truncated(seed, n, low, high):
    u, rest = ends("f64", seed, n)
    below, above = special.ndtr(low), special.ndtr(high)
    return special.ndtri((below * rest + above * u).astype(np.float64))


def threefry(key, data):
    """Threefry 2x32 of 20 rounds: two words of a key, two of data."""
    mask, rotations = 0xFFFFFFFF, [13, 15, 26, 6, 17, 29, 16, 24]
    k = [key >> 32 & mask, key & mask]
    k.append(k[0] ^ k[1] ^ 0x1BD11BDA)
    x, y = (data >> 32 & mask) + k[0] & mask, (data & mask) + k[1] & mask
    for r in range(20):
        x = x + y & mask
        y = (y << rotations[r % 8] | y >> 32 - rotations[r % 8]) & mask ^ x
        if r % 4 == 3:
            i = r // 4 + 1
            x, y = x + k[i % 3] & mask, y + k[(i + 1) % 3] + i & mask
    word = x << 32 | y
    return word - 2**64 if word >= 2**63 else word


def sections(rng):
    s = Section("samplers")
    one = s.input("i64", np.array(1))
    for seed in (0, 12345):
        for dtype in ("f32", "f64", "bf16"):
            wide = "f64" if dtype == "f64" else "f32"
            n = 40
            (u, rest), e = ends(wide, seed, n), exponential(wide, seed, n)
            case = lambda text, y: s.case("samplers", "{ seed(%d); return %s }" % (seed, text),
                                          (dtype, round_to(dtype, y)))
            tail = f"shape: [{n}], dtype: {dtype}"
            case(f"random_exponential(2.0, {tail})", 2 * e)
            case(f"random_weibull(2.0, 0.5, {tail})", np.sqrt(e) / 2)
            case(f"random_gumbel(0.0, 2.0, {tail})", -2 * np.log(e))
            case(f"random_laplace(0.0, 0.5, {tail})", np.where(u < 0.5, np.log(2 * u), -np.log(2 * rest)) / 2)
            case(f"random_logistic(0.0, 3.0, {tail})", 3 * (np.log(u) - np.log(rest)))
            least = np.minimum(u, rest)
            size = np.array([float(mpmath.cot(mpmath.pi * mpmath.mpf(float(v)))) for v in least])
            case(f"random_cauchy(0.0, 1.0, {tail})", np.where(u < 0.5, -size, size))
            z = normal(wide, seed, n).astype(L)
            case(f"random_normal(0.0, 3.0, {tail})", 3 * z)
            case(f"random_lognormal(0.5, 0.5, {tail})", np.exp(z / 2 + L(0.5)))
            case(f"random_uniform(0.0, 3.0, {tail})", 3 * uniform(wide, seed, n).astype(L))
            case(f"random_truncated_normal({tail})", truncated(seed, n, -2.0, 2.0))
            case(f"random_truncated_normal(low: -9.0, high: -5.0, {tail})", truncated(seed, n, -9.0, -5.0))
        u = 1 - uniform("f64", seed, 30)
        exact = lambda text, y: s.case("exact", "{ seed(%d); return %s }" % (seed, text), ("i64", y))
        tries = np.ceil(np.log(u) / np.log1p(-0.25)).astype(np.int64)
        exact("random_geometric(0.25, [30])", np.maximum(tries, 1))
        weights = np.array([2.0, 0.0, 1.0, 5.0])
        drawn = np.searchsorted(np.cumsum(weights), u * 8.0)
        exact("multinomial([2.0, 0.0, 1.0, 5.0], 30, replacement: true)", drawn)
    for key, data in ((0, 0), (7, 1), (-3, 5), (2**62 + 9, 2**40 + 1), (-(2**63), -1)):
        literal = lambda v: f"(-{2**63 - 1} - 1)" if v == -(2**63) else f"({v})"
        s.case("exact", f"x * fold_in({literal(key)}, {literal(data)})", ("i64", np.array(threefry(key, data))))
    yield s
