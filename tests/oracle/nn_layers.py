"""Cases of the layers of nn: PyTorch's results in f64, rounded once."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from nn_activations import add, rounded, tensors
from oracle import Section, numbers, round_to, small


def drawn(s, rng, dtype, *shapes):
    return [s.input(dtype, numbers(rng, dtype, shape)) for shape in shapes]


def norm_cases(s, rng, dtype):
    x, w, b = drawn(s, rng, dtype, (3, 6, 4), (6,), (6,))
    a, g, h = tensors(x, w, b)
    for n in (1, 2, 6):
        add(s, "norms", dtype, f"nn.group_norm({x.text}, {n})", F.group_norm(a, n))
        add(s, "norms", dtype, f"nn.group_norm({x.text}[::-1], {n}, {w.text}, {b.text}, eps: 0.25)", F.group_norm(a.flip(0), n, g, h, 0.25))
    add(s, "norms", dtype, f"nn.instance_norm({x.text})", F.instance_norm(a))
    add(s, "norms", dtype, f"nn.instance_norm({x.text}, {w.text}, {b.text})", F.instance_norm(a, weight=g, bias=h))
    for size in (1, 3, 4):
        add(s, "norms", dtype, f"nn.local_response_norm({x.text}, {size}, 0.5, 0.75, 2.0)", F.local_response_norm(a, size, 0.5, 0.75, 2.0))
    mean, var = torch.zeros(6, dtype=torch.float64), torch.ones(6, dtype=torch.float64)
    y = F.batch_norm(a, mean, var, g, h, training=True, momentum=0.25)
    statistics = "f64" if dtype == "f64" else "f32"
    s.case("norms", f"nn.batch_norm_train({x.text}, {w.text}, {b.text}, 0.0, 1.0, momentum: 0.25)", rounded(dtype, y),
           rounded(statistics, mean), rounded(statistics, var))
    v, = drawn(s, rng, dtype, (4, 3, 2))
    m, = tensors(v)
    gains, = drawn(s, rng, dtype, (4,))
    add(s, "norms", dtype, f"nn.weight_norm({v.text}, {gains.text})", torch._weight_norm(m, tensors(gains)[0].reshape(4, 1, 1), 0))
    add(s, "norms", dtype, f"nn.weight_norm({v.text}, {gains.text}[:2], axis: 2)", torch._weight_norm(m, tensors(gains)[0][:2].reshape(1, 1, 2), 2))
    u, = drawn(s, rng, dtype, (4,))
    matrix, left = m.reshape(4, -1), tensors(u)[0]
    for _ in range(3):
        right = F.normalize(matrix.T @ left, dim=0, eps=1e-12)
        left = F.normalize(matrix @ right, dim=0, eps=1e-12)
    s.case("attention", f"nn.spectral_norm({v.text}, {u.text}, 3)", rounded(dtype, m / (left @ matrix @ right)), rounded(statistics, left))
    s.error("shape", f"nn.group_norm({x.text}, 4)")
    s.error("shape", f"nn.instance_norm({x.text}, {gains.text})")


def pool_cases(s, rng, dtype):
    x = s.input(dtype, small(rng, dtype, (2, 3, 7, 6), -9, 10, 1))
    a, = tensors(x)
    line, t = x.view("{}[0]", x.data[0]), a[0]
    for k, stride, padding, dilation, ceil in ((2, 2, 0, 1, False), (3, 2, 1, 1, True), (2, 3, 1, 2, True), (3, 1, 0, 2, False), (2, 2, 0, 1, True)):
        options = f"{k}, {stride}, {padding}, {dilation}, {str(ceil).lower()}"
        f = lambda p, v, **more: p(v, k, stride, padding, dilation, ceil, **more)
        add(s, "exact", dtype, f"nn.max_pool1d({line.text}[0], {options})", f(F.max_pool1d, t[0]))
        add(s, "exact", dtype, f"max_pool2d({x.text}, {options})", f(F.max_pool2d, a))
        y, places = f(F.max_pool2d, a, return_indices=True)
        s.case("exact", f"max_pool2d({x.text}, {options}, return_indices: true)", rounded(dtype, y), ("i64", places.numpy()))
        y, places = f(F.max_pool1d, t[0], return_indices=True)
        s.case("exact", f"max_pool1d({line.text}[0], {options}, return_indices: true)", rounded(dtype, y), ("i64", places.numpy()))
        if dilation == 1:
            for counted in (True, False):
                more = f"count_include_pad: {str(counted).lower()}, ceil_mode: {str(ceil).lower()}"
                options = f"{k}, {stride}, {padding}, {more}"
                add(s, "sum", dtype, f"nn.avg_pool1d({line.text}[0], {options})", F.avg_pool1d(t[0], k, stride, padding, ceil, counted))
                add(s, "sum", dtype, f"avg_pool2d({x.text}, {options})", F.avg_pool2d(a, k, stride, padding, ceil, counted))
                add(s, "sum", dtype, f"avg_pool3d({x.text}, {options})", F.avg_pool3d(a, k, stride, padding, ceil, counted))
    add(s, "exact", dtype, f"max_pool3d({x.text}, 2, 1)", F.max_pool3d(a, 2, 1))
    y, places = F.max_pool3d(a, (2, 3, 2), 1, return_indices=True)
    s.case("exact", f"nn.max_pool3d({x.text}, (2, 3, 2), 1, return_indices: true)", rounded(dtype, y), ("i64", places.numpy()))
    add(s, "sum", dtype, f"nn.avg_pool3d({x.text}, (3, 2, 2), 1)", F.avg_pool3d(a, (3, 2, 2), 1))
    for size in (1, 2, 3, 6, 8):
        add(s, "sum", dtype, f"nn.adaptive_avg_pool1d({line.text}, {size})", F.adaptive_avg_pool1d(t, size))
        add(s, "sum", dtype, f"nn.adaptive_avg_pool2d({x.text}, ({size}, 2))", F.adaptive_avg_pool2d(a, (size, 2)))
        add(s, "exact", dtype, f"nn.adaptive_max_pool1d({line.text}[:, ::-1], {size})", F.adaptive_max_pool1d(t.flip(1), size))
        add(s, "exact", dtype, f"nn.adaptive_max_pool2d({x.text}, (3, {size}))", F.adaptive_max_pool2d(a, (3, size)))
    add(s, "norms", dtype, f"nn.lp_pool1d(abs({line.text}), 3, 2)", F.lp_pool1d(t.abs(), 3, 2))
    add(s, "norms", dtype, f"nn.lp_pool2d({x.text}, 2, (2, 3), 1)", F.lp_pool2d(a, 2, (2, 3), 1))
    y, places = F.max_pool2d(a, 2, return_indices=True)
    values = f"max_pool2d({x.text}, 2, return_indices: true)"
    add(s, "exact", dtype, f"nn.max_unpool2d({values}[0], {values}[1], 2, output_size: (7, 6))", F.max_unpool2d(y, places, 2, output_size=(7, 6)))
    y, places = F.max_pool2d(a, 3, 3, 1, return_indices=True)
    values = f"max_pool2d({x.text}, 3, 3, 1, return_indices: true)"
    add(s, "exact", dtype, f"nn.max_unpool2d({values}[0], {values}[1], 3, 3, 1, (7, 6))", F.max_unpool2d(y, places, 3, 3, 1, (7, 6)))
    y, places = F.max_pool2d(a[:, :, :6], 2, return_indices=True)
    values = f"max_pool2d({x.text}[:, :, :6], 2, return_indices: true)"
    add(s, "exact", dtype, f"nn.max_unpool2d({values}[0], {values}[1], 2)", F.max_unpool2d(y, places, 2))
    s.error("shape", f"nn.adaptive_max_pool2d({x.text}[..., :0], 1)")
    s.error("value", f"nn.avg_pool3d({x.text}, (2, 2))")


def convolution_cases(s, rng, dtype):
    whole = lambda shape: s.input(dtype, small(rng, dtype, shape, -3, 4, 1))
    line, w1, b = whole((2, 4, 9)), whole((6, 2, 3)), whole((6,))
    x, w, c = tensors(line, w1, b)
    for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 2)):
        add(s, "exact", dtype, f"nn.conv1d({line.text}, {w1.text}, {b.text}, {stride}, {padding}, {dilation}, 2)",
            F.conv1d(x, w, c, stride, padding, dilation, 2))
    add(s, "exact", dtype, f'nn.conv1d({line.text}[0], {w1.text}, padding: "same", groups: 2)', F.conv1d(x[0], w, padding="same", groups=2))
    cube, w3 = whole((2, 4, 5, 4, 6)), whole((4, 2, 2, 3, 2))
    y, v = tensors(cube, w3)
    for stride, padding, dilation in ((1, 0, 1), ((2, 1, 3), (1, 1, 0), 1), (1, 1, (2, 1, 2))):
        add(s, "exact", dtype, f"nn.conv3d({cube.text}, {w3.text}, {b.text}[:4], {stride}, {padding}, {dilation}, 2)",
            F.conv3d(y, v, c[:4], stride, padding, dilation, 2))
    add(s, "exact", dtype, f"nn.conv3d({cube.text}[1, ::-1], {w3.text}, groups: 2)", F.conv3d(y[1].flip(0), v, groups=2))
    t1, t2, image = whole((4, 3, 3)), whole((4, 3, 3, 2)), whole((2, 4, 4, 5))
    p, q, i = tensors(t1, t2, image)
    for stride, padding, extra, groups, dilation in ((1, 0, 0, 1, 1), (2, 1, 1, 1, 1), (3, 2, 2, 2, 1), (2, 0, 1, 2, 2), (1, 3, 0, 1, 2)):
        options = f"{stride}, {padding}, {extra}, {groups}, {dilation}"
        bias, d = f"expand({b.text}[:1], [{3 * groups}])", c[:1].expand(3 * groups)
        add(s, "exact", dtype, f"nn.conv_transpose1d({line.text}, {t1.text}, {bias}, {options})",
            F.conv_transpose1d(x, p, d, stride, padding, extra, groups, dilation))
        if padding < 3:
            add(s, "exact", dtype, f"nn.conv_transpose2d({image.text}, {t2.text}, {bias}, {options})",
                F.conv_transpose2d(i, q, d, stride, padding, extra, groups, dilation))
    add(s, "exact", dtype, f"nn.conv_transpose2d({image.text}[0], {t2.text}, stride: (1, 2))", F.conv_transpose2d(i[0], q, stride=(1, 2)))
    s.error("shape", f"nn.conv1d({line.text}, {w1.text})")
    s.error("shape", f"nn.conv1d({line.text}, {w1.text}, dilation: 5, groups: 2)")
    s.error("value", f"nn.conv_transpose1d({line.text}, {t1.text}, output_padding: 1)")


def table_cases(s, rng, dtype):
    x1, x2, w, b = drawn(s, rng, dtype, (3, 4), (3, 5), (2, 4, 5), (2,))
    add(s, "product", dtype, f"nn.bilinear({x1.text}, {x2.text}, {w.text}, {b.text})", F.bilinear(*tensors(x1, x2, w, b)))
    add(s, "product", dtype, f"nn.sequential([fn(v) = nn.bilinear(v, {x2.text}, {w.text}), fn(v) = v])({x1.text})", F.bilinear(*tensors(x1, x2, w)))
    table, per = drawn(s, rng, dtype, (6, 4), (2, 3))
    bags = s.input("i64", rng.integers(0, 6, (2, 3)))
    row, offsets = s.input("i64", rng.integers(0, 6, 7)), s.input("i64", np.array([0, 2, 2, 6]))
    t, p, i, r, o = tensors(table, per, bags, row, offsets)
    for mode in ("mean", "sum", "max"):
        add(s, "norms", dtype, f'nn.embedding_bag({bags.text}, {table.text}, mode: "{mode}")', F.embedding_bag(i, t, mode=mode))
        add(s, "norms", dtype, f'nn.embedding_bag({row.text}, {table.text}, {offsets.text}, "{mode}")', F.embedding_bag(r, t, o, mode=mode))
    add(s, "norms", dtype, f'nn.embedding_bag({bags.text}, {table.text}, mode: "sum", per_sample_weights: {per.text})',
        F.embedding_bag(i, t, mode="sum", per_sample_weights=p))
    s.error("shape", f"nn.embedding_bag({row.text}, {table.text})")


NETWORKS = {"rnn": (1, torch.nn.RNN), "gru": (3, torch.nn.GRU), "lstm": (4, torch.nn.LSTM)}


def network(s, rng, dtype, kind, inputs, d, layers, directions):
    """PyTorch's network, and the same weights as an expression."""
    gates, Network = NETWORKS[kind]
    module = Network(inputs, d, layers, bidirectional=directions == 2).double()
    text = []
    for layer in range(layers):
        cells = []
        for direction in range(directions):
            width = inputs if layer == 0 else d * directions
            parts = drawn(s, rng, dtype, (width, gates * d), (d, gates * d), (gates * d,), (gates * d,))
            for name, part in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), parts):
                value, = tensors(part)
                getattr(module, f"{name}_l{layer}{'_reverse' * direction}").data = value.T.contiguous() if value.ndim == 2 else value
            cells.append("{w_ih: %s, w_hh: %s, b_ih: %s, b_hh: %s}" % tuple(part.text for part in parts))
        text.append("[" + ", ".join(cells) + "]")
    return module, "[" + ", ".join(text) + "]"


