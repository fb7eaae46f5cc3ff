"""Cases of the composites and of nn and optim: definitions in NumPy's long doubles."""

import numpy as np

from oracle import LONG, Section, numbers, pick, round_to, small, views

L = LONG


def softmax(d, axis):
    e = np.exp(d - d.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_softmax(d, axis):
    z = d - d.max(axis=axis, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=axis, keepdims=True))


def pair(v):
    return (v, v) if isinstance(v, int) else v


def conv2d(x, w, b, stride, padding, dilation, groups):
    (sh, sw), (ph, pw), (dh, dw) = pair(stride), pair(padding), pair(dilation)
    x = np.pad(x, [(0, 0), (0, 0), (ph, ph), (pw, pw)])
    n, c, h, width = x.shape
    o, inner, kh, kw = w.shape
    rows, columns = (h - dh * (kh - 1) - 1) // sh + 1, (width - dw * (kw - 1) - 1) // sw + 1
    y = np.zeros((n, o, rows, columns), L)
    for i, j in np.ndindex(kh, kw):
        part = x[:, :, i * dh: i * dh + sh * (rows - 1) + 1: sh, j * dw: j * dw + sw * (columns - 1) + 1: sw]
        for g in range(groups):
            outs = slice(g * o // groups, (g + 1) * o // groups)
            y[:, outs] += np.einsum("nchw,oc->nohw", part[:, g * inner:(g + 1) * inner], w[outs, :, i, j])
    return y if b is None else y + b.reshape(-1, 1, 1)


def pool(x, size, stride, padding, dilation, value):
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = pair(size), pair(stride), pair(padding), pair(dilation)
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(ph, ph), (pw, pw)], constant_values=value)
    w = np.lib.stride_tricks.sliding_window_view(x, (dh * (kh - 1) + 1, dw * (kw - 1) + 1), (-2, -1))
    return w[..., ::sh, ::sw, ::dh, ::dw]


def masked(d, axis=-1):
    """softmax, where a row of -inf is zero."""
    with np.errstate(all="ignore"):
        greatest = d.max(axis=axis, keepdims=True)
        e = np.exp(d - np.where(np.isinf(greatest), 0, greatest))
        t = e.sum(axis=axis, keepdims=True)
        return e / np.where(t == 0, 1, t)


def normal_cases(s, rng, dtype):
    x = s.input(dtype, numbers(rng, dtype, (4, 6)))
    w, b = s.input(dtype, numbers(rng, dtype, (6,))), s.input(dtype, numbers(rng, dtype, (6,)))
    result = lambda y: (dtype, round_to(dtype, y))
    for a in pick(rng, views(x), 8):
        d = a.data.astype(L)
        if 0 in d.shape:
            continue
        for axis in (-1, 0):
            s.case("softmax", f"softmax({a.text}, axis: {axis})", result(softmax(d, axis)))
            s.case("norms", f"log_softmax({a.text}, axis: {axis})", result(log_softmax(d, axis)))
        centred = d - d.mean(-1, keepdims=True)
        y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + L(1e-5))
        s.case("norms", f"layer_norm({a.text})", result(y))
        r = d / np.sqrt((d * d).mean(-1, keepdims=True) + L(1e-6))
        s.case("norms", f"rms_norm({a.text})", result(r))
        if d.shape[-1] == 6 and not dtype.endswith("f16"):
            s.case("norms", f"layer_norm({a.text}, {w.text}, {b.text})", result(y * w.data + b.data))
            s.case("norms", f"rms_norm({a.text}, {w.text})", result(r * w.data))


