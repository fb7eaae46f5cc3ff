"""Cases of special functions, inverse hyperbolic ones, logarithms to other bases, parts of numbers, and shifts."""

import mpmath
import numpy as np
from numpy import longdouble as L

from oracle import FLOATS, INTS, Section, cast, is_float, round_to, views

mpmath.mp.prec = 120
INF, NAN = float("inf"), float("nan")
EVERYWHERE = [0.0, -0.0, INF, -INF, NAN]


def is_same(a, b):
    return (np.isnan(a) and np.isnan(b)) or (a == b and np.signbit(a) == np.signbit(b))


def on_arrays(function, edges):
    """A function of mpmath of one or more numbers, on arrays; `edges` lists what it gives where mpmath does not."""
    def one(*numbers):
        for known, value in edges:
            if all(map(is_same, np.atleast_1d(known), numbers)):
                return L(value)
        if not np.all(np.isfinite(numbers)):
            return L(NAN)
        y = function(*(mpmath.mpf(float(n)) for n in numbers))
        return L(NAN) if isinstance(y, mpmath.mpc) else L(mpmath.nstr(y, 25))

    def apply(*operands):
        arrays = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in operands))
        out = [one(*numbers) for numbers in zip(*(a.ravel().tolist() for a in arrays))]
        return np.array(out, dtype=L).reshape(arrays[0].shape)
    return apply


def lgamma(x):
    return mpmath.log(abs(mpmath.gamma(x)))


def digamma(x):
    return NAN if x < 0 and x == mpmath.floor(x) else mpmath.digamma(x)


def gamma(x):
    return NAN if x < 0 and x == mpmath.floor(x) else mpmath.gamma(x)


def sinc(x):
    return mpmath.sincpi(x)


def logit(x):
    return mpmath.log(x) - mpmath.log1p(-x) if 0 < x < 1 else NAN


def erfinv(x):
    return mpmath.erfinv(x) if abs(x) < 1 else NAN


# name: (tolerance, function, arguments beside those of EVERYWHERE, values at the edges)
UNARY = {
    "exp2": (lambda x: mpmath.power(2, min(max(x, -5000), 5000)), (-20, 16, [1, 10, -14, -24, 127, -149, 128, -151]),
             [(INF, INF), (-INF, 0.0)]),
    "log2": (lambda x: mpmath.log(x, 2), (0.01, 60, [1, 2, 1024, 0.5, -1, 1.25e-7]), [(0.0, -INF), (-0.0, -INF), (INF, INF)]),
    "log10": (mpmath.log10, (0.01, 60, [1, 10, 1000, 0.5, -1, 1.25e-7]), [(0.0, -INF), (-0.0, -INF), (INF, INF)]),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), (-50, 50, [27, -8, 6e-8, 60000]),
             [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)]),
    "asinh": (mpmath.asinh, (-5, 5, [1e-7, 3e4, -3e4]), [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)]),
    "acosh": (lambda x: mpmath.acosh(x) if x >= 1 else NAN, (1, 9, [1, 0.5, -3, 6e4]), [(INF, INF)]),
    "atanh": (lambda x: mpmath.atanh(x) if abs(x) < 1 else NAN, (-1, 1, [1, -1, 2, 1e-7]),
              [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF)]),
    "erfc": (mpmath.erfc, (-3, 3.2, [1e-7, 5.5, 9, -6]), [(INF, 0.0), (-INF, 2.0)]),
    "erfinv": (erfinv, (-1, 1, [1, -1, 2, 1e-7, 0.999]), [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF)]),
    "gamma": (gamma, (-4, 7, [1, 2, 5, -1, 8.5, -0.5]), [(0.0, INF), (-0.0, -INF), (INF, INF)]),
    "lgamma": (lgamma, (0.1, 20, [1, 2, -1, -0.5, -1.5, 1e4]), [(0.0, INF), (-0.0, INF), (INF, INF), (-INF, INF), (-1.0, INF)]),
    "digamma": (digamma, (0.1, 20, [1, 2, -1, -0.25, -1.75, 1e4]), [(0.0, -INF), (-0.0, INF), (INF, INF)]),
    "sinc": (sinc, (-3, 3, [1, 2.5, 1e-3]), [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0)]),
    "logit": (logit, (0.01, 0.99, [1, 0.5, -1, 2, 1e-4]), [(0.0, -INF), (-0.0, -INF), (1.0, INF)]),
    "deg2rad": (mpmath.radians, (-360, 360, [90]), [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)]),
    "rad2deg": (mpmath.degrees, (-7, 7, []), [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)]),
    "i0": (lambda x: mpmath.besseli(0, x), (-11, 11, [8]), [(INF, INF), (-INF, INF)]),
    "i1": (lambda x: mpmath.besseli(1, x), (-11, 11, [8]), [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)]),
    "j0": (lambda x: mpmath.besselj(0, x), (-30, 30, [8]), [(INF, 0.0), (-INF, 0.0)]),
    "j1": (lambda x: mpmath.besselj(1, x), (-30, 30, [8]),
           [(0.0, 0.0), (-0.0, -0.0), (INF, 0.0), (-INF, -0.0)]),
}
TOLERANCES = {"sinc": "composite", "logit": "composite", "deg2rad": "composite", "rad2deg": "composite",
              "i0": "composite", "i1": "composite", "j0": "bessel", "j1": "bessel"}