def recurrent_cases(s, rng, dtype, kind, layers, directions):
    x, = drawn(s, rng, dtype, (5, 2, 3))
    a, = tensors(x)
    module, p = network(s, rng, dtype, kind, 3, 2, layers, directions)
    start = drawn(s, rng, dtype, *[(layers * directions, 2, 2)] * (2 if kind == "lstm" else 1))
    state = ", ".join(part.text for part in start)
    first = tuple(tensors(*start)) if kind == "lstm" else tensors(*start)[0]
    parts = lambda last: last if kind == "lstm" else (last,)
    with torch.no_grad():
        for given, text in ((None, ""), (first, f", ({state})" if kind == "lstm" else f", {state}")):
            y, last = module(a, given)
            call = f"nn.{kind}({p}, {x.text}{text})"
            s.case("attention", f"{call}[0]", rounded(dtype, y))
            for i, part in enumerate(parts(last)):
                s.case("attention", f"{call}[1]" + f"[{i}]" * (kind == "lstm"), rounded(dtype, part))
        y = module(a.transpose(0, 1))[0].transpose(0, 1)
        s.case("attention", f"nn.{kind}({p}, {x.text}, batch_first: true)[0]", rounded(dtype, y))
        s.case("attention", f"nn.{kind}({p}, {x.text}[:, 0])[0]", rounded(dtype, module(a[:, 0])[0]))
        if layers == directions == 1:
            last = module(a[:1], first)[1]
            states = ", ".join(part.text + "[0]" for part in start)
            s.case("attention", f"nn.{kind}_cell({p}[0][0], {x.text}[0], {states})", *[rounded(dtype, part[0]) for part in parts(last)])
        if kind == "rnn":
            module.nonlinearity, module.mode = "relu", "RNN_RELU"
            s.case("attention", f'nn.rnn({p}, {x.text}, nonlinearity: "relu")[0]', rounded(dtype, module(a)[0]))
    s.error("shape", f"nn.{kind}({p}, {x.text}[..., :2])")


