"""The Python package on libtsl.so ($TSL_LIBRARY), without NumPy: python3 -m unittest, with python/ in $PYTHONPATH."""
import array
import copy
import gc
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import tsl


def fail_in_a_process(message):
    tsl.Engine().run(f'error("{message}")')


class Values(unittest.TestCase):
    def setUp(self):
        self.engine = tsl.Engine()

    def test_values_of_python_come_back_as_they_went(self):
        self.engine.run("fn same(x) = x")
        for value in (None, True, False, 0, -(2**63), 2.5, "", "z\u00fc\U0001f600", [], [1, [2.0, "x"]], (1, "a"), {"a": 1, "b": {"c": []}},
                      {1: 2, "a b": {(1, "x"): [2.5]}, True: None}, {"class ": {}}):
            result = self.engine.call("same", value)
            self.assertEqual(result, value)
            self.assertIs(type(result), type(value))

    def test_complex_numbers_are_those_of_python(self):
        self.engine.run("fn turned(z) = z * 1i\nfn kind(z) = type(z)")
        self.assertEqual(self.engine.call("turned", 1 + 2j), -2 + 1j)
        self.assertEqual(self.engine.call("kind", [0j]), "list")
        self.assertEqual(self.engine.call("kind", {"re": 1.0, "im": 2.0}), "record")
        self.assertEqual(self.engine.run("{a: [1i], b: {re: 1, im: 2}}"), {"a": [1j], "b": {"re": 1, "im": 2}})
        z = self.engine.run("c64([1.0 + 2i, 3i])")
        self.assertEqual((z.dtype, z.shape, len(z), z.tolist()), ("c64", (2,), 2, [1 + 2j, 3j]))
        self.assertEqual((z.re.tolist(), z.im.tolist()), ([1.0, 0.0], [2.0, 3.0]))
        self.assertEqual(len(z.tobytes()), 16)
        self.assertEqual(complex(self.engine.run("c128([4i])")), 4j)
        with self.assertRaises(TypeError):
            float(self.engine.run("c128([4i])"))
        with self.assertRaises(TypeError):
            z.view()

    def test_maps_and_records_are_dicts_and_sets_are_maps(self):
        self.engine.run("fn kind(x) = type(x)")
        for value, kind in (({"a": 1}, "record"), ({}, "record"), ({"a b": 1}, "record"), ({1: 2}, "map"), ({1, 2}, "map")):
            self.assertEqual(self.engine.call("kind", value), kind)
        self.assertEqual(self.engine.run('remove([1: "a", (2, 3): nil, "b": [:]], 1)'), {(2, 3): None, "b": {}})
        self.engine.set("seen", frozenset([3]))
        self.assertEqual(self.engine.run("seen"), {3: True})
        with self.assertRaises(tsl.Error) as caught:
            self.engine.set("m", {None: 1})
        self.assertEqual(caught.exception.name, "wrong-key-type")

    def test_a_value_can_be_kept_as_it_is(self):
        self.assertEqual(self.engine.run("[1, 2]", convert=False).display(), "[1, 2]")
        self.assertIsInstance(self.engine.run("ones([2])", convert=False), tsl.Tensor)
        self.assertEqual(self.engine.run("fn(x) = x + 1", convert=False)(2), 3)

    def test_progress_is_written_where_it_is_asked_for(self):
        lines = []
        with tsl.Engine(progress=lines.append) as engine:
            engine.run("for i in progress(0..3) { i }")
        self.assertIn("3/3", "".join(lines))

    def test_variables_are_set_and_read(self):
        self.engine.set("amount", 3)
        self.assertEqual(self.engine.run("amount * 2"), 6)
        self.engine.run("var total = 10.5")
        self.assertEqual(self.engine.get("total"), 10.5)

    def test_functions_are_called_by_position_and_name(self):
        self.engine.run("fn f(a, b = 10) = a - b")
        self.assertEqual(self.engine.call("f", 1), -9)
        f = self.engine.get("f")
        self.assertEqual(f(b=1, a=5), 4)
        self.assertEqual(self.engine.call(f, 1, 2), -1)

    def test_what_python_cannot_be_is_refused(self):
        self.engine.run("fn same(x) = x")
        with self.assertRaises(TypeError):
            self.engine.call("same", object())
        with self.assertRaises(ValueError):
            self.engine.call("same", tsl.Engine().run("fn(x) = x"))
        self.assertEqual(self.engine.call("same", tsl.Engine().run("ones([2])")).tolist(), [1.0, 1.0])
        self.assertEqual(self.engine.call("same", range(1, 6, 2)), [1, 3, 5])

    def test_ints_of_more_than_64_bits_are_refused(self):
        self.engine.run("fn same(x) = x")
        self.engine.define("huge()", lambda: 2**70)
        for value in (2**63, -(2**63) - 1, 2**64 + 5, 10**5000, [{"a": 2**64}]):
            for call in (lambda: self.engine.call("same", value), lambda: self.engine.set("x", value)):
                with self.assertRaises(OverflowError):
                    call()
        with self.assertRaises(tsl.Error) as caught:
            self.engine.run("huge()")
        self.assertIsInstance(caught.exception.__cause__, OverflowError)
        for option in ("seed", "memory_limit", "step_limit", "threads", "depth_limit"):
            for number in (-1, 2**64):
                with self.assertRaises(OverflowError):
                    tsl.Engine(**{option: number})

    def test_what_is_no_value_is_refused_in_words_of_python(self):
        self.engine.run("fn same(x) = x")
        for value, word in ((lambda x: x, "define"), (object(), "object"),
                            (memoryview(b"abcd").cast("c"), "dtype"), ([{"a": object()}], "object")):
            with self.assertRaises(TypeError) as caught:
                self.engine.call("same", value)
            self.assertIn(word, str(caught.exception))
            self.assertNotIn("attribute", str(caught.exception))
        for call in (lambda: self.engine.run(1), lambda: self.engine.run(b"1"), lambda: self.engine.get(1), lambda: self.engine.call(1),
                     lambda: self.engine.define("f(x)", 1), lambda: self.engine.define(1, print), lambda: self.engine.type(1),
                     lambda: self.engine.wrap([1]), lambda: self.engine.explain(1), lambda: tsl.Engine("compile"),
                     lambda: tsl.Engine(output=1), lambda: tsl.Engine(threads="1"), lambda: tsl.Engine(load_module="x")):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertNotIn("attribute", str(caught.exception))
        with self.assertRaises(AttributeError) as caught:
            self.engine.run("ones([2])").missing
        self.assertEqual(str(caught.exception), "'Tensor' object has no attribute 'missing'")

    def test_output_and_files_are_the_programs_to_give(self):
        printed = []
        engine = tsl.Engine(output=printed.append)
        engine.run('print("hello")')
        self.assertEqual("".join(printed), "hello\n")
        with self.assertRaises(tsl.Error) as caught:
            engine.run('read_text("/etc/passwd")')
        self.assertEqual(caught.exception.kind, "io")
        with self.assertRaises(ValueError):
            tsl.Engine(("everything",))

    def test_an_ended_engine_is_refused(self):
        with tsl.Engine() as engine:
            tensor = engine.run("ones([2])")
        with self.assertRaises(tsl.Error):
            tensor.tolist()
        del tensor

    def test_values_are_copied_and_engines_are_not(self):
        engine = self.engine
        engine.run("fn twice(x) = 2 * x")
        tensor, function = engine.run("arange(3)"), engine.get("twice")
        for duplicate in (copy.copy, copy.deepcopy):
            copies = [duplicate(tensor), duplicate(function)]
            del copies[:]
            gc.collect()
            self.assertEqual((tensor.tolist(), function(2)), ([0, 1, 2], 4))
            again = duplicate(tensor)
            self.assertEqual((type(again), again.dtype, again.tolist()), (tsl.Tensor, "i64", [0, 1, 2]))
            with self.assertRaises(TypeError):
                duplicate(engine)
        del tensor
        self.assertEqual(again.tolist(), [0, 1, 2])
        for each in (function, engine):
            with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                pickle.dumps(each)

    def test_an_engine_that_runs_is_not_closed(self):
        self.engine.define("close()", self.engine.close)
        with self.assertRaises(tsl.Error) as caught:
            self.engine.run("close()")
        self.assertIn("running", caught.exception.message)
        self.assertEqual(self.engine.run("1"), 1)


