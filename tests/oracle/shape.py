"""Cases of builtins that make, move and join elements; all results are exact."""

import numpy as np

from oracle import DTYPES, INTS, Section, cast, is_float, number, numbers, pick, promote, small, views


def move_one(s, rng, x):
    """Moves of one tensor."""
    d, t, kind = x.data, x.text, x.dtype
    case = lambda text, y: s.case("exact", text, (kind, y))
    rank, size = d.ndim, d.size
    case(f"reshape({t}, {size})", d.reshape(size))
    if size:
        case(f"reshape({t}, -1, 1)", d.reshape(-1, 1))
        for part in (2, 3, 4):
            if size % part == 0:
                case(f"{t}.reshape([{part}, -1])[::-1]", d.reshape(part, -1)[::-1])
    case(f"unsqueeze({t}, 0)", d[None])
    case(f"unsqueeze({t}, -1)", d[..., None])
    case(f"squeeze(unsqueeze({t}, {rank}), {rank})[...]" if rank == 0 else f"squeeze(unsqueeze({t}, {rank}), {rank})", d)
    case(f"flip({t})", np.flip(d))
    case(f"flatten({t})", d.reshape(size))
    if rank == 0:
        return
    axis = int(rng.integers(0, rank))
    case(f"flip({t}, axis: {axis})", np.flip(d, axis))
    case(f"flip({t}, axis: {axis - rank})", np.flip(d, axis))
    for shift in (1, -2, 7):
        case(f"roll({t}, {shift}, axis: {axis})[...]", np.roll(d, shift, axis))
        case(f"roll({t}, {shift})", np.roll(d, shift))
    for reps in (2, 0, [2, 1, 2]):
        case(f"tile({t}, {reps})", np.tile(d, reps))
    case(f"pad({t}, [1, 2])", np.pad(d, [(0, 0)] * (rank - 1) + [(1, 2)]))
    if kind != "bool":
        case(f"pad({t}, [0, 1], value: 7)", np.pad(d, [(0, 0)] * (rank - 1) + [(0, 1)], constant_values=7))
    case(f"concat([{t}, {t}[::-1]], axis: {axis})", np.concatenate([d, d[::-1]], axis))
    case(f"stack([{t}, {t}[::-1]], axis: {axis - rank})", np.stack([d, d[::-1]], axis - rank))
    if d.shape[axis]:
        by = int(rng.integers(1, d.shape[axis] + 1))
        parts = [d.take(range(i, min(i + by, d.shape[axis])), axis) for i in range(0, d.shape[axis], by)]
        s.case("exact", f"split({t}, {by}, axis: {axis})", *[(kind, p) for p in parts])
        w = int(rng.integers(1, d.shape[axis] + 1))
        case(f"windows({t}, {axis}, {w})", np.lib.stride_tricks.sliding_window_view(d, w, axis))
    if rank >= 2:
        case(f"pad({t}, [1, 0, 0, 2])", np.pad(d, [(0, 0)] * (rank - 2) + [(0, 2), (1, 0)]))
        case(f"transpose({t})", np.swapaxes(d, -1, -2))
        case(f"transpose({t}, 0, {rank - 1})", np.swapaxes(d, 0, -1))
        order = rng.permutation(rank).tolist()
        case(f"permute({t}, {order})", d.transpose(order))
        case(f"flatten({t}, 0, 1)", d.reshape((d.shape[0] * d.shape[1], *d.shape[2:])))
        for k in (0, 1, -1):
            case(f"tril({t}, {k})", np.tril(d, k))
            case(f"triu({t}, {k})", np.triu(d, k))
    case(f"expand(unsqueeze({t}, 0), {[2, *d.shape]})", np.broadcast_to(d, (2, *d.shape)))


def move_sections(rng, dtypes=DTYPES):
    for dtype in dtypes:
        s = Section("moves of " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (3, 4), special=True))
        cube = s.input(dtype, numbers(rng, dtype, (2, 1, 3)))
        point, empty = s.input(dtype, numbers(rng, dtype, ())), s.input(dtype, numbers(rng, dtype, (0, 2)))
        row = s.input(dtype, numbers(rng, dtype, (5,)))
        for a in [*pick(rng, views(x), 4), cube, *pick(rng, views(cube)[1:], 2), point, empty, row]:
            move_one(s, rng, a)
        for kind, text in (("shape", f"reshape({x.text}, 5)"), ("index", f"transpose({x.text}, 0, 2)"),
                           ("shape", f"expand({x.text}, [3, 5])"), ("shape", f"concat([{x.text}, {row.text}])"),
                           ("index", f"flip({x.text}, axis: 2)"), ("shape", f"stack([{x.text}, {row.text}])"),
                           ("index", f"flatten({x.text}, 2)"), ("index", f"unsqueeze({x.text}, 4)")):
            s.error(kind, text)
        yield s


