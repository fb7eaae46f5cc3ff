"""Reads and writes stored costs (expected.txt), and names what differs from measured ones.

A line of the file is a row; a function of a row is indented below it:

    from COMPILER ...                           what instruction counts depend on
    instructions ROW FIGURE                     for each turn
        FIGURE FUNCTION                         of these, without those of its callees
    launched CASE COUNT                         kernels that the case launches
    kernel CASE SPECIALISATION NUMBER SYMBOL DIGEST
"""
import difflib
from dataclasses import dataclass, field

TOLERANCE = 0.02  # counts differ a little between runs: hash tables, lengths of paths, what malloc keeps
SLACK = 3  # instructions
LEAST_STORED = 0.01  # functions with a smaller part of a row are not stored
MOST_FUNCTIONS = 5


@dataclass
class Costs:
    machine: str = ""
    instructions: dict = field(default_factory=dict)  # of a row: (figure, {function: figure})
    launched: dict = field(default_factory=dict)  # of a case: count
    kernels: dict = field(default_factory=dict)  # of (case, specialisation): [(symbol, digest)]


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    lines: list = field(default_factory=list)  # what changed
    skipped: dict = field(default_factory=dict)  # reason: number of rows

    def skip(self, reason, rows=1):
        self.skipped[reason] = self.skipped.get(reason, 0) + rows

    def judge(self, lines):
        """Counts a row, which has failed if lines say so."""
        self.passed += not lines
        self.failed += bool(lines)
        self.lines += lines


def read(text):
    costs = Costs()
    functions = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] == " ":
            figure, function = line.strip().split(" ", 1)
            functions[function] = float(figure)
            continue
        kind, rest = line.split(" ", 1)
        if kind == "from":
            costs.machine = rest
        elif kind == "instructions":
            row, figure = rest.split()
            functions = {}
            costs.instructions[row] = (float(figure), functions)
        elif kind == "launched":
            case, count = rest.split()
            costs.launched[case] = int(count)
        elif kind == "kernel":
            case, specialisation, _, symbol, digest = rest.split()
            costs.kernels.setdefault((case, specialisation), []).append((symbol, digest))
        else:
            raise ValueError(f"no such row: {line}")
    return costs


def write(costs, heading):
    lines = ["# " + line for line in heading.splitlines()]
    lines.append(f"from {costs.machine}")
    for row, (figure, functions) in sorted(costs.instructions.items()):
        lines.append(f"instructions {row} {figure:.1f}")
        functions = large(functions, figure)
        lines += [f"    {of:.1f} {function}" for function, of in sorted(functions.items(), key=lambda f: (-f[1], f[0]))]
    for case, count in sorted(costs.launched.items()):
        lines.append(f"launched {case} {count}")
    for (case, specialisation), kernels in sorted(costs.kernels.items()):
        lines += [f"kernel {case} {specialisation} {n} {symbol} {digest}" for n, (symbol, digest) in enumerate(kernels, 1)]
    return "\n".join(lines) + "\n"


def large(functions, figure):
    return {name: of for name, of in functions.items() if abs(of) >= LEAST_STORED * figure}


def percent(old, new):
    return f"{100 * (new - old) / old:+.1f} %" if old else "new"


def functions_that_changed(old, new, figure):
    """Names the functions whose instructions changed most. Small ones were not stored."""
    names = sorted(set(old) | set(large(new, figure)), key=lambda f: -abs(new.get(f, 0) - old.get(f, 0)))
    text = lambda costs, name: f"{costs[name]:,.1f}" if name in costs else "-"
    return [f"    {text(old, f)} -> {text(new, f)}  {f}" for f in names[:MOST_FUNCTIONS] if old.get(f) != new.get(f)]


def compare_instructions(old, new, result):
    for row, (figure, functions) in sorted(new.instructions.items()):
        if row not in old.instructions:
            result.judge([f"instructions {row}: {figure:,.1f}, which no figure is stored for"])
        elif old.machine != new.machine:
            result.skip(f"instruction counts of {old.machine} are not comparable with those of {new.machine}")
        else:
            before, functions_before = old.instructions[row]
            changed = abs(figure - before) > max(TOLERANCE * before, SLACK)
            lines = [f"instructions {row}: {before:,.1f} -> {figure:,.1f} a turn ({percent(before, figure)})"]
            lines += functions_that_changed(functions_before, functions, figure)
            if changed and figure < before:
                lines[0] += "; less, so store it with --update"
            result.judge(lines if changed else [])


def compare_launched(old, new, result):
    for case, count in sorted(new.launched.items()):
        before = old.launched.get(case)
        result.judge([] if count == before else [f"launched {case}: {before} -> {count} kernels"])


def name_of(kernel):
    """Returns what a kernel computes: its symbol without the hash of its text."""
    return kernel[0].rsplit("__", 1)[0]


def compare_kernels(old, new, cases, result, hint_of):
    """`hint_of(case, specialisation, symbol before, symbol)` gives lines that show how a text changed."""
    gone = [key for key in old.kernels if key[0] in cases and key not in new.kernels]
    for key in sorted(list(new.kernels) + gone):
        before, now = old.kernels.get(key, []), new.kernels.get(key, [])
        where = " ".join(key)
        if not before or not now:
            result.judge([f"kernels {where}: {len(before)} -> {len(now)}"])
            continue
        lines = []
        matcher = difflib.SequenceMatcher(None, [name_of(k) for k in before], [name_of(k) for k in now], autojunk=False)
        for change, a, b, c, d in matcher.get_opcodes():
            if change != "equal":
                lines += [f"kernel {where}: {symbol} is gone" for symbol, _ in before[a:b]]
                lines += [f"kernel {where}: {symbol} is new" for symbol, _ in now[c:d]]
                continue
            for (was, old_digest), (symbol, digest) in zip(before[a:b], now[c:d]):
                if digest != old_digest:
                    lines.append(f"kernel {where}: the text of {was} changed" + (f"; it is {symbol} now" if symbol != was else ""))
                    lines += ["    " + line for line in hint_of(*key, was, symbol)]
        result.judge(lines)


def compare(old, new, cases=(), hint_of=lambda *_: []):
    """Compares what was measured, which may be a part, with what is stored. `cases`: those whose kernels were read."""
    result = Result()
    compare_instructions(old, new, result)
    compare_launched(old, new, result)
    compare_kernels(old, new, cases, result, hint_of)
    return result


def merge(old, new, cases=()):
    """Replaces what was measured in what is stored. Counts of another machine are replaced as a whole."""
    costs = Costs(new.machine or old.machine, dict(old.instructions), dict(old.launched), dict(old.kernels))
    if new.instructions and new.machine != old.machine:
        costs.instructions = {}
    if not new.instructions:
        costs.machine = old.machine
    costs.instructions.update(new.instructions)
    costs.kernels = {key: kernels for key, kernels in costs.kernels.items() if key[0] not in cases}
    costs.launched.update(new.launched)
    costs.kernels.update(new.kernels)
    return costs
