"""Cases of optim by PyTorch in f64: optimizers and schedules; LAMB, LARS, Lion and Muon by their papers in NumPy."""

import numpy as np
import torch

from oracle import LONG, Section, numbers, round_to

STEPS = 4
torch.set_default_dtype(torch.float64)  # in which NAdam keeps its products


def by_torch(make, p, gs):
    w = torch.nn.Parameter(torch.tensor(p, dtype=torch.float64))
    optimizer = make([w])
    for g in gs:
        w.grad = torch.tensor(g, dtype=torch.float64)
        optimizer.step(*([lambda: torch.tensor(0.0)] if isinstance(optimizer, torch.optim.LBFGS) else []))
    return w.detach().numpy()


def norm(x):
    return np.sqrt((x * x).sum())


def lion(p, gs, lr, decay):
    m = np.zeros_like(p)
    for g in gs:
        p = p * (1 - lr * decay) - lr * np.sign(0.9 * m + (1 - 0.9) * g)
        m = 0.99 * m + (1 - 0.99) * g
    return p


def lars(p, gs, lr, momentum, decay, trust):
    v = np.zeros_like(p)
    for g in gs:
        ratio = trust * norm(p) / (norm(g) + decay * norm(p)) if norm(p) * norm(g) > 0 else 1
        v = momentum * v + lr * ratio * (g + decay * p)
        p = p - v
    return p


def lamb(p, gs, lr, decay):
    m, s = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gs, 1):
        m, s = 0.9 * m + (1 - 0.9) * g, 0.999 * s + (1 - 0.999) * g * g
        r = m / (1 - 0.9**t) / (np.sqrt(s / (1 - 0.999**t)) + 1e-6) + decay * p
        p = p - lr * (norm(p) / norm(r) if norm(p) * norm(r) > 0 else 1) * r
    return p


