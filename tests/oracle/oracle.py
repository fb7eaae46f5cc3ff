"""Writes case files of the oracle: tensors, dtypes, views and sections. README.md describes the format."""

import numpy as np

INTS = {"u8": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u16": np.uint16,
        "u32": np.uint32, "u64": np.uint64}
FLOATS = ["f16", "bf16", "f32", "f64"]
WIDE_UNSIGNED = ["u16", "u32", "u64"]  # unsigned.py has their cases
DTYPES = ["bool", "u8", "i8", "i16", "i32", "i64", *FLOATS]
LONG = np.longdouble


def is_float(dtype):
    return dtype in FLOATS


def listing(values):
    """Writes host values as a list of the language."""
    return "[" + ", ".join(map(str, values)) + "]"


def round_to(dtype, x):
    """Rounds numbers to a float dtype once, ties to even; the result is f64."""
    with np.errstate(all="ignore"):
        x = np.asarray(x)
        if dtype == "f64":
            return x.astype(np.float64)
        if dtype == "f32":
            return x.astype(np.float32).astype(np.float64)
        if dtype == "f16":
            return x.astype(np.float16).astype(np.float64)
        import ml_dtypes
        return x.astype(np.float64).astype(ml_dtypes.bfloat16).astype(np.float64)


def cast(dtype, x, source=None):
    """Converts as the op cast does: to integers floats truncate and saturate, and integers wrap around."""
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        if is_float(dtype):
            if dtype in ("f16", "bf16") and source not in ("f16", "bf16"):
                x = x.astype(np.float32)  # f64 and integers reach halves through f32
            elif x.dtype.kind in "iu":
                return x.astype({"f32": np.float32, "f64": np.float64}[dtype]).astype(np.float64)
            return round_to(dtype, x)
        if dtype == "bool":
            return x != 0
        if x.dtype.kind != "f":
            return x.astype(INTS[dtype])
        info = np.iinfo(INTS[dtype])
        whole = np.trunc(np.nan_to_num(x, nan=0.0, posinf=1e300, neginf=-1e300))
        inside = np.where((whole >= float(info.min)) & (whole < float(info.max)), whole, 0).astype(INTS[dtype])
        return np.where(whole >= float(info.max), INTS[dtype](info.max),
                        np.where(whole <= float(info.min), INTS[dtype](info.min), inside)).astype(INTS[dtype])


def promote(a, b):
    """PyTorch's table, for two tensors; the least integer that holds two others, or None."""
    if a == b:
        return a
    if is_float(a) and is_float(b):
        return "f32" if {a, b} == {"f16", "bf16"} else max(a, b, key=FLOATS.index)
    if is_float(a) or is_float(b):
        return a if is_float(a) else b
    if "bool" in (a, b):
        return b if a == "bool" else a
    kind = np.promote_types(INTS[a], INTS[b])
    return None if kind.kind == "f" else f"{kind.kind}{8 * kind.itemsize}"


class A:
    """A tensor: an expression, its dtype and its elements (floats as f64)."""

    def __init__(self, text, dtype, data):
        self.text, self.dtype = text, dtype
        self.data = np.asarray(data)

    @property
    def shape(self):
        return self.data.shape

    def view(self, text, data):
        """The same elements through a view; {} in the text is this expression."""
        return A(text.replace("{}", self.text), self.dtype, data)


def number(dtype, x):
    if not is_float(dtype):
        return str(int(x))
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    if dtype == "f64":
        text = repr(float(x))
    else:
        text = repr(np.float32(x).item()) if dtype != "f32" else str(np.float32(x))
        if dtype in ("f16", "bf16"):
            text = shortest(dtype, float(x))
    return text[:-2] if text.endswith(".0") else text


def shortest(dtype, x):
    """The shortest decimal that rounds to this half through f64."""
    for digits in range(1, 18):
        text = "%.*g" % (digits, x)
        if round_to(dtype, np.float64(text)) == x:
            return text
    raise ValueError(x)


def encode(value):
    """One result: (dtype, elements), or a host number."""
    if isinstance(value, bool):
        return "truth " + str(int(value))
    if isinstance(value, int):
        return f"int {value}"
    if isinstance(value, float):
        return "float " + number("f64", value)
    dtype, data = value
    data = np.asarray(data)
    head = f"{dtype}[{', '.join(map(str, data.shape))}]"
    return " ".join([head, *(number(dtype, x) for x in data.ravel())])


