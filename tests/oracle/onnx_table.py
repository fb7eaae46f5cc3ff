"""How ONNX operators are said in TSL: a table from operator to a function that writes an expression.

A rule takes a Node: n[i] is the text of an input ("" if it is not given), n.value(i) its elements where the rule needs
them (an axis, a shape), n.attr(name, default) an attribute, n.array(i) the type of an input. It returns an expression,
or a list of them for several outputs, or raises CannotSay with the reason.
"""

import numpy as np

NAMES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16",
         "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool"}
ONNX_TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64",
              12: "u32", 13: "u64", 16: "bf16"}


class CannotSay(Exception):
    """Why a case has no expression in TSL yet."""


class Several:
    """An expression whose value is a tuple or a list of the results."""

    def __init__(self, text):
        self.text = text


def dtype_name(array):
    name = np.asarray(array).dtype.name
    if name not in NAMES:
        raise CannotSay(f"no dtype {name}")
    return NAMES[name]


def literal(x):
    """An array as a TSL list, or a number."""
    x = np.asarray(x)
    if x.ndim:
        return "[" + ", ".join(literal(v) for v in x) + "]"
    if x.dtype == bool:
        return "true" if x else "false"
    if x.dtype.kind in "iu":
        return str(int(x)) if int(x) >= 0 else f"({int(x)})"
    v = float(x)
    if not np.isfinite(v):
        return f'float("{v}")'
    return repr(v) if v >= 0 else f"({v!r})"


def tensor(x):
    x = np.asarray(x)
    if x.size == 0:
        return f"zeros({list(x.shape)}, dtype: {dtype_name(x)})"
    return f"tensor({literal(x)}, dtype: {dtype_name(x)})"


def ints(x):
    return [int(v) for v in np.asarray(x).ravel()]


def named(kind):
    return ONNX_TYPES.get(kind) or cannot(f"no dtype number {kind}")


def cannot(reason):
    raise CannotSay(reason)


RULES = {}

# Why an operator has no rule.
NO_RULE = {
    "random numbers of ONNX": ["RandomUniformLike"],
    "images in files": ["ImageDecoder"],
}


def reason_of(op):
    return next((why for why, ops in NO_RULE.items() if op in ops), "no rule: " + op)


def rule(*names):
    def add(function):
        for name in names:
            RULES[name] = function
        return function
    return add


for onnx_name, text in {
        "Abs": "abs({0})", "Neg": "-{0}", "Sign": "sign({0})", "Exp": "exp({0})", "Log": "log({0})", "Sqrt": "sqrt({0})", "Sin": "sin({0})",
        "Cos": "cos({0})", "Tan": "tan({0})", "Asin": "asin({0})", "Acos": "acos({0})", "Atan": "atan({0})", "Sinh": "sinh({0})",
        "Cosh": "cosh({0})", "Tanh": "tanh({0})", "Erf": "erf({0})", "Floor": "floor({0})", "Ceil": "ceil({0})", "Round": "round({0})",
        "Relu": "relu({0})", "Sigmoid": "sigmoid({0})", "Softplus": "softplus({0})", "Reciprocal": "1 / {0}", "Not": "logical_not({0})",
        "IsNaN": "isnan({0})", "BitwiseNot": "bit_not({0})", "Add": "{0} + {1}", "Sub": "{0} - {1}", "Mul": "{0} * {1}",
        "And": "{0} & {1}", "Or": "{0} | {1}", "Xor": "{0} ^ {1}", "BitwiseAnd": "{0} & {1}", "BitwiseOr": "{0} | {1}",
        "BitwiseXor": "{0} ^ {1}", "Less": "{0} < {1}", "LessOrEqual": "{0} <= {1}", "Greater": "{0} > {1}",
        "GreaterOrEqual": "{0} >= {1}", "MatMul": "{0} @ {1}", "Where": "where({0}, {1}, {2})", "Softsign": "{0} / (1 + abs({0}))",
        "HardSwish": "nn.hardswish({0})", "Mish": "nn.mish({0})", 
        "Asinh": "asinh({0})", "Acosh": "acosh({0})", "Atanh": "atanh({0})"}.items():
    RULES[onnx_name] = lambda n, text=text: text.format(*(n[i] for i in range(len(n.inputs))))


@rule("Identity")
def _(n):
    return n[0] if isinstance(n.items(0), list) or n.items(0) is None else f"{n[0]}[...]"


