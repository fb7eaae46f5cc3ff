"""Cases of what makes, moves, reduces, orders and indexes arrays in the prelude's parts, by NumPy."""

import numpy as np

from oracle import DTYPES, FLOATS, INTS, LONG, WIDE_UNSIGNED, Section, is_float, numbers, pick, promote, round_to, small, views

ALL = [*DTYPES, *WIDE_UNSIGNED]
NAN = float("nan")


def listing(values):
    return "[" + ", ".join(map(str, values)) + "]"


# ---- Making ---------------------------------------------------------------------------------------------------


def made_sections(rng):
    for dtype in ALL:
        s = Section("made in " + dtype)
        x = s.input(dtype, small(rng, dtype, (2, 3)))
        for a in pick(rng, views(x), 4):
            s.case("exact", f"full_like({a.text}, 1)", (dtype, np.ones(a.shape)))
            s.case("exact", f"full_like({a.text}, 3, dtype: f64)", ("f64", np.full(a.shape, 3)))
        s.case("exact", f"empty([2, 3], dtype: {dtype}) + {x.text}", (dtype, x.data))
        for n, m, k in ((3, None, 0), (2, 4, 1), (4, 2, -2), (0, 3, 0)):
            text = ", ".join([str(n), *([f"m: {m}"] if m is not None else []), f"k: {k}", f"dtype: {dtype}"])
            s.case("exact", f"tri({text})", (dtype, np.tri(n, m, k)))
        if is_float(dtype):
            s.case("exact", f"isfinite(rand_like({x.text}) + randn_like({x.text}))", ("bool", np.ones((2, 3))))
            for start, stop, num in ((0, 3, 4), (-1, 1, 7), (2, 2, 1), (3, 0, 5), (0, 1, 0)):
                y = round_to(dtype, LONG(10) ** np.linspace(LONG(start), LONG(stop), num))
                s.case("pow", f"logspace({start}, {stop}, {num}, dtype: {dtype})", (dtype, y))
            y = round_to(dtype, LONG(2) ** np.linspace(LONG(0), LONG(5), 4))
            s.case("pow", f"logspace({x.text}[0, 0] * 0, 5, 4, base: 2, dtype: {dtype})", (dtype, y))
            for start, stop, num in ((1, 1000, 4), (-1, -8, 5), (16, 1, 3), (5, 7, 1), (0.5, 3, 2), (1, 2, 0)):
                y = start * (LONG(stop) / LONG(start)) ** (np.arange(num) / LONG(max(num - 1, 1)))
                s.case("pow", f"geomspace({start}, {stop}, {num}, dtype: {dtype})", (dtype, round_to(dtype, y)))
            s.error("value", f"geomspace({x.text}.size - 6, 2, dtype: {dtype})")
            s.error("value", f"geomspace(-1, {x.text}.size, dtype: {dtype})")
            s.case("exact", f"fromfunction(fn(i, j) = i * 2 - j + {x.text}[0, 0] * 0, [3, 2], dtype: {dtype})",
                   (dtype, np.fromfunction(lambda i, j: i * 2 - j, (3, 2))))
        yield s
    for dtype in ALL:
        s = Section("grids of " + dtype)
        x, y = s.input(dtype, small(rng, dtype, (3,))), s.input(dtype, small(rng, dtype, (4,)))
        z = s.input("i64", np.arange(2))
        for indexing in ("xy", "ij"):
            tail = f"indexing: \"{indexing}\""
            two = np.meshgrid(x.data, y.data, indexing=indexing)
            s.case("exact", f"meshgrid(x, y[::-1], {tail})",
                   *((dtype, g) for g in np.meshgrid(x.data, y.data[::-1], indexing=indexing)))
            s.case("exact", f"meshgrid([x, y], {tail})", *((dtype, g) for g in two))
            three = np.meshgrid(x.data, y.data, z.data, indexing=indexing)
            s.case("exact", f"meshgrid(x, y, z, {tail})",
                   *((kind, g) for kind, g in zip((dtype, dtype, "i64"), three)))
            s.case("exact", f"meshgrid(x[:0], y, {tail})",
                   *((dtype, g) for g in np.meshgrid(x.data[:0], y.data, indexing=indexing)))
        line = s.input(dtype, np.array([1, 0, 1] if dtype == "bool" else [0, 1, 2, 3], x.data.dtype))
        kind = dtype if is_float(dtype) else "u64" if dtype == "u64" else "i64"
        for n, tail in ((None, ""), (3, ", 3"), (0, ", 0"), (1, ", n: 1")):
            for increasing in (False, True):
                end = ", increasing: true" if increasing else ""
                s.case("exact", f"vander({line.text}{tail}{end})",
                       (kind, np.vander(line.data.astype(np.int64), n, increasing)))
        s.error("shape", f"vander({line.text}[nil])")
        yield s


# ---- Axes and diagonals ---------------------------------------------------------------------------------------


