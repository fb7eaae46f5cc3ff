"""Cases of optim: three steps of each optimizer, clipping and schedules, in NumPy's long doubles."""

import math

import numpy as np

from oracle import LONG, Section, numbers, round_to

L = LONG


def sgd(p, gs, lr, momentum=0.0, nesterov=False, decay=0.0):
    v = np.zeros_like(p)
    for g in gs:
        g = g + decay * p
        v = momentum * v + g
        p = p - lr * (g + momentum * v if nesterov else v)
    return p


def adam(p, gs, lr, decay=0.0, shrink=0.0):
    m, s = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gs, 1):
        p = p * (1 - lr * shrink)
        g = g + decay * p
        m, s = L(0.9) * m + (1 - L(0.9)) * g, L(0.999) * s + (1 - L(0.999)) * g * g
        p = p - lr / (1 - L(0.9) ** t) * m / (np.sqrt(s) / np.sqrt(1 - L(0.999) ** t) + L(1e-8))
    return p


def steps(name, p, gs, options):
    text = "; ".join(f"(a, o) = optim.{name}(a, {g.text}, o, {options})" for g in gs)
    return f"{{ var (a, o) = ({p.text}, optim.{name}_init({p.text})); {text}; return a }}"


def sections(rng):
    for dtype in ("f32", "f64"):
        s = Section("optimizers of " + dtype)
        p, *gs = (s.input(dtype, numbers(rng, dtype, (3, 4))) for _ in range(4))
        x, ds = p.data.astype(L), [g.data.astype(L) for g in gs]
        result = lambda y: (dtype, round_to(dtype, y))
        case = lambda name, options, y: s.case("layers", steps(name, p, gs, options), result(y))
        case("sgd", "lr: 0.125", sgd(x, ds, L(0.125)))
        case("sgd", "lr: 0.1, momentum: 0.9", sgd(x, ds, L(0.1), L(0.9)))
        case("sgd", "lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.01", sgd(x, ds, L(0.1), L(0.9), True, L(0.01)))
        case("adam", "lr: 0.01", adam(x, ds, L(0.01)))
        case("adam", "lr: 0.01, weight_decay: 0.1", adam(x, ds, L(0.01), L(0.1)))
        case("adamw", "lr: 0.01, weight_decay: 0.1", adam(x, ds, L(0.01), 0.0, L(0.1)))
        norm = np.sqrt(sum((d * d).sum() for d in ds[:2]))
        tree = f"{{a: {gs[0].text}, b: [{gs[1].text}[::-1]]}}"
        s.case("layers", f"optim.global_norm({tree})", result(norm))
        s.case("layers", f"{{ let c = optim.clip_grad_norm({tree}, 1.5); return (c.a, c.b[0]) }}",
               *(result(d * min(L(1.5) / (norm + L(1e-6)), 1)) for d in (ds[0], ds[1][::-1])))
        s.case("exact", f"optim.clip_grad_value([{gs[2].text}], 0.5)", (dtype, np.clip(gs[2].data, -0.5, 0.5)))
        one = s.input(dtype, np.array([1.0]))
        for step in (0, 3, 9, 40):
            rate = 0.3 * min(1.0, (step + 1) / 5)
            s.case("layers", f"{one.text} * optim.linear_warmup({step}, 5, 0.3)", result(np.array([rate])))
            rate = 0.01 + 0.5 * (0.3 - 0.01) * (1 + math.cos(math.pi * min(1.0, step / 20)))
            s.case("layers", f"{one.text} * optim.cosine({step}, 20, 0.3, min_lr: 0.01)", result(np.array([rate])))
            s.case("layers", f"{one.text} * optim.step_decay({step}, 4, 0.3, 0.5)", result(np.array([0.3 * 0.5 ** (step // 4)])))
        yield s