def attention_cases(s, rng, dtype):
    q, k, v = drawn(s, rng, dtype, (2, 6, 5, 4), (2, 2, 7, 4), (2, 2, 7, 3))
    mask = s.input("bool", (rng.random((5, 7)) < 0.7) | (np.arange(7) == 0))
    a, b, c, m = tensors(q, k, v, mask)
    three = f"{q.text}, {k.text}, {v.text}"
    gqa = lambda **more: F.scaled_dot_product_attention(a, b, c, enable_gqa=True, **more)
    add(s, "attention", dtype, f"attention({three}, enable_gqa: true)", gqa())
    add(s, "attention", dtype, f"nn.attention({three}, enable_gqa: true, is_causal: true)", gqa(is_causal=True))
    add(s, "attention", dtype, f"nn.attention({three}, {mask.text}, enable_gqa: true, scale: 0.25)", gqa(attn_mask=m, scale=0.25))
    add(s, "attention", dtype, f"nn.attention({three}, expand({mask.text}, [2, 6, 5, 7]), enable_gqa: true)", gqa(attn_mask=m.expand(2, 6, 5, 7)))
    scores = a[:, :2] @ b.mT / 2
    rows, columns = torch.arange(5)[:, None], torch.arange(7)
    near = (rows - columns).abs() < 3
    two = f"{q.text}[:, :2], {k.text}, {v.text}"
    add(s, "attention", dtype, f"attention({two}, window_size: 3)", torch.softmax(scores.masked_fill(~near, -math.inf), -1) @ c)
    near &= columns <= rows
    add(s, "attention", dtype, f"attention({two}, is_causal: true, window_size: 3)", torch.softmax(scores.masked_fill(~near, -math.inf), -1) @ c)
    add(s, "attention", dtype, f"attention({two}, softcap: 2.0)", torch.softmax(2 * torch.tanh(scores / 2), -1) @ c)
    s.error("shape", f"attention({three})")
    s.error("shape", f"attention({q.text}[:, :5], {k.text}, {v.text}, enable_gqa: true)")


