"""Functions of Python whose docstrings are TSL, and what type checkers are told of the package."""
import ast
import copy
import inspect
import os
import pathlib
import subprocess
import sys
import threading
import unittest

import tsl


@tsl.script
def scale(x: "f32[n]", by: "float | int" = 2.0) -> "f32[n]":
    "x * by"


@tsl.script(compile=True)
def centred(x):
    """
    let mean = sum(x) / len(x)
    return x - mean
    """


class Scripts(unittest.TestCase):
    def test_a_docstring_is_a_function(self):
        ones = tsl.script("fn() = ones([3])")()
        self.assertEqual([scale(ones).tolist(), scale(ones, by=3).tolist(), scale(by=0.5, x=ones).tolist()],
                         [[2.0] * 3, [3.0] * 3, [0.5] * 3])
        self.assertEqual(centred(tsl.script("fn() = tensor([1.0, 3.0])")()).tolist(), [-1.0, 1.0])
        self.assertEqual((scale.__name__, scale.__doc__, list(inspect.signature(scale).parameters)), ("scale", "x * by", ["x", "by"]))
        self.assertIsInstance(copy.copy(scale), tsl.Function)

    def test_parameters_are_checked_as_the_language_does(self):
        for call, said in ((lambda: scale(), "'x'"), (lambda: scale(1.0), "'x'"), (lambda: scale(x=1, of=2), "'of'")):
            with self.assertRaisesRegex(tsl.Error, said):
                call()

    def test_an_error_has_its_place_in_the_file_of_python(self):
        @tsl.script
        def fails(x):
            """
            let y = x + 1
            return y + [1]
            """
        line = inspect.currentframe().f_lineno - 2
        with self.assertRaises(tsl.Error) as caught:
            fails(1)
        self.assertEqual((os.path.basename(caught.exception.file), caught.exception.line), (os.path.basename(__file__), line))

    def test_defaults_and_annotations_are_those_of_the_language(self):
        @tsl.script
        def told(a: int, b: bool = True, c: str = 'say "{a}"\\n', d=None, e: float = -1.5) -> "str":
            'f"{a} {b} {d} {e} " + c'
        self.assertEqual(told(1), '1 true nil -1.5 say "{a}"\\n')
        for wrong in (lambda x=[1]: None, lambda *x: None, lambda **x: None):
            wrong.__doc__ = "1"
            with self.assertRaisesRegex(TypeError, "a default of a script|no parameter like"):
                tsl.script(wrong)
        with self.assertRaisesRegex(TypeError, "has no docstring"):
            tsl.script(lambda x: None)

    def test_a_text_is_a_function(self):
        engine = tsl.Engine()
        f = tsl.script("fn helper(x) = x + 1\nfn f(x) = helper(x) * 2", engine=engine)
        self.assertEqual([f(1), tsl.script("fn(x) = x", engine=engine)(3), engine.call("helper", 1)], [4, 3, 2])
        for wrong in ("1 + 1", "let x = 2", 5):
            with self.assertRaises(TypeError):
                tsl.script(wrong)

    def test_each_thread_has_an_engine_for_its_scripts(self):
        results = []
        thread = threading.Thread(target=lambda: results.append(tsl.script("fn(x) = x + 1")(1)))
        thread.start()
        thread.join()
        self.assertEqual(results, [2])


class Stubs(unittest.TestCase):
    def test_the_stubs_name_what_the_package_has(self):
        text = pathlib.Path(tsl.__file__).with_name("__init__.pyi").read_text()
        classes, functions = {}, set()
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
            elif isinstance(node, ast.FunctionDef):
                functions.add(node.name)
        self.assertEqual(set(classes) | functions | {"__version__"}, set(tsl.__all__))
        self.assertTrue(pathlib.Path(tsl.__file__).with_name("py.typed").exists())
        for name in ("Engine", "Function", "Tensor", "Value"):
            cls = getattr(tsl, name)
            methods = {each.name: each for each in classes[name].body if isinstance(each, ast.FunctionDef)}
            public = {each for base in cls.__mro__[:-1] for each in vars(base) if not each.startswith("_")}
            inherited = {each.name for each in classes["Value"].body if isinstance(each, ast.FunctionDef)}
            self.assertEqual(public - set(methods) - inherited, set(), name)
            for method, node in methods.items():
                self.assertTrue(hasattr(cls, method), (name, method))
                self.compare(getattr(cls, method), node)
        self.compare(tsl.Engine.__init__, next(each for each in classes["Engine"].body if getattr(each, "name", "") == "__init__"))

    def compare(self, function, node):
        if not inspect.isfunction(function):
            return
        given = [name for name, each in inspect.signature(function).parameters.items() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        told = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
        self.assertEqual(given[1:], told[1:], node.name)

    def test_mypy_finds_no_mistake(self):
        if subprocess.run([sys.executable, "-c", "import mypy"], capture_output=True).returncode:
            self.skipTest("mypy is not installed")
        stub = pathlib.Path(tsl.__file__).with_name("__init__.pyi")
        code = "import tsl\ne = tsl.Engine(threads=1)\nx: tsl.Tensor = e.tensor([1]) + 1\ny: int = len(x)\nf: tsl.Function = tsl.script('fn(x) = x')\n"
        for arguments in (["--strict", str(stub)], ["--strict", "-c", code]):
            done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull, *arguments], capture_output=True, text=True,
                                  env={**os.environ, "MYPYPATH": str(stub.parents[1])})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
