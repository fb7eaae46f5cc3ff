"""Cases of elementwise builtins and operators, casts, where and clamp."""

import mpmath
import numpy as np
from numpy import longdouble as L

from oracle import A, DTYPES, FLOATS, INTS, LONG, Section, cast, is_float, number, numbers, pick, promote, round_to, views

mpmath.mp.prec = 120


def precise(function):
    """A function of mpmath, on arrays; the result holds long doubles."""
    def apply(x):
        x = np.asarray(x, dtype=np.float64)
        out = [L(mpmath.nstr(function(mpmath.mpf(float(v))), 25)) if np.isfinite(v) else v for v in x.ravel()]
        return np.array(out, dtype=LONG).reshape(x.shape)
    return apply


def at_infinity(function, low, high):
    """Adds the limits at the infinities, of which -0 stands for what vanishes from below."""
    def apply(x):
        y = function(x)
        if low == 0 and np.signbit(low):
            y = np.where(y == 0, np.copysign(L(0), x), y)  # mpmath has no -0
        return np.where(x == -np.inf, L(low), np.where(x == np.inf, L(high), y))
    return apply


def normal(x):
    return mpmath.mpf(0 if x < -60 else 1) if abs(x) > 60 else mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-min(max(x, -2000), 2000)))


def gelu_tanh(x):
    if abs(x) > 60:
        return x * 0 if x < 0 else x
    u = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3)
    return x / (1 + mpmath.exp(-2 * u))


ERF = at_infinity(lambda x: np.where(x == 0, x, precise(mpmath.erf)(x)), -1, 1)
GELU = at_infinity(precise(lambda x: x * normal(x)), -0.0, np.inf)
GELU_TANH = at_infinity(precise(gelu_tanh), -0.0, np.inf)
SIGMOID = at_infinity(precise(lambda x: sigmoid(x)), 0, 1)
SILU = at_infinity(precise(lambda x: x * sigmoid(x)), -0.0, np.inf)
SOFTPLUS = at_infinity(precise(lambda x: x if x > 2000 else mpmath.log1p(mpmath.exp(max(x, -2000)))), 0, np.inf)

# name: the function in long doubles (floats only; other dtypes become f32)
FUNCTIONS = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "sigmoid": SIGMOID,
    "silu": SILU, "softplus": SOFTPLUS, "erf": ERF, "gelu": GELU, "gelu_tanh": GELU_TANH,
}
EXACT_FUNCTIONS = {"sqrt": "exact"}


def relu(x):
    return np.where(x <= 0, np.zeros_like(x), x)


def sign(x):
    return np.where(x > 0, x.dtype.type(1), np.where(x < 0, np.array(-1).astype(x.dtype), x))