def axes_sections(rng):
    for dtype in ALL:
        s = Section("axes of " + dtype)
        x, line = s.input(dtype, small(rng, dtype, (2, 3, 4))), s.input(dtype, small(rng, dtype, (3,)))
        matrix, point = s.input(dtype, small(rng, dtype, (3, 4))), s.input(dtype, small(rng, dtype, ()))
        for source, to in ((0, -1), (2, 0), (-1, 1), ([0, 1], [-1, 0]), ([2, 0], [0, 1])):
            for a in pick(rng, views(x), 3):
                if a.data.ndim == 3:
                    s.case("exact", f"moveaxis({a.text}, {source}, {to})", (dtype, np.moveaxis(a.data, source, to)))
        s.error("index", f"moveaxis({x.text}, 3, 0)")
        s.error("value", f"moveaxis({x.text}, [0, 0], [1, 2])")
        s.error("value", f"moveaxis({x.text}, [0, 1], 2)")
        s.case("exact", f"unflatten({x.text}, 2, [2, -1])", (dtype, x.data.reshape(2, 3, 2, 2)))
        s.case("exact", f"unflatten({x.text}[::-1], 0, [1, 2])", (dtype, x.data[::-1].reshape(1, 2, 3, 4)))
        s.error("shape", f"unflatten({x.text}, 1, [2, -1])")
        for k in (-1, 0, 1, 2, 3, 5):
            s.case("exact", f"rot90({matrix.text}[:, ::-1], {k})", (dtype, np.rot90(matrix.data[:, ::-1], k)))
            s.case("exact", f"rot90({x.text}, {k}, axes: [2, 0])", (dtype, np.rot90(x.data, k, (2, 0))))
        s.error("value", f"rot90({matrix.text}, axes: [1, 1])")
        for name, function in (("atleast_1d", np.atleast_1d), ("atleast_2d", np.atleast_2d), ("atleast_3d", np.atleast_3d)):
            for a in (point, line, matrix, x):
                s.case("exact", f"{name}({a.text})", (dtype, function(a.data)))
        both = np.broadcast_arrays(matrix.data[:, :1], matrix.data[0])
        s.case("exact", f"broadcast_tensors({matrix.text}[:, :1], {matrix.text}[0])", *((dtype, b) for b in both))
        s.case("exact", f"broadcast_tensors([{point.text}, {line.text}])", (dtype, np.broadcast_to(point.data, (3,))),
               (dtype, line.data))
        s.error("shape", f"broadcast_tensors({line.text}, {matrix.text})")
        for a in pick(rng, views(matrix), 5):
            if a.data.ndim != 2:
                continue
            for k in (-4, -1, 0, 1, 3):
                s.case("exact", f"diagonal({a.text}, {k})", (dtype, np.diagonal(a.data, k)))
                s.case("exact", f"diag({a.text}, {k})", (dtype, np.diag(a.data, k)))
        for first, second in ((0, 1), (2, 0), (-1, -2)):
            s.case("exact", f"diagonal({x.text}, 1, {first}, {second})", (dtype, np.diagonal(x.data, 1, first, second)))
        for k in (-2, 0, 1):
            s.case("exact", f"diag({line.text}[::-1], {k})", (dtype, np.diag(line.data[::-1], k)))
            s.case("exact", f"diagflat({matrix.text}[:2, :2], {k})", (dtype, np.diagflat(matrix.data[:2, :2], k)))
        s.case("exact", f"diag({line.text}[:0])", (dtype, np.zeros((0, 0))))
        s.error("shape", f"diag({x.text})")
        s.error("shape", f"diagonal({line.text})")
        pixels = s.input(dtype, small(rng, dtype, (1, 8, 2, 3)))
        y = pixels.data.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
        s.case("exact", f"pixel_shuffle({pixels.text}, 2)", (dtype, y))
        s.case("exact", f"pixel_shuffle({pixels.text}[0], 2)", (dtype, y[0]))
        s.error("shape", f"pixel_shuffle({pixels.text}, 3)")
        yield s


