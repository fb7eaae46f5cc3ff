#include "support/random_generator.h"

#include <algorithm>

namespace tsl {

Variable& Generator::declare(std::string name, Typed type, bool is_assignable) {
  scope().push_back({std::move(name), std::move(type), is_assignable});
  return scope().back();
}

Block Generator::block(int statements, int depth) {
  const size_t outer = scope().size();
  Block out;
  for (int i = 0; i < statements; ++i) append_statement(out, depth);
  if (depth > 0) scope().erase(scope().begin() + static_cast<ptrdiff_t>(outer), scope().end());
  return out;
}

void Generator::append_statement(Block& out, int depth) {
  if (random_.chance(12)) return append_construct(out);
  switch (random_.below(depth >= 2 ? 12 : 20)) {
    case 0:
    case 1:
    case 2: append_declaration(out); break;
    case 3:
    case 4: append_assignment(out); break;
    case 5:
    case 6: append_update(out); break;
    case 7: append_print(out); break;
    case 8: append_call(out); break;
    case 9: append_gradient(out); break;
    case 10: append_closure(out); break;
    case 11: append_exit(out, depth); break;
    case 12:
    case 13:
    case 14: append_if(out, depth); break;
    case 15:
    case 16: append_for(out, depth); break;
    case 17: append_while(out, depth); break;
    case 18: append_try(out, depth); break;
    default: append_random(out); break;
  }
}

Typed Generator::any_type() {
  if (random_.chance(15)) return {Kind::integer, "", {}};
  if (random_.chance(15)) return {Kind::real, "", {}};
  if (random_.chance(6)) return {Kind::tensors, expressions_.float_dtype(), expressions_.any_shape()};
  return {Kind::tensor, expressions_.any_dtype(), expressions_.any_shape()};
}

void Generator::append_declaration(Block& out) {
  const Typed type = any_type();
  const bool is_var = random_.chance(60);
  const std::string value = expressions_.of(type, 2 + random_.below(2));
  const std::string name = fresh("v");
  out.emplace_back(fmt::format("{} {} = {}", is_var ? "var" : "let", name, value));
  declare(name, type, is_var);
}

const Variable* Generator::assignable(std::initializer_list<Kind> kinds) {
  std::vector<const Variable*> fits;
  for (const Variable& v : scope()) {
    if (v.is_assignable && std::find(kinds.begin(), kinds.end(), v.type.kind) != kinds.end()) fits.push_back(&v);
  }
  return fits.empty() ? nullptr : fits[random_.below(static_cast<int>(fits.size()))];
}

void Generator::append_assignment(Block& out) {
  const Variable* v = assignable({Kind::integer, Kind::real, Kind::tensor, Kind::tensors, Kind::record});
  if (!v) return append_declaration(out);
  out.emplace_back(fmt::format("{} = {}", v->name, expressions_.of(v->type, 2)));
}

void Generator::append_update(Block& out) {
  const Variable* v = assignable({Kind::tensor, Kind::tensors, Kind::record});
  if (!v) return append_declaration(out);
  Extents shape = v->type.shape;
  std::string place = v->name;
  if (v->type.kind == Kind::tensors) place += fmt::format("[{}]", random_.below(2));
  if (v->type.kind == Kind::record) {
    const bool is_w = random_.chance(60);
    place += is_w ? ".w" : ".b";
    if (!is_w) shape = {shape.back()};
    if (random_.chance(30)) {
      out.emplace_back(fmt::format("{} = {}", place, expressions_.tensor(v->type.dtype, shape, 2)));
      return;
    }
  }
  if (shape.empty()) return append_assignment(out);
  const std::string operation = v->type.dtype == "bool" ? "=" : random_.pick({"=", "=", "+=", "*=", "-="});
  const Extents row(shape.begin() + 1, shape.end());
  std::string index = random_.pick({"0", "-1", "1"});
  std::string value = random_.chance(40) ? "2" : expressions_.tensor(v->type.dtype, row, 1);
  switch (random_.below(6)) {
    case 0: index = fmt::format("{} % 2", expressions_.integer(1)); break;
    case 1: index = fmt::format("({} % 2)", expressions_.tensor("i64", {"3"}, 1)); break;
    case 2: index = random_.pick({"::2", "1:", "::-1", ":1"}); break;
    case 3:
      index = expressions_.tensor("bool", shape, 1);
      value = "1";
      break;
    case 4: index = fmt::format("{}[0] % 2", expressions_.tensor("i64", {"2"}, 1)); break;
    default: break;
  }
  if (v->type.dtype == "bool" && value.size() == 1) value = "true";
  out.emplace_back(fmt::format("{}[{}] {} {}", place, index, operation, value));
}

void Generator::append_print(Block& out) {
  if (random_.chance(2)) out.emplace_back("breakpoint()");  // where nobody looks it does nothing, but for what it keeps
  switch (random_.below(6)) {
    case 0:
      out.emplace_back(
          fmt::format("print({})", expressions_.tensor(expressions_.any_dtype(), expressions_.any_shape(), 1)));
      break;
    case 1:
      out.emplace_back(fmt::format("print(f\"{{{}}} {{{}}}\")", expressions_.integer(1), expressions_.real(1)));
      break;
    case 2:
      if (random_.chance(50)) out.emplace_back(fmt::format("print(f\"{{{}:.17g}}\")", expressions_.real(2)));
      else
        out.emplace_back(fmt::format("print(f\"{{{0}:{{9 + {1} % 3}},.2f}} {{{1}=}}\")", expressions_.real(1),
                                     expressions_.integer(1)));
      break;
    case 3:
      out.emplace_back(fmt::format("print({}.item())", fmt::format("f64({})", expressions_.tensor("f32", {}, 2))));
      break;
    case 4: out.emplace_back(fmt::format("print({})", expressions_.integer(2))); break;
    default:
      if (random_.chance(20)) out.emplace_back(fmt::format("print({}.tolist())", expressions_.tensor("f32", {"3"}, 1)));
      else out.emplace_back(fmt::format("print({}, {})", expressions_.real(1), expressions_.integer(1)));
      break;
  }
}

void Generator::append_call(Block& out) {
  if (routines_.empty()) return append_declaration(out);
  const Routine& routine = routines_[random_.below(static_cast<int>(routines_.size()))];
  const auto [call, type] = call_of(routine);
  const std::string name = fresh("r");
  out.emplace_back(fmt::format("let {} = {}", name, call));
  declare(name, type, false);
}

void Generator::append_gradient(Block& out) {
  std::vector<Variable> floats;
  for (const Variable& v : scope()) {
    if (v.type.kind == Kind::tensor && is_float_name(v.type.dtype)) floats.push_back(v);
  }
  if (floats.empty()) return append_declaration(out);
  const Variable v = floats[random_.below(static_cast<int>(floats.size()))];
  const std::string z = fresh("z"), name = fresh("d");
  const std::string function = fmt::format("fn({}) = {}", z, expressions_.loss(z, v.type, 2));
  if (random_.chance(50)) {
    out.emplace_back(fmt::format("let {} = grad({})({})", name, function, v.name));
  } else {
    const std::string loss = fresh("l");
    out.emplace_back(fmt::format("let ({}, {}) = value_and_grad({})({})", loss, name, function, v.name));
    declare(loss, {Kind::tensor, v.type.dtype, {}}, false);
  }
  declare(name, v.type, false);
}

void Generator::append_closure(Block& out) {
  const Variable* found = assignable({Kind::integer, Kind::real, Kind::tensor});
  const std::string name = fresh("h"), k = fresh("k");
  if (!found || !random_.chance(60)) {
    const Typed type{Kind::tensor, "f32", expressions_.any_shape()};
    declare(k, type, false);
    const std::string body = expressions_.tensor(type.dtype, type.shape, 2);
    scope().pop_back();
    out.emplace_back(fmt::format("let {} = fn({}) = {}", name, k, body));
    const std::string value = fresh("v");
    out.emplace_back(fmt::format("let {} = {}({})", value, name, expressions_.tensor(type.dtype, type.shape, 1)));
    declare(value, type, false);
    return;
  }
  const Variable v = *found;
  const std::string operation = v.type.dtype == "bool" ? "=" : random_.pick({"=", "+=", "-="});
  const std::string value = expressions_.of(v.type, 1);
  Block body;
  body.emplace_back(fmt::format("{} {} {}", v.name, operation, value));
  body.emplace_back(fmt::format("return {}", k));
  out.push_back(branch(fmt::format("fn {}({})", name, k), std::move(body)));
  for (int n = 1 + random_.below(2); n > 0; --n) out.emplace_back(fmt::format("{}({})", name, n));
}

void Generator::append_exit(Block& out, int depth) {
  const std::string condition = expressions_.condition(1);
  std::string way;
  if (loops_ > 0 && random_.chance(60)) way = random_.pick({"break", "continue"});
  else if (random_.chance(12)) way = "error(\"given up\")";
  else if (result_) way = fmt::format("return {}", expressions_.of(*result_, 1));
  else way = fmt::format("print({})", depth);
  out.push_back(branch("if " + condition, {Statement(way)}));
}

void Generator::append_random(Block& out) {
  if (random_.chance(25)) out.emplace_back(fmt::format("seed({})", expressions_.integer(0)));
  else append_declaration(out);
}

void Generator::append_if(Block& out, int depth) {
  const std::string condition = expressions_.condition(2);
  std::vector<Statement::Part> parts;
  parts.push_back({"if " + condition, block(1 + random_.below(2), depth + 1)});
  if (random_.chance(25)) {
    const std::string second = expressions_.condition(1);
    parts.push_back({"else if " + second, block(1, depth + 1)});
  }
  if (random_.chance(50)) parts.push_back({"else", block(1 + random_.below(2), depth + 1)});
  out.push_back(Statement(std::move(parts)));
}

void Generator::append_for(Block& out, int depth) {
  const std::string name = fresh("i");
  std::string over;
  Typed type{Kind::integer, "", {}};
  switch (random_.below(5)) {
    case 0: over = random_.pick({"[2, 0, 1]", "[1, 1, 5]"}); break;
    case 1: {
      Extents shape = expressions_.any_shape();
      type = {Kind::tensor, expressions_.any_dtype(), shape};
      shape.insert(shape.begin(), random_.pick({"2", "3"}));
      over = expressions_.tensor(type.dtype, shape, 1);
      break;
    }
    case 2: over = fmt::format("0..({} % 4)", expressions_.integer(1)); break;
    case 3: over = random_.pick({"range(3)", "range(5, 1, -2)"}); break;
    default: over = random_.pick({"0..2", "0..3", "1..=3"}); break;
  }
  const size_t outer = scope().size();
  declare(name, type, false);
  ++loops_;
  Block body = block(1 + random_.below(3), depth + 1);
  --loops_;
  scope().resize(outer);
  out.push_back(branch(fmt::format("for {} in {}", name, over), std::move(body)));
}

void Generator::append_while(Block& out, int depth) {
  const std::string name = fresh("c");
  const std::string condition = expressions_.condition(1);
  out.emplace_back(fmt::format("var {} = 0", name));
  declare(name, {Kind::integer, "", {}}, false);
  ++loops_;
  Block body;
  body.emplace_back(fmt::format("{} += 1", name));
  Block rest = block(1 + random_.below(2), depth + 1);
  body.insert(body.end(), rest.begin(), rest.end());
  --loops_;
  out.push_back(branch(fmt::format("while {} < {} and ({})", name, 2 + random_.below(4), condition), std::move(body)));
}

/// Makes the block of a `finally`: it prints, and may have loops and ways out of its own.
Block Generator::last_block(int depth) {
  const size_t outer = scope().size();
  Block last;
  last.emplace_back("print(\"finally\")");
  if (depth < 3 && random_.chance(40)) append_for(last, depth);
  if (random_.chance(15)) append_exit(last, depth);
  scope().resize(outer);
  return last;
}

void Generator::append_try(Block& out, int depth) {
  Block body = block(1 + random_.below(2), depth + 1);
  if (random_.chance(60)) { body.emplace_back(fmt::format("let {} = {}", fresh("v"), expressions_.failing())); }
  const std::string e = fresh("e");
  Block handler;
  handler.emplace_back(fmt::format("print({0}.name, {0}.message, {0}.line)", e));
  if (loops_ > 0 && random_.chance(25)) append_exit(body, depth + 1);
  std::vector<Statement::Part> parts = {{"try", std::move(body)}, {"catch " + e, std::move(handler)}};
  if (random_.chance(40)) parts.push_back({"finally", last_block(depth + 1)});
  out.push_back(Statement(std::move(parts)));
}

}  // namespace tsl