def muon(p, gs, lr, nesterov, decay, match):
    m = np.zeros_like(p)
    rows, columns = p.shape[0], p[0].size
    factor = 0.2 * max(rows, columns) ** 0.5 if match else max(1, rows / columns) ** 0.5
    for g in gs:
        m = 0.95 * m + (1 - 0.95) * g
        x = (0.95 * m + (1 - 0.95) * g if nesterov else m).reshape(rows, columns)
        x = x.T if rows > columns else x
        x = x / max(norm(x), 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        p = p * (1 - lr * decay) - lr * factor * (x.T if rows > columns else x).reshape(p.shape)
    return p


def text(name, p, gs, options, init=""):
    moves = "; ".join(f"(a, o) = optim.{name}(a, {g}, o, {options})" for g in gs)
    return f"{{ var (a, o) = ({p}, optim.{name}_init({p}{init})); {moves}; return a }}"


def optimizers(rng, dtype):
    s = Section("more optimizers of " + dtype)
    p, *gs = (s.input(dtype, numbers(rng, dtype, (4, 3))) for _ in range(STEPS + 1))
    views = [("", lambda x: x), ("[0]", lambda x: x[0])]
    o = torch.optim
    for view, part in views:
        x, ds = part(p.data), [part(g.data) for g in gs]

        def case(name, options, y, init=""):
            s.case("layers", text(name, p.text + view, [g.text + view for g in gs], options, init), (dtype, round_to(dtype, y)))

        def torch_case(name, options, make, init=""):
            case(name, options, by_torch(make, x, ds), init)

        torch_case("adagrad", "lr: 0.05", lambda w: o.Adagrad(w, lr=0.05))
        torch_case("adagrad", "lr: 0.05, lr_decay: 0.1, weight_decay: 0.2",
                   lambda w: o.Adagrad(w, lr=0.05, lr_decay=0.1, weight_decay=0.2, initial_accumulator_value=0.5), ", 0.5")
        torch_case("rmsprop", "lr: 0.05", lambda w: o.RMSprop(w, lr=0.05))
        torch_case("rmsprop", "lr: 0.05, alpha: 0.9, momentum: 0.7, centered: true, weight_decay: 0.1",
                   lambda w: o.RMSprop(w, lr=0.05, alpha=0.9, momentum=0.7, centered=True, weight_decay=0.1))
        torch_case("adadelta", "lr: 0.5", lambda w: o.Adadelta(w, lr=0.5))
        torch_case("adadelta", "rho: 0.8, eps: 1e-4, weight_decay: 0.1",
                   lambda w: o.Adadelta(w, rho=0.8, eps=1e-4, weight_decay=0.1))
        torch_case("adamax", "lr: 0.05, weight_decay: 0.1", lambda w: o.Adamax(w, lr=0.05, weight_decay=0.1))
        torch_case("nadam", "lr: 0.05", lambda w: o.NAdam(w, lr=0.05))
        torch_case("nadam", "lr: 0.05, weight_decay: 0.1, momentum_decay: 0.01",
                   lambda w: o.NAdam(w, lr=0.05, weight_decay=0.1, momentum_decay=0.01))
        torch_case("radam", "lr: 0.05", lambda w: o.RAdam(w, lr=0.05))
        torch_case("radam", "lr: 0.05, beta2: 0.6, weight_decay: 0.1",
                   lambda w: o.RAdam(w, lr=0.05, betas=(0.9, 0.6), weight_decay=0.1))
        torch_case("adafactor", "lr: 0.05", lambda w: o.Adafactor(w, lr=0.05, eps=(torch.finfo(getattr(
            torch, {"f32": "float32", "f64": "float64"}[dtype])).eps, 1e-3)))
        torch_case("adafactor", "lr: 0.9, weight_decay: 0.1, d: 1.5", lambda w: o.Adafactor(w, lr=0.9, weight_decay=0.1, d=1.5))
        torch_case("lbfgs", "lr: 0.1", lambda w: o.LBFGS(w, lr=0.1, max_iter=1, history_size=2), ", history: 2")
        x, ds = x.astype(LONG), [d.astype(LONG) for d in ds]
        case("lion", "lr: 0.1, weight_decay: 0.2", lion(x, ds, 0.1, 0.2))
        case("lars", "lr: 2.0, weight_decay: 0.1, trust: 0.01", lars(x, ds, 2.0, 0.9, 0.1, 0.01))
        case("lamb", "lr: 0.05, weight_decay: 0.1", lamb(x, ds, 0.05, 0.1))
    for view, part in (("", lambda x: x), (".T", lambda x: x.T), (".reshape(3, 2, 2)", lambda x: x.reshape(3, 2, 2))):
        x, ds = part(p.data).astype(LONG), [part(g.data).astype(LONG) for g in gs]
        for options, nesterov, decay, match in (("lr: 0.05", True, 0.1, False), (
                "lr: 0.05, nesterov: false, weight_decay: 0.0, adjust: \"match_rms_adamw\"", False, 0.0, True)):
            s.case("optimizers", text("muon", p.text + view, [g.text + view for g in gs], options),
                   (dtype, round_to(dtype, muon(x, ds, 0.05, nesterov, decay, match))))
    return s


def rates(schedule, lr, steps):
    """The rates of PyTorch's schedule after each number of steps."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    scheduler, found = schedule(optimizer), []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def schedules():
    s = Section("schedules")
    one = s.input("f64", np.array([1.0]))
    l = torch.optim.lr_scheduler
    rows = (
        ("multi_step_decay({}, [3, 7], 0.3, 0.5)", lambda o: l.MultiStepLR(o, [3, 7], 0.5)),
        ("exponential_decay({}, 0.3, 0.9)", lambda o: l.ExponentialLR(o, 0.9)),
        ("polynomial_decay({}, 12, 0.3)", lambda o: l.PolynomialLR(o, 12, 1.0)),
        ("polynomial_decay({}, 12, 0.3, power: 2.0)", lambda o: l.PolynomialLR(o, 12, 2.0)),
        ("cosine_restarts({}, 5, 0.3, min_lr: 0.01)", lambda o: l.CosineAnnealingWarmRestarts(o, 5, 1, 0.01)),
        ("cosine_restarts({}, 4, 0.3, factor: 2)", lambda o: l.CosineAnnealingWarmRestarts(o, 4, 2)),
        ("one_cycle({}, 20, 0.3)", lambda o: l.OneCycleLR(o, 0.3, total_steps=20)),
        ("one_cycle({}, 20, 0.3, pct_start: 0.4, div_factor: 10.0, final_div_factor: 100.0, anneal: \"linear\")",
         lambda o: l.OneCycleLR(o, 0.3, total_steps=20, pct_start=0.4, div_factor=10, final_div_factor=100,
                                anneal_strategy="linear")),
    )
    for call, schedule in rows:
        found = rates(schedule, 0.3, 20)
        for step in (0, 1, 2, 4, 5, 6, 7, 8, 11, 12, 18):
            s.case("optimizers", f"{one.text} * (1.0 + optim.{call.format(step)})", ("f64", np.array([1.0 + found[step]])))
    for step in (0, 3, 4, 60):
        rate = 0.3 * min((step + 1) / 5, (5 / (step + 1)) ** 0.5)
        s.case("optimizers", f"{one.text} * optim.inverse_sqrt({step}, 5, 0.3)", ("f64", np.array([rate])))
    return s


def trees(rng):
    s = Section("averages and sums")
    a, b = (s.input("f32", numbers(rng, "f32", (2, 3))) for _ in range(2))
    x, y = a.data.astype(LONG), b.data.astype(LONG)
    f32 = lambda v: ("f32", round_to("f32", v))
    s.case("layers", f"optim.ema(optim.ema_init({a.text}), {b.text}, 0.75)", f32(x + 0.25 * (y - x)))
    s.case("layers", f"{{ let (l, g) = optim.accumulate(fn(p, k) = sum(p * p * k), {a.text}, [({b.text},), (2.0,)]); return (l, g) }}",
           f32(((x * x * y).sum() + (x * x * 2).sum()) / 2), f32(x * y + 2 * x))
    s.case("layers", f"{{ let (g, ok, s) = optim.unscale({{w: f16({a.text} * 0.125)}}, optim.scaler_init(8.0)); return (g.w * 8.0, s.scale) }}",
           f32(round_to("f16", x * 0.125)), f32(np.array(8.0)))
    s.case("same", f"optim.choose({a.text}[0, 0] == {a.text}[0, 0], {{w: {a.text}}}, {{w: {b.text}}}).w", ("f32", a.data))
    s.case("layers", f"{{ let (m, r) = optim.partition({{u: {a.text}, v: {b.text}}}, fn(n, t) = n == \"u\"); return optim.combine({{u: {a.text}, v: {b.text}}}, {{u: m.u * 2.0}}, r).u }}", f32(x * 2))
    return s


def sections(rng):
    for dtype in ("f32", "f64"):
        yield optimizers(rng, dtype)
    yield schedules()
    yield trees(rng)
