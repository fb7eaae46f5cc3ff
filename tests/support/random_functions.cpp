#include "support/random_generator.h"

#include <algorithm>

namespace tsl {

Typed Generator::parameter_type(const std::vector<std::string>& dims) {
  if (random_.chance(15)) return {Kind::integer, "", {}};
  if (random_.chance(15)) return {Kind::real, "", {}};
  Typed type;
  type.dtype = random_.chance(50) ? "f32" : expressions_.any_dtype();
  for (int axes = random_.below(3); axes > 0; --axes) {
    type.shape.push_back(random_.chance(75) ? dims[random_.below(static_cast<int>(dims.size()))]
                                            : random_.pick({"2", "3"}));
  }
  if (!type.shape.empty() && random_.chance(25)) type.kind = random_.chance(60) ? Kind::record : Kind::tensors;
  return type;
}

std::string Generator::annotated(const Parameter& p) {
  const std::string otherwise = p.range + (p.otherwise.empty() ? "" : " = " + p.otherwise);
  if (p.type.kind == Kind::tensor)
    return fmt::format("{}: {}{}", p.name, p.type.dtype, to_text(p.type.shape)) + otherwise;
  if (!p.range.empty()) return p.name + (p.type.kind == Kind::integer ? ": int" : ": number") + otherwise;
  return p.name + (p.type.kind == Kind::integer && !otherwise.empty() ? ": int" : "") + otherwise;
}

std::string Generator::any_range(const Typed& type) {
  if (!random_.chance(20)) return "";
  if (type.kind == Kind::integer) return random_.pick({" in -9..", " in ..100", " in 0..", " in -3..=9"});
  if (type.kind == Kind::real) return random_.pick({" in ..1e6", " in -1e3..=1e3", " in 0<.."});
  if (type.kind != Kind::tensor || type.dtype == "bool") return "";
  if (!is_float_name(type.dtype)) return random_.pick({" in 0..", " in ..100", " in ..=2"});
  return random_.pick({" in ..60000", " in -60000.0..=60000.0", " in -4.0..=4.0"});
}

bool Generator::is_dim(const Routine& routine, const std::string& name) {
  return std::find(routine.dims.begin(), routine.dims.end(), name) != routine.dims.end();
}

Statement Generator::function() {
  scope() = globals_;
  Routine routine;
  routine.name = fresh("f");
  routine.dims = {fresh("n"), fresh("m")};
  routine.sizes = any_sizes();
  // The first parameter binds the dimensions.
  routine.parameters.push_back(
      {fresh("x"), {Kind::tensor, random_.chance(70) ? "f32" : expressions_.any_dtype(), routine.dims}});
  for (int n = random_.below(4); n > 0; --n) routine.parameters.push_back({fresh("x"), parameter_type(routine.dims)});
  for (Parameter& p : routine.parameters) p.range = any_range(p.type);
  routine.result = result_type(routine);
  // A dimension may be a parameter, too.
  for (const std::string& dim : routine.dims) {
    if (random_.chance(20)) routine.parameters.push_back({dim, {Kind::integer, "", {}}});
  }
  if (random_.chance(25)) {  // a size that only the result's annotation names
    routine.dims.push_back(fresh("k"));
    routine.sizes.push_back(random_.pick({"2", "3", "0", "4"}));
    routine.parameters.push_back({routine.dims[2], {Kind::integer, "", {}}});
    routine.result = {Kind::tensor, expressions_.any_dtype(), {routine.dims[2]}};
    if (random_.chance(50)) routine.result.shape.push_back(routine.dims[1]);
  }
  append_optional_parameters(routine);
  std::vector<std::string> parameters;
  for (const Parameter& p : routine.parameters) parameters.push_back(annotated(p));
  for (const Parameter& p : routine.parameters) {
    if (!is_dim(routine, p.name)) declare(p.name, p.type, false);
  }
  for (const std::string& dim : routine.dims) declare(dim, {Kind::integer, "", {}}, false);
  result_ = &routine.result;
  Block body = block(3 + random_.below(4), 0);
  body.emplace_back(fmt::format("return {}", expressions_.of(routine.result, 2)));
  result_ = nullptr;
  scope() = globals_;
  const bool names_result = routine.result.kind == Kind::tensor && random_.chance(50);
  const std::string returns =
      names_result ? fmt::format(" -> {}{}", routine.result.dtype, to_text(routine.result.shape)) : "";
  const std::string head = fmt::format("{}fn {}({}){}", random_.chance(80) ? "@compile\n" : "", routine.name,
                                       fmt::join(parameters, ", "), returns);
  routines_.push_back(routine);
  return branch(head, std::move(body));
}

void Generator::append_optional_parameters(Routine& routine) {
  for (int n = random_.below(3); n > 0 && random_.chance(60); --n) {
    Typed type{random_.chance(50) ? Kind::integer : Kind::real, "", {}};
    if (random_.chance(30)) type = {Kind::tensor, expressions_.any_dtype(), {"3"}};
    std::string otherwise = expressions_.of(type, 0);
    routine.parameters.push_back({fresh("o"), std::move(type), std::move(otherwise)});
  }
}

Typed Generator::result_type(const Routine& routine) {
  if (random_.chance(15)) return {Kind::real, "", {}};
  const Parameter& p = routine.parameters[random_.below(static_cast<int>(routine.parameters.size()))];
  if (p.type.kind == Kind::tensor || p.type.kind == Kind::record) return p.type;
  return {Kind::tensor, "f32", routine.dims};
}

std::vector<std::string> Generator::any_sizes() {
  return {random_.pick({"2", "2", "3", "3", "1", "5", "0"}), random_.pick({"3", "3", "2", "4", "1"})};
}

std::pair<std::string, Typed> Generator::call_of(const Routine& routine) {
  return call_of(routine, random_.chance(65) ? routine.sizes : any_sizes());
}

Typed Generator::concrete(const Routine& routine, Typed type, const std::vector<std::string>& sizes) {
  for (std::string& extent : type.shape) {
    for (size_t d = 0; d < routine.dims.size(); ++d) {
      if (extent != routine.dims[d]) continue;
      extent = d < sizes.size() ? sizes[d] : routine.sizes[d];
      break;
    }
  }
  return type;
}

std::string Generator::strided(const std::string& text, size_t rank) {
  if (rank == 1) {
    return fmt::format(fmt::runtime(random_.pick({"({} + 0)[::-1]", "concat([{0}, {0}])[::2]",
                                                  "stack([{0}, {0}], axis: 1)[:, 0]", "roll({}, 1)[::-1]"})),
                       text);
  }
  if (rank != 2) return text;
  return fmt::format(fmt::runtime(random_.pick({"({} + 0).T.T[::-1]", "({} + 0)[:, ::-1]", "(({}).T + 0).T",
                                                "concat([{0}, {0}], axis: 1)[:, ::2]", "concat([{0}, {0}])[::-2]",
                                                "stack([{0}, {0}], axis: 2)[:, :, 1]"})),
                     text);
}

std::string Generator::argument(const Routine& routine, const Parameter& p, const std::vector<std::string>& sizes) {
  if (is_dim(routine, p.name)) return concrete(routine, {Kind::tensor, "", {p.name}}, sizes).shape[0];
  if (!p.otherwise.empty() && random_.chance(50)) return "";
  std::string text = expressions_.of(concrete(routine, p.type, sizes), 1);
  if (p.type.kind == Kind::tensor && random_.chance(20)) text = strided(text, p.type.shape.size());
  return p.otherwise.empty() ? text : fmt::format("{}: {}", p.name, text);
}

std::pair<std::string, Typed> Generator::call_of(const Routine& routine, const std::vector<std::string>& sizes) {
  std::vector<std::string> args;
  for (const Parameter& p : routine.parameters) {
    std::string text = argument(routine, p, sizes);
    if (!text.empty()) args.push_back(std::move(text));
  }
  return {fmt::format("{}({})", routine.name, fmt::join(args, ", ")), concrete(routine, routine.result, sizes)};
}

}  // namespace tsl
