#include "support/random_programs.h"

#include "support/random_generator.h"

namespace tsl {

Block Generator::program() {
  Block out;
  has_module_ = !module_.empty() && random_.chance(30);
  if (has_module_) out.emplace_back(fmt::format("import \"{}\" as state", module_));
  declare_globals(out);
  for (int n = 1 + random_.below(3); n > 0; --n) out.push_back(function());
  for (int n = 2 + random_.below(4); n > 0; --n) append_use(out);
  for (const Variable& v : globals_) print_exactly(v, out);
  if (random_.chance(12)) out.insert(out.begin(), Statement("use f64"));
  return out;
}

void Generator::declare_globals(Block& out) {
  const Typed types[] = {{Kind::integer, "", {}},       {Kind::real, "", {}},
                         {Kind::tensor, "f32", {"3"}},  {Kind::record, "f32", {"2", "3"}},
                         {Kind::tensors, "f64", {"2"}}, {Kind::tensor, "i64", {"2", "3"}}};
  for (const Typed& type : types) {
    if (!random_.chance(60)) continue;
    const std::string name = fresh("g");
    out.emplace_back(fmt::format("var {} = {}", name, expressions_.of(type, 1)));
    declare(name, type, true);
  }
  globals_ = scope();
}

void Generator::append_use(Block& out) {
  scope() = globals_;
  const int way = random_.below(14);
  const Routine& routine = routines_[random_.below(static_cast<int>(routines_.size()))];
  if (way >= 12) return append_growing(out, routine);
  if (way >= 10) return append_sizes(out, routine);
  if (way < 4) return append_call_and_print(out, routine);
  if (way < 6) return append_loop(out, routine);
  if (way < 8) return append_iteration(out, routine);
  Block body = block(1 + random_.below(3), 0);
  // Names declared here would be visible below; the generator forgets them.
  out.insert(out.end(), std::make_move_iterator(body.begin()), std::make_move_iterator(body.end()));
}

void Generator::append_call_and_print(Block& out, const Routine& routine) {
  for (int n = 2 + random_.below(4); n > 0; --n) {
    const std::string name = fresh("r");
    const auto [call, type] = call_of(routine);
    Block body;
    body.emplace_back(fmt::format("let {} = {}", name, call));
    print_exactly({name, type, false}, body);
    if (random_.chance(15)) {
      out.insert(out.end(), body.begin(), body.end());
      continue;
    }
    const std::string e = fresh("e");
    Block handler;
    handler.emplace_back(fmt::format("print({0}.name, {0}.message, {0}.line)", e));
    out.push_back(Statement({{"try", std::move(body)}, {"catch " + e, std::move(handler)}}));
  }
}

void Generator::append_sizes(Block& out, const Routine& routine) {
  const std::string size = fresh("i");
  const size_t outer = scope().size();
  declare(size, {Kind::integer, "", {}}, false);
  std::vector<std::string> sizes = routine.sizes;
  sizes[random_.below(2)] = size;
  if (random_.chance(30)) sizes = {size, size};
  Block body;
  append_guarded_call(body, routine, sizes);
  scope().resize(outer);
  out.push_back(branch(
      fmt::format("for {} in {}", size, random_.pick({"[2, 3, 5, 4]", "[3, 1, 4, 0, 2]", "1..6", "[7, 2, 7, 33, 3]"})),
      std::move(body)));
}

void Generator::append_growing(Block& out, const Routine& routine) {
  const Typed& type = routine.parameters[0].type;
  const std::string rows = fresh("c"), i = fresh("i"), extent = rows + ".shape[0]";
  const std::string columns = routine.sizes[1];
  out.emplace_back(fmt::format(
      "var {} = {}", rows, expressions_.of({Kind::tensor, type.dtype, {random_.pick({"0", "1", "2"}), columns}}, 0)));
  const size_t outer = scope().size();
  declare(i, {Kind::integer, "", {}}, false);
  ++loops_;
  Block body;
  const std::string more =
      expressions_.of({Kind::tensor, type.dtype, {random_.pick({"1", "2", "(" + i + " % 3)"}), columns}}, 1);
  body.emplace_back(fmt::format("{0} = concat([{0}, {1}])", rows, more));
  declare(rows, {Kind::tensor, type.dtype, {extent, columns}}, false);
  append_guarded_call(body, routine, {extent, columns});
  --loops_;
  scope().resize(outer);
  out.push_back(branch(fmt::format("for {} in 0..{}", i, 3 + random_.below(4)), std::move(body)));
}

void Generator::append_guarded_call(Block& out, const Routine& routine, const std::vector<std::string>& sizes) {
  const std::string name = fresh("r"), e = fresh("e");
  const auto [call, type] = call_of(routine, sizes);
  Block body;
  body.emplace_back(fmt::format("let {} = {}", name, call));
  print_exactly({name, type, false}, body);
  Block handler;
  handler.emplace_back(fmt::format("print({0}.name, {0}.message, {0}.line)", e));
  out.push_back(Statement({{"try", std::move(body)}, {"catch " + e, std::move(handler)}}));
}

void Generator::append_loop(Block& out, const Routine& routine) {
  const std::string i = fresh("i"), name = fresh("r");
  const size_t outer = scope().size();
  declare(i, {Kind::integer, "", {}}, false);
  ++loops_;
  Block body = block(random_.below(3), 1);
  --loops_;
  const auto [call, type] = call_of(routine);
  body.emplace_back(fmt::format("let {} = {}", name, call));
  if (random_.chance(50)) print_exactly({name, type, false}, body);
  else if (type.kind == Kind::tensor) body.emplace_back(fmt::format("print({})", name));
  scope().resize(outer);
  out.push_back(branch(fmt::format("for {} in 0..{}", i, 2 + random_.below(4)), std::move(body)));
}

void Generator::append_iteration(Block& out, const Routine& routine) {
  const Typed& type = routine.parameters[0].type;
  if (routine.result.kind != Kind::tensor || routine.result.dtype != type.dtype || routine.result.shape != type.shape) {
    return append_call_and_print(out, routine);
  }
  const std::string x = fresh("s"), keep = fresh("s"), e = fresh("e");
  const Typed type_of_x{Kind::tensor, type.dtype, {routine.sizes[0], routine.sizes[1]}};
  out.emplace_back(fmt::format("var {} = {}", x, expressions_.of(type_of_x, 1)));
  std::string call = fmt::format("{} = {}({}", x, routine.name, x);
  for (size_t i = 1; i < routine.parameters.size(); ++i) {
    const Parameter& p = routine.parameters[i];
    const Typed wanted = concrete(routine, p.type, routine.sizes);
    const bool may_alias = wanted.kind == Kind::tensor && wanted.shape == type_of_x.shape &&
                           wanted.dtype == type.dtype && p.otherwise.empty();
    const std::string text = may_alias && random_.chance(30) ? x : argument(routine, p, routine.sizes);
    if (!text.empty()) call += ", " + text;
  }
  Block body;
  if (random_.chance(40)) {
    out.emplace_back(fmt::format("var {} = {}", keep, x));
    if (random_.chance(50)) body.emplace_back(fmt::format("{} = {}", keep, x));
  }
  body.emplace_back(call + ")");
  Block handler;
  handler.emplace_back(fmt::format("print({0}.name, {0}.message, {0}.line)", e));
  const bool is_kept = out.back().line.find(keep + " = ") != std::string::npos;
  out.push_back(
      Statement({{"try", {branch(fmt::format("for {} in 0..{}", fresh("i"), 2 + random_.below(4)), std::move(body))}},
                 {"catch " + e, std::move(handler)}}));
  print_exactly({x, type_of_x, false}, out);
  if (is_kept) print_exactly({keep, type_of_x, false}, out);
}

void Generator::print_exactly(const Variable& v, Block& out) {
  switch (v.type.kind) {
    case Kind::tensor:
      out.emplace_back(fmt::format("print(\"{0}\", {0}.dtype, {0}.shape, {0}.tolist())", v.name));
      break;
    case Kind::record: out.emplace_back(fmt::format("print(\"{0}\", {0}.w.tolist(), {0}.b.tolist())", v.name)); break;
    case Kind::tensors:
      out.emplace_back(fmt::format("print(\"{0}\", {0}[0].tolist(), {0}[1].tolist())", v.name));
      break;
    default: out.emplace_back(fmt::format("print(\"{0}\", {0})", v.name)); break;
  }
}

Block random_program(Random& random, std::string module) { return Generator(random, std::move(module)).program(); }

namespace {

void write(const Block& block, int indent, std::string& out) {
  const std::string margin(static_cast<size_t>(indent) * 2, ' ');
  for (const Statement& statement : block) {
    if (statement.parts.empty()) {
      out += margin + statement.line + "\n";
      continue;
    }
    for (size_t i = 0; i < statement.parts.size(); ++i) {
      out += (i == 0 ? margin : " ") + statement.parts[i].head + " {\n";
      write(statement.parts[i].body, indent + 1, out);
      out += margin + "}";
    }
    out += "\n";
  }
}

}  // namespace

std::string to_text(const Block& program) {
  std::string text;
  write(program, 0, text);
  return text;
}

}  // namespace tsl
