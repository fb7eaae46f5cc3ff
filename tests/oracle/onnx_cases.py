"""Cases of the ONNX backend's node tests (PyPI: onnx), translated by onnx_table.py."""

import collections
import json
import os
import warnings

import numpy as np

from oracle import Section, encode
import onnx_attention  # noqa: F401, adds rules
import onnx_images  # noqa: F401, adds rules
import onnx_layers  # noqa: F401, adds rules
import onnx_lists  # noqa: F401, adds rules
import onnx_moves  # noqa: F401, adds rules
import onnx_signals  # noqa: F401, adds rules
from onnx_table import NAMES, RULES, CannotSay, Several, dtype_name, literal, reason_of

MOST_BYTES = int(os.environ.get("MOST_BYTES", 12000))  # of a case; larger ones repeat what smaller ones show


class Node:
    """One node of a graph, as the rules see it."""

    def __init__(self, node, texts, values, graph):
        import onnx
        self.op, self.inputs, self.all_outputs = node.op_type, list(node.input), list(node.output)
        self.outputs = [o for o in node.output if o]
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        self.texts, self.values, self.graph = texts, values, graph

    def __getitem__(self, i):
        return self.texts[self.inputs[i]] if self.has(i) else ""

    def has(self, i):
        return i < len(self.inputs) and bool(self.inputs[i])

    def value(self, i):
        return np.asarray(self.values[self.inputs[i]])

    array = value

    def items(self, i):
        return self.values[self.inputs[i]]

    def output(self, i=0):
        return np.asarray(self.values[self.outputs[i]])

    def attr(self, name, default):
        return self.attributes.get(name, default)


class Translation:
    """The lines of a function that computes a graph; graphs within it, whose conditions are known, are unrolled."""

    def __init__(self, model):
        self.model, self.lines = model, []

    def known_values(self, nodes, inits, values):
        """All values of nodes, by ONNX's own evaluator."""
        import onnx
        from onnx.reference import ReferenceEvaluator
        made = list(dict.fromkeys(o for node in nodes for o in node.output if o))
        read = [name for name in values if name not in made]
        graph = onnx.helper.make_graph(nodes, "part", [onnx.ValueInfoProto(name=n) for n in read],
                                       [onnx.ValueInfoProto(name=n) for n in made], inits)
        model = onnx.helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        results = ReferenceEvaluator(model).run(None, {n: values[n] for n in read})
        return {**values, **dict(zip(made, results))}

    def add(self, text):
        name = f"n{len(self.lines)}"
        self.lines.append((name, text))
        return name

    def nodes(self, nodes, inits, texts, values, results=None):
        import onnx
        values, texts = dict(values), dict(texts)
        for init in inits:
            values[init.name] = onnx.numpy_helper.to_array(init)
            texts[init.name] = literal_tensor(values[init.name])
        if results is not None and len(nodes) == 1:
            values.update(zip([o for o in nodes[0].output if o], results))
        else:
            values = self.known_values(nodes, inits, values)
        for node in nodes:
            if node.op_type not in RULES:
                raise CannotSay(reason_of(node.op_type))
            made = RULES[node.op_type](Node(node, texts, values, self))
            outputs = [o for o in node.output if o]
            if isinstance(made, Several):
                name = self.add(made.text)
                made = [f"{name}[{i}]" for i in range(len(outputs))]
            for name, text in zip(outputs, made if isinstance(made, list) else [made]):
                texts[name] = self.add(text)
        return texts, values

    def graph(self, graph, arguments, texts, values):
        """The texts and values of a graph's outputs, for arguments (text, value)."""
        names = [i.name for i in graph.input]
        inner = {**texts, **{n: a[0] for n, a in zip(names, arguments)}}
        known = {**values, **{n: a[1] for n, a in zip(names, arguments)}}
        inner, known = self.nodes(graph.node, graph.initializer, inner, known)
        return [(inner[o.name], known[o.name]) for o in graph.output]


def literal_tensor(x):
    return f"tensor({literal(x)}, dtype: {dtype_name(x)})" if x.size else f"zeros({list(x.shape)}, dtype: {dtype_name(x)})"


def to_array(value):
    import onnx
    if value is None:
        return None
    if isinstance(value, list):
        return [to_array(v) for v in value]
    if hasattr(value, "raw_data"):
        value = onnx.numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise CannotSay("maps")
    if value.dtype.kind not in "OU":
        dtype_name(value)
    return np.asarray(value)


