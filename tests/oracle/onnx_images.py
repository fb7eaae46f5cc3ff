"""ONNX operators in TSL, continued: images read at other places, and boxes in them."""

import numpy as np

from onnx_table import cannot, ints, rule

# Resizes along an axis: `f` weighs the elements by their distances from a place `at`.
ALONG = ("let along = fn(x, axis, at, low, high, f, is_inside_only) { let n = x.shape[axis]; "
         "let taps = unsqueeze(floor(at), 1) + arange(low, high + 1); var w = f(taps - unsqueeze(at, 1)); "
         "if is_inside_only { w = where((taps >= 0) & (taps < n), w, 0.0) }; w = w / sum(w, axis: 1, keepdims: true); "
         "let v = take(x, i64(clamp(taps, 0, n - 1)), axis: axis); "
         "return sum(v * reshape(w.to(x.dtype), [w.shape[0], w.shape[1]] + [1] * (x.ndim - 1 - axis)), axis: axis + 1) }")


def coordinates_of(mode, n, size, scale, roi):
    """Where new elements lie among the old ones."""
    i, width = f"arange({size}, dtype: f64)", scale * n
    if mode == "asymmetric":
        return f"{i} / {scale!r}"
    if mode == "align_corners":
        return f"{i} * {(n - 1) / (width - 1) if width != 1 else 0.0!r}"
    if mode == "tf_crop_and_resize":
        start, end = roi
        return f"{i} * {(end - start) * (n - 1) / (width - 1)!r} + {start * (n - 1)!r}" if width != 1 else \
            f"full([{size}], {(start + end) * (n - 1) / 2!r}, dtype: f64)"
    if mode == "pytorch_half_pixel" and width == 1:
        return f"full([{size}], -0.5, dtype: f64)"
    offset = n / 2 * (1 - size / width) if mode == "half_pixel_symmetric" else 0.0
    return f"({i} + 0.5) / {scale!r} + {offset - 0.5!r}"


def scales_of(n, d):
    """The axes, their scales and new extents."""
    axes = [a % d.ndim for a in n.attr("axes", range(d.ndim))]
    if n.op == "Upsample" or n.has(2) and n.value(2).size:
        scales = [float(s) for s in n.value(1 if n.op == "Upsample" else 2)]
        return axes, scales, [int(np.floor(d.shape[a] * s)) for a, s in zip(axes, scales)]
    sizes = ints(n.value(3))
    policy = n.attr("keep_aspect_ratio_policy", b"stretch").decode()
    if policy == "stretch":
        return axes, [s / d.shape[a] for a, s in zip(axes, sizes)], sizes
    pick = min if policy == "not_larger" else max
    scale = pick(s / d.shape[a] for a, s in zip(axes, sizes))
    return axes, [scale] * len(axes), [int(np.floor(scale * d.shape[a] + 0.5)) for a in axes]