def unary_sections(rng):
    for dtype in [*FLOATS, "i32", "u8"]:
        s = Section("special functions of " + dtype)
        for name, (function, (low, high, others), edges) in UNARY.items():
            s = Section(f"{name} of {dtype}")
            if is_float(dtype):
                grid = round_to(dtype, rng.uniform(low, high, (3, 4)))
                special = round_to(dtype, np.array([*EVERYWHERE, *others], dtype=np.float64))
            else:
                grid = rng.integers(0, 9, (3, 4)).astype(INTS[dtype])
                special = np.array([1, 2, 5], dtype=INTS[dtype])
            kind = dtype if is_float(dtype) else "f32"
            reference = on_arrays(function, edges)
            fine, odd = s.input(dtype, grid), s.input(dtype, special)
            empty = s.input(dtype, np.zeros((0, 3), grid.dtype))
            has_zeros = TOLERANCES.get(name) == "bessel"  # which errors are not relative to
            point = s.input(dtype, grid.dtype.type(1) if has_zeros else grid[1, 2])
            for x in [fine, odd, *views(fine)[1:3], empty, point]:
                with np.errstate(all="ignore"):
                    y = reference(cast(kind, x.data, dtype))
                s.case(TOLERANCES.get(name, name), f"{name}({x.text})", (kind, round_to(kind, y)))
            yield s


def betaln(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def xlogy(x, y):
    return mpmath.mpf(0) if x == 0 else x * mpmath.log(y) if y > 0 else NAN


def xlog1py(x, y):
    return mpmath.mpf(0) if x == 0 else x * mpmath.log1p(y) if y > -1 else NAN


# name: (tolerance, function, ranges of both operands, values at the edges, pairs of edges)
BINARY = {
    "hypot": ("hypot", lambda a, b: mpmath.sqrt(a * a + b * b), (-9, 9), (-9, 9),
              [((0.0, 0.0), 0.0), ((INF, NAN), INF), ((NAN, -INF), INF), ((INF, 1.0), INF)]),
    "zeta": ("zeta", mpmath.zeta, (1.5, 9), (0.5, 9), [((1.0, 2.0), INF), ((0.5, 2.0), NAN), ((2.0, 0.0), INF), ((2.0, -1.0), INF)]),
    "beta": ("beta", mpmath.beta, (0.5, 6), (0.5, 6), []),
    "betaln": ("logarithms", betaln, (0.5, 30), (0.5, 30), []),
    "logaddexp": ("logarithms", lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)), (-9, 9), (-9, 9),
                  [((INF, INF), INF), ((-INF, -INF), -INF), ((INF, -INF), INF), ((-INF, 2.0), 2.0)]),
    "logaddexp2": ("logarithms", lambda a, b: mpmath.log(mpmath.power(2, a) + mpmath.power(2, b), 2), (-9, 9), (-9, 9),
                   [((INF, INF), INF), ((-INF, -INF), -INF), ((INF, -INF), INF), ((-INF, 2.0), 2.0)]),
    "xlogy": ("composite", xlogy, (-4, 4), (0.1, 9), [((0.0, 0.0), 0.0), ((0.0, INF), 0.0), ((0.0, -1.0), 0.0), ((1.0, 0.0), -INF)]),
    "xlog1py": ("composite", xlog1py, (-4, 4), (-0.9, 9), [((0.0, -1.0), 0.0), ((0.0, INF), 0.0), ((1.0, -1.0), -INF)]),
}


def binary_sections(rng):
    for dtype in [*FLOATS, "i32"]:
        for name, (tolerance, function, first, second, edges) in BINARY.items():
            s = Section(f"{name} of {dtype}")
            make = (lambda r, shape: round_to(dtype, rng.uniform(*r, shape))) if is_float(dtype) else \
                (lambda r, shape: rng.integers(max(2, int(r[0])), int(r[1]), shape).astype(np.int32))
            kind = dtype if is_float(dtype) else "f32"
            reference = on_arrays(function, edges)
            x, y, row = s.input(dtype, make(first, (3, 4))), s.input(dtype, make(second, (3, 4))), s.input(dtype, make(second, 4))
            pairs = [(x, y), (x.view("{}[::-1, ::2]", x.data[::-1, ::2]), y.view("{}[:, 1::2]", y.data[:, 1::2])), (x, row)]
            if is_float(dtype) and edges:
                pairs.append((s.input(dtype, [a for (a, _), _ in edges]), s.input(dtype, [b for (_, b), _ in edges])))
            for a, b in pairs:
                with np.errstate(all="ignore"):
                    z = reference(cast(kind, a.data, dtype), cast(kind, b.data, dtype))
                s.case(tolerance, f"{name}({a.text}, {b.text})", (kind, round_to(kind, z)))
            yield s


