#!/usr/bin/env python3
"""test_terminal.py TSL [CASE...]: tests the prompt under a pseudo-terminal, as a person uses it."""
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

from terminal import Terminal

TSL = os.path.abspath(sys.argv[1])
UP, DOWN, RIGHT, LEFT, HOME, END, DELETE = "\033[A", "\033[B", "\033[C", "\033[D", "\033[H", "\033[F", "\033[3~"
ALT_ENTER = "\033\r"


def pasted(text):
    return f"\033[200~{text}\033[201~"


class PromptTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.terminals = []

    def tearDown(self):
        for terminal in self.terminals:
            terminal.kill()

    def start(self, *options, rows=40, columns=80, **environment):
        environment = {"TSL_HISTORY": self.path("history"), "NO_COLOR": "", "LC_ALL": "C", **environment}
        terminal = Terminal([TSL, "--device", "cpu", *options], rows, columns, environment, self.folder.name)
        self.terminals.append(terminal)
        terminal.until(">>>")
        return terminal

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        Path(self.path(name)).write_text(text)


class Stops(PromptTest):
    def test_a_program_of_the_prompt_stops_and_goes_on(self):
        t = self.start()
        t.answer("let top = 5")
        t.answer("fn f(a) { let b = a + top; breakpoint(); return b }".replace("; ", "\n  "))
        self.assertIn("stopped in f, <prompt 2>:2", "\n".join(t.answer("f(3)")))
        self.assertEqual(t.answer("b"), ["8"])
        self.assertEqual(t.answer(":continue"), ["8"])
        self.assertEqual(t.answer("top"), ["5"])


class Results(PromptTest):
    def test_values_are_shown_without_print(self):
        t = self.start()
        self.assertEqual(t.answer("1 + 2"), ["3"])
        self.assertEqual(t.answer('"text"'), ['"text"'])
        self.assertEqual(t.answer("let x = 4"), [])
        self.assertEqual(t.answer("nil"), [])
        self.assertEqual(t.answer("print(x)"), ["4"])

    def test_a_semicolon_suppresses_and_an_underscore_is_the_last_value(self):
        t = self.start()
        self.assertEqual(t.answer("6 * 7;  # quietly"), [])
        self.assertEqual(t.answer("_"), ["42"])
        self.assertEqual(t.answer("_ + 1"), ["43"])
        self.assertEqual(t.answer("let y = _"), [])
        self.assertEqual(t.answer("y"), ["43"])

    def test_a_tensor_shows_its_shape_dtype_device_and_corners(self):
        t = self.start()
        shown = t.answer("arange(40000).reshape([200, 200])")
        self.assertEqual(shown[0], "i64[200, 200] on cpu")
        self.assertEqual(shown[1], "[[    0     1     2 ...   197   198   199]")
        self.assertEqual(shown[-1], " [39800 39801 39802 ... 39997 39998 39999]]")
        self.assertEqual(len(shown), 8)

    def test_long_lists_are_cut(self):
        t = self.start()
        self.assertEqual(t.answer("map(fn(i) = i, range(1000))"),
                         ["[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 987 more, 997, 998, 999]"])

    def test_let_can_be_repeated(self):
        t = self.start()
        t.enter("let x = 1")
        t.enter('let x = "two"')
        self.assertEqual(t.answer("x"), ['"two"'])

    def test_errors_point_at_the_entry_and_end_nothing(self):
        t = self.start()
        t.enter("let x = 1")
        shown = t.answer("x + nothing")
        self.assertIn("error[name]: unknown name 'nothing'", shown)
        self.assertEqual(t.answer("x"), ["1"])

    def test_carets_are_below_what_a_terminal_shows(self):
        t = self.start()
        for text, caret in (('"größe" + nothing', 10), ('"漢字" + nothing', 9), ('"e\u0301" + nothing', 6), ('"😀" + nothing', 7)):
            shown = t.answer(text)
            self.assertEqual(shown[2:4], ["   1 | " + text, "     | " + " " * caret + "^" * 7])
        shown = t.answer("漢字")
        self.assertEqual(shown[3], "     | ^^^^")

    def test_a_function_that_drops_its_value_is_warned_of(self):
        t = self.start()
        shown = t.answer("fn f(x) { x * 2 }")
        self.assertIn("warning: this value is not used, and computing it has no effect", shown)
        self.assertIn("`return", shown[-1])
        self.assertEqual(t.answer("fn g(x) { return x * 2 }"), [])
        self.assertEqual(t.answer("g(2);"), [])

    def test_everything_is_compiled_if_asked_for(self):
        t = self.start("--compile")
        t.enter("fn f(x) = sum(exp(x) * 2.0)")
        t.enter("f(ones([4])); f(ones([4]));")
        self.assertIn("1 of 2 runs are from plans", "\n".join(t.answer(":explain f")))