class Sources(unittest.TestCase):
    def test_a_source_is_checked_without_running_it(self):
        engine = tsl.Engine()
        engine.run("fn scaled(x, by) = x * by")
        found = engine.check("print(1)\nscaled(2)", "a.tsl")
        self.assertEqual([(each["file"], each["line"], each["kind"]) for each in found], [("a.tsl", 2, "type")])
        self.assertEqual(engine.check("scaled(2, 3)"), [])

    def test_what_could_stand_in_a_source_is_found(self):
        engine = tsl.Engine()
        engine.run("fn scaled(x, by) = x * by")
        found = engine.complete("é = scal(1)", 8)
        self.assertEqual((found["begin"], [each["text"] for each in found["candidates"]]), (4, ["scaled"]))
        self.assertEqual(engine.complete("scaled(1, ")["call"]["active"], 1)
        with self.assertRaises(IndexError):
            engine.complete("a", 2)

    def test_sources_are_laid_out_and_values_shown(self):
        engine = tsl.Engine()
        self.assertEqual(engine.format("let x=1"), "let x = 1\n")
        with self.assertRaises(tsl.Error) as caught:
            engine.format("let", "a.tsl")
        self.assertEqual((caught.exception.kind, caught.exception.file), ("syntax", "a.tsl"))
        self.assertEqual((engine.is_complete("f("), engine.is_complete("f()")), (False, True))
        self.assertEqual(engine.run("ones([2])").display(), "f32[2] on cpu\n[1. 1.]")


