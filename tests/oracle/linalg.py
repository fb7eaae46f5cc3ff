"""Cases of factorisations and of linear algebra on them, by mpmath with 120 bits and by NumPy."""

import mpmath
import numpy as np
import scipy.linalg

from oracle import Section, is_float, round_to, small

mpmath.mp.prec = 120
SQUARE = [(3, 3), (2, 4, 4), (1, 1), (2, 1, 5, 5)]
ANY = [(4, 3), (3, 5), (2, 4, 2), (1, 3), (3, 1)]
NORMS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


def exact(x):
    return mpmath.matrix(x.tolist())


def rounded(x):
    if not isinstance(x, mpmath.matrix):
        return np.float64(float(x))
    return np.array([[float(x[i, j]) for j in range(x.cols)] for i in range(x.rows)]).reshape(x.rows, x.cols)


def each(f, *batches):
    """f of the matrices of batches of equal extents, computed in 120 bits."""
    batch = batches[0].shape[:-2]
    results = [rounded(f(*(exact(x[i]) for x in batches))) for i in np.ndindex(batch)]
    return np.array(results).reshape(batch + results[0].shape)


def values(x):
    """Singular values in descending order."""
    if x.rows < x.cols:
        x = x.T
    return mpmath.matrix(sorted(mpmath.svd_r(x, compute_uv=False), reverse=True))


def column_sums(x):
    return [sum(abs(x[i, j]) for i in range(x.rows)) for j in range(x.cols)]


def matrix_norm(x, order):
    if order == "fro":
        return mpmath.sqrt(sum(v * v for v in x))
    if order in ("nuc", 2, -2):
        s = list(values(x))
        return sum(s) if order == "nuc" else s[0] if order == 2 else s[-1]
    sums = column_sums(x if abs(order) == 1 else x.T)
    return max(sums) if order > 0 else min(sums)


def inverse(x):
    return mpmath.inverse(x)


def solution(a, b):
    return inverse(a) * b


def pseudoinverse(x):
    return inverse(x.T * x) * x.T if x.rows >= x.cols else x.T * inverse(x * x.T)


def symmetric_factor(x):
    """The root of xᵀ x."""
    values, vectors = mpmath.eigsy(x.T * x)
    return vectors * mpmath.diag([mpmath.sqrt(abs(v)) for v in values]) * vectors.T


def regular(rng, dtype, shape):
    """Matrices with condition numbers below 10, or so."""
    x = rng.uniform(-1, 1, shape)
    return round_to(dtype, x + shape[-1] * np.eye(shape[-1]) * rng.choice([-1, 1]))


def swap(x):
    return np.swapaxes(x, -1, -2)


def square_sections(rng, dtype):
    for shape in SQUARE:
        s = Section(f"square {dtype} matrices {list(shape)}")
        x = s.input(dtype, regular(rng, dtype, shape))
        b = s.input(dtype, round_to(dtype, rng.uniform(-1, 1, (*shape[:-1], 2))))
        v = s.input(dtype, round_to(dtype, rng.uniform(-1, 1, shape[-1])))
        for a in (x, x.view("transpose({})", swap(x.data)), x.view("{}[..., ::-1, :]", x.data[..., ::-1, :])):
            t = a.text
            s.case("linalg", f"inv({t})", (dtype, each(inverse, a.data)))
            s.case("linalg", f"det({t})", (dtype, each(mpmath.det, a.data)))
            s.case("linalg", f"solve({t}, {b.text})", (dtype, each(solution, a.data, b.data)))
            wide = np.broadcast_to(v.data[:, None], (*shape[:-1], 1))
            s.case("linalg", f"solve({t}, {v.text})",
                   (dtype, each(solution, a.data, wide)[..., 0]))
            sign = each(lambda m: mpmath.sign(mpmath.det(m)), a.data)
            logs = each(lambda m: mpmath.log(abs(mpmath.det(m))), a.data)
            s.case("linalg", f"slogdet({t})", (dtype, sign), (dtype, logs))
            s.case("linalg", f"matrix_power({t}, 3)", (dtype, each(lambda m: m ** 3, a.data)))
            s.case("linalg", f"matrix_power({t}, -2)", (dtype, each(lambda m: inverse(m) ** 2, a.data)))
            s.case("linalg", f"expm({t} * 0.25)", (dtype, each(lambda m: mpmath.expm(m / 4, method="taylor"), a.data)))
            s.case("linalg", f"pinv({t})", (dtype, each(inverse, a.data)))
            s.case("linalg", f"cond({t})", (dtype, each(lambda m: values(m)[0] / values(m)[m.rows - 1], a.data)))
            s.case("linalg", f"cond({t}, p: 1)",
                   (dtype, each(lambda m: matrix_norm(m, 1) * matrix_norm(inverse(m), 1), a.data)))
            symmetric = each(lambda m: mpmath.matrix(sorted(mpmath.eigsy(m + m.T, eigvals_only=True))), a.data)
            s.case("linalg", f"eigvalsh({t} + transpose({t}))", (dtype, symmetric[..., 0]))
            s.case("exact", f"matrix_rank({t})", ("i64", np.full(shape[:-2], shape[-1])))
            s.case("exact", f"matrix_power({t}, 0)", (dtype, np.broadcast_to(np.eye(shape[-1]), shape)))
        yield s