class Editing(PromptTest):
    def test_keys_move_and_change(self):
        t = self.start()
        t.type("2 + 3" + LEFT * 4 + "0" + HOME + "1" + END + "4" + LEFT + DELETE + "\x7f" + "5\r")
        t.until_last(">>> 120 + 5", "125", ">>>")

    def test_letters_of_every_script_are_typed(self):
        t = self.start()
        latin = [chr(c) for c in range(0xA0, 0x100)]
        for i in range(0, len(latin), 32):
            letters = "".join(latin[i:i + 32])
            self.assertEqual(t.answer(f'len("{letters}")'), ["32"], letters)
            self.assertIn(f'>>> len("{letters}")', t.screen.text_lines())
        for sample in ("ĀłŒſƒșḗ", "αβγΩ", "Привет", "漢字かなカナ한글", "😀🚀👍🏽", "e\u0301o\u0308x\u20d7", "שלום", "नमस्ते"):
            t.type(f'"{sample}"')
            t.until_last(f'>>> "{sample}"')
            t.type("\r")
            t.until_last(f'"{sample}"', ">>>")
        t.type('let größe = "é"' + LEFT * 2 + "ü" + END + "\x7f" * 2 + 'ä"\r')
        t.until_last('>>> let größe = "üä"', ">>>")
        self.assertEqual(t.answer("größe"), ['"üä"'])

    def test_alt_moves_and_cuts_words(self):
        t = self.start()
        t.type("one + two\033b\033b1" + "\033f2\033d\x013\r")
        t.wait(lambda: any(line.startswith(">>> 31one2") for line in t.screen.text_lines()), "the changed words")

    def test_a_control_character_of_latin_1_is_not_obeyed(self):
        t = self.start()
        t.type(pasted('len("\x9b2J")'))
        t.until_last('>>> len("\ufffd2J")')

    def test_words_are_cut_and_pasted(self):
        t = self.start()
        t.type("10 + 20\x17\x17\x17")
        t.until_last(">>>")
        t.type("(1, 2)\x01\x0b\x19\x19")
        t.until_last(">>> (1, 2)(1, 2)")

    def test_changes_are_undone(self):
        t = self.start()
        t.type("1 + 2")
        t.until_last(">>> 1 + 2")
        t.type("\x17")
        t.until_last(">>> 1 +")
        t.type("\x1f")
        t.until_last(">>> 1 + 2")

    def test_lines_go_on_while_the_parser_expects_more(self):
        t = self.start()
        t.type("fn f(x) {\r")
        t.until_last(">>> fn f(x) {", "...")
        t.type("if x > 0 {\rreturn [\r1,\r]\r}\rreturn x\r}\r")
        t.until_last(">>> fn f(x) {", "...   if x > 0 {", "...     return [", "...       1,", "...     ]", "...   }",
                     "...   return x", "... }", ">>>")
        self.assertEqual(t.answer("f(1)"), ["[1]"])
        t.type("1 +\r2\r")
        t.until_last("... 2", "3", ">>>")

    def test_nothing_runs_to_learn_whether_an_entry_is_complete(self):
        t = self.start()
        t.type('f(print("ran"),\r')
        t.until_last('>>> f(print("ran"),', "...")
        t.interrupt()
        t.until_last(">>>")
        self.assertNotIn("ran", t.screen.text_lines())

    def test_a_line_can_be_added_to_what_is_complete(self):
        t = self.start()
        t.type("let a = 1" + ALT_ENTER + "a + 1\r")
        t.until_last(">>> let a = 1", "... a + 1", "2", ">>>")

    def test_the_cursor_moves_between_lines(self):
        t = self.start()
        t.type("[\r1,\r2\r]" + UP + UP + END + LEFT + "5" + "\r")
        t.until_last(">>> [", "...   15,", "...   2", "... ]", "[15, 2]", ">>>")

    def test_a_script_is_pasted_as_it_is(self):
        t = self.start()
        t.type(pasted("fn g(x) {\n\n    return x +\n      1\n}\r\nlet z = g(1)\nz"))
        t.until("... z")
        self.assertIn("...     return x +", t.screen.text_lines())
        t.type("\r")
        t.until_last("... z", "2", ">>>")

    def test_a_pasted_session_loses_its_prompts_and_results(self):
        t = self.start()
        t.type(pasted(">>> 1 + 1"))
        t.until_last(">>> 1 + 1")
        t.type("\r")
        t.until_last("2", ">>>")
        t.type(pasted(">>> fn f(x) {\n...   return x * 2\n... }\n>>> f(4)\n8\n>>> let y = f(5)\n>>> y"))
        t.until_last(">>> fn f(x) {", "...   return x * 2", "... }", "... f(4)", "... let y = f(5)", "... y")
        t.type("\r")
        t.until_last("10", ">>>")
        self.assertEqual(t.answer(">>> y + 1"), ["11"])  # a terminal that does not mark what is pasted
        t.type(">>> [\r... 1,\r2]\r")
        t.until_last("[1, 2]", ">>>")
        t.type(UP)
        t.until_last(">>> [", "... 1,", "...   2]")

    def test_each_value_of_several_lines_is_shown(self):
        t = self.start()
        t.type(pasted(">>> let x = 3\n>>> (x + 1)\n4\n>>> fn f(y) = g(y)\n>>> x * 2;\n>>> fn g(y) = y + x\n"
                      ">>> f(x)  # six\n6\n>>> print(x)\n3\n>>> [x,\n...  x]\n>>> x ** 2") + "\r")
        t.until_last("... x ** 2", "4", "6", "3", "[3, 3]", "9", ">>>")
        self.assertEqual(t.answer("_"), ["9"])
        t.type(pasted("x\nnothing\nx") + "\r")
        t.wait(lambda: "error[name]: unknown name 'nothing'" in t.screen.text_lines(), "the error")
        t.until_last(">>>")
        self.assertEqual(t.answer("let a = 1; a; a + 1"), ["2"])
        t.type(pasted("if x > 2 {\n  x\n}\nfor i in 0..2 {\n  let j = i\n}\nlet last = x") + "\r")
        t.until_last("... let last = x", "3", ">>>")  # an `if` has a value, a loop has none

    def test_documentation_is_kept_however_it_is_pasted(self):
        t = self.start()
        for i, text in enumerate(("## Doubles.\nfn {}(x) = 2 * x", ">>> ## Doubles.\n>>> fn {}(x) = 2 * x")):
            for marked in (False, True):
                name = f"twice{i}{'ab'[marked]}"
                code = text.format(name)
                t.enter(pasted(code) if marked else code.replace("\n", "\r"))
                self.assertEqual(t.answer(f"{name}?"), [f"{name}(x)", "  Doubles."])

    def test_ctrl_c_in_a_paste_leaves_nothing(self):
        t = self.start()
        t.type("\033[200~let a = 1\nlet b = 2\n")
        t.settle(0.5)  # the program must have read it: a terminal drops what it has not when Ctrl-C comes
        t.interrupt()
        t.settle(0.1)
        t.type("let c = 3\nexit\nlet d = 4\n\033[201~")
        t.wait(lambda: t.prompts() == 2, "the prompt after the interrupt")
        self.assertEqual(t.screen.text_lines()[-2:], [">>>", ">>>"])
        self.assertEqual(t.answer("1 + 1"), ["2"])
        for name in "abcd":
            self.assertIn(f"unknown name '{name}'", "\n".join(t.answer(name)))
        t.type(UP * 6)
        t.until_last(">>> 1 + 1")

    def test_more_lines_than_the_screen_has_can_be_pasted_and_edited(self):
        t = self.start(rows=10)
        lines = [f"let v{i} = {i}" for i in range(100)]
        t.type(pasted("\n".join(lines)))
        t.until("... let v99 = 99")
        t.type("0\r")
        t.until_last(">>>")
        self.assertEqual(t.answer("v98 + v99"), ["1088"])
        self.assertIn("... let v1 = 1", t.screen.text_lines())

    def test_long_lines_and_wide_characters_are_wrapped(self):
        t = self.start(columns=20)
        t.type('"αβγ漢字αβγ漢字αβγ漢字"')
        t.until_last('>>> "αβγ漢字αβγ漢字α', 'βγ漢字"')
        t.type("\x7f\x7f" + '"')
        t.until_last('>>> "αβγ漢字αβγ漢字α', 'βγ漢"')

    def test_the_picture_follows_the_size_of_the_terminal(self):
        t = self.start(columns=20)
        t.type("1234567890 + 1234567890")
        t.until_last(">>> 1234567890 + 123", "4567890")
        t.screen.columns = 60
        t.resize(40, 60)
        t.wait(lambda: t.screen.text_lines()[-1].endswith("1234567890 + 1234567890"), "the line in one row")