class Reports(unittest.TestCase):
    SOURCE = "@compile fn f(x) = exp(x) * 2.0\nfor i in 0..3 { f(ones([4])) }"

    def test_what_was_compiled_is_explained(self):
        engine = tsl.Engine()
        engine.explain()
        engine.run(self.SOURCE + "\n@compile fn other(x) = x + 1.0\nother(ones([4]))")
        self.assertIn("other", engine.explain())
        self.assertNotIn("other", engine.explain("f"))
        self.assertEqual(engine.explain(engine.get("f")), engine.explain("f"))
        self.assertIn("f:1", [each["name"] for each in engine.explain_json()["regions"]])

    def test_memory_is_counted_by_device(self):
        engine = tsl.Engine()
        before = engine.memory()["live"]
        held = engine.run("ones([1000])")
        self.assertEqual(engine.memory("cpu")["live"], before + 4000)
        self.assertEqual(held.device, "cpu")
        with self.assertRaises(tsl.Error) as caught:
            engine.memory("nowhere")
        self.assertEqual(caught.exception.kind, "device")

    def test_options_of_the_program_are_given_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            dump, trace, shown = os.path.join(folder, "dump"), pathlib.Path(folder, "trace.json"), []
            options = {"compile": True, "numerics": "fast", "tf32": True, "portable": True, "cuda-graphs": False, "threads": 1,
                       "dump": dump, "profile": trace}
            with tsl.Engine(options=options, diagnostics=shown.append) as engine:
                engine.run("fn f(x) = x * 2.0 + 1.0\nf(ones([4]))")
                self.assertIn("k_mul_add", engine.profile_text())
                engine.write_reports()
                self.assertTrue(any(name.startswith("f.") for name in os.listdir(dump)))
            with open(os.path.join(dump, "version.txt"), encoding="utf-8") as file:
                key = file.read()
            for line in ("compile all", "numerics fast", "tf32 on", "portable on", "cuda-graphs off"):
                self.assertIn(line + "\n", key)
            self.assertIn("k_mul_add", trace.read_text(encoding="utf-8"))
            self.assertEqual("".join(shown).count("profile of <host>"), 2)  # once at the end
        for options, kind, message in (({"tf23": True}, "misuse", "did you mean 'tf32'?"),
                                       ({"numerics": "slow"}, "misuse", "'slow' is not exact or fast"),
                                       ({"dump": "/proc/no/folder"}, "io", "cannot make the folder")):
            with self.assertRaises(tsl.Error) as caught:
                tsl.Engine(options=options)
            self.assertEqual(caught.exception.kind, kind)
            self.assertIn(message, caught.exception.message)
        for options in ({"tf32": None}, {1: "on"}):
            with self.assertRaises(TypeError):
                tsl.Engine(options=options)

    def test_reports_that_cannot_be_written_are_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            engine = tsl.Engine(options={"profile-json": os.path.join(folder, "profile.json")})
        for write in (engine.write_reports, engine.close):
            with self.assertRaises(tsl.Error) as caught:
                write()
            self.assertEqual(caught.exception.kind, "io")

    def test_a_block_is_profiled_also_if_it_fails(self):
        engine = tsl.Engine()
        with engine.profile() as report:
            self.assertEqual(report, {})
            engine.run(self.SOURCE)
        self.assertIn("exp", str(report))
        with self.assertRaises(tsl.Error):
            with engine.profile() as report:
                engine.run("undefined_name")
        self.assertTrue(report)
        with engine.profile(), self.assertRaises(tsl.Error) as caught:
            with engine.profile():
                pass
        self.assertEqual(caught.exception.kind, "misuse")

    def test_streams_are_those_of_gpus(self):
        for call in (lambda: tsl.Engine().get_stream("cpu"), lambda: tsl.Engine().set_stream(None, "cpu")):
            with self.assertRaises(tsl.Error) as caught:
                call()
            self.assertEqual(caught.exception.kind, "device")


class Supplied(unittest.TestCase):
    def test_modules_come_from_the_program(self):
        asked = []

        def load(name, importer):
            asked.append((name, importer))
            return {"rules": "fn rule(x) = x * 3"}.get(name)

        engine = tsl.Engine(load_module=load)
        self.assertEqual(engine.run("import rules\nrules.rule(2)", name="main"), 6)
        self.assertEqual(asked, [("rules", "main")])
        with self.assertRaises(tsl.Error) as caught:
            engine.run("import others")
        self.assertEqual(caught.exception.kind, "io")

    def test_an_exception_of_a_loader_is_the_cause_of_the_error(self):
        engine = tsl.Engine(load_module=lambda name, importer: 1 // 0)
        with self.assertRaises(tsl.Error) as caught:
            engine.run("import rules")
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)

    def test_logs_go_to_diagnostics(self):
        logged = []
        tsl.Engine(logs="graph", diagnostics=logged.append).run("@compile fn f(x) = exp(x)\nf(ones([4]))")
        self.assertIn("[graph] f:", "".join(logged))


