"""Cases of the module science, by SciPy."""

import numpy as np
import scipy.cluster.vq
import scipy.ndimage
import scipy.optimize
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.interpolate import CubicSpline, PchipInterpolator, interp1d

from oracle import Section, numbers, round_to, small, views

MODES = ("reflect", "mirror", "nearest", "wrap", "constant")


def interpolation(rng):
    for dtype in ("f32", "f64"):
        s = Section("interpolation of " + dtype)
        result = lambda y: (dtype, round_to(dtype, y))
        places = s.input(dtype, np.array([-1.0, -0.5, 0.25, 1.0, 3.0, 3.5, 5.0]))
        values = s.input(dtype, numbers(rng, dtype, (7, 2)))
        at = s.input(dtype, np.array([[-1.5, -1.0, -0.75, 0.0], [1.0, 2.0, 3.25, 5.0]]))
        for n in (2, 3, 4, 5, 7):
            for kind in ("not-a-knot", "natural", "clamped"):
                spline = CubicSpline(places.data[:n], values.data[:n], bc_type=kind)
                text = f'science.cubic_spline({places.text}[:{n}], {values.text}[:{n}], bc_type: "{kind}")'
                for nu in (0, 1, 2, 3) if n > 3 else (0, 1, 2):  # the third of a parabola is rounding
                    s.case("science", f"{text}({at.text}, {nu})", result(spline(at.data, nu)))
        for n in (2, 3, 4, 7):
            spline = PchipInterpolator(places.data[:n], values.data[:n])
            for nu in (0, 1, 2):
                if n > 2 or nu < 2:
                    s.case("science", f"science.pchip({places.text}[:{n}], {values.text}[:{n}])({at.text}, {nu})", result(spline(at.data, nu)))
        for kind in ("linear", "nearest", "previous", "next", "cubic"):
            f = interp1d(places.data, values.data, kind=kind, axis=0, bounds_error=False)
            text = f'science.interp1d({places.text}, {values.text}, kind: "{kind}")'
            s.case("science", f"{text}({at.text})", result(f(at.data)))
        f = interp1d(places.data, values.data, axis=0, fill_value="extrapolate")
        text = f'science.interp1d({places.text}, {values.text}, fill_value: "extrapolate")'
        s.case("science", f"{text}({at.text})", result(f(at.data)))
        s.error("shape", f"science.interp1d({places.text}, {values.text}[1:])")
        s.error("value", f"science.cubic_spline({places.text}[:1], {values.text}[:1])")
        yield s


def matrices(rng):
    for dtype in ("f32", "f64", "i32"):
        s = Section("sparse matrices of " + dtype)
        dense = np.where(rng.random((4, 5)) < 0.5, small(rng, dtype, (4, 5)), 0)
        x, y, v = s.input(dtype, dense), s.input(dtype, small(rng, dtype, (5, 3))), s.input(dtype, small(rng, dtype, (5,)))
        for m in views(x)[:4]:
            a = f"science.csr_from_dense({m.text})"
            s.case("exact", f"science.csr_to_dense({a}) * 1", (dtype, m.data))
            s.case("exact", f"science.csr_to_dense(science.csr_transpose({a})) * 1", (dtype, m.data.T))
            s.case("exact", f"science.csr_matmul({a}, {v.text})", (dtype, m.data @ v.data))
            s.case("exact", f"science.csr_matmul({a}, {y.text})", (dtype, m.data @ y.data))
        text = f"science.csr({v.text}, [0, 2, 2, 1, 0], [0, 2, 2, 5], [3, 4])"
        reference = np.zeros((3, 4))
        for row, column, value in zip([0, 0, 2, 2, 2], [0, 2, 2, 1, 0], v.data):
            reference[row, column] += value
        s.case("exact", f"science.csr_to_dense({text})", (dtype, reference))
        s.error("shape", f"science.csr({v.text}, [0, 1], [0, 2, 2, 5], [3, 4])")
        s.error("shape", f"science.csr({v.text}, [0, 2, 2, 1, 0], [0, 5], [3, 4])")
        s.error("shape", f"science.csr_matmul({text}, {v.text})")
        yield s
    for dtype in ("f32", "f64"):
        s = Section("linear systems of " + dtype)
        n = 8
        root = rng.normal(0, 1, (n, n)).astype(np.float32)
        spd = s.input(dtype, (root @ root.T + n * np.eye(n)).astype(np.float32).astype(float))
        general = s.input(dtype, (rng.normal(0, 1, (n, n)) + n * np.eye(n)).astype(np.float32).astype(float))
        b = s.input(dtype, numbers(rng, dtype, (n,)))
        rtol = {"f32": 1e-6, "f64": 1e-13}[dtype]
        result = lambda m: (dtype, round_to(dtype, np.linalg.solve(m.data.astype(float), b.data)))
        for name, m in (("cg", spd), ("bicgstab", general), ("gmres", general)):
            s.case("science", f"science.{name}({m.text}, {b.text}, rtol: {rtol})[0]", result(m))
            sparse = f"science.csr_from_dense({m.text})"
            s.case("science", f"science.{name}({sparse}, {b.text}, rtol: {rtol})[0]", result(m))
            jacobi = f"fn(v) = v / sum({m.text} * eye({n}, dtype: {dtype}), axis: 1)"
            s.case("science", f"science.{name}(fn(v) = {m.text} @ v, {b.text}, rtol: {rtol}, M: {jacobi})[0]", result(m))
            s.error("shape", f"science.{name}({m.text}[1:], {b.text})")
        yield s