class Memory(PromptTest):
    def test_entries_are_kept_for_later_sessions(self):
        first = self.start()
        first.enter("let a = 1")
        first.enter("fn f(x) {\rx\r}")  # Ctrl-D must not come while it runs
        first.type("\x04")
        self.assertEqual(first.close(), 0)
        self.assertEqual(os.stat(self.path("history")).st_mode & 0o777, 0o600)
        t = self.start()
        t.type(UP)
        t.until_last(">>> fn f(x) {", "...   x", "... }")
        t.type(UP * 3)
        t.until_last(">>> let a = 1")
        t.type(DOWN * 3)
        t.until_last(">>>")

    def test_up_recalls_what_begins_alike(self):
        t = self.start()
        for entry in ("let a = 1", "a + 1", "let b = 2", "a + 2"):
            t.enter(entry)
        t.type("let" + UP)
        t.until_last(">>> let b = 2")
        t.type(UP)
        t.until_last(">>> let a = 1")
        t.type(DOWN + DOWN)
        t.until_last(">>> let b = 2")  # typed "let", and a suggestion
        self.assertEqual(t.screen.style_of("b = 2"), "90")

    def test_the_history_suggests_how_a_text_goes_on(self):
        t = self.start()
        for entry in ("let a = 1", "a + 100", "fn f(x) {\rx\r}"):
            t.enter(entry)
        t.type("a + ")
        t.until_last(">>> a + 100")
        self.assertEqual(t.screen.style_of("100"), "90")
        t.type("2\r")
        t.until_last(">>> a + 2", "3", ">>>")  # what is suggested does not run
        t.type("a + 1" + RIGHT + "\r")
        t.until_last(">>> a + 100", "101", ">>>")
        t.type("le" + END + "\r")
        t.until_last(">>> let a = 1", ">>>")
        t.type("fn")
        t.until_last(">>> fn")  # one of several lines would move what is below
        plain = self.start(NO_COLOR="1")
        plain.type("a +")
        plain.until_last(">>> a +")

    def test_history_is_searched(self):
        t = self.start()
        for entry in ("let needle = 1", "let b = 2", "b + 2"):
            t.enter(entry)
        t.type("\x12eed")
        t.until_last(">>> let needle = 1", "history: eed")
        t.type("\r")
        t.until_last(">>> let needle = 1", ">>>")