class Errors(unittest.TestCase):
    def test_an_error_has_kind_message_and_place(self):
        with self.assertRaises(tsl.Error) as caught:
            tsl.Engine().run("let a = ones([2])\nlet b = a + ones([3])", name="sums.tsl")
        error = caught.exception
        self.assertEqual((error.kind, error.name, error.file, error.line), ("shape", "shape-mismatch", "sums.tsl", 2))
        self.assertIn("[2]", error.message)
        self.assertIn("sums.tsl:2", str(error))

    def test_exit_of_a_script_ends_its_run_with_a_code(self):
        engine = tsl.Engine()
        with self.assertRaises(tsl.Error) as caught:
            engine.run("try { exit(7) } catch e { }\nerror(\"not reached\")")
        self.assertEqual((caught.exception.kind, caught.exception.name, caught.exception.exit_code), ("exit", "program-exit", 7))
        self.assertEqual(engine.run("1 + 1"), 2)
        with self.assertRaises(tsl.Error) as caught:
            engine.run("input()")
        self.assertEqual((caught.exception.kind, caught.exception.exit_code), ("io", 0))

    def test_an_error_has_the_calls_that_led_to_it_and_hints(self):
        with self.assertRaises(tsl.Error) as caught:
            tsl.Engine().run("fn inner(x) = x.lenght\nfn outer(x) {\n  inner(x)\n}\nouter({length: 1})", name="calls.tsl")
        error = caught.exception
        self.assertEqual(error.frames, (tsl.Frame("outer", "calls.tsl", 3), tsl.Frame("<main>", "calls.tsl", 5)))
        self.assertIn("length", " ".join(error.hints))
        with self.assertRaises(tsl.Error) as caught:
            tsl.Engine(device="cuda")
        self.assertEqual((caught.exception.kind, caught.exception.line, caught.exception.frames), ("device", None, ()))

    def test_errors_are_pickled_and_pass_from_a_process(self):
        with self.assertRaises(tsl.Error) as caught:
            tsl.Engine().run("fn f(x) = x + ones([3])\nf(ones([2]))", "a.tsl")
        for again in (pickle.loads(pickle.dumps(caught.exception)), copy.copy(caught.exception)):
            self.assertEqual((type(again), str(again), again.__dict__), (tsl.Error, str(caught.exception), caught.exception.__dict__))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            with self.assertRaises(tsl.Error) as caught:
                pool.apply_async(fail_in_a_process, ("refused",)).get(timeout=60)
        self.assertEqual((caught.exception.kind, caught.exception.message), ("user", "refused"))

    def test_a_forked_process_is_refused(self):
        engine = tsl.Engine()
        engine.run("sum(ones([3000000]))")
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            try:
                engine.run("1 + 1")
            except tsl.Error as error:
                os.write(writer, f"{error.kind}: {error.message}".encode())
            engine.__del__()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        self.assertEqual((status, os.read(reader, 1000)),
                         (0, b"misuse: the process was forked after it made the engine: only its parent may use it"))
        os.close(reader)
        os.close(writer)
        self.assertEqual(engine.run("1 + 1"), 2)

    def test_threads_that_use_one_engine_by_mistake_read_their_own_errors(self):
        engine, wrong, end = tsl.Engine(), [], time.monotonic() + 1

        def use(number):
            while time.monotonic() < end and not wrong:
                message = f"of thread {number} " * 20
                try:
                    engine.run(f'error("{message}")', f"{number}.tsl")
                except tsl.Error as error:
                    expected = {"misuse": ("another thread uses the engine", None), "user": (message, f"{number}.tsl")}
                    if (error.message, error.file) != expected.get(error.kind) or error.message not in str(error):
                        wrong.append((error.kind, error.message, error.file, str(error)))
                except Exception as exception:
                    wrong.append(repr(exception))

        threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])
        self.assertEqual(engine.run("1"), 1)

    def test_limits_end_a_run_and_the_engine_goes_on(self):
        engine = tsl.Engine(step_limit=1000)
        with self.assertRaises(tsl.Error) as caught:
            engine.run("var i = 0\nwhile true { i = i + 1 }")
        self.assertEqual(caught.exception.kind, "limit")
        self.assertEqual(engine.run("1 + 1"), 2)

    def test_each_limit_ends_a_run(self):
        for limits, source in (({"host_memory_limit": 1 << 20}, 'var s = "x"\nwhile true { s = s + s }'),
                               ({"element_limit": 1000}, "zeros([1001])"),
                               ({"depth_limit": 50}, "fn f(n) = f(n + 1) + 1\nf(0)"),
                               ({"source_limit": 10}, "1 + 1 + 1 + 1"),
                               ({"time_limit": 0.01}, "while true { }")):
            engine = tsl.Engine(**limits)
            with self.assertRaises(tsl.Error) as caught:
                engine.run(source)
            self.assertEqual(caught.exception.kind, "limit", limits)
            self.assertEqual(engine.run("1 + 1"), 2)

    def test_another_thread_interrupts(self):
        engine = tsl.Engine()
        started = threading.Event()
        engine.define("started()", started.set)
        interrupter = threading.Thread(target=lambda: (started.wait(), engine.interrupt()))
        interrupter.start()
        with self.assertRaises(tsl.Error) as caught:
            engine.run("started()\nvar i = 0\nwhile true { i = i + 1 }")
        interrupter.join()
        self.assertEqual(caught.exception.kind, "interrupt")


