"""Cases of vmap, of derivatives as functions, and of derivatives by rules: definitions in NumPy."""

import numpy as np

from oracle import LONG, Section, is_float, round_to, small, views


def for_pairs(f, a, b):
    """f for all pairs of rows."""
    return np.array([[f(x, y) for y in b] for x in a])


def mapped_sections(rng):
    for dtype in ("f32", "f16", "i64"):
        s = Section("vmap of " + dtype)
        total = dtype if is_float(dtype) else "i64"
        x = s.input(dtype, small(rng, dtype, (3, 4), lowest(dtype), 7, 1))
        y = s.input(dtype, small(rng, dtype, (3, 4), 1, 7, 1))
        w = s.input(dtype, small(rng, dtype, (4, 2), -3, 4, 1))
        i = s.input("i64", rng.integers(-4, 4, (3, 5)))
        n = x.shape[0]
        for a in views(x):
            if 0 in a.shape or len(a.shape) != 2:
                continue
            d = a.data
            s.case("exact", f"vmap(fn(r) = r * 2 + sum(r))({a.text})", (total, d * 2 + d.sum(1, keepdims=True)))
            s.case("exact", f"vmap(fn(r) = [max(r), r[::-1], argmax(r)])({a.text})", (dtype, d.max(1)),
                   (dtype, d[:, ::-1]), ("i64", d.argmax(1)))
            s.case("exact", f"vmap(fn(c) = c - min(c), in_axes: 1, out_axes: -1)({a.text})", (dtype, d - d.min(0)))
            s.case("exact", f"vmap(fn(r) = sort(r, descending: true))({a.text})", (dtype, -np.sort(-d, axis=1)))
            s.case("exact", f"vmap(fn(r) = cumsum(r, axis: 0))({a.text})", (total, np.cumsum(d, axis=1)))
            s.case("exact", f"vmap(fn(e) = vmap(fn(v) = v + 1)(e))({a.text})", (dtype, d + 1))
        rows = [(x.data[k], y.data[k]) for k in range(n)]
        s.case("exact", f"vmap(fn(a, b) = where(a > b, a, b * 2))({x.text}, {y.text})",
               (dtype, np.where(x.data > y.data, x.data, y.data * 2)))
        s.case("exact", f"vmap(fn(a, m) = a @ m, in_axes: [0, nil])({x.text}, {w.text})", (dtype, x.data @ w.data))
        s.case("exact", f"vmap(fn(m, a) = m.T @ a, in_axes: [nil, 0])({w.text}, {x.text})", (dtype, x.data @ w.data))
        s.case("exact", f"vmap(dot)({x.text}, {y.text})", (dtype, (x.data * y.data).sum(1)))
        s.case("exact", f"vmap(outer)({x.text}, {y.text})", (dtype, np.array([np.outer(a, b) for a, b in rows])))
        s.case("exact", f"vmap(fn(a) = vmap(fn(b) = sum(a * b))({y.text}))({x.text})",
               (total, for_pairs(np.dot, x.data, y.data)))
        s.case("exact", f"vmap(fn(a, b) = concat([a, b, {x.text}[0]]))({x.text}, {y.text})",
               (dtype, np.array([np.concatenate([a, b, x.data[0]]) for a, b in rows])))
        s.case("exact", f"vmap(fn(a, k) = a[k])({x.text}, {i.text})", (dtype, np.take_along_axis(x.data, i.data % 4, 1)))
        s.case("exact", f"vmap(fn(k) = {x.text}[0][k])({i.text})", (dtype, x.data[0][i.data]))
        added = x.data.copy()
        for k in range(n):
            np.add.at(added[k], i.data[k] % 4, 1)
        s.case("exact", f"vmap(fn(a, k) = scatter_add(a, 0, k, expand(tensor(1, dtype: {dtype}), 5)))({x.text}, {i.text} % 4)",
               (dtype, added))
        s.case("exact", f"vmap(fn(a) = 7)({x.text})", ("i64", np.full(n, 7)))
        s.case("exact", f"vmap(fn(a) = {y.text}[0], out_axes: 1)({x.text})", (dtype, np.tile(y.data[:1].T, (1, n))))
        s.case("exact", f"vmap(fn(p, q) = p.u * q + p.v[0], in_axes: [0, nil])({{u: {x.text}, v: [{y.text}]}}, 3)",
               (dtype, x.data * 3 + y.data))
        s.case("exact", f"vmap(sum)({x.text}[:0])", (total, np.zeros(0)))
        s.error("shape", f"vmap(dot)({x.text}, {w.text})")
        s.error("value", f"vmap(fn(a) = if a[0] > 0 {{ a }} else {{ -a }})({x.text})")
        s.error("value", f"vmap(fn(a) = sum(a).item())({x.text})")
        s.error("value", f"vmap(dot, in_axes: [0])({x.text}, {y.text})")
        s.error("value", f"vmap(sum, out_axes: nil)({x.text})")
        yield s


