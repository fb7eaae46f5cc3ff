"""ONNX operators in TSL, continued: products, windows, normalisation, attention and losses."""

import numpy as np

from onnx_table import cannot, dtype_name, rule


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
    """(kernel, stride, dilation, pads before and after), of two dimensions."""
    rank = n.array(0).ndim - 2
    if rank not in (1, 2):
        cannot(f"windows of {rank} dimensions: convolution and pooling have two")
    kernel = n.attr("kernel_shape", None) or list(n.array(1).shape[2:])
    strides, dilations = n.attr("strides", [1] * rank), n.attr("dilations", [1] * rank)
    pads, auto = n.attr("pads", [0] * 2 * rank), n.attr("auto_pad", b"NOTSET")
    if n.attr("ceil_mode", 0):
        cannot("no ceil_mode")
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        total = [max((-(-n.array(0).shape[2 + i] // strides[i]) - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 -
                     n.array(0).shape[2 + i], 0) for i in range(rank)]
        less = [t // 2 for t in total]
        more = [t - v for t, v in zip(total, less)]
        pads = less + more if auto == b"SAME_UPPER" else more + less
    if rank == 1:
        return [1, *kernel], [1, *strides], [1, *dilations], [0, pads[0], 0, pads[1]]
    return list(kernel), list(strides), list(dilations), list(pads)


def in_two(n, i=0):
    """An input with two dimensions for windows."""
    return f"unsqueeze({n[i]}, -2)" if n.array(0).ndim == 3 else n[i]


def as_before(n, text):
    return f"squeeze({text}, -2)" if n.array(0).ndim == 3 else text


def padded(x, pads, value="0"):
    top, left, bottom, right = pads
    return x if not any(pads) else f"pad({x}, {[left, right, top, bottom]}, value: {value})"


@rule("Conv")
def _(n):
    kernel, strides, dilations, pads = window(n)
    bias = n[2] if len(n.inputs) > 2 and n[2] else "nil"
    x, w = in_two(n), in_two(n, 1)
    return as_before(n, f"conv2d({padded(x, pads)}, {w}, {bias}, {strides}, 0, {dilations}, {n.attr('group', 1)})")


@rule("MaxPool")
def _(n):
    if len(n.outputs) > 1:
        cannot("max_pool2d gives no indices")
    kernel, strides, dilations, pads = window(n)
    least = 'float("-inf")' if n.array(0).dtype.kind == "f" else str(np.iinfo(n.array(0).dtype).min)
    return as_before(n, f"max_pool2d({padded(in_two(n), pads, least)}, {kernel}, {strides}, 0, {dilations})")


@rule("AveragePool")
def _(n):
    kernel, strides, dilations, pads = window(n)
    if dilations != [1, 1]:
        cannot("avg_pool2d has no dilation")
    total = f"avg_pool2d({padded(in_two(n), pads)}, {kernel}, {strides})"
    if not any(pads) or n.attr("count_include_pad", 0):
        return as_before(n, total)
    ones = f"ones({[1, 1, *([1] * (4 - n.array(0).ndim)), *n.array(0).shape[2:]]})"
    return as_before(n, f"{total} / avg_pool2d({padded(ones, pads)}, {kernel}, {strides})")


@rule("GlobalAveragePool", "GlobalMaxPool")
def _(n):
    name = "mean" if "Average" in n.op else "max"
    return f"{name}({n[0]}, axis: {list(range(2, n.array(0).ndim))}, keepdims: true)"


@rule("BatchNormalization")
def _(n):
    if n.attr("training_mode", 0):
        cannot("running statistics are the caller's")
    return f"nn.batch_norm({n[0]}, {n[1]}, {n[2]}, {n[3]}, {n[4]}, {n.attr('epsilon', 1e-5)!r})"


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


@rule("Attention")
def _(n):
    if len(n.outputs) > 1 or len(n.inputs) > 4 or n.attr("softcap", 0.0) or n.array(0).ndim != 4:
        cannot("attention has no caches, heads in one axis, soft caps or scores as a result")
    if {"left_window_size", "right_window_size", "qk_matmul_output_mode"} & set(n.attributes) or \
            any("window" in name for name in n.attributes):
        cannot("attention has no windows")
    if n.array(0).shape[1] != n.array(1).shape[1]:
        cannot("attention shares no keys among heads")
    mask = f", attn_mask: {n[3]}" if len(n.inputs) > 3 and n[3] else ""
    causal = ", is_causal: true" if n.attr("is_causal", 0) else ""
    scale = f", scale: {n.attr('scale', None)!r}" if n.attr("scale", None) else ""
    if len(n.inputs) > 3 and n[3] and n.array(3).shape[-1] != n.array(1).shape[-2]:
        cannot("a mask that is too short is not filled up")
    return f"attention({n[0]}, {n[1]}, {n[2]}{mask}{causal}{scale})"


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
