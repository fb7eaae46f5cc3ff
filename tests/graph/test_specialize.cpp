#include "catch.h"
#include "graph/specialize.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

using Kind = Instr::Kind;

Instr instr(Kind kind, Reg a = 0, Reg b = 0, Reg c = 0) {
  Instr made(kind);
  made.a = a, made.b = b, made.c = c;
  return made;
}

Instr guarded(Kind kind, Reg by) {
  Instr made = instr(kind, by);
  made.is_guarded = true;
  return made;
}

Instr map(Op op, Reg a, Reg b = 0) {
  Instr made = instr(Kind::map, a, b);
  made.op = op;
  return made;
}

/// A part within another: store(choose(inner, exp(load if inner), choose(outer, load if outer, load))).
const std::vector<Instr> kNested{
    instr(Kind::part),      guarded(Kind::part, 0), guarded(Kind::load, 1),       map(Op::exp, 2),
    guarded(Kind::load, 0), instr(Kind::load),      instr(Kind::choose, 0, 4, 5), instr(Kind::choose, 1, 3, 6),
    instr(Kind::store, 7)};

std::vector<Instr> left_of(const std::vector<Instr>& program, std::vector<InPart> in_part) {
  in_part.resize(program.size(), InPart::some);
  return program_of(program, remainder_of(program, in_part));
}

std::vector<Kind> kinds(const std::vector<Instr>& program) {
  std::vector<Kind> all;
  for (const Instr& one : program) all.push_back(one.kind);
  return all;
}

constexpr InPart kSome = InPart::some, kAll = InPart::all, kNone = InPart::none;

}  // namespace

TEST_CASE("a program is left whole where nothing is known of its parts", "[specialize]") {
  CHECK(kinds(left_of(kNested, {})) == kinds(kNested));
}

TEST_CASE("within a part, only what it needs is left, and reads are not guarded", "[specialize]") {
  const std::vector<Instr> inner = left_of(kNested, {kSome, kAll});
  CHECK(kinds(inner) == std::vector<Kind>{Kind::load, Kind::map, Kind::store});
  CHECK_FALSE(inner[0].is_guarded);
  CHECK(inner[1].a == 0);
  CHECK(inner[2].a == 1);
  CHECK(kinds(left_of(kNested, {kAll, kNone})) == std::vector<Kind>{Kind::load, Kind::store});
}

TEST_CASE("who is outside of a part is outside of those within it", "[specialize]") {
  const std::vector<Instr> outside = left_of(kNested, {kNone});
  CHECK(kinds(outside) == std::vector<Kind>{Kind::load, Kind::store});
  CHECK(remainder_of(kNested, std::vector<InPart>{kNone, kSome, kSome, kSome, kSome, kSome, kSome, kSome, kSome}) ==
        remainder_of(kNested, std::vector<InPart>{kNone, kNone, kSome, kSome, kSome, kSome, kSome, kSome, kSome}));
}

TEST_CASE("a choice that is not decided keeps its part, and both values", "[specialize]") {
  const std::vector<Instr> outer = left_of(kNested, {kAll});
  CHECK(kinds(outer) == std::vector<Kind>{Kind::part, Kind::load, Kind::map, Kind::load, Kind::choose, Kind::store});
  CHECK_FALSE(outer[0].is_guarded);
  CHECK(outer[1].is_guarded);
  CHECK_FALSE(outer[3].is_guarded);
}

TEST_CASE("a read outside of its part is a number, and what may fail stays", "[specialize]") {
  Instr quotient = map(Op::floordiv, 1, 1);
  quotient.dtype = quotient.operand_dtype = DType::i64;
  const std::vector<Instr> program{instr(Kind::part), guarded(Kind::load, 0), quotient,
                                   map(Op::neg, 1),   instr(Kind::load),      instr(Kind::store, 4)};
  CHECK(kinds(left_of(program, {kNone})) == std::vector<Kind>{Kind::scalar, Kind::map, Kind::load, Kind::store});
}