def any_sections(rng, dtype):
    for shape in ANY:
        s = Section(f"{dtype} matrices {list(shape)}")
        x = s.input(dtype, round_to(dtype, rng.uniform(-1, 1, shape) + 3 * np.eye(*shape[-2:])))
        b = s.input(dtype, round_to(dtype, rng.uniform(-1, 1, (*shape[:-1], 2))))
        for a in (x, x.view("transpose({})", swap(x.data))):
            t, (m, n) = a.text, a.shape[-2:]
            same = (dtype, a.data)
            s.case("linalg", f"{{ let (q, r) = qr({t}); return q @ r }}", same)
            s.case("linalg", f'{{ let (q, r) = qr({t}, mode: "complete"); return q @ r }}', same)
            s.case("linalg", f'{{ let q = qr({t}, mode: "complete")[0]; return transpose(q) @ q }}',
                   (dtype, np.broadcast_to(np.eye(m), (*a.shape[:-2], m, m))))
            if m >= n:
                r = each(lambda v: mpmath.qr(v, mode="skinny")[1], a.data)
                s.case("linalg", f'abs(qr({t}, mode: "r"))', (dtype, np.abs(r)))
            s.case("linalg", f"{{ let (u, s, vh) = svd({t}); return (u * unsqueeze(s, -2)) @ vh }}", same)
            s.case("linalg", f"svd({t}, full_matrices: true)[1]", (dtype, each(values, a.data)[..., 0]))
            s.case("linalg", f"svdvals({t})", (dtype, each(values, a.data)[..., 0]))
            s.case("linalg", f"{{ let (p, l, u) = lu({t}); return p @ l @ u }}", same)
            p, lower, upper = scipy.linalg.lu(a.data.astype(np.float64))
            s.case("linalg", f"lu({t})", (dtype, p), (dtype, lower), (dtype, upper))
            order = np.argmax(p, axis=-2)
            s.case("exact", f"lu_factor({t})[2]", ("i64", order))
            s.case("linalg", f"pinv({t})", (dtype, each(pseudoinverse, a.data)))
            s.case("linalg", f"{{ let (u, p) = polar({t}); return u @ p }}", same)
            s.case("linalg", f"polar({t})[1]", (dtype, each(symmetric_factor, a.data)))
            s.case("exact", f"matrix_rank({t})", ("i64", np.full(a.shape[:-2], min(m, n))))
            for order in NORMS:
                name = f'"{order}"' if isinstance(order, str) else f'float("{order}")' if np.isinf(order) else order
                s.case("linalg", f"matrix_norm({t}, ord: {name})",
                       (dtype, each(lambda v: matrix_norm(v, order), a.data)))
            if m >= n:
                right = b if a is x else a
                nearest = each(lambda v, w: pseudoinverse(v) * w, a.data, right.data)
                s.case("linalg", f"lstsq({t}, {right.text})[0]", (dtype, nearest))
                s.case("exact", f"lstsq({t}, {right.text})[2]", ("i64", np.full(shape[:-2], n)))
        yield s


