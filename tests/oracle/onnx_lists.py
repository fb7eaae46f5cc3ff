"""ONNX operators in TSL, continued: graphs within graphs, lists, texts and tables."""

import numpy as np

from onnx_table import dtype_name, ints, literal, rule


# ---- Graphs within graphs ------------------------------------------------------------------------------------

@rule("If")
def _(n):
    branch = n.attr("then_branch" if n.value(0).item() else "else_branch", None)
    return [f"if {n[0]}.item() {{ {text} }} else {{ nil }}" if n.value(0).item() else text
            for text, _ in n.graph.graph(branch, [], n.texts, n.values)]


@rule("Loop")
def _(n):
    body = n.attr("body", None)
    most = int(n.value(0).item()) if n.has(0) else 1000
    goes_on = bool(n.value(1).item()) if n.has(1) else True
    states = [(n[i], n.items(i)) for i in range(2, len(n.inputs))]
    kept = len(states)
    scans = [[] for _ in body.output[1 + kept:]]
    for i in range(most):
        if not goes_on:
            break
        arguments = [(f"tensor({i})", np.array(i, np.int64)), ("tensor(true)", np.array(True))]
        made = n.graph.graph(body, arguments + states, n.texts, n.values)
        goes_on, states = bool(np.asarray(made[0][1]).item()), made[1:1 + kept]
        for scan, one in zip(scans, made[1 + kept:]):
            scan.append(one[0])
    texts = [s[0] for s in states] + [f"stack([{', '.join(s)}], axis: 0)" for s in scans]
    named = dict(zip(n.all_outputs, texts))
    return [named[o] for o in n.outputs]


def scanned(n, states, sequences):
    body, count = n.attr("body", None), len(states)
    outputs = [[] for _ in body.output[count:]]
    for t in range(len(sequences[0][1])):
        made = n.graph.graph(body, states + [(f"{text}[{t}]", x[t]) for text, x in sequences], n.texts, n.values)
        states = made[:count]
        for one, out in zip(outputs, made[count:]):
            one.append(out[0])
    return [s[0] for s in states] + [f"stack([{', '.join(o)}], axis: 0)" for o in outputs]


@rule("Scan")
def _(n):
    count = n.attr("num_scan_inputs", 1)
    first = 1 if not n.inputs[0] else 0  # of operator set 8, with a batch
    given = [(n[i], n.value(i)) for i in range(first, len(n.inputs))]
    if not first:
        return scanned(n, given[:-count], given[-count:])
    made = [scanned(n, [(f"{t}[{b}]", x[b]) for t, x in given[:-count]], [(f"{t}[{b}]", x[b]) for t, x in given[-count:]])
            for b in range(given[0][1].shape[0])]
    return [f"stack([{', '.join(parts)}], axis: 0)" for parts in zip(*made)]


@rule("SequenceMap")
def _(n):
    body = n.attr("body", None)
    made = []
    for k, x in enumerate(n.items(0)):
        others = [(f"{n[i]}[{k}]", n.items(i)[k]) if isinstance(n.items(i), list) else (n[i], n.items(i))
                  for i in range(1, len(n.inputs))]
        made.append(n.graph.graph(body, [(f"{n[0]}[{k}]", x)] + others, n.texts, n.values))
    return [f"[{', '.join(one[0] for one in part)}]" for part in zip(*made)]


# ---- Lists ---------------------------------------------------------------------------------------------------

@rule("SequenceEmpty")
def _(n):
    return "[]"


@rule("SequenceConstruct")
def _(n):
    return f"[{', '.join(n[i] for i in range(len(n.inputs)))}]"


@rule("SequenceInsert")
def _(n):
    at = f"{n[2]}.item()" if n.has(2) else f"len({n[0]})"
    return f"{n[0]}[:{at}] + [{n[1]}] + {n[0]}[{at}:]"


@rule("SequenceAt")
def _(n):
    return f"{n[0]}[{n[1]}]"


@rule("SequenceLength")
def _(n):
    return f"tensor(len({n[0]}))"