def transformer_cases(s, rng, dtype):
    x, context = drawn(s, rng, dtype, (2, 3, 4), (2, 5, 4))
    shapes = {"qkv": (4, 12), "qkv_bias": (12,), "out": (4, 4), "out_bias": (4,)}
    parts = dict(zip(shapes, drawn(s, rng, dtype, *shapes.values())))
    p = "{" + ", ".join(f"{name}: {part.text}" for name, part in parts.items()) + "}"
    w = {name: tensors(part)[0] for name, part in parts.items()}
    a, b = tensors(x, context)
    mask = s.input("bool", np.array([[True, True, False, True, False], [True, False, True, True, True]]))
    m, = tensors(mask)

    def attend(query, key, seen=None, causal=False):
        module = torch.nn.MultiheadAttention(4, 2, batch_first=True).double()
        module.in_proj_weight.data, module.in_proj_bias.data = w["qkv"].T.contiguous(), w["qkv_bias"]
        module.out_proj.weight.data, module.out_proj.bias.data = w["out"].T.contiguous(), w["out_bias"]
        hidden = torch.triu(torch.ones(query.shape[1], key.shape[1], dtype=torch.bool), 1) if causal else None
        with torch.no_grad():
            return module(query, key, key, key_padding_mask=None if seen is None else ~seen, attn_mask=hidden, need_weights=False)[0]

    add(s, "attention", dtype, f"nn.multi_head_attention({p}, {x.text}, 2, context: {context.text})", attend(a, b))
    add(s, "attention", dtype, f"nn.multi_head_attention({p}, {x.text}, 2, context: {context.text}, mask: {mask.text}[:, nil])", attend(a, b, m))
    whole = attend(b, b, causal=True)
    step = lambda part, cache: f"nn.multi_head_attention_step({p}, {context.text}[:, {part}], 2{cache})"
    cache = f", {step('2:4', ', ' + step(':2', '') + '[1]')}[1]"
    add(s, "attention", dtype, step(":2", "") + "[0]", whole[:, :2])
    add(s, "attention", dtype, step("4:", cache) + "[0]", whole[:, 4:])
    layers = {"w1": (4, 6), "b1": (6,), "w2": (6, 4), "b2": (4,), "n1": (4,), "n2": (4,), "m1": (4,), "m2": (4,)}
    given = dict(zip(layers, drawn(s, rng, dtype, *layers.values())))
    v = {name: tensors(part)[0] for name, part in given.items()}
    t = {name: part.text for name, part in given.items()}
    record = (f"{{attention: {p}, w1: {t['w1']}, b1: {t['b1']}, w2: {t['w2']}, b2: {t['b2']}, "
              f"norm1: {{weight: {t['n1']}, bias: {t['m1']}}}, norm2: {{weight: {t['n2']}, bias: {t['m2']}}}}}")
    for first in (False, True):
        module = torch.nn.TransformerEncoderLayer(4, 2, 6, 0.0, batch_first=True, norm_first=first).double()
        module.self_attn.in_proj_weight.data, module.self_attn.in_proj_bias.data = w["qkv"].T.contiguous(), w["qkv_bias"]
        module.self_attn.out_proj.weight.data, module.self_attn.out_proj.bias.data = w["out"].T.contiguous(), w["out_bias"]
        module.linear1.weight.data, module.linear1.bias.data = v["w1"].T.contiguous(), v["b1"]
        module.linear2.weight.data, module.linear2.bias.data = v["w2"].T.contiguous(), v["b2"]
        module.norm1.weight.data, module.norm1.bias.data = v["n1"], v["m1"]
        module.norm2.weight.data, module.norm2.bias.data = v["n2"], v["m2"]
        with torch.no_grad():
            add(s, "attention", dtype, f"nn.transformer_encoder_layer({record}, {x.text}, 2, norm_first: {str(first).lower()})", module(a))