def products(rng, dtype):
    s = Section("products of " + dtype)
    a, b = (s.input(dtype, small(rng, dtype, shape, -3, 4, 1)) for shape in ((2, 3), (3, 2)))
    u, v = (s.input(dtype, small(rng, dtype, (4, 3), -3, 4, 1)) for _ in range(2))
    z, w = (s.input(dtype, small(rng, dtype, shape, -2, 3, 1)) for shape in ((2, 3, 4), (4, 3, 2)))
    s.case("exact", f"kron({a.text}, {b.text})", (dtype, np.kron(a.data, b.data)))
    s.case("exact", f"kron({a.text}, {z.text})", (dtype, np.kron(a.data, z.data)))
    s.case("exact", f"kron({a.text}[0], {b.text}[::-1, 0])", (dtype, np.kron(a.data[0], b.data[::-1, 0])))
    s.case("exact", f"cross({u.text}, {v.text})", (dtype, np.cross(u.data, v.data)))
    s.case("exact", f"cross({u.text}[::2], {v.text}[0])", (dtype, np.cross(u.data[::2], v.data[0])))
    s.case("exact", f"cross({u.text}.T, {v.text}.T, axis: 0)", (dtype, np.cross(u.data, v.data).T))
    s.case("exact", f"tensordot({z.text}, {w.text}, axes: [[1, 2], [1, 0]])",
           (dtype, np.tensordot(z.data, w.data, axes=[[1, 2], [1, 0]])))
    s.case("exact", f"tensordot({a.text}, {b.text}, axes: 1)", (dtype, np.tensordot(a.data, b.data, axes=1)))
    s.case("exact", f"tensordot({a.text}, {b.text}, axes: 0)", (dtype, np.tensordot(a.data, b.data, axes=0)))
    s.case("exact", f"tensordot({a.text}, {a.text})", (dtype, np.tensordot(a.data, a.data)))
    total = dtype if is_float(dtype) else "i64"  # as sum() gives
    s.case("exact", f"vecdot({u.text}, {v.text})", (total, np.vecdot(u.data, v.data)))
    s.case("exact", f"vecdot({u.text}, {v.text}, axis: 0)", (total, np.sum(u.data * v.data, axis=0)))
    for offset in (0, 1, -1, 3, -3):
        s.case("exact", f"trace({z.text}, offset: {offset})",
               (total, np.trace(z.data, offset, axis1=-2, axis2=-1)))
    s.case("exact", f"toeplitz({a.text}[0])", (dtype, scipy.linalg.toeplitz(a.data[0])))
    s.case("exact", f"toeplitz({a.text}[0], {b.text}[:, 1])", (dtype, scipy.linalg.toeplitz(a.data[0], b.data[:, 1])))
    chosen = np.sqrt(np.sum((u.data[:, None] - v.data[None]) ** 2, axis=-1, dtype=np.longdouble))
    s.case("exact", f"multi_dot([{a.text}, {b.text}, {a.text}])", (dtype, a.data @ b.data @ a.data))
    s.case("exact", f"multi_dot([{a.text}[0], {b.text}, {a.text}, {b.text}[:, 0]])",
           (dtype, a.data[0] @ b.data @ a.data @ b.data[:, 0]))
    kind = dtype if is_float(dtype) else "f32"  # as norm() gives
    s.case("norm", f"cdist({u.text}, {v.text})", (kind, round_to(kind, chosen)))
    sums = np.sum(np.abs(u.data[:, None] - v.data[None]), axis=-1)
    s.case("exact", f"cdist({u.text}, {v.text}, p: 1)", (kind, sums))
    s.error("shape", f"cross({a.text}[:, :2], {b.text})")
    s.error("shape", f"cdist({u.text}, {b.text})")
    s.error("shape", f"tensordot({a.text}, {u.text}, axes: [[0], [0]])")
    s.error("value", f"tensordot({a.text}, {b.text}, axes: 3)")
    yield s


def edges(dtype):
    s = Section("edges of " + dtype)
    n, x, r = (s.input(dtype, data) for data in (np.zeros((2, 0, 0)), np.zeros((0, 3)), [[1.0, 2.0], [2.0, 4.0]]))
    big = s.input(dtype, [[1.0, np.nan], [0.0, 1.0]])
    s.case("exact", f"det({n.text})", (dtype, np.ones(2)))
    s.case("exact", f"slogdet({n.text})", (dtype, np.ones(2)), (dtype, np.zeros(2)))
    for call in ("inv", "pinv", "expm"):
        s.case("same", f"{call}({n.text})", (dtype, np.zeros((2, 0, 0))))
    s.case("exact", f"pinv({x.text})", (dtype, np.zeros((3, 0))))
    s.case("exact", f"svdvals({x.text})", (dtype, np.zeros(0)))
    s.case("exact", f'qr({x.text}.T, mode: "complete")', (dtype, np.eye(3)), (dtype, np.zeros((3, 0))))
    s.case("exact", f"svd({x.text}, full_matrices: true)[2]", (dtype, np.eye(3)))
    s.case("exact", f"lu_factor({x.text}.T)[2]", ("i64", np.arange(3)))
    s.case("exact", f"matrix_rank({r.text})", ("i64", 1))
    s.case("exact", f"matrix_rank({r.text} * 0)", ("i64", 0))
    s.case("exact", f"det({r.text})", (dtype, 0.0))
    s.case("exact", f"slogdet({r.text})", (dtype, 0.0), (dtype, -np.inf))
    s.case("linalg", f"pinv({r.text})", (dtype, np.array([[1.0, 2.0], [2.0, 4.0]]) / 25))
    s.case("linalg", f"lstsq({r.text}, {r.text}[0])[0]", (dtype, np.array([0.2, 0.4])))
    s.error("value", f"inv({r.text})")
    s.error("value", f"solve({r.text}, {r.text})")
    s.error("value", f"svd({big.text})")
    for call in ("inv", "det", "slogdet", "expm"):
        s.error("shape", f"{call}({x.text})")
    s.error("shape", f"qr({r.text}[0])")
    s.error("shape", f"trace({r.text}[0])")
    s.error("type", f"svd(i64({r.text}))")
    s.error("value", f"matrix_norm({r.text}, ord: 3)")
    yield s


def sections(rng):
    for dtype in ("f32", "f64"):
        yield from square_sections(rng, dtype)
        yield from any_sections(rng, dtype)
        yield from products(rng, dtype)
        yield from edges(dtype)
    yield from products(rng, "i32")
