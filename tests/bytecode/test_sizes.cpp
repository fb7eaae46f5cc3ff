// Tests that bytecode grows linearly with the nesting of the text.
#include "bytecode/code.h"
#include "support/session.h"

using namespace tsl;

namespace {

size_t size_of_all(const Proto& proto) {
  size_t size = 0;
  each_proto(proto,
             [&](const Proto& each) { size += each.code.size() + each.handlers.size() + each.constants.size(); });
  return size;
}

/// Returns the size of a function with `inner` in as many pieces as `depth` says, behind `start`.
size_t nested_size(const std::string& start, const std::string& before, const std::string& inner,
                   const std::string& after, int depth) {
  std::string body = inner;
  for (int i = 0; i < depth; ++i) body = before + body + after;
  Session s;
  const Value f = s.engine.run("test.tsl", "fn f(x, xs) {\n" + start + body + "\n}\nf");
  return size_of_all(proto_of(f.as<Function>()));
}

}  // namespace

TEST_CASE("nested statements, patterns and literals make bytecode of linear size", "[sizes]") {
  const std::string exits = "if x == 1 { break }; if x == 2 { continue }; if x == 3 { return 4 }; ";
  struct Nest {
    std::string before, inner, after;
  };
  const Nest nests[] = {
      {"while x { ", "break", " }"},
      {"for i in xs { ", "continue", " }"},
      {"for i in 0..3 { " + exits, "return 1", " }"},
      {"if x { ", "print(x)", " } else { return 2 }"},
      {"try { ", "print(x)", " } catch e { return 3 }"},
      {"try { ", "print(x)", " } finally { print(1) }"},
      {"try { print(1) } finally { ", "print(x)", " }"},
      {"try { return 1 } finally { ", "print(x)", " }"},
      {"try { " + exits.substr(exits.find("if x == 3")), "print(x)", " } catch e { return 5 } finally { print(2) }"},
      {"try { print(1) } catch e { ", "print(x)", " } finally { print(3) }"},
      {"while x { try { " + exits, "print(x)", " } finally { print(3) } }"},
      {"while x { try { " + exits + " } finally { ", "print(x)", " } }"},
      {"for i in xs { try { break } finally { for j in xs { try { return j } finally { ", "print(x)", " } } } }"},
      {"let y = try { ", "1", " } finally { print(2) }"},
      {"fn g() { ", "return x", " }"},
      {"let g = fn() = ", "x", ""},
      {"let y = (", "x", ", 1)"},
      {"let y = [", "x", ", 1]"},
      {"let y = {a: ", "x", "}"},
      {"let y = [\"a\": ", "x", "]"},
      {"let y = f\"{", "x", "}\""},
      {"let y = x[", "0", "]"},
      {"let y = (x and ", "x", ")"},
      {"let y = 1 + (", "x", ")"},
      {"let y = (if x { 1 } else { ", "2", " })"},
      {"let y = -(", "x", ")"},
      {"let y = len(", "x", ")"},
      {"let y = 1 < (", "x", ")"},
      {"let y = 0..(", "x", ")"},
      {"let y = (", "x", ").T"},
  };
  for (const Nest& nest : nests) {
    INFO(nest.before << nest.inner << nest.after);
    const size_t value = nest.before.starts_with("let ") ? nest.before.find("= ") + 2 : 0;  // pieces are expressions
    size_t last = 0, step = 0;
    for (const int depth : {2, 4, 8, 16, 32, 64}) {
      const size_t size =
          nested_size(nest.before.substr(0, value), nest.before.substr(value), nest.inner, nest.after, depth);
      const size_t piece = (size - last) / static_cast<size_t>(depth - depth / 2);
      if (depth == 8) step = piece;
      if (depth > 8) CHECK(piece <= step + 2);
      last = size;
    }
  }
}

TEST_CASE("nested patterns make bytecode of linear size", "[sizes]") {
  for (const bool is_record : {false, true}) {
    size_t last = 0, step = 0;
    for (const int depth : {2, 4, 8, 16, 32, 64}) {
      std::string pattern = "a";
      for (int i = 0; i < depth; ++i)
        pattern = is_record ? fmt::format("{{k{0}: {1}, ...r{0}}}", i, pattern) : fmt::format("({}, b{})", pattern, i);
      const size_t size = nested_size("let " + pattern + " = ", "", "x", "", 0);
      const size_t piece = (size - last) / static_cast<size_t>(depth - depth / 2);
      if (depth == 8) step = piece;
      if (depth > 8) CHECK(piece <= step + 2);
      last = size;
    }
  }
}