def text_of_list(dtype, d):
    if d.ndim == 0:
        return {True: "true", False: "false"}[bool(d)] if dtype == "bool" else number(dtype, d)
    return "[" + ", ".join(text_of_list(dtype, v) for v in d) + "]"


def create_sections(rng):
    s = Section("tensors made of numbers")
    one = s.input("i64", np.array(1))
    for dtype in DTYPES:
        name = f"dtype: {dtype}"
        d = small(rng, dtype, (2, 3))
        s.case("exact", f"tensor({text_of_list(dtype, d)}, {name})[::-1]", (dtype, d[::-1]))
        for shape in ([2, 3], [], [0, 2], [4]):
            for builtin, value in (("zeros", 0), ("ones", 1)):
                s.case("exact", f"{builtin}({shape}, {name})", (dtype, cast(dtype, np.full(shape, float(value)))))
            s.case("exact", f"full({shape}, 1, {name})", (dtype, cast(dtype, np.full(shape, 1.0))))
        s.case("exact", f"eye(3, 4, {name})", (dtype, cast(dtype, np.eye(3, 4))))
        s.case("exact", f"eye(2, {name})", (dtype, cast(dtype, np.eye(2))))
        s.case("exact", f"zeros_like(full([2, 2], {one.text}, {name}))", (dtype, cast(dtype, np.zeros((2, 2)))))
        s.case("exact", f"ones_like(zeros([2, 2], {name})[1:])", (dtype, cast(dtype, np.ones((1, 2)))))
        if dtype != "bool":
            s.case("exact", f"arange(5, {name})", (dtype, cast(dtype, np.arange(5))))
            s.case("exact", f"arange(1, 10, 3, {name})", (dtype, cast(dtype, np.arange(1, 10, 3))))
            s.case("exact", f"arange(3, 3, {name})", (dtype, cast(dtype, np.zeros(0))))
        if dtype in INTS and dtype != "u8":
            s.case("exact", f"arange(5, -6, -2, {name})", (dtype, cast(dtype, np.arange(5, -6, -2))))
        if is_float(dtype):
            s.case("exact", f"arange(0, 2, 0.25, {name})", (dtype, np.arange(0, 2, 0.25)))
            s.case("exact", f"linspace(0, 1, 5, {name})", (dtype, np.linspace(0, 1, 5)))
            s.case("exact", f"linspace(-3, 5, 9, {name})", (dtype, np.linspace(-3, 5, 9)))
            s.case("exact", f"linspace(2, 5, 1, {name})", (dtype, np.array([2.0])))
            s.case("exact", f"linspace(2, 5, 0, {name})", (dtype, np.zeros(0)))
        elif dtype != "bool" and dtype != "i64":
            top = np.iinfo(INTS[dtype]).max
            s.error("value", f"full([2], {top + 1}, {name})")
            s.error("value", f"tensor([{top + 1}], {name})")
            s.error("value", f"arange({top - 1}, {top + 3}, {name})")
    for kind, text in (("value", "eye(-1)"), ("value", "linspace(0, 1, -1)"), ("shape", "tensor([[1, 2], [3]])"),
                       ("value", "arange(0, 5, 0)"), ("shape", "zeros([-1])")):
        s.error(kind, text)
    yield s


def join_sections(rng):
    s = Section("joined tensors of several dtypes")
    inputs = [s.input(dtype, numbers(rng, dtype, (2, 3), special=not is_float(dtype))) for dtype in DTYPES]
    for a in inputs:
        for b in pick(rng, inputs, 4):
            kind = promote(a.dtype, b.dtype)
            x, y = cast(kind, a.data, a.dtype), cast(kind, b.data, b.dtype)
            s.case("exact", f"concat([{a.text}, {b.text}[:, ::-1]], axis: 1)", (kind, np.concatenate([x, y[:, ::-1]], 1)))
            s.case("exact", f"stack([{a.text}[::-1], {b.text}])", (kind, np.stack([x[::-1], y])))
    yield s


def sections(rng):
    for part in (move_sections, create_sections, join_sections):
        yield from part(rng)
