"""The rows in JAX, under jit."""

import jax
import jax.numpy as jnp

from rows import bert_base, scaled


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def fma(a, b, c):
    return a * b + c


def chain(a, b, c):
    t = jax.nn.sigmoid(a * b + c) * jnp.tanh(a - c)
    return gelu(t) + jnp.exp(-t * t) * b


def normalized(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)


def cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -chosen.mean()


def chain64(a, b):
    for _ in range(32):
        a = jnp.sin(a) * b
    return a


def blocks64(a, b):
    for _ in range(32):
        a = a * b + a.sum(-1, keepdims=True)
    return a


def adam(p, g, mean, square, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    step = step + 1
    tree_map = jax.tree_util.tree_map
    mean = tree_map(lambda m, g: beta1 * m + (1 - beta1) * g, mean, g)
    square = tree_map(lambda s, g: beta2 * s + (1 - beta2) * g * g, square, g)
    rate, scale = lr / (1 - beta1**step), jnp.sqrt(1 - beta2**step)
    p = tree_map(lambda p, m, s: p - rate * (m / (jnp.sqrt(s) / scale + eps)), p, mean, square)
    return p, mean, square, step


def mlp_loss(p, x, y):
    (w1, b1), (w2, b2), (w3, b3) = p
    h = jax.nn.relu(x @ w1 + b1)
    return cross_entropy(jax.nn.relu(h @ w2 + b2) @ w3 + b3, y)


def mlp_step(p, mean, square, step, x, y):
    return adam(p, jax.grad(mlp_loss)(p, x, y), mean, square, step)


class Jax:
    def __init__(self, scale):
        self.scale = scale
        self.version = f"JAX {jax.__version__}"
        self.key = jax.random.key(0)

    def randn(self, *shape, dtype=jnp.float32):
        self.key, key = jax.random.split(self.key)
        return jax.random.normal(key, shape, dtype)

    def randint(self, end, count):
        return jax.random.randint(self.key, (count,), 0, end)

    def squares(self, count):
        n = scaled(16000, self.scale)
        return [self.randn(n, n) for _ in range(count)]

    def wide(self, dtype=jnp.float32):
        return self.randn(scaled(32768, self.scale), scaled(4096, self.scale), dtype=dtype)

    def matrices(self, dtype):
        n = scaled(4096, self.scale)
        return [self.randn(*shape, dtype=dtype) for shape in ((n, n), (n, n), (n,))]

    def logits(self):
        samples, classes = scaled(8192, self.scale), scaled(50257, self.scale)
        return [self.randn(samples, classes), self.randint(classes, samples)]

    def functions(self):
        columns = scaled(4096, self.scale)

        def gelu_linear(a, b, c):
            return gelu(a @ b + c)

        return {
            "fma": (fma, lambda: self.squares(3)),
            "chain": (chain, lambda: self.squares(3)),
            "transpose_add": (lambda a, b: a + b.T, lambda: self.squares(2)),
            "sum_all": (jnp.sum, lambda: self.squares(1)),
            "sum_columns": (lambda x: x.sum(0), lambda: self.squares(1)),
            "sum_rows": (lambda x: x.sum(1), lambda: self.squares(1)),
            "softmax": (jax.nn.softmax, lambda: [self.wide()]),
            "softmax_bf16": (jax.nn.softmax, lambda: [self.wide(jnp.bfloat16)]),
            "layer_norm": (lambda x, w, b: normalized(x) * w + b,
                           lambda: [self.wide(), self.randn(columns), self.randn(columns)]),
            "gelu_layer_norm": (lambda x: gelu(normalized(x * 2 + 1)) + x, lambda: [self.wide()]),
            "cross_entropy": (cross_entropy, self.logits),
            "matmul_bf16": (gelu_linear, lambda: self.matrices(jnp.bfloat16)),
            "matmul_tf32": (gelu_linear, lambda: self.matrices(jnp.float32)),
            "toy": (lambda a, b: a * b, lambda: [self.randn(10), self.randn(10)]),
            "chain64": (chain64, lambda: [self.randn(10), self.randn(10)]),
            "blocks64": (blocks64, lambda: [self.randn(64, 512), self.randn(64, 512)]),
        }

    def prepare(self, row):
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if row == "matmul_tf32" else "highest")
        if row == "adam_bert_base":
            return self.adam(bert_base(self.scale))
        if row == "adam_100x1000":
            return self.adam([(1000,)] * 100)
        if row == "mlp_train":
            return self.mlp_train()
        function, make = self.functions()[row]
        inputs, call = make(), jax.jit(function)
        return lambda: call(*inputs)

    def adam(self, shapes):
        g = [self.randn(*shape) for shape in shapes]
        step = jax.jit(lambda p, mean, square, step, g: adam(p, g, mean, square, step), donate_argnums=(0, 1, 2, 3))
        return self.steps(step, [self.randn(*shape) for shape in shapes], g)

    def mlp_train(self):
        p = [(self.randn(n, m) * (2 / n) ** 0.5, jnp.zeros(m)) for n, m in ((784, 512), (512, 512), (512, 10))]
        return self.steps(jax.jit(mlp_step, donate_argnums=(0, 1, 2, 3)), p, self.randn(128, 784), self.randint(10, 128))

    @staticmethod
    def steps(step, p, *inputs):
        """Calls step with the state that it returned last."""
        def zeros():
            return jax.tree_util.tree_map(jnp.zeros_like, p)

        state = (p, zeros(), zeros(), jnp.zeros(()))

        def call():
            nonlocal state
            state = step(*state, *inputs)
            return state

        return call

    def compiled_fma(self):
        return jax.jit(fma)

    def vectors(self, n):
        return [jnp.full((n,), value) for value in (1.0, 2.0, 3.0)]

    def wait(self, result):
        jax.block_until_ready(result)

    def release(self):
        jax.clear_caches()
