"""Tests that the checks of tools/lint find what they are for, and fail where there is nothing to check."""
import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1]))
sys.path.insert(2, str(Path(__file__).parents[2] / "tests/costs"))
import compare
import count_tests
import layers
import links
import mutants
import lists  # tests/mutants, whose folder mutants.py has added
import polls
import recipes
import recursion
import selection
import site_pages
import stages
import switches
import symbols
import unused
import words

RETIRED = """# Retired words
| retired | now | kind | meaning |
|---|---|---|---|
| `OldName` | NewName | identifier | a thing |
| `notes_of` | interface_of | exact | a function |
| `tsl::old` | tsl::now | identifier | a namespace |
| `home` | alias_of | identifier | a field |
| way around | path | phrase | a route |
"""
RETIRED_FILE = "tools/lints/retired_words.md"


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
        self.write(RETIRED_FILE, RETIRED)

    def test_finds_identifiers_phrases_and_files(self):
        self.write("src/a.cpp", 'int home;  // go home, the WAY\n// around OldName_s, OldName\n"a way "\n"around"')
        self.write("src/old_name.h", "int x;\n")
        self.write("README.md", "Go home by `home` and\nthe way\naround it.\n")
        out, failed = self.run_lint(words)
        self.assertTrue(failed)
        self.assertEqual([line.split(": retired: ") for line in out.splitlines()[:-1]], [
            ["README.md:1", "home"], ["README.md:2", "way around"], ["src/a.cpp:1", "WAY // around"],
            ["src/a.cpp:1", "home"], ["src/a.cpp:2", "OldName"], ["src/a.cpp:3", 'way " "around'],
            ["src/old_name.h:1", "old_name (the file's name)"]])

    def test_finds_identifiers_by_their_stem(self):
        self.write("src/a.cpp", "old_names = oldName(kOldName);\n// OldNames: old_name_, a cold_name, old_namer, tsl::old\n")
        self.write("src/test_old_names.cpp", "int x;\n")
        out, _ = self.run_lint(words)
        self.assertEqual([line.split(": retired: ") for line in out.splitlines()[:-1]], [
            ["src/a.cpp:1", "kOldName"], ["src/a.cpp:1", "oldName"], ["src/a.cpp:1", "old_names"],
            ["src/a.cpp:2", "OldNames"], ["src/a.cpp:2", "old_name_"], ["src/a.cpp:2", "tsl::old"],
            ["src/test_old_names.cpp:1", "old_names (the file's name)"]])

    def test_finds_exact_ones_as_written(self):
        self.write("src/a.cpp", "notesOf(note_of(x));\nnotes_of(x);\n")
        self.assertEqual(self.run_lint(words)[0].splitlines()[:-1], ["src/a.cpp:2: retired: notes_of"])

    def test_lets_quotations_pass(self):
        self.write("README.md", "<!-- words: quoted -->\nOldName\n<!-- words: end -->\n")
        self.assertFalse(self.run_lint(words)[1])

    def test_fails_without_words(self):
        self.write("README.md", "text\n")
        self.write(RETIRED_FILE, "# Retired words\n")
        self.assertIn("nothing to check", self.run_lint(words)[0])
        (self.root / RETIRED_FILE).unlink()
        self.assertTrue(self.run_lint(words)[1])

    def test_refuses_other_rows(self):
        self.write(RETIRED_FILE, RETIRED + "| `x` | y | noun | z |\n")
        self.assertIn("retired_words.md:9", self.run_lint(words)[0])


