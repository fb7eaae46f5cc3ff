"""ONNX operators in TSL, continued: Fourier transforms, quantised numbers, sets, training, and other functions."""

from onnx_table import Several, cannot, dtype_name, named, rule


# ---- Fourier transforms --------------------------------------------------------------------------------------

@rule("DFT")
def _(n):
    d = n.array(0)
    axis = (n.value(2).item() if n.has(2) else n.attr("axis", -2 if len(n.inputs) > 2 or "axis" not in n.attributes else 1)) % d.ndim
    if "axis" not in n.attributes and not n.has(2):
        axis = 1 if n.graph.model.opset_import[0].version < 20 else d.ndim - 2
    inverse, one_sided = n.attr("inverse", 0), n.attr("onesided", 0)
    length = f", n: {int(n.value(1).item())}" if n.has(1) else ""
    z = f"view_as_complex({n[0]})" if d.shape[-1] == 2 else f"{n[0]}[..., 0]"
    if inverse and one_sided:
        return f"unsqueeze(irfft({z}{length}, axis: {axis}), -1)"
    name = "rfft" if one_sided else "ifft" if inverse else "fft"
    return f"view_as_real({name}({z}{length}, axis: {axis}))"


@rule("STFT")
def _(n):
    length = int(n.value(3).item()) if n.has(3) else n.value(2).shape[0]
    window = f", window: {n[2]}" if n.has(2) else ""
    sided = "true" if n.attr("onesided", 1) else "false"
    return (f"transpose(view_as_real(stft({n[0]}[..., 0], {length}, hop_length: {n.value(1).item()}{window}, center: false, "
            f"onesided: {sided})), 1, 2)")


@rule("HannWindow", "HammingWindow", "BlackmanWindow")
def _(n):
    size, is_periodic = n.value(0).item(), n.attr("periodic", 1)
    kind = named(n.attr("output_datatype", 1))
    if n.op == "HammingWindow":  # 25 / 46, where others have 0.54
        steps = size if is_periodic else size - 1
        return f"(25.0 / 46.0 - (1.0 - 25.0 / 46.0) * cos(arange({size}, dtype: f64) * (2.0 * pi / {steps}))).to({kind})"
    name = {"HannWindow": "hann", "BlackmanWindow": "blackman"}[n.op]
    return f"{name}({size}, sym: {'false' if is_periodic else 'true'}, dtype: {kind})"


@rule("MelWeightMatrix")
def _(n):
    bins, size, rate, low, high = (n.value(i).item() for i in range(5))
    lines = ["let mel = fn(f) = 2595.0 * log10(1.0 + f / 700.0)",
             f"let (low, high) = (mel({float(low)!r}), mel({float(high)!r}))",
             f"let places = low + arange({bins + 2}, dtype: f64) * ((high - low) / {bins + 2})",
             "let hertz = 700.0 * (10.0 ** (places / 2595.0) - 1.0)",
             f"let at = i64(floor(hertz * {size + 1} / {rate}))",
             "let (first, middle, last) = (at[:-2], at[1:-1], at[2:])",
             f"let k = unsqueeze(arange({size // 2 + 1}), 1)",
             "let up = where(middle == first, f32(k == middle), where((k >= first) & (k <= middle), "
             "f32(k - first) / f32(maximum(middle - first, 1)), 0.0))",
             "let down = where((k >= middle) & (k < last), f32(last - k) / f32(maximum(last - middle, 1)), 0.0)"]
    return "(fn() { " + "; ".join(lines) + "; return where((k >= middle) & (k < last), down, up) })()"


# ---- Quantised numbers ---------------------------------------------------------------------------------------

def along(n, i, d):
    """Input i, a scale or a zero, in the form that broadcasts with an array."""
    a = n.array(i)
    axis, block = n.attr("axis", 1), n.attr("block_size", 0)
    if block:
        return f"repeat({n[i]}, {block}, axis: {axis})"
    if a.ndim == 1 and a.size > 1 or a.ndim == 1 and d.ndim > 1:
        return f"reshape({n[i]}, {[-1] + [1] * (d.ndim - 1 - axis % d.ndim)})" if a.size > 1 else f"{n[i]}[0]"
    return n[i]


def rounded(x, zero, kind):
    """Numbers in an integer dtype, with ties to even, saturated."""
    least, most = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767)}.get(kind) or cannot(f"no dtype {kind}")
    return f"clamp(round({x}){zero}, {least}, {most}).to({kind})"


@rule("QuantizeLinear")
def _(n):
    d, kind = n.array(0), dtype_name(n.output())
    zero = f" + f32({along(n, 2, d)})" if n.has(2) else ""
    return rounded(f"{n[0]} / {along(n, 1, d)}", zero, kind)


@rule("DequantizeLinear")
def _(n):
    d = n.array(0)
    zero = f" - f32({along(n, 2, d)})" if n.has(2) else ""
    return f"(f32({n[0]}){zero}) * {along(n, 1, d)}"


@rule("DynamicQuantizeLinear")
def _(n):
    lines = [f"let x = {n[0]}", "let (low, high) = (minimum(min(x), 0.0), maximum(max(x), 0.0))", "let scale = (high - low) / 255.0",
             "let zero = clamp(round(-low / scale), 0, 255)"]
    return Several("(fn() { " + "; ".join(lines) + "; return (clamp(round(x / scale) + zero, 0, 255).to(u8), scale, zero.to(u8)) })()")