def joining_sections(rng):
    for dtype in ALL:
        s = Section("joining of " + dtype)
        a, b = s.input(dtype, small(rng, dtype, (2, 3))), s.input(dtype, small(rng, dtype, (2, 3)))
        line, point = s.input(dtype, small(rng, dtype, (3,))), s.input(dtype, small(rng, dtype, ()))
        for name, function in (("vstack", np.vstack), ("hstack", np.hstack), ("dstack", np.dstack)):
            s.case("exact", f"{name}([{a.text}, {b.text}[::-1]])", (dtype, function([a.data, b.data[::-1]])))
            s.case("exact", f"{name}([{line.text}, {line.text}])", (dtype, function([line.data, line.data])))
            s.case("exact", f"{name}([{point.text}, {point.text}])", (dtype, function([point.data, point.data])))
        s.case("exact", f"vstack([{a.text}, {line.text}])", (dtype, np.vstack([a.data, line.data])))
        for axis in (0, 1, -1):
            s.case("exact", f"unstack({a.text}, axis: {axis})", *((dtype, v) for v in np.moveaxis(a.data, axis, 0)))
        x = s.input(dtype, small(rng, dtype, (7, 2)))
        for n in (1, 3, 4, 9):
            size = -(-7 // n)
            s.case("exact", f"chunk({x.text}, {n})", *((dtype, x.data[i:i + size]) for i in range(0, 7, size)))
            s.case("exact", f"array_split({x.text}, {n})", *((dtype, v) for v in np.array_split(x.data, n)))
        s.case("exact", f"chunk({x.text}, 2, axis: -1)", (dtype, x.data[:, :1]), (dtype, x.data[:, 1:]))
        s.case("exact", f"array_split({x.text}, [2, 3, 9])", *((dtype, v) for v in np.array_split(x.data, [2, 3, 9])))
        s.case("exact", f"array_split({x.text}, 2, axis: 1)", *((dtype, v) for v in np.array_split(x.data, 2, 1)))
        s.error("value", f"array_split({x.text}, 0)")
        for v in pick(rng, views(a), 5):
            s.case("exact", f"repeat({v.text}, 2)", (dtype, np.repeat(v.data, 2)))
            s.case("exact", f"repeat({v.text}, 3, axis: 0)", (dtype, np.repeat(v.data, 3, 0)))
            s.case("exact", f"repeat({v.text}, 0, axis: -1)", (dtype, np.repeat(v.data, 0, -1)))
        s.case("exact", f"repeat({a.text}, [2, 0, 1], axis: 1)", (dtype, np.repeat(a.data, [2, 0, 1], 1)))
        s.case("exact", f"repeat({line.text}, tensor([0, 3, 1]))", (dtype, np.repeat(line.data, [0, 3, 1])))
        s.error("shape", f"repeat({a.text}, [1, 2], axis: 1)")
        s.error("value", f"repeat({a.text}, tensor([1, -2]), axis: 0)")
        block = np.zeros((3, 6), a.data.dtype)
        block[:2, :3], block[2:, 3:] = a.data, line.data
        s.case("exact", f"block_diag({a.text}, {line.text})", (dtype, block))
        s.case("exact", f"block_diag([{a.text}, {line.text}])", (dtype, block))
        s.error("shape", f"block_diag({a.text}[nil])")
        p = s.input(dtype, small(rng, dtype, (3, 4)))
        for mode, named in (("reflect", "reflect"), ("replicate", "edge"), ("edge", "edge"), ("circular", "wrap"), ("wrap", "wrap")):
            for v in pick(rng, views(p), 3):
                if v.data.ndim != 2 or min(v.shape) < 2:
                    continue
                s.case("exact", f"pad({v.text}, [1, 0, 1, 1], mode: \"{mode}\")",
                       (dtype, np.pad(v.data, [(1, 1), (1, 0)], mode=named)))
                s.case("exact", f"pad({v.text}, [(0, 0), (0, 1)], mode: \"{mode}\")",
                       (dtype, np.pad(v.data, [(0, 0), (0, 1)], mode=named)))
            s.case("exact", f"pad({p.text}, 2, mode: \"{mode}\")", (dtype, np.pad(p.data, 2, mode=named)))
            s.error("shape", f"pad({p.text}[:, :0], 1, mode: \"{mode}\")")
        s.error("shape", f"pad({p.text}, [4, 0], mode: \"reflect\")")
        s.error("shape", f"pad({p.text}, [0, 5], mode: \"wrap\")")
        yield s
    for dtype in FLOATS:
        s = Section("fold of " + dtype)
        for c, size, kernel, dilation, padding, stride in ((1, (3, 3), (2, 2), (1, 1), (0, 0), (1, 1)),
                                                           (2, (4, 5), (2, 3), (1, 2), (1, 0), (2, 1))):
            image, windows = np.zeros((2, c, size[0] + 2 * padding[0], size[1] + 2 * padding[1])), []
            counts = [(image.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
            x = s.input(dtype, small(rng, dtype, (2, c * kernel[0] * kernel[1], counts[0] * counts[1])))
            patches = x.data.reshape(2, c, *kernel, *counts)
            for i, j in np.ndindex(*kernel):
                rows, columns = i * dilation[0], j * dilation[1]
                image[:, :, rows:rows + counts[0] * stride[0]:stride[0],
                      columns:columns + counts[1] * stride[1]:stride[1]][:, :, :counts[0], :counts[1]] += patches[:, :, i, j]
            y = image[:, :, padding[0]:padding[0] + size[0], padding[1]:padding[1] + size[1]]
            tail = ", ".join(f"{n}: {listing(v)}" for n, v in (("dilation", dilation), ("padding", padding), ("stride", stride)))
            s.case("exact", f"fold({x.text}, {listing(size)}, {listing(kernel)}, {tail})", (dtype, y))
            s.case("exact", f"fold({x.text}[0], {listing(size)}, {listing(kernel)}, {tail})", (dtype, y[0]))
        s.error("shape", f"fold({x.text}, 3, 2)")
        yield s


# ---- Statistics -----------------------------------------------------------------------------------------------


def statistics_sections(rng):
    for dtype in DTYPES:
        s = Section("quantiles of " + dtype)
        kind = dtype if is_float(dtype) else "f32"
        x, special = s.input(dtype, small(rng, dtype, (3, 5))), s.input(dtype, numbers(rng, dtype, (4, 7), special=True))
        even = s.input(dtype, small(rng, dtype, (4, 6)))
        for a in [*pick(rng, views(x), 4), even]:
            if a.data.size == 0:
                s.error("value", f"median({a.text})")
                s.error("value", f"quantile({a.text}, 0.5)")
                continue
            d = a.data.astype(LONG)
            for given, axis in (("", None), (", axis: 0", 0), (", axis: -1", -1)):
                for keep in (False, True):
                    tail = given + (", keepdims: true" if keep else "")
                    s.case("statistic", f"median({a.text}{tail})", (kind, round_to(kind, np.median(d, axis, keepdims=keep))))
                for method in ("linear", "lower", "higher", "nearest", "midpoint"):
                    tail = given + ("" if method == "linear" else f", method: \"{method}\"")
                    q = [0, 0.25, 0.625, 1]
                    y = np.quantile(a.data.astype(np.float64), q, axis, method=method)
                    s.case("statistic", f"quantile({a.text}, {listing(q)}{tail})", (kind, round_to(kind, y)))
                    y = np.percentile(a.data.astype(np.float64), 75, axis, method=method, keepdims=True)
                    s.case("statistic", f"percentile({a.text}, 75{tail}, keepdims: true)", (kind, round_to(kind, y)))
        both = s.input("f64", np.array([0.5, 0.125]))
        y = np.quantile(x.data.astype(np.float64), both.data, (0, 1))
        s.case("statistic", f"quantile({x.text}, {both.text}, axis: [0, 1])", (kind, round_to(kind, y)))
        if is_float(dtype):
            y = np.median(special.data[:, 1:], 1)  # its rows with NaN
            s.case("exact", f"isnan(median({special.text}, axis: 1))", ("bool", np.isnan(special.data).any(1)))
            s.case("exact", f"isnan(quantile({special.text}, [0.5], axis: 1))", ("bool", np.isnan(special.data).any(1)[None]))
            ends = s.input(dtype, np.array([[np.inf, np.inf, 1], [-np.inf, 2, 3]]))
            s.case("exact", f"median({ends.text}, axis: 1)", (dtype, np.array([np.inf, 2])))
            s.case("exact", f"quantile({ends.text}, 0.75, axis: 1)", (dtype, np.array([np.inf, 2.5])))
        s.error("value", f"quantile({x.text}, 1.5)")
        s.error("value", f"percentile({x.text}, [10, 101])")
        s.error("index", f"median({x.text}, axis: 2)")
        yield s
    for dtype in DTYPES:
        s = Section("averages of " + dtype)
        kind = dtype if is_float(dtype) else "f32"
        x, w = s.input(dtype, small(rng, dtype, (3, 5))), s.input("i64", rng.integers(1, 5, (5,)))
        heavy = s.input(dtype, small(rng, dtype, (3, 5), 1, 5) if dtype != "bool" else np.ones((3, 5), bool))
        d, weights = x.data.astype(LONG), heavy.data.astype(LONG)
        for given, axis in (("", None), (", axis: 0", 0), (", axis: 1", 1)):
            s.case("statistic", f"average({x.text}{given})", (kind, round_to(kind, np.average(d, axis))))
            y = np.average(d, axis, weights)
            s.case("statistic", f"average({x.text}{given}, weights: {heavy.text})", (kind, round_to(kind, y)))
        y = np.average(d[::-1], 1, w.data)[:, None]
        s.case("statistic", f"average({x.text}[::-1], axis: -1, weights: {w.text}, keepdims: true)", (kind, round_to(kind, y)))
        s.error("shape", f"average({x.text}, axis: 0, weights: {w.text})")
        for a in pick(rng, views(x), 5):
            if a.data.ndim > 2 or 0 in a.shape or 1 in a.shape:
                continue
            c = a.data.astype(np.float64)
            s.case("norms", f"cov({a.text})", (kind, round_to(kind, np.cov(c))))
            s.case("norms", f"cov({a.text}, rowvar: false, correction: 0)", (kind, round_to(kind, np.cov(c, rowvar=False, ddof=0))))
            s.case("norms", f"cov({a.text}, {a.text}[:1])", (kind, round_to(kind, np.cov(c, c[:1]))))
        s.case("norms", f"cov({x.text}[0])", (kind, round_to(kind, np.cov(x.data[0].astype(np.float64)))))
        mixed = s.input(dtype, np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 0, 1, 0]], x.data.dtype))
        c = mixed.data.astype(np.float64)
        s.case("norms", f"corrcoef({mixed.text})", (kind, round_to(kind, np.corrcoef(c))))
        s.case("norms", f"corrcoef({mixed.text}[0], {mixed.text}[2])", (kind, round_to(kind, np.corrcoef(c[0], c[2]))))
        s.error("shape", f"cov({x.text}[nil])")
        yield s
    for dtype in DTYPES:
        s = Section("extremes and counts of " + dtype)
        x = s.input(dtype, small(rng, dtype, (3, 5)))
        for a in pick(rng, views(x), 6):
            for given, axis in (("", None), (", axis: 0", 0), (", axis: [0, -1]", (0, -1)), (", axis: -1, keepdims: true", -1)):
                keep = "keepdims" in given
                if a.data.size > 0:
                    low, high = a.data.min(axis, keepdims=keep), a.data.max(axis, keepdims=keep)
                    s.case("exact", f"aminmax({a.text}{given})", (dtype, low), (dtype, high))
                    if dtype != "bool":
                        s.case("exact", f"ptp({a.text}{given})", (dtype, high - low))
                s.case("exact", f"count_nonzero({a.text}{given})", ("i64", np.count_nonzero(a.data, axis, keepdims=keep)))
        holes = s.input(dtype, x.data if not is_float(dtype) else np.where(rng.random((3, 5)) < 0.4, NAN, x.data))
        none = s.input(dtype, np.full((2, 2), NAN if is_float(dtype) else 1))
        kind, total = (dtype, dtype) if is_float(dtype) else ("f32", "i64")
        for a in (holes, none):
            d = a.data.astype(LONG) if is_float(dtype) else a.data
            present, count = ~np.isnan(d), None
            for given, axis in (("", None), (", axis: 0", 0), (", axis: 1, keepdims: true", 1)):
                keep = "keepdims" in given
                count = present.sum(axis, keepdims=keep)
                filled = np.where(present, d, 0).sum(axis, keepdims=keep)
                s.case("exact", f"nansum({a.text}{given})", (total, filled))
                mean = np.where(count > 0, filled / np.maximum(count, 1).astype(LONG), NAN)
                s.case("statistic", f"nanmean({a.text}{given})", (kind, round_to(kind, mean)))
                if is_float(dtype):
                    high = np.where(count > 0, np.where(present, d, -np.inf).max(axis, keepdims=keep), NAN)
                    low = np.where(count > 0, np.where(present, d, np.inf).min(axis, keepdims=keep), NAN)
                else:
                    high, low = d.max(axis, keepdims=keep), d.min(axis, keepdims=keep)
                s.case("exact", f"nanmax({a.text}{given})", (dtype, high))
                s.case("exact", f"nanmin({a.text}{given})", (dtype, low))
        yield s
    for dtype in DTYPES:
        s = Section("histograms of " + dtype)
        x = s.input(dtype, small(rng, dtype, (3, 5)))
        kind = dtype if is_float(dtype) else "f32"
        edges = s.input("f64", np.array([-1.0, 0, 0.5, 1]))
        w = s.input("f64", rng.integers(1, 4, (3, 5)) / 2)
        d = x.data.astype(np.float64)
        for tail, where in (("4, (-2, 2)", {"bins": 4, "range": (-2, 2)}), ("8, range: [0, 4]", {"bins": 8, "range": (0, 4)})):
            counts, given = np.histogram(d, **where)
            s.case("exact", f"histogram({x.text}, {tail})", ("i64", counts), (kind, given))
        s.case("exact", f"histogram({x.text}, {edges.text})", ("i64", np.histogram(d, edges.data)[0]), ("f64", edges.data))
        s.case("exact", f"histogram({x.text}, {edges.text}, weights: {w.text})[0]",
               ("f64", np.histogram(d, edges.data, weights=w.data)[0]))
        y = np.histogram(d, edges.data, density=True)[0]
        s.case("statistic", f"histogram({x.text}, {edges.text}, density: true)[0]", (kind, round_to(kind, y)))
        same = np.histogram(d[:1, :1], 2)
        s.case("exact", f"histogram({x.text}[:1, :1], 2)", ("i64", same[0]), (kind, same[1]))
        s.case("exact", f"histogram({x.text}[:0], 2)", ("i64", np.zeros(2)), (kind, np.array([0, 0.5, 1])))
        s.error("shape", f"histogram({x.text}, {edges.text}[:1])")
        s.error("value", f"histogram({x.text}, 0)")
        yield s