class Signals(unittest.TestCase):
    """Signals end a script as soon as they arrive, and the engine can be used afterwards."""

    ENDLESS = "var i = 0\nwhile true { i = i + 1 }"

    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(signal.signal, signal.SIGALRM, signal.getsignal(signal.SIGALRM))
        self.engine = tsl.Engine(output=lambda text: None)

    def seconds_until(self, exception, run, number=signal.SIGINT):
        """Runs with a signal on its way, and returns how long after it the exception came."""
        sent = []

        def send():
            time.sleep(0.05)
            sent.append(time.monotonic())
            os.kill(os.getpid(), number)

        sender = threading.Thread(target=send)
        sender.start()
        with self.assertRaises(exception) as caught:
            run()
        seconds = time.monotonic() - sent[0]
        sender.join()
        self.raised = caught.exception
        self.assertEqual(self.engine.run("1 + 1"), 2)
        return seconds

    def test_ctrl_c_ends_whatever_runs_within_50_ms(self):
        self.engine.run("fn endless() {\n  while true { }\n}\nlet x = ones([600, 600])")
        self.engine.define("callback()", lambda: 1)
        for run in (lambda: self.engine.run(self.ENDLESS), lambda: self.engine.call("endless"), self.engine.get("endless"),
                    lambda: self.engine.run("while true { x @ x }"), lambda: self.engine.run("ones([4000, 4000]) @ ones([4000, 4000])\n" * 100),
                    lambda: self.engine.run("while true { print(1) }"), lambda: self.engine.run("while true { callback() }"),
                    lambda: self.engine.run("while true { try { callback() } catch e { } }")):
            times = [self.seconds_until(KeyboardInterrupt, run) for _ in range(3)]
            self.assertLess(min(times), 0.05)

    def test_ctrl_c_in_a_native_function_is_raised_as_it_is(self):
        self.engine.define("nap()", lambda: time.sleep(60))
        self.assertLess(self.seconds_until(KeyboardInterrupt, lambda: self.engine.run("while true { try { nap() } catch e { } }")), 1)
        self.engine.define("leave()", lambda: os.sys.exit(3))
        with self.assertRaises(SystemExit) as caught:
            self.engine.run("try { leave() } catch e { }")
        self.assertEqual(caught.exception.code, 3)
        self.assertEqual(self.engine.run("1 + 1"), 2)

    def test_no_script_catches_an_ending_that_passes_a_native_function(self):
        engine = tsl.Engine(step_limit=1000)
        engine.define("call(f: fn)", lambda f: f())
        for callback, kind, code in (("fn() { while true { } }", "limit", 0), ("fn() = exit(3)", "exit", 3)):
            with self.assertRaises(tsl.Error) as caught:
                engine.run(f"try {{ call({callback}) }} catch e {{ }}")
            self.assertEqual((caught.exception.kind, caught.exception.exit_code), (kind, code))

    def test_what_a_handler_raises_is_raised(self):
        def late(*_):
            raise TimeoutError("late")

        signal.signal(signal.SIGALRM, late)
        self.assertLess(self.seconds_until(TimeoutError, lambda: self.engine.run(self.ENDLESS), signal.SIGALRM), 1)
        signal.signal(signal.SIGALRM, lambda *_: None)
        self.seconds_until(tsl.Error, lambda: self.engine.run(self.ENDLESS), signal.SIGALRM)
        self.assertEqual(self.raised.kind, "interrupt")

    def test_no_signal_ends_a_later_run_or_is_kept_from_others(self):
        for _ in range(200):  # some arrive before or after the run
            with self.assertRaises(KeyboardInterrupt):
                threading.Timer(0.0002, os.kill, (os.getpid(), signal.SIGINT)).start()
                self.engine.run("1")
                time.sleep(10)
            self.assertEqual(self.engine.run("var n = 0\nfor i in 0..10 { n = n + 1 }\nn"), 10)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        previous = signal.set_wakeup_fd(writer)
        try:
            self.seconds_until(KeyboardInterrupt, lambda: self.engine.run(self.ENDLESS))
            self.assertEqual(os.read(reader, 10), bytes([signal.SIGINT]))
        finally:
            self.assertEqual(signal.set_wakeup_fd(previous), writer)
            os.close(reader)
            os.close(writer)

    def test_the_program_ends_while_daemon_threads_run_scripts(self):
        program = """
import threading, time, tsl
def run():
    engine = tsl.Engine(output=lambda text: None)
    while True:
        engine.run("for i in range(1000) { print(i) }")
for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.2)
"""
        for _ in range(3):
            ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_an_exception_of_output_ends_the_run(self):
        def fails(text):
            raise OSError("full")

        with self.assertRaises(OSError):
            tsl.Engine(output=fails).run("while true { print(1) }")