SAME = {"neg": np.negative, "abs": np.abs, "sign": sign, "square": np.square, "relu": relu,
        "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}
PREDICATES = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def to_float(x):
    return x if is_float(x.dtype) else A(x.text, "f32", cast("f32", x.data, x.dtype))


def unary_result(name, x):
    """(tolerance, dtype, elements), or None where the op refuses the dtype."""
    with np.errstate(all="ignore"):
        if name in FUNCTIONS:
            f = to_float(x)
            y = np.sqrt(f.data) if name == "sqrt" else FUNCTIONS[name](f.data.astype(LONG))
            return EXACT_FUNCTIONS.get(name, name), f.dtype, round_to(f.dtype, y)
        if name in PREDICATES:
            return "exact", "bool", PREDICATES[name](to_float(x).data)
        if name == "logical_not":
            return "exact", "bool", x.data == 0
        if name == "bit_not":
            return None if is_float(x.dtype) else ("exact", x.dtype, np.invert(x.data))
        if x.dtype == "bool":
            return None
        if name in ("floor", "ceil", "round", "trunc") and not is_float(x.dtype):
            return "exact", x.dtype, x.data
        y = SAME[name](x.data)
        return "exact", x.dtype, round_to(x.dtype, y) if is_float(x.dtype) else y


def unary_sections(rng, dtypes=DTYPES):
    names = [*FUNCTIONS, *SAME, *PREDICATES, "logical_not", "bit_not"]
    for dtype in dtypes:
        s = Section("unary of " + dtype)
        floating = is_float(dtype)
        wide = s.input(dtype, numbers(rng, dtype, (4, 6) if floating else (3, 4), special=True))
        fine = s.input(dtype, numbers(rng, dtype, (3, 4)))
        point, empty = s.input(dtype, numbers(rng, dtype, ())), s.input(dtype, numbers(rng, dtype, (0, 3)))
        unit = s.input(dtype, round_to(dtype, rng.uniform(-1, 1, 8)) if floating else numbers(rng, dtype, (8,)))
        wild = s.input(dtype, numbers(rng, dtype, (40,), special=True)) if floating else unit
        for name in names:
            chosen = [wide, wild, *pick(rng, views(fine)[1:], 3), point, empty, unit]
            for x in chosen:
                result = unary_result(name, x)
                if result is None:
                    s.error("type", f"{name}({x.text})")
                    continue
                tolerance, kind, y = result
                s.case(tolerance, f"{name}({x.text})" if rng.random() < 0.7 else f"{x.text}.{name}()", (kind, y))
        if dtype != "bool":
            s.case("exact", f"-{wide.text}", (dtype, np.negative(wide.data)))
        yield s


# ---- Two operands --------------------------------------------------------------------------------------------

def first_of(condition):
    return lambda a, b: np.where(condition(a, b) | (a != a), a, b)


def floordiv(a, b):
    return np.floor_divide(a, b)


ARITHMETIC = {"add": ("+", np.add), "sub": ("-", np.subtract), "mul": ("*", np.multiply),
              "floordiv": ("//", floordiv), "mod": ("%", np.remainder), "pow": ("**", np.power),
              "minimum": (None, first_of(np.less_equal)), "maximum": (None, first_of(np.greater_equal))}
COMPARE = {"eq": ("==", np.equal), "ne": ("!=", np.not_equal), "lt": ("<", np.less), "le": ("<=", np.less_equal),
           "gt": (">", np.greater), "ge": (">=", np.greater_equal)}
BITS = {"bit_and": ("&", np.bitwise_and), "bit_or": ("|", np.bitwise_or), "bit_xor": ("^", np.bitwise_xor)}
ON_BOOL = {"add": np.logical_or, "mul": np.logical_and, "minimum": np.logical_and, "maximum": np.logical_or}


def integer_power(a, b):
    """A negative exponent gives the whole part: 0, but for bases 1 and -1."""
    a, b = np.broadcast_arrays(a, b)
    out = []
    bits = a.dtype.itemsize * 8
    for x, n in zip(a.ravel().tolist(), b.ravel().tolist()):
        if n < 0:
            out.append(1 if x == 1 else (-1 if n % 2 else 1) if x == -1 else 0)
        else:
            out.append(pow(x, n, 2**bits))
    wrapped = [v - 2**bits if a.dtype.kind == "i" and v >= 2 ** (bits - 1) else v for v in out]
    return np.array(wrapped, dtype=a.dtype).reshape(a.shape)


def in_floats(function, dtype, a, b):
    """An op of floats in the format that computes it: f32 for halves."""
    kind = np.float64 if dtype == "f64" else np.float32
    return round_to(dtype, np.asarray(function(a.astype(kind), b.astype(kind))))


def binary_result(name, a, b):
    """(tolerance, dtype, elements), or None for a type that is refused, or the kind of another error."""
    dtype = promote(a.dtype, b.dtype)
    if dtype is None:
        return None
    if name in ("div", "atan2"):
        dtype = dtype if is_float(dtype) else "f32"
    x, y = cast(dtype, a.data, a.dtype), cast(dtype, b.data, b.dtype)
    with np.errstate(all="ignore"):
        if name in COMPARE:
            return "exact", "bool", COMPARE[name][1](x, y)
        if name in BITS:
            return None if is_float(dtype) else ("exact", dtype, BITS[name][1](x, y))
        if name == "div":
            return "exact", dtype, in_floats(np.divide, dtype, x, y)
        if name == "atan2":
            return "atan2", dtype, round_to(dtype, np.arctan2(x.astype(LONG), y.astype(LONG)))
        if dtype == "bool":
            return ("exact", dtype, ON_BOOL[name](x, y)) if name in ON_BOOL else None
        if not is_float(dtype):
            if name in ("floordiv", "mod") and np.any(np.broadcast_arrays(y, x)[0] == 0):
                return "value"
            if name == "pow":
                return "exact", dtype, integer_power(x, y)
            return "exact", dtype, ARITHMETIC[name][1](x, y).astype(INTS[dtype])
        if name == "pow":
            return "pow", dtype, round_to(dtype, np.power(x.astype(LONG), y.astype(LONG)))
        is_bound = name in ("minimum", "maximum") and dtype != "f64"
        return "bound" if is_bound else "exact", dtype, in_floats(ARITHMETIC[name][1], dtype, x, y)


def text_of(rng, name, a, b):
    symbol = {**ARITHMETIC, **COMPARE, **BITS, "div": ("/", None), "atan2": (None, None)}[name][0]
    return f"{a} {symbol} {b}" if symbol and rng.random() < 0.7 else f"{name}({a}, {b})"


def add_binary(s, rng, name, a, b):
    result = binary_result(name, a, b)
    text = text_of(rng, name, a.text, b.text)
    if result is None or isinstance(result, str):
        s.error(result or "type", text)
    else:
        s.case(result[0], text, result[1:])


def binary_sections(rng, dtypes=DTYPES):
    names = [*ARITHMETIC, *COMPARE, *BITS, "div", "atan2"]
    for dtype in dtypes:
        s = Section("binary of " + dtype)
        a, b = (s.input(dtype, numbers(rng, dtype, (4, 6), special=True)) for _ in range(2))
        c = s.input(dtype, np.where(numbers(rng, dtype, (3, 4)) == 0, 1, numbers(rng, dtype, (3, 4))).astype(a.data.dtype))
        d = s.input(dtype, np.ones((3, 4), a.data.dtype) + np.asarray(numbers(rng, dtype, (3, 4)) != 0, a.data.dtype)
                    if dtype != "bool" else numbers(rng, dtype, (3, 4)))
        row, column = s.input(dtype, numbers(rng, dtype, (4,))), s.input(dtype, numbers(rng, dtype, (3, 1)))
        point, empty = s.input(dtype, numbers(rng, dtype, ())), s.input(dtype, numbers(rng, dtype, (0, 4)))
        turned = A(f"transpose({b.text})[::-1]", dtype, b.data.T[::-1])
        other = A(f"transpose({a.text})", dtype, a.data.T)
        for name in names:
            pairs = [(a, b), (other, turned), (c, d), (d, c), (c.view("{}[::-1, ::2]", c.data[::-1, ::2]), column),
                     (row, column), (point, c), (empty, row), (c, point)]
            for x, y in pairs:
                add_binary(s, rng, name, x, y)
            refused = binary_result(name, a, a) is None
            s.error("type" if refused else "shape", text_of(rng, name, a.text, row.text))
        yield s
    mixed = Section("binary of two dtypes")
    others = [dtype for dtype in DTYPES if dtype not in dtypes]
    inputs = [mixed.input(dtype, numbers(rng, dtype, (7,), special=not is_float(dtype))) for dtype in [*dtypes, *others]]
    for x in inputs:
        for y in inputs:
            if x is y or not {x.dtype, y.dtype} & set(dtypes):
                continue
            for name in pick(rng, names, 5):
                add_binary(mixed, rng, name, x, y)
    yield mixed


# ---- Host numbers beside tensors, casts, where, clamp ---------------------------------------------------------

def fits(dtype, n):
    return is_float(dtype) or np.iinfo(INTS[dtype]).min <= n <= np.iinfo(INTS[dtype]).max


def weak_sections(rng, dtypes=DTYPES):
    """A host number keeps the dtype of the tensor, unless its class is higher."""
    for dtype in dtypes:
        s = Section("host numbers beside " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (2, 4), special=not is_float(dtype)))
        for n in (0, 1, 2, -3, 1.5, 1000, 3e9, -2.0):
            kind = "int" if isinstance(n, int) else "float"
            dtype_of = dtype if is_float(dtype) or (kind == "int" and dtype != "bool") else \
                ("i64" if kind == "int" else "f32")
            other_text = repr(n)
            if kind == "int" and not fits(dtype_of, n):
                for name in pick(rng, [*COMPARE], 4):
                    y = COMPARE[name][1](x.data.astype(object), n).astype(bool)
                    s.case("exact", f"{x.text} {COMPARE[name][0]} {other_text}", ("bool", y))
                for name in ("add", "mul"):
                    s.error("value", f"{x.text} {ARITHMETIC[name][0]} {other_text}")
                continue
            wide = A(x.text, dtype_of, cast(dtype_of, x.data, dtype))
            other = A(other_text, dtype_of, cast(dtype_of, np.array(n)))
            for name in pick(rng, [*COMPARE, "add", "sub", "mul", "minimum", "maximum", "div"], 7):
                if name == "div" and dtype_of not in FLOATS:
                    continue
                add_binary(s, rng, name, *((wide, other) if rng.random() < 0.6 else (other, wide)))
        yield s