@rule("ConcatFromSequence")
def _(n):
    return f"{'stack' if n.attr('new_axis', 0) else 'concat'}({n[0]}, axis: {n.attr('axis', 0)})"


@rule("SplitToSequence")
def _(n):
    axis, size = n.attr("axis", 0), n.array(0).shape[n.attr("axis", 0)]
    if not n.has(1):
        parts = f"split({n[0]}, {[1] * size}, axis: {axis})"
        return parts if n.attr("keepdims", 1) else f"unstack({n[0]}, {axis})"
    sizes = n.value(1)
    if sizes.ndim == 0:
        k = int(sizes)
        sizes = [min(k, size - i) for i in range(0, size, k)]
    return f"split({n[0]}, {ints(sizes)}, axis: {axis})"


@rule("Optional")
def _(n):
    return n[0] if n.has(0) else "nil"


@rule("OptionalHasElement")
def _(n):
    return f"tensor({n[0] if n.has(0) else 'nil'} != nil)"


@rule("OptionalGetElement")
def _(n):
    return n[0]


# ---- Texts ---------------------------------------------------------------------------------------------------

def parts_of(text, shape):
    """Expressions of the elements of a nested list."""
    return np.array([text + "".join(f"[{i}]" for i in place) for place in np.ndindex(*shape)], dtype=object).reshape(shape)


def nested(x):
    return "[" + ", ".join(nested(v) for v in x) + "]" if isinstance(x, np.ndarray) and x.ndim else str(
        x.item() if isinstance(x, np.ndarray) else x)


@rule("StringConcat")
def _(n):
    a, b = (parts_of(n[i], n.array(i).shape) for i in (0, 1))
    return nested(np.asarray(np.vectorize(lambda x, y: f"{x} + {y}", otypes=[object])(*np.broadcast_arrays(a, b)), dtype=object)) \
        if a.size and b.size else nested(np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=object))


@rule("RegexFullMatch")
def _(n):
    pattern = n.attr("pattern", b"").decode()
    if not n.array(0).size:
        return f"zeros({list(n.array(0).shape)}, dtype: bool)"
    hits = [f'search(r"^(?:{pattern})$", {x}) != nil' for x in parts_of(n[0], n.array(0).shape).ravel()]
    return f"reshape(tensor([{', '.join(hits)}]), {list(n.array(0).shape)})"


@rule("StringSplit")
def _(n):
    by, most = n.attr("delimiter", b"").decode(), n.attr("maxsplit", None)
    shape = n.array(0).shape
    if not n.array(0).size:
        return [nested(np.empty(n.output(0).shape, dtype=object)), f"zeros({list(shape)}, dtype: i64)"]
    arguments = (f', "{by}"' if by else "") + (f", limit: {most}" if most is not None else "")
    split = [f"split({x}{arguments})" for x in parts_of(n[0], shape).ravel()]
    text = f"(fn() {{ let parts = [{', '.join(split)}]; let most = max(map(len, parts)); " \
        f'return (map(fn(p) = p + [""] * (most - len(p)), parts), reshape(tensor(map(len, parts)), {list(shape)})) }})()'
    name = n.graph.add(text)
    width = n.output(0).shape[-1]
    rows = np.array([f"{name}[0][{i}]" for i in range(len(split))], dtype=object).reshape(shape)
    return [nested(rows) if width else nested(rows), f"{name}[1]"]


@rule("StringNormalizer")
def _(n):
    x, stop = n.array(0), [s.decode() for s in n.attr("stopwords", [])]
    case, is_exact = n.attr("case_change_action", b"NONE").decode(), n.attr("is_case_sensitive", 0)
    words = n[0] if x.ndim == 1 else n[0] + "[0]"
    fold = "" if is_exact else ".lower()"
    listed = "[" + ", ".join(f'"{s}"' + fold for s in stop) + "]"
    y = f"filter(fn(s) = not (s{fold} in {listed}), {words})" if stop else words
    if case in ("LOWER", "UPPER"):
        y = f"map({case.lower()}, {y})"
    y = f"(fn() {{ let kept = {y}; return if len(kept) == 0 {{ [\"\"] }} else {{ kept }} }})()"
    return y if x.ndim == 1 else f"[{y}]"