class Tensors(unittest.TestCase):
    def setUp(self):
        self.engine = tsl.Engine()

    def test_every_dtype_of_arrays(self):
        for code, dtype in (("B", "u8"), ("b", "i8"), ("h", "i16"), ("i", "i32"), ("l", "i64"), ("q", "i64"), ("f", "f32"), ("d", "f64"),
                            ("H", "u16"), ("I", "u32"), ("L", "u64"), ("Q", "u64")):
            tensor = self.engine.tensor(array.array(code, [1, 2, 3]))
            self.assertEqual((tensor.dtype, tensor.shape, tensor.tolist()), (dtype, (3,), [1, 2, 3]))
        self.assertEqual(self.engine.run("~zeros([2], dtype: u64)").tolist(), [2**64 - 1] * 2)

    def test_arguments_are_copied_and_wrapped_arrays_are_not(self):
        numbers = array.array("f", [1, 2, 3])
        copied, wrapped = self.engine.tensor(numbers), self.engine.wrap(numbers)
        numbers[0] = 10
        self.assertEqual(copied.tolist(), [1, 2, 3])
        self.assertEqual(wrapped.tolist(), [10, 2, 3])

    def test_a_wrapped_array_is_held_until_nothing_refers_to_it(self):
        numbers = array.array("f", [1, 2, 3])
        wrapped = self.engine.wrap(numbers)
        with self.assertRaises(BufferError):
            numbers.append(4)  # while its memory is exported
        del wrapped
        gc.collect()
        self.engine.run("0")
        numbers.append(4)

    def test_views_share_memory_and_outlive_the_tensor(self):
        view = self.engine.run("reshape(arange(6), [2, 3])").view()
        gc.collect()
        self.engine.run("ones([2, 3])")
        self.assertEqual((view.shape, view.tolist()), ((2, 3), [[0, 1, 2], [3, 4, 5]]))
        self.assertTrue(view.readonly)

    def test_a_view_keeps_its_memory_after_the_end_of_the_engine(self):
        for source in ("reshape(arange(60000), [2, 30000])", "roll(arange(60000), 1)"):
            engine = tsl.Engine()
            tensor = engine.run(source)
            view, expected = tensor.view(), tensor.tolist()
            engine.close()
            del engine, tensor
            gc.collect()
            others = [bytes([255]) * 480000 for _ in range(20)]
            self.assertEqual(view.tolist(), expected)
            del others

    def test_half_precision_becomes_floats(self):
        for dtype in ("f16", "bf16"):
            tensor = self.engine.run(f"{dtype}(reshape(arange(4), [2, 2])) / 2.0")
            self.assertEqual((tensor.dtype, tensor.tolist()), (dtype, [[0.0, 0.5], [1.0, 1.5]]))
            with self.assertRaises(TypeError):
                tensor.view()

    def test_strided_empty_and_single_tensors(self):
        engine = self.engine
        self.assertEqual(engine.run("transpose(reshape(arange(6), [2, 3]))").tolist(), [[0, 3], [1, 4], [2, 5]])
        self.assertEqual(engine.run("zeros([2, 0])").tolist(), [[], []])
        self.assertEqual(engine.run("sum(ones([4]))").item(), 4.0)
        with self.assertRaises(ValueError):
            engine.run("ones([2])").item()
        rows = memoryview(array.array("i", range(6)))[::-2]
        self.assertEqual(engine.tensor(rows).tolist(), [5, 3, 1])
        self.assertEqual(engine.wrap(rows).tolist(), [5, 3, 1])
        self.assertEqual(engine.wrap(memoryview(array.array("i", range(6)))[::2]).tolist(), [0, 2, 4])

    def test_a_tensor_of_one_element_is_a_number(self):
        whole, real, rows = self.engine.run("tensor(2)"), self.engine.run("sum(ones([4]))"), self.engine.run("ones([2, 2])")
        self.assertEqual((int(whole), float(whole), "abc"[whole], float(real), bool(real)), (2, 2.0, "c", 4.0, True))
        self.assertFalse(self.engine.run("tensor(0)"))
        for call in (lambda: "abc"[real], lambda: "abc"[self.engine.run("tensor([1])")]):
            with self.assertRaises(TypeError):
                call()
        for call in (bool, int, float):
            with self.assertRaises(ValueError):
                call(rows)

    def test_operators_of_python_are_those_of_tsl(self):
        t = self.engine.run("reshape(arange(6), [2, 3]) + 0.0")
        for value, expected in ((t + 1, [[1, 2, 3], [4, 5, 6]]), (1 - t, [[1, 0, -1], [-2, -3, -4]]), (t @ t.T, [[5, 14], [14, 50]]),
                                (2 ** t, [[1, 2, 4], [8, 16, 32]]), (t // 2, [[0, 0, 1], [1, 2, 2]]), (abs(-t) % 2, [[0, 1, 0], [1, 0, 1]]),
                                (t > 2, [[False] * 3, [True] * 3]), (~(t == 0) & (t < 2) | (t != t), [[False, True, False], [False] * 3])):
            self.assertEqual(value.tolist(), expected)
        self.assertEqual(((t * 0.1).dtype, (t < 1).dtype, t.ndim, t == None, t != "a"), ("f32", "bool", 2, False, True))
        for call in (lambda: t + [1], lambda: "a" * t, lambda: t < None):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(tsl.Error) as caught:
            t + self.engine.run("ones([2])")
        self.assertEqual((caught.exception.kind, len({t: 1, t.T: 2})), ("shape", 2))

    def test_tensors_are_indexed_and_iterated(self):
        t = self.engine.run("reshape(arange(6), [2, 3])")
        mask, places = t > 2, self.engine.run("tensor([1, 0])")
        for value, expected in ((t[0], [0, 1, 2]), (t[1, -1], 5), (t[:, ::2], [[0, 2], [3, 5]]), (t[None, 1], [[3, 4, 5]]), (t[..., 0], [0, 3]),
                                (t[[1, 0]], [[3, 4, 5], [0, 1, 2]]), (t[places, 0], [3, 0]), (t[mask], [3, 4, 5]), (t[t[0, 1]], [3, 4, 5]), (t[()], t.tolist())):
            self.assertEqual(value.tolist(), expected)
        self.assertEqual(([row.tolist() for row in t], 5 in t, 6 in t), ([[0, 1, 2], [3, 4, 5]], True, False))
        with self.assertRaises(IndexError):
            t[2]
        for call in (lambda: t["a"], lambda: t[True], lambda: t[0.5], lambda: iter(t[0, 0]), lambda: t.__setitem__(0, 1)):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertNotIn("attribute", str(caught.exception))

    def test_tensors_are_formatted_and_pickled(self):
        t = self.engine.run("[tensor(0.12345), bf16([1.5, 2.0]), zeros([0, 2], dtype: i8)]")
        self.assertEqual((f"{t[0]:.3f}", f"{t[1]}"), ("0.123", str(t[1])))
        with self.assertRaises(TypeError):
            f"{t[1]:.3f}"
        for each in t:
            again = pickle.loads(pickle.dumps(each))
            self.assertEqual((again.dtype, again.shape, again.tolist()), (each.dtype, each.shape, each.tolist()))
            self.assertEqual(self.engine.call(self.engine.run("fn(x, y) = all(x == y)"), each, again), True)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.map(abs, [t[1]])[0].tolist(), [1.5, 2.0])

    def test_what_cannot_be_released_says_nothing(self):
        code = "import tsl; e = tsl.Engine(); t = e.run('ones([2])'); tsl.Tensor.__new__(tsl.Tensor); tsl.Engine.__new__(tsl.Engine); del e"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_repeated_elements_are_those_of_the_memory(self):
        numbers = array.array("d", [0.25])
        repeated = memoryview(numbers).cast("B").cast("d", (1,))
        self.assertEqual(self.engine.tensor(repeated).tolist(), [0.25])
        producer = tsl.Engine()
        wide = producer.run("expand(tensor([0.25]), [3, 4])")
        for tensor in (self.engine.wrap(wide), self.engine.tensor(wide)):
            self.assertEqual(tensor.tolist(), [[0.25] * 4] * 3)

    def test_capsules_that_nobody_takes_are_released(self):
        before = self.engine.memory()["live"]
        tensor = self.engine.run("ones([1000])")
        capsule = tensor.__dlpack__()
        del tensor
        self.engine.run("0")
        self.assertGreater(self.engine.memory()["live"], before)
        del capsule
        self.engine.run("0")
        self.engine.run("0")
        self.assertEqual(self.engine.memory()["live"], before)

    def test_engines_exchange_tensors_by_dlpack(self):
        class Other:  # of which only DLPack is known
            def __init__(self, tensor, has_versions):
                self.tensor, self.has_versions = tensor, has_versions

            def __dlpack__(self, **options):
                if not self.has_versions and options:
                    raise TypeError("no such option")
                return self.tensor.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        for has_versions in (True, False):
            producer = tsl.Engine()
            other = Other(producer.run("reshape(arange(4), [2, 2])"), has_versions)
            wrapped, copied = self.engine.wrap(other), self.engine.tensor(other)
            address = other.tensor.__array_interface__["data"][0]
            self.assertEqual(wrapped.__array_interface__["data"][0], address)
            self.assertNotEqual(copied.__array_interface__["data"][0], address)
            other.tensor.__dlpack__()  # taken over by nobody
            producer.close()
            del other
            self.assertEqual(wrapped.tolist(), [[0, 1], [2, 3]])
            self.assertEqual(copied.tolist(), [[0, 1], [2, 3]])

    def test_a_tensor_is_released_while_another_thread_uses_the_engine(self):
        engine, done = self.engine, threading.Event()
        tensors = [engine.run("ones([10])") for _ in range(3)]
        engine.define("hold()", lambda: (done.wait(), None)[1])
        thread = threading.Thread(target=lambda: engine.run("hold()"))
        thread.start()
        tensors.clear()
        gc.collect()
        done.set()
        thread.join()
        self.assertEqual(engine.run("1"), 1)
        self.assertFalse(engine._released)