# ---- Along an axis --------------------------------------------------------------------------------------------


def running(d, better):
    """Values and places of the running extreme of rows; the last of equals."""
    rows = d.reshape(-1, d.shape[-1]) if d.size else d.reshape(0, d.shape[-1])
    out = np.zeros(rows.shape, np.int64)
    for r, row in enumerate(rows):
        best = 0
        for i, v in enumerate(row):
            if i and (v != v or (row[best] == row[best] and not better(row[best], v))):
                best = i
            out[r, i] = best
    out = out.reshape(d.shape)
    return np.take_along_axis(d, out, -1), out


def running_sections(rng):
    for dtype in ALL:
        s = Section("running extremes of " + dtype)
        x, special = s.input(dtype, small(rng, dtype, (3, 7), -3, 4)), s.input(dtype, numbers(rng, dtype, (2, 9), special=True))
        for a in [*pick(rng, views(x), 5), special]:
            if a.data.ndim > 2:
                continue
            for name, better in (("cummax", lambda a, b: a > b), ("cummin", lambda a, b: a < b)):
                for axis in (0, 1):
                    values, places = running(np.moveaxis(a.data, axis, -1), better)
                    s.case("exact", f"{name}({a.text}, axis: {axis})", (dtype, np.moveaxis(values, -1, axis)),
                           ("i64", np.moveaxis(places, -1, axis)))
                values, places = running(a.data.reshape(-1), better)
                s.case("exact", f"{name}({a.text})", (dtype, values), ("i64", places))
        s.error("index", f"cummax({x.text}, axis: 2)")
        kind = "u64" if dtype == "u64" else "i64" if not is_float(dtype) else dtype
        if dtype != "bool":
            d = x.data if is_float(dtype) else x.data.astype(INTS[kind])
            for axis in (0, -1):
                y = np.cumsum(d, axis)
                wide = f"{kind}({x.text})"
                s.case("exact", f"associative_scan(fn(a, b) = a + b, {wide}, axis: {axis})", (kind, y))
                s.case("exact", f"associative_scan(fn(a, b) = {{v: a.v + b.v}}, {{v: {wide}[::-1, ::-1]}}, axis: {axis}, reverse: true).v",
                       (kind, np.flip(np.cumsum(np.flip(d[::-1, ::-1], axis), axis), axis)))
        for n in (0, 1, 2):
            for axis in (0, -1):
                s.case("exact", f"diff({x.text}, n: {n}, axis: {axis})", (dtype, np.diff(x.data, n, axis)))
        s.case("exact", f"diff({x.text}[:, ::-2], prepend: 1, append: {x.text}[:, :2])",
               (dtype, np.diff(x.data[:, ::-2], prepend=np.ones((3, 1), x.data.dtype), append=x.data[:, :2])))
        s.case("exact", f"diff({x.text}[:, :1])", (dtype, np.zeros((3, 0))))
        yield s
    for dtype in DTYPES:
        s = Section("slopes and integrals of " + dtype)
        x, kind = s.input(dtype, small(rng, dtype, (4, 5))), dtype if is_float(dtype) else "f32"
        points = s.input("f64", np.array([0, 1, 3, 3.5, 8]))
        wide = promote(kind, "f64")
        d = x.data.astype(np.float64)
        for axis in (0, 1):
            s.case("statistic", f"trapezoid({x.text}, axis: {axis})", (kind, round_to(kind, np.trapezoid(d, axis=axis))))
            for order in (1, 2):
                s.case("statistic", f"gradient({x.text}, axis: {axis}, edge_order: {order})",
                       (kind, round_to(kind, np.gradient(d, axis=axis, edge_order=order))))
                s.case("statistic", f"gradient({x.text}[::-1], 0.5, axis: {axis}, edge_order: {order})",
                       (kind, round_to(kind, np.gradient(d[::-1], 0.5, axis=axis, edge_order=order))))
        s.case("statistic", f"trapezoid({x.text}[0], dx: 0.5)", (kind, round_to(kind, np.trapezoid(d[0], dx=0.5))))
        both = np.gradient(d, 2, 0.5)
        s.case("statistic", f"gradient({x.text}, [2, 0.5])", *((kind, round_to(kind, g)) for g in both))
        result = kind if kind in ("f16", "bf16") else wide
        s.case("statistic", f"trapezoid({x.text}, {points.text})", (result, round_to(result, np.trapezoid(d, points.data))))
        for order in (1, 2):
            y = np.gradient(d, points.data, axis=1, edge_order=order)
            s.case("norms", f"gradient({x.text}, {points.text}, axis: -1, edge_order: {order})", (result, round_to(result, y)))
        s.case("same" if dtype == "f64" else "exact", f"trapezoid({x.text}[:, :0])", (kind, np.zeros(4)))
        s.error("shape", f"gradient({x.text}[:1])")
        s.error("shape", f"trapezoid({x.text}, {points.text}[1:])")
        s.error("value", f"gradient({x.text}, [1.0])")
        if is_float(dtype):
            y = s.input(dtype, np.where(small(rng, dtype, (3, 6)) < -1, -np.inf, round_to(dtype, rng.normal(0, 3, (3, 6)))))
            for axis in (0, 1):
                with np.errstate(all="ignore"):
                    s.case("logsumexp", f"logcumsumexp({y.text}, axis: {axis})",
                           (dtype, round_to(dtype, np.logaddexp.accumulate(y.data.astype(LONG), axis))))
            large = s.input(dtype, np.array([1000.0, 1004, np.inf, -np.inf, 3]))
            with np.errstate(all="ignore"):
                y = np.array([1000, 1004 + np.log1p(np.exp(LONG(-4))), np.inf, np.inf, np.inf])
            s.case("logsumexp", f"logcumsumexp({large.text}[:2])", (dtype, round_to(dtype, y[:2])))
            s.case("exact", f"logcumsumexp({large.text})[2:]", (dtype, y[2:]))
        yield s