@rule("Equal")
def _(n):
    if n.array(0).dtype.kind not in "OU":
        return f"{n[0]} == {n[1]}"
    other = n[1] if n.array(1).size > 1 else f"{n[1]} * {n.array(0).size}"
    return f"tensor(map(fn(pair) = pair[0] == pair[1], zip({n[0]}, {other})))"


@rule("Div")
def _(n):
    if n.array(0).dtype.kind not in "iu":
        return f"{n[0]} / {n[1]}"
    if n.array(0).dtype.kind == "u":
        return f"{n[0]} // {n[1]}"
    kind = dtype_name(n.array(0))  # whole quotients are cut
    return f"{kind}(trunc(f64({n[0]}) / f64({n[1]})))"


@rule("Mod")
def _(n):
    return f"fmod({n[0]}, {n[1]})" if n.attr("fmod", 0) else f"{n[0]} % {n[1]}"


@rule("Pow")
def _(n):
    base, power = dtype_name(n.array(0)), dtype_name(n.array(1))
    return f"{n[0]} ** {n[1]}" if base == power else f"({n[0]} ** {n[1]}).to({base})"


@rule("Gelu")
def _(n):
    return f"gelu_tanh({n[0]})" if n.attr("approximate", b"none") == b"tanh" else f"gelu({n[0]})"


@rule("Swish")
def _(n):
    return f"{n[0]} * sigmoid({n.attr('alpha', 1.0)!r} * {n[0]})"


@rule("Elu")
def _(n):
    return f"nn.elu({n[0]}, {n.attr('alpha', 1.0)!r})"


@rule("Celu")
def _(n):
    a = n.attr("alpha", 1.0)
    return f"maximum({n[0]}, 0.0) + minimum({a!r} * expm1({n[0]} / {a!r}), 0.0)"


@rule("Selu")
def _(n):
    a, g = n.attr("alpha", 1.6732631921768188), n.attr("gamma", 1.0507010221481323)
    return f"{g!r} * where({n[0]} > 0, {n[0]}, {a!r} * expm1(minimum({n[0]}, 0.0)))"


@rule("LeakyRelu")
def _(n):
    return f"nn.leaky_relu({n[0]}, {n.attr('alpha', 0.01)!r})"


@rule("PRelu")
def _(n):
    return f"where({n[0]} > 0, {n[0]}, {n[1]} * {n[0]})"


@rule("ThresholdedRelu")
def _(n):
    return f"where({n[0]} > {n.attr('alpha', 1.0)!r}, {n[0]}, 0.0)"


@rule("HardSigmoid")
def _(n):
    return f"clamp({n[0]} * {n.attr('alpha', 0.2)!r} + {n.attr('beta', 0.5)!r}, 0.0, 1.0)"


@rule("Shrink")
def _(n):
    b, l, x = n.attr("bias", 0.0), n.attr("lambd", 0.5), n[0]
    return f"where({x} < {-l!r}, {x} + {b!r}, where({x} > {l!r}, {x} - {b!r}, 0.0))"


@rule("Clip")
def _(n):
    x = n[0]
    if len(n.inputs) > 1 and n[1]:
        x = f"maximum({x}, {n[1]})"
    if len(n.inputs) > 2 and n[2]:
        x = f"minimum({x}, {n[2]})"
    return x if x != n[0] else f"{x}[...]"


@rule("IsInf")
def _(n):
    return f"{n[0]} == float(\"inf\")" if not n.attr("detect_negative", 1) else \
        f"{n[0]} == float(\"-inf\")" if not n.attr("detect_positive", 1) else f"isinf({n[0]})"


@rule("BitShift")
def _(n):
    return f"{n[0]} {'<<' if n.attr('direction', b'') == b'LEFT' else '>>'} {n[1]}"


@rule("Cast")
def _(n):
    return f"tensor({n[0]}, dtype: {named(n.attr('to', 1))})"


@rule("CastLike")
def _(n):
    return f"tensor({n[0]}, dtype: {dtype_name(n.array(1))})"


def folded(function):
    def apply(n):
        text = n[0]
        for i in range(1, len(n.inputs)):
            text = function(text, n[i])
        return text if len(n.inputs) > 1 else text + "[...]"
    return apply


RULES["Max"] = folded(lambda a, b: f"maximum({a}, {b})")
RULES["Min"] = folded(lambda a, b: f"minimum({a}, {b})")
RULES["Sum"] = folded(lambda a, b: f"({a} + {b})")


