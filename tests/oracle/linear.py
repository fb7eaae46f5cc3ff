"""Cases of products: exact ones of small whole numbers, and some that round."""

import numpy as np

from oracle import DTYPES, LONG, Section, is_float, round_to, small

EQUATIONS = [("ij,jk->ik", (3, 4), (4, 2)), ("ij,kj->ik", (3, 4), (2, 4)), ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ii->i", (3, 3)),
             ("ii->", (3, 3)), ("ij,ij->i", (3, 4), (3, 4)), ("i,j->ij", (3,), (4,)), ("bij,bjk->bik", (2, 3, 2), (2, 2, 4)),
             ("ij,jk,kl->il", (2, 3), (3, 2), (2, 3)), ("bhid,bhjd->bhij", (2, 2, 3, 2), (2, 2, 2, 2)), ("ij,j", (3, 4), (4,)),
             ("...ij->...ji", (2, 3, 4)), ("ijk->kj", (2, 3, 4)), ("i,i->", (5,), (5,))]
PAIRS = [((3, 4), (4, 2)), ((2, 3, 4), (4, 2)), ((2, 3, 4), (2, 4, 1)), ((4,), (4, 3)), ((2, 4), (4,)), ((4,), (4,)),
         ((1, 3, 2), (5, 2, 2)), ((0, 3), (3, 2)), ((3, 0), (0, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((17, 9), (9, 33))]


def product(dtype, a, b):
    if is_float(dtype):
        return round_to(dtype, np.matmul(a, b))
    return np.matmul(a, b)


def exact_sections(rng, dtypes=DTYPES[1:]):
    for dtype in dtypes:
        s = Section("products of " + dtype)
        for left, right in PAIRS:
            if len(s.inputs) > 18:
                break
            whole = 1 if is_float(dtype) else 4
            a = s.input(dtype, small(rng, dtype, left, -3, 4, whole))
            b = s.input(dtype, small(rng, dtype, right, -3, 4, whole))
            for text in (f"{a.text} @ {b.text}", f"matmul({a.text}, {b.text})"):
                s.case("exact", text, (dtype, product(dtype, a.data, b.data)))
            if len(left) >= 2 and len(right) >= 2 and 0 not in left + right:
                s.case("exact", f"transpose({b.text}) @ transpose({a.text})",
                       (dtype, product(dtype, np.swapaxes(b.data, -1, -2), np.swapaxes(a.data, -1, -2))))
                s.case("exact", f"{a.text}[..., ::-1] @ {b.text}", (dtype, product(dtype, a.data[..., ::-1], b.data)))
                s.case("exact", f"{a.text}[::-1, ..., ::2] @ {b.text}[..., ::2, ::-1]",
                       (dtype, product(dtype, a.data[::-1, ..., ::2], b.data[..., ::2, ::-1])))
                k, n = left[-1], 3
                wide = np.broadcast_to(b.data[..., :1], (*right[:-1], n))
                s.case("exact", f"{a.text} @ expand({b.text}[..., :1], {[*right[:-1], n]})",
                       (dtype, product(dtype, a.data, wide)))
            if len(left) <= 2 and len(left) == len(right) and 0 not in left + right:
                s.case("exact", f"dot({a.text}, {b.text})", (dtype, product(dtype, a.data, b.data)))
        a, b = s.input(dtype, small(rng, dtype, (3,), -3, 4, 1)), s.input(dtype, small(rng, dtype, (4,), -3, 4, 1))
        s.case("exact", f"outer({a.text}, {b.text}[::-1])", (dtype, np.outer(a.data, b.data[::-1])))
        s.error("shape", f"{a.text} @ {b.text}")
        s.error("shape", f"{a.text} @ {a.text}[0]")
        yield s


def einsum_sections(rng):
    for dtype in ("f32", "f64", "bf16", "i32"):
        s = Section("einsum of " + dtype)
        for equation, *shapes in EQUATIONS:
            if len(s.inputs) + len(shapes) > 22:
                break
            xs = [s.input(dtype, small(rng, dtype, shape, -2, 3, 1)) for shape in shapes]
            is_sum = len(xs) == 1 and equation.endswith("->")
            kind = "i64" if is_sum and not is_float(dtype) else dtype  # as sum() gives
            for args in (xs, [x.view("{}[::-1]", x.data[::-1]) for x in xs]):
                arrays = [x.data for x in args]
                # NumPy adds products to 0, and so loses the sign of -0, where nothing is summed.
                y = np.multiply.outer(*arrays) if equation == "i,j->ij" else np.einsum(equation, *arrays)
                s.case("exact", f'einsum("{equation}", {", ".join(x.text for x in args)})', (kind, y))
        yield s


def float_sections(rng):
    for dtype in ("f16", "bf16", "f32", "f64"):
        s = Section("products that round of " + dtype)
        for m, k, n in ((3, 20, 4), (2, 300, 3)):
            a = s.input(dtype, round_to(dtype, rng.uniform(0.5, 1, (m, k))))
            b = s.input(dtype, round_to(dtype, rng.uniform(0.5, 1, (k, n))))
            y = round_to(dtype, a.data.astype(LONG) @ b.data.astype(LONG))
            s.case("product", f"{a.text} @ {b.text}", (dtype, y))
            s.case("product", f"{a.text}[::-1] @ {b.text}[:, ::-1]", (dtype, y[::-1, ::-1]))
        yield s


def sections(rng):
    for part in (exact_sections, einsum_sections, float_sections):
        yield from part(rng)