class Help(PromptTest):
    def test_tab_completes(self):
        t = self.start()
        t.enter("let weights = {first: 1, second: 2}")
        t.type("wei\t.fi\t")
        t.until_last(">>> weights.first")
        t.type("\x15layer_norm(1, eps\t1)\x01")
        t.until_last(">>> layer_norm(1, eps: 1)")

    def test_tab_lists_what_there_is(self):
        t = self.start()
        t.type(":re\t")
        t.until_last(">>> :re", ":reload  :reset")
        t.type("l")
        t.until_last(">>> :rel")

    def test_lists_and_values_are_as_wide_as_the_terminal(self):
        t = self.start(columns=160)
        t.enter("let names = map(fn(i) = f\"name{i}\", list(0..16))")
        self.assertEqual(len(t.answer("names")), 1)
        self.assertEqual(len(t.answer("arange(40)")), 2)
        t.type(":\t")
        t.wait(lambda: any(line.count(" :") >= 10 for line in t.screen.text_lines()),
               "a wide row of commands")
        t = self.start(columns=40)
        self.assertEqual(t.answer("arange(20)"), ["i64[20] on cpu", "[ 0  1  2  3  4  5  6  7  8  9 10", " 11 12 13 14 15 16 17 18 19]"])
        t.enter('let texts = ["a long text", "a longer text", "another"]')
        self.assertEqual(t.answer("texts"), ["[", '  "a long text", "a longer text",', '  "another",', "]"])

    def test_files_are_completed(self):
        self.write("measured.npy", "")
        t = self.start()
        t.type('load("mea\t')
        t.until_last('>>> load("measured.npy')

    def test_names_are_explained_and_found(self):
        t = self.start()
        t.enter("## Doubles.\nfn twice(x) = 2 * x".replace("\n", ALT_ENTER))
        self.assertEqual(t.answer("?twice"), ["twice(x)", "  Doubles."])
        self.assertEqual(t.answer("twice?"), ["twice(x)", "  Doubles."])
        self.assertEqual(t.answer("softplus?"), t.answer("help(softplus)"))
        t.enter("import nn")
        self.assertTrue(t.answer("nn.linear?")[0].startswith("nn.linear(x: tensor, w: tensor"))
        self.assertEqual(t.answer("?softplus")[0], "softplus(x: tensor | number | bool | list | tuple)")
        self.assertIn("  layer_norm", "\n".join(t.answer('help("mean 0")')))
        self.assertIn("  :time ", "\n".join(t.answer(":help")))
        self.assertIn("= did you mean ':time'?", "\n".join(t.answer(":tine 1")))

    def test_code_is_coloured_as_it_is_typed(self):
        t = self.start()
        t.type('let text = sum("a", 1)  # why')
        t.until("# why")
        for word, style in (("let", "35"), ("sum", "34"), ('"a"', "32"), ("1", "36"), ("# why", "90"), ("text", "")):
            self.assertEqual(t.screen.style_of(word), style, word)
        t.type("\x15(]")
        t.wait(lambda: t.screen.text_lines()[-1] == ">>> (]", "the bracket")
        self.assertEqual(t.screen.style_of("]"), "31")

    def test_a_picture_is_as_wide_as_the_terminal(self):
        t = self.start()
        shape = '{draw: "line", at: f64([[0, 8], [640, 8]]), ink: "#1b7fc4"}'
        t.enter("let p = {drawing: {width: 640, height: 16, shapes: [" + shape + "]}}")
        for columns in (80, 50):
            t.screen.columns = columns
            t.resize(24, columns)
            self.assertEqual(t.answer("p")[-1], "\u2824" * columns)
        self.assertEqual(t.screen.style_of("\u2824"), "38;2;27;127;196")

    def test_nothing_is_coloured_under_no_color(self):
        t = self.start(NO_COLOR="1")
        t.type("let text = sum(1)")
        t.until("sum(1)")
        styles = {style for line in t.screen.lines for _, style in line}
        self.assertEqual(styles, {""})