def position_cases(s, rng, dtype):
    x, = drawn(s, rng, dtype, (2, 5, 6))
    a, = tensors(x)
    angles = torch.arange(5, dtype=torch.float64)[:, None] * 100.0 ** (-torch.arange(3, dtype=torch.float64) / 3)
    turns = torch.polar(torch.ones_like(angles), angles)
    y = torch.view_as_real(torch.view_as_complex(a.reshape(2, 5, 3, 2)) * turns).reshape(2, 5, 6)
    add(s, "norms", dtype, f"nn.rotary({x.text}, base: 100.0, interleaved: true)", y)
    z = torch.complex(a[..., :3], a[..., 3:]) * turns
    add(s, "norms", dtype, f"nn.rotary({x.text}, base: 100.0)", torch.cat([z.real, z.imag], -1))
    add(s, "norms", dtype, f"nn.rotary({x.text}[:, 2:], arange(2, 5), base: 100.0)", torch.cat([z.real, z.imag], -1)[:, 2:])
    table = torch.stack([angles.sin(), angles.cos()], 2).reshape(5, 6)
    add(s, "norms", dtype, f"nn.sinusoidal_positions(5, 6, 100.0, dtype: {dtype})", table)
    slopes = torch.tensor([2.0 ** (-8 * (i + 1) / 4) for i in range(4)] + [2.0 ** -1.0, 2.0 ** -3.0], dtype=torch.float64)
    distance = (torch.arange(3)[:, None] + 1 - torch.arange(4)).abs()
    add(s, "exact", dtype, f"nn.alibi_bias(6, 3, 4, dtype: {dtype})", slopes[:, None, None] * -distance)
    s.error("shape", f"nn.rotary({x.text}[..., 1:])")


