"""The rows in PyTorch: eager, or compiled in some mode."""

import gc

import torch
import torch.nn.functional as F

from rows import bert_base, scaled

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


# ---- Functions of tensors ---------------------------------------------------------------------------------------


def fma(a, b, c):
    return a * b + c


def chain(a, b, c):
    t = torch.sigmoid(a * b + c) * torch.tanh(a - c)
    return F.gelu(t) + torch.exp(-t * t) * b


def transpose_add(a, b):
    return a + b.T


def sum_all(x):
    return x.sum()


def sum_columns(x):
    return x.sum(0)


def sum_rows(x):
    return x.sum(1)


def softmax(x):
    return F.softmax(x, dim=-1)


def layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def gelu_layer_norm(x):
    return F.gelu(F.layer_norm(x * 2 + 1, x.shape[-1:])) + x


def gelu_linear(a, b, c):
    return F.gelu(a @ b + c)


def multiply(a, b):
    return a * b


def chain64(a, b):
    for _ in range(32):
        a = torch.sin(a) * b
    return a


def blocks64(a, b):
    for _ in range(32):
        a = a * b + a.sum(-1, keepdim=True)
    return a


def pairs(x):
    d = x[:, None, :] - x[None, :, :]
    r2 = (d * d).sum(2, keepdim=True) + 0.01
    return (d * (1.0 / (r2 * torch.sqrt(r2)))).sum(1)


def softmax_columns(x):
    return F.softmax(x, dim=0)


def jacobi(x):
    y = x.clone()
    for _ in range(100):
        y[1:-1, 1:-1] = 0.25 * (y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:])
    return y


def argmax(x):
    return x.argmax(1)


def rms_norm(x, weight):
    return F.rms_norm(x, x.shape[-1:], weight, 1e-5)


def mandelbrot(re, im):
    a, b, count = re, im, re * 0.0
    for _ in range(50):
        a, b = a * a - b * b + re, 2.0 * a * b + im
        count = count + torch.where(a * a + b * b < 4.0, 1.0, 0.0)
    return count


def randn(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype, device=DEVICE)


def squares(count):
    def make(scale):
        n = scaled(16000, scale)
        return [randn(n, n) for _ in range(count)]

    return make


def wide(dtype=torch.float32, parameters=0):
    def make(scale):
        columns = scaled(4096, scale)
        return [randn(scaled(32768, scale), columns, dtype=dtype), *(randn(columns) for _ in range(parameters))]

    return make


def logits(scale):
    samples, classes = scaled(8192, scale), scaled(50257, scale)
    return [randn(samples, classes), torch.randint(0, classes, (samples,), device=DEVICE)]


def matrices(dtype):
    def make(scale):
        n = scaled(4096, scale)
        return [randn(n, n, dtype=dtype), randn(n, n, dtype=dtype), randn(n, dtype=dtype)]

    return make


def large(*shape, dtype=torch.float32, parameters=0):
    """A tensor of this shape, of which the scale shrinks the last two extents, and parameters of its last axis."""
    def make(scale):
        extents = [*shape[:-2], *(scaled(extent, scale) for extent in shape[-2:])]
        return [randn(*extents, dtype=dtype), *(randn(extents[-1], dtype=dtype) for _ in range(parameters))]

    return make


def plane(scale):
    n = scaled(4096, scale)
    re, im = torch.linspace(-2.0, 0.5, n, device=DEVICE), torch.linspace(-1.2, 1.2, n, device=DEVICE)
    return [re.expand(n, n).contiguous(), im[:, None].expand(n, n).contiguous()]


def pair(*shape):
    return lambda scale: [randn(*shape), randn(*shape)]


FUNCTIONS = {
    "fma": (fma, squares(3)),
    "chain": (chain, squares(3)),
    "transpose_add": (transpose_add, squares(2)),
    "sum_all": (sum_all, squares(1)),
    "sum_columns": (sum_columns, squares(1)),
    "sum_rows": (sum_rows, squares(1)),
    "softmax": (softmax, wide()),
    "softmax_bf16": (softmax, wide(torch.bfloat16)),
    "layer_norm": (layer_norm, wide(parameters=2)),
    "gelu_layer_norm": (gelu_layer_norm, wide()),
    "cross_entropy": (F.cross_entropy, logits),
    "matmul_bf16": (gelu_linear, matrices(torch.bfloat16)),
    "matmul_tf32": (gelu_linear, matrices(torch.float32)),
    "pairs": (pairs, lambda scale: [randn(scaled(8192, scale), 3)]),
    "softmax_columns": (softmax_columns, large(4096, 32768)),
    "softmax_long": (softmax, large(1024, 131072)),
    "jacobi": (jacobi, large(2048, 2048)),
    "argmax_odd": (argmax, large(8192, 50257)),
    "rms_norm_bf16": (rms_norm, large(16384, 8192, dtype=torch.bfloat16, parameters=1)),
    "sum_middle": (lambda x: x.sum(1), lambda scale: [randn(256, scaled(512, scale), 1024)]),
    "layer_norm_5120": (layer_norm, large(8192, 5120, parameters=2)),
    "mandelbrot": (mandelbrot, plane),
    "toy": (multiply, pair(10)),
    "chain64": (chain64, pair(10)),
    "blocks64": (blocks64, pair(64, 512)),
}


class Torch:
    def __init__(self, mode, scale):
        self.mode = mode
        self.scale = scale
        self.version = f"PyTorch {torch.__version__}"

    def compiled(self, f):
        return torch.compile(f, mode=self.mode) if self.mode else f

    def prepare(self, row):
        torch.set_float32_matmul_precision("high" if row == "matmul_tf32" else "highest")
        if row == "adam_bert_base":
            return self.adam(bert_base(self.scale))
        if row == "adam_100x1000":
            return self.adam([(1000,)] * 100)
        if row == "mlp_train":
            return self.mlp_train()
        if row == "copy":
            (x, y) = squares(2)(self.scale)
            return lambda: y.copy_(x)
        function, make = FUNCTIONS[row]
        inputs, call = make(self.scale), self.compiled(function)
        return lambda: call(*inputs)

    def optimizer(self, parameters, compiled):
        """Returns the fastest Adam: eagerly the fused one, compiled the one that the compiler fuses."""
        if not compiled:
            return torch.optim.Adam(parameters, lr=1e-3, fused=True)
        return torch.optim.Adam(parameters, lr=1e-3, foreach=True, capturable=DEVICE == "cuda")

    def adam(self, shapes):
        parameters = [randn(*shape).requires_grad_() for shape in shapes]
        for p in parameters:
            p.grad = torch.randn_like(p)
        return self.compiled(self.optimizer(parameters, bool(self.mode)).step)

    def mlp_train(self):
        model = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512),
                                    torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(DEVICE)
        x, y = randn(128, 784), torch.randint(0, 10, (128,), device=DEVICE)
        optimizer = self.optimizer(model.parameters(), bool(self.mode))

        def step():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return self.compiled(step)

    def compiled_fma(self):
        return self.compiled(fma)

    def vectors(self, n):
        return [torch.full((n,), value, device=DEVICE) for value in (1.0, 2.0, 3.0)]

    def wait(self, _):
        if DEVICE == "cuda":
            torch.cuda.synchronize()

    def release(self):
        torch.compiler.reset()
        gc.collect()
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
