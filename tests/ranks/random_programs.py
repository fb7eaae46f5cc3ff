"""Random programs of several ranks: collectives among ops, reads, files, checkpoints, branches, loops, derivatives and errors. Each runs on
every tier, and what each rank prints must be the same, byte for byte. Programs in which one rank alone fails must end.

    python3 tests/ranks/random_programs.py BUILD COUNT [SEED]
"""

import pathlib
import random
import subprocess
import sys
import tempfile

TIERS = ([], ["--compile"], ["--no-compile"])
LIMIT = 60  # seconds, of one run: far more than a program takes

COLLECTIVES = (
    "world.all_sum({x})", "world.all_mean({x})", "world.all_max({x})", "world.send_receive({x})",
    "world.send_receive({x}, -1)", "world.send_receive({x}, 2)", "world.broadcast({x})",
    "world.broadcast({x}, world.size - 1)", "world.all_gather({x})[:len({x})]", "world.all_gather({x}.T, axis: 1).T[-len({x}):]",
    "world.sum_scatter(world.all_gather({x}))", "world.sum_scatter({x}[:, nil] * ones([1, world.size]), axis: 1)[:, 0]",
    "world.all_mean({{a: {x}, b: [{x} * 2.0, nil]}}, bucket: {bucket}).a",
    "world.all_sum(({x}, [{x} - 1.0, {x}]), bucket: {bucket})[1][0]",
    "world.all_sum(world.part(world.all_gather({x})))", "vmap(world.all_sum)({x})", "vmap(fn(r) = world.send_receive(r))({x})",
    "grad(fn(y) = sum(world.all_sum(tanh(y)) * {c}))({x})", "grad(fn(y) = sum(world.all_gather(y) ** 2 * {c}))({x})",
    "grad(fn(y) = sum(world.broadcast(y * y) * {c}))({x})", "grad(fn(y) = sum(world.send_receive(y) ** 3))({x})",
    "grad(fn(y) = sum(world.all_max(y) * {c}))({x})", "f32(world.all_sum(bf16({x})))", "f32(world.all_mean(f16({x})))",
    "parallel.value_and_grad(fn(p, y) = sum(tanh(p * y)), bucket: {bucket})({x}, {x} + 1.0)[1]",
    "parallel.value_and_grad(fn(p) = sum(p.a * p.b[0]) * {c}, bucket: {bucket})({{a: {x}, b: [{x} * 2.0, nil]}})[1].b[0]",
    "parallel.accumulate(fn(p, y) = sum(p * y), {x}, [({x},), ({x} * 2.0,)], bucket: {bucket})[1]",
    "parallel.sharded(fn(p, g, s) = optim.sgd(p, g, s, lr: 0.1), {x}, {x} * 0.5, parallel.sharded_init(optim.sgd_init, {x}))[0]",
    "parallel.sharded(fn(p, g, s) = optim.adam(p, g, s, lr: 0.1), {{a: {x}, b: nil, c: [{x}[:1]]}}, {{a: {x}, b: nil, c: nil}}, "
    "parallel.sharded_init(optim.adam_init, {{a: {x}, b: nil, c: [{x}[:1]]}}), bucket: {bucket})[0].a",
    "f32(parallel.sharded(fn(p, g, s) = optim.adamw(p, g, s, lr: 0.1), bf16({x}), bf16({x}), "
    "parallel.sharded_init(optim.adamw_init, bf16({x})))[0])",
    "parallel.loader({x}, size: world.size, seed: 3, last: \"drop\").batch(k) * ones([len({x})])",
    "parallel.loader(saved({x}), size: world.size, seed: 3, last: \"drop\", ahead: {ahead}).batch(k) * ones([len({x})])",
    "concat(parallel.loader([saved({x}), saved({x} * 2.0)], size: 2 * world.size, window: 2, stride: 1, last: \"drop\", "
    "ahead: {ahead}).batch(k))[:1] + {x}",
    "padded({x}, k, {ahead})", "kept(world.all_sum({x}), k)",
    "f32(world.all_sum(int_of({x})))", "world.all_sum({x}[::-1])", "world.all_sum(big({x}))[:len({x})]",
)
# Files are beside the program, whose folder is its argument.
HELPERS = (
    "fn saved(x) {", "  let path = f\"{args()[0]}/{sum(x).item()}-{world.rank}.npy\"", "  save(path, x)", "  return path", "}",
    "fn padded(x, k, ahead) {",
    "  let d = parallel.loader(saved(x), size: 2 * world.size, seed: 5, last: \"pad\", ahead: ahead)",
    "  return x * world.all_mean(mean(d.batch(k) * d.weights(k)))", "}",
    "fn kept(x, k) {", "  let folder = f\"{args()[0]}/checkpoint\"", "  parallel.save_checkpoint(folder, {x}, background: k % 2 == 1)",
    "  return parallel.load_checkpoint(folder, {x: zeros_like(x)})[0].x", "}",
)
ORDINARY = (
    "{x} * {c} + 0.25", "tanh({x})", "{x} + world.rank", "where({x} > {c}, {x}, -{x})", "{x} - mean({x})", "cumsum({x}) * 0.1",
    "{x}[::-1]", "maximum({x}, {c})", "softmax({x}, axis: 0)", "{x} / (1.0 + abs({x}))", "{x} * randn([len({x})])",
    "parallel.dropout({x}, 0.25, key: k)", "parallel.dropout({x}, 0.5, key: fold_in(k, 3))",
)