def polygamma_sections(rng):
    for dtype in FLOATS:
        s = Section("polygamma of " + dtype)
        x = s.input(dtype, round_to(dtype, rng.uniform(0.5, 6, (2, 3))))
        for n in (0, 1, 2, 3):
            y = on_arrays(lambda v, n=n: mpmath.polygamma(n, v), [])(x.data)
            s.case("digamma" if n == 0 else "zeta", f"polygamma({n}, {x.text})", (dtype, round_to(dtype, y)))
        yield s


# ---- Exact functions -----------------------------------------------------------------------------------------

def next_after(dtype, a, b):
    import ml_dtypes
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}[dtype]
    return np.nextafter(a.astype(kind), b.astype(kind)).astype(np.float64)


def heaviside(a, b):
    return np.where(np.isnan(a), a, np.where(a == 0, b, (a > 0) * 1.0))


EXACT = {
    "copysign": np.copysign, "fmax": np.fmax, "fmin": np.fmin, "fmod": np.fmod, "heaviside": heaviside,
}


def exact_sections(rng):
    for dtype in FLOATS:
        s = Section("parts of numbers of " + dtype)
        a = s.input(dtype, round_to(dtype, np.array([0.0, -0.0, 1.5, -2.25, INF, -INF, NAN, 7.0, -7.0, 3.0])))
        b = s.input(dtype, round_to(dtype, np.array([-1.0, 1.0, -0.0, NAN, 2.0, 5.0, 1.0, -2.5, 2.0, INF])))
        c = s.input(dtype, round_to(dtype, rng.uniform(-9, 9, (3, 4))))
        d = s.input(dtype, round_to(dtype, rng.uniform(-2, 2, (3, 4))))
        for x, y in ((a, b), (b, a), (c, d), (c.view("{}[::-1, ::2]", c.data[::-1, ::2]), d.view("{}[0, :2]", d.data[0, :2]))):
            with np.errstate(all="ignore"):
                for name, function in EXACT.items():
                    z = round_to(dtype, function(x.data, y.data))
                    s.case("exact", f"{name}({x.text}, {y.text})", (dtype, z))
                s.case("exact", f"nextafter({x.text}, {y.text})", (dtype, next_after(dtype, x.data, y.data)))
        for x in (a, b, c, c.view("{}[:, ::-2]", c.data[:, ::-2])):
            with np.errstate(all="ignore"):
                whole = np.trunc(x.data)
                s.case("exact", f"signbit({x.text})", ("bool", np.signbit(x.data)))
                s.case("exact", f"reciprocal({x.text})", (dtype, round_to(dtype, 1 / x.data)))
                s.case("exact", f"frac({x.text})", (dtype, x.data - whole))
                fraction, _ = np.modf(x.data)
                s.case("exact", f"modf({x.text})", (dtype, fraction), (dtype, whole))
                limits = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": float(np.finfo(np.float32).max),
                          "f64": float(np.finfo(np.float64).max)}[dtype]
                s.case("exact", f"nan_to_num({x.text})", (dtype, np.nan_to_num(x.data, nan=0.0, posinf=limits, neginf=-limits)))
                s.case("exact", f"nan_to_num({x.text}, nan: 2.0, posinf: 8, neginf: -1)",
                       (dtype, np.nan_to_num(x.data, nan=2.0, posinf=8.0, neginf=-1.0)))
        yield s