# ---- Order ----------------------------------------------------------------------------------------------------


def order_sections(rng):
    for dtype in ALL:
        s = Section("places in order of " + dtype)
        x, special = s.input(dtype, small(rng, dtype, (3, 7), -3, 4)), s.input(dtype, numbers(rng, dtype, (16,), special=True))
        line = s.input(dtype, np.sort(small(rng, dtype, (9,), -3, 4)))
        rows = s.input(dtype, np.sort(small(rng, dtype, (3, 6), -3, 4)))
        for side in ("left", "right"):
            for a in [*pick(rng, views(x), 4), special]:
                s.case("exact", f"searchsorted({line.text}, {a.text}, side: \"{side}\")",
                       ("i64", np.searchsorted(line.data, a.data, side)))
                s.case("exact", f"searchsorted(sort({special.text}), {a.text}, side: \"{side}\")",
                       ("i64", np.searchsorted(np.sort(special.data), a.data, side)))
            places = np.stack([np.searchsorted(r, v, side) for r, v in zip(rows.data, x.data)])
            s.case("exact", f"searchsorted({rows.text}, {x.text}, side: \"{side}\")", ("i64", places))
            s.case("exact", f"searchsorted({line.text}[:0], {x.text}, side: \"{side}\")", ("i64", np.zeros((3, 7))))
            s.case("exact", f"searchsorted({line.text}[:1], {x.text}, side: \"{side}\")",
                   ("i64", np.searchsorted(line.data[:1], x.data, side)))
        s.case("exact", f"searchsorted({line.text}, 1)", ("i64", np.searchsorted(line.data, np.ones((), line.data.dtype))))
        for right in (False, True):
            tail = ", right: true" if right else ""
            s.case("exact", f"bucketize({x.text}, {line.text}{tail})",
                   ("i64", np.searchsorted(line.data, x.data, "right" if right else "left")))
            s.case("exact", f"digitize({x.text}, {line.text}{tail})",
                   ("i64", np.searchsorted(line.data, x.data, "left" if right else "right")))
        s.error("shape", f"searchsorted({rows.text}, {line.text})")
        for k in (1, 3):
            for axis in (0, 1):
                order = np.argsort(x.data, axis, kind="stable").take(k - 1, axis)
                values = np.sort(x.data, axis).take(k - 1, axis)
                s.case("exact", f"kthvalue({x.text}, {k}, axis: {axis})", (dtype, values), ("i64", order))
                s.case("exact", f"kthvalue({x.text}, {k}, axis: {axis}, keepdims: true)", (dtype, np.expand_dims(values, axis)),
                       ("i64", np.expand_dims(order, axis)))
        s.error("value", f"kthvalue({x.text}, 9)")
        s.case("exact", f"partition({x.text}, 2)[:, 2]", (dtype, np.sort(x.data)[:, 2]))
        s.case("exact", f"partition({x.text}, [0, -1], axis: 0)[::2]", (dtype, np.sort(x.data, 0)[::2]))
        s.error("index", f"partition({x.text}, 7)")
        other = s.input("i64", rng.integers(0, 2, (3, 7)))
        for axis in (0, -1):
            y = np.lexsort([other.data, x.data], axis)
            s.case("exact", f"lexsort([{other.text}, {x.text}], axis: {axis})", ("i64", y))
        s.case("exact", f"lexsort({x.text})", ("i64", np.lexsort(x.data)))
        s.error("shape", f"lexsort([{x.text}, {line.text}])")
        for a in [*pick(rng, views(x), 5), special]:
            s.case("exact", f"argwhere({a.text})", ("i64", np.argwhere(a.data)))
            s.case("exact", f"nonzero({a.text})", *(("i64", v) for v in np.nonzero(a.data)))
            for invert in (False, True):
                tail = ", invert: true" if invert else ""
                s.case("exact", f"isin({a.text}, {line.text}[::2]{tail})", ("bool", np.isin(a.data, line.data[::2], invert=invert)))
        s.case("exact", f"isin({x.text}, {line.text}[:0])", ("bool", np.zeros((3, 7))))
        s.case("exact", f"argwhere({x.text}[0, 0])", ("i64", np.argwhere(x.data[0, 0])))
        s.error("shape", f"nonzero({x.text}[0, 0])")
        yield s
    for dtype in ALL:
        s = Section("equal elements of " + dtype)
        x, special = s.input(dtype, small(rng, dtype, (3, 7), -2, 3)), s.input(dtype, numbers(rng, dtype, (20,), special=True))
        for a in [*pick(rng, views(x), 5), special]:
            with np.errstate(all="ignore"):
                values, index, inverse, counts = np.unique(a.data, True, True, True)
            if a is special:  # 0.0 and -0.0 are equal: which comes first is NumPy's choice
                s.case("exact", f"unique({a.text}, return_counts: true)[1]", ("i64", counts))
                continue
            s.case("exact", f"unique({a.text})", (dtype, values))
            s.case("exact", f"unique({a.text}, return_index: true, return_inverse: true, return_counts: true)",
                   (dtype, values), ("i64", index), ("i64", inverse.reshape(a.shape)), ("i64", counts))
            flat = a.data.reshape(-1)
            new = np.concatenate([np.ones(min(flat.size, 1), bool), flat[1:] != flat[:-1]])
            begins = np.flatnonzero(new)
            s.case("exact", f"unique_consecutive({a.text}, return_inverse: true, return_counts: true)", (dtype, flat[new]),
                   ("i64", (np.cumsum(new) - 1).reshape(a.shape)), ("i64", np.diff([*begins, flat.size]) if flat.size else begins))
        for axis in (0, 1):
            lanes = np.moveaxis(x.data, axis, -1)
            modes = np.array([min(set(r.tolist()), key=lambda v, r=r: (-np.sum(r == v), v)) for r in lanes])
            places = np.array([np.flatnonzero(r == m)[-1] for r, m in zip(lanes, modes)])
            s.case("exact", f"mode({x.text}, axis: {axis})", (dtype, modes), ("i64", places))
            s.case("exact", f"mode({x.text}, axis: {axis}, keepdims: true)", (dtype, np.expand_dims(modes, axis)),
                   ("i64", np.expand_dims(places, axis)))
        s.error("value", f"mode({x.text}[:, :0])")
        if dtype in INTS and dtype != "u64":
            n = s.input(dtype, rng.integers(0, 6, 9).astype(INTS[dtype]))
            w = s.input("f64", rng.integers(0, 8, 9) / 4)
            s.case("exact", f"bincount({n.text})", ("i64", np.bincount(n.data)))
            s.case("exact", f"bincount({n.text}[::2], minlength: 9)", ("i64", np.bincount(n.data[::2], minlength=9)))
            s.case("exact", f"bincount({n.text}, weights: {w.text})", ("f64", np.bincount(n.data, w.data)))
            s.case("exact", f"bincount({n.text}[:0], minlength: 2)", ("i64", np.zeros(2)))
            s.error("shape", f"bincount({x.text})")
            if dtype[0] == "i":
                s.error("value", f"bincount({n.text} - 9)")
        else:
            s.error("type", f"bincount({special.text})") if dtype != "u64" else None
        yield s


