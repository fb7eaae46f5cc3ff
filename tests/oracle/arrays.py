"""Cases of what makes, moves, orders and indexes arrays in the prelude's parts, by NumPy."""

import numpy as np

from oracle import (DTYPES, FLOATS, INTS, LONG, WIDE_UNSIGNED, Section,
                    is_float, listing, numbers, pick, round_to, small, views)

ALL = [*DTYPES, *WIDE_UNSIGNED]
NAN = float("nan")


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
        s.case("exact", f"pixel_unshuffle(pixel_shuffle({pixels.text}, 2), 2)", (dtype, pixels.data))
        s.error("shape", f"pixel_unshuffle({pixels.text}, 2)")
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
        if dtype in ("i32", "i64", "u16"):
            flat = s.input(dtype, rng.integers(0, 24, (2, 3)).astype(INTS[dtype]))
            along = np.unravel_index(flat.data.astype(np.int64), (2, 3, 4))
            s.case("exact", f"unravel_index({flat.text}, [2, 3, 4])", *((dtype, v) for v in along))
            s.case("exact", f"ravel_multi_index(unravel_index({flat.text}, [2, 3, 4]), (2, 3, 4)) + 0", (dtype, flat.data))
            s.error("value", f"ravel_multi_index([{flat.text}], [2, 3])")
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
                wide = dtype if is_float(dtype) or dtype == "u64" else "i64"
                s.case("exact", "segment_sum" + given, (wide, each(lambda p: p.sum(0, dtype=p.dtype), 0, n)))
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
    for part in (made_sections, axes_sections, joining_sections, order_sections, index_sections):
        yield from part(rng)