def close_sections(rng):
    for dtype in ("f16", "f32", "f64", "i32"):
        s = Section("closeness and blends of " + dtype)
        if is_float(dtype):
            base = np.array([0.0, 1.0, -2.5, INF, NAN, 100.0, 3.0])
            a = s.input(dtype, round_to(dtype, base))
            b = s.input(dtype, round_to(dtype, np.array([1e-7, 1.001, -2.5, INF, NAN, 101.0, -INF])))
        else:
            a, b = s.input(dtype, np.array([0, 1000, -5], dtype=np.int32)), s.input(dtype, np.array([0, 1001, 5], dtype=np.int32))
        wide = (a.data.astype(np.float64), b.data.astype(np.float64))
        for given, text in (({}, ""), ({"rtol": 0.05}, ", rtol: 0.05"), ({"atol": 2.0, "rtol": 0.0}, ", rtol: 0.0, atol: 2.0"),
                            ({"equal_nan": True}, ", equal_nan: true")):
            close = np.isclose(*wide, **given)
            s.case("exact", f"isclose({a.text}, {b.text}{text})", ("bool", close))
            s.case("exact", f"bool(allclose({a.text}, {b.text}{text})) & ({a.text} == {a.text})",
                   ("bool", np.all(close) & (a.data == a.data)))
        if is_float(dtype):
            x, y, w = (s.input(dtype, round_to(dtype, rng.uniform(0, 1, (2, 3)))) for _ in range(3))
            z = x.data.astype(L) + w.data.astype(L) * (y.data.astype(L) - x.data.astype(L))
            s.case("composite", f"lerp({x.text}, {y.text}, {w.text})", (dtype, round_to(dtype, z)))
            s.case("same", f"lerp({x.text}, {y.text}, 0.0)", (dtype, x.data))
            s.case("same", f"lerp({x.text}, {y.text}, 1)", (dtype, y.data))
        yield s


# ---- Shifts --------------------------------------------------------------------------------------------------

def shift(left, dtype, a, n):
    """A count that is negative, or not below the bits, shifts all of them out."""
    bits = np.dtype(INTS[dtype]).itemsize * 8
    out = []
    for x, k in zip(*(v.ravel().tolist() for v in np.broadcast_arrays(a, n))):
        inside = 0 <= k < bits
        y = (x << k if inside else 0) if left else (x >> k if inside else (-1 if x < 0 else 0))
        y &= 2**bits - 1
        out.append(y - 2**bits if np.dtype(INTS[dtype]).kind == "i" and y >= 2 ** (bits - 1) else y)
    return np.array(out, dtype=INTS[dtype]).reshape(np.broadcast_shapes(np.shape(a), np.shape(n)))


def shift_sections(rng):
    for dtype in INTS:
        s = Section("shifts of " + dtype)
        info = np.iinfo(INTS[dtype])
        a = s.input(dtype, rng.integers(info.min, info.max, (3, 4), dtype=INTS[dtype], endpoint=True))
        n = s.input(dtype, rng.integers(0, info.bits, (3, 4)).astype(INTS[dtype]))
        far = s.input(dtype, np.array([info.bits, info.bits - 1, 100, -1 if info.min < 0 else 1]).astype(INTS[dtype]))
        flags = s.input("bool", np.array([True, False, True, True]))
        turned = a.view("{}[::-1, ::2]", a.data[::-1, ::2])
        for symbol, name, left in (("<<", "left_shift", True), (">>", "right_shift", False)):
            s.case("exact", f"{a.text} {symbol} {n.text}", (dtype, shift(left, dtype, a.data, n.data)))
            s.case("exact", f"{name}({turned.text}, {n.text}[:, ::2])", (dtype, shift(left, dtype, turned.data, n.data[:, ::2])))
            s.case("exact", f"{a.text} {symbol} {far.text}", (dtype, shift(left, dtype, a.data, far.data)))
            s.case("exact", f"{a.text} {symbol} 3", (dtype, shift(left, dtype, a.data, 3)))
            s.case("exact", f"5 {symbol} {n.text}", (dtype, shift(left, dtype, np.full((3, 4), 5), n.data)))
            s.case("exact", f"{a.text} {symbol} {flags.text}", (dtype, shift(left, dtype, a.data, flags.data.astype(int))))
            s.error("value", f"{a.text} {symbol} -1")
            s.error("value", f"{a.text} {symbol} 64")
            s.error("type", f"{a.text} {symbol} 1.5")
            s.error("type", f"{flags.text} {symbol} {flags.text}")
        yield s


def remainder_sections(rng):
    for dtype in ("i8", "i64", "u8"):
        s = Section("fmod of " + dtype)
        info = np.iinfo(INTS[dtype])
        a = s.input(dtype, rng.integers(info.min, info.max, (3, 4), dtype=INTS[dtype], endpoint=True))
        b = s.input(dtype, rng.integers(1, 9, (3, 4)).astype(INTS[dtype]) * (-1 if info.min < 0 else 1))
        s.case("exact", f"fmod({a.text}, {b.text})", (dtype, np.fmod(a.data, b.data)))
        s.case("exact", f"fmax({a.text}, {b.text})", (dtype, np.fmax(a.data, b.data)))
        s.case("exact", f"fmin({a.text}, {b.text})", (dtype, np.fmin(a.data, b.data)))
        s.error("value", f"fmod({a.text}, 0)")
        yield s


def sections(rng):
    for part in (unary_sections, binary_sections, polygamma_sections, exact_sections, close_sections, shift_sections,
                 remainder_sections):
        yield from part(rng)