class Objects(unittest.TestCase):
    class Body:
        def __init__(self, mass):
            self.mass = mass

    def setUp(self):
        self.engine = tsl.Engine()
        self.engine.type(self.Body)
        self.engine.define("body(mass: float)", self.Body)
        self.engine.define("mass(b: Body)", lambda body: body.mass)

    def test_objects_come_back_as_they_went(self):
        body = self.Body(2.0)
        self.engine.run("fn same(x) = x\nfn name(x) = type(x)")
        self.assertIs(self.engine.call("same", body), body)
        self.assertIs(self.engine.call("same", [{"of": body}])[0]["of"], body)
        self.assertEqual(self.engine.call("name", body), "Body")
        self.assertEqual(self.engine.call("mass", body), 2.0)
        self.assertEqual(self.engine.run("mass(body(3.0))"), 3.0)
        with self.assertRaises(tsl.Error) as caught:
            self.engine.run("\nmass(1)")
        self.assertEqual((caught.exception.kind, caught.exception.line), ("type", 2))
        with self.assertRaises(tsl.Error) as caught:
            self.engine.type(int, "Body")
        self.assertEqual(caught.exception.kind, "name")

    def test_an_object_lives_as_long_as_its_value(self):
        references = []

        @self.engine.define("fresh()")
        def fresh():
            body = self.Body(1.0)
            references.append(weakref.ref(body))
            return body

        self.engine.run("var b = fresh()\nfresh()\nnil")
        self.assertEqual([each() is None for each in references], [False, True])
        self.engine.run("@compile fn f(b, x) = x * mass(b)\nfor i in 0..4 { f(fresh(), ones([2])) }\nb = nil")
        self.assertEqual([each() is None for each in references], [True] * 6)


