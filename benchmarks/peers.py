"""The benchmarks in Python, NumPy and PyTorch.

peers(name) gives a dict from column to a function that prepares the workload and returns a pair: a function that
does it once, and how many pieces of work that is. A column that is missing is one that cannot be run here, or makes
no sense for the benchmark.
"""

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

TOY_CALLS = 10_000
WRITES = 1_000_000


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def count(n):
    total = 0
    for i in range(n):
        total = total + i
    return total


def random_arrays(*shapes):
    generator = numpy.random.default_rng(0)
    return [generator.standard_normal(shape, dtype=numpy.float32) for shape in shapes]


def many(f, calls):
    def repeat():
        for _ in range(calls):
            result = f()
        return result

    return repeat


# ---- Workloads on arrays ----------------------------------------------------------------------------------------
# Each takes the module (numpy or torch) and arrays. NumPy has no erf, so gelu has only PyTorch as a peer.


def multiply(_, a, b):
    return a * b


def fma(_, a, b, c):
    return a * b + c


def chain(_, a, b, c):
    t = torch.sigmoid(a * b + c) * torch.tanh(a - c)
    return F.gelu(t) + torch.exp(-t * t) * b


def softmax(module, x):
    if module is torch:
        return F.softmax(x, dim=-1)
    e = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(module, x, weight, bias):
    if module is torch:
        return F.layer_norm(x, x.shape[-1:], weight, bias)
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / numpy.sqrt(variance + numpy.float32(1e-5)) * weight + bias


def write(_, x):
    for i in range(WRITES):
        x[i] = 0.5
    return x


BIG = (4000, 4000)
# name: (workload, shapes of its arrays, calls a measurement, columns)
ARRAYS = {
    "toy": (multiply, [(10,), (10,)], TOY_CALLS, ("NumPy", "PyTorch", "torch.compile")),
    "fma": (fma, [BIG, BIG, BIG], 1, ("NumPy", "PyTorch", "torch.compile")),
    "chain": (chain, [BIG, BIG, BIG], 1, ("PyTorch", "torch.compile")),
    "softmax": (softmax, [(4096, 1024)], 1, ("NumPy", "PyTorch", "torch.compile")),
    "layer_norm": (layer_norm, [(4096, 1024), (1024,), (1024,)], 1, ("NumPy", "PyTorch", "torch.compile")),
    "index_write": (write, [(WRITES,)], 1, ("NumPy", "PyTorch")),
}


def array_peers(name):
    workload, shapes, calls, columns = ARRAYS[name]
    pieces = WRITES if name == "index_write" else calls

    def in_numpy():
        arrays = random_arrays(*shapes)
        return many(lambda: workload(numpy, *arrays), calls), pieces

    def in_torch(compiled):
        tensors = [torch.randn(shape) for shape in shapes]

        def call(*arguments):
            return workload(torch, *arguments)

        if compiled:
            call = torch.compile(call)
        return many(lambda: call(*tensors), calls), pieces

    found = {}
    if numpy and "NumPy" in columns:
        found["NumPy"] = in_numpy
    if torch and "PyTorch" in columns:
        found["PyTorch"] = lambda: in_torch(False)
    if torch and "torch.compile" in columns:
        found["torch.compile"] = lambda: in_torch(True)
    return found


# ---- Training in PyTorch ----------------------------------------------------------------------------------------


def mlp_train(compiled):
    model = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512),
                                torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=not compiled)
    x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return (torch.compile(step) if compiled else step), 1


def adam200(compiled):
    parameters = [torch.randn(1000, requires_grad=True) for _ in range(200)]
    for p in parameters:
        p.grad = torch.randn(1000)
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=not compiled)
    return (torch.compile(optimizer.step) if compiled else optimizer.step), 1


TRAINING = {"mlp_train": mlp_train, "adam200": adam200}
HOST = {"fib": lambda: fib(32), "loop": lambda: count(50_000_000)}


def peers(name):
    if name in HOST:
        return {"CPython": lambda: (HOST[name], 1)}
    if name in TRAINING:
        if not torch:
            return {}
        return {"PyTorch": lambda: TRAINING[name](False), "torch.compile": lambda: TRAINING[name](True)}
    return array_peers(name)
