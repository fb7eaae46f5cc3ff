"""Cases of random numbers: Philox 4x32-10, written anew in NumPy."""

import mpmath
import numpy as np

from oracle import Section, round_to

M0, M1, W0, W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85


def philox(counter, key):
    c = [counter & 0xFFFFFFFF, counter >> 32 & 0xFFFFFFFF, 0, 0]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = M0 * c[0], M1 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = k0 + W0 & 0xFFFFFFFF, k1 + W1 & 0xFFFFFFFF
    return c


def words(seed, count):
    return [w for block in range((count + 3) // 4) for w in philox(block, seed)][:count]


def uniform(dtype, seed, n):
    if dtype == "f64":
        w = words(seed, 2 * n)
        return np.array([((w[2 * i] >> 5) * 2.0**26 + (w[2 * i + 1] >> 6)) * 2.0**-53 for i in range(n)])
    bits = {"f32": 24, "f16": 11, "bf16": 8}[dtype]
    return np.array([(w >> 32 - bits) * 2.0**-bits for w in words(seed, n)])


def normal(dtype, seed, n):
    """Box and Muller; element pairs share two uniform numbers."""
    mpmath.mp.prec = 120
    out = []
    w = words(seed, 2 * n + 4)
    for j in range((n + 1) // 2):
        if dtype == "f64":
            a, b, c, d = w[4 * j: 4 * j + 4]
            u = 1 - mpmath.mpf((a >> 5) * 2**26 + (b >> 6)) / 2**53
            turn = mpmath.mpf((c >> 5) * 2**26 + (d >> 6)) / 2**53
        else:
            u = mpmath.mpf(float(np.float32(w[2 * j] >> 1) + np.float32(0.5))) / 2**31  # 31 bits, rounded to f32
            turn = mpmath.mpf(w[2 * j + 1] >> 8) / 2**24
        radius = mpmath.sqrt(-2 * mpmath.log(u))
        out += [float(radius * mpmath.cospi(2 * turn)), float(radius * mpmath.sinpi(2 * turn))]
    return round_to(dtype, np.array(out[:n]))


def sections(rng):
    s = Section("random numbers")
    one = s.input("i64", np.array(1))
    for seed in (0, 1, 12345, 2**40 + 7):
        block = lambda text: "{ seed(%d); return %s }" % (seed, text)
        s.case("exact", block("random_bits([10])"), ("i64", np.array(words(seed, 10))))
        for dtype in ("f16", "bf16", "f32", "f64"):
            s.case("exact", block(f"rand([3, 3], dtype: {dtype})"), (dtype, uniform(dtype, seed, 9).reshape(3, 3)))
            count = 200 if dtype == "f64" else 25
            s.case("randn", block(f"randn([{count}], dtype: {dtype})"), (dtype, normal(dtype, seed, count)))
        s.case("exact", block("randperm(9)"), ("i64", np.argsort(words(seed, 9), kind="stable")))
    yield s