@rule("Mean")
def _(n):
    return f"({RULES['Sum'](n)}) / {len(n.inputs)}"


# ---- Reductions ----------------------------------------------------------------------------------------------

def axes_of(n):
    axes = n.attr("axes", None)
    if axes is None and len(n.inputs) > 1 and n.inputs[1]:
        axes = ints(n.value(1))
    if not axes:
        return [] if n.attr("noop_with_empty_axes", 0) else None
    return [int(a) for a in axes]


def reduction(text):
    def apply(n):
        axes = axes_of(n)
        kind = dtype_name(n.array(0))
        where = "" if axes is None else f", axis: {axes}"
        keep = ", keepdims: true" if n.attr("keepdims", 1) else ""
        x = n[0]
        if n.array(0).size == 0 and text[:3] in ("max", "min"):  # a start, since the greatest of nothing is an error
            shape = [1 if not v else v for v in n.array(0).shape]
            start = ("false" if text[:3] == "max" else "true") if kind == "bool" else ("-inf" if text[:3] == "max" else "inf")
            x = f"concat([{x}, full({shape}, {start}, dtype: {kind})], axis: {list(n.array(0).shape).index(0)})"
        if axes == []:
            where, keep = ", axis: []", ""
        y = text.format(x=x, rest=where + keep)
        return f"({y}).to({kind})" if kind not in ("f32", "f64") else y
    return apply


for onnx_name, text in {"ReduceSum": "sum({x}{rest})", "ReduceProd": "prod({x}{rest})", "ReduceMean": "mean({x}{rest})",
                        "ReduceMax": "max({x}{rest})", "ReduceMin": "min({x}{rest})", "ReduceL1": "sum(abs({x}){rest})",
                        "ReduceL2": "norm({x}, 2{rest})", "ReduceSumSquare": "sum(square({x}){rest})",
                        "ReduceLogSum": "log(sum({x}{rest}))", "ReduceLogSumExp": "logsumexp({x}{rest})"}.items():
    RULES[onnx_name] = reduction(text)


@rule("ArgMax", "ArgMin")
def _(n):
    name, axis = n.op.lower(), n.attr("axis", 0)
    keep = ", keepdims: true" if n.attr("keepdims", 1) else ""
    if n.attr("select_last_index", 0):
        extent = n.array(0).shape[axis]
        return f"{extent - 1} - {name}(flip({n[0]}, axis: {axis}), axis: {axis}{keep})"
    return f"{name}({n[0]}, axis: {axis}{keep})"


@rule("CumSum", "CumProd")
def _(n):
    axis, x = ints(n.value(1))[0], n[0]
    kind, name = dtype_name(n.array(0)), n.op.lower()
    if n.attr("reverse", 0):
        x = f"flip({x}, axis: {axis})"
    if n.attr("exclusive", 0):
        d = n.array(0)
        one = list(d.shape)
        one[axis] = 1
        size = d.shape[axis]
        made = "zeros" if name == "cumsum" else "ones"
        x = f"split(concat([{made}({one}, dtype: {kind}), {x}], axis: {axis}), [{size}, 1], axis: {axis})[0]"
    y = f"{name}({x}, axis: {axis}).to({kind})" if kind not in ("f32", "f64", "i64") else f"{name}({x}, axis: {axis})"
    return f"flip({y}, axis: {axis})" if n.attr("reverse", 0) else y


@rule("TopK")
def _(n):
    k, axis = ints(n.value(1))[0], n.attr("axis", -1)
    if not n.attr("sorted", 1):
        cannot("no order that is left open")
    y = f"topk({n[0]}, {k}, axis: {axis}, largest: {'true' if n.attr('largest', 1) else 'false'})"
    return [y + "[0]", y + "[1]"]


@rule("Softmax", "LogSoftmax")
def _(n):
    name = "softmax" if n.op == "Softmax" else "log_softmax"
    return f"{name}({n[0]}, axis: {n.attr('axis', -1)})"


@rule("Hardmax")
def _(n):
    axis, d = n.attr("axis", -1), n.array(0)
    y = f"one_hot(argmax({n[0]}, axis: {axis}), {d.shape[axis]}, dtype: {dtype_name(d)})"
    order = list(range(d.ndim - 1))
    order.insert(axis % d.ndim, d.ndim - 1)
    return f"permute({y}, {order})"
