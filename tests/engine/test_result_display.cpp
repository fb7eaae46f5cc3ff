// Tests how the values of entries are shown.
#include "support/session.h"
#include "value/result_display.h"

using tsl::Session;

namespace {

std::string shown(Session& s, const std::string& code) { return tsl::display(s.engine, s.engine.run_line(code)); }
std::string type(Session& s, const std::string& code) { return tsl::type_text(s.engine.run_line(code)); }

}  // namespace

TEST_CASE("tensors show shape, dtype, device and elements") {
  tsl::EngineOptions on_cpu;
  on_cpu.device = "cpu";
  Session s(on_cpu);
  CHECK(shown(s, "tensor([1.5, 2.0])") == "f32[2] on cpu\n[1.5 2. ]");
  CHECK(shown(s, "tensor(3.5)") == "f32[] on cpu 3.5");
  CHECK(shown(s, "zeros([0])") == "f32[0] on cpu\n[]");
}

TEST_CASE("what fits a line stands on one, and other containers have an item on each") {
  Session s;
  CHECK(shown(s, "(1, [2.0, \"a\"], {b: nil})") == "(1, [2.0, \"a\"], {b: nil})");
  CHECK(shown(s, "(1,)") == "(1,)");
  CHECK(shown(s, "{name: \"a text of forty characters, or some more\", other: \"another text of that length\"}") ==
        "{\n  name: \"a text of forty characters, or some more\",\n  other: \"another text of that length\",\n}");
}

TEST_CASE("long lists and strings and deep values are cut") {
  Session s;
  CHECK(shown(s, "map(fn(i) = i, range(100))") == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 87 more, 97, 98, 99]");
  CHECK(shown(s, "map(fn(i) = i, range(20))") ==
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]");
  CHECK(shown(s, "join(map(fn(i) = \"é\", range(3000)), \"\")").ends_with("é\"… (6000 bytes)"));
  CHECK(shown(s, "var deep = 1; for i in 0..20 { deep = [deep] }; deep") == "[[[[[[[…]]]]]]]");
  const std::string nested = shown(s, "map(fn(i) = map(fn(j) = map(fn(k) = 1, range(20)), range(20)), range(20))");
  CHECK(nested.size() < 20000);
}

TEST_CASE("types name shapes, lengths and keys") {
  tsl::EngineOptions on_cpu;
  on_cpu.device = "cpu";
  Session s(on_cpu);
  CHECK(type(s, "ones([2, 3])") == "f32[2, 3] on cpu");
  CHECK(type(s, "[1, 2, 3]") == "list of 3");
  CHECK(type(s, "{w: ones([4]), n: (1, \"a\")}") == "{w: f32[4], n: (int, str)}");
  CHECK(type(s, "1.5") == "float");
}