def points(rng):
    for dtype in ("f32", "f64"):
        s = Section("points of " + dtype)
        result = lambda y: (dtype, round_to(dtype, y))
        x, q = s.input(dtype, numbers(rng, dtype, (6, 3))), s.input(dtype, numbers(rng, dtype, (4, 3)))
        for metric in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine"):
            d = scipy.spatial.distance.pdist(x.data, metric)
            s.case("science", f'science.pdist({x.text}, metric: "{metric}")', result(d))
            far = scipy.spatial.distance.cdist(q.data, x.data, metric)
            order = np.argsort(far, axis=1)[:, :2]
            s.case("science", f'science.knn({x.text}, {q.text}, k: 2, metric: "{metric}")',
                   result(np.take_along_axis(far, order, 1)), ("i64", order))
        v = s.input(dtype, np.arange(1.0, 7.0))
        s.case("exact", f"science.squareform({v.text})", result(scipy.spatial.distance.squareform(v.data)))
        s.error("shape", f"science.squareform({v.text}[1:])")
        s.error("value", f"science.knn({x.text}, {q.text}, k: 7)")
        centred = x.data - x.data.mean(axis=0)
        _, sizes, vectors = np.linalg.svd(centred.astype(float))
        vectors *= np.sign(np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], 1))
        s.case("science", f"{{ let c = science.pca({x.text}, 2); return (c.components, c.variances, c.mean, c.scores) }}",
               result(vectors[:2]), result(sizes[:2] ** 2 / 5), result(x.data.mean(axis=0)), result(centred @ vectors[:2].T))
        cloud = np.concatenate([rng.normal(c, 0.5, (5, 2)) for c in (-4, 0, 5)]).astype(np.float32)
        p = s.input(dtype, cloud)
        centroids, labels = scipy.cluster.vq.kmeans2(cloud.astype(float), cloud[[0, 5, 10]].astype(float), iter=50, minit="matrix")
        inertia = ((cloud - centroids[labels]) ** 2).sum()
        s.case("science", f"{{ let c = science.kmeans({p.text}, 3, init: {p.text}[[0, 5, 10]], tol: 0.0); "
               "return (c.centroids, c.labels, c.inertia) }", result(centroids), ("i64", labels), result(inertia))
        yield s


