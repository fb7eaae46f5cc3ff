"""Cases of the ONNX backend's node tests (PyPI: onnx), translated by onnx_table.py."""

import collections
import os
import warnings

import numpy as np

from oracle import Section
import onnx_layers  # noqa: F401, adds rules
import onnx_moves  # noqa: F401, adds rules
from onnx_table import NAMES, RULES, CannotSay, dtype_name, reason_of

MOST_BYTES = 12000  # of a case; larger ones repeat what smaller ones show


class Node:
    """One node of a graph, as the rules see it."""

    def __init__(self, node, texts, values):
        import onnx
        self.op, self.inputs, self.outputs = node.op_type, list(node.input), [o for o in node.output if o]
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        self.texts, self.values = texts, values
        if node.op_type in ("Loop", "If", "Scan", "SequenceMap"):
            raise CannotSay("graphs within graphs")

    def __getitem__(self, i):
        return self.texts[self.inputs[i]] if self.inputs[i] else ""

    def value(self, i):
        return np.asarray(self.values[self.inputs[i]])

    array = value

    def output(self, i=0):
        return np.asarray(self.values[self.outputs[i]])

    def attr(self, name, default):
        return self.attributes.get(name, default)


def known_values(model, inputs):
    """All values of a graph, by ONNX's own evaluator; of a single node only its inputs and outputs are needed."""
    import onnx
    from onnx.reference import ReferenceEvaluator
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    for name in dict.fromkeys(o for node in model.graph.node for o in node.output if o):
        copy.graph.output.append(onnx.ValueInfoProto(name=name))
    names = [o.name for o in copy.graph.output]
    return dict(zip(names, ReferenceEvaluator(copy).run(None, inputs)))


def to_array(value):
    if hasattr(value, "raw_data"):
        import onnx
        value = onnx.numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise CannotSay("sequences, optional values and maps")
    dtype_name(value)
    return np.asarray(value)


def wide(x):
    """The elements as the case files write them: floats as f64."""
    return x.astype(np.float64) if NAMES[x.dtype.name] in ("f16", "bf16", "f32", "f64") else x


def translate(case, inputs, outputs):
    graph = case.model.graph
    section = Section(case.name)
    values = {i.name: to_array(x) for i, x in zip(graph.input, inputs)}
    if len(values) > 20:
        raise CannotSay("too many inputs")
    results = [to_array(x) for x in outputs]
    if len(graph.node) == 1 and graph.node[0].op_type in ("Shape", "Size", "Constant"):
        raise CannotSay("nothing to compute: a constant, or a shape")
    missing = sorted({node.op_type for node in graph.node} - set(RULES))
    if missing:
        raise CannotSay(reason_of(missing[0]))
    texts = {name: section.input(dtype_name(x), wide(x)).text for name, x in values.items()}
    if len(graph.node) == 1:
        values.update(zip([o.name for o in graph.output], results))
    else:
        values.update(known_values(case.model, values))
    lines = []
    for node in graph.node:
        if node.domain not in ("", "ai.onnx"):
            raise CannotSay("other domains")
        made = RULES[node.op_type](Node(node, texts, values))
        for name, text in zip([o for o in node.output if o], made if isinstance(made, list) else [made]):
            texts[name] = f"n{len(lines)}"
            lines.append((texts[name], text))
    used = ", ".join(texts[o.name] for o in graph.output)
    if len(lines) == 1 and not lines[0][1].startswith("{"):
        body = lines[0][1]
    else:
        body = "{ " + "; ".join(f"let {name} = " + (f"(fn() {block_of(text)})()" if text.startswith("{ ") else text)
                                for name, text in lines) + f"; return ({used},) }}"
    section.case("onnx", body, *[(dtype_name(y), wide(y)) for y in results])
    if sum(map(len, section.cases)) + sum(len(v) for _, v in section.inputs) > MOST_BYTES:
        raise CannotSay("larger than %d bytes as text" % MOST_BYTES)
    return section


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