def loss_cases(s, rng, dtype):
    logits = s.input(dtype, numbers(rng, dtype, (5, 4)))
    labels = s.input("i64", rng.integers(0, 4, 5))
    d, l, t = logits.data.astype(L), labels.data, f"{logits.text}, {labels.text}"
    losses = -log_softmax(d, 1)[np.arange(5), l]
    result = lambda y: (dtype, round_to(dtype, y))
    s.case("norms", f"cross_entropy({t})", result(losses.mean()))
    s.case("norms", f'cross_entropy({t}, reduction: "sum")', result(losses.sum()))
    s.case("norms", f'cross_entropy({t}, reduction: "none")', result(losses))
    smooth = losses * L(0.75) - log_softmax(d, 1).mean(1) * L(0.25)
    s.case("norms", f"cross_entropy({t}, label_smoothing: 0.25)", result(smooth.mean()))
    kept = losses[l != l[0]]
    s.case("norms", f"cross_entropy({t}, ignore_index: {l[0]})", result(kept.sum() / max(len(kept), 1) if len(kept) else np.nan))
    p = s.input(dtype, round_to(dtype, softmax(numbers(rng, "f64", (5, 4)), 1)))
    s.case("norms", f"cross_entropy({logits.text}, {p.text})", result(-(p.data * log_softmax(d, 1)).sum(1).mean()))
    s.error("index", f"cross_entropy({logits.text}, {labels.text} + 9)")
    s.error("shape", f"cross_entropy({logits.text}, {labels.text}[:2])")
    a, b = s.input(dtype, numbers(rng, dtype, (3, 4))), s.input(dtype, round_to(dtype, rng.uniform(0, 1, (3, 4))))
    x, y = a.data.astype(L), b.data.astype(L)
    if dtype in ("f32", "f64"):
        s.case("norms", f"nn.mse({a.text}, {b.text})", result(((x - y) ** 2).mean()))
        s.case("norms", f"nn.l1({a.text}, {b.text})", result(np.abs(x - y).mean()))
        bce = np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))
        s.case("norms", f"nn.binary_cross_entropy_with_logits({a.text}, {b.text})", result(bce.mean()))
    s.case("exact", f"nn.accuracy({logits.text}, {labels.text})", ("f32", round_to("f32", (d.argmax(1) == l).mean())))


def image_cases(s, rng, dtype):
    x = s.input(dtype, small(rng, dtype, (2, 4, 6, 5), -3, 4, 1))
    w, grouped = s.input(dtype, small(rng, dtype, (3, 4, 3, 2), -2, 3, 1)), s.input(dtype, small(rng, dtype, (4, 2, 2, 2), -2, 3, 1))
    b = s.input(dtype, small(rng, dtype, (3,), -3, 4, 1))
    for a in (x, x.view("{}[..., ::-1]", x.data[..., ::-1]), x.view("{}[::-1, :, ::-1]", x.data[::-1, :, ::-1])):
        for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), ((1, 2), (2, 0), 1), (1, 1, 2), (3, (1, 2), (2, 1))):
            y = conv2d(a.data, w.data, b.data, stride, padding, dilation, 1)
            s.case("exact", f"conv2d({a.text}, {w.text}, {b.text}, {stride}, {padding}, {dilation})", (dtype, y))
        y = conv2d(a.data, grouped.data, None, 1, 0, 1, 2)
        s.case("exact", f"conv2d({a.text}, {grouped.text}, groups: 2)", (dtype, y))
        for size, stride, padding, dilation in ((2, 2, 0, 1), (3, 1, 1, 1), ((2, 3), (1, 2), (0, 1), 1), (2, 1, 0, 2)):
            y = pool(a.data, size, stride, padding, dilation, -np.inf).max((-2, -1))
            s.case("exact", f"max_pool2d({a.text}, {size}, {stride}, {padding}, {dilation})", (dtype, y))
            if dilation != 1:
                continue
            mean = pool(a.data, size, stride, padding, 1, 0).sum((-2, -1)) / np.prod(pair(size))
            s.case("sum", f"avg_pool2d({a.text}, {size}, {stride}, {padding})", (dtype, round_to(dtype, mean)))
            count = pool(np.ones(a.shape[2:]), size, stride, padding, 1, 0).sum((-2, -1))
            y = pool(a.data, size, stride, padding, 1, 0).sum((-2, -1)) / count
            s.case("sum", f"avg_pool2d({a.text}, {size}, {stride}, {padding}, count_include_pad: false)",
                   (dtype, round_to(dtype, y)))
    s.error("shape", f"conv2d({x.text}, {grouped.text})")
    s.error("value", f"conv2d({x.text}, {w.text}, stride: [1, 2, 3])")


