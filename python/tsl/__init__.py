"""TSL, a tensor scripting language, in Python.

    import tsl

    engine = tsl.Engine()
    engine.run("fn f(x) = x * 2.0 + 1.0")
    engine.call("f", 20.5)              # 42.0
    engine.call("f", numpy.ones(3))     # a tsl.Tensor; numpy.asarray() of it shares its memory
"""
from ._engine import Engine
from ._library import Error, Frame, version as __version__
from ._script import script
from ._values import Function, Tensor, Value

__all__ = ["Engine", "Error", "Frame", "Function", "Tensor", "Value", "__version__", "script"]
