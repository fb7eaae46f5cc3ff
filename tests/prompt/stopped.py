"""stopped.py TSL: programs that stop at breakpoint() or at an error, and what the prompt within them shows."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TSL = str(pathlib.Path(sys.argv.pop(1)).resolve())
PROGRAM = """let scale = 2.0
fn helper(a) = a * scale
fn inner(x, n: int) {
  let y = helper(x) + 1.0
  var total = sum(y)
  breakpoint()
  total += n
  return total
}
@compile fn outer(k) {
  let z = ones([3]) * k
  let w = inner(z, 4)
  return w + k
}
print(outer(3.0))
"""
FAILING = """fn inner(x) {
  let y = x * 2.0
  return y @ ones([4])
}
@compile fn outer(k) {
  let z = ones([3]) * k
  return inner(z) + 1.0
}
outer(3.0)
"""


class Stopped(unittest.TestCase):
    def run_program(self, program, entries, *options):
        """Runs a program with the lines that are typed when it stops. Returns its output, its errors and its exit code."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.tsl")
            path.write_text(program)
            result = subprocess.run([TSL, "--device", "cpu", *options, path.name], input="".join(line + "\n" for line in entries), text=True,
                                    cwd=folder, capture_output=True, timeout=120)
        return result.stdout, result.stderr, result.returncode

    def assert_tells_only_that_it_is_interpreted(self, errors):
        self.assertLessEqual(errors.count("warning:"), 1)
        self.assertNotIn("error", errors)
        if errors:
            self.assertIn("has @compile, but this is interpreted: breakpoint() stops the program in it", errors)

    def test_entries_see_the_variables_of_each_call(self):
        for options in ((), ("--compile",), ("--no-compile",)):
            entries = ("y.tolist()", "total.item()", ":up", "z.tolist()", ":up", "scale", "helper(4.0)", ":down", "k", ":continue")
            output, errors, code = self.run_program(PROGRAM, entries, *options)
            self.assertEqual(code, 0)
            self.assert_tells_only_that_it_is_interpreted(errors)
            self.assertEqual(output, "stopped in inner, a.tsl:6\n   6 |   breakpoint()\n[7.0, 7.0, 7.0]\n21.0\n"
                                     "in outer, a.tsl:12\n  12 |   let w = inner(z, 4)\n[3.0, 3.0, 3.0]\n"
                                     "in <main>, a.tsl:15\n  15 | print(outer(3.0))\n2.0\n8.0\n"
                                     "in outer, a.tsl:12\n  12 |   let w = inner(z, 4)\n3.0\nf32[] 28.0\n")

    def test_calls_are_listed_and_have_an_end(self):
        output, errors, _ = self.run_program(PROGRAM, (":where", ":down", ":up", ":up", ":up", ":where"))
        self.assertIn("-> inner, a.tsl:6\n   outer, a.tsl:12\n   <main>, a.tsl:15\n", output)
        self.assertIn("   inner, a.tsl:6\n   outer, a.tsl:12\n-> <main>, a.tsl:15\n", output)
        self.assertIn("this is the innermost call", errors)
        self.assertIn("this is the outermost call", errors)

    def test_variables_are_copies_that_cannot_be_assigned(self):
        output, errors, code = self.run_program(PROGRAM, ("total = 100.0", "var own = n + 1", "own += 1", "own", ":up", "own"))
        self.assertIn("'total' is declared with 'let'", errors)
        self.assertIn("unknown name 'own'", errors)
        self.assertIn("\n6\n", output)
        self.assertTrue(output.endswith("f32[] 28.0\n"))
        self.assertEqual(code, 0)

    def test_a_program_ends_where_it_is_told_to(self):
        for entry, code in ((":quit", 0), ("exit(4)", 4)):
            output, _, ended = self.run_program(PROGRAM, (entry,))
            self.assertEqual(ended, code)
            self.assertNotIn("28", output)

    def test_a_program_stops_where_it_fails(self):
        for options in ((), ("--compile",)):
            output, errors, code = self.run_program(FAILING, ("y.tolist()", ":up", "z.tolist()", "nothing"), "--on-error", "prompt", *options)
            self.assertEqual(output, "stopped in inner, a.tsl:3\n   3 |   return y @ ones([4])\n[6.0, 6.0, 6.0]\n"
                                     "in outer, a.tsl:7\n   7 |   return inner(z) + 1.0\n[3.0, 3.0, 3.0]\n")
            self.assertEqual(errors.count("inner dimensions differ"), 2)  # where it stops, and at the end
            self.assertEqual(errors.count("unknown name 'nothing'"), 1)
            self.assertEqual(code, 1)

    def test_errors_that_are_caught_stop_nothing(self):
        output, _, code = self.run_program('fn f() { error("a") }\ntry { f() } catch e { print(e.message) }\n', (), "--on-error", "prompt")
        self.assertEqual((output, code), ("a\n", 0))

    def test_breakpoints_in_loops_closures_and_derivatives(self):
        program = ("@compile fn f(x, i) {\n  let y = x + 1.0\n  if i == 3 { breakpoint() }\n  return y * 2.0\n}\nvar x = ones([2])\n"
                   "for i in 0..6 { x = f(x, i) }\nprint(x.tolist())\n"
                   "fn g(v) {\n  breakpoint()\n  return sum(v * v)\n}\nprint(grad(g)(x).tolist())\n"
                   "print(map(fn(k) { breakpoint()\n return k + 1 }, [1, 2]))\n")
        for options in ((), ("--compile",)):
            output, errors, code = self.run_program(program, ("i", ":continue", "sum(v).item()", ":continue", "k", ":continue", "k"), *options)
            self.assertEqual([line for line in output.splitlines() if " | " not in line and "stopped" not in line],
                             ["3", "[190.0, 190.0]", "380.0", "[380.0, 380.0]", "1", "2", "[2, 3]"])
            self.assertEqual((output.count("stopped in"), code), (4, 0))
            self.assert_tells_only_that_it_is_interpreted(errors)

    def test_a_stopped_program_does_not_stop_again_within_its_prompt(self):
        output, errors, code = self.run_program(PROGRAM, ("fn h() { breakpoint()\n return 5 }", "h()", "inner(z, 1)", "nothing"), "--on-error", "prompt")
        self.assertEqual((output.count("stopped in"), code), (1, 0))
        self.assertIn("\n5\n", output)

    def test_entries_compute_as_the_file_of_the_call_says(self):
        for first, dtype in (("use f64\n", "f64"), ("", "f32")):
            output, _, _ = self.run_program(first + "fn f() { breakpoint() }\nf()\n", ("zeros([1]).dtype",))
            self.assertIn(f"\n{dtype}\n", output)

    def test_commands_need_a_stopped_program(self):
        for command in (":up", ":down", ":where", ":continue"):
            result = subprocess.run([TSL, "-i"], input=command + "\n", text=True, capture_output=True, timeout=60)
            self.assertIn("no program has stopped", result.stderr)

    def test_the_prompt_around_a_program_is_seen_and_kept(self):
        result = subprocess.run([TSL, "-i"], input="let top = 5\nfn f(a) { let b = a + 1\n breakpoint()\n return b }\nf(3)\nb\ntop\n:continue\ntop + 2\n",
                                text=True, capture_output=True, timeout=60)
        self.assertEqual([line for line in result.stdout.splitlines() if line.isdigit()], ["4", "5", "4", "7"])


if __name__ == "__main__":
    unittest.main()