def is_text(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "OU"


def text_literal(x):
    if isinstance(x, np.ndarray) and x.ndim:
        return "[" + ", ".join(text_literal(v) for v in x) + "]"
    v = x.item() if isinstance(x, np.ndarray) else x
    return json.dumps(v.decode() if isinstance(v, bytes) else str(v), ensure_ascii=False)


def wide(x):
    """The elements as the case files write them: floats as f64."""
    return x.astype(np.float64) if NAMES[x.dtype.name] in ("f16", "bf16", "f32", "f64") else x


def input_text(section, x):
    if x is None:
        return "nil"
    if isinstance(x, list):
        return "[" + ", ".join(input_text(section, v) for v in x) + "]"
    if is_text(x):
        return text_literal(x)
    name = f"x{len(section.inputs)}"  # no rule names a variable so
    section.inputs.append((name, encode((dtype_name(x), wide(x)))))
    return name


def flat(x):
    return [] if x is None else [v for item in x for v in flat(item)] if isinstance(x, list) else [x]


def translate(case, inputs, outputs):
    graph = case.model.graph
    section = Section(case.name)
    values = {i.name: to_array(x) for i, x in zip(graph.input, inputs)}
    results = [to_array(x) for x in outputs]
    texts = {name: input_text(section, x) for name, x in values.items()}
    translation = Translation(case.model)
    texts, _ = translation.nodes(list(graph.node), graph.initializer, texts, values, results)
    lines, used, wanted = translation.lines, [], []
    for o, y in zip(graph.output, results):
        texts_are = is_text(y)
        used.append(f"tensor({texts[o.name]} == {text_literal(y)})" if texts_are else texts[o.name])
        wanted += [("bool", np.array(True))] if texts_are else [(dtype_name(v), wide(v)) for v in flat(y)]
    if len(lines) == 1 and not lines[0][1].startswith("{") and used == ["n0"] and not isinstance(results[0], list):
        body = lines[0][1]
    else:
        body = "{ " + "; ".join(f"let {name} = " + (f"(fn() {block_of(text)})()" if text.startswith("{ ") else text)
                                for name, text in lines) + f"; return ({', '.join(used)},) }}"
    counts = graph.node[0].op_type in ("Shape", "Size", "Constant") or any(map(is_text, results)) or \
        any(node.op_type in WITHOUT_OPS for node in graph.node)
    tolerance = "same" if counts and len(graph.node) == 1 else "rough" if case.name in ROUNDED else "onnx"
    section.case(tolerance, body, *wanted)
    if sum(map(len, section.cases)) + sum(len(v) for _, v in section.inputs) > MOST_BYTES:
        raise CannotSay("larger than %d bytes as text" % MOST_BYTES)
    return section


# Cases whose references have four digits.
ROUNDED = ("test_averagepool_2d_ceil_last_window_starts_on_pad", "test_gridsample_bicubic", "test_roialign_aligned_false",
           "test_roialign_aligned_true")

# Operators of lists, of which no op may be called.
WITHOUT_OPS = ("Identity", "OptionalHasElement", "OptionalGetElement", "If", "SequenceMap", "SequenceInsert", "LabelEncoder",
               "SplitToSequence", "Loop", "StringSplit", "RegexFullMatch", "Equal", "TfIdfVectorizer")


def block_of(text):
    head, last = text[:-2].rsplit("; ", 1)
    return head + "; return " + last + " }"


def sections(_):
    warnings.filterwarnings("ignore")
    from onnx.backend.test.case.node import collect_testcases
    made, reasons = [], collections.defaultdict(list)
    for case in collect_testcases(None):
        try:
            inputs, outputs = case.data_sets[0]
            made.append(translate(case, inputs, outputs))
        except CannotSay as why:
            reasons[str(why)].append(case.name)
        except Exception as problem:  # ONNX's evaluator knows less than its tests
            reasons[f"{type(problem).__name__}: {problem}"[:100]].append(case.name)
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "onnx_left_out.txt"), "w", encoding="utf-8") as file:
        count = sum(map(len, reasons.values()))
        file.write(f"# Made by generate.py: {count} node tests of ONNX that have no case, {len(made)} that have one.\n")
        for why, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
            file.write(f"{why} ({len(names)})\n" + "".join(f"  {name}\n" for name in sorted(names)))
    return made
