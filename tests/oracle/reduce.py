"""Cases of reductions, running sums and products, and order: sums are of elements that add exactly."""

import itertools

import numpy as np

from oracle import DTYPES, INTS, LONG, Section, is_float, numbers, pick, round_to, small, views


def axes_of(rank):
    """All that may be given as axis, as text and as NumPy's axis."""
    out = [(None, "", None)]
    for axis in range(rank):
        out += [(axis, f"axis: {axis}", axis), (axis - rank, f"axis: {axis - rank}", axis)]
    for pair in itertools.combinations(range(rank), 2):
        out.append((pair, f"axis: {list(pair)}", pair))
    if rank >= 2:
        out.append((0, "axis: tensor(1)", 1))
    return out


def total(name, dtype, d, **where):
    if not is_float(dtype):
        kind = "u64" if dtype == "u64" else "i64"
        return kind, (np.sum if name == "sum" else np.prod)(d.astype(INTS[kind]), **where)
    return dtype, round_to(dtype, (np.sum if name == "sum" else np.prod)(d, **where))


def arguments(text, given, keepdims):
    return ", ".join(part for part in (text, given, "keepdims: true" if keepdims else "") if part)


def reduce_one(s, name, x, given, axis, keepdims):
    d = x.data
    where = {"axis": axis, "keepdims": keepdims}
    call = f"{name}({arguments(x.text, given, keepdims)})"
    if name in ("max", "min", "argmax", "argmin"):
        extents = d.shape if axis is None else [d.shape[a] for a in np.atleast_1d(axis)]
        if isinstance(axis, tuple) and name.startswith("arg"):
            s.error("type", call)
            return
        if 0 in extents:
            s.error("value", call)
            return
        function = {"max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin}[name]
        s.case("exact", call, ("i64" if name.startswith("arg") else x.dtype, function(d, **where)))
    elif name in ("sum", "prod"):
        s.case("exact", call, total(name, x.dtype, d, **where))
    else:
        s.case("exact", call, ("bool", (np.any if name == "any" else np.all)(d != 0, **where)))


NAMES = ["sum", "prod", "max", "min", "argmax", "argmin", "any", "all"]


def exact_sections(rng, dtypes=DTYPES):
    for dtype in dtypes:
        s = Section("reductions of " + dtype)
        matrix = s.input(dtype, small(rng, dtype, (3, 4)))
        cube = s.input(dtype, small(rng, dtype, (2, 3, 2), -2, 3))
        special = s.input(dtype, numbers(rng, dtype, (2, 7), special=True))
        empty, point = s.input(dtype, small(rng, dtype, (0, 3))), s.input(dtype, small(rng, dtype, ()))
        factors = s.input(dtype, rng.choice([1, 2], (3, 4)).astype(matrix.data.dtype) if dtype != "bool" else
                          small(rng, dtype, (3, 4)))
        for name in NAMES:
            operands = [*pick(rng, views(factors if name == "prod" else matrix), 6), cube, point, empty,
                        *([special] if name not in ("sum", "prod") else [])]
            for x in operands:
                for _, given, axis in pick(rng, axes_of(x.data.ndim), 3):
                    if x is special and is_float(dtype) and name in ("max", "min") and axis is None:
                        continue
                    reduce_one(s, name, x, given, axis, bool(rng.random() < 0.3))
            s.error("index", f"{name}({matrix.text}, axis: 2)")
            s.error("index", f"{name}({matrix.text}, axis: -3)")
        yield s


def float_sections(rng, dtypes=DTYPES):
    """Reductions that round, and statistics."""
    for dtype in dtypes:
        s = Section("statistics of " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (4, 6)))
        positive = s.input(dtype, round_to(dtype, rng.uniform(0.5, 2, (3, 50))) if is_float(dtype) else
                           small(rng, dtype, (3, 50), 1, 5))
        kind = dtype if is_float(dtype) else "f32"
        for a in [*pick(rng, views(x), 6), positive]:
            if 0 in a.shape:
                continue
            d = a.data.astype(LONG)
            for _, given, axis in pick(rng, axes_of(a.data.ndim), 3):
                keep = bool(rng.random() < 0.3)
                args = arguments(a.text, given, keep)
                where = {"axis": axis, "keepdims": keep}
                s.case("statistic", f"mean({args})", (kind, round_to(kind, d.mean(**where))))
                s.case("statistic", f"var({args}, correction: 0)", (kind, round_to(kind, d.var(**where))))
                s.case("statistic", f"std({args}, correction: 0)", (kind, round_to(kind, d.std(**where))))
                count = np.prod([d.shape[i] for i in (range(d.ndim) if axis is None else np.atleast_1d(axis))])
                if count > 1:
                    s.case("statistic", f"var({args})", (kind, round_to(kind, d.var(ddof=1, **where))))
                for order, y in (("2", np.sqrt((d * d).sum(**where))), ("1", np.abs(d).sum(**where)),
                                 ("float(\"inf\")", np.abs(d).max(**where)), ("float(\"-inf\")", np.abs(d).min(**where)),
                                 ("0", (d != 0).sum(**where)), ("3", (np.abs(d) ** 3).sum(**where) ** (LONG(1) / 3))):
                    if rng.random() < 0.5:
                        s.case("norm", f"norm({arguments(a.text, 'ord: ' + order, False)}" +
                               (", " + arguments("", given, keep) if arguments("", given, keep) else "") + ")",
                               (kind, round_to(kind, y)))
                m = d.max(axis=axis, keepdims=True)
                y = np.log(np.exp(d - m).sum(**where)) + (m if keep else m.reshape(d.sum(axis=axis).shape))
                s.case("logsumexp", f"logsumexp({args})", (kind, round_to(kind, y)))
        if is_float(dtype):
            s.case("sum", f"sum({positive.text}, axis: 1)", (dtype, round_to(dtype, positive.data.astype(LONG).sum(1))))
            s.case("product", f"prod({positive.text}[:, :20], axis: 1)",
                   (dtype, round_to(dtype, positive.data[:, :20].astype(LONG).prod(1))))
        yield s
    s = Section("long rows")
    x = s.input("i64", np.arange(3))
    for n in (127, 128, 129, 4095, 4096, 4097, 10000, 70000):
        row = np.arange(n) % 7 - 3
        for dtype in ("i64", "f32", "f64", "f16"):
            if dtype == "f16" and n > 4097:
                continue
            text = f"(arange({n}) % 7 - {x.text}[0] - 3).to({dtype})" if dtype != "i64" else f"(arange({n}) % 7 - {x.text}[0] - 3)"
            s.case("exact", f"sum({text})", (dtype, np.float64(row.sum()) if dtype != "i64" else row.sum()))
            s.case("exact", f"argmax({text} * {text})", ("i64", np.argmax(row * row)))
            s.case("exact", f"max({text})", (dtype, row.max()))
    yield s


