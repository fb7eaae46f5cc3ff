"""Cases of reading and writing elements; all results are exact."""

import numpy as np

from oracle import DTYPES, Section, cast, is_float, numbers, pick, round_to, small

# TSL's text and NumPy's index.
BASIC = [("0", 0), ("-1", -1), ("1:3", np.s_[1:3]), ("::-1", np.s_[::-1]), ("::2, 1:", np.s_[::2, 1:]), ("..., 0", np.s_[..., 0]),
         ("nil, 1", np.s_[None, 1]), ("1, 2", (1, 2)), (":, ::-2", np.s_[:, ::-2]), ("5:, :", np.s_[5:, :]),
         (":-1, nil, -2:", np.s_[:-1, None, -2:]), ("-100:100", np.s_[-100:100])]
WRITES = [("0", 0), ("1:3", np.s_[1:3]), ("::-1", np.s_[::-1]), ("..., 0", np.s_[..., 0]), ("::2, 1:", np.s_[::2, 1:]),
          ("1, 2", (1, 2)), (":, ::-2", np.s_[:, ::-2])]


def add(dtype, a, b):
    """x + y of one dtype, as an element's update adds."""
    if dtype == "bool":
        return a | b
    return round_to(dtype, a + b) if is_float(dtype) else a + b


def read_cases(s, rng, x, i, mask):
    d, t = x.data, x.text
    for text, index in pick(rng, BASIC, 9):
        s.case("exact", f"{t}[{text}]" + ("[...]" if text == "-100:100" else ""), (x.dtype, d[index]))
    for k in (i, i.view("{}[::-1]", i.data[::-1])):
        s.case("exact", f"{t}[{k.text}]", (x.dtype, d[k.data]))
        s.case("exact", f"{t}[:, {k.text}]", (x.dtype, d[:, k.data]))
        s.case("exact", f"{t}[{k.text}, 1]", (x.dtype, d[k.data, 1]))
        s.case("exact", f"take({t}, {k.text}, axis: 1)", (x.dtype, np.take(d, k.data, 1)))
        s.case("exact", f"take({t}, {k.text})", (x.dtype, np.take(d, k.data)))
    s.case("exact", f"{t}[{mask.text}]", (x.dtype, d[mask.data]))
    s.case("exact", f"{t}[{mask.text}[:, 0]]", (x.dtype, d[mask.data[:, 0]]))
    for axis in (0, 1):
        places = rng.integers(-d.shape[axis], d.shape[axis], d.shape)
        s.case("exact", f"gather({t}, {axis}, tensor({places.tolist()}))",
               (x.dtype, np.take_along_axis(d, places % d.shape[axis], axis)))
    s.error("index", f"{t}[7]")
    s.error("index", f"{t}[tensor([0, 9])]")
    s.error("index", f"take({t}, tensor(-8), axis: 0)")
    s.error("index", f"{t}[0, 0, 0]")
    s.error("index", f"gather({t}, 2, tensor([[0]]))")


def written(d, index, value, dtype, adds):
    y = d.copy()
    if adds:
        y[index] = add(dtype, y[index], value)
    else:
        y[index] = value
    return y


def write_cases(s, rng, x, v, i, mask):
    d, t = x.data, x.text
    block = lambda change: "{ var a = %s; %s; return a }" % (t, change)
    for text, index in WRITES:
        shape = d[index].shape
        s.case("exact", block(f"a[{text}] = {v.text}[1, 1]"), (x.dtype, written(d, index, v.data[1, 1], x.dtype, False)))
        s.case("exact", block(f"a[{text}] += {v.text}[0, 1]"), (x.dtype, written(d, index, v.data[0, 1], x.dtype, True)))
        if len(shape) == 2:
            part = v.data[: shape[0], : shape[1]]
            source = f"{v.text}[:{shape[0]}, :{shape[1]}]"
            s.case("exact", block(f"a[{text}] = {source}"), (x.dtype, written(d, index, part, x.dtype, False)))
            s.case("exact", block(f"a[{text}] = a[{text}][::-1]"), (x.dtype, written(d, index, d[index][::-1].copy(), x.dtype, False)))
    rows = i.data
    y = d.copy()
    y[rows] = v.data[: len(rows)]
    s.case("exact", block(f"a[{i.text}] = {v.text}[:{len(rows)}]"), (x.dtype, y))
    y = d.copy()
    for at, row in zip(rows, v.data):
        y[at] = add(x.dtype, y[at], row)
    s.case("exact", block(f"a[{i.text}] += {v.text}[:{len(rows)}]"), (x.dtype, y))
    s.case("exact", block(f"a[{mask.text}] = {v.text}[2, 0]"), (x.dtype, np.where(mask.data, v.data[2, 0], d)))
    for axis in (0, 1):
        places = rng.integers(-d.shape[axis], d.shape[axis], v.shape)
        y = d.copy()
        for where in np.ndindex(*v.shape):
            at = list(where)
            at[axis] = places[where]
            y[tuple(at)] = add(x.dtype, y[tuple(at)], v.data[where])
        s.case("exact", f"scatter_add({t}, {axis}, tensor({places.tolist()}), {v.text})", (x.dtype, y))
    s.error("index", block("a[9] = 1"))
    s.error("shape", block("a[0] = zeros([9])"))
    s.error("index", block(f"a[tensor([9])] = {v.text}[0, 0]"))


def element_sections(rng, dtypes=DTYPES):
    for dtype in dtypes:
        s = Section("elements of " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (5, 4), special=True))
        y = s.input(dtype, small(rng, dtype, (5, 4)))
        v = s.input(dtype, small(rng, dtype, (5, 4)))
        i = s.input("i64", np.array([2, -1, 0, 2]))
        mask = s.input("bool", rng.random((5, 4)) < 0.5)
        none = s.input("bool", np.zeros((5, 4), bool))
        wide = x.view("transpose({}[:4, :])[:, ::-1]", x.data[:4].T[:, ::-1])
        square = s.input("bool", rng.random((4, 4)) < 0.5)
        read_cases(s, rng, x, i, mask)
        read_cases(s, rng, wide, i, square)
        s.case("exact", f"{x.text}[{none.text}]", (dtype, x.data[none.data]))
        s.case("exact", f"{x.text}[tensor([], dtype: i64)]", (dtype, x.data[np.zeros(0, int)]))
        write_cases(s, rng, y, v, i, mask)
        small_index = s.input("u8", np.array([[0, 3], [1, 1]]))
        s.case("exact", f"take({x.text}, {small_index.text}, axis: 0)", (dtype, np.take(x.data, small_index.data, 0)))
        s.case("exact", f"embedding({small_index.text}, {x.text})", (dtype, x.data[small_index.data]))
        yield s


def label_sections(rng):
    s = Section("classes")
    for dtype in ("u8", "i8", "i16", "i32", "i64"):
        x = s.input(dtype, rng.integers(0, 4, (2, 3)).astype(cast(dtype, np.array(0)).dtype))
        for kind in ("i64", "f32", "bool", "u8"):
            s.case("exact", f"one_hot({x.text}, 5, dtype: {kind})", (kind, cast(kind, np.eye(5)[x.data])))
        s.case("exact", f"one_hot({x.text}[:, ::-1])", ("i64", np.eye(x.data.max() + 1, dtype=np.int64)[x.data[:, ::-1]]))
        s.error("index", f"one_hot({x.text} + 3, 3)")
    yield s


def sections(rng):
    for part in (element_sections, label_sections):
        yield from part(rng)
