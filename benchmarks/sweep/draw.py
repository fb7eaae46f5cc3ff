"""Draws the cases of the sweep from a seed: each is one function, written in TSL and for PyTorch, and its inputs."""

import math
import random
from dataclasses import asdict, dataclass, field

# The families and their shares.
FAMILIES = {"reduction": 35, "pointwise": 29, "norm": 27, "permute": 13, "reduce_broadcast_reduce": 14, "arrange": 10,
            "arg_reduction": 9, "scan": 6, "pairs": 3, "sort": 12, "product": 14, "take": 12, "gradient": 14,
            "convolution": 8, "attention": 6}
MOST_ELEMENTS = {"cuda": 2.6e8, "cpu": 2.5e7}
# What makes a case large: bytes of inputs; of convolutions and attention, operations that take so long at the peak rate.
LARGE_BYTES = {"cuda": 32e6, "cpu": 1e6}
LARGE_SECONDS = {"cuda": 20e-6, "cpu": 200e-6}
PEAK_RATES = {"cuda": {"f32": 67e12, "f16": 990e12, "bf16": 990e12}, "cpu": {"f32": 2e11, "f16": 2e11, "bf16": 2e11}}
KINDS = ["powers", "odd", "long_rows", "many_rows", "any", "tiny"]
DTYPES = ["f32", "f32", "bf16", "f16"]
LAYOUTS = ["contiguous", "contiguous", "transposed", "sliced"]


@dataclass
class Input:
    shape: list
    dtype: str
    layout: str = "contiguous"
    below: int = 0  # the input holds indices below it

    def bytes(self):
        return math.prod(self.shape) * {"f32": 4, "i64": 8}.get(self.dtype, 2)


@dataclass
class Case:
    name: str
    family: str
    inputs: list = field(default_factory=list)
    tsl: str = ""     # an expression of x0, x1, …
    torch: str = ""
    gradient: bool = False  # the expression is a loss, and the function its gradients
    check_tsl: str = "r"    # an expression of x0, …, and the result r, whose sum must agree
    check_torch: str = "r"
    operations: float = 0  # of convolutions and attention
    large: bool = False

    def source(self):
        inputs = ", ".join(f'x{i}: {x["dtype"]}{x["shape"]} {x["layout"]}' for i, x in enumerate(self.inputs))
        return f"{'gradient of ' if self.gradient else ''}{self.tsl}; {inputs}"


UNARY = [(f"{name}({{0}})", f"{module}.{name}({{0}})") for module, names in
         {"torch": ["tanh", "sigmoid", "sin", "cos", "relu", "abs", "erf"], "F": ["gelu", "silu", "softplus"]}.items()
         for name in names]
UNARY += [("exp(-abs({0}))", "torch.exp(-torch.abs({0}))"), ("sqrt(abs({0}) + 1.0)", "torch.sqrt(torch.abs({0}) + 1.0)"),
          ("log(abs({0}) + 0.5)", "torch.log(torch.abs({0}) + 0.5)"), ("(square({0}) * 0.25)", "(torch.square({0}) * 0.25)"),
          ("({0} * 1.5 + 0.25)", "({0} * 1.5 + 0.25)"), ("clamp({0}, -0.5, 0.75)", "torch.clamp({0}, -0.5, 0.75)")]
BINARY = [("({0} + {1})",) * 2, ("({0} - {1})",) * 2, ("({0} * {1})",) * 2,
          ("({0} / (abs({1}) + 1.0))", "({0} / (torch.abs({1}) + 1.0))"), ("maximum({0}, {1})", "torch.maximum({0}, {1})"),
          ("where({0} > {1}, {0}, {1} * 0.5)", "torch.where({0} > {1}, {0}, {1} * 0.5)")]
REDUCTIONS = [("sum", "torch.sum"), ("mean", "torch.mean"), ("max", "torch.amax"), ("min", "torch.amin"),
              ("std", "torch.std"), ("var", "torch.var"), ("norm", "torch.linalg.vector_norm"),
              ("logsumexp", "torch.logsumexp")]


def apply(template, *operands):
    """Fills the template's two texts with operands, which are pairs of texts."""
    return tuple(text.format(*texts) for text, texts in zip(template, zip(*operands)))


def both(text):
    return (text, text)


