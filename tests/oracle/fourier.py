"""Cases of complex numbers and of Fourier transforms, by NumPy's and SciPy's long doubles."""

import numpy as np
import scipy.fft
import scipy.signal

from oracle import LONG, Section, numbers, round_to, small, views

NORMS = ("backward", "ortho", "forward")


def pairs(dtype, z):
    z = np.asarray(z)
    return dtype, np.stack([round_to(dtype, z.real), round_to(dtype, z.imag)], axis=-1)


def complex_input(s, rng, dtype, shape, scale=1.0):
    """Two inputs, and the text and the elements of the complex tensor of both."""
    x, y = (s.input(dtype, round_to(dtype, numbers(rng, dtype, shape) * scale)) for _ in range(2))
    return f"complex({x.text}, {y.text})", x.data.astype(LONG) + 1j * y.data.astype(LONG)


def transforms(rng):
    for dtype in ("f32", "f64"):
        for n in (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 32, 37, 64, 97, 100):
            s = Section(f"transforms of {n} in {dtype}")
            text, z = complex_input(s, rng, dtype, (3, n))
            real, x = "x", z.real
            for norm in NORMS:
                for name in ("fft", "ifft"):
                    reference = getattr(scipy.fft, name)(z, norm=norm)
                    s.case("fourier", f'view_as_real({name}({text}, norm: "{norm}"))', pairs(dtype, reference))
                s.case("fourier", f'view_as_real(rfft({real}, norm: "{norm}"))',
                       pairs(dtype, scipy.fft.rfft(x, norm=norm)))
                for length in (2 * n - 1, 2 * n - 2):
                    if length < 1:
                        continue
                    reference = scipy.fft.irfft(z, length, norm=norm)
                    s.case("fourier", f'irfft({text}, {length}, norm: "{norm}")', (dtype, round_to(dtype, reference)))
            for length in (1, n + 3, max(1, n - 2)):
                s.case("fourier", f"view_as_real(fft({text}, {length}))", pairs(dtype, scipy.fft.fft(z, length)))
                s.case("fourier", f"view_as_real(rfft({real}, {length}))", pairs(dtype, scipy.fft.rfft(x, length)))
            s.case("fourier", f"view_as_real(fft({text}, axis: 0))", pairs(dtype, scipy.fft.fft(z, axis=0)))
            s.case("fourier", f"fft_pairs(view_as_real({text}), true)",
                   pairs(dtype, scipy.fft.ifft(z, norm="forward")))
            s.case("fourier", f"view_as_real(view_as_complex(rfft_pairs({real})))", pairs(dtype, scipy.fft.rfft(x)))
            s.case("fourier", f"irfft_pairs(rfft_pairs({real}), {n})", (dtype, round_to(dtype, x * n)))
            s.error("index", f"fft({text}, axis: 2)")
            yield s


def several_axes(rng):
    for dtype in ("f32", "f64"):
        s = Section("transforms over several axes in " + dtype)
        text, z = complex_input(s, rng, dtype, (2, 3, 4))
        for name in ("fft2", "ifft2", "fftn", "ifftn"):
            reference = getattr(scipy.fft, name)
            for norm in NORMS:
                s.case("fourier", f'view_as_real({name}({text}, norm: "{norm}"))', pairs(dtype, reference(z, norm=norm)))
            s.case("fourier", f"view_as_real({name}({text}, axes: [0, 2]))", pairs(dtype, reference(z, axes=(0, 2))))
            s.case("fourier", f"view_as_real({name}({text}, [3, 2]))",
                   pairs(dtype, reference(z, (3, 2), axes=(-2, -1))))
        for name in ("rfft2", "rfftn"):
            reference = getattr(scipy.fft, name)
            s.case("fourier", f"view_as_real({name}(x))", pairs(dtype, reference(z.real)))
            s.case("fourier", f"view_as_real({name}(x, [4, 5]))", pairs(dtype, reference(z.real, (4, 5), axes=(-2, -1))))
        for name in ("irfft2", "irfftn"):
            reference = getattr(scipy.fft, name)
            s.case("fourier", f"{name}({text})", (dtype, round_to(dtype, reference(z))))
            s.case("fourier", f"{name}({text}, [3, 5])", (dtype, round_to(dtype, reference(z, (3, 5), axes=(-2, -1)))))
        yield s


