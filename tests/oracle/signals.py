"""Cases of signals: convolutions, windows, cosine transforms, resampling, interpolation, polynomials, by NumPy and SciPy."""

import warnings

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.signal

from oracle import Section, numbers, round_to, small, views


def products(rng):
    for dtype in ("f16", "bf16", "f32", "f64", "i32", "u8"):
        s = Section("products of sequences of " + dtype)
        long, short, even = (s.input(dtype, small(rng, dtype, (n,))) for n in (7, 3, 4))
        result = "i64" if dtype in ("i32", "u8") else dtype
        for a, v in ((long, short), (short, long), (long, even), (even, even)):
            for mode in ("full", "same", "valid"):
                x, y = a.data.astype(np.float64), v.data.astype(np.float64)
                s.case("exact", f'convolve({a.text}, {v.text}, mode: "{mode}")', (result, np.convolve(x, y, mode)))
                s.case("exact", f'correlate({a.text}, {v.text}, mode: "{mode}")', (result, np.correlate(x, y, mode)))
        for v in views(long)[:4]:
            s.case("exact", f"convolve({v.text}, {short.text})", (result, np.convolve(v.data.astype(float), short.data)))
        for size in (1, 3, 5):
            reference = scipy.signal.medfilt(long.data.astype(float), size)
            s.case("exact" if size > 1 else "same", f"medfilt({long.text}, {size})", (dtype, reference))
        s.error("value", f"convolve({long.text}[:0], {short.text})")
        s.error("value", f"correlate({long.text}, {short.text}[:0])")
        s.error("value", f"medfilt({long.text}, 4)")
        s.error("shape", f"convolve({long.text}[nil], {short.text})")
        yield s


def filters(rng):
    for dtype in ("f16", "f32", "f64", "i32"):
        s = Section("filters of " + dtype)
        x, y = s.input(dtype, small(rng, dtype, (5, 6))), s.input(dtype, small(rng, dtype, (3, 2)))
        result = "i64" if dtype == "i32" else dtype
        for mode in ("full", "same", "valid"):
            for v in views(x)[:4]:
                if mode == "valid" and v.data.shape[0] < 3:
                    continue
                reference = scipy.signal.convolve2d(v.data, y.data, mode)
                kind = "exact" if dtype == "i32" else "sum"  # a sum of zeros may be -0
                s.case(kind, f'convolve2d({v.text}, {y.text}, mode: "{mode}")', (result, reference))
        s.error("shape", f'convolve2d({y.text}, {x.text}, mode: "valid")')
        s.error("shape", f"convolve2d({x.text}[0], {y.text})")
        if dtype == "i32":
            yield s
            continue
        v = s.input(dtype, numbers(rng, dtype, (2, 9)))
        for window, order, deriv in ((1, 0, 0), (3, 1, 0), (5, 2, 0), (5, 2, 1), (7, 3, 2), (9, 3, 1), (5, 1, 2)):
            reference = scipy.signal.savgol_filter(v.data.astype(float), window, order, deriv=deriv, delta=0.5)
            s.case("fitted", f"savgol_filter({v.text}, {window}, {order}, deriv: {deriv}, delta: 0.5)",
                   (dtype, round_to(dtype, reference)))
        s.error("value", f"savgol_filter({v.text}, 4, 2)")
        s.error("shape", f"savgol_filter({v.text}, 11, 2)")
        one = s.input(dtype, np.array([1.0]))
        for n, cutoff in ((1, 0.5), (7, 0.3), (8, 0.75)):
            reference = scipy.signal.firwin(n, cutoff)
            s.case("signal", f"firwin({n}, {cutoff}, dtype: {dtype}) * {one.text}", (dtype, round_to(dtype, reference)))
        yield s


def windows():
    for dtype in ("f32", "f64"):
        s = Section("windows of " + dtype)
        one = s.input(dtype, np.array([1.0]))
        for n in (0, 1, 2, 7, 12):
            for sym in (True, False):
                for name, reference in (("hann", "hann"), ("hamming", "hamming"), ("blackman", "blackman"), ("bartlett", "bartlett")):
                    w = scipy.signal.get_window(reference, n, fftbins=not sym) if n > 1 else np.ones(n)
                    w = np.where(abs(w) < 1e-15, 0.0, w)  # which Blackman's ends are but for rounding
                    text = f"{name}({n}, sym: {str(sym).lower()}, dtype: {dtype}) * {one.text}"
                    s.case("signal", text, (dtype, round_to(dtype, w)))
                for beta in (0, 5.5, 14):
                    w = scipy.signal.windows.kaiser(n, beta, sym)
                    text = f"kaiser({n}, {beta}, sym: {str(sym).lower()}, dtype: {dtype}) * {one.text}"
                    s.case("signal", text, (dtype, round_to(dtype, w)))
        yield s