class Commands(PromptTest):
    def test_types_times_memory_and_devices_are_shown(self):
        t = self.start()
        t.enter("let w = {a: ones([2, 3]), n: 1}")
        self.assertEqual(t.answer(":type w"), ["{a: f32[2, 3], n: int}"])
        self.assertEqual(t.answer(":type w.a"), ["f32[2, 3] on cpu"])
        self.assertRegex(t.answer(":time w.n + 1")[-1], r"^\d.* (s|ms|µs|ns)")
        self.assertRegex(" ".join(t.answer(":bench w.n + 1")[-2:]), r"median \d.* (s|ms|µs|ns), 10 % - 90 % .* runs, first ")
        self.assertRegex("\n".join(t.answer(":mem")), r"^cpu: .* in use(.|\n)*\n  w +24 B  \{a: f32")
        self.assertEqual(t.answer(":device"), ["tensors are made on cpu"])
        self.assertIn("error[device]", "\n".join(t.answer(":device nonsense")))
        self.assertIn("sum", "\n".join(t.answer(":profile sum(w.a)")))
        shown = t.answer(":profile sum(w.a);  # quietly")
        self.assertIn("sum", "\n".join(shown))
        self.assertFalse(any(line.startswith("error") for line in shown))

    def test_variables_are_listed(self):
        t = self.start()
        self.assertEqual(t.answer(":vars"), ["no variables"])
        t.enter("let weights = {w: ones([2, 3]), n: 1}; let b = 2.5; fn f(x) = x")
        t.enter("b")
        self.assertEqual(t.answer(":vars"), ["b        float", "f        function", "weights  {w: f32[2, 3], n: int}"])

    def test_the_folder_changes(self):
        os.mkdir(self.path("data"))
        t = self.start(HOME=self.folder.name)
        self.assertEqual(t.answer(":cd"), [os.path.realpath(self.folder.name)])
        self.assertEqual(t.answer(":cd data"), [os.path.realpath(self.path("data"))])
        self.write("data/three.tsl", "let three = 3\n")
        t.enter(":load three.tsl")
        self.assertEqual(t.answer("three"), ["3"])
        self.assertEqual(t.answer(":cd ~"), [os.path.realpath(self.folder.name)])
        self.assertIn("error[io]: cannot go to nowhere: No such file or directory", t.answer(":cd nowhere"))

    def test_the_shell_runs_commands(self):
        t = self.start()
        self.assertEqual(t.answer("!echo one two | tr o 0"), ["0ne tw0"])
        self.assertEqual(t.answer("!exit 3"), ["ended with 3"])
        t.type("!echo begun; sleep 60\r")
        t.until_last("begun")
        time.sleep(0.3)  # the shell begins `sleep` with signals blocked, and a SIGINT that comes then is lost
        t.interrupt()
        t.wait(lambda: t.screen.text_lines()[-1] == ">>>", "the prompt after Ctrl-C")
        self.assertEqual(t.answer("1 + 1"), ["2"])

    def test_what_was_compiled_is_shown(self):
        t = self.start()
        t.enter("@compile fn f(x) = sum(exp(x) * 2.0)")
        self.assertIn("has not been compiled", "\n".join(t.answer(":graph f")))
        t.enter("f(ones([4]));")
        self.assertIn("exp", "\n".join(t.answer(":graph f")))
        self.assertIn("exp", "\n".join(t.answer(":code f")))
        self.assertIn("is tensor f32[4]", "\n".join(t.answer(":guards f")))
        self.assertIn("1 kernel", "\n".join(t.answer(":explain f")))

    def test_files_are_loaded_and_read_again(self):
        self.write("part.tsl", "let value = 1\n")
        self.write("main.tsl", "let loaded = 10\n")
        t = self.start()
        t.enter('import "./part.tsl" as part')
        t.enter(":load main.tsl")
        self.assertEqual(t.answer("part.value + loaded"), ["11"])
        self.write("part.tsl", "let value = 2\n")
        self.write("main.tsl", "let loaded = 20\n")
        self.assertEqual(t.answer(":reload"), ["1 imports, 1 files"])
        self.assertEqual(t.answer("part.value + loaded"), ["22"])

    def test_what_was_typed_is_saved_as_a_script(self):
        t = self.start()
        t.enter("let a = 20")
        t.enter("undefined_name")
        t.enter(":type a")
        t.enter("fn f(x) {\rreturn x + a\r}")
        t.enter("print(f(1))")
        self.assertEqual(t.answer(":save typed.tsl"), ["3 entries"])
        self.assertEqual(Path(self.path("typed.tsl")).read_text(), "let a = 20\nfn f(x) {\n  return x + a\n}\nprint(f(1))\n")
        self.write("other.tsl", "mine")
        self.assertIn("exists already", "\n".join(t.answer(":save other.tsl")))
        self.assertEqual(Path(self.path("other.tsl")).read_text(), "mine")

    def test_reset_forgets(self):
        t = self.start()
        t.enter("let a = 1")
        t.enter(":reset")
        self.assertIn("unknown name 'a'", "\n".join(t.answer("a")))
        self.assertEqual(t.answer("let a = 2; a"), ["2"])


