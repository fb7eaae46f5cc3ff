"""ONNX operators in TSL, continued: moves of elements, and sources."""

import numpy as np

from onnx_table import axes_of, dtype_name, ints, literal, named, rule, tensor


# ---- Moves ---------------------------------------------------------------------------------------------------

@rule("Transpose")
def _(n):
    return f"permute({n[0]}, {n.attr('perm', list(range(n.array(0).ndim))[::-1])})"


@rule("Reshape")
def _(n):
    d, shape = n.array(0), ints(n.value(1))
    if not n.attr("allowzero", 0):
        shape = [d.shape[i] if v == 0 else v for i, v in enumerate(shape)]
    return f"reshape({n[0]}, {shape})"


@rule("Flatten")
def _(n):
    d, axis = n.array(0), n.attr("axis", 1)
    rows = int(np.prod(d.shape[:axis]))
    return f"reshape({n[0]}, {[rows, d.size // max(rows, 1)]})"


@rule("Squeeze")
def _(n):
    axes = axes_of(n)
    return f"squeeze({n[0]})" if axes is None else f"squeeze({n[0]}, {axes})"


@rule("Unsqueeze")
def _(n):
    return f"reshape({n[0]}, {list(n.output().shape)})" if len(axes_of(n)) > 1 else f"unsqueeze({n[0]}, {axes_of(n)[0]})"


@rule("Expand")
def _(n):
    return f"expand({n[0]}, {list(n.output().shape)})"


@rule("Tile")
def _(n):
    return f"tile({n[0]}, {ints(n.value(1))})"


@rule("Concat")
def _(n):
    return f"concat([{', '.join(n[i] for i in range(len(n.inputs)))}], axis: {n.attr('axis', 0)})"


@rule("Split")
def _(n):
    axis = n.attr("axis", 0)
    sizes = [n.output(i).shape[axis] for i in range(len(n.outputs))]
    y = f"split({n[0]}, {sizes}, axis: {axis})"
    return [f"{y}[{i}]" for i in range(len(sizes))]


@rule("Slice")
def _(n):
    d = n.array(0)
    if len(n.inputs) > 1:
        starts, ends = ints(n.value(1)), ints(n.value(2))
        axes = ints(n.value(3)) if len(n.inputs) > 3 and n.inputs[3] else list(range(len(starts)))
        steps = ints(n.value(4)) if len(n.inputs) > 4 and n.inputs[4] else [1] * len(starts)
    else:
        starts, ends = n.attr("starts", []), n.attr("ends", [])
        axes, steps = n.attr("axes", list(range(len(starts)))), [1] * len(starts)
    parts = [":"] * d.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = d.shape[axis]
        stop = "" if (end < -size or (step < 0 and end == -size - 1)) and step < 0 else max(min(end, 2**40), -2**40)
        parts[axis] = f"{max(min(start, 2**40), -2**40)}:{stop}:{step}"
    return f"{n[0]}[{', '.join(parts)}]"


@rule("Pad")
def _(n):
    pads, d = (ints(n.value(1)) if len(n.inputs) > 1 else n.attr("pads", [])), n.array(0)
    axes = ints(n.value(3)) if len(n.inputs) > 3 and n.inputs[3] else list(range(d.ndim))
    both = [(0, 0)] * d.ndim
    for i, axis in enumerate(axes):
        both[axis] = (pads[i], pads[i + len(axes)])
    x = n[0]
    if min(min(p) for p in both) < 0:
        x += "[" + ", ".join(f"{max(-a, 0)}:{d.shape[i] - max(-b, 0)}" for i, (a, b) in enumerate(both)) + "]"
    widths = "[" + ", ".join(f"({max(a, 0)}, {max(b, 0)})" for a, b in both) + "]"
    mode = n.attr("mode", b"constant").decode()
    if mode != "constant":
        return f'pad({x}, {widths}, mode: "{mode}")'
    value = literal(n.value(2).ravel()[0]) if len(n.inputs) > 2 and n.inputs[2] else "0"
    return f"pad({x}, {widths}, value: {value})"


@rule("Gather")
def _(n):
    return f"take({n[0]}, {n[1]}, axis: {n.attr('axis', 0)})"


@rule("GatherElements")
def _(n):
    return f"gather({n[0]}, {n.attr('axis', 0)}, {n[1]})"


@rule("GatherND")
def _(n):
    batch, d, index = n.attr("batch_dims", 0), n.array(0), n.array(1)
    k = index.shape[-1]
    first = [f"reshape(arange({d.shape[i]}), {[-1] + [1] * (index.ndim - 2 - i)})" for i in range(batch)]
    return f"{n[0]}[{', '.join(first + [f'{n[1]}[..., {i}]' for i in range(k)])}]"