def cast_sections(rng, dtypes=DTYPES):
    s = Section("casts")
    every = [*DTYPES, *(dtype for dtype in dtypes if dtype not in DTYPES)]
    for dtype in every:
        x = s.input(dtype, numbers(rng, dtype, (3, 6), special=True))
        point = x.view("{}[0, 1]", x.data[0, 1])
        for to in every if dtype in dtypes else dtypes:
            s.case("exact", f"{x.text}[::-1].to({to}) == {x.text}[::-1].to({to})" if to == dtype else
                   f"{x.text}[::-1].to({to})",
                   ("bool", x.data[::-1] == x.data[::-1]) if to == dtype else (to, cast(to, x.data[::-1], dtype)))
            form = rng.choice([f"{to}(%s)", f"tensor(%s, dtype: {to})"])
            if to != dtype:
                s.case("exact", form % point.text, (to, cast(to, point.data, dtype)))
    yield s


def choice_sections(rng, dtypes=DTYPES):
    for dtype in dtypes:
        s = Section("where and clamp of " + dtype)
        c, x, y = s.input("bool", numbers(rng, "bool", (3, 4))), *(s.input(dtype, numbers(rng, dtype, (3, 4), special=True))
                                                                    for _ in range(2))
        for a in pick(rng, views(x), 4):
            if a.shape != (3, 4):
                continue
            s.case("exact", f"where({c.text}, {a.text}, {y.text})", (dtype, np.where(c.data, a.data, y.data)))
            s.case("exact", f"where({c.text}[::-1], {a.text}, {y.text}[0])",
                   (dtype, np.where(c.data[::-1], a.data, y.data[0])))
        s.case("exact", f"where({c.text}[:, :1], {x.text}, {y.text}[:1, 2:3])",
               (dtype, np.where(c.data[:, :1], x.data, y.data[:1, 2:3])))
        s.case("exact", f"where({x.text} == {y.text}, {x.text}, {y.text})",
               (dtype, np.where(x.data == y.data, x.data, y.data)))
        if dtype == "bool":
            continue
        for low, high in ((-2, 3), (0, 100), (5, None), (None, 4)):
            if not fits(dtype, low or 0):
                continue
            given = ", ".join(f"{n}: {v}" for n, v in (("min", low), ("max", high)) if v is not None)
            d = x.data
            if low is not None:
                d = np.where(d < low, np.array(low, d.dtype), d)
            if high is not None:
                d = np.where(d > high, np.array(high, d.dtype), d)
            tolerance = "bound" if is_float(dtype) and dtype != "f64" else "exact"
            s.case(tolerance, f"clamp({x.text}, {given})", (dtype, d))
            s.case(tolerance, f"clamp({x.text}[::-1], {given})", (dtype, d[::-1]))
        s.error("shape", f"where({c.text}[:2], {x.text}, {y.text})")
        yield s


def host_sections(rng):
    """Host numbers are computed by the bodies of f64."""
    s = Section("host numbers")
    t = s.input("f64", np.zeros(1))
    for name in FUNCTIONS:
        for v in rng.uniform(0.05, 0.95, 2):
            text = number("f64", v)
            _, _, y = unary_result(name, A(text, "f64", np.array(v)))
            s.case(EXACT_FUNCTIONS.get(name, name), f"{t.text} + {name}({text})", ("f64", y.reshape(1)))
    yield s


def sections(rng):
    for part in (unary_sections, binary_sections, weak_sections, cast_sections, choice_sections, host_sections):
        yield from part(rng)
