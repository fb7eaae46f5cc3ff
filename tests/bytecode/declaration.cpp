// Tests the signatures of builtins, as their declarations are parsed.
#include "bytecode/declaration.h"
#include "base/error.h"
#include "catch.h"

using namespace tsl;

namespace {

std::string error_of(const char* text) {
  Interner names;
  try {
    parse_signature(text, names);
  } catch (const Failure& failure) { return failure.error().message; }
  return "";
}

}  // namespace

TEST_CASE("a declaration gives names, types, limits and defaults") {
  Interner names;
  const Signature s = parse_signature(
      "f(x: array, axis: integers | nil = -1, p: number in 0..=1 = 0.5, mode: \"a\" | \"b\" = \"a\", dtype: dtype = "
      "f32, "
      "flag: bool = false, last: any = nil, ...more: tensor)",
      names);
  CHECK(s.function == "f");
  REQUIRE(s.parameters.size() == 7);
  CHECK(*s.parameters[1].name == "axis");
  CHECK_FALSE(s.parameters[0].has_default);
  CHECK(s.parameters[1].default_value.integer() == -1);
  CHECK(s.parameters[2].default_value.real() == 0.5);
  CHECK(s.parameters[3].default_value.as<String>().text == "a");
  CHECK(s.parameters[4].default_value.dtype() == DType::f32);
  CHECK_FALSE(s.parameters[5].default_value.boolean());
  CHECK(s.parameters[6].default_value.is_nil());
  CHECK(annotation_text(*s.parameters[1].type) == "integers | nil");
  CHECK(annotation_text(*s.parameters[2].type) == "number in 0..=1");
  CHECK(annotation_text(*s.parameters[3].type) == "\"a\" | \"b\"");
  REQUIRE(s.rest);
  CHECK(*s.rest->name == "more");
  CHECK(describe(*s.parameters[1].type) == "integers or nil");
}

TEST_CASE("the text of a type is as it is written") {
  Interner names;
  for (const char* type :
       {"f32[..., n, 2 * n]", "[n, n * (n - 1) // 2, n - (n - 1)]", "list[int | nil]", "map[str, list[f32[...]]]",
        "tuple[int, \"a\"]", "{x: f32[n], y: {}}", "fn(f32[n], int) -> f32[] | nil"}) {
    const Signature s = parse_signature(fmt::format("f(x: {})", type), names);
    CHECK(annotation_text(*s.parameters[0].type) == type);
  }
}

TEST_CASE("most arguments are checked by their tag alone") {
  Interner names;
  const Signature s = parse_signature("f(a: array, b: integers | nil, c: bool, d: number in 0.., e)", names);
  CHECK(s.parameters[0].accepts_tag(Value(1)));
  CHECK_FALSE(s.parameters[0].accepts_tag(Value()));
  CHECK(s.parameters[1].accepts_tag(Value()));
  CHECK_FALSE(s.parameters[1].accepts_tag(make_list({Value(1)})));
  CHECK(fits(s.parameters[1], make_list({Value(1)})));
  CHECK_FALSE(fits(s.parameters[1], make_list({Value(1.5)})));
  CHECK(s.parameters[2].accepts_tag(Value(true)));
  CHECK_FALSE(s.parameters[3].accepts_tag(Value(1)));  // its limits have to be compared
  CHECK(s.parameters[4].accepts_tag(make_string("anything")));
  for (const ParameterInfo& parameter : s.parameters) CHECK_FALSE(parameter.accepts_tag(Value::absent()));
}

TEST_CASE("errors of declarations") {
  CHECK(error_of("f(x: integer | whole)") == "unknown type 'whole'");
  CHECK(error_of("f(x: int[2])") == "'int' has no dimensions");
  CHECK(error_of("f(x: [n], ...rest: any)") == "beside '...', a dimension has no name, not 'n'");
  CHECK(error_of("f(x: int = 1 + 1)") == "the default of a builtin's parameter is a constant");
  CHECK(error_of("f(...x: int, y: int)") == "only parameters with defaults can follow '...'");
  CHECK_FALSE(error_of("f(x").empty());
}
