"""The rows of the table: what each reads, writes and computes, and its goal. All other files use these numbers."""

from dataclasses import dataclass, field


def scaled(n, scale):
    """Returns an extent of a large tensor, scaled by --scale; equal to that in timing.tsl."""
    return max(1, int(n * scale))


def bert_base(scale):
    """Returns the shapes of BERT base: 197 tensors, 108.9 million numbers; equal to those in training.tsl."""
    d, wide = scaled(768, scale), scaled(3072, scale)
    norm = [(d,), (d,)]
    block = [(d, d), (d,)] * 4 + norm + [(wide, d), (wide,), (d, wide), (d,)] + norm
    return [(scaled(30522, scale), d), (scaled(512, scale), d), (2, d)] + norm + block * 12


def count(shapes):
    total = 0
    for shape in shapes:
        elements = 1
        for extent in shape:
            elements *= extent
        total += elements
    return total


@dataclass
class Row:
    script: str                 # of this folder, without .tsl
    of: str                     # what it is, for the table
    metric: str = "device"      # what is compared with the peers: device, host or first
    bytes: object = None        # scale -> bytes that must be read and written
    flops: object = None        # scale -> multiplications and additions
    goals: dict = field(default_factory=dict)  # GB/s: at least; host, device, first (cold), cached: seconds at most


def big(times):
    return lambda scale: times * 4 * scaled(16000, scale) ** 2


def wide_rows(times, size):
    return lambda scale: times * size * scaled(32768, scale) * scaled(4096, scale)


def logits(scale):
    samples = scaled(8192, scale)
    return 4 * samples * scaled(50257, scale) + 8 * samples


def product(scale):
    return 2 * scaled(4096, scale) ** 3


def adam_bytes(shapes):
    """Returns the bytes of an Adam step: it reads p, g and two means, and writes p and the means."""
    return 7 * 4 * count(shapes)


def matrix(times, size, rows, columns):
    """`times`: how often it is moved; `size`: of an element, in bytes."""
    return lambda scale: times * size * scaled(rows, scale) * scaled(columns, scale)


MS, US = 1e-3, 1e-6

ROWS = {
    "fma": Row("pointwise", "a*b+c, [16000, 16000]", bytes=big(4), goals={"GB/s": 4400}),
    "chain": Row("pointwise", "a chain of 12 ops, same size", bytes=big(4), goals={"GB/s": 4300}),
    "transpose_add": Row("pointwise", "a + b.T", bytes=big(3), goals={"GB/s": 4100}),
    "sum_all": Row("reductions", "sum of all", bytes=big(1), goals={"GB/s": 4350}),
    "sum_columns": Row("reductions", "sum of columns", bytes=big(1), goals={"GB/s": 4350}),
    "sum_rows": Row("reductions", "sum of rows", bytes=big(1), goals={"GB/s": 4350}),
    "softmax": Row("rows", "softmax, [32768, 4096]", bytes=wide_rows(2, 4), goals={"GB/s": 4100}),
    "softmax_bf16": Row("rows", "softmax, bf16", bytes=wide_rows(2, 2), goals={"GB/s": 4000}),
    "layer_norm": Row("rows", "layer_norm, f32", bytes=wide_rows(2, 4), goals={"GB/s": 4100}),
    "gelu_layer_norm": Row("rows", "gelu(layer_norm(x*2+1)) + x", bytes=wide_rows(2, 4), goals={"GB/s": 4000}),
    "cross_entropy": Row("rows", "cross_entropy, [8192, 50257]", bytes=logits, goals={"GB/s": 4000}),
    "matmul_bf16": Row("matmul", "gelu(a@b+c), bf16, 4096³", flops=product, goals={"device": 0.22 * MS}),
    "matmul_tf32": Row("matmul", "gelu(a@b+c), tf32, 4096³", flops=product, goals={"device": 0.40 * MS}),
    "toy": Row("launch_bound", "a*b on [10]", "host", goals={"host": 2.5 * US}),
    "chain64": Row("launch_bound", "32 × a = sin(a)*b on [10]", "host", goals={"host": 2.5 * US, "device": 8 * US}),
    "blocks64": Row("launch_bound", "32 × a = a*b + rows' sums on [64, 512]", "host",
                    goals={"host": 2.5 * US, "device": 25 * US}),
    "adam_bert_base": Row("training", "Adam, 197 tensors, 108.9M numbers", bytes=lambda s: adam_bytes(bert_base(s)),
                          goals={"device": 0.80 * MS, "first": 0.5}),
    "adam_100x1000": Row("training", "Adam, 100 tensors of 1000", "host", goals={"host": 3 * US, "device": 8 * US}),
    "mlp_train": Row("training", "784-512-512-10, batch 128, Adam", goals={"device": 0.10 * MS}),
    "pairs": Row("shapes", "forces between 8192 points in 3-D", goals={"device": 0.2 * MS}),
    "softmax_columns": Row("shapes", "softmax over axis 0 of [4096, 32768]", bytes=matrix(2, 4, 4096, 32768)),
    "softmax_long": Row("shapes", "softmax, [1024, 131072]", bytes=matrix(2, 4, 1024, 131072)),
    "jacobi": Row("shapes", "100 Jacobi steps, [2048, 2048]", goals={"device": 1 * MS}),
    "argmax_odd": Row("shapes", "argmax, [8192, 50257]", bytes=matrix(1, 4, 8192, 50257)),
    "rms_norm_bf16": Row("shapes", "rms_norm, bf16, [16384, 8192]", bytes=matrix(2, 2, 16384, 8192)),
    "sum_middle": Row("shapes", "sum over the middle of [256, 512, 1024]", bytes=matrix(1, 4, 512, 256 * 1024)),
    "layer_norm_5120": Row("shapes", "layer_norm, [8192, 5120]", bytes=matrix(2, 4, 8192, 5120)),
    "mandelbrot": Row("shapes", "50 Mandelbrot steps, [4096, 4096]", bytes=matrix(3, 4, 4096, 4096)),
    "first_fma": Row("first_call", "first compiled a*b+c of a process", "first",
                     goals={"first": 0.15, "cached": 0.02}),
    "second_shape": Row("first_call", "its second size", "host", goals={"host": 1 * MS}),
    "third_shape": Row("first_call", "its third size, and further ones", "host", goals={"host": 10 * US}),
}