class Program:
    """The text of one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.fails_alone = self.random.random() < 0.1
        self.lines = ["import world", "import parallel", "import optim", f"seed({seed})", "fn int_of(x) = i64(clamp(x * 8.0, -99.0, 99.0))",
                      "fn big(x) = x[arange(20_000) % len(x)]", *HELPERS]
        functions = self.random.randint(1, 3)
        for number in range(functions):
            self.function(number)
        self.top_level(functions)

    def number(self):
        return self.random.choice(("0.5", "-1.25", "3.0", "0.0"))

    def expression(self, x="x"):
        table = COLLECTIVES if self.random.random() < 0.5 else ORDINARY
        text = self.random.choice(table)
        return text.format(x=x, c=self.number(), bucket=self.random.choice((1, 3, 8_000_000)),
                           ahead=self.random.choice((0, 1, 3)))

    def statement(self, depth, indent):
        pad = "  " * indent
        kind = self.random.random()
        if depth == 0 or kind < 0.6:
            self.lines.append(f"{pad}x = {self.expression()}")
        elif kind < 0.7:  # a branch that all ranks take alike
            self.lines.append(f"{pad}if sum(world.all_sum(x)).item() > {self.number()} {{")
            self.block(depth, indent)
            self.lines.append(f"{pad}}} else {{")
            self.block(depth, indent)
            self.lines.append(f"{pad}}}")
        elif kind < 0.8:  # one that each rank takes by itself
            self.lines.append(f"{pad}if sum(x).item() > {self.number()} {{ x = x * 0.5 }} else {{ x = x + 1.0 }}")
        elif kind < 0.9:
            self.lines.append(f"{pad}for _ in range(0, {self.random.randint(1, 3)}) {{")
            self.block(depth, indent)
            self.lines.append(f"{pad}}}")
        elif kind < 0.95:  # an error of all ranks, from an element that all have
            self.lines.append(f"{pad}x = x[i64(world.all_max(abs(x))[:1]) % {self.random.choice((3, 9))}] + x")
        else:
            self.lines.append(f"{pad}print(world.all_sum(x).shape, k)")

    def block(self, depth, indent):
        for _ in range(self.random.randint(1, 2)):
            self.statement(depth - 1, indent + 1)

    def function(self, number):
        if self.random.random() < 0.5:
            self.lines.append("@compile")
        self.lines += [f"fn f{number}(x0, k) {{", "  var x = x0"]
        for _ in range(self.random.randint(2, 5)):
            self.statement(2, 1)
        if number > 0 and self.random.random() < 0.5:
            self.lines.append(f"  x = f{number - 1}(x, k)")
        self.lines += ["  return x", "}"]

    def top_level(self, functions):
        alone = self.random.choice(("error(\"alone\")", "exit(3)", "x = x[tensor([7])]", "world.barrier()"))
        self.lines += [f"var x = (arange({self.random.randint(4, 6)}, dtype: f32) - world.rank) * 0.5",
                       f"for k in range(0, {self.random.randint(2, 5)}) {{"]
        if self.fails_alone:
            self.lines.append(f"  if k == 1 and world.rank == 1 {{ {alone} }}")
        for number in range(functions):
            self.lines += ["  try {", f"    x = clamp(f{number}(x, k), -100.0, 100.0)", "    print(k, x.tolist())",
                           "  } catch e { print(k, e.name, e.message) }"]
        self.lines.append("}")

    def text(self):
        return "\n".join(self.lines) + "\n"


def outcome(program, script, ranks, tier):
    """Returns the exit code and the sorted lines of output of a run, or None if it hangs."""
    command = [program, "--ranks", str(ranks), "--all-ranks", "--warn", "off", *tier, script, str(pathlib.Path(script).parent)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None
    by_rank = sorted(done.stdout.splitlines(), key=lambda line: line[:8])  # stable: the order of each rank stays
    return done.returncode, by_rank, done.stderr


def main():
    program = str(pathlib.Path(sys.argv[1], "tsl").resolve())
    count = int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    failed, ran, errors = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            made = Program(seed)
            script = pathlib.Path(folder, "program.tsl")
            script.write_text(made.text())
            ranks = 2 + seed % 2
            outcomes = [outcome(program, str(script), ranks, tier) for tier in TIERS]
            hangs = None in outcomes
            wrong = not made.fails_alone and (len({(code, *lines) for code, lines, _ in outcomes if code is not None}) != 1
                                              if not hangs else False)
            unclear = not hangs and any(code not in (0, 1, 3, 70) for code, _, _ in outcomes)
            ran += 1
            errors += not hangs and outcomes[0][0] != 0
            if not (hangs or wrong or unclear):
                continue
            failed += 1
            print(f"FAILED: seed {seed}, {ranks} ranks{', hangs' if hangs else ''}\n{made.text()}")
            for tier, each in zip(TIERS, outcomes):
                print("---", *tier, each and each[0], each and each[2][:2000])
                if each:
                    print("\n".join(each[1])[:4000])
    print(f"random programs of ranks: {ran - failed} passed, {failed} failed; {errors} ended in an error")
    sys.exit(1 if failed or not ran else 0)


main()
