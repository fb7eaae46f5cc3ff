"""Cases of the activations and losses of nn: PyTorch's results in f64, rounded once."""

import numpy as np
import torch
import torch.nn.functional as F

from oracle import Section, numbers, pick, round_to, views

LINEAR = {  # of exact pieces
    "nn.relu6({})": F.relu6, "nn.hardtanh({})": F.hardtanh, "nn.hardtanh({}, -0.5, 2)": lambda x: F.hardtanh(x, -0.5, 2),
    "nn.softshrink({})": lambda x: F.softshrink(x) + 0.0, "nn.hardshrink({}, 1)": lambda x: F.hardshrink(x, 1.0),
    "nn.threshold({}, 0.25, -2)": lambda x: F.threshold(x, 0.25, -2.0),
}
SMOOTH = {
    "nn.selu({})": F.selu, "nn.celu({}, 0.5)": lambda x: F.celu(x, 0.5), "nn.hardsigmoid({})": F.hardsigmoid,
    "nn.hardswish({})": F.hardswish, "nn.mish({})": F.mish, "nn.logsigmoid({})": F.logsigmoid,
    "nn.softsign({})": F.softsign, "nn.tanhshrink({})": F.tanhshrink, "nn.prelu({}, 0.25)": lambda x: F.leaky_relu(x, 0.25),
}
ALONG = {
    "nn.glu({}, axis: AXIS)": F.glu, "nn.softmin({}, axis: AXIS)": F.softmin,
    "nn.swiglu({}, axis: AXIS)": lambda x, axis: F.silu(x.chunk(2, axis)[0]) * x.chunk(2, axis)[1],
    "nn.normalize({}, axis: AXIS)": lambda x, axis: F.normalize(x, dim=axis),
    "nn.normalize({}, p: 3, axis: AXIS, eps: 0.5)": lambda x, axis: F.normalize(x, p=3, dim=axis, eps=0.5),
}


def tensors(*inputs):
    return [torch.from_numpy(np.array(a.data)) for a in inputs]


def rounded(dtype, y):
    return dtype, round_to(dtype, y.numpy())


def add(s, tolerance, dtype, text, y):
    s.case(tolerance, text, rounded(dtype, y))


def activation_cases(s, rng, dtype):
    x = s.input(dtype, numbers(rng, dtype, (4, 6)))
    odd = s.input(dtype, round_to(dtype, np.array([-np.inf, np.inf, np.nan, 0.0, 6.0, -3.0, 3.0, 0.5, -0.75, 1.0, -1.0])))
    for a in pick(rng, views(x), 4) + [odd, x.view("{}[1, 2]", x.data[1, 2])]:
        for text, f in LINEAR.items():
            add(s, "exact", dtype, text.format(a.text), f(*tensors(a)))
    for a in pick(rng, views(x), 4):
        if a.data.size == 0:
            continue
        for text, f in SMOOTH.items():
            add(s, "norms", dtype, text.format(a.text), f(*tensors(a)))
    for axis in (0, -1):
        for text, f in ALONG.items():
            add(s, "norms", dtype, text.format(x.text).replace("AXIS", str(axis)), f(*tensors(x), axis))
    y, w = s.input(dtype, numbers(rng, dtype, (4, 6))), s.input(dtype, numbers(rng, dtype, (6,)))
    add(s, "norms", dtype, f"nn.prelu({x.text}, {w.text})", F.prelu(*tensors(x, w)))
    add(s, "norms", dtype, f"nn.cosine_similarity({x.text}, {y.text})", F.cosine_similarity(*tensors(x, y)))
    add(s, "norms", dtype, f"nn.cosine_similarity({x.text}[1:], {y.text}[:1], axis: 0)",
        F.cosine_similarity(tensors(x)[0][1:], tensors(y)[0][:1], dim=0))
    s.error("shape", f"nn.glu({x.text}[:3], axis: 0)")
    s.error("index", f"nn.swiglu({x.text}, axis: 2)")
    s.error("shape", f"nn.prelu({x.text}, {w.text}[:2])")