TOLERANCES = {"bicubic": "sampled"}


def sampling_cases(s, rng, dtype):
    line, image, cube = drawn(s, rng, dtype, (2, 2, 5), (1, 2, 5, 4), (1, 1, 3, 4, 2))
    x, y, z = tensors(line, image, cube)
    bools = ((False, "false"), (True, "true"))
    for size in (1, 3, 5, 8):
        for mode in ("nearest", "nearest-exact", "area"):
            add(s, "norms", dtype, f'nn.interpolate({line.text}, {size}, mode: "{mode}")', F.interpolate(x, size, mode=mode))
            add(s, "norms", dtype, f'nn.interpolate({image.text}, ({size}, 3), mode: "{mode}")', F.interpolate(y, (size, 3), mode=mode))
        for aligned, text in bools:
            for v, t, mode, extents in ((x, line, "linear", size), (y, image, "bilinear", (size, 6)), (y, image, "bicubic", (size, 6)),
                                        (z, cube, "trilinear", (size, 3, 4))):
                add(s, TOLERANCES.get(mode, "norms"), dtype, f'nn.interpolate({t.text}, {extents}, mode: "{mode}", align_corners: {text})',
                    F.interpolate(v, extents, mode=mode, align_corners=aligned))
    for factor in (2, 0.5, 1.7):
        add(s, "norms", dtype, f"nn.interpolate({image.text}, scale_factor: {factor})", F.interpolate(y, scale_factor=factor))
        for mode in ("bilinear", "bicubic"):
            add(s, TOLERANCES.get(mode, "norms"), dtype, f'nn.interpolate({image.text}, scale_factor: ({factor}, 2), mode: "{mode}")',
                F.interpolate(y, scale_factor=(float(factor), 2.0), mode=mode))
    grid = s.input(dtype, round_to(dtype, rng.uniform(-1.6, 1.6, (1, 3, 4, 2))))
    g, = tensors(grid)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for aligned, text in bools:
                add(s, "sampled", dtype, f'nn.grid_sample({image.text}, {grid.text}, "{mode}", "{padding}", {text})',
                    F.grid_sample(y, g, mode, padding, aligned))
    theta, = drawn(s, rng, dtype, (2, 2, 3))
    for aligned, text in bools:
        add(s, "norms", dtype, f"nn.affine_grid({theta.text}, [2, 1, 3, 4], {text})", F.affine_grid(tensors(theta)[0], [2, 1, 3, 4], align_corners=aligned))
    s.error("shape", f"nn.grid_sample({image.text}, {grid.text}[..., :1])")
    s.error("value", f"nn.interpolate({image.text})")


def sections(rng):
    for dtype in ("f16", "bf16", "f32", "f64"):
        parts = [norm_cases, pool_cases, convolution_cases, table_cases, position_cases]
        wide = [attention_cases, transformer_cases, sampling_cases] if dtype in ("f32", "f64") else []
        for part in parts + wide:
            s = Section(f"{part.__name__[:-6]} of {dtype}")
            part(s, rng, dtype)
            yield s
        for kind in NETWORKS if wide else ():
            for layers, directions in ((1, 1), (2, 2)):
                s = Section(f"{kind} of {layers} layers in {directions} directions of {dtype}")
                recurrent_cases(s, rng, dtype, kind, layers, directions)
                yield s