class Section:
    """Inputs and the cases that use them."""

    def __init__(self, name):
        self.name, self.inputs, self.cases = name, [], []
        self.seen = set()

    def input(self, dtype, data):
        name = "xyzwuvpqrstabcdeghklmno"[len(self.inputs)]
        data = np.asarray(data)
        self.inputs.append((name, encode((dtype, data))))
        return A(name, dtype, data)

    def case(self, tolerance, text, *results):
        if text in self.seen:
            return
        self.seen.add(text)
        value = " | ".join(map(encode, results))
        if tolerance in ("exact", "bound", "onnx") and value in [known for _, known in self.inputs]:
            tolerance = "same"  # the operand itself may be the result
        self.cases.append("\t".join([tolerance, text, value]))

    def error(self, kind, text):
        if text not in self.seen:
            self.seen.add(text)
            self.cases.append("\t".join(["error:" + kind, text]))


def write(path, about, sections):
    """Writes a file; its last line holds the number of cases, so that a cut file is noticed."""
    lines = ["# " + line for line in about]
    count = 0
    for section in sections:
        lines.append("section\t" + section.name)
        lines += ["\t".join(["input", name, value]) for name, value in section.inputs]
        lines += section.cases
        count += len(section.cases)
    lines.append(f"cases\t{count}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return count


# ---- Elements and views --------------------------------------------------------------------------------------

LIMITS = {"f16": (65504.0, 2.0**-14, 2.0**-24), "bf16": (3.3895313892515355e38, 2.0**-126, 2.0**-133),
          "f32": (3.4028234663852886e38, 2.0**-126, 2.0**-149), "f64": (1.7976931348623157e308, 2.0**-1022, 5e-324)}


def specials(dtype):
    if dtype == "bool":
        return [0, 1]
    if not is_float(dtype):
        info = np.iinfo(INTS[dtype])
        return [info.min, info.max, 0, 1, 2, 3, info.max - 1, info.min + 1]
    most, least_normal, least = LIMITS[dtype]
    return [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, most, -most, least_normal, least, -least]


def numbers(rng, dtype, shape, special=False):
    """Random elements; `special` begins them with extreme values."""
    count = int(np.prod(shape))
    if dtype == "bool":
        data = rng.integers(0, 2, count).astype(bool)
    elif not is_float(dtype):
        info = np.iinfo(INTS[dtype])
        data = rng.integers(max(info.min, -20), min(info.max, 20), count).astype(INTS[dtype])
        if special:
            wide = rng.integers(info.min, info.max, count, dtype=INTS[dtype], endpoint=True)
            data = np.where(rng.random(count) < 0.5, wide, data).astype(INTS[dtype])
    else:
        data = rng.normal(0, 2, count)
        if special:
            reach = {"f16": 14, "bf16": 100, "f32": 100, "f64": 900}[dtype]
            wild = rng.choice([-1, 1], count) * rng.uniform(1, 2, count) * 2.0 ** rng.integers(-reach, reach, count)
            near = rng.normal(0, 1, count) * 10.0 ** -rng.integers(0, 4, count)
            pick = rng.random(count)
            data = np.where(pick < 0.25, wild, np.where(pick < 0.5, near, data))
        data = round_to(dtype, data)
    if special:
        first = np.array(specials(dtype), dtype=data.dtype)[:count]
        data[: len(first)] = first
    return data.reshape(shape)


def small(rng, dtype, shape, low=-6, high=7, part=4):
    """Elements whose sums and products of few are exact: whole numbers, or quarters of them in floats."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if not is_float(dtype):
        return rng.integers(0 if dtype[0] == "u" else low, high, shape).astype(INTS[dtype])
    return rng.integers(low, high, shape) / float(part)


def views(x):
    """Views of a tensor: as it is, reversed, stepped, transposed, expanded, sliced."""
    d, rank = x.data, x.data.ndim
    out = [x]
    if rank == 0:
        out.append(x.view("expand({}, [3])", np.broadcast_to(d, (3,))))
        return out
    out += [x.view("{}[::-1]", d[::-1]), x.view("{}[::2]", d[::2]), x.view("{}[1:]", d[1:])]
    if rank >= 2:
        out += [x.view("transpose({})", np.swapaxes(d, -1, -2)), x.view("{}[..., ::-1]", d[..., ::-1]),
                x.view("{}[:, ::-2]", d[:, ::-2]), x.view("transpose({})[::-1, 1:]", np.swapaxes(d, -1, -2)[::-1, 1:]),
                x.view("permute({}, %s)" % list(range(rank))[::-1], d.transpose())]
        first = d[:1]
        out.append(x.view("expand({}[:1], %s)" % [3, *d.shape[1:]], np.broadcast_to(first, (3, *d.shape[1:]))))
    out.append(x.view("{}[nil]", d[None]))
    out.append(x.view("{}[:0]", d[:0]))
    return out


def pick(rng, items, count):
    """Some of a list, in its order; always the first."""
    items = list(items)
    if count >= len(items):
        return items
    chosen = sorted({0, *rng.choice(len(items), count - 1, replace=False).tolist()})
    return [items[i] for i in chosen]