def transforms(rng):
    for dtype in ("f16", "bf16", "f32", "f64"):
        s = Section("cosine transforms of " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (3, 8)))
        for v in views(x)[:8]:
            for kind in (2, 3):
                for norm in (None, "ortho"):
                    for axis in (-1, 0):
                        option = f', norm: "{norm}"' if norm else ""
                        data = v.data.astype(np.float64)
                        y = scipy.fft.dct(data, kind, axis=axis, norm=norm)
                        z = scipy.fft.idct(data, kind, axis=axis, norm=norm)
                        text = f"({v.text}, type: {kind}, axis: {axis}{option})"
                        s.case("signal", "dct" + text, (dtype, round_to(dtype, y)))
                        s.case("signal", "idct" + text, (dtype, round_to(dtype, z)))
        s.error("index", f"dct({x.text}, axis: 2)")
        s.error("value", f"dct({x.text}, type: 4)")
        s.error("shape", f"dct({x.text}[:0], axis: 0)")
        for up, down in ((1, 1), (2, 1), (1, 2), (3, 2), (2, 3), (4, 6)):
            for axis in (-1, 0):
                y = scipy.signal.resample_poly(x.data.astype(np.float64), up, down, axis=axis)
                kind = "same" if up == down else "signal"
                s.case(kind, f"resample_poly({x.text}, {up}, {down}, axis: {axis})", (dtype, round_to(dtype, y)))
        yield s


def curves(rng):
    for dtype in ("f32", "f64"):
        s = Section("interpolation, polynomials and sums of " + dtype)
        result = lambda y: (dtype, round_to(dtype, y))
        places = s.input(dtype, np.array([-1.0, -0.5, 0.25, 1.0, 3.0]))
        values = s.input(dtype, numbers(rng, dtype, (5,)))
        at = s.input(dtype, np.array([[-2.0, -1.0, -0.75], [0.0, 0.25, 2.0], [3.0, 3.5, np.nan]]))
        for v in views(at)[:6]:
            y = np.interp(v.data, places.data, values.data)
            s.case("signal", f"interp({v.text}, {places.text}, {values.text})", result(y))
        y = np.interp(at.data, places.data, values.data, left=7, right=-7)
        s.case("signal", f"interp({at.text}, {places.text}, {values.text}, left: 7, right: -7)", result(y))
        y = np.interp(at.data[:2], places.data[:1], values.data[:1])
        s.case("signal", f"interp({at.text}[:2], {places.text}[:1], {values.text}[:1])", result(y))
        s.error("shape", f"interp({at.text}, {places.text}, {values.text}[1:])")
        s.error("value", f"interp({at.text}, {places.text}[:0], {values.text}[:0])")
        finite = s.input(dtype, numbers(rng, dtype, (2, 4)))
        s.case("signal", f"polyval([2, -1, 0.5], {finite.text})", result(np.polyval([2, -1, 0.5], finite.data)))
        s.case("signal", f"polyval({values.text}, {finite.text})", result(np.polyval(values.data, finite.data)))
        x = s.input(dtype, np.linspace(-1, 2, 9).astype(np.float32).astype(float))
        y = s.input(dtype, numbers(rng, dtype, (9, 2)))
        for deg in (0, 1, 3, 5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                c = np.polyfit(x.data, y.data, deg)
            s.case("fitted", f"polyfit({x.text}, {y.text}, {deg})", result(c))
            s.case("fitted", f"polyfit({x.text}, {y.text}[:, 0], {deg})", result(c[:, 0]))
        s.error("value", f"polyfit({x.text}, {y.text}, 9)")
        s.error("shape", f"polyfit({x.text}, {y.text}[1:], 2)")
        rows = s.input(dtype, numbers(rng, dtype, (3, 6)))
        steps = s.input(dtype, np.cumsum(0.5 + rng.random(6)).astype(np.float32).astype(float))
        for n in (1, 2, 3, 4, 5, 6):
            y = scipy.integrate.simpson(rows.data[:, :n], dx=0.5)
            s.case("signal", f"simpson({rows.text}[:, :{n}], dx: 0.5)", result(y))
            y = scipy.integrate.simpson(rows.data[:, :n], x=steps.data[:n])
            s.case("signal", f"simpson({rows.text}[:, :{n}], x: {steps.text}[:{n}])", result(y))
        s.case("signal", f"simpson({rows.text}, axis: 0)", result(scipy.integrate.simpson(rows.data, axis=0)))
        s.error("shape", f"simpson({rows.text}, x: {steps.text}[1:])")
        angles = s.input(dtype, rng.uniform(-9, 9, (3, 6)).astype(np.float32).astype(float))
        for axis in (0, 1):
            s.case("signal", f"unwrap({angles.text}, axis: {axis})", result(np.unwrap(angles.data, axis=axis)))
            s.case("signal", f"unwrap({angles.text}, discont: 4.0, period: 5.0, axis: {axis})",
                   result(np.unwrap(angles.data, discont=4.0, period=5.0, axis=axis)))
            for kind in ("linear", "constant"):
                s.case("signal", f'detrend({rows.text}, axis: {axis}, type: "{kind}")',
                       result(scipy.signal.detrend(rows.data, axis=axis, type=kind)))
        yield s


def sections(rng):
    yield from products(rng)
    yield from filters(rng)
    yield from windows()
    yield from transforms(rng)
    yield from curves(rng)
