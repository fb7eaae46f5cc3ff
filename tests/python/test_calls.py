"""The calls of the Python package that its extension makes where it was built, and ctypes elsewhere: here both, one after the other."""
import array
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref

import tsl
from tsl import _library


class Calls(unittest.TestCase):
    def setUp(self):
        self.engine = tsl.Engine()
        self.engine.run("fn same(x) = x\nfn add(a, b = 1) = a + b\nfn all_of(a, b, c, d, e, f, g, h, i) = [a, b, c, d, e, f, g, h, i]")
        self.same, self.add = self.engine.get("same"), self.engine.get("add")

    def test_the_extension_beside_the_library_is_used(self):
        beside = os.path.join(os.path.dirname(_library._path()), "_fast.abi3.so")
        self.assertEqual(_library.fast is not None, os.path.exists(beside) and "TSL_CTYPES" not in os.environ)

    def test_values_come_back_as_they_went(self):
        for value in (None, True, False, 0, -1, 2**63 - 1, -(2**63), 1.5, float("inf"), "", "hé\0é", 1 + 2j, [1, [2.5]], (), (1,), {"a": 1}, {1: 2}):
            result = self.same(value)
            self.assertEqual((result, type(result)), (value, type(value)))
        self.assertEqual([self.same(range(3)), self.same({1})], [[0, 1, 2], {1: True}])

    def test_arguments_have_names_and_may_be_many(self):
        self.assertEqual([self.add(2), self.add(2, b=3), self.add(b=3, a=2.0)], [3, 5, 5.0])
        self.assertEqual(self.engine.call("add", 1, b=4), 5)
        self.assertEqual(self.engine.call("all_of", *range(8), i=8), list(range(9)))
        self.assertEqual(self.engine.call("all_of", *range(7), h=7, i=8), list(range(9)))
        with self.assertRaisesRegex(tsl.Error, "'é'"):
            self.add(1, **{"é": 2})

    def test_references_go_and_come_without_a_copy(self):
        tensor = self.engine.run("ones([2, 3], f64)")
        result = self.same(tensor)
        self.assertEqual((result.shape, result.dtype, type(result)), ((2, 3), "f64", tsl.Tensor))
        self.assertEqual(result.__array_interface__["data"], tensor.__array_interface__["data"])
        self.assertEqual(self.same(self.same)(3), 3)
        self.assertEqual(repr(self.same(self.engine.run("f32", convert=False))), "f32")
        self.engine.close()
        self.assertEqual(result.shape, (2, 3))  # which is known after the end, too

    def test_values_of_another_engine_are_copied_or_refused(self):
        other = tsl.Engine()
        self.assertEqual(self.same(other.run("arange(3)")).tolist(), [0, 1, 2])
        with self.assertRaisesRegex(ValueError, "another engine's"):
            self.same(other.run("fn(x) = x"))

    def test_what_fails_is_raised_and_the_next_call_works(self):
        with self.assertRaises(tsl.Error) as caught:
            self.add(1, "a")
        self.assertEqual((caught.exception.kind, caught.exception.line), ("type", 2))
        for wrong, error in ((2**63, OverflowError), ("\ud800", UnicodeEncodeError), (object(), TypeError)):
            with self.assertRaises(error):
                self.add(1, wrong)
            with self.assertRaises(error):
                self.add(a=1, b=wrong)
        self.assertEqual(self.add(1, 2), 3)

    def test_a_builtin_class_may_be_a_type_of_the_program(self):
        self.engine.type(float, "Number")
        self.engine.run("fn kind(x) = type(x)")
        self.assertEqual([self.engine.call("kind", 1.5), self.engine.call("kind", 1)], ["Number", "int"])
        self.assertEqual(self.same(2.5), 2.5)

    def test_natives_and_their_exceptions_pass_calls_within_calls(self):
        @self.engine.define("again(x)")
        def again(x):
            if x == 0:
                raise KeyError("deep")
            return self.add(self.engine.call("again", x - 1))

        with self.assertRaises(tsl.Error) as caught:
            self.engine.call("again", 3)
        causes, error = 0, caught.exception
        while error.__cause__ is not None:
            causes, error = causes + 1, error.__cause__
        self.assertEqual((causes, type(error)), (4, KeyError))
        self.assertEqual(self.same(1), 1)

    def test_elements_of_every_dtype(self):
        for dtype, value in (("u8", 200), ("i8", -3), ("i16", -300), ("i32", -70000), ("i64", -(2**40)), ("u16", 60000), ("u32", 2**32 - 1),
                             ("f16", 0.5), ("bf16", 0.5), ("f32", 0.25), ("f64", 0.1)):
            self.is_element(self.engine.run(f"{dtype}([{value}])"), dtype, value)
        self.is_element(self.engine.run("tensor([true])"), "bool", True)
        self.is_element(self.engine.tensor(array.array("Q", [2**64 - 1])), "u64", 2**64 - 1)
        self.is_element(self.engine.run("tensor([complex(1.0, 2.0)])"), "c64", 1 + 2j)
        for count in (0, 2):
            with self.assertRaisesRegex(ValueError, f"this one has {count}"):
                self.engine.run(f"ones([{count}])").item()

    def is_element(self, tensor, dtype, value):
        self.assertEqual((tensor.dtype, tensor.item(), type(tensor.item())), (dtype, value, type(value)))

    def test_references_are_released_and_collected(self):
        live = self.engine.memory()["live"]
        for _ in range(3):
            tensor = self.same(self.engine.run("ones([1000])"))
        del tensor
        self.assertEqual(self.engine.memory()["live"], live)
        circle = self.same(self.engine.run("ones([1000])"))
        circle.myself = circle
        del circle
        gc.collect()
        self.assertEqual(self.engine.memory()["live"], live)
        gone, self.engine, self.same, self.add = weakref.ref(self.engine), None, None, None
        gc.collect()
        self.assertIsNone(gone())

    def test_another_thread_is_refused_while_one_runs(self):
        begun, done, results = threading.Event(), threading.Event(), []
        self.engine.define("hold()", lambda: (begun.set(), done.wait(), None)[2])
        hold = self.engine.get("hold")
        thread = threading.Thread(target=lambda: results.append(hold()))
        thread.start()
        begun.wait()
        for refused in (lambda: self.same(1), lambda: self.engine.get("same")):
            with self.assertRaisesRegex(tsl.Error, "another thread uses the engine"):
                refused()
        done.set()
        thread.join()
        self.assertEqual((results, self.same(1)), ([None], 1))

    def test_a_signal_ends_a_call_and_is_passed_on(self):
        def raise_late(*_):
            raise TimeoutError("late")

        forever, hook = self.engine.run("fn() { var i = 0\nwhile true { i = i + 1 } }"), sys.unraisablehook
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        before = signal.signal(signal.SIGALRM, raise_late), signal.set_wakeup_fd(writer)
        try:
            for _ in range(3):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                begun = time.monotonic()
                with self.assertRaisesRegex(TimeoutError, "late"):
                    forever()
                self.assertLess(time.monotonic() - begun, 5)
                self.assertEqual((os.read(reader, 9), self.same(1)), (bytes([signal.SIGALRM]), 1))
            self.assertEqual((sys.unraisablehook, signal.set_wakeup_fd(before[1])), (hook, writer))
        finally:
            signal.signal(signal.SIGALRM, before[0])
            signal.set_wakeup_fd(before[1])
            os.close(reader)
            os.close(writer)

    def test_a_call_after_the_end_is_refused(self):
        tensor = self.engine.run("ones([1])")
        self.engine.close()
        for refused in (lambda: self.same(1), tensor.item, lambda: self.engine.get("same")):
            with self.assertRaises(tsl.Error) as caught:
                refused()
            self.assertEqual(caught.exception.kind, "misuse")

    def test_a_fork_refuses_the_engine_and_makes_its_own(self):
        self.same(1)
        child = os.fork()
        if child == 0:
            try:
                self.same(1)
            except tsl.Error as error:
                os._exit(0 if error.kind == "misuse" and tsl.Engine().run("fn(x) = x")(3) == 3 else 1)
            os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if hasattr(os, "waitstatus_to_exitcode") else 0, 0)

    def test_the_end_of_python_prints_nothing(self):
        code = ("import tsl, sys\ne = tsl.Engine()\nf = e.run('fn(x) = x')\nt = f(e.run('ones([3])'))\n"
                "class Late:\n  def __init__(self): self.t = f(t); self.me = self\n"
                "sys.modules['late'] = Late()\nkept = t.__dlpack__()\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_names_of_a_script_change_no_operator(self):
        t = self.engine.run("tensor([-1, 2, 3])")
        self.engine.run("fn abs(x) = 7\nfn any(x) = false\nfn tensor(x) = 9")
        self.assertEqual([abs(t).tolist(), 2 in t, 5 in t, t[[2, 0]].tolist()], [[1, 2, 3], True, False, [3, -1]])


if __name__ == "__main__":
    if "TSL_CTYPES" not in os.environ:
        subprocess.run([sys.executable, __file__], env={**os.environ, "TSL_CTYPES": "1"}, check=True)
    unittest.main()
