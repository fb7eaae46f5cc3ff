"""Functions of Python whose texts are TSL: @tsl.script."""
import ast
import functools
import inspect
import os
import re
import textwrap
import threading

from ._engine import Engine
from ._values import Function

_TYPES = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "record", complex: "complex"}
_own = threading.local()  # the engine of a thread, and its process


def _engine_of_thread():
    if getattr(_own, "process", None) != os.getpid():
        _own.engine, _own.process = Engine(), os.getpid()
    return _own.engine


def script(source=None, *, engine=None, compile=False):
    """Makes a function of TSL, which Python calls.

    Of a text, it is the text's value, or the function that the text declares last: tsl.script("fn f(x) = x * 2.0").
    As a decorator, of a function of Python whose docstring is TSL: an expression, or statements with `return`. Its
    parameters are those of the function; annotations are texts such as "f32[n]", and defaults are constants:

        @tsl.script
        def scale(x: "f32[n]", by: "float" = 2.0) -> "f32[n]":
            "x * by"

    engine: that the function belongs to; by default one of the thread's own. compile: as `@compile` in front of it.
    """
    if source is None:
        return functools.partial(script, engine=engine, compile=compile)
    engine = engine or _engine_of_thread()
    if isinstance(source, str):
        return _declared(engine, source)
    if not callable(source):
        raise TypeError(f"script() takes a text or a function of Python, not {type(source).__name__}")
    text, file = _text_of(source, "@compile " if compile else "")
    engine.run(text, file)
    function = engine.get(source.__name__)
    return functools.update_wrapper(function, source)


def _declared(engine, text):
    value = engine.run(text, "<script>", convert=False)
    names = re.findall(r"^(?:@compile\s+)?fn\s+(\w+)", text, re.M)
    if not isinstance(value, Function) and names:
        value = engine.get(names[-1])
    if not isinstance(value, Function):
        raise TypeError("the text of a script declares a function, or its last expression is one")
    return value


def _text_of(function, prefix):
    """Returns the declaration in TSL of a function of Python, in the lines where its docstring stands, and its file."""
    body = function.__doc__
    if not body or not body.strip():
        raise TypeError(f"{function.__name__}() has no docstring, which is to be its text in TSL")
    signature = inspect.signature(function)
    parameters = ", ".join(_parameter(each) for each in signature.parameters.values())
    result = signature.return_annotation
    head = f"{prefix}fn {function.__name__}({parameters})" + ("" if result is signature.empty else f" -> {_annotation(result)}")
    file, line = _place(function)
    is_block = re.search(r"^\s*return\b", body, re.M)
    text = f"{head} {{ {body}\n}}" if is_block else f"{head} = ({body}\n)"
    return "\n" * (line - 1) + text, file


def _place(function):
    """Returns the file of a function and the line where its docstring begins, which errors are to show."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        return inspect.getsourcefile(function), first - 1 + tree.body[0].body[0].value.lineno
    except (OSError, TypeError, SyntaxError):  # it was typed at a prompt
        return "<script>", 1


def _parameter(parameter):
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise TypeError(f"a function of TSL has no parameter like *{parameter.name}")
    text = parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    return text if parameter.default is parameter.empty else f"{text} = {_constant(parameter.default)}"


def _annotation(annotation):
    if annotation is None:
        return "nil"
    if annotation in _TYPES:
        return _TYPES[annotation]
    if not isinstance(annotation, str):
        raise TypeError(f"an annotation of a script is a text in TSL, such as \"f32[n]\", not {annotation!r}")
    if annotation[:1] in "\"'":  # under `from __future__ import annotations`
        return ast.literal_eval(annotation)
    return next((name for kind, name in _TYPES.items() if kind.__name__ == annotation), "nil" if annotation == "None" else annotation)


def _constant(value):
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + re.sub(r'[\\"]', r"\\\g<0>", value).replace("\n", "\\n") + '"'
    raise TypeError(f"a default of a script is a constant: None, a bool, a number or a str, not {type(value).__name__}")