@rule("ScatterND")
def _(n):
    how = n.attr("reduction", b"none").decode()
    k, d, index = n.array(1).shape[-1], n.array(0), n.array(1)
    if how in ("none", "add"):
        where = ", ".join(f"{n[1]}[..., {i}]" for i in range(k))
        return "{ var a = %s; a[%s] %s %s; a }" % (n[0], where, "=" if how == "none" else "+=", n[2])
    rows, width = int(np.prod(d.shape[:k])), int(np.prod(d.shape[k:]))
    flat = f"ravel_multi_index([{', '.join(f'reshape({n[1]}[..., {i}], -1) % {d.shape[i]}' for i in range(k))}], {list(d.shape[:k])})"
    count = int(np.prod(index.shape[:-1]))
    name = {"mul": "prod", "max": "amax", "min": "amin"}[how]
    return (f"reshape(scatter_reduce(reshape({n[0]}, {rows}, {width}), 0, expand(unsqueeze({flat}, 1), [{count}, {width}]), "
            f'reshape({n[2]}, {count}, {width}), "{name}"), {list(d.shape)})')


@rule("ScatterElements", "Scatter")
def _(n):
    how, axis = n.attr("reduction", b"none").decode(), n.attr("axis", 0)
    if how == "none":
        return f"scatter({n[0]}, {axis}, {n[1]}, {n[2]})"
    name = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[how]
    return f'scatter_reduce({n[0]}, {axis}, {n[1]}, {n[2]}, "{name}")'


@rule("Compress")
def _(n):
    axis, c = n.attr("axis", None), n.value(1)
    x = f"reshape({n[0]}, -1)" if axis is None else n[0]
    at = 0 if axis is None else axis % n.array(0).ndim
    size = (n.array(0).size if axis is None else n.array(0).shape[at]) - len(c)
    mask = f"tensor({literal(np.concatenate([c, np.zeros(size, bool)]))})"
    return f"{x}[{', '.join([':'] * at + [mask])}]"


@rule("OneHot")
def _(n):
    depth, (off, on), d = ints(n.value(1))[0], n.value(2), n.array(0)
    axis = n.attr("axis", -1)
    y = f"(unsqueeze(i64({n[0]}), -1) == arange({depth})) | (unsqueeze(i64({n[0]}), -1) + {depth} == arange({depth}))"
    order = list(range(d.ndim))
    order.insert(axis % (d.ndim + 1), d.ndim)
    kind = dtype_name(n.value(2))
    return f"where(permute({y}, {order}), tensor({literal(on)}, dtype: {kind}), tensor({literal(off)}, dtype: {kind}))"


@rule("Trilu")
def _(n):
    k = ints(n.value(1))[0] if len(n.inputs) > 1 and n.inputs[1] else 0
    return f"{'triu' if n.attr('upper', 1) else 'tril'}({n[0]}, {k})"


@rule("EyeLike")
def _(n):
    kind = named(n.attr("dtype", 1)) if n.attr("dtype", None) else dtype_name(n.array(0))
    rows, columns = n.array(0).shape
    k = n.attr("k", 0)
    return f"(unsqueeze(arange({rows}), 1) + {k} == arange({columns})).to({kind})"


@rule("DepthToSpace")
def _(n):
    b, (m, c, h, w), s = n.attr("blocksize", 1), n.array(0).shape, n[0]
    if n.attr("mode", b"DCR") == b"DCR":
        split, order = f"{m}, {b}, {b}, {c // b // b}, {h}, {w}", "0, 3, 4, 1, 5, 2"
    else:
        split, order = f"{m}, {c // b // b}, {b}, {b}, {h}, {w}", "0, 1, 4, 2, 5, 3"
    return f"{s} |> reshape({split}) |> permute({order}) |> reshape({m}, {c // b // b}, {h * b}, {w * b})"


@rule("SpaceToDepth")
def _(n):
    b, (m, c, h, w) = n.attr("blocksize", 1), n.array(0).shape
    order = "0, 3, 5, 1, 2, 4" if n.attr("mode", b"DCR") == b"DCR" else "0, 1, 3, 5, 2, 4"
    return f"{n[0]} |> reshape({m}, {c}, {h // b}, {b}, {w // b}, {b}) |> permute({order}) |> reshape({m}, {c * b * b}, {h // b}, {w // b})"


# ---- Sources -------------------------------------------------------------------------------------------------

@rule("Shape", "Size", "Constant", "Range", "ConstantOfShape")
def _(n):
    if n.op == "ConstantOfShape":
        y = n.output()
        value = literal(y.ravel()[0]) if y.size else "0"
        return f"full({list(y.shape)}, {value}, dtype: {dtype_name(y)})"
    if n.op == "Range":
        start, stop, step = (n.value(i).item() for i in range(3))
        return f"arange({start!r}, {stop!r}, {step!r}, dtype: {dtype_name(n.value(0))})"
    return tensor(n.output())