def images(rng):
    for dtype in ("f16", "f32", "f64"):
        s = Section("images of " + dtype)
        x = s.input(dtype, numbers(rng, dtype, (4, 5)))
        for mode in MODES:
            for v in views(x)[:2]:
                data = v.data.astype(np.float64)
                case = lambda kind, text, y: s.case(kind, f"science.{text}", (dtype, round_to(dtype, y)))
                options = f'mode: "{mode}", cval: 0.5'
                case("science", f"gaussian_filter({v.text}, 0.75, {options})", scipy.ndimage.gaussian_filter(data, 0.75, mode=mode, cval=0.5))
                case("science", f"gaussian_filter({v.text}, [0, 1.5], {options})", scipy.ndimage.gaussian_filter(data, [0, 1.5], mode=mode, cval=0.5))
                for size in (2, 3, [1, 4]):
                    case("science", f"uniform_filter({v.text}, {size}, {options})", scipy.ndimage.uniform_filter(data, size, mode=mode, cval=0.5))
                for axis in (0, 1):
                    case("science", f"sobel({v.text}, axis: {axis}, {options})", scipy.ndimage.sobel(data, axis, mode=mode, cval=0.5))
                for size in (2, 3, [1, 3]):
                    pairs = (("median_filter", "median_filter"), ("erosion", "grey_erosion"), ("dilation", "grey_dilation"))
                    for name, reference in pairs:
                        y = getattr(scipy.ndimage, reference)(data, size=size if isinstance(size, list) else (size, size), mode=mode, cval=0.5)
                        case("exact", f"{name}({v.text}, {size}, {options})", y)
        for n, m in ((8, 10), (2, 5), (6, 7)):
            rows = np.clip((np.arange(n) + 0.5) * 4 / n - 0.5, 0, 3)
            columns = np.clip((np.arange(m) + 0.5) * 5 / m - 0.5, 0, 4)
            y = scipy.ndimage.map_coordinates(x.data.astype(float), np.meshgrid(rows, columns, indexing="ij"), order=1)
            s.case("science", f"science.resize({x.text}, [{n}, {m}])", (dtype, round_to(dtype, y)))
        y = x.data[(np.arange(8) // 2)[:, None], np.arange(5)[None]]
        s.case("exact", f'science.resize({x.text}, [8, 5], method: "nearest")', (dtype, y))
        s.error("shape", f"science.sobel({x.text}[:0])")
        yield s
    s = Section("regions")
    for shape, chance in (((6, 7), 0.5), ((3, 4, 5), 0.4), ((12,), 0.6), ((9, 9), 0.6)):
        x = s.input("bool", rng.random(shape) < chance)
        labels, count = scipy.ndimage.label(x.data)
        s.case("exact", f"science.label({x.text})[0]", ("i64", labels))
    yield s


def distributions(rng):
    st = scipy.stats
    for dtype in ("f32", "f64"):
        s = Section("distributions of " + dtype)
        result = lambda y: (dtype, round_to(dtype, y))
        x = s.input(dtype, np.array([-1.5, 0.125, 0.25, 0.875, 2.5, 7.0]))
        p = s.input(dtype, np.array([0.0, 0.001, 0.25, 0.5, 0.9, 1.0]))
        k = s.input(dtype, np.array([-1.0, 0.0, 1.0, 2.5, 3.0, 5.0]))
        one = s.input(dtype, np.array(1.0))
        continuous = [
            ("normal(0.5, 2.0)", st.norm(0.5, 2)), ("uniform(-1.0, 3.5)", st.uniform(-1, 4.5)),
            ("exponential(1.5)", st.expon(scale=1 / 1.5)), ("laplace(0.5, 2.0)", st.laplace(0.5, 2)),
            ("cauchy(0.5, 2.0)", st.cauchy(0.5, 2)), ("gamma(2.5, 1.5)", st.gamma(2.5, scale=1 / 1.5)),
            ("gamma(0.5, 1.5)", st.gamma(0.5, scale=1 / 1.5)), ("gamma(50.0, 20.0)", st.gamma(50, scale=1 / 20)),
            ("beta(2.5, 1.5)", st.beta(2.5, 1.5)), ("beta(0.5, 20.0)", st.beta(0.5, 20)),
            ("student_t(3.5, 0.5, 2.0)", st.t(3.5, 0.5, 2)),
            ("lognormal(0.5, 0.75)", st.lognorm(0.75, scale=np.exp(0.5))), ("logistic(0.5, 2.0)", st.logistic(0.5, 2)),
            ("gumbel(0.5, 2.0)", st.gumbel_r(0.5, 2)), ("weibull(1.5, 2.0)", st.weibull_min(1.5, scale=2)),
            ("pareto(2.5, 0.5)", st.pareto(2.5, scale=0.5)), ("chi2(3.0)", st.chi2(3)),
        ]
        for text, d in continuous:
            made = "science." + text
            s.case("science", f"{made}.log_prob({x.text})", result(d.logpdf(x.data)))
            s.case("science", f"{made}.cdf({x.text})", result(d.cdf(x.data)))
            if text.split("(")[0] not in ("gamma", "beta", "student_t", "chi2"):
                s.case("science", f"{made}.icdf({p.text})", result(d.ppf(p.data)))
            s.case("entropy", f"{{ let d = {made}; return (d.mean * {one.text}, d.variance * {one.text}, d.entropy * {one.text}) }}",
                   result(d.mean()), result(d.var()), result(d.entropy()))
        for text, d in [("bernoulli(0.25)", st.bernoulli(0.25)), ("binomial(5, 0.25)", st.binom(5, 0.25)),
                        ("geometric(0.25)", st.geom(0.25, loc=-1)), ("poisson(2.5)", st.poisson(2.5))]:
            made = "science." + text
            s.case("science", f"{made}.log_prob({k.text})", result(d.logpmf(k.data)))
            s.case("science", f"{made}.cdf({k.text})", result(d.cdf(k.data)))
            s.case("science", f"{{ let d = {made}; return (d.mean * {one.text}, d.variance * {one.text}) }}", result(d.mean()), result(d.var()))
        root = rng.normal(0, 1, (3, 3)).astype(np.float32)
        cov, mean = s.input(dtype, root @ root.T + np.eye(3, dtype=np.float32)), s.input(dtype, numbers(rng, dtype, (3,)))
        rows = s.input(dtype, numbers(rng, dtype, (4, 3)))
        made = f"science.multivariate_normal({mean.text}, {cov.text})"
        d = st.multivariate_normal(mean.data.astype(float), cov.data.astype(float))
        s.case("science", f"{made}.log_prob({rows.text})", result(d.logpdf(rows.data)))
        s.case("science", f"{made}.entropy", result(d.entropy()))
        alpha = s.input(dtype, np.array([0.5, 2.0, 3.5]))
        shares = s.input(dtype, np.array([0.25, 0.25, 0.5]))
        d = st.dirichlet(alpha.data)
        made = f"science.dirichlet({alpha.text})"
        s.case("science", f"{made}.log_prob({shares.text})", result(d.logpdf(shares.data)))
        s.case("science", f"{{ let d = {made}; return (d.mean, d.variance, d.entropy) }}", result(d.mean()), result(d.var()), result(d.entropy()))
        made = f"science.categorical({rows.text})"
        logs = scipy.special.log_softmax(rows.data.astype(float), axis=-1)
        labels = np.array([2, 0, 1, 1])
        s.case("science", f"{made}.log_prob([2, 0, 1, 1])", result(logs[np.arange(4), labels]))
        s.case("science", f"{{ let d = {made}; return (d.probs, d.entropy) }}", result(np.exp(logs)), result(-(logs * np.exp(logs)).sum(axis=-1)))
        s.error("shape", f"science.multivariate_normal({mean.text}, {cov.text}[1:])")
        yield s


def iterations():
    """What ends within a tolerance; the references are exact, or SciPy's with a smaller one."""
    for dtype in ("f32", "f64"):
        s = Section("iterations of " + dtype)
        result = lambda y: (dtype, round_to(dtype, y))
        y0 = s.input(dtype, np.array([1.0, -0.5]))
        times = np.array([0.0, 0.5, 2.0])
        decay = y0.data * np.exp(-times)[:, None]
        turn = np.stack([np.cos(times) - 0.5 * np.sin(times), -np.sin(times) - 0.5 * np.cos(times)], axis=1)
        tolerances = {"f32": "rtol: 1e-6, atol: 1e-7", "f64": "rtol: 1e-11, atol: 1e-12"}[dtype]
        s.case("iterated", f"science.odeint(fn(t, y) = -y, {y0.text}, [0, 0.5, 2], {tolerances})", result(decay))
        s.case("iterated", f"science.odeint(fn(t, y) = stack([y[1], -y[0]]), {y0.text}, [0, 0.5, 2], {tolerances})", result(turn))
        backward = y0.data * np.exp(times)[:, None]
        s.case("iterated", f"science.odeint(fn(t, y) = -y, {y0.text}, [0, -0.5, -2], {tolerances})", result(backward))
        hundred = np.linspace(0, 1, 101)
        y = y0.data * np.exp(-hundred ** 2)[:, None]
        s.case("rough", f'science.odeint(fn(t, y) = -2.0 * t * y, {y0.text}, linspace(0, 1, 101), method: "rk4")', result(y))
        short = np.array([0.0, 0.05, 0.1])
        stiff = np.exp(-short)[:, None] * np.array([1.0, 0.0]) + np.exp(-50 * short)[:, None] * (y0.data - [1.0, 0.0])
        tolerances = {"f32": "rtol: 1e-5, atol: 1e-6", "f64": "rtol: 1e-8, atol: 1e-9"}[dtype]
        s.case("rough", f"science.odeint(fn(t, y) = -50.0 * (y - exp(-t) * tensor([1.0, 0.0])) - exp(-t) * tensor([1.0, 0.0]), {y0.text}, "
               f'[0, 0.05, 0.1], {tolerances}, method: "rosenbrock23")', result(stiff))
        start = s.input(dtype, np.array([0.75, 0.5]))
        rosenbrock = "fn(v) = 100.0 * square(v[1] - square(v[0])) + square(1.0 - v[0])"
        bowl = "fn(v) = square(v[0] - 1.0) + 2.0 * square(v[1] - 1.0) + v[0] * v[1]"
        best = np.linalg.solve([[2.0, 1.0], [1.0, 4.0]], [2.0, 4.0])
        tol = {"f32": 1e-3, "f64": 1e-8}[dtype]
        for method in ("bfgs", "lbfgs"):
            s.case("rough", f'science.minimize({rosenbrock}, {start.text}, method: "{method}", tol: {tol}).x', result(np.ones(2)))
            s.case("rough", f'science.minimize({bowl}, {start.text}, method: "{method}", tol: {tol}).x', result(best))
        s.case("rough", f'science.minimize({bowl}, {start.text}, method: "nelder-mead", tol: 1e-10).x' if dtype == "f64" else
               f'science.minimize({bowl}, {start.text}, method: "nelder-mead", tol: 1e-6).x', result(best))
        t = s.input(dtype, np.arange(8) / 4)
        model = f"fn(v) = v[0] * exp(-v[1] * {t.text}) - (2.5 * exp(-1.25 * {t.text}) + 0.125 * {t.text})"
        residuals = lambda v: v[0] * np.exp(-v[1] * t.data) - (2.5 * np.exp(-1.25 * t.data) + 0.125 * t.data)
        fitted = scipy.optimize.least_squares(residuals, [1.0, 1.0], xtol=1e-15, ftol=1e-15, gtol=1e-15)
        s.case("rough", f"science.least_squares({model}, ones([2], dtype: {dtype})).x", result(fitted.x))
        p, cov = scipy.optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), t.data, 2.5 * np.exp(-1.25 * t.data) + 0.125 * t.data,
                                          [1.0, 1.0], xtol=1e-15, ftol=1e-15, gtol=1e-15)
        s.case("rough", f"science.curve_fit(fn(t, a, b) = a * exp(-b * t), {t.text}, 2.5 * exp(-1.25 * {t.text}) + 0.125 * {t.text}, [1.0, 1.0])",
               result(p), result(cov))
        curves = "fn(v) = stack([v[0] * cos(v[1]) - 4.0, v[0] * v[1] - v[1] - 5.0])"
        zero = scipy.optimize.root(lambda v: [v[0] * np.cos(v[1]) - 4.0, v[0] * v[1] - v[1] - 5.0], [1.0, 1.0], tol=1e-15).x
        tol = {"f32": 1e-5, "f64": 1e-12}[dtype]
        s.case("iterated", f"science.root({curves}, ones([2], dtype: {dtype}), tol: {tol}).x", result(zero))
        two = s.input(dtype, np.array(2.0))
        for name in ("brentq", "bisect"):
            s.case("iterated", f"science.{name}(fn(v) = v * v - {two.text}, 0, 3) * {two.text}", result(2 * np.sqrt(2.0)))
            s.error("value", f"science.{name}(fn(v) = v * v + {two.text}, 0, 3)")
        wide = lambda y: ("f64", np.float64(y))
        quarter = scipy.special.gamma(1.25)
        if dtype == "f64":
            s.case("iterated", f"science.quad(fn(v) = exp(-v * v), -inf, inf)[0]".replace("-inf, inf", 'float("-inf"), float("inf")'), wide(np.sqrt(np.pi)))
            s.case("iterated", f'science.quad(fn(v) = exp(-v ** 4), 0, float("inf"))[0]', wide(quarter))
            s.case("iterated", f"science.quad(fn(v) = sqrt(v) * {two.text}, 0, 4)[0]", wide(32.0 / 3))
            s.case("iterated", f"science.quad(fn(v) = 3, {two.text}, 0)[0]", wide(-6.0))
            s.case("iterated", f"science.quad(fn(v) = abs(v - 1.0), 0, {two.text})[0]", wide(1.0))
        yield s


def sections(rng):
    yield from interpolation(rng)
    yield from matrices(rng)
    yield from points(rng)
    yield from images(rng)
    yield from distributions(rng)
    yield from iterations()