def reductions(s, tolerance, dtype, call, f):
    """A loss in each reduction; `call` has the arguments before it, f takes its name."""
    for name in ("mean", "sum", "none"):
        add(s, tolerance, dtype, f'{call}, reduction: "{name}")', f(name))


def regression_cases(s, rng, dtype):
    a, b = s.input(dtype, numbers(rng, dtype, (3, 5))), s.input(dtype, numbers(rng, dtype, (3, 5)))
    p = s.input(dtype, round_to(dtype, rng.uniform(0.05, 0.95, (3, 5))))
    q = s.input(dtype, round_to(dtype, rng.uniform(0.05, 0.95, (3, 5))))
    counts = s.input(dtype, rng.integers(0, 6, (3, 5)).astype(float))
    logs = s.input(dtype, round_to(dtype, np.log(rng.dirichlet(np.ones(5), 3))))
    x, y, u, v, n, l = tensors(a, b, p, q, counts, logs)
    reductions(s, "norms", dtype, f"nn.mse({a.text}, {b.text}", lambda r: F.mse_loss(x, y, reduction=r))
    reductions(s, "norms", dtype, f"nn.l1({a.text}, {b.text}", lambda r: F.l1_loss(x, y, reduction=r))
    reductions(s, "norms", dtype, f"nn.huber_loss({a.text}, {b.text}, delta: 1.5", lambda r: F.huber_loss(x, y, reduction=r, delta=1.5))
    reductions(s, "norms", dtype, f"nn.smooth_l1_loss({a.text}, {b.text}, beta: 0.5", lambda r: F.smooth_l1_loss(x, y, reduction=r, beta=0.5))
    add(s, "norms", dtype, f"nn.smooth_l1_loss({a.text}, {b.text}, beta: 0)", F.smooth_l1_loss(x, y, beta=0.0))
    reductions(s, "norms", dtype, f"nn.binary_cross_entropy({p.text}, {q.text}, from_logits: false", lambda r: F.binary_cross_entropy(u, v, reduction=r))
    reductions(s, "norms", dtype, f"nn.binary_cross_entropy({p.text}, {q.text}, {p.text}, from_logits: false", lambda r: F.binary_cross_entropy(u, v, u, reduction=r))
    reductions(s, "norms", dtype, f"nn.binary_cross_entropy_with_logits({a.text}, {q.text}",
               lambda r: F.binary_cross_entropy_with_logits(x, v, reduction=r))
    reductions(s, "norms", dtype, f"nn.binary_cross_entropy_with_logits({a.text}, {q.text}, {p.text}, pos_weight: {p.text}[0]",
               lambda r: F.binary_cross_entropy_with_logits(x, v, u, pos_weight=u[0], reduction=r))
    reductions(s, "norms", dtype, f"nn.kl_div({logs.text}, {p.text}", lambda r: F.kl_div(l, u, reduction=r))
    add(s, "norms", dtype, f'nn.kl_div({logs.text}, {p.text}, reduction: "batchmean")', F.kl_div(l, u, reduction="batchmean"))
    add(s, "norms", dtype, f"nn.kl_div({logs.text}, {logs.text}[::-1], log_target: true)", F.kl_div(l, l.flip(0), log_target=True, reduction="mean"))
    reductions(s, "norms", dtype, f"nn.gaussian_nll_loss({a.text}, {b.text}, {p.text}", lambda r: F.gaussian_nll_loss(x, y, u, reduction=r))
    add(s, "norms", dtype, f"nn.gaussian_nll_loss({a.text}, {b.text}, {p.text}, full: true)", F.gaussian_nll_loss(x, y, u, full=True))
    reductions(s, "norms", dtype, f"nn.poisson_nll_loss({a.text}, {counts.text}", lambda r: F.poisson_nll_loss(x, n, reduction=r))
    add(s, "norms", dtype, f"nn.poisson_nll_loss({p.text}, {counts.text}, log_input: false, full: true)",
        F.poisson_nll_loss(u, n, log_input=False, full=True))
    zeros = torch.zeros(2, dtype=torch.float64)
    s.case("exact", "nn.binary_cross_entropy(tensor([0.0, 1.0]), tensor([1.0, 0.0]), from_logits: false)", ("f32", np.float64(100.0)))
    add(s, "exact", "f32", "nn.kl_div(tensor([0.0, 1.0]), tensor([0.0, 0.0]))", F.kl_div(zeros, zeros, reduction="mean"))
    for name in ("huber_loss", "kl_div", "binary_cross_entropy", "poisson_nll_loss"):
        s.error("shape", f"nn.{name}({a.text}, {b.text}[:2])")
    focal = F.binary_cross_entropy_with_logits(x, v, reduction="none") * (1 - (u_ := torch.sigmoid(x)) * v - (1 - u_) * (1 - v)) ** 2
    add(s, "norms", dtype, f"nn.focal_loss({a.text}, {q.text})", (focal * (0.25 * v + 0.75 * (1 - v))).mean())
    add(s, "norms", dtype, f'nn.focal_loss({a.text}, {q.text}, alpha: nil, reduction: "sum")', focal.sum())