@rule("Resize", "Upsample")
def _(n):
    d, kind = n.array(0), n.attr("mode", b"nearest").decode()
    axes, scales, sizes = scales_of(n, d)
    mode = "asymmetric" if n.op == "Upsample" else n.attr("coordinate_transformation_mode", b"half_pixel").decode()
    smooth, inside = n.attr("antialias", 0), "true" if n.attr("exclude_outside", 0) else "false"
    roi = [float(v) for v in n.value(1)] if n.has(1) and n.op == "Resize" and mode == "tf_crop_and_resize" else [0.0, 1.0] * len(axes)
    moved = [i for i, s in enumerate(scales) if s != 1.0 or mode == "tf_crop_and_resize"]
    spatial = sorted(axes[i] for i in moved)
    if kind in ("linear", "cubic") and mode == "half_pixel" and not smooth and inside == "false" and \
            spatial == list(range(2, d.ndim)) and n.attr("cubic_coeff_a", -0.75) == -0.75:
        order = sorted(moved, key=lambda i: axes[i])
        given = f"scale_factor: {[scales[i] for i in order]}" if n.has(2) and n.value(2).size else f"size: {[sizes[i] for i in order]}"
        return f'nn.interpolate({n[0]}, {given}, mode: "{"bicubic" if kind == "cubic" else "linear"}")'
    lines, outside = [ALONG, f"var y = {n[0]}"], []
    for i in moved:
        axis, extent = axes[i], d.shape[axes[i]]
        at = coordinates_of(mode, extent, sizes[i], scales[i], (roi[i], roi[len(axes) + i]))
        lines.append(f"let at{i} = {at}")
        s = min(scales[i], 1.0) if smooth else 1.0
        if kind == "nearest":
            how = n.attr("nearest_mode", b"round_prefer_floor").decode() if n.op == "Resize" else "floor"
            whole = {"round_prefer_floor": f"ceil(at{i} - 0.5)", "round_prefer_ceil": f"floor(at{i} + 0.5)", "floor": f"floor(at{i})",
                     "ceil": f"ceil(at{i})"}[how]
            lines.append(f"y = take(y, i64(clamp({whole}, 0, {extent - 1})), axis: {axis})")
        elif kind == "linear":
            low = int(np.floor(-1 / s)) + 1
            lines.append(f"y = along(y, {axis}, at{i}, {low}, {1 - low}, fn(d) = relu(1.0 - {s!r} * abs(d)), {inside})")
        else:
            a, low = n.attr("cubic_coeff_a", -0.75), int(np.floor(-2 / s)) + 1
            f = (f"fn(v) {{ let d = {s!r} * abs(v); return where(d <= 1.0, (({a + 2!r} * d - {a + 3!r}) * d) * d + 1.0, "
                 f"where(d < 2.0, (({a!r} * d - {5 * a!r}) * d + {8 * a!r}) * d - {4 * a!r}, 0.0)) }}")
            lines.append(f"y = along(y, {axis}, at{i}, {low}, {1 - low}, {f}, {inside})")
        if mode == "tf_crop_and_resize":
            outside.append(f"reshape((at{i} < 0.0) | (at{i} > {extent - 1}.0), {[-1] + [1] * (d.ndim - 1 - axis)})")
    y = f"where({' | '.join(outside)}, {n.attr('extrapolation_value', 0.0)!r}, y)" if outside else "y"
    return "(fn() { " + "; ".join(lines) + f"; return {y} }})()"


@rule("GridSample")
def _(n):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(n.attr("mode", b"linear").decode(), n.attr("mode", b"linear").decode())
    return (f'nn.grid_sample({n[0]}, {n[1]}, mode: "{mode}", padding_mode: "{n.attr("padding_mode", b"zeros").decode()}", '
            f"align_corners: {'true' if n.attr('align_corners', 0) else 'false'})")


@rule("AffineGrid")
def _(n):
    return f"nn.affine_grid({n[0]}, {n[1]}, align_corners: {'true' if n.attr('align_corners', 0) else 'false'})"


@rule("DeformConv")
def _(n):
    (b, c, height, width), w, (rows, columns) = n.array(0).shape, n.array(1), n.array(2).shape[2:]
    groups, parts = n.attr("group", 1), n.attr("offset_group", 1)
    kh, kw = w.shape[2:]
    (sh, sw), (dh, dw), pads = n.attr("strides", [1, 1]), n.attr("dilations", [1, 1]), n.attr("pads", [0] * 4)
    area = kh * kw
    lines = [f"let offset = reshape({n[2]}, {b}, {parts}, {kh}, {kw}, 2, {rows}, {columns})",
             f"let row = reshape(arange({kh}) * {dh}, -1, 1, 1, 1) + reshape(arange({rows}) * {sh} - {pads[0]}, -1, 1) + offset[:, :, :, :, 0]",
             f"let column = reshape(arange({kw}) * {dw}, -1, 1, 1) + (arange({columns}) * {sw} - {pads[1]}) + offset[:, :, :, :, 1]",
             f"let grid = stack([column * {2 / (width - 1)!r} - 1.0, row * {2 / (height - 1)!r} - 1.0], axis: -1)",
             f"let images = reshape({n[0]}, {b * parts}, {c // parts}, {height}, {width})",
             f"var v = nn.grid_sample(images, reshape(grid, {b * parts}, {area * rows}, {columns}, 2), align_corners: true)",
             f"v = reshape(v, {b}, {parts}, {c // parts}, {area}, {rows}, {columns})"]
    if n.has(4):
        lines.append(f"v = v * reshape({n[4]}, {b}, {parts}, 1, {area}, {rows}, {columns})")
    lines += [f"let seen = reshape(v, {b}, {groups}, {c // groups}, {area}, {rows}, {columns})",
              f"let w = reshape({n[1]}, {groups}, {w.shape[0] // groups}, {w.shape[1]}, {area})",
              f'let y = reshape(einsum("bgcaij,goca->bgoij", seen, w), {b}, {w.shape[0]}, {rows}, {columns})']
    y = f"y + reshape({n[3]}, -1, 1, 1)" if n.has(3) else "y"
    return "(fn() { " + "; ".join(lines) + f"; return {y} }})()"