# ---- Tables --------------------------------------------------------------------------------------------------

@rule("LabelEncoder")
def _(n):
    import onnx
    table = {}
    for part in ("keys", "values"):
        given = [a for a in n.attributes if a.startswith(part)]
        v = n.attributes[given[0]]
        table[part] = list(onnx.numpy_helper.to_array(v).ravel()) if hasattr(v, "dims") else list(v)
    y = n.output()
    default = n.attributes.get("default_tensor")
    default = onnx.numpy_helper.to_array(default).item() if default is not None else n.attr("default_int64", -1)
    key = lambda k: '"' + (k.decode() if isinstance(k, bytes) else str(k)) + '"'
    known = ", ".join(f"{key(k)}: {v}" for k, v in zip(table["keys"], table["values"]))
    return f"tensor(map(fn(s) = get([{known}], s, {default}), {n[0]}), dtype: {dtype_name(y)})"


@rule("ArrayFeatureExtractor")
def _(n):
    return f"take({n[0]}, reshape({n[1]}, -1), axis: -1)"


@rule("TfIdfVectorizer")
def _(n):
    counts, pool = n.attr("ngram_counts", []), n.attr("pool_int64s", [])
    index, skips = n.attr("ngram_indexes", []), n.attr("max_skip_count", 0)
    least, most = n.attr("min_gram_length", 1), n.attr("max_gram_length", 1)
    terms = []
    for k, start in enumerate(counts):
        end, width = counts[k + 1] if k + 1 < len(counts) else len(pool), k + 1
        terms += [tuple(pool[i:i + width]) for i in range(start, end, width)]
    rows = n.array(0).shape
    size = max(index) + 1
    lines = [f"let x = {n[0]}", f"var y = zeros({list(rows[:-1]) + [size]})"]
    for term, place in zip(terms, index):
        if not least <= len(term) <= most:
            continue
        for skip in range(skips + 1 if len(term) > 1 else 1):
            length = rows[-1] - (len(term) - 1) * (skip + 1)
            if length > 0:
                hits = " & ".join(f"(x[..., {i * (skip + 1)}:{i * (skip + 1) + length}] == {v})" for i, v in enumerate(term))
                lines.append(f"y[..., {place}] += f32(sum({hits}, axis: -1))")
    return "(fn() { " + "; ".join(lines) + "; return y })()"


@rule("TreeEnsemble")
def _(n):
    import onnx
    array = lambda name: onnx.numpy_helper.to_array(n.attributes[name]).ravel().tolist()
    modes, splits, weights = array("nodes_modes"), array("nodes_splits"), array("leaf_weights")
    members = array("membership_values") if "membership_values" in n.attributes else []
    sets, at = {}, 0
    for i, mode in enumerate(modes):
        if mode == 6:
            end = next(j for j in range(at, len(members)) if np.isnan(members[j]))
            sets[i], at = members[at:end], end + 1
    kind, targets = dtype_name(n.array(0)), n.attr("n_targets", 1)

    def leaf(i):
        row = [0.0] * targets
        row[n.attributes["leaf_targetids"][i]] = weights[i]
        return f"tensor({literal(row)}, dtype: {kind})"

    def tree(i):
        x = f"x[:, {n.attributes['nodes_featureids'][i]}:{n.attributes['nodes_featureids'][i] + 1}]"
        test = " | ".join(f"({x} == {v!r})" for v in sets[i]) if modes[i] == 6 else \
            f"{x} {['<=', '<', '>=', '>', '==', '!='][modes[i]]} {splits[i]!r}"
        sides = [leaf(n.attributes[f"nodes_{s}nodeids"][i]) if n.attributes[f"nodes_{s}leafs"][i] else
                 tree(n.attributes[f"nodes_{s}nodeids"][i]) for s in ("true", "false")]
        return f"where({test}, {sides[0]}, {sides[1]})"
    return f"(fn() {{ let x = {n[0]}; return {' + '.join(tree(r) for r in n.attributes['tree_roots'])} }})()"