def class_cases(s, rng, dtype):
    x = s.input(dtype, numbers(rng, dtype, (4, 5)))
    image = s.input(dtype, numbers(rng, dtype, (2, 5, 3)))
    w = s.input(dtype, round_to(dtype, rng.uniform(0.5, 2, 5)))
    labels = s.input("i64", rng.integers(0, 5, 4))
    many = s.input("i64", np.array([[1, 0, -1, 3, 3], [4, -1, 2, 2, 2], [-1, 0, 0, 0, 0], [0, 1, 2, 3, 4]]))
    plane = s.input("i64", np.where(rng.random((2, 3)) < 0.3, -100, rng.integers(0, 5, (2, 3))))
    hot = s.input(dtype, rng.integers(0, 2, (4, 5)).astype(float))
    a, i, c, t, m, l, h = tensors(x, image, w, labels, many, plane, hot)
    text = f"nn.nll_loss({x.text}, {labels.text}"
    reductions(s, "norms", dtype, text, lambda r: F.nll_loss(a, t, reduction=r))
    reductions(s, "norms", dtype, f"{text}, {w.text}, ignore_index: {labels.data[0]}", lambda r: F.nll_loss(a, t, c, reduction=r, ignore_index=int(t[0])))
    reductions(s, "norms", dtype, f"nn.nll_loss({image.text}, {plane.text}", lambda r: F.nll_loss(i, l, reduction=r))
    text = f"nn.cross_entropy({x.text}, {labels.text}, weight: {w.text}"
    reductions(s, "norms", dtype, text, lambda r: F.cross_entropy(a, t, c, reduction=r))
    reductions(s, "norms", dtype, f"{text}, label_smoothing: 0.25, ignore_index: {labels.data[0]}",
               lambda r: F.cross_entropy(a, t, c, reduction=r, ignore_index=int(t[0]), label_smoothing=0.25))
    reductions(s, "norms", dtype, f"cross_entropy({x.text}, {hot.text}, weight: {w.text}", lambda r: F.cross_entropy(a, h, c, reduction=r))
    add(s, "norms", dtype, f"nn.cross_entropy({image.text}, where({plane.text} < 0, 0, {plane.text}), weight: {w.text})",
        F.cross_entropy(i, l.clamp(min=0), c))
    s.error("shape", f"cross_entropy({x.text}, {labels.text}, weight: {w.text}[:2])")
    add(s, "norms", dtype, f"nn.nll_loss({x.text}[0], {labels.text}[0])", F.nll_loss(a[0], t[0]))
    reductions(s, "norms", dtype, f"nn.multi_margin_loss({x.text}, {labels.text}", lambda r: F.multi_margin_loss(a, t, reduction=r))
    reductions(s, "norms", dtype, f"nn.multi_margin_loss({x.text}, {labels.text}, 2, 0.5, {w.text}",
               lambda r: F.multi_margin_loss(a, t, p=2, margin=0.5, weight=c, reduction=r))
    reductions(s, "norms", dtype, f"nn.multilabel_margin_loss({x.text}, {many.text}", lambda r: F.multilabel_margin_loss(a, m, reduction=r))
    add(s, "norms", dtype, f"nn.multilabel_margin_loss({x.text}[0], {many.text}[0])", F.multilabel_margin_loss(a[0], m[0]))
    reductions(s, "norms", dtype, f"nn.multilabel_soft_margin_loss({x.text}, {hot.text}, {w.text}",
               lambda r: F.multilabel_soft_margin_loss(a, h, c, reduction=r))
    s.error("index", f"nn.nll_loss({x.text}, {labels.text} + 9)")
    s.error("shape", f"nn.nll_loss({x.text}, {labels.text}[:2])")