class Ends(PromptTest):
    def test_ctrl_c_drops_the_entry(self):
        t = self.start()
        t.type("let a = (1,\r2")
        t.until("...   2")
        t.interrupt()
        t.until_last(">>>")
        self.assertEqual(t.answer("3"), ["3"])

    def test_ctrl_c_ends_what_runs_and_keeps_values(self):
        t = self.start()
        t.enter("var n = 0")
        t.type('while true { n += 1; if n == 10 { print("running") } }\r')
        t.until("running")
        t.interrupt()
        t.wait(lambda: "error[interrupt]: interrupted" in t.screen.text_lines(), "the interrupt")
        t.until_last(">>>")
        self.assertEqual(t.answer("n > 0"), ["true"])

    def test_ctrl_d_exit_and_quit_leave(self):
        for keys in ("\x04", "exit\r", ":quit\r", "quit\r", "exit()\r", "quit()\r", "quit();\r"):
            t = self.start()
            t.type(keys)
            self.assertEqual(t.close(), 0, keys)
            self.assertNotIn("2004", t.screen.modes, "the terminal would go on to mark what is pasted")

    def test_a_name_of_the_program_leaves_nothing(self):
        t = self.start()
        t.enter("let exit = 5")
        self.assertEqual(t.answer("exit"), ["5"])
        t.enter("fn quit() = 6")
        self.assertEqual(t.answer("quit()"), ["6"])

    def test_a_terminal_without_a_cursor_has_a_plain_prompt(self):
        t = self.start(TERM="dumb")
        self.assertEqual(t.answer("1 + 1")[-1], "2")
        self.assertEqual(t.screen.modes, set())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