class Links(Case):
    def test_finds_dead_ones(self):
        self.write("a.md", "# One `two`!\n[a](b.md) [b](none.md) [c](#one-two) [d](b.md#no) `[e](f)` [g](https://x.y)\n")
        self.write("b.md", "# B\n```\n[x](y)\n# no\n```\n[out](../elsewhere.md)\n")
        out, failed = self.run_lint(links)
        self.assertTrue(failed)
        self.assertEqual(out.splitlines(), ["a.md:2: no such file: none.md", "a.md:2: no such heading: b.md#no",
                                            "b.md:6: no such file: ../elsewhere.md"])

    def test_finds_files_that_are_named_and_gone(self):
        self.write("page.md", "[a](page.md) `old/gone.cpp` `src/vm/a.h` `mine.tsl` `src/vm/ops_….cpp`\n")
        self.write("src/vm/a.h", """// As vm/a.h, a.h and vm/*.h, not b.h or vm/b*.h; "train.tsl:8", train.tsl.
            #include <cuda.h>
            const char* text = "// none.h made.h";  // cuda.h, made.h, 1'000 NAME.cpp, call.c(), src/vm, src/io
            """)
        self.write("tools/a.py", '"""Reads none.py.\n\nAnd a.py."""\ntext = """none.cpp"""\nx = 1  # none.md\n')
        self.write("tools/run.sh", "# a.py, gone.py\necho '# none.sh' ${x#none.sh}\n")
        out, failed = self.run_lint(links)
        self.assertTrue(failed)
        self.assertEqual([line.replace(": no such file", "") for line in out.splitlines()], [
            "page.md:1: old/gone.cpp", "src/vm/a.h:1: b.h", "src/vm/a.h:1: vm/b*.h", "src/vm/a.h:1: train.tsl",
            "src/vm/a.h:3: src/io", "tools/a.py:1: none.py", "tools/a.py:5: none.md", "tools/run.sh:1: gone.py"])

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

    def test_takes_a_pattern_for_folders_without_a_line(self):
        self.write("cmake/rooms.txt", "base:\nvm: base\n*: base\nengine: vm\n")
        self.write("src/stub/stub.h", '#include "base/a.h"\n#include "vm/ops.h"\n')
        (self.root / "src/vm/opx.cpp").unlink()
        self.assertIn("src/stub/stub.h:2: stub may not use vm: vm/ops.h\n", self.run_lint(layers)[0])

    def test_finds_headers_of_the_system(self):
        self.write("cmake/rooms.txt", "base/platform:\nbase: base/platform\nvm: base\nengine: vm\n"
                   "family vm/op*.cpp: vm/ops.h\nsystem vm/ops.h: poll.h sched.h  # why\n")
        self.write("src/base/platform/files.h", "#include <unistd.h>\n")
        self.write("src/vm/ops.h", "#include <poll.h>\n#include <cerrno>\n#include <zip.h>\n# include <sys/stat.h>\n")
        self.assertEqual(self.run_lint(layers), ("""src/vm/ops.h:4: a header of the system outside base/platform: sys/stat.h
src/vm/ops.h: may include sched.h, and does not
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


class Polls(Case):
    def test_finds_loops_without_a_poll(self):
        self.write("src/builtins/a.cpp", """
            Value first(Context& context, Args args) {
              for (Value& v : items(args[0])) count_work(1);
              return Value();
            }
            Value second(Context& context, Args args) {
              for (Value& v : items(args[0])) read(v);
              while (more()) read(args[0]);  // bounded: more() ends
              for (int axis = 0; axis < rank; ++axis) read(axis);
              return Value();
            }
            """.replace("\n            ", "\n"))
        out, failed = self.run_lint(polls)
        self.assertTrue(failed)
        self.assertEqual([line.split(": use")[0] for line in out.splitlines()],
                         ["src/builtins/a.cpp:7: a loop without a poll"])
        self.write("src/builtins/a.cpp", "// bounded loops: a few.\nvoid f() {\n  for (;;) g();\n}\n")
        self.assertEqual(self.run_lint(polls), ("polls: 1 loops in 1 files\n", False))

    def test_loops_over_parts_of_plans_and_in_named_files_need_no_poll(self):
        loop = "void f() {\n  for (const Tensor& each : operands) g(each);\n}\n"
        for name, is_found in (("src/io/b.cpp", True), ("src/exec/b.cpp", True), ("src/backend/cpu/kernels/b.cpp", True),
                               ("src/backend/cpu/isa/b.cpp", False), ("src/graph/b.cpp", False)):
            self.write("src/syntax/a.cpp", "void f() {\n  for (const auto& kernel : plan.kernels) g(kernel);\n}\n")
            self.write(name, loop)
            out, failed = self.run_lint(polls)
            self.assertEqual((failed, name + ":2" in out), (is_found, is_found), name)
            (self.root / name).unlink()

    def test_fails_without_loops(self):
        self.write("src/builtins/a.cpp", "int x;\n")
        self.assertIn("no loops", self.run_lint(polls)[0])


class SitePages(Case):
    def copied(self, text):
        self.write("docs/a.md", text)
        site = site_pages.Site(self.root, self.root / "pages")
        site.add("docs/a.md")
        return (self.root / "pages/docs/a.md").read_text()

    def test_writes_blocks_anchors_lists_and_tables_as_mkdocs_reads_them(self):
        text = self.copied("# A `b`\n## Two: words\n```tsl no-run\n# none\n```\n- x\n  - y\n\n| `a\\|b` |\n")
        self.assertEqual(text, '---\ntitle: "A b"\n---\n# A `b` {: #a-b}\n## Two: words {: #two-words}\n```tsl\n# none\n```\n'
                               "- x\n    - y\n\n| `a|b` |\n")

    def test_makes_pages_of_sources_and_folders(self):
        self.write("src/one.cpp", "int one;\n")
        self.write(".ci/two", "2\n")
        self.assertIn("[a](../src/one.cpp.md), [b](../ci/two.md#x), [c](../src/index.md), `[d](e)`",
                      self.copied("[a](../src/one.cpp), [b](../.ci/two#x), [c](../src/), `[d](e)`\n"))
        self.assertEqual((self.root / "pages/src/one.cpp.md").read_text(), "# src/one.cpp\n\n~~~~~cpp\nint one;\n~~~~~\n")
        self.assertIn("- [one.cpp](one.cpp.md)", (self.root / "pages/src/index.md").read_text())

    def test_refuses_a_link_to_no_file(self):
        with self.assertRaisesRegex(SystemExit, "docs/a.md leads to docs/b.md"):
            self.copied("[b](b.md)\n")

    def test_refuses_a_page_without_a_place(self):
        self.write("docs/pages.md", "## Group\n[b](b.md)\n")
        self.write("docs/b.md", "")
        self.write("docs/b/c.md", "")
        self.assertEqual(site_pages.navigation(self.root)[1:3], [{"Group": [{"B": "docs/b.md"}]}, {"B": ["docs/b/c.md"]}])
        self.write("docs/d.md", "")
        with self.assertRaisesRegex(SystemExit, "does not name d.md"):
            site_pages.navigation(self.root)

    def test_finds_dead_links_and_what_is_loaded_from_elsewhere(self):
        self.write("site/a.html", '<a href="b.html#x">b</a> <a href="https://example.com">c</a> <img src="/d.png">')
        self.write("site/b.html", '<h1 id="x">x</h1>')
        self.write("site/d.png", "")
        self.assertEqual(site_pages.problems(self.root / "site"), (2, []))
        self.write("site/b.html", '<a href="c.html">c</a> <script src="https://example.com/x.js"></script>')
        self.assertEqual(site_pages.problems(self.root / "site"), (3, [
            "a.html: no such anchor: b.html#x", "b.html loads https://example.com/x.js", "b.html: no such page: c.html"]))


class Recursion(Case):
    def test_finds_functions_that_call_themselves(self):
        self.write("src/value/a.cpp", """
            bool holds(const Value& v) {
              return v.is(Tag::list) && holds(v.as<List>().items[0]);
            }
            int count(const Value& v) {  // bounded recursion: by kMaxRank
              return count(v);
            }
            void item(const Value& v);
            void list(const List& v) {
              for (const Value& each : v.items) item(each);
            }
            void item(const Value& v) {
              if (v.is(Tag::list)) list(v.as<List>());
            }
            int factorial(int n) { return n * factorial(n - 1); }
            bool any(const List& v) {
              return std::any_of(v.items.begin(), v.items.end(), any);
            }
            void visit(const Value& v) { walk.visit(v); }
            """.replace("\n            ", "\n"))
        out, failed = self.run_lint(recursion)
        self.assertTrue(failed)
        self.assertEqual([line.split(" may")[0] for line in out.splitlines()],
                         ["src/value/a.cpp:2: holds", "src/value/a.cpp:9: list", "src/value/a.cpp:12: item",
                          "src/value/a.cpp:16: any"])
        self.write("src/value/a.cpp", "void f(const Value& v) { g(v); }\n")
        self.assertEqual(self.run_lint(recursion), ("recursion: 1 mentions of values in 1 files\n", False))

    def test_fails_without_values(self):
        self.write("src/value/a.cpp", "int x;\n")
        self.assertIn("no mentions of values", self.run_lint(recursion)[0])

    def test_names_files_that_exist(self):
        for name in recursion.BOUNDED:
            self.assertTrue((Path(__file__).parents[2] / name).is_file(), name)


class Unused(Case):
    def test_finds_functions_that_nothing_uses(self):
        self.write("src/a.h", """
            int inline_one() { return 1; }
            const std::vector<int>& returned() const;
            void overloaded(int);
            void overloaded(char);
            void close() override;
            inline int used_by_a_test(int x) { return other::call(x); }
            TSL_FN float magnitude(float x) { return ::fabsf(x); }
            int declared(int);
            """.replace("\n            ", "\n"))
        self.write("src/b.h", "inline constexpr int kUsed = 1, kUnused = kUsed + 1;\n")
        self.write("src/a.cpp", "// inline_one();\nconst std::vector<int>& A::returned() const { return x; }\n"
                                "int declared(int) {\n  return magnitude(1);\n}\n")
        self.write("tests/a.cpp", 'const char* text = "declared(1)";\nint x = used_by_a_test(1);\n')
        out, failed = self.run_lint(unused)
        self.assertTrue(failed)
        self.assertEqual(out.splitlines(), [f"src/a.h:{line}: nothing uses {name}" for line, name in (
            (2, "inline_one"), (3, "returned"), (9, "declared"))] + ["src/b.h:1: nothing uses kUnused"])

    def test_finds_names_that_no_error_has(self):
        self.write("src/base/errors.def", '// ERROR(none, io, "")\nERROR(full, memory, "ErrorName::lost")\n'
                                          'ERROR_UNSHOWN(lost, io, "when", "why")\n')
        self.write("src/b.h", "int b();\n")
        self.write("src/b.cpp", "int b() { return b() + fail(ErrorName::full); }\n")
        self.write("tests/b.cpp", "int lost = ErrorName::lost;\n")
        self.assertEqual(self.run_lint(unused), ("src/base/errors.def:3: no error has the name lost\n", True))

    def test_leaves_out_scalar_bodies(self):
        self.write("src/tensor/bodies/a.h", "int s_add(int a, int b);\n")
        self.write("src/b.h", "int b();\n")
        self.write("src/b.cpp", "int b() { return b(); }\n")
        self.assertEqual(self.run_lint(unused), ("unused: everything that 1 headers declare is used\n", False))

    def test_fails_without_headers(self):
        self.write("src/a.cpp", "int x;\n")
        self.assertIn("no headers", self.run_lint(unused)[0])


class Recipes(Case):
    """Has a recipe of each kind: one of at most two files, and one of a folder with one line elsewhere."""

    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, recipes, "MOST_FILES", recipes.MOST_FILES)
        self.addCleanup(setattr, recipes, "MOST_SOURCES", recipes.MOST_SOURCES)
        self.addCleanup(setattr, recipes, "ADDS_FOLDER", recipes.ADDS_FOLDER)
        recipes.MOST_FILES, recipes.MOST_SOURCES = {"op": 2}, {"provider": 1}
        recipes.ADDS_FOLDER = {"room": "src/room/"}
        for name in ("a", "b", "c"):
            self.write(name, "one\ntwo\n")
        self.recipe("op", {"a": "first\none\ntwo\n", "b": "one\ntwo\nlast\n"})
        self.recipe("provider", {"src/p": "x\n", "tests/p": "x\n", "docs/p": "x\n"})
        self.recipe("room", {"src/room/x": "x\n", "tests/x": "x\n", "c": "one\ntwo and x\n"})

    def recipe(self, name, files):
        """Writes the patch that gives files these texts."""
        git = ["git", "-C", self.root]
        patch = self.root / "tests/recipes" / f"{name}.patch"
        patch.unlink(missing_ok=True)
        subprocess.run([*git, "add", "-A"], check=True)
        before = {file: (self.root / file).read_text() for file in files if (self.root / file).exists()}
        for file, text in files.items():
            self.write(file, text)
        subprocess.run([*git, "add", "-N", *files], check=True)
        text = subprocess.run([*git, "diff"], check=True, capture_output=True, text=True).stdout
        for file in files:
            (self.root / file).unlink()
        for file, old in before.items():
            self.write(file, old)
        self.write(patch, "How to see it work.\n\n" + text)

    def test_passes(self):
        self.assertEqual(self.run_lint(recipes), ("recipes: 3 apply, alone and together; 0 files name a dtype\n", False))

    def test_counts_the_files_that_name_a_dtype(self):
        for i in range(20):
            self.write(f"src/dtypes{i}.h", "int u16;\n" if i % 2 else "TSL_DTYPE_U16\n")
        self.write("src/other.h", "uint16_t u160;\n")
        self.assertEqual(self.run_lint(recipes), ("recipes: 3 apply, alone and together; 20 files name a dtype\n", False))
        self.write("stdlib/one.tsl", "u16\n")
        self.assertIn("21 files name a dtype, and 20 are the most: src/dtypes0.h", self.run_lint(recipes)[0])

    def test_finds_too_many_files(self):
        self.recipe("op", {"a": "x\n", "b": "x\n", "c": "x\n"})
        self.assertIn("op.patch: 3 files, and 2 are the most", self.run_lint(recipes)[0])

    def test_finds_too_many_sources(self):
        self.recipe("provider", {"src/p": "x\n", "src/q": "x\n"})
        self.assertIn("provider.patch: 2 files of src/, and 1 are the most", self.run_lint(recipes)[0])

    def test_finds_lines_outside_of_the_folder(self):
        for outside in ({"c": "one\nand\ntwo\nand\n"}, {"a": "x\ntwo\n", "c": "x\ntwo\n"}, {}):
            self.recipe("room", {"src/room/x": "x\n", **outside})
            self.assertIn("room.patch: not one line outside", self.run_lint(recipes)[0])

    def test_finds_what_does_not_apply(self):
        self.write("a", "other\n")
        self.assertIn("op.patch: does not apply: error: patch failed: a:1", self.run_lint(recipes)[0])

    def test_finds_what_does_not_apply_together(self):
        self.recipe("op", {"a": "1\ntwo\n"})
        self.recipe("room", {"src/room/x": "x\n", "a": "one and x\ntwo\n"})
        self.assertIn("tests/recipes: do not apply together", self.run_lint(recipes)[0])

    def test_finds_missing_and_unknown_ones(self):
        (self.root / "tests/recipes/room.patch").rename(self.root / "tests/recipes/other.patch")
        self.assertEqual(self.run_lint(recipes), (
            "tests/recipes/other.patch: tools/lints/recipes.py has no limit for it\n"
            "tests/recipes/room.patch: does not exist\n", True))


class Mutants(Case):
    def test_finds_those_that_cannot_be_made(self):
        self.write("src/a.cpp", "int x = 1 + 2;\nint y = 3;\nint y = 3;\nint z = 1 + 1;\n")
        self.write("tests/mutants/a.txt", "# FILE\ntests: vm\n\n1 a.cpp\n  int x = 1 + 2;\n  1 + 2 => 1\n\n2 a.cpp\n  int x;\n  x => y\n\n"
                   "3 a.cpp\n  int y = 3;\n  3 => 4\n\n4 a.cpp\n  int z = 1 + 1;\n  1 => 4\n\n5 b.cpp\n  int z;\n  z => 4\n")
        out, failed = self.run_lint(mutants)
        self.assertTrue(failed)
        self.assertEqual(out.splitlines(), [
            "tests/mutants/a.txt:8: the line occurs 0 times in a.cpp: int x;",
            "tests/mutants/a.txt:12: the line occurs 2 times in a.cpp: int y = 3;",
            "tests/mutants/a.txt:16: the expression occurs 2 times in its line: 1",
            "tests/mutants/a.txt:20: there is no src/b.cpp"])

    def test_finds_what_is_no_mutant(self):
        self.write("tests/mutants/a.txt", "1 a.cpp\n  int x;\n")
        self.assertIn("a.txt:1: a mutant is NUMBER FILE", self.run_lint(mutants)[0])
        self.write("tests/mutants/a.txt", "1 a.cpp\n  int x;\n  x => y\n\n1 a.cpp\n  int x;\n  x => y\n")
        self.assertIn("a.txt:5: a.txt:1 has the number 1, too", self.run_lint(mutants)[0])

    def test_passes(self):
        self.write("src/a.cpp", "int x = 1;\n")
        self.write("tests/mutants/a.txt", "7 a.cpp\n  int x = 1;\n  1 => 2\n  equivalent: nothing reads it\n")
        self.assertEqual(self.run_lint(mutants), ("mutants: 1 can be made\n", False))

    def test_fails_without_mutants(self):
        self.write("tests/mutants/a.txt", "# none\n")
        self.assertIn("there are no mutants", self.run_lint(mutants)[0])

    def test_makes_all_in_one_copy(self):
        self.write("src/vm/a.cpp", "int x = 1 + 2;\n")
        self.write("tests/mutants/a.txt", "1 vm/a.cpp\n  int x = 1 + 2;\n  1 + 2 => 4\n\n2 vm/a.cpp\n  int x = 1 + 2;\n  1 + 2 => 5\n")
        lists.apply(self.root / "src", self.root / "mutated/src", self.root / "tests/mutants")
        self.assertEqual((self.root / "mutated/src/vm/a.cpp").read_text(),
                         "int x = (TSL_MUTANT(1) ? (4) : TSL_MUTANT(2) ? (5) : (1 + 2));\n")
        self.assertIn("define TSL_MUTANT", (self.root / "mutated/mutant.h").read_text())


class Symbols(unittest.TestCase):
    ROOMS = {"base": {"base"}, "graph": {"base", "graph"}, "vm": {"base", "vm"}}

    def problems(self, **archives):
        read = {room: symbols.read_symbols(lines) for room, lines in archives.items()}
        return symbols.problems_of(read, self.ROOMS)

    def test_allowed(self):
        self.assertEqual(self.problems(base=["_ZN3tsl4failEv T 0 1"], graph=["_ZN3tsl4failEv U", "malloc U", "x w"]), [])

    def test_symbol_of_another_room(self):
        found = self.problems(graph=["_ZN3tsl4fuseEv W 0 1"], vm=["_ZN3tsl4fuseEv U"])
        self.assertEqual(found, ["vm needs _ZN3tsl4fuseEv of graph"])

    def test_symbol_that_is_defined_where_it_may_be_used_too(self):
        self.assertEqual(self.problems(base=["f W"], graph=["f W"], vm=["f U"]), [])

    def test_symbol_of_the_standard_library(self):
        self.assertEqual(self.problems(graph=["_ZNSt6stringE6appendEv W"], vm=["_ZNSt6stringE6appendEv U"]), [])
        found = self.problems(graph=["_ZNSt6vectorIN3tsl4NodeEE4pushEv W"], vm=["_ZNSt6vectorIN3tsl4NodeEE4pushEv U"])
        self.assertEqual(found, ["vm needs _ZNSt6vectorIN3tsl4NodeEE4pushEv of graph"])

    def test_symbol_of_no_room_and_of_cuda(self):
        self.assertEqual(self.problems(vm=["_ZN3tsl5nobodyEv U"]), ["vm needs _ZN3tsl5nobodyEv of no room"])
        self.assertEqual(self.problems(vm=["cuInit U"]), ["vm needs cuInit of a library of CUDA"])


class Archives(Case):
    def test_folder_that_is_no_room_belongs_to_the_one_above(self):
        self.write("build/src/vm/libvm.a", "f T 0 1\ng U\n")
        self.write("build/src/vm/absent/libabsent.a", "g T 0 1\nh U\n")
        self.write("build/src/libtsl.a", "all T 0 1\n")
        self.write("nm", "#!/bin/sh\ncat \"$2\"\n")
        (self.root / "nm").chmod(0o755)
        found = symbols.archives_of(self.root / "build", Symbols.ROOMS, self.root / "nm")
        self.assertEqual(found, {"vm": ({"f", "g"}, {"h"})})


class CountTests(Case):
    def count(self, *tests, options=()):
        rows = "".join(f'<testcase name="{name}" status="{status}">{inner}<system-out>{output}</system-out></testcase>'
                       for name, status, inner, output in tests)
        self.write("junit.xml", f"<testsuite>{rows}</testsuite>")
        out = io.StringIO()
        arguments, sys.argv = sys.argv, ["count_tests.py", *options, str(self.root / "junit.xml")]
        try:
            with contextlib.redirect_stdout(out):
                count_tests.main()
        except SystemExit as end:
            return out.getvalue().splitlines(), bool(end.code)
        finally:
            sys.argv = arguments

    def test_counts_cases_and_names_what_was_skipped(self):
        lines, failed = self.count(
            ("vm", "run", "", "cases: 12 passed, 0 failed, 0 skipped\n"),
            ("cuda/two GPUs", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>',
             'skipped: "two GPUs": one GPU\ncases: 0 passed, 0 failed, 1 skipped\n'),
            ("engine", "run", "", 'skipped: "two GPUs at once": one GPU\ncases: 3 passed, 0 failed, 1 skipped\n'),
            ("cuda_lang", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>', "skipped: no driver\n"),
            ("docs", "run", "", "9 blocks, 0 failed\n"))
        self.assertEqual(lines, ["skipped, 2: one GPU", "  cuda/two GPUs", "  engine: two GPUs at once", "skipped, 1: no driver",
                                 "  cuda_lang", "16 passed, 0 failed, 3 skipped"])
        self.assertFalse(failed)

    def test_a_failure_is_one_whatever_is_printed(self):
        lines, failed = self.count(
            ("jit", "fail", "<failure/>", 'skipped: "a": no GPU\ncases: 5 passed, 2 failed, 1 skipped\n'),
            ("vm", "fail", "<failure/>", "cut off"), ("io", "run", "", "cases: 0 passed, 0 failed, 0 skipped\n"),
            ("tensor", "run", "", "cases: 1 passed, 0 failed, 2 skipped\n"))
        self.assertEqual(lines[:4], ["failed: jit", "failed: vm", "failed: io: its filter matches no case",
                                     "failed: tensor: 2 cases were skipped, and 0 of them are named"])
        self.assertEqual(lines[-1], "6 passed, 5 failed, 1 skipped")
        self.assertTrue(failed)

    def test_what_is_expected_must_exist(self):
        self.write("expected", "vm\n2 lang/*\ncuda:3 cuda/*\n")
        options = ["--expect", str(self.root / "expected")]
        one = ("lang/a", "run", "", "")
        self.assertEqual(self.count(one, options=options)[0], [
            "failed: there is no test vm", "failed: there are fewer than 2 tests lang/*", "failed: there are fewer than 3 tests cuda/*",
            "1 passed, 3 failed, 0 skipped"])
        self.assertIn("skipped, 3: this build has no CUDA backend (TSL_CUDA=OFF)",
                      self.count(one, options=[*options, "--without", "cuda", "this build has no CUDA backend (TSL_CUDA=OFF)"])[0])

    def test_a_test_of_two_kinds_needs_both(self):
        self.write("expected", "vm\nsanitized:cuda:2 cuda/*\n")
        lines, failed = self.count(("vm", "run", "", ""), options=["--expect", str(self.root / "expected"), "--without", "sanitized", "its turn"])
        self.assertEqual(lines, ["skipped, 2: its turn", "  cuda/* (2 times)", "1 passed, 0 failed, 2 skipped"])
        self.assertFalse(failed)


class Selection(unittest.TestCase):
    def test_documents_and_scripts_need_no_sanitizers(self):
        chosen = selection.select("1" * 40, 1, ["docs/a.md", "README.md", "stdlib/nn.tsl", "tests/lang/a.tsl", "tests/oracle/cases/a.txt"])
        self.assertEqual((chosen["sanitized"], chosen["lets"]), ("no", selection.FEW_LETS))
        self.assertIn(chosen["turn"], ("1/3", "2/3", "3/3"))

    def test_sources_need_them_and_shared_memory_many_lets(self):
        chosen = selection.select("1" * 40, 1, ["docs/a.md", "src/vm/keys.cpp"])
        self.assertEqual((chosen["sanitized"], chosen["lets"], chosen["why"]), ("yes", selection.FEW_LETS, "src/vm/keys.cpp has changed"))
        self.assertEqual(selection.select("1" * 40, 1, ["src/graph/graph.cpp"])["lets"], selection.MANY_LETS)
        self.assertEqual(selection.select("1" * 40, 1, ["tools/testing.sh"])["sanitized"], "yes")

    def test_merges_turns_and_unknown_histories_run_all(self):
        for head, parents, changed in (("1" * 40, 2, []), ("0" * 40, 1, []), ("1" * 40, 1, None)):
            chosen = selection.select(head, parents, changed)
            self.assertEqual((chosen["sanitized"], chosen["lets"]), ("yes", selection.MANY_LETS), chosen)


class Stages(unittest.TestCase):
    def test_a_stage_stands_beside_its_last_time(self):
        lines = stages.table({"build": (100, 190), "tests": (60, 110)}, {"build": (90, 170)})
        self.assertEqual([line.split() for line in lines[1:]],
                         [["build", "100", "90", "190", "170"], ["tests", "60", "-", "110", "-"], ["all", "160", "90", "300", "170"]])


COSTS = """# a heading
from gcc 12
instructions cpu/call 1000.0
    600.0 tsl::run(int, int)
    300.0 tsl::bind
instructions cpu/loop 64.0
launched cpu/digits 40
kernel cpu/digits step.12.0 1 k_add__1 aaaa
kernel cpu/digits step.12.0 2 k_mul__2 bbbb
"""


class Costs(unittest.TestCase):
    """The comparison of tests/costs/run.py."""

    def compare(self, *changes, text=COSTS, hint_of=lambda *_: []):
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return compare.compare(compare.read(COSTS), compare.read(text), ["cpu/digits"], hint_of)

    def test_equal_costs_pass(self):
        result = self.compare()
        self.assertEqual((result.passed, result.failed, result.lines, result.skipped), (4, 0, [], {}))

    def test_writes_what_it_reads(self):
        self.assertEqual(compare.write(compare.read(COSTS), "a heading"), COSTS)

    def test_small_functions_are_not_stored(self):
        costs = compare.Costs("gcc", {"cpu/call": (1000, {"large": 10.0, "small": 9.0})})
        self.assertNotIn("small", compare.write(costs, "a heading"))
        self.assertIn("10.0 large", compare.write(costs, "a heading"))

    def test_names_the_functions_that_took_more(self):
        result = self.compare(("call 1000.0", "call 1100.0"), ("600.0 tsl::run", "700.0 tsl::run"))
        self.assertEqual((result.passed, result.failed), (3, 1))
        self.assertEqual(result.lines, ["instructions cpu/call: 1,000.0 -> 1,100.0 a turn (+10.0 %)",
                                        "    600.0 -> 700.0  tsl::run(int, int)"])

    def test_allows_two_percent_and_a_few_instructions(self):
        self.assertEqual(self.compare(("call 1000.0", "call 1019.9"), ("loop 64.0", "loop 66.9")).failed, 0)
        self.assertEqual(self.compare(("call 1000.0", "call 1020.1"), ("loop 64.0", "loop 67.1")).failed, 2)

    def test_what_became_cheaper_has_to_be_stored(self):
        self.assertIn("less, so store it with --update", self.compare(("call 1000.0", "call 900.0")).lines[0])

    def test_counts_of_another_compiler_are_skipped(self):
        result = self.compare(("from gcc 12", "from clang 14"), ("call 1000.0", "call 2000.0"))
        self.assertEqual((result.passed, result.failed), (2, 0))
        self.assertEqual(result.skipped, {"instruction counts of gcc 12 are not comparable with those of clang 14": 2})

    def test_names_kernels_that_changed(self):
        result = self.compare(("k_mul__2 bbbb", "k_mul__3 cccc"), ("digits 40", "digits 41"),
                              hint_of=lambda *names: ["-" + "|".join(names)])
        self.assertEqual(result.lines, [
            "launched cpu/digits: 40 -> 41 kernels", "kernel cpu/digits step.12.0: the text of k_mul__2 changed; it is k_mul__3 now",
            "    -cpu/digits|step.12.0|k_mul__2|k_mul__3"])

    def test_names_kernels_that_came_or_went(self):
        first = "kernel cpu/digits step.12.0 1 k_add__1 aaaa\n"
        self.assertEqual(self.compare((first, "")).lines, ["kernel cpu/digits step.12.0: k_add__1 is gone"])
        self.assertEqual(self.compare((first, first + "kernel cpu/digits step.12.0 2 k_exp__4 dddd\n")).lines,
                         ["kernel cpu/digits step.12.0: k_exp__4 is new"])
        last = "kernel cpu/digits step.12.0 2 k_mul__2 bbbb\n"
        self.assertEqual(self.compare((first, ""), (last, "")).lines, ["kernels cpu/digits step.12.0: 2 -> 0"])

    def test_a_row_without_a_stored_figure_fails(self):
        result = self.compare(("launched", "instructions cpu/new 5\nlaunched"))
        self.assertEqual(result.lines, ["instructions cpu/new: 5.0, which no figure is stored for"])

    def test_what_was_not_measured_stays_stored(self):
        part = compare.read("from gcc 13\nlaunched cpu/digits 2\nkernel cpu/digits step.1.0 1 k_a aaaa\n")
        merged = compare.write(compare.merge(compare.read(COSTS), part, ["cpu/digits"]), "a heading")
        self.assertIn("from gcc 12\ninstructions cpu/call 1000.0", merged)
        self.assertNotIn("step.12.0", merged)
        counted = compare.read("from gcc 13\ninstructions cpu/call 7.0\n")
        merged = compare.write(compare.merge(compare.read(COSTS), counted), "a heading")
        self.assertNotIn("cpu/loop", merged)  # of another compiler


if __name__ == "__main__":
    unittest.main()