def lowest(dtype):
    return -6 if is_float(dtype) else 0


def derivative_sections(rng):
    for dtype in ("f32", "f64", "bf16"):
        s = Section("derivatives of " + dtype)
        x = s.input(dtype, small(rng, dtype, (4,), -3, 4, 1))
        t = s.input(dtype, small(rng, dtype, (4,), -3, 4, 1))
        w = s.input(dtype, small(rng, dtype, (3, 4), -3, 4, 1))
        d, v, m = x.data, t.data, w.data
        s.case("exact", f"jvp(fn(a) = a * a * a, {x.text}, {t.text})", (dtype, d**3), (dtype, 3 * d**2 * v))
        s.case("exact", f"jvp(fn(a, b) = [b @ a, a], ({x.text}, {w.text}), ({t.text}, 2 * {w.text}))", (dtype, m @ d),
               (dtype, d), (dtype, m @ v + 2 * m @ d), (dtype, v))
        s.case("exact", f"jacobian(fn(a) = a * a)({x.text}) + 0", (dtype, np.diag(2 * d)))
        s.case("exact", f"jacobian(fn(b, a) = b @ a, wrt: 1)({w.text}, {x.text})", (dtype, m))
        s.case("exact", f"jacobian(fn(b, a) = b @ a)({w.text}, {x.text})", (dtype, np.einsum("ij,k->ijk", np.eye(3), d)))
        s.case("exact", f"jacobian(fn(a) = (sum(a * a), a[::2]))({x.text})", (dtype, 2 * d), (dtype, np.eye(4)[::2]))
        s.case("exact", f"hessian(fn(a) = sum(a * a * a))({x.text}) + 0", (dtype, np.diag(6 * d)))
        s.case("exact", f"hessian(fn(b, a) = sum(square(b @ a)), wrt: 1)({w.text}, {x.text})", (dtype, 2 * m.T @ m))
        s.case("exact", f"hvp(fn(a) = sum(a * a * a), {x.text}, {t.text})", (dtype, 6 * d * v))
        s.case("exact", f"vmap(grad(fn(a) = sum(a * a * a)))({w.text})", (dtype, 3 * m**2))
        s.case("exact", f"grad(fn(a) = sum(vmap(fn(r) = r * a)({w.text})))({x.text})", (dtype, m.sum(0)))
        s.case("exact", f"vmap(grad(fn(r, a) = sum(r * a * a), wrt: 1), in_axes: [0, nil])({w.text}, {x.text})",
               (dtype, 2 * m * d))
        scaled = "with_vjp(fn(a) = a * 3, fn(a, y, g) = g * y)"
        s.case("exact", f"grad(fn(a) = sum({scaled}(a)))({x.text})", (dtype, 3 * d))
        s.case("exact", f"grad(fn(a) = sum(grad(fn(b) = sum({scaled}(b) * b))(a)))({x.text})",
               (dtype, 6 * d + 3 * d**2))  # of y + a * y by a, where y' = y
        s.case("exact", f"grad(fn(a) = sum(remat(fn(b) = b * b * b)(a)))({x.text})", (dtype, 3 * d**2))
        s.case("exact", f"grad(fn(a) = sum(remat(fn(b) = b @ a)({w.text})))({x.text})", (dtype, m.sum(0)))
        s.case("exact", f"hessian(fn(a) = sum(remat(fn(b) = b * b * b)(a)))({x.text}) + 0", (dtype, np.diag(6 * d)))
        s.error("shape", f"jvp(fn(a) = a, {x.text}, {t.text}[:2])")
        s.error("value", f"jvp(dot, ({x.text}, {t.text}), {t.text})")
        s.error("type", f"jacobian(fn(a) = a, wrt: 1)({x.text})")
        s.error("value", f"grad(fn(a) = sum(with_vjp(dot, fn(a, b, y, g) = g)(a, {t.text})))({x.text})")
        s.error("shape", f"grad(fn(a) = sum(with_vjp(fn(b) = b, fn(b, y, g) = sum(g))(a)))({x.text})")
        yield s


def softmax_sections(rng):
    for dtype in ("f32", "f64"):
        s = Section("curvature of " + dtype)
        x = s.input(dtype, rng.normal(0, 2, 5).astype(np.float32 if dtype == "f32" else np.float64))
        e = np.exp(x.data.astype(LONG))
        p = e / e.sum()
        spread = np.diag(p) - np.outer(p, p)
        for text in (f"hessian(logsumexp)({x.text})", f"jacobian(softmax)({x.text})"):
            s.case("softmax", text, (dtype, round_to(dtype, spread)))
        s.case("product", f"hvp(logsumexp, {x.text}, {x.text})", (dtype, round_to(dtype, spread @ x.data)))
        s.case("product", f"jvp(softmax, {x.text}, {x.text})[1]", (dtype, round_to(dtype, spread @ x.data)))
        yield s


def sections(rng):
    yield from mapped_sections(rng)
    yield from derivative_sections(rng)
    yield from softmax_sections(rng)