def margin_cases(s, rng, dtype):
    a, b, c = (s.input(dtype, numbers(rng, dtype, (6, 4))) for _ in range(3))
    sign = s.input(dtype, np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0]))
    x, y, z, t = tensors(a, b, c, sign)
    two = f"{a.text}[:, 0], {b.text}[:, 0]"
    reductions(s, "norms", dtype, f"nn.margin_ranking_loss({two}, {sign.text}, 0.5",
               lambda r: F.margin_ranking_loss(x[:, 0], y[:, 0], t, 0.5, reduction=r))
    reductions(s, "norms", dtype, f"nn.hinge_embedding_loss({a.text}[:, 0], {sign.text}", lambda r: F.hinge_embedding_loss(x[:, 0], t, reduction=r))
    reductions(s, "norms", dtype, f"nn.cosine_embedding_loss({a.text}, {b.text}, {sign.text}, 0.25",
               lambda r: F.cosine_embedding_loss(x, y, t, 0.25, reduction=r))
    reductions(s, "norms", dtype, f"nn.triplet_margin_loss({a.text}, {b.text}, {c.text}", lambda r: F.triplet_margin_loss(x, y, z, reduction=r))
    reductions(s, "norms", dtype, f"nn.triplet_margin_loss({a.text}, {b.text}, {c.text}, 2.0, 3, swap: true",
               lambda r: F.triplet_margin_loss(x, y, z, 2.0, 3, swap=True, reduction=r))
    reductions(s, "norms", dtype, f"nn.soft_margin_loss({a.text}[:, 0], {sign.text}", lambda r: F.soft_margin_loss(x[:, 0], t, reduction=r))
    add(s, "norms", dtype, f"nn.pairwise_distance({a.text}, {b.text})", F.pairwise_distance(x, y))
    add(s, "norms", dtype, f"nn.pairwise_distance({a.text}, {b.text}, 1, keepdims: true)", F.pairwise_distance(x, y, 1, keepdim=True))


def alignment_cases(s, rng, dtype):
    logs = s.input(dtype, round_to(dtype, np.log(rng.dirichlet(np.ones(5), (7, 3)))))
    labels = s.input("i64", np.array([[1, 2, 2], [3, 3, 1], [4, 1, 2]]))
    x, t = tensors(logs, labels)
    for steps, lengths in (([7, 7, 7], [3, 3, 3]), ([7, 5, 2], [2, 3, 1])):
        f = lambda r: F.ctc_loss(x, t, torch.tensor(steps), torch.tensor(lengths), reduction=r)
        reductions(s, "attention", dtype, f"nn.ctc_loss({logs.text}, {labels.text}, {steps}, tensor({lengths})", f)
    add(s, "attention", dtype, f"nn.ctc_loss({logs.text}[:, 0], {labels.text}[0], 7, 2)", F.ctc_loss(x[:, 0], t[0, :2], torch.tensor(7), torch.tensor(2)))
    s.case("exact", f'nn.ctc_loss({logs.text}[:2], {labels.text}, 2, 3, reduction: "none")', (dtype, np.full(3, np.inf)))
    s.case("exact", f"nn.ctc_loss({logs.text}[:2], {labels.text}, 2, 3, zero_infinity: true)", (dtype, np.float64(0)))
    s.error("shape", f"nn.ctc_loss({logs.text}, {labels.text}[:2], 7, 3)")


def sections(rng):
    for dtype in ("f16", "bf16", "f32", "f64"):
        parts = [activation_cases, regression_cases, class_cases, margin_cases]
        for part in parts + ([alignment_cases] if dtype in ("f32", "f64") else []):
            s = Section(f"{part.__name__[:-6]} of {dtype}")
            part(s, rng, dtype)
            yield s