class Drawer:
    """Draws one case."""

    def __init__(self, seed, number, family, device):
        self.random = random.Random(f"{seed}/{number}/{family}")
        self.device, self.most = device, MOST_ELEMENTS[device]
        self.case = Case(f"{number:03}_{family}", family)
        self.dtype = self.random.choice(DTYPES)

    def draw(self):
        getattr(self, self.case.family)()
        if self.case.operations:
            self.case.large = self.case.operations / PEAK_RATES[self.device][self.dtype] >= LARGE_SECONDS[self.device]
        else:
            self.case.large = sum(x.bytes() for x in self.case.inputs) >= LARGE_BYTES[self.device]
        self.case.inputs = [asdict(x) for x in self.case.inputs]
        return self.case

    def extents(self, rank, most):
        """Draws a shape of at most `most` elements."""
        kind = self.random.choice(KINDS)
        elements = 10 ** self.random.uniform(1, 3.6) if kind == "tiny" else 10 ** self.random.uniform(4.5, math.log10(most))
        elements = min(elements, most)
        if kind == "long_rows":
            shares = [0.1] * (rank - 1) + [2.0 * rank]
        elif kind == "many_rows":
            shares = [2.0 * rank] + [0.5] * (rank - 1)
        else:
            shares = [self.random.uniform(0.5, 1.5) for _ in range(rank)]
        shape = [max(1, int(elements ** (share / sum(shares)))) for share in shares]
        if kind == "powers":
            return [2 ** int(math.log2(n)) for n in shape]
        return [n if n < 3 else (n - 1) | 1 for n in shape] if kind == "odd" else shape

    def shape(self, least_rank=1, most_rank=5, share=1.0):
        return self.extents(self.random.randint(least_rank, most_rank), self.most * share)

    def input(self, shape, layout=None, dtype=None, below=0):
        """Adds an input and returns its name."""
        layout = layout or self.random.choice(LAYOUTS)
        self.case.inputs.append(Input(list(shape), dtype or self.dtype, layout, below))
        return both(f"x{len(self.case.inputs) - 1}")

    def finish(self, expression):
        self.case.tsl, self.case.torch = expression

    def chain(self, value, steps, others=()):
        """Applies random elementwise ops to a value, and takes in the others on the way."""
        others = list(others)
        for _ in range(max(steps, len(others))):
            if others:
                value = apply(self.random.choice(BINARY), value, others.pop())
            elif self.random.random() < 0.25 and len(value[0]) < 60:
                value = apply(self.random.choice(BINARY), value, both("x0"))
            else:
                value = apply(self.random.choice(UNARY), value)
            if len(value[0]) > 400:
                break
        return value

    def unary(self, value, steps):
        for _ in range(steps):
            value = apply(self.random.choice(UNARY), value)
        return value

    def axes(self, rank):
        """Draws a run of axes: mostly the last one, else the first, one in the middle, two, or all."""
        choice = self.random.random()
        if choice < 0.4 or rank == 1:
            return [rank - 1]
        if choice < 0.6:
            return [0]
        if choice < 0.75:
            return [rank // 2]
        return list(range(rank)) if choice < 0.85 else [rank - 2, rank - 1]

    def reduced(self, value, axes, keep=False, among=REDUCTIONS):
        tsl, torch = self.random.choice(among)
        keeps = (", keepdims: true", ", keepdim=True") if keep else ("", "")
        return (f"{tsl}({value[0]}, axis: {axes}{keeps[0]})", f"{torch}({value[1]}, dim={axes}{keeps[1]})")

    # ---- Families ------------------------------------------------------------------------------------------------

    def reduction(self):
        shape = self.shape()
        x = self.unary(self.input(shape), self.random.randint(0, 2))
        self.finish(self.reduced(x, self.axes(len(shape)), self.random.random() < 0.3))

    def pointwise(self):
        count = self.random.randint(1, 3)
        shape = self.shape(share=1 / count)
        x = self.input(shape)
        others = []
        for _ in range(count - 1):
            small = [1] * (len(shape) - 1) + shape[-1:], shape[:-1] + [1], shape, shape
            others.append(self.input(self.random.choice(small)))
        self.finish(self.chain(x, self.random.randint(1, 8), others))

    def norm(self):
        shape = self.shape(2, 4)
        x = self.unary(self.input(shape), self.random.randint(0, 2))
        kind = self.random.choice(["softmax", "log_softmax", "layer_norm", "rms_norm"])
        if "softmax" in kind:
            axis = self.random.choice([-1, -1, -1, 0, len(shape) // 2])
            y = (f"{kind}({x[0]}, axis: {axis})", f"F.{kind}({x[1]}, dim={axis})")
        else:
            weights = [self.input(shape[-1:], "contiguous") for _ in range(2 if kind == "layer_norm" else 1)]
            names = ", ".join(w[0] for w in weights)
            eps = "" if kind == "layer_norm" else ", eps=1e-6"
            y = (f"{kind}({x[0]}, {names})", f"F.{kind}({x[1]}, {shape[-1:]}, {names}{eps})")
        self.finish(self.unary(y, self.random.randint(0, 2)))

    def permute(self):
        shape = self.shape(2, 5, 0.5)
        order = list(range(len(shape)))
        while order == sorted(order):
            self.random.shuffle(order)
        x = self.unary(self.input(shape, self.random.choice(["contiguous", "sliced"])), self.random.randint(0, 1))
        y = apply((f"permute({{0}}, {order})", f"{{0}}.permute({order})"), x)
        others = [self.input([shape[i] for i in order], "contiguous")] if self.random.random() < 0.5 else []
        tsl, torch = self.chain(y, 0, others) if others else apply(self.random.choice(UNARY), y)
        self.finish((tsl, f"({torch}).contiguous()"))

    def reduce_broadcast_reduce(self):
        shape = self.shape(2, 4)
        axes = self.axes(len(shape))
        x = self.input(shape)
        few = REDUCTIONS[:4]
        y = apply(self.random.choice(BINARY), self.unary(x, self.random.randint(0, 1)), self.reduced(x, axes, True, few))
        again = axes if self.random.random() < 0.7 else self.axes(len(shape))
        self.finish(self.reduced(self.unary(y, self.random.randint(0, 2)), again))

    def arrange(self):
        shape = self.shape(1, 4, 0.3)
        x, axis = self.input(shape), self.random.randrange(len(shape))
        kind = self.random.choice(["concat", "stack", "pad", "flip", "roll"])
        if kind in ("concat", "stack"):
            y, name = self.input(shape), "cat" if kind == "concat" else "stack"
            x, y = self.unary(x, 1), self.unary(y, self.random.randint(0, 1))
            return self.finish((f"{kind}([{x[0]}, {y[0]}], axis: {axis})", f"torch.{name}([{x[1]}, {y[1]}], dim={axis})"))
        if kind == "pad":
            before, after = self.random.randint(0, 9), self.random.randint(1, 9)
            pairs = ", ".join(f"({before}, {after})" if i == axis else "(0, 0)" for i in range(len(shape)))
            flat = [0, 0] * (len(shape) - 1 - axis) + [before, after]
            y = (f"pad({x[0]}, [{pairs}])", f"F.pad({x[1]}, {flat})")
        elif kind == "flip":
            y = (f"flip({x[0]}, {axis})", f"torch.flip({x[1]}, [{axis}])")
        else:
            shift = self.random.randint(1, max(1, shape[axis] - 1))
            y = (f"roll({x[0]}, {shift}, axis: {axis})", f"torch.roll({x[1]}, {shift}, {axis})")
        self.finish(self.unary(y, self.random.randint(1, 2)))

    def arg_reduction(self):
        shape = self.shape(1, 4)
        axis, name = self.axes(len(shape))[0], self.random.choice(["argmax", "argmin"])
        x = self.input(shape)
        self.finish((f"{name}({x[0]}, axis: {axis}, keepdims: true)", f"torch.{name}({x[1]}, dim={axis}, keepdim=True)"))
        self.case.check_tsl, self.case.check_torch = f"gather(x0, {axis}, r)", f"torch.gather(x0, {axis}, r)"

    def scan(self):
        self.dtype = "f32"  # of smaller floats, peers round at each step
        shape = self.shape(1, 3, 0.5)
        axis = self.axes(len(shape))[0]
        x = self.unary(self.input(shape), self.random.randint(0, 1))
        self.finish((f"cumsum({x[0]}, axis: {axis})", f"torch.cumsum({x[1]}, dim={axis})"))

    def pairs(self):
        n, m, k = self.extents(3, self.most)
        a, b = self.input([n, 1, k], "contiguous"), self.input([1, m, k], "contiguous")
        y = apply(self.random.choice([("({0} * {1})",) * 2, ("abs({0} - {1})", "torch.abs({0} - {1})")]), a, b)
        self.finish(self.reduced(y, [2], among=REDUCTIONS[:3]))

    def sort(self):
        shape = self.shape(1, 3, 0.1)
        axis = len(shape) - 1
        x = self.input(shape)
        if self.random.random() < 0.5:
            return self.finish((f"sort({x[0]}, axis: {axis})", f"torch.sort({x[1]}, dim={axis})[0]"))
        k = min(shape[axis], self.random.choice([1, 4, 16, 50]))
        self.finish((f"topk({x[0]}, {k}, axis: {axis})", f"torch.topk({x[1]}, {k}, dim={axis})"))
        self.case.check_tsl = self.case.check_torch = "r[0]"

    def product(self):
        n, k, m = (int(2 ** self.random.uniform(3, 12 if self.most > 1e8 else 10)) for _ in range(3))
        if self.random.random() < 0.5:
            n, k, m = (2 ** int(math.log2(e)) for e in (n, k, m))
        batch = [self.random.randint(2, 8)] if self.random.random() < 0.3 else []
        y = apply(("({0} @ {1})",) * 2, self.input(batch + [n, k]), self.input(batch + [k, m]))
        if self.random.random() < 0.5:
            y = self.unary(apply(("({0} + {1})",) * 2, y, self.input([m], "contiguous")), 1)
        self.finish(y)

    def take(self):
        n, d = self.extents(2, self.most * 0.2)
        count = int(10 ** self.random.uniform(1, math.log10(max(20, self.most * 0.2 / d))))
        x = self.input([n, d])
        if self.random.random() < 0.7:
            index = self.input([count], "contiguous", "i64", n)
            y = (f"take({x[0]}, {index[0]}, axis: 0)", f"torch.index_select({x[1]}, 0, {index[1]})")
        else:
            index = self.input([n, self.random.randint(1, d)], "contiguous", "i64", d)
            y = (f"gather({x[0]}, 1, {index[0]})", f"torch.gather({x[1]}, 1, {index[1]})")
        self.finish(self.unary(y, self.random.randint(0, 2)))

    def gradient(self):
        self.case.gradient = True
        shape = self.shape(1, 3, 0.2)
        x, w = self.input(shape, "contiguous"), self.input(shape[-1:], "contiguous")
        smooth = [u for u in UNARY if "clamp" not in u[0] and "relu" not in u[0] and "abs(" not in u[0]]
        y = apply(self.random.choice(BINARY[:3]), x, w)
        for _ in range(self.random.randint(1, 3)):
            y = apply(self.random.choice(smooth), y)
        if self.random.random() < 0.4:
            y = apply(("softmax({0})", "F.softmax({0}, dim=-1)"), y)
            y = apply(("square({0})", "torch.square({0})"), y)
        self.finish((f"mean({y[0]})", f"torch.mean({y[1]})"))

    def convolution(self):
        size = self.random.choice([1, 1, 3, 3, 3, 5, 7])
        stride, padding = self.random.choice([1, 1, 1, 2]), self.random.choice([0, size // 2])
        channels, filters = (int(2 ** self.random.uniform(2, 9)) for _ in range(2))
        if self.random.random() < 0.5:
            channels, filters = (2 ** int(math.log2(n)) for n in (channels, filters))
        groups = channels if self.random.random() < 0.2 else 1
        filters = channels if groups > 1 else filters
        image, samples = self.random.randint(max(size, 7), 120), 2 ** self.random.randint(0, 6)
        samples = max(1, min(samples, int(self.most * 0.2 / (max(channels, filters) * image**2))))
        x = self.input([samples, channels, image, image], "contiguous")
        w = self.input([filters, channels // groups, size, size], "contiguous")
        y = (f"conv({x[0]}, {w[0]}, stride: {stride}, padding: {padding}, groups: {groups})",
             f"F.conv2d({x[1]}, {w[1]}, stride={stride}, padding={padding}, groups={groups})")
        self.case.operations = 2 * samples * filters * (image // stride) ** 2 * channels // groups * size**2
        self.may_differentiate(apply(self.random.choice(UNARY[:6] + [both("{0}")]), y))

    def attention(self):
        rows, keys = (int(2 ** self.random.uniform(5, 11)) for _ in range(2))
        keys = rows if self.random.random() < 0.7 else keys
        batch, heads, width = self.random.randint(1, 8), self.random.randint(1, 16), self.random.choice([32, 64, 64, 80, 128])
        q = self.input([batch, heads, rows, width], "contiguous")
        k, v = (self.input([batch, heads, keys, width], "contiguous") for _ in range(2))
        causal = rows == keys and self.random.random() < 0.6
        options = (", causal: true", ", is_causal=True") if causal else ("", "")
        self.case.operations = 4 * batch * heads * rows * keys * width / (2 if causal else 1)
        self.may_differentiate((f"attention({q[0]}, {k[0]}, {v[0]}{options[0]})",
                                f"F.scaled_dot_product_attention({q[1]}, {k[1]}, {v[1]}{options[1]})"))

    def may_differentiate(self, y):
        """Finishes with a function, or with the gradients of the mean of its squares."""
        if self.random.random() < 0.6:
            return self.finish(y)
        self.case.gradient = True
        self.case.operations *= 3
        self.finish((f"mean(square(f32({y[0]})))", f"torch.mean(torch.square(({y[1]}).float()))"))


def draw(seed, count, device):
    """Returns `count` cases. Each family has its share, at least one case if there are enough of them."""
    total = sum(FAMILIES.values())
    shares = {name: max(1, int(count * weight / total)) for name, weight in FAMILIES.items()}
    names = [name for name, share in shares.items() for _ in range(share)]
    chosen = random.Random(f"{seed}/families")
    names += chosen.choices(list(FAMILIES), list(FAMILIES.values()), k=max(0, count - len(names)))
    chosen.shuffle(names)
    return [Drawer(seed, number, name, device).draw() for number, name in enumerate(names[:count])]