@rule("RoiAlign")
def _(n):
    (_, c, height, width), count = n.array(0).shape, n.array(1).shape[0]
    rows, columns, k = n.attr("output_height", 1), n.attr("output_width", 1), n.attr("sampling_ratio", 0)
    shift = 0.5 if n.attr("coordinate_transformation_mode", b"half_pixel") == b"half_pixel" else 0.0
    if k == 0:
        cannot("a number of samples that depends on the box")
    least = "" if shift else "maximum({}, 1.0)"
    span = lambda text: least.format(text) if least else text
    lines = [f"let boxes = {n[1]} * {n.attr('spatial_scale', 1.0)!r} - {shift}",
             f"let (h, w) = ({span('boxes[:, 3] - boxes[:, 1]')}, {span('boxes[:, 2] - boxes[:, 0]')})",
             f"let row = boxes[:, 1:2] + (arange({rows * k}) + 0.5) * unsqueeze(h, 1) / {rows * k}.0",
             f"let column = boxes[:, 0:1] + (arange({columns * k}) + 0.5) * unsqueeze(w, 1) / {columns * k}.0",
             f"let ok = unsqueeze((row >= -1.0) & (row <= {height}), 2) & unsqueeze((column >= -1.0) & (column <= {width}), 1)",
             f"let (r, s) = (clamp(row, 0.0, {height - 1}.0), clamp(column, 0.0, {width - 1}.0))",
             f"let (top, left) = (minimum(floor(r), {height - 1}.0), minimum(floor(s), {width - 1}.0))",
             "let (down, right) = (unsqueeze(r - top, 2), unsqueeze(s - left, 1))",
             f"let images = permute({n[0]}, 0, 2, 3, 1)[{n[2]}]",
             f"let pick = fn(i, j, weight) = where(unsqueeze(ok, -1), images[reshape(arange({count}), -1, 1, 1), "
             f"unsqueeze(i64(minimum(i, {height - 1})), 2), unsqueeze(i64(minimum(j, {width - 1})), 1)] * unsqueeze(weight, -1), 0.0)",
             "let parts = [pick(top, left, (1.0 - down) * (1.0 - right)), pick(top, left + 1.0, (1.0 - down) * right), "
             "pick(top + 1.0, left, down * (1.0 - right)), pick(top + 1.0, left + 1.0, down * right)]"]
    if n.attr("mode", b"avg") == b"max":
        lines.append(f"let y = max(reshape(max(...parts), {count}, {rows}, {k}, {columns}, {k}, {c}), axis: [2, 4])")
    else:
        lines.append(f"let y = mean(reshape(parts[0] + parts[1] + parts[2] + parts[3], {count}, {rows}, {k}, {columns}, {k}, {c}), axis: [2, 4])")
    return "(fn() { " + "; ".join(lines) + "; return permute(y, 0, 3, 1, 2) })()"


@rule("NonMaxSuppression")
def _(n):
    most = n.value(2).item() if n.has(2) else 0
    overlap = f"{n[3]}.item()" if n.has(3) else "0.0"
    least = f"{n[4]}.item()" if n.has(4) else "-inf"
    corners = "(b[..., :2] - b[..., 2:] / 2.0, b[..., :2] + b[..., 2:] / 2.0)" if n.attr("center_point_box", 0) else \
        "(minimum(b[..., :2], b[..., 2:]), maximum(b[..., :2], b[..., 2:]))"
    batches, classes, count = n.array(1).shape
    lines = [f"let b = {n[0]}", f"let (low, high) = {corners}", "let area = prod(high - low, axis: -1)", "var rows = []",
             "let sides = relu(minimum(unsqueeze(high, 2), unsqueeze(high, 1)) - maximum(unsqueeze(low, 2), unsqueeze(low, 1)))",
             "let both = prod(sides, axis: -1)",
             "let near = (both / (unsqueeze(area, 2) + unsqueeze(area, 1) - both)).tolist()",
             f"for i in 0..{batches} {{ for j in 0..{classes} {{ let scores = {n[1]}[i, j].tolist(); var kept = []; "
             f"for k in argsort({n[1]}[i, j], descending: true).tolist() {{ "
             f"if scores[k] > {least} and len(kept) < {most} and all(map(fn(m) = near[i][m][k] <= {overlap}, kept)) {{ kept += [k] }} }}; "
             "rows += map(fn(k) = [i, j, k], kept) } }"]
    return "(fn() { " + "; ".join(lines) + "; return reshape(tensor(rows, dtype: i64), -1, 3) })()"
