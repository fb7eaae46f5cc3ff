"""ONNX operators in TSL, continued: attention, positions, and recurrent networks."""

import numpy as np

from onnx_table import Several, dtype_name, named, rule


def heads_first(text, array, heads):
    """[n, t, heads * d] as [n, heads, t, d]; what has four axes stays."""
    if array.ndim == 4:
        return text, array.shape
    n, t, width = array.shape
    return f"transpose(reshape({text}, {n}, {t}, {heads}, {width // heads}), 1, 2)", (n, heads, t, width // heads)


def mask_of(n, rows, columns):
    """The mask of Attention: conditions, and what is added."""
    past = n.array(4).shape[2] if n.has(4) else 0
    start = f"reshape({n[6]} - {rows}, -1, 1, 1, 1)" if n.has(6) and not n.has(4) else str(past)
    seen, added = [], ""
    if n.has(3):
        mask, kind = n[3], n.array(3).dtype
        short = columns - n.array(3).shape[-1]
        if short > 0:
            mask = f"pad({mask}, [0, {short}], value: {'false' if kind == bool else '-inf'})"
        if kind == bool:
            seen.append(mask)
        else:
            added = mask
    place = f"(unsqueeze(arange({rows}), 1) + {start} - arange({columns}))"
    if n.attr("is_causal", 0):
        seen.append(f"({place} >= 0)")
    if n.attr("left_window_size", -1) >= 0:
        seen.append(f"({place} <= {n.attr('left_window_size', -1)})")
    if n.attr("right_window_size", -1) >= 0:
        seen.append(f"({place} >= -{n.attr('right_window_size', -1)})")
    if n.has(6):
        seen.append(f"(arange({columns}) < reshape({n[6]}, -1, 1, 1, 1))")
    shown = " & ".join(seen)
    return f"where({shown}, {added}, -inf)" if seen and added else added or shown, bool(added)


@rule("Attention")
def _(n):
    q, (b, h, rows, d) = heads_first(n[0], n.array(0), n.attr("q_num_heads", 0))
    k, (_, few, t, _) = heads_first(n[1], n.array(1), n.attr("kv_num_heads", 0))
    v, _ = heads_first(n[2], n.array(2), n.attr("kv_num_heads", 0))
    if n.has(4):
        k, v, t = f"concat([{n[4]}, {k}], axis: 2)", f"concat([{n[5]}, {v}], axis: 2)", t + n.array(4).shape[2]
    mask, is_added = mask_of(n, rows, t)
    scale, cap = n.attr("scale", None), n.attr("softcap", 0.0)
    options = [f"scale: {scale!r}"] if scale is not None else []
    options += ["enable_gqa: true"] if h != few else []
    options += [f"softcap: {cap!r}"] if cap else []
    options += [f"attn_mask: expand({mask}, [{b}, {h}, {rows}, {t}])"] if mask else []
    y = f"attention({', '.join(['q', 'k', 'v'] + options)})"
    if n.array(0).ndim == 3:
        y = f"reshape(transpose({y}, 1, 2), {b}, {rows}, -1)"
    lines = [f"let q = {q}", f"let k = {k}", f"let v = {v}"]
    results = [y, "k", "v"]
    if len(n.outputs) == 4 or n.outputs[-1:] == ["qk_matmul_output"]:
        keys = f"repeat(k, {h // few}, axis: 1)" if h != few else "k"
        lines.append(f"let scores = (q @ transpose({keys}, 2, 3)) * {d ** -0.5 if scale is None else scale!r}")
        mode = n.attr("qk_matmul_output_mode", 0)
        shown = f"{cap!r} * tanh(scores / {cap!r})" if cap else "scores"
        if mode >= 2 and mask:
            lines.append(f"let mask = {mask}")
            shown = f"({shown}) + mask" if is_added else f"where(mask, {shown}, -inf)"
        if mode == 3:
            lines.append(f"let shown = {shown}")
            kind = n.attr("softmax_precision", None)
            weights = f"softmax({'shown' if kind is None else f'{named(kind)}(shown)'})"
            shown = f"where(max(shown, axis: -1, keepdims: true) == -inf, 0.0, {weights}).to({dtype_name(n.array(0))})"
        results.append(shown)
    results = [r for r, name in zip(results if len(results) == 4 else results + [""], NAMES_OF_RESULTS) if name in n.outputs] \
        if n.outputs[0] == "Y" else results[:len(n.outputs)]
    return Several("(fn() { " + "; ".join(lines) + f"; return ({', '.join(results)},) }})()")


NAMES_OF_RESULTS = ["Y", "present_key", "present_value", "qk_matmul_output"]


@rule("FlexAttention")
def _(n):
    q, k = n.array(0), n.array(1)
    scale = n.attr("scale", None)
    options = [f"scale: {scale!r}"] if scale is not None else []
    options += ["enable_gqa: true"] if q.shape[1] != k.shape[1] else []
    score, prob = n.attr("score_mod", None), n.attr("prob_mod", None)
    if score is None and prob is None:
        return f"attention({', '.join([n[0], n[1], n[2]] + options)})"
    w = f"({n[0]} @ transpose({n[1]}, 2, 3)) * {float(q.shape[-1]) ** -0.5 if scale is None else scale!r}"
    shape = q.shape[:3] + (k.shape[2],)
    unknown = np.linspace(-1, 1, int(np.prod(shape)), dtype=q.dtype).reshape(shape)
    if score is not None:
        w = n.graph.graph(score, [(n.graph.add(w), unknown)], n.texts, n.values)[0][0]
    w = f"softmax({w})"
    if prob is not None:
        w = n.graph.graph(prob, [(n.graph.add(w), unknown)], n.texts, n.values)[0][0]
    return f"{w} @ {n[2]}"


@rule("RotaryEmbedding")
def _(n):
    x, d = n[0], n.array(0)
    if d.ndim == 3:
        heads = n.attr("num_heads", 0)
        x = f"transpose(reshape({x}, {d.shape[0]}, {d.shape[1]}, {heads}, {d.shape[2] // heads}), 1, 2)"
    size = d.shape[-1] if d.ndim == 4 else d.shape[2] // n.attr("num_heads", 1)
    part = n.attr("rotary_embedding_dim", 0) or size
    at = (lambda i: f"{n[i]}[{n[3]}]") if n.has(3) else (lambda i: n[i])
    lines = [f"let x = {x}", f"let c = unsqueeze({at(1)}, 1)", f"let s = unsqueeze({at(2)}, 1)"]
    if n.attr("interleaved", 0):
        lines += [f"let (a, b) = (x[..., 0:{part}:2], x[..., 1:{part}:2])",
                  "let turned = stack([a * c - b * s, a * s + b * c], axis: -1)",
                  f"let y = reshape(turned, turned.shape[:-2] + ({part},))"]
    else:
        lines += [f"let (a, b) = (x[..., :{part // 2}], x[..., {part // 2}:{part}])",
                  "let y = concat([a * c - b * s, a * s + b * c], axis: -1)"]
    y = "y" if part == size else f"concat([y, x[..., {part}:]], axis: -1)"
    y = f"reshape(transpose({y}, 1, 2), {list(d.shape)})" if d.ndim == 3 else y
    return "(fn() { " + "; ".join(lines) + f"; return {y} }})()"


@rule("SwiGLU")
def _(n):
    return f"{n[0]} * sigmoid({n.attr('alpha', 1.0)!r} * {n[0]}) * {n[1]}"


@rule("TensorScatter")
def _(n):
    d, update, axis = n.array(0), n.array(1), n.attr("axis", -2) % n.array(0).ndim
    first = f"reshape({n[2]}, {[-1] + [1] * axis})" if n.has(2) else "0"
    place = f"{first} + reshape(arange({update.shape[axis]}), {[1] * axis + [-1]})"
    if n.attr("mode", b"linear") == b"circular":
        place = f"({place}) % {d.shape[axis]}"
    index = f"reshape(expand({place}, {list(update.shape[:axis + 1])}), {list(update.shape[:axis + 1]) + [1] * (d.ndim - 1 - axis)})"
    return f"scatter({n[0]}, {axis}, expand({index}, {list(update.shape)}), {n[1]})"


# ---- Recurrent networks --------------------------------------------------------------------------------------

def direction_of(n, gates, step):
    """A loop over time for each direction: (Y, states)."""
    w = n.array(1)
    directions, hidden = w.shape[0], w.shape[1] // gates
    layout, which = n.attr("layout", 0), n.attr("direction", b"forward")
    lines = [f"let x = {'transpose(%s, 0, 1)' % n[0] if layout else n[0]}", "var ys = []", "var last = []", "var cells = []"]
    batch = n.array(0).shape[0 if layout else 1]
    state = lambda i: f"(fn() {{ let s = {n[i]}; return {'transpose(s, 0, 1)' if layout else 's'} }})()" if n.has(i) \
        else f"zeros([{directions}, {batch}, {hidden}])"
    lines += [f"let h0 = {state(5)}"] + ([f"let c0 = {state(6)}"] if gates == 4 else [])
    for i in range(directions):
        back = which == b"reverse" or i == 1
        bias = f"{n[3]}[{i}]" if n.has(3) else f"zeros([{2 * gates * hidden}])"
        lines += [f"let w{i} = {n[1]}[{i}].T", f"let r{i} = {n[2]}[{i}].T", f"let b{i} = {bias}"]
        if gates == 4:
            lines.append(f"let p{i} = {f'{n[7]}[{i}]' if n.has(7) else f'zeros([{3 * hidden}])'}")
        lines += ["var out = []", f"var h = h0[{i}]"] if i == 0 else ["out = []", f"h = h0[{i}]"]
        if gates == 4:
            lines.append(("var " if i == 0 else "") + f"c = c0[{i}]")
        lines.append(f"for t in 0..x.shape[0] {{ "
                     f"let v = x[{'x.shape[0] - 1 - t' if back else 't'}]; " + step(i, hidden) + "; out += [h] }")
        lines.append(f"ys += [stack({'reversed(out)' if back else 'out'}, axis: 0)]")
        lines.append("last += [h]")
        if gates == 4:
            lines.append("cells += [c]")
    y = "stack(ys, axis: 1)"
    results = [f"permute({y}, 2, 0, 1, 3)" if layout else y]
    results += [f"transpose(stack({s}, axis: 0), 0, 1)" if layout else f"stack({s}, axis: 0)" for s in ("last", "cells")]
    return lines, results


def answered(n, lines, results):
    given = [o for o in n.outputs]
    names = ["Y", "Y_h", "Y_c"]
    kept = [results[names.index(o)] for o in given] if set(given) <= set(names) else results[:len(given)]
    return Several("(fn() { " + "; ".join(lines) + f"; return ({', '.join(kept)},) }})()")


@rule("LSTM")
def _(n):
    def step(i, d):
        return (f"let g = v @ w{i} + h @ r{i} + b{i}[:{4 * d}] + b{i}[{4 * d}:]; "
                f"let input = sigmoid(g[:, :{d}] + p{i}[:{d}] * c); "
                f"let forget = sigmoid(g[:, {2 * d}:{3 * d}] + p{i}[{2 * d}:] * c); "
                f"c = forget * c + input * tanh(g[:, {3 * d}:]); "
                f"h = sigmoid(g[:, {d}:{2 * d}] + p{i}[{d}:{2 * d}] * c) * tanh(c)")
    return answered(n, *direction_of(n, 4, step))


@rule("GRU")
def _(n):
    def step(i, d):
        head = (f"let g = sigmoid(v @ w{i}[:, :{2 * d}] + h @ r{i}[:, :{2 * d}] + b{i}[:{2 * d}] + b{i}[{3 * d}:{5 * d}]); "
                f"let (z, r) = (g[:, :{d}], g[:, {d}:]); ")
        rest = f"r * (h @ r{i}[:, {2 * d}:] + b{i}[{5 * d}:])" if n.attr("linear_before_reset", 0) else \
            f"(r * h) @ r{i}[:, {2 * d}:] + b{i}[{5 * d}:]"
        return head + f"h = (1.0 - z) * tanh(v @ w{i}[:, {2 * d}:] + b{i}[{2 * d}:{3 * d}] + {rest}) + z * h"
    return answered(n, *direction_of(n, 3, step))


@rule("RNN")
def _(n):
    def step(i, d):
        return f"h = tanh(v @ w{i} + h @ r{i} + b{i}[:{d}] + b{i}[{d}:])"
    return answered(n, *direction_of(n, 1, step))


@rule("LinearAttention")
def _(n):
    (b, t, _), few, h = n.array(0).shape, n.attr("kv_num_heads", 0), n.attr("q_num_heads", 0)
    d, e = n.array(0).shape[2] // h, n.array(2).shape[2] // few
    kind, update = dtype_name(n.array(0)), n.attr("update_rule", b"gated_delta").decode()
    state_kind = dtype_name(n.array(3)) if n.has(3) else kind
    lines = [f"let q = reshape(f32({n[0]}), {b}, {t}, {h}, {d})", f"let k = reshape(f32({n[1]}), {b}, {t}, {few}, {d})",
             f"let values = reshape(f32({n[2]}), {b}, {t}, {few}, {e})",
             "var s = " + (f"f32({n[3]})" if n.has(3) else f"zeros([{b}, {few}, {d}, {e}])"), "var ys = []"]
    step = ["var v = values[:, i]"]
    if "gated" in update:
        lines.append(f"let decay = reshape(f32({n[4]}), {b}, {t}, {few}, -1)")
        step.append("s = s * unsqueeze(exp(decay[:, i]), -1)")
    if "delta" in update:
        lines.append(f"let beta = reshape(f32({n[5]}), {b}, {t}, -1, 1)")
        step.append('v = beta[:, i] * (v - einsum("bhde,bhd->bhe", s, k[:, i]))')
    step.append("s = s + unsqueeze(k[:, i], -1) * unsqueeze(v, 2)")
    shared = f"repeat(s, {h // few}, axis: 1)" if h != few else "s"
    step.append(f'ys += [einsum("bhd,bhde->bhe", q[:, i], {shared})]')
    scale = n.attr("scale", 0.0) or d ** -0.5
    lines.append(f"for i in 0..{t} {{ " + "; ".join(step) + " }")
    y = f"(reshape(stack(ys, axis: 1), {b}, {t}, -1) * {scale!r}).to({kind})"
    return Several("(fn() { " + "; ".join(lines) + f"; return ({y}, s.to({state_kind})) }})()")


@rule("CausalConvWithState")
def _(n):
    x, w = n.array(0), n.array(1)
    k, channels = w.shape[2], x.shape[1]
    state = n[3] if n.has(3) else f"zeros([{x.shape[0]}, {channels}, {k - 1}], dtype: {dtype_name(x)})"
    bias = n[2] if n.has(2) else "nil"
    act = "silu" if n.attr("activation", b"none") != b"none" else ""
    return Several(f"(fn() {{ let x = concat([{state}, {n[0]}], axis: 2); "
                   f"return ({act}(nn.conv1d(x, {n[1]}, {bias}, groups: {channels})), x[:, :, x.shape[2] - {k - 1}:]) }})()")


@rule("ReverseSequence")
def _(n):
    d, batch, time = n.array(0), n.attr("batch_axis", 1), n.attr("time_axis", 0)
    size = d.shape[time]
    lengths = f"reshape({n[1]}, {[-1 if i == batch else 1 for i in range(max(batch, time) + 1)]})"
    t = f"reshape(arange({size}), {[-1 if i == time else 1 for i in range(max(batch, time) + 1)]})"
    index = f"where({t} < {lengths}, {lengths} - 1 - {t}, {t})"
    shape = list(d.shape[:2]) + [1] * (d.ndim - 2)
    return f"gather({n[0]}, {time}, expand(reshape({index}, {shape}), {list(d.shape)}))"