def attention_cases(s, rng, dtype):
    q, k, v = (s.input(dtype, numbers(rng, dtype, shape)) for shape in ((2, 3, 4), (2, 5, 4), (2, 5, 2)))
    mask = s.input("bool", rng.random((3, 5)) < 0.5)
    result = lambda y: (dtype, round_to(dtype, y))
    scores = q.data.astype(L) @ np.swapaxes(k.data.astype(L), -1, -2)
    three = f"{q.text}, {k.text}, {v.text}"
    s.case("attention", f"attention({three})", result(softmax(scores / 2, -1) @ v.data))
    s.case("attention", f"attention({three}, scale: 0.25)", result(softmax(scores / 4, -1) @ v.data))
    seen = np.tril(np.ones((3, 5), bool))
    capped = L(1.5) * np.tanh(scores / 2 / L(1.5))
    near = np.abs(np.arange(3)[:, None] - np.arange(5)) < 2
    s.case("attention", f"flash_attention({three})", result(softmax(scores / 2, -1) @ v.data))
    s.case("attention", f"flash_attention({three}, true, softcap: 1.5)", result(masked(np.where(seen, capped, -np.inf)) @ v.data))
    s.case("attention", f"flash_attention({three}, scale: -0.25, window_size: 2)", result(masked(np.where(near, -scores / 4, -np.inf)) @ v.data))
    s.case("attention", f"attention({three}, is_causal: true)", result(masked(np.where(seen, scores / 2, -np.inf)) @ v.data))
    shares, totals = softmax(scores / 2, -1), v.data.astype(L).sum(-1)[:, None]
    slopes = shares * (totals - (shares * totals).sum(-1, keepdims=True)) / 2
    s.case("attention", f"grad(fn(q) = sum(flash_attention(q, {k.text}, {v.text})))({q.text})", result(slopes @ k.data.astype(L)))
    for m, text in ((mask.data, mask.text), (mask.data[::-1], mask.text + "[::-1]"), (mask.data & False, mask.text + " & false")):
        s.case("attention", f"attention({three}, attn_mask: {text})", result(masked(np.where(m, scores / 2, -np.inf)) @ v.data))


def layer_cases(s, rng, dtype):
    x, w, b = (s.input(dtype, numbers(rng, dtype, shape)) for shape in ((4, 3), (3, 5), (5,)))
    result = lambda y: (dtype, round_to(dtype, y))
    d = x.data.astype(L)
    s.case("layers", f"nn.linear({x.text}, {w.text}, {b.text})", result(d @ w.data.astype(L) + b.data))
    s.case("product_of_one", f"nn.leaky_relu({x.text})", result(np.where(d > 0, d, d * L(0.01))))
    s.case("expm1", f"nn.elu({x.text})", result(np.where(d > 0, d, np.expm1(d))))
    s.case("exact", f"nn.flatten(reshape({x.text}, 2, 2, 3)[::-1])", (dtype, x.data.reshape(2, 2, 3)[::-1].reshape(2, 6)))
    s.case("norms", f"nn.batch_stats({x.text})", result(d.mean(0)), result(d.var(0)))
    m, v = s.input(dtype, numbers(rng, dtype, (3,))), s.input(dtype, round_to(dtype, rng.uniform(0.5, 2, 3)))
    y = w.data[:, 0] * (d - m.data) / np.sqrt(v.data.astype(L) + L(1e-5)) + w.data[:, 1]
    s.case("norms", f"nn.batch_norm({x.text}, {w.text}[:, 0], {w.text}[:, 1], {m.text}, {v.text})", result(y))
    y = s.input(dtype, numbers(rng, dtype, (2, 3, 4)))
    qkv, out = s.input(dtype, numbers(rng, dtype, (4, 12)) / 4), s.input(dtype, numbers(rng, dtype, (4, 4)) / 4)
    mix = y.data.astype(L) @ qkv.data.astype(L)
    heads = lambda part: part.reshape(2, 3, 2, 2).swapaxes(1, 2)
    a, bb, c = heads(mix[..., :4]), heads(mix[..., 4:8]), heads(mix[..., 8:])
    mixed = softmax(a @ bb.swapaxes(-1, -2) / np.sqrt(L(2)), -1) @ c
    record = "{qkv: %s, out: %s, qkv_bias: zeros([12], dtype: %s), out_bias: zeros([4], dtype: %s)}" % (qkv.text, out.text, dtype, dtype)
    s.case("attention", f"nn.multi_head_attention({record}, {y.text}, 2)",
           result(mixed.swapaxes(1, 2).reshape(2, 3, 4) @ out.data.astype(L)))


def sections(rng):
    for dtype in ("f16", "bf16", "f32", "f64"):
        parts = [normal_cases, loss_cases]
        if dtype in ("f32", "f64"):
            parts += [attention_cases, layer_cases]
        parts.append(image_cases)
        for part in parts:
            s = Section(f"{part.__name__[:-6]} of {dtype}")
            part(s, rng, dtype)
            yield s
