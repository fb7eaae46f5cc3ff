"""Tests that the checks of tools/lint find what they are for, and fail where there is nothing to check."""
import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import layers
import links
import switches
import words

GLOSSARY = """# Glossary
| retired | now | kind | meaning |
|---|---|---|---|
| `OldName` | NewName | identifier | a thing |
| `home` | alias_of | identifier | a field |
| way around | path | phrase | a route |
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_lint(self, lint):
        """Gives what the check prints, and how it ends."""
        out = io.StringIO()
        arguments, sys.argv = sys.argv, ["lint", str(self.root)]
        try:
            with contextlib.redirect_stdout(out):
                lint.main()
        except SystemExit as end:
            return out.getvalue() + (end.code if isinstance(end.code, str) else ""), bool(end.code)
        finally:
            sys.argv = arguments


class Words(Case):
    def setUp(self):
        super().setUp()
        self.write("docs/glossary.md", GLOSSARY)

    def test_finds_identifiers_phrases_and_files(self):
        self.write("src/a.cpp", 'int home;  // go home, the WAY\n// around OldName_s, OldName\n"a way "\n"around"')
        self.write("src/old_name.h", "int x;\n")
        self.write("README.md", "Go home by `home` and\nthe way\naround it.\n")
        out, failed = self.run_lint(words)
        self.assertTrue(failed)
        self.assertEqual([line.split(": retired: ") for line in out.splitlines()[:-1]], [
            ["README.md:1", "home"], ["README.md:2", "way around"], ["src/a.cpp:1", "WAY // around"],
            ["src/a.cpp:1", "home"], ["src/a.cpp:2", "OldName"], ["src/a.cpp:3", 'way " "around'],
            ["src/old_name.h:1", "OldName (the file's name)"]])

    def test_lets_quotations_pass(self):
        self.write("README.md", "<!-- words: quoted -->\nOldName\n<!-- words: end -->\n")
        self.assertFalse(self.run_lint(words)[1])

    def test_fails_without_words(self):
        self.write("README.md", "text\n")
        self.write("docs/glossary.md", "# Glossary\n")
        self.assertIn("nothing to check", self.run_lint(words)[0])
        (self.root / "docs/glossary.md").unlink()
        self.assertTrue(self.run_lint(words)[1])

    def test_refuses_other_rows(self):
        self.write("docs/glossary.md", GLOSSARY + "| `x` | y | noun | z |\n")
        self.assertIn("glossary.md:7", self.run_lint(words)[0])


class Links(Case):
    def test_finds_dead_ones(self):
        self.write("a.md", "# One `two`!\n[a](b.md) [b](none.md) [c](#one-two) [d](b.md#no) `[e](f)` [g](https://x.y)\n")
        self.write("b.md", "# B\n```\n[x](y)\n# no\n```\n[out](../elsewhere.md)\n")
        out, failed = self.run_lint(links)
        self.assertTrue(failed)
        self.assertEqual(out.splitlines(), ["a.md:2: no such file: none.md", "a.md:2: no such heading: b.md#no",
                                            "b.md:6: no such file: ../elsewhere.md"])

    def test_fails_without_links(self):
        self.write("a.md", "# A\n")
        self.assertIn("no links", self.run_lint(links)[0])


class Layers(Case):
    def setUp(self):
        super().setUp()
        self.write("cmake/rooms.txt", "base:\nvm: base\nengine: vm\nfamily vm/op*.cpp: vm/ops.h  # why\n")
        for name in ("base/a.h", "vm/ops.h", "vm/opx.cpp", "engine/engine.h"):
            self.write("src/" + name, "// an Engine\n")

    def test_passes(self):
        self.write("src/vm/ops_more.cpp", '#include "base/a.h"\n// Engine\nauto x = "Engine";\n')
        self.assertEqual(self.run_lint(layers), ("layers: 5 files in 3 rooms\n", False))

    def test_finds_what_is_wrong(self):
        self.write("src/base/b.cpp", '\n#include "vm/ops.h"\nEngine& engine;\n')
        self.write("src/attic/c.h", "")
        for i in range(39):
            self.write(f"src/vm/h{i}.h", "")
        self.assertEqual(self.run_lint(layers), ("""src/attic/c.h:1: is in no room of the table
src/base/b.cpp:2: base may not use vm: vm/ops.h
src/base/b.cpp:3: a file below engine/ names Engine
src/base/b.cpp:1: has no header of its name, class or family
src/vm: 41 files, and 40 are the most
""", True))

    def test_fails_for_a_room_without_files(self):
        self.write("cmake/rooms.txt", "base:\nvm: base\nengine: vm\nattic:\n")
        self.assertIn("src/attic: a room of the table without files", self.run_lint(layers)[0])


class Switches(Case):
    def test_passes(self):
        self.write("src/a.cpp", """
            switch (c) { case 'x': { break; } case '\\'': case 10: break; default: break; }  // default: case Tag::x:
            switch (tag) { case Tag::nil: switch (n) { case 1: return; default: return; } case Tag::list: return; }
            const char* text = "switch (tag) { case Tag::nil: default: return; }";
            Value() = default;
            """)
        self.write("src/syntax/b.h", "switch (f(type)) { case Outer::Parser::LET: return 1; default: return 2; }")
        self.assertEqual(self.run_lint(switches), ("switches: 4 switches in 2 files\n", False))

    def test_finds_defaults_over_enums(self):
        self.write("src/a.cpp", """switch (v.tag()) {
              case Tag::nil: switch (n) { case 1: return; } return;
              default: return;
            }
            switch (int n = f(g()); n) { case (ast::Op::add): { return; } default : return; }
            switch (mode) {
            #define MODE(name) case k##name: return;
              case kFirst:
                switch (kind) { case Kind::one: default: return; }
              default: return; }
            """)
        self.write("src/vm/b.h", "switch (f(type)) { case Parser::LET: return 1; default: return 2; }")
        out, failed = self.run_lint(switches)
        self.assertTrue(failed)
        self.assertEqual([line.split(": list")[0] for line in out.splitlines()], [
            "src/a.cpp:3: a default over Tag", "src/a.cpp:5: a default over Op", "src/a.cpp:9: a default over Kind",
            "src/a.cpp:10: a default over k##name", "src/vm/b.h:1: a default over Parser"])

    def test_fails_without_switches(self):
        self.write("src/a.cpp", "int x;\n")
        self.assertIn("no switches", self.run_lint(switches)[0])


if __name__ == "__main__":
    unittest.main()