def scan(name, dtype, d, axis):
    function = np.cumsum if name == "cumsum" else np.cumprod
    if not is_float(dtype):
        kind = "u64" if dtype == "u64" else "i64"
        return kind, function(d.astype(INTS[kind]), axis=axis)
    return dtype, round_to(dtype, function(d, axis=axis))


def scan_sections(rng, dtypes=DTYPES):
    for dtype in dtypes:
        s = Section("running sums and products of " + dtype)
        x = s.input(dtype, small(rng, dtype, (3, 5)))
        powers = s.input(dtype, rng.choice([1, 2] if not is_float(dtype) else [-1, 0.5, 2], (3, 5)).astype(x.data.dtype))
        empty, point = s.input(dtype, small(rng, dtype, (2, 0))), s.input(dtype, small(rng, dtype, ()))
        for name, source in (("cumsum", x), ("cumprod", powers)):
            for a in [*pick(rng, views(source), 6), empty]:
                for axis in {0, -1}:
                    s.case("exact", f"{name}({a.text}, axis: {axis})", scan(name, dtype, a.data, axis))
            s.case("exact", f"{name}({source.text})", scan(name, dtype, source.data, None))
            s.error("index", f"{name}({source.text}, axis: 2)")
        yield s


def ordered(d, axis, descending):
    """Stable; NaN counts as the greatest."""
    lanes = np.moveaxis(d, axis, -1)
    out = np.empty(lanes.shape, np.int64)
    for index in np.ndindex(*lanes.shape[:-1]):
        row = lanes[index].tolist()
        key = [(1, 0) if v != v else (0, v) for v in row]
        out[index] = sorted(range(len(row)), key=lambda i: key[i]) if not descending else \
            sorted(range(len(row)), key=lambda i: (-key[i][0], -key[i][1] if not isinstance(key[i][1], bool)
                                                    else not key[i][1]))
    return np.moveaxis(out, -1, axis)


def order_sections(rng, dtypes=DTYPES):
    for dtype in dtypes:
        s = Section("order of " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (3, 16), special=True))
        y = s.input(dtype, small(rng, dtype, (4, 5), -2, 3))
        empty, point = s.input(dtype, small(rng, dtype, (2, 0))), s.input(dtype, small(rng, dtype, (1,)))
        for a in [x, *pick(rng, views(y), 5), empty, point]:
            for axis in (-1, 0):
                for descending in (False, True):
                    order = ordered(a.data, axis, descending)
                    tail = f"axis: {axis}" + (", descending: true" if descending else "")
                    values = np.take_along_axis(a.data, order, axis)
                    s.case("exact", f"argsort({a.text}, {tail})", ("i64", order))
                    s.case("exact", f"sort({a.text}, {tail})", (dtype, values))
                    k = int(rng.integers(0, a.shape[axis] + 1))
                    first = [slice(None)] * a.data.ndim
                    first[axis] = slice(0, k)
                    s.case("exact", f"topk({a.text}, {k}, axis: {axis}" + (")" if descending else ", largest: false)"),
                           (dtype, values[tuple(first)]), ("i64", order[tuple(first)]))
        s.error("value", f"topk({y.text}, 9)")
        s.error("index", f"sort({y.text}, axis: 2)")
        yield s


def sections(rng):
    for part in (exact_sections, float_sections, scan_sections, order_sections):
        yield from part(rng)