class Natives(unittest.TestCase):
    def test_scripts_call_python(self):
        engine = tsl.Engine()

        @engine.define("scale(x: f32[n], by: float = 2.0)")
        def scale(x, by):
            return engine.tensor(array.array("f", [by * each for each in x.tolist()]))

        self.assertEqual(engine.run("scale(ones([3]), by: 4.0)").tolist(), [4, 4, 4])
        self.assertEqual(engine.run("@compile fn f(x) = scale(x) + 1.0\nf(ones([3]))").tolist(), [3, 3, 3])
        with self.assertRaises(tsl.Error) as caught:
            engine.run("\nscale(1)")
        self.assertEqual((caught.exception.kind, caught.exception.line), ("type", 2))

    def test_a_pure_function_of_constants_is_called_once_for_a_trace(self):
        for pure, expected in ((False, 5), (True, 1)):
            engine, calls = tsl.Engine(), []
            engine.define("rate(name: str)", lambda name: calls.append(name) or 2.0, pure=pure)
            engine.run('@compile fn f(x) = x * rate("a")\nfor i in 0..5 { f(ones([4])) }')
            self.assertEqual(len(calls), expected)

    def test_gradients_pass_a_derivative(self):
        engine = tsl.Engine()
        each = lambda function, *tensors: engine.tensor(array.array("f", map(function, *(t.tolist() for t in tensors))))
        engine.define("cube(x: f32[n], unused: float)", lambda x, unused: each(lambda a: a**3, x), doc="x to the third",
                      derivative=lambda x, unused, result, gradient: [each(lambda a, g: 3 * a * a * g, x, gradient), None])
        self.assertEqual(engine.run("grad(fn(x) = sum(cube(x, 1.0)))(tensor([1.0, 2.0]))").tolist(), [3, 12])

    def test_a_gradient_without_a_derivative_is_an_error(self):
        engine = tsl.Engine()
        engine.define("plain(x: f32[n])", lambda x: engine.tensor(array.array("f", x.tolist())))
        with self.assertRaises(tsl.Error) as caught:
            engine.run("grad(fn(x) = sum(plain(x)))(tensor([1.0, 2.0]))")
        self.assertEqual((caught.exception.kind, caught.exception.line), ("type", 1))
        self.assertIn("the host's function plain has no derivative", str(caught.exception))

    def test_a_declared_result_is_checked(self):
        engine = tsl.Engine()
        engine.define("made(n: int) -> f32[n]", lambda n: array.array("f", [1.0, 2.0]))
        self.assertEqual(engine.run("made(2)").tolist(), [1, 2])
        with self.assertRaises(tsl.Error) as caught:
            engine.run("\nmade(3)")
        self.assertEqual((caught.exception.kind, caught.exception.line), ("shape", 2))

    def test_an_error_of_a_signature_shows_it(self):
        with self.assertRaises(tsl.Error) as caught:
            tsl.Engine().define("scale(x: f33[n])", print)
        self.assertEqual((caught.exception.file, caught.exception.column), ("<signature>", 10))
        self.assertIn("   1 | scale(x: f33[n])\n     |          ^^^^^^", str(caught.exception))

    def test_a_definition_that_fails_is_an_error(self):
        engine = tsl.Engine()
        for signature, kind in (("sum(x)", "name"), ("no signature", "syntax")):
            with self.assertRaises(tsl.Error) as caught:
                engine.define(signature, print)
            self.assertEqual(caught.exception.kind, kind)
        self.assertFalse(engine._functions)

    def test_an_exception_is_an_error_of_the_script_and_its_cause(self):
        engine = tsl.Engine()
        engine.define("fails()", lambda: 1 // 0)
        with self.assertRaises(tsl.Error) as caught:
            engine.run("fails()")
        self.assertEqual(caught.exception.kind, "user")
        self.assertIn("ZeroDivisionError", caught.exception.message)
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)


if __name__ == "__main__":
    unittest.main()