# ---- Index and segments ---------------------------------------------------------------------------------------


def scattered(d, axis, index, src, reduction, include_self):
    """Element by element, in exact arithmetic of small numbers; the mean of integers rounds down."""
    out, heaps = d.astype(LONG if d.dtype.kind == "f" else object), {}
    for place in np.ndindex(*index.shape):
        to = list(place)
        to[axis] = index[place]
        heaps.setdefault(tuple(int(v) for v in to), []).append(src[place])
    for to, heap in heaps.items():
        heap = [v if d.dtype.kind == "f" else int(v) for v in heap]
        if reduction == "last":
            out[to] = heap[-1]
            continue
        heap += [out[to]] if include_self else []
        if reduction == "sum":
            out[to] = sum(heap)
        elif reduction == "prod":
            out[to] = np.prod(heap)
        elif reduction == "mean":
            out[to] = sum(heap) / LONG(len(heap)) if d.dtype.kind == "f" else sum(heap) // len(heap)
        else:
            out[to] = (np.max if reduction == "amax" else np.min)(heap)
    return out.astype(LONG) if d.dtype.kind == "f" else out.astype(d.dtype)


def index_sections(rng):
    for dtype in ALL:
        s = Section("scatter to " + dtype)
        x, src = s.input(dtype, small(rng, dtype, (3, 4), 1, 4)), s.input(dtype, small(rng, dtype, (2, 4), 1, 4))
        index = s.input("i64", rng.integers(0, 3, (2, 4)))
        across = s.input("i32", rng.integers(0, 4, (2, 4)).astype(np.int32))
        for axis, i in ((0, index), (1, across)):
            s.case("exact", f"scatter({x.text}, {axis}, {i.text}, {src.text})",
                   (dtype, scattered(x.data, axis, i.data, src.data, "last", False)))
        s.case("exact", f"scatter({x.text}[::-1], -1, {across.text}[:, :2] - 4, 1)",
               (dtype, scattered(x.data[::-1], 1, across.data[:, :2], np.ones((2, 2)), "last", False)))
        s.case("exact", f"scatter({x.text}[:, :0], 0, {index.text}[:, :0], 1)", (dtype, x.data[:, :0]))
        s.error("index", f"scatter({x.text}, 0, {index.text} + 3, 1)")
        s.error("index", f"scatter({x.text}, 2, {index.text}, 1)")
        s.error("shape", f"scatter({x.text}, 0, {index.text}[0], 1)")
        if dtype != "bool":
            for reduction in ("sum", "prod", "mean", "amax", "amin"):
                for axis, i in ((0, index), (1, across)):
                    for self in (True, False):
                        tail = f"\"{reduction}\"" + ("" if self else ", include_self: false")
                        y = scattered(x.data, axis, i.data, src.data, reduction, self)
                        s.case("statistic" if reduction == "mean" and is_float(dtype) else "exact",
                               f"scatter_reduce({x.text}, {axis}, {i.text}, {src.text}, {tail})",
                               (dtype, round_to(dtype, y) if is_float(dtype) else y))
        yield s
    for dtype in ALL:
        if dtype == "bool":
            continue
        s = Section("segments of " + dtype)
        x, line = s.input(dtype, small(rng, dtype, (6, 3), 1, 4)), s.input(dtype, small(rng, dtype, (6,), 1, 4))
        ids = s.input("i64", np.array([4, 0, 2, 0, 0, 4]))
        least = -np.inf if is_float(dtype) else np.iinfo(INTS[dtype]).min
        most = np.inf if is_float(dtype) else np.iinfo(INTS[dtype]).max
        for a in (x, line, x.view("{}[:, ::-2]", x.data[:, ::-2]), x.view("{}[:, :0]", x.data[:, :0])):
            def each(f, absent, n):
                parts = [a.data[ids.data == i] for i in range(n)]
                return np.stack([f(p) if len(p) else np.full(a.shape[1:], absent, a.data.dtype) for p in parts])
            for n, tail in ((5, ""), (7, ", 7")):
                given = f"({a.text}, {ids.text}{tail})"
                s.case("exact", "segment_sum" + given, (dtype, each(lambda p: p.sum(0, dtype=p.dtype), 0, n)))
                s.case("exact", "segment_prod" + given, (dtype, each(lambda p: p.prod(0, dtype=p.dtype), 1, n)))
                s.case("exact", "segment_max" + given, (dtype, each(lambda p: p.max(0), least, n)))
                s.case("exact", "segment_min" + given, (dtype, each(lambda p: p.min(0), most, n)))
                kind = dtype if is_float(dtype) else "f32"
                y = np.stack([a.data[ids.data == i].astype(LONG).sum(0) / max((ids.data == i).sum(), 1) for i in range(n)])
                s.case("statistic", "segment_mean" + given, (kind, round_to(kind, y)))
        s.error("index", f"segment_sum({x.text}, {ids.text}, 4)")
        s.error("index", f"segment_max({x.text}, {ids.text} - 1, 4)")
        s.error("shape", f"segment_sum({x.text}, {ids.text}[1:])")
        if is_float(dtype):
            holes = s.input(dtype, np.array([1, NAN, 2, 3, np.inf, -np.inf]))
            s.case("exact", f"segment_max({holes.text}, {ids.text})", (dtype, [NAN, -np.inf, 2, -np.inf, 1]))
            s.case("exact", f"segment_min({holes.text}, {ids.text})", (dtype, [NAN, np.inf, 2, np.inf, -np.inf]))
        yield s


def sections(rng):
    for part in (made_sections, axes_sections, joining_sections, statistics_sections, running_sections, order_sections,
                 index_sections):
        yield from part(rng)
