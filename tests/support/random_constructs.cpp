// Statements about host values, modules and errors, and derivatives of derivatives.
#include "support/random_generator.h"

namespace tsl {

void Generator::append_construct(Block& out) {
  switch (random_.below(12)) {
    case 0: return append_host_list(out);
    case 10:
    case 11: return append_varying_map(out);
    case 7: return append_pattern(out);
    case 8: return append_attempt(out);
    case 9: return append_growing_list(out);
    case 1: return append_string(out);
    case 2: return append_map(out);
    case 3: return append_module(out);
    case 4:
    case 5: return append_higher_gradient(out);
    default: return append_failure(out);
  }
}

void Generator::append_host_list(Block& out) {
  const std::string name = fresh("l");
  const auto integer = [&] { return expressions_.integer(1); };
  out.emplace_back(fmt::format("var {} = [{}, {}, {}]", name, integer(), integer(), integer()));
  for (int n = 1 + random_.below(3); n > 0; --n) {
    switch (random_.below(6)) {
      case 0: out.emplace_back(fmt::format("{}[{} % 3] = {}", name, integer(), integer())); break;
      case 1: out.emplace_back(fmt::format("{0} = {0} + [{1}]", name, integer())); break;
      case 2: out.emplace_back(fmt::format("{0} = map(fn(e) = e * {1} + {2}, {0})", name, integer(), integer())); break;
      case 3:
        out.emplace_back(fmt::format("{0} = sorted({0}, reverse: {1})", name, random_.pick({"true", "false"})));
        break;
      case 4: out.emplace_back(fmt::format("{0} = {0}[::-1] + filter(fn(e) = e > {1}, {0})", name, integer())); break;
      default: out.emplace_back(fmt::format("{0}[{1} % 3] += {2}", name, integer(), integer())); break;
    }
  }
  out.emplace_back(fmt::format("print({0}, len({0}), sum({0}), max({0}), tensor({0}).tolist())", name));
}

/// A loop appends to a list, counts it, passes it on, and sometimes looks at its elements.
void Generator::append_growing_list(Block& out) {
  const std::string name = fresh("g"), other = fresh("o"), turn = fresh("q");
  const bool is_tensors = random_.chance(50);
  const Typed type{Kind::tensor, "f32", {"2"}};
  const auto element = [&] {
    return is_tensors ? fmt::format("{} * {}", expressions_.of(type, 1), turn)
                      : fmt::format("{} + {}", expressions_.integer(1), turn);
  };
  const std::string last = is_tensors ? fmt::format("{}[-1].tolist()", name) : fmt::format("{}[-1]", name);
  out.emplace_back(fmt::format("var {} = []", name));
  out.emplace_back(fmt::format("var {} = []", other));
  Block body;
  for (int n = 1 + random_.below(3); n > 0; --n) {
    switch (random_.below(6)) {
      case 0: body.emplace_back(fmt::format("{} = {}", other, name)); break;
      case 1: body.emplace_back(fmt::format("{0} = {1} + [{2}]", other, name, element())); break;
      case 2: body.emplace_back(fmt::format("print(len({}), len({}))", name, other)); break;
      case 3: body.emplace_back(fmt::format("{0} = {0} + [{1}, {2}]", name, element(), element())); break;
      default: break;
    }
    body.emplace_back(fmt::format("{} += [{}]", name, element()));
  }
  if (random_.chance(30)) body.emplace_back(fmt::format("print({})", last));
  out.push_back(branch(fmt::format("for {} in 0..{}", turn, 3 + random_.below(5)), std::move(body)));
  out.emplace_back(fmt::format("print(len({0}), {0}, {1})", name, other));
}

/// A loop adds keys to a map, and changes, reads, counts, removes and passes on its entries; sometimes all are shown.
void Generator::append_varying_map(Block& out) {
  const std::string name = fresh("v"), other = fresh("o"), turn = fresh("q");
  const Typed type{Kind::tensor, "f32", {"2"}};
  const auto value = [&] {
    return random_.chance(50) ? expressions_.of(type, 1) : fmt::format("{} + {}", expressions_.integer(1), turn);
  };
  const auto key = [&] { return random_.pick({"\"a\"", "\"b\"", "(1, \"c\")", "2"}); };
  out.emplace_back(fmt::format("var {} = [\"a\": {}, 2: {}]", name, expressions_.of(type, 1), expressions_.integer(1)));
  out.emplace_back(fmt::format("var {} = [:]", other));
  Block body;
  if (random_.chance(70)) body.emplace_back(fmt::format("{}[f\"k{{{}}}\"] = {}", name, turn, value()));
  for (int n = 2 + random_.below(4); n > 0; --n) {
    const std::string at = key();
    switch (random_.below(9)) {
      case 0: body.emplace_back(fmt::format("{} = {}", other, name)); break;
      case 1: body.emplace_back(fmt::format("{}[{}] = {}", name, at, value())); break;
      case 2: body.emplace_back(fmt::format("if {1} in {0} {{ {0} = remove({0}, {1}) }}", name, at)); break;
      case 3: body.emplace_back(fmt::format("print(len({}), {} in {})", name, at, other)); break;
      case 4: body.emplace_back(fmt::format("{0}[{1}] = get({2}, {1}, {3})", name, at, other, value())); break;
      case 5: body.emplace_back(fmt::format("print(get({}, {}, nil))", name, at)); break;
      case 6: body.emplace_back(fmt::format("{0}[{1}] = get({0}, {1}, 1) * 2", name, at)); break;
      case 7: body.emplace_back(fmt::format("{0} = [...{1}, {2}: {3}]", other, name, at, value())); break;
      default: body.emplace_back(fmt::format("if len({0}) % 2 == 0 {{ {0}[{1}] = len({2}) }}", name, at, other)); break;
    }
  }
  if (random_.chance(20)) body.emplace_back(fmt::format("print(keys({}), {})", name, other));
  out.push_back(branch(fmt::format("for {} in 0..{}", turn, 4 + random_.below(6)), std::move(body)));
  out.emplace_back(fmt::format("print(len({0}), {0}, {1}, {0} == {1})", name, other));
}

void Generator::append_string(Block& out) {
  const std::string name = fresh("t");
  out.emplace_back(fmt::format("var {} = f\"{{{}}}:{{{}:.3f}}\"", name, expressions_.integer(1), expressions_.real(1)));
  switch (random_.below(4)) {
    case 0: out.emplace_back(fmt::format("{0} = {0} + str({1})", name, expressions_.integer(1))); break;
    case 1: out.emplace_back(fmt::format("{0} = replace({0}, \"1\", \"one\")", name)); break;
    case 2: out.emplace_back(fmt::format("{0} = {0} + f\"{{{1}}}\"", name, expressions_.tensor("f32", {}, 1))); break;
    default: break;
  }
  out.emplace_back(fmt::format("print({0}, len({0}), {0}[{1} % 3], split({0}, \":\"), upper({0}) == {0})", name,
                               expressions_.integer(0)));
}

void Generator::append_map(Block& out) {
  const std::string name = fresh("m"), key = fresh("q");
  const Typed type{Kind::tensor, expressions_.any_dtype(), {"2"}};
  const bool is_record = random_.chance(50);
  const auto key_of = [&](const std::string& number) {
    return is_record ? fmt::format("f\"k{{{}}}\"", number) : fmt::format("({}, \"k\")", number);
  };
  out.emplace_back(fmt::format("var {} = {}", name, is_record ? "{}" : "[:]"));
  Block fill;
  fill.emplace_back(
      fmt::format("{}[{}] = {{w: {}, n: {}}}", name, key_of(key), expressions_.of(type, 1), expressions_.integer(1)));
  out.push_back(branch(fmt::format("for {} in 0..{}", key, 2 + random_.below(3)), std::move(fill)));
  for (int n = random_.below(3); n > 0; --n) {
    const std::string place = fmt::format("{}[{}]", name, key_of(std::to_string(random_.below(2))));
    switch (random_.below(4)) {
      case 0: out.emplace_back(fmt::format("{}.n += {}", place, expressions_.integer(1))); break;
      case 1: out.emplace_back(fmt::format("{}.w = {}", place, expressions_.of(type, 1))); break;
      case 2:
        out.emplace_back(fmt::format("{}.w[0] = {}", place, type.dtype == "bool" ? "true" : random_.pick({"1", "2"})));
        break;
      default:
        out.emplace_back(fmt::format("{0}[{1}] = {0}[{2}]", name, key_of(expressions_.integer(1)), key_of("1")));
        break;
    }
  }
  Block show;
  show.emplace_back(fmt::format("print({0}, {1}[{0}].n, {1}[{0}].w.tolist())", key, name));
  out.push_back(branch(fmt::format("for {} in keys({})", key, name), std::move(show)));
  if (is_record) return;
  if (random_.chance(50)) out.emplace_back(fmt::format("{0} = remove({0}, {1})", name, key_of("0")));
  const std::string other = key_of(expressions_.integer(1));
  out.emplace_back(fmt::format("print(len({0}), {1} in {0}, get({0}, {2}, 0) == 0)", name, key_of("0"), other));
}

void Generator::append_pattern(Block& out) {
  const std::string first = fresh("p"), others = fresh("p");
  const auto integer = [&] { return expressions_.integer(1); };
  const std::string list = fmt::format("[{}, {}, {}]", integer(), integer(), integer());
  switch (random_.below(6)) {
    case 0: out.emplace_back(fmt::format("let ({}, ...{}) = {}", first, others, list)); break;
    case 1:
      out.emplace_back(fmt::format("var ({}, {}) = (0, [0])", first, others));
      out.emplace_back(fmt::format("({}, ...{}) = {}", first, others, list));
      break;
    case 2: {
      const std::string field = expressions_.of({Kind::tensor, expressions_.any_dtype(), {"2"}}, 1);
      out.emplace_back(
          fmt::format("let {{w: {}, ...{}}} = {{n: {}, w: {}, l: {}}}", first, others, integer(), field, list));
      out.emplace_back(fmt::format("print({}.tolist(), {})", first, others));
      return;
    }
    case 3:
      out.emplace_back(fmt::format("let {} = fn({{n, m: (a, ...b)}}, c) = n * c + a - sum(b)", others));
      out.emplace_back(fmt::format("let {} = {}({{n: {}, m: {}}}, {})", first, others, integer(), list, integer()));
      out.emplace_back(fmt::format("print({})", first));
      return;
    case 4: {
      const std::string field = expressions_.of({Kind::tensor, expressions_.any_dtype(), {"2"}}, 1);
      out.emplace_back(fmt::format("let {} = {{w: {}, n: {}}}", first, field, integer()));
      out.emplace_back(fmt::format("let {} = fn(k, w, n = 1) = [k + n, w.tolist()]", others));
      out.emplace_back(fmt::format("print({}({}, ...{}))", others, integer(), first));
      return;
    }
    default:
      out.emplace_back(fmt::format("let {} = fn(a, ...b) = [a * {}] + b", others, integer()));
      out.emplace_back(fmt::format("let {} = {}(...{}, {})", first, others, list, integer()));
      out.emplace_back(fmt::format("print({})", first));
      return;
  }
  out.emplace_back(fmt::format("print({0}, {1}, len({1}))", first, others));
}

void Generator::append_attempt(Block& out) {
  const std::string name = fresh("a");
  const std::string index = expressions_.integer(1), otherwise = expressions_.integer(1);
  const std::string last = random_.chance(50) ? fmt::format(" finally {{ print({}) }}", expressions_.integer(0)) : "";
  out.emplace_back(fmt::format("let {} = try {{ [{}, {}][{}] }} catch e {{ {} }}{}", name, expressions_.integer(1),
                               expressions_.integer(1), index, otherwise, last));
  out.emplace_back(fmt::format("print({})", name));
}

void Generator::append_module(Block& out) {
  if (!has_module_) return append_declaration(out);
  const std::string name = fresh("v");
  switch (random_.below(4)) {
    case 0: out.emplace_back(fmt::format("print(state.count_up({}), state.count)", expressions_.integer(1))); break;
    case 1: out.emplace_back(fmt::format("print(state.note({}), state.total())", expressions_.integer(1))); break;
    case 2: out.emplace_back("state.clear()"); break;
    default:
      out.emplace_back(fmt::format("let {} = state.step({})", name, expressions_.tensor("f32", {"2"}, 1)));
      declare(name, {Kind::tensor, "f32", {"2"}}, false);
      break;
  }
}

void Generator::append_higher_gradient(Block& out) {
  std::vector<Variable> floats;
  for (const Variable& v : scope()) {
    if (v.type.kind == Kind::tensor && is_float_name(v.type.dtype)) floats.push_back(v);
  }
  if (floats.empty()) return append_declaration(out);
  const Variable v = floats[random_.below(static_cast<int>(floats.size()))];
  const std::string inner = fresh("y"), outer = fresh("z"), name = fresh("d");
  std::string f = fmt::format("grad(fn({}) = {})", inner, expressions_.loss(inner, v.type, 2));
  for (int order = random_.chance(20) ? 2 : 1; order > 0; --order) {
    const std::string weight = random_.chance(50) ? outer : expressions_.tensor(v.type.dtype, v.type.shape, 1);
    f = fmt::format("grad(fn({0}) = sum({1}({0}) * {2}))", outer, f, weight);
  }
  out.emplace_back(fmt::format("let {} = {}({})", name, f, v.name));
  declare(name, v.type, false);
}

void Generator::append_failure(Block& out) {
  Statement failing(fmt::format("let {} = {}", fresh("v"), expressions_.failing()));
  if (random_.chance(30)) out.push_back(std::move(failing));
  else out.push_back(branch("if " + expressions_.condition(1), {std::move(failing)}));
}

}  // namespace tsl