def frequencies():
    s = Section("frequencies")
    one = s.input("f32", np.array([1.0]))
    for n in (1, 2, 5, 8):
        for d in (1.0, 0.25):
            for name in ("fftfreq", "rfftfreq"):
                reference = round_to("f32", getattr(np.fft, name)(n, d))
                s.case("composite", f"{name}({n}, {d}) * {one.text}", ("f32", reference))
    x = s.input("i64", np.arange(30).reshape(5, 6))
    for v in views(x):
        for name in ("fftshift", "ifftshift"):
            for axes in (None, 0, (0, 1)):
                given = "" if axes is None else f", {list(axes) if isinstance(axes, tuple) else axes}"
                s.case("exact", f"{name}({v.text}{given})", ("i64", getattr(np.fft, name)(v.data, axes)))
    yield s


def short_parts(rng):
    for dtype in ("f32", "f64"):
        s = Section("short parts of signals in " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (2, 40)))
        for n, hop in ((8, 2), (8, 4), (7, 3)):
            w = scipy.signal.get_window("hann", n, fftbins=True)
            padded = np.pad(x.data.astype(LONG), ((0, 0), (n // 2, n // 2)), mode="reflect")
            count = (padded.shape[-1] - n) // hop + 1
            frames = np.stack([padded[:, i * hop:i * hop + n] for i in range(count)], axis=1)
            reference = np.moveaxis(scipy.fft.rfft(frames * round_to(dtype, w)), 1, 2)
            call = f"stft({x.text}, {n}, {hop}, window: hann({n}, sym: false, dtype: {dtype}))"
            s.case("fourier", f"view_as_real({call})", pairs(dtype, reference))
            s.case("signal", f"istft({call}, {n}, {hop}, window: hann({n}, sym: false, dtype: {dtype}), length: 30)",
                   (dtype, x.data[:, :30]))
        yield s


UNARY = ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "square", "reciprocal", "log2", "log10")


def functions(rng):
    for dtype in ("f32", "f64"):
        s = Section("functions of complex numbers in " + dtype)
        text, z = complex_input(s, rng, dtype, (2, 6), 0.6)
        for name in UNARY:
            s.case("complex", f"view_as_real({name}({text}))", pairs(dtype, getattr(np, name)(z)))
        s.case("complex", f"view_as_real(rsqrt({text}))", pairs(dtype, 1 / np.sqrt(z)))
        s.case("complex", f"view_as_real(sign({text}))", pairs(dtype, z / abs(z)))
        s.case("hypot", f"abs({text})", (dtype, round_to(dtype, abs(z))))
        s.case("atan2", f"angle({text})", (dtype, round_to(dtype, np.angle(z))))
        s.case("exact", f"view_as_real(conj({text}))", pairs(dtype, z.conj()))
        s.case("exact", f"real({text}) + imag({text})", (dtype, round_to(dtype, z.real + z.imag)))
        s.case("exact", f"view_as_real(view_as_complex(view_as_real({text})))", pairs(dtype, z))
        s.case("complex", f"view_as_real(polar(abs({text}), angle({text})))", pairs(dtype, z))
        s.case("complex", f"view_as_real({text} ** 5)", pairs(dtype, z**5))
        s.case("complex", f"view_as_real({text} ** -3)", pairs(dtype, z**-3))
        s.case("complex", f"view_as_real(prod({text}[0]))", pairs(dtype, z[0].prod()))
        s.case("sum", f"view_as_real(sum({text}, axis: 1))", pairs(dtype, z.sum(axis=1)))
        s.case("sum", f"view_as_real(mean({text}))", pairs(dtype, z.mean()))
        s.case("exact", f"view_as_real({text}.T[1:, ::-1])", pairs(dtype, z.T[1:, ::-1]))
        s.case("exact", f"if is_complex({text}) {{ x + 1.0 }} else {{ x }}", (dtype, round_to(dtype, z.real + 1)))
        s.case("exact", f"isnan({text})", ("bool", np.isnan(z)))
        s.case("exact", f"isinf({text})", ("bool", np.isinf(z)))
        s.case("exact", f"isfinite({text})", ("bool", np.isfinite(z)))
        width = "c64" if dtype == "f32" else "c128"
        s.case("exact", f"view_as_real({width}({text}))", pairs(dtype, z))
        yield s


def operators(rng):
    for dtype in ("f32", "f64"):
        s = Section("operators of complex numbers in " + dtype)
        (a, x), (b, y) = complex_input(s, rng, dtype, (3, 4)), complex_input(s, rng, dtype, (3, 4))
        other = s.input(dtype, numbers(rng, dtype, (4,)))
        for op, result in (("+", x + y), ("-", x - y), ("*", x * y), ("/", x / y)):
            s.case("complex", f"view_as_real({a} {op} {b})", pairs(dtype, result))
        for op, f in (("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide)):
            s.case("complex", f"view_as_real({a} {op} {other.text})", pairs(dtype, f(x, other.data.astype(LONG))))
            s.case("complex", f"view_as_real({other.text} {op} {a})", pairs(dtype, f(other.data.astype(LONG), x)))
            s.case("complex", f"view_as_real({a} {op} 2.5)", pairs(dtype, f(x, LONG(2.5))))
            s.case("complex", f"view_as_real(0.5i {op} {a})", pairs(dtype, f(np.clongdouble(0.5j), x)))
        s.case("exact", f"{a} == {a}", ("bool", x == x))
        s.case("exact", f"{a} != {b}", ("bool", x != y))
        s.case("product", f"view_as_real({a} @ transpose({b}))", pairs(dtype, x @ y.T))
        s.case("product", f"view_as_real({a} @ {other.text})", pairs(dtype, x @ other.data.astype(LONG)))
        s.case("exact", f"view_as_real(where({a}.re > 0.0, {a}, {b}))", pairs(dtype, np.where(x.real > 0, x, y)))
        s.case("exact", f"view_as_real(concat([{a}, {b}], 1))", pairs(dtype, np.concatenate([x, y], 1)))
        s.case("exact", f"view_as_real(stack([{a}, {b}]))", pairs(dtype, np.stack([x, y])))
        s.error("type", f"{a} < {b}")
        s.error("shape", f"{a} + {b}[:2]")
        yield s


def systems(rng):
    for dtype in ("f32", "f64"):
        s = Section("complex matrices in " + dtype)
        (a, x), (b, y) = complex_input(s, rng, dtype, (3, 3)), complex_input(s, rng, dtype, (3, 2))
        m, n = x.astype(complex), y.astype(complex)
        s.case("linalg", f"view_as_real(solve({a}, {b}))", pairs(dtype, np.linalg.solve(m, n)))
        s.case("linalg", f"view_as_real(inv({a}))", pairs(dtype, np.linalg.inv(m)))
        hermitian = m + m.conj().T
        s.case("linalg", f"eigh({a} + conj(transpose({a})))[0]", (dtype, round_to(dtype, np.linalg.eigvalsh(hermitian))))
        real = s.input(dtype, small(rng, dtype, (2, 4, 4)))
        # Values in order of their real parts, as their order is not determined.
        reference = [sum(np.linalg.eigvals(each).real) for each in real.data.astype(float)]
        s.case("linalg", f"sum(eigvals({real.text}).re, axis: -1)", (dtype, round_to(dtype, reference)))
        s.case("linalg", f"{{ let (w, v) = eig({real.text}); return real(v @ (unsqueeze(w, -1) * inv(v))) }}",
               (dtype, real.data))
        s.case("linalg", f"{{ let (w, v) = eig_pairs({real.text}); return w[..., 1].sum(axis: -1) + 1.0 }}",
               (dtype, np.ones(2)))
        p = s.input(dtype, np.array([1.0, -6.0, 11.0, -6.0]))
        s.case("linalg", f"sort(roots({p.text}).re)", (dtype, np.array([1.0, 2.0, 3.0])))
        s.error("shape", f"eig({real.text}[0, :2])")
        yield s


def block(expression, names, value):
    return f"{{ let {names} = {expression}; return {value} }}"


def factorisations(rng):
    """Factors are compared where they are determined: as products, and as values."""
    for dtype in ("f32", "f64"):
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 3)):
            s = Section(f"factorisations of complex matrices {list(shape)} in {dtype}")
            a, x = complex_input(s, rng, dtype, shape)
            z = x.astype(complex)
            whole = np.swapaxes(z.conj(), -1, -2)
            u, values, vh = np.linalg.svd(z, full_matrices=False)
            s.case("linalg", f"svdvals({a}) * 1.0", (dtype, round_to(dtype, values)))
            s.case("linalg", block(f"svd({a})", "(u, s, vh)", "view_as_real((u * unsqueeze(s, -2)) @ vh)"), pairs(dtype, z))
            s.case("linalg", block(f"svd({a})", "(u, s, vh)", "view_as_real(u @ vh)"), pairs(dtype, u @ vh))
            s.case("linalg", block(f"svd({a}, full_matrices: true)", "(u, s, vh)", "abs(conj(transpose(u)) @ u)"),
                   (dtype, np.broadcast_to(np.eye(shape[-2]), shape[:-1] + (shape[-2],))))
            for mode in ("reduced", "complete"):
                s.case("linalg", block(f'qr({a}, mode: "{mode}")', "(q, r)", "view_as_real(q @ r)"), pairs(dtype, z))
            s.case("linalg", f'abs(qr({a}, mode: "r"))', (dtype, round_to(dtype, np.abs(np.linalg.qr(z, mode="r")))))
            s.case("linalg", block(f"lu({a})", "(p, l, u)", "view_as_real(p @ l @ u)"), pairs(dtype, z))
            s.case("linalg", f"view_as_real(pinv({a}))", pairs(dtype, np.linalg.pinv(z)))
            s.case("exact", f"matrix_rank({a})", ("i64", np.linalg.matrix_rank(z)))
            s.case("linalg", f"cond({a})", (dtype, round_to(dtype, np.linalg.cond(z))))
            for order, text in (("fro", '"fro"'), ("nuc", '"nuc"'), (2, "2"), (1, "1"), (np.inf, 'float("inf")')):
                s.case("linalg", f"matrix_norm({a}, ord: {text})",
                       (dtype, round_to(dtype, np.linalg.norm(z, order, axis=(-2, -1)))))
            right = whole[..., :1]
            if shape[-1] <= shape[-2]:
                reference = np.linalg.pinv(z) @ z[..., :1]
                s.case("linalg", f"view_as_real(lstsq({a}, {a}[..., :1])[0])", pairs(dtype, reference))
            if shape[-1] == shape[-2]:
                sign, size = np.linalg.slogdet(z)
                s.case("linalg", f"view_as_real(det({a}))", pairs(dtype, np.linalg.det(z)))
                s.case("linalg", f"view_as_real(slogdet({a})[0])", pairs(dtype, sign))
                s.case("linalg", f"slogdet({a})[1]", (dtype, round_to(dtype, size)))
                s.case("linalg", f"view_as_real(sum(eigvals({a}), axis: -1))",
                       pairs(dtype, np.trace(z, axis1=-2, axis2=-1)))
                adjoint = f"conj(transpose({a}))"
                shifted = f"({a} @ {adjoint} + eye(3, dtype: {dtype}))"
                s.case("linalg", f"view_as_real(cholesky({shifted}))", pairs(dtype, np.linalg.cholesky(z @ whole + np.eye(3))))
                for triangle, upper in ((np.tril(z), "false"), (np.triu(z), "true")):
                    s.case("linalg", f"view_as_real(solve_triangular({a}, {adjoint}[..., :1], upper: {upper}))",
                           pairs(dtype, np.linalg.solve(triangle, right)))
            yield s
        s = Section(f"complex matrices with equal values in {dtype}")
        turn, x = complex_input(s, rng, dtype, (3, 3))
        for function in ("eigh", "svd"):
            vectors = block(f"{function}(complex(2.0 * eye(3, dtype: {dtype})))", "r",
                            f"abs(conj(transpose(r[{1 if function == 'eigh' else 0}])) @ r[{1 if function == 'eigh' else 0}])")
            s.case("linalg", vectors, (dtype, np.eye(3)))
        s.case("linalg", f"view_as_real(eig(complex({turn}.re * 0.0))[0])", pairs(dtype, np.zeros(3, complex)))
        s.case("linalg", block(f"svd_of_pairs(view_as_real({turn}))", "(u, s, vh)", "s * 1.0"),
               (dtype, round_to(dtype, np.linalg.svd(x.astype(complex))[1])))
        s.case("linalg", block(f"qr_of_pairs(view_as_real({turn}))", "(q, r)", "abs(view_as_complex(r)[0])"),
               (dtype, round_to(dtype, np.abs(np.linalg.qr(x.astype(complex))[1][0]))))
        s.case("linalg", block(f"lu_of_pairs(view_as_real({turn}))", "(f, pivots, order)", "sum(order)"), ("i64", np.int64(3)))
        s.case("linalg", block(f"eigh_of_pairs(view_as_real({turn} + conj(transpose({turn}))))", "(w, v)", "w"),
               (dtype, round_to(dtype, np.linalg.eigvalsh((x + x.conj().T).astype(complex)))))
        s.case("linalg", block(f"eig_of_pairs(view_as_real({turn}))", "(w, v)", "sum(w, axis: 0)"),
               pairs(dtype, np.trace(x.astype(complex))))
        s.error("shape", f"qr({turn}[0])")
        s.error("shape", f"svd({turn}[0])")
        s.error("shape", f"det({turn}[:2])")
        s.error("shape", f"eigh({turn}[:2])")
        s.error("shape", f"cholesky({turn}[:2])")
        s.error("value", f"cholesky(0.0 - {turn} @ conj(transpose({turn})))")
        yield s


def sections(rng):
    yield from transforms(rng)
    yield from several_axes(rng)
    yield from frequencies()
    yield from short_parts(rng)
    yield from functions(rng)
    yield from operators(rng)
    yield from systems(rng)
    yield from factorisations(rng)
