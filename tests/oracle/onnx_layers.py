"""ONNX operators in TSL, continued: products, windows, normalisation, attention and losses."""

import numpy as np

from onnx_table import Several, cannot, dtype_name, ints, rule


# ---- Products, windows, normalisation ------------------------------------------------------------------------

@rule("Gemm")
def _(n):
    a = f"transpose({n[0]})" if n.attr("transA", 0) else n[0]
    b = f"transpose({n[1]})" if n.attr("transB", 0) else n[1]
    y = f"{n.attr('alpha', 1.0)!r} * ({a} @ {b})"
    return y + (f" + {n.attr('beta', 1.0)!r} * {n[2]}" if len(n.inputs) > 2 and n[2] else "")


@rule("Einsum")
def _(n):
    equation = n.attr("equation", b"").decode().replace(" ", "")
    return f'einsum("{equation}", {", ".join(n[i] for i in range(len(n.inputs)))})'


def window(n):
    """(kernel, stride, dilation, pads before, pads after) of all dimensions."""
    rank = n.array(0).ndim - 2
    kernel = n.attr("kernel_shape", None) or list(n.array(1).shape[2:])
    strides, dilations = n.attr("strides", [1] * rank), n.attr("dilations", [1] * rank)
    pads, auto = n.attr("pads", [0] * 2 * rank), n.attr("auto_pad", b"NOTSET")
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        total = [max((-(-n.array(0).shape[2 + i] // strides[i]) - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 -
                     n.array(0).shape[2 + i], 0) for i in range(rank)]
        less = [t // 2 for t in total]
        more = [t - v for t, v in zip(total, less)]
        pads = less + more if auto == b"SAME_UPPER" else more + less
    return list(kernel), list(strides), list(dilations), list(pads[:rank]), list(pads[rank:])


def pairs(before, after):
    return "[" + ", ".join(f"({a}, {b})" for a, b in zip(before, after)) + "]"


@rule("Conv")
def _(n):
    _, strides, dilations, before, after = window(n)
    y = f"conv({n[0]}, {n[1]}, {strides}, {pairs(before, after)}, {dilations}, {n.attr('group', 1)})"
    return y + (f" + reshape({n[2]}, {[-1] + [1] * len(before)})" if n.has(2) else "")


@rule("ConvTranspose")
def _(n):
    kernel, strides, dilations, before, after = window(n)
    rank, size = len(kernel), n.output().shape[2:]
    extra = n.attr("output_padding", [0] * rank)
    spread = [(n.array(0).shape[2 + i] - 1) * strides[i] + extra[i] + (kernel[i] - 1) * dilations[i] + 1 for i in range(rank)]
    if "output_shape" in n.attributes or n.attr("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
        total = [max(spread[i] - size[i], 0) for i in range(rank)]
        before = [t // 2 if n.attr("auto_pad", b"") != b"SAME_LOWER" else t - t // 2 for t in total]
        after = [t - a for t, a in zip(total, before)]
    if before == after and "output_shape" not in n.attributes and rank == 3:
        bias = n[2] if n.has(2) else "nil"
        return f"nn.conv_transpose3d({n[0]}, {n[1]}, {bias}, {strides}, {before}, {extra}, {n.attr('group', 1)}, {dilations})"
    y = f"conv_transpose({n[0]}, {n[1]}, {list(size)}, {strides}, {pairs(before, after)}, {dilations}, {n.attr('group', 1)})"
    return y + (f" + reshape({n[2]}, {[-1] + [1] * rank})" if n.has(2) else "")


def windowed(n, x, value, before=None):
    """x with its windows along new last axes."""
    kernel, strides, dilations, first, after = window(n)
    rank = len(kernel)
    if n.attr("ceil_mode", 0):
        for i in range(rank):
            after = after[:i] + [after[i] + max((n.output().shape[2 + i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 -
                                                (n.array(0).shape[2 + i] + first[i] + after[i]), 0)] + after[i + 1:]
    y = f"pad({x}, [(0, 0), (0, 0), {pairs(first, after)[1:]}, value: {value})"
    for i in range(rank):
        y = f"windows({y}, {2 + i}, {kernel[i]}, step: {strides[i]}, dilation: {dilations[i]})"
    return y, list(range(-rank, 0))


@rule("MaxPool")
def _(n):
    kernel, strides, dilations, before, after = window(n)
    rank = len(kernel)
    if before == after and all(2 * p <= k for p, k in zip(before, kernel)) and rank <= 3 and not n.attr("storage_order", 0):
        ceil = ", ceil_mode: true" if n.attr("ceil_mode", 0) else ""
        y = f"max_pool{rank}d({n[0]}, {kernel}, {strides}, {before}, {dilations}{ceil}"
        if len(n.outputs) == 1:
            return y + ")"
        d = n.array(0)
        planes = f"reshape(arange({d.shape[0] * d.shape[1]}) * {int(np.prod(d.shape[2:]))}, {[d.shape[0], d.shape[1]] + [1] * rank})"
        return Several(f"(fn() {{ let (y, at) = {y}, return_indices: true); return (y, at + {planes}) }})()")
    if len(n.outputs) > 1:  # places count by columns
        d = n.array(0)
        rows, columns = d.shape[2:]
        planes = f"reshape(arange({d.shape[0] * d.shape[1]}) * {rows * columns}, {d.shape[0]}, {d.shape[1]}, 1, 1)"
        return Several(f"(fn() {{ let (y, at) = max_pool2d({n[0]}, {kernel}, {strides}, {before}, return_indices: true); "
                       f"return (y, at % {columns} * {rows} + at // {columns} + {planes}) }})()")
    least = "-inf" if n.array(0).dtype.kind == "f" else str(np.iinfo(n.array(0).dtype).min)
    y, axes = windowed(n, n[0], least)
    return f"max({y}, axis: {axes})"


@rule("AveragePool")
def _(n):
    kernel, strides, dilations, before, after = window(n)
    counts, ceil = bool(n.attr("count_include_pad", 0)), n.attr("ceil_mode", 0)
    if before == after and dilations == [1] * len(kernel) and all(2 * p <= k for p, k in zip(before, kernel)):
        more = ", ceil_mode: true" if ceil else ""
        return f"avg_pool{len(kernel)}d({n[0]}, {kernel}, {strides}, {before}, count_include_pad: {str(counts).lower()}{more})"
    y, axes = windowed(n, n[0], "0")
    shape = [1, 1] + list(n.array(0).shape[2:])
    if counts:
        shape = [1, 1] + [e + a + b for e, a, b in zip(n.array(0).shape[2:], before, after)]
    ones = f"ones({shape})"
    if counts:  # what ceil_mode adds does not count
        over = [max((n.output().shape[2 + i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 - shape[2 + i], 0)
                for i in range(len(kernel))]
        c = f"pad({ones}, [(0, 0), (0, 0), {pairs([0] * len(kernel), over)[1:]})"
        for i in range(len(kernel)):
            c = f"windows({c}, {2 + i}, {kernel[i]}, step: {strides[i]}, dilation: {dilations[i]})"
    else:
        c, _ = windowed(n, ones, "0")
    return f"sum({y}, axis: {axes}) / sum({c}, axis: {axes})"


@rule("LpPool")
def _(n):
    p = n.attr("p", 2)
    y, axes = windowed(n, n[0], "0")
    return f"norm({y}, {p}, axis: {axes})" if len(axes) < 3 else f"sum(abs({y}) ** {p}, axis: {axes}) ** {1 / p!r}"


@rule("LRN")
def _(n):
    return (f"nn.local_response_norm({n[0]}, {n.attr('size', 1)}, alpha: {n.attr('alpha', 1e-4)!r}, beta: {n.attr('beta', 0.75)!r}, "
            f"k: {n.attr('bias', 1.0)!r})")


@rule("MaxUnpool")
def _(n):
    size = n.output().shape
    planes = int(np.prod(n.array(0).shape[:2]))
    old = [(n.array(0).shape[2 + i] - 1) * n.attr("strides", [1, 1])[i] + n.attr("kernel_shape", None)[i] - 2 * n.attr("pads", [0] * 4)[i]
           for i in range(2)]
    where = f"reshape({n[1]}, {planes}, -1) % {old[0] * old[1]}"
    if n.has(2):
        where = f"let at = {where}; "
        return (f"(fn() {{ {where}return reshape(scatter(zeros({[planes, int(np.prod(size[2:]))]}), 1, "
                f"at // {old[1]} * {size[3]} + at % {old[1]}, reshape({n[0]}, {planes}, -1)), {list(size)}) }})()")
    return (f"reshape(scatter(zeros({[planes, int(np.prod(size[2:]))]}), 1, {where}, reshape({n[0]}, {planes}, -1)), {list(size)})")


@rule("Col2Im")
def _(n):
    shape, block = ints(n.value(1)), ints(n.value(2))
    rank = len(shape)
    strides, dilations, pads = n.attr("strides", [1] * rank), n.attr("dilations", [1] * rank), n.attr("pads", [0] * 2 * rank)
    if rank == 2 and pads[:2] == pads[2:]:
        return f"fold({n[0]}, {shape}, {block}, {dilations}, {pads[:2]}, {strides}).reshape({list(n.output().shape)})"
    size, area = n.output().shape, int(np.prod(block))
    full = [shape[i] + pads[i] + pads[rank + i] for i in range(rank)]
    places = [(full[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    w = f"reshape(eye({area}), {[area, 1] + block})"
    x = f"reshape({n[0]}, {[size[0] * size[1], area] + places})"
    y = f"conv_transpose({x}, {w}, {full}, {strides}, 0, {dilations})"
    cut = ", ".join(f"{pads[i]}:{pads[i] + shape[i]}" for i in range(rank))
    return f"reshape({y}[:, :, {cut}], {list(size)})"


@rule("CenterCropPad")
def _(n):
    d, shape = n.array(0), ints(n.value(1))
    axes = [a % d.ndim for a in n.attr("axes", range(d.ndim))]
    cut, margin = [":"] * d.ndim, [(0, 0)] * d.ndim
    for axis, size in zip(axes, shape):
        old = d.shape[axis]
        if size < old:
            cut[axis] = f"{(old - size) // 2}:{(old - size) // 2 + size}"
        else:
            margin[axis] = ((size - old) // 2, size - old - (size - old) // 2)
    return f"pad({n[0]}[{', '.join(cut)}], {list(margin)})"


@rule("GlobalAveragePool", "GlobalMaxPool")
def _(n):
    name = "mean" if "Average" in n.op else "max"
    return f"{name}({n[0]}, axis: {list(range(2, n.array(0).ndim))}, keepdims: true)"


@rule("BatchNormalization")
def _(n):
    eps = n.attr("epsilon", 1e-5)
    if not n.attr("training_mode", 0):
        return f"nn.batch_norm({n[0]}, {n[1]}, {n[2]}, {n[3]}, {n[4]}, {eps!r})"
    axes, keep = [0] + list(range(2, n.array(0).ndim)), n.attr("momentum", 0.9)  # the running variance is of the batch itself
    lines = [f"let (m, v) = (mean({n[0]}, axis: {axes}), var({n[0]}, axis: {axes}, correction: 0))"]
    running = [f"{n[3]} * {keep!r} + m * {1 - keep!r}", f"{n[4]} * {keep!r} + v * {1 - keep!r}"]
    return Several("(fn() { " + "; ".join(lines) + f"; return (nn.batch_norm({n[0]}, {n[1]}, {n[2]}, m, v, {eps!r}), {', '.join(running)}) }})()")


@rule("LayerNormalization")
def _(n):
    d, axis = n.array(0), n.attr("axis", -1)
    axes = list(range(axis % d.ndim, d.ndim))
    eps = n.attr("epsilon", 1e-5)
    bias = n[2] if len(n.inputs) > 2 and n[2] else "nil"
    y = f"layer_norm({n[0]}, {n[1]}, {bias}, {eps!r}, {axes})"
    m = f"mean({n[0]}, axis: {axes}, keepdims: true)"
    return [y, m, f"rsqrt(var({n[0]}, axis: {axes}, keepdims: true, correction: 0) + {eps!r})"][: len(n.outputs)]


@rule("RMSNormalization")
def _(n):
    d, axis = n.array(0), n.attr("axis", -1)
    return f"rms_norm({n[0]}, {n[1]}, {n.attr('epsilon', 1e-5)!r}, {list(range(axis % d.ndim, d.ndim))})"


@rule("InstanceNormalization")
def _(n):
    d, eps = n.array(0), n.attr("epsilon", 1e-5)
    shape = [-1] + [1] * (d.ndim - 2)
    return f"layer_norm({n[0]}, reshape({n[1]}, {shape}), reshape({n[2]}, {shape}), {eps!r}, {list(range(2, d.ndim))})"


@rule("GroupNormalization")
def _(n):
    d, g, eps = n.array(0), n.attr("num_groups", 1), n.attr("epsilon", 1e-5)
    shape = [-1] + [1] * (d.ndim - 2)
    grouped = f"reshape({n[0]}, {[d.shape[0], g, -1]})"
    return f"reshape(layer_norm({grouped}, nil, nil, {eps!r}), {list(d.shape)}) * reshape({n[1]}, {shape}) + reshape({n[2]}, {shape})"


@rule("LpNormalization")
def _(n):
    axis, p = n.attr("axis", -1), n.attr("p", 2)
    length = f"norm({n[0]}, {p}, axis: {axis}, keepdims: true)"
    return f"where({length} == 0, 0.0, {n[0]} / {length})"


@rule("MeanVarianceNormalization")
def _(n):
    return f"layer_norm({n[0]}, nil, nil, 1e-9, {n.attr('axes', [0, 2, 3])})"


@rule("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def _(n):
    logs = f"log_softmax({n[0]}, axis: 1)" if n.op.startswith("Softmax") else n[0]
    ignored, how = n.attr("ignore_index", None), n.attr("reduction", b"mean").decode()
    kept = "true" if ignored is None else f"{n[1]} != {ignored}"
    label = n[1] if ignored is None else f"where({kept}, {n[1]}, 0)"
    weight = f"take({n[2]}, {label})" if len(n.inputs) > 2 and n[2] else f"ones_like({n[1]}, dtype: {dtype_name(n.array(0))})"
    weight = weight if ignored is None else f"where({kept}, {weight}, 0.0)"
    loss = f"-squeeze(gather({logs}, 1, unsqueeze({label}, 1)), 1) * {weight}"
    y = {"none": loss, "sum": f"sum({loss})", "mean": f"sum({loss}) / sum({weight})"}[how]
    return [y, logs][: len(n.outputs)]


@rule("Dropout")
def _(n):
    training = len(n.inputs) > 2 and n[2] and n.value(2).item()
    if training and (not n[1] or n.value(1).item() != 0):
        cannot("random numbers of ONNX")
    return [f"{n[0]}[...]", f"ones({list(n.array(0).shape)}, dtype: bool)"][: len(n.outputs)]


@rule("Binarizer")
def _(n):
    return f"({n[0]} > {n.attr('threshold', 0.0)!r}).to({dtype_name(n.array(0))})"