@rule("MatMulInteger")
def _(n):
    a = f"(i32({n[0]}) - i32({n[2]}))" if n.has(2) else f"i32({n[0]})"
    b = f"(i32({n[1]}) - i32({n[3]}))" if n.has(3) else f"i32({n[1]})"
    return f"i32({a} @ {b})"


@rule("QLinearMatMul")
def _(n):
    a, b = (f"(f32({n[i]}) - f32({n[i + 2]}))" for i in (0, 3))
    scale = f"(f32({n[1]}) * f32({n[4]}) / f32({n[6]}))"
    return rounded(f"({a} @ {b}) * {scale}", f" + f32({n[7]})", dtype_name(n.output()))


def side_pads(n, rank):
    pads = n.attr("pads", [0] * 2 * rank)
    return "[" + ", ".join(f"({pads[i]}, {pads[i + rank]})" for i in range(rank)) + "]"


@rule("ConvInteger")
def _(n):
    rank = n.array(0).ndim - 2
    x = f"(f32({n[0]}) - f32({n[2]}))" if n.has(2) else f"f32({n[0]})"
    zero = n[3] if not n.has(3) or n.array(3).ndim == 0 else f"reshape({n[3]}, {[-1] + [1] * (rank + 1)})"
    w = f"(f32({n[1]}) - f32({zero}))" if n.has(3) else f"f32({n[1]})"
    return f"i32(conv({x}, {w}, {n.attr('strides', [1] * rank)}, {side_pads(n, rank)}))"


@rule("QLinearConv")
def _(n):
    rank = n.array(0).ndim - 2
    y = f"conv(f32({n[0]}) - f32({n[2]}), f32({n[3]}) - f32({n[5]}), {n.attr('strides', [1] * rank)}, {side_pads(n, rank)})"
    return rounded(f"{y} * ({n[1]} * {n[4]} / {n[6]})", f" + f32({n[7]})", dtype_name(n.output()))


# ---- Sets, places, other functions ---------------------------------------------------------------------------

@rule("NonZero")
def _(n):
    return f"stack(nonzero({n[0]}), axis: 0)"


@rule("Unique")
def _(n):
    axis = n.attr("axis", None)
    where = "" if axis is None else f", axis: {axis}"
    y = f"unique({n[0]}, return_index: true, return_inverse: true, return_counts: true{where})"
    inverse = "reshape(inverse, -1)"
    if n.attr("sorted", 1):
        return Several(f"(fn() {{ let (y, index, inverse, counts) = {y}; return (y, index, {inverse}, counts) }})()")
    lines = [f"let (y, index, inverse, counts) = {y}", "let order = argsort(index)", "let places = argsort(order)"]
    return Several("(fn() { " + "; ".join(lines) + f"; return (y[order], index[order], places[{inverse}], counts[order]) }})()")


@rule("Det")
def _(n):
    return f"det({n[0]})"


@rule("BitCast")
def _(n):
    return cannot("bits of another dtype")


@rule("Bernoulli")
def _(n):
    return cannot("random numbers of ONNX")


# ---- Training ------------------------------------------------------------------------------------------------

def each_parameter(n, parts, step):
    """The new values of all parameters, then those of each part of the state."""
    count = (len(n.inputs) - 2) // (parts + 1)
    columns = [step(*(n[2 + count * j + i] for j in range(parts + 1))) for i in range(count)]
    names = [n.graph.add(text) for text in columns]
    return [f"{name}[{j}]" for j in range(parts) for name in names]


@rule("Adagrad")
def _(n):
    decay, eps, l2 = n.attr("decay_factor", 0.0), n.attr("epsilon", 0.0), n.attr("norm_coefficient", 0.0)

    def step(x, g, h):
        return (f"(fn() {{ let (p, opt) = optim.adagrad({x}, {g}, {{step: {n[1]}, total: {h}}}, "
                f"lr: {n[0]}, lr_decay: {decay!r}, weight_decay: {l2!r}, eps: {eps!r}); return (p, opt.total) }})()")
    return each_parameter(n, 2, step)


@rule("Adam")
def _(n):
    a, b, eps, l2 = n.attr("alpha", 0.9), n.attr("beta", 0.999), n.attr("epsilon", 0.0), n.attr("norm_coefficient", 0.0)

    def step(x, g, v, h):
        lines = [f"let g = {l2!r} * {x} + {g}", f"let v = {a!r} * {v} + {1 - a!r} * g", f"let h = {b!r} * {h} + {1 - b!r} * g * g"]
        t = f"f32({n[1]})"
        lines.append(f"let lr = {n[0]} * where({n[1]} > 0, sqrt(1.0 - {b!r} ** {t}) / where({n[1]} > 0, 1.0 - {a!r} ** {t}, 1.0), 1.0)")
        post = n.attr("norm_coefficient_post", 0.0)
        return "(fn() { " + "; ".join(lines) + f"; return ({1 - post!r} * ({x} - lr * v / (sqrt(h) + {eps!r})), v, h) }})()"
    return each_parameter(n, 3, step)


@rule("Momentum")
def _(n):
    a, b, l2 = n.attr("alpha", 0.9), n.attr("beta", 1.0), n.attr("norm_coefficient", 0.0)

    def step(x, g, v):
        lines = [f"let g = {l2!r} * {x} + {g}", f"let v = {a!r} * {v} + where({n[1]} > 0, {b!r}, 1.0) * g"]
        change = f"g + {a!r} * v" if n.attr("mode", b"standard") == b"nesterov" else "v"
        return "(fn() { " + "; ".join(lines) + f"; return ({x} - {n[0]} * ({change}), v) }})()"
    return each_parameter(n, 2, step)
