"""Cases of statistics, and of what goes along an axis, in the prelude's parts, by NumPy."""

import warnings

import numpy as np

from oracle import (DTYPES, INTS, LONG, WIDE_UNSIGNED, Section,
                    is_float, listing, numbers, pick, promote, round_to, small, views)

ALL = [*DTYPES, *WIDE_UNSIGNED]
NAN = float("nan")


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
                y = np.where(present, d, 1).prod(axis, keepdims=keep)
                s.case("product" if is_float(dtype) else "exact", f"nanprod({a.text}{given})",
                       (total, round_to(dtype, y) if is_float(dtype) else y))
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of rows without elements
                    wide = a.data.astype(np.float64)
                    s.case("statistic", f"nanvar({a.text}{given})", (kind, round_to(kind, np.nanvar(wide, axis, ddof=1, keepdims=keep))))
                    s.case("statistic", f"nanstd({a.text}{given}, correction: 0)",
                           (kind, round_to(kind, np.nanstd(wide, axis, keepdims=keep))))
                    s.case("statistic", f"nanmedian({a.text}{given})", (kind, round_to(kind, np.nanmedian(wide, axis, keepdims=keep))))
                    y = np.nanquantile(wide, [0.25, 0.875], axis, keepdims=keep)
                    s.case("statistic", f"nanquantile({a.text}, [0.25, 0.875]{given})", (kind, round_to(kind, y)))
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
        for axis, where in ((0, {"dx": 0.5}), (-1, {})):
            lanes = np.moveaxis(d, axis, -1)
            y = np.cumsum((lanes[..., 1:] + lanes[..., :-1]) / 2 * where.get("dx", 1), -1)
            tail = f", dx: {where['dx']}" if where else ""
            s.case("statistic", f"cumulative_trapezoid({x.text}, axis: {axis}{tail})", (kind, round_to(kind, np.moveaxis(y, -1, axis))))
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


def sections(rng):
    for part in (statistics_sections, running_sections):
        yield from part(rng)
