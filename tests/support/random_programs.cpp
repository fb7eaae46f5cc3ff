#include "support/random_programs.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/random_expressions.h"
#include "support/tiers.h"

namespace tsl {

namespace {

Statement branch(std::string head, Block body) { return Statement({{std::move(head), std::move(body)}}); }

struct Parameter {
  std::string name;
  Typed type;
};

struct Routine {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> dims;   // names of its dimensions
  std::vector<std::string> sizes;  // of most calls, so that traces are replayed
  Typed result;                    // of kind tensor, real or record
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), expressions_(random_) {}

  Block program() {
    Block out;
    declare_globals(out);
    for (int n = 1 + random_.below(3); n > 0; --n) out.push_back(function());
    for (int n = 2 + random_.below(4); n > 0; --n) append_use(out);
    for (const Variable& v : globals_) print_exactly(v, out);
    return out;
  }

 private:
  std::vector<Variable>& scope() { return expressions_.scope; }
  std::string fresh(const char* prefix) { return fmt::format("{}_{}", prefix, ++names_); }

  Variable& declare(std::string name, Typed type, bool is_assignable) {
    scope().push_back({std::move(name), std::move(type), is_assignable});
    return scope().back();
  }

  void declare_globals(Block& out) {
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

  // Functions

  Typed parameter_type(const std::vector<std::string>& dims) {
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

  /// Annotates a parameter, so that dimensions have names; records and lists have no annotations.
  static std::string annotated(const Parameter& p) {
    return p.type.kind == Kind::tensor ? fmt::format("{}: {}{}", p.name, p.type.dtype, to_text(p.type.shape)) : p.name;
  }

  Statement function() {
    scope() = globals_;
    Routine routine;
    routine.name = fresh("f");
    routine.dims = {fresh("n"), fresh("m")};
    routine.sizes = any_sizes();
    // The first parameter binds the dimensions.
    routine.parameters.push_back(
        {fresh("x"), {Kind::tensor, random_.chance(70) ? "f32" : expressions_.any_dtype(), routine.dims}});
    for (int n = random_.below(4); n > 0; --n) routine.parameters.push_back({fresh("x"), parameter_type(routine.dims)});
    routine.result = result_type(routine);
    std::vector<std::string> parameters;
    for (const Parameter& p : routine.parameters) {
      parameters.push_back(annotated(p));
      declare(p.name, p.type, false);
    }
    for (const std::string& dim : routine.dims) declare(dim, {Kind::integer, "", {}}, false);
    result_ = &routine.result;
    Block body = block(3 + random_.below(4), 0);
    body.emplace_back(fmt::format("return {}", expressions_.of(routine.result, 2)));
    result_ = nullptr;
    scope() = globals_;
    const std::string head =
        fmt::format("{}fn {}({})", random_.chance(80) ? "@compile\n" : "", routine.name, fmt::join(parameters, ", "));
    routines_.push_back(routine);
    return branch(head, std::move(body));
  }

  Typed result_type(const Routine& routine) {
    if (random_.chance(15)) return {Kind::real, "", {}};
    const Parameter& p = routine.parameters[random_.below(static_cast<int>(routine.parameters.size()))];
    if (p.type.kind == Kind::tensor || p.type.kind == Kind::record) return p.type;
    return {Kind::tensor, "f32", routine.dims};
  }

  // Statements

  Block block(int statements, int depth) {
    const size_t outer = scope().size();
    Block out;
    for (int i = 0; i < statements; ++i) append_statement(out, depth);
    if (depth > 0) scope().erase(scope().begin() + static_cast<ptrdiff_t>(outer), scope().end());
    return out;
  }

  void append_statement(Block& out, int depth) {
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

  Typed any_type() {
    if (random_.chance(15)) return {Kind::integer, "", {}};
    if (random_.chance(15)) return {Kind::real, "", {}};
    if (random_.chance(6)) return {Kind::tensors, expressions_.float_dtype(), expressions_.any_shape()};
    return {Kind::tensor, expressions_.any_dtype(), expressions_.any_shape()};
  }

  void append_declaration(Block& out) {
    const Typed type = any_type();
    const bool is_var = random_.chance(60);
    const std::string value = expressions_.of(type, 2 + random_.below(2));
    const std::string name = fresh("v");
    out.emplace_back(fmt::format("{} {} = {}", is_var ? "var" : "let", name, value));
    declare(name, type, is_var);
  }

  const Variable* assignable(std::initializer_list<Kind> kinds) {
    std::vector<const Variable*> fits;
    for (const Variable& v : scope()) {
      if (v.is_assignable && std::find(kinds.begin(), kinds.end(), v.type.kind) != kinds.end()) fits.push_back(&v);
    }
    return fits.empty() ? nullptr : fits[random_.below(static_cast<int>(fits.size()))];
  }

  void append_assignment(Block& out) {
    const Variable* v = assignable({Kind::integer, Kind::real, Kind::tensor, Kind::tensors, Kind::record});
    if (!v) return append_declaration(out);
    out.emplace_back(fmt::format("{} = {}", v->name, expressions_.of(v->type, 2)));
  }

  /// Writes a part of a variable.
  void append_update(Block& out) {
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

  void append_print(Block& out) {
    switch (random_.below(6)) {
      case 0:
        out.emplace_back(
            fmt::format("print({})", expressions_.tensor(expressions_.any_dtype(), expressions_.any_shape(), 1)));
        break;
      case 1:
        out.emplace_back(fmt::format("print(f\"{{{}}} {{{}}}\")", expressions_.integer(1), expressions_.real(1)));
        break;
      case 2: out.emplace_back(fmt::format("print(f\"{{{}:.17g}}\")", expressions_.real(2))); break;
      case 3:
        out.emplace_back(fmt::format("print({}.item())", fmt::format("f64({})", expressions_.tensor("f32", {}, 2))));
        break;
      case 4: out.emplace_back(fmt::format("print({})", expressions_.integer(2))); break;
      default:
        if (random_.chance(20))
          out.emplace_back(fmt::format("print({}.tolist())", expressions_.tensor("f32", {"3"}, 1)));
        else out.emplace_back(fmt::format("print({}, {})", expressions_.real(1), expressions_.integer(1)));
        break;
    }
  }

  void append_call(Block& out) {
    if (routines_.empty()) return append_declaration(out);
    const Routine& routine = routines_[random_.below(static_cast<int>(routines_.size()))];
    const auto [call, type] = call_of(routine);
    const std::string name = fresh("r");
    out.emplace_back(fmt::format("let {} = {}", name, call));
    declare(name, type, false);
  }

  std::vector<std::string> any_sizes() {
    return {random_.pick({"2", "2", "3", "3", "1", "5", "0"}), random_.pick({"3", "3", "2", "4", "1"})};
  }

  /// Makes a call, and returns its result type in the caller's names.
  std::pair<std::string, Typed> call_of(const Routine& routine) {
    return call_of(routine, random_.chance(65) ? routine.sizes : any_sizes());
  }

  std::pair<std::string, Typed> call_of(const Routine& routine, const std::vector<std::string>& sizes) {
    auto concrete = [&](Typed type) {
      for (std::string& extent : type.shape) {
        if (extent == routine.dims[0]) extent = sizes[0];
        else if (extent == routine.dims[1]) extent = sizes[1];
      }
      return type;
    };
    std::vector<std::string> args;
    for (const Parameter& p : routine.parameters) {
      std::string arg = expressions_.of(concrete(p.type), 1);
      if (p.type.kind == Kind::tensor && p.type.shape.size() == 2 && random_.chance(15))
        arg = fmt::format("({} + 0).T.T[::-1]", arg);
      args.push_back(arg);
    }
    return {fmt::format("{}({})", routine.name, fmt::join(args, ", ")), concrete(routine.result)};
  }

  void append_gradient(Block& out) {
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

  /// Makes a function that reads, and may change, a variable of an enclosing function.
  void append_closure(Block& out) {
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

  /// Returns from the function, leaves its loop, or fails, under a condition.
  void append_exit(Block& out, int depth) {
    const std::string condition = expressions_.condition(1);
    std::string way;
    if (loops_ > 0 && random_.chance(60)) way = random_.pick({"break", "continue"});
    else if (random_.chance(12)) way = "error(\"given up\")";
    else if (result_) way = fmt::format("return {}", expressions_.of(*result_, 1));
    else way = fmt::format("print({})", depth);
    out.push_back(branch("if " + condition, {Statement(way)}));
  }

  void append_random(Block& out) {
    if (random_.chance(25)) out.emplace_back(fmt::format("seed({})", expressions_.integer(0)));
    else append_declaration(out);
  }

  void append_if(Block& out, int depth) {
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

  void append_for(Block& out, int depth) {
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

  void append_while(Block& out, int depth) {
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
    out.push_back(
        branch(fmt::format("while {} < {} and ({})", name, 2 + random_.below(4), condition), std::move(body)));
  }

  void append_try(Block& out, int depth) {
    Block body = block(1 + random_.below(2), depth + 1);
    if (random_.chance(60)) {
      const std::string bad =
          random_.pick({"zeros([2]) + zeros([3])", "arange(3)[tensor([1, 7])]", "arange(4) // tensor([1, 0, 2, 1])",
                        "error(\"raised\")", "1 // 0", "ones([2])[5]", "reshape(ones([3]), [2])"});
      body.emplace_back(fmt::format("let {} = {}", fresh("v"), bad));
    }
    const std::string e = fresh("e");
    Block handler;
    handler.emplace_back(fmt::format("print({0}.kind, {0}.message, {0}.line)", e));
    out.push_back(Statement({{"try", std::move(body)}, {"catch " + e, std::move(handler)}}));
  }

  // The top level

  void append_use(Block& out) {
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

  /// Calls a function several times with other values, and sometimes other shapes.
  void append_call_and_print(Block& out, const Routine& routine) {
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
      handler.emplace_back(fmt::format("print({0}.kind, {0}.message, {0}.line)", e));
      out.push_back(Statement({{"try", std::move(body)}, {"catch " + e, std::move(handler)}}));
    }
  }

  /// Calls one function with many sizes.
  void append_sizes(Block& out, const Routine& routine) {
    const std::string size = fresh("i");
    const size_t outer = scope().size();
    declare(size, {Kind::integer, "", {}}, false);
    std::vector<std::string> sizes = routine.sizes;
    sizes[random_.below(2)] = size;
    if (random_.chance(30)) sizes = {size, size};
    Block body;
    append_guarded_call(body, routine, sizes);
    scope().resize(outer);
    out.push_back(branch(fmt::format("for {} in {}", size,
                                     random_.pick({"[2, 3, 5, 4]", "[3, 1, 4, 0, 2]", "1..6", "[7, 2, 7, 33, 3]"})),
                         std::move(body)));
  }

  /// Makes a tensor grow, and passes it to a function.
  void append_growing(Block& out, const Routine& routine) {
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

  void append_guarded_call(Block& out, const Routine& routine, const std::vector<std::string>& sizes) {
    const std::string name = fresh("r"), e = fresh("e");
    const auto [call, type] = call_of(routine, sizes);
    Block body;
    body.emplace_back(fmt::format("let {} = {}", name, call));
    print_exactly({name, type, false}, body);
    Block handler;
    handler.emplace_back(fmt::format("print({0}.kind, {0}.message, {0}.line)", e));
    out.push_back(Statement({{"try", std::move(body)}, {"catch " + e, std::move(handler)}}));
  }

  void append_loop(Block& out, const Routine& routine) {
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

  /// Makes x = f(x, …), where the old x may donate its memory to the new one.
  void append_iteration(Block& out, const Routine& routine) {
    const Typed& type = routine.parameters[0].type;
    if (routine.result.kind != Kind::tensor || routine.result.dtype != type.dtype ||
        routine.result.shape != type.shape) {
      return append_call_and_print(out, routine);
    }
    const std::string x = fresh("s"), keep = fresh("s"), e = fresh("e");
    const Typed concrete{Kind::tensor, type.dtype, routine.sizes};
    out.emplace_back(fmt::format("var {} = {}", x, expressions_.of(concrete, 1)));
    std::string call = fmt::format("{} = {}({}", x, routine.name, x);
    for (size_t i = 1; i < routine.parameters.size(); ++i) {
      Typed argument = routine.parameters[i].type;
      for (std::string& extent : argument.shape) {
        for (size_t d = 0; d < 2; ++d) extent = extent == routine.dims[d] ? routine.sizes[d] : extent;
      }
      call += ", " + (random_.chance(30) && argument.kind == Kind::tensor && argument.shape == concrete.shape &&
                              argument.dtype == type.dtype
                          ? x
                          : expressions_.of(argument, 1));
    }
    Block body;
    if (random_.chance(40)) {
      out.emplace_back(fmt::format("var {} = {}", keep, x));
      if (random_.chance(50)) body.emplace_back(fmt::format("{} = {}", keep, x));
    }
    body.emplace_back(call + ")");
    Block handler;
    handler.emplace_back(fmt::format("print({0}.kind, {0}.message, {0}.line)", e));
    const bool is_kept = out.back().line.find(keep + " = ") != std::string::npos;
    out.push_back(
        Statement({{"try", {branch(fmt::format("for {} in 0..{}", fresh("i"), 2 + random_.below(4)), std::move(body))}},
                   {"catch " + e, std::move(handler)}}));
    print_exactly({x, concrete, false}, out);
    if (is_kept) print_exactly({keep, concrete, false}, out);
  }

  /// Prints all bits of a value: tolist() and print() give the shortest text that reads back as the same number.
  static void print_exactly(const Variable& v, Block& out) {
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

  Random random_;
  Expressions expressions_;
  std::vector<Variable> globals_;
  std::vector<Routine> routines_;
  const Typed* result_ = nullptr;
  int names_ = 0;
  int loops_ = 0;
};

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

/// Removes as many statements as possible from `block`, a part of `program`.
bool shrink(Block& program, Block& block) {
  bool changed = false;
  for (size_t i = block.size(); i-- > 0;) {
    const Statement statement = block[i];
    auto still_differs = [&] { return !disagreement(to_text(program)).empty(); };
    block.erase(block.begin() + static_cast<ptrdiff_t>(i));
    if (still_differs()) {
      changed = true;
      continue;
    }
    // Tries the statements inside without the one around them.
    const size_t parts = statement.parts.size();
    for (size_t p = 0; p < parts; ++p) {
      const Block body = statement.parts[p].body;
      block.insert(block.begin() + static_cast<ptrdiff_t>(i), body.begin(), body.end());
      if (still_differs()) return true;
      block.erase(block.begin() + static_cast<ptrdiff_t>(i), block.begin() + static_cast<ptrdiff_t>(i + body.size()));
    }
    block.insert(block.begin() + static_cast<ptrdiff_t>(i), statement);
    for (Statement::Part& part : block[i].parts) changed |= shrink(program, part.body);
  }
  return changed;
}

}  // namespace

Block random_program(uint64_t seed) { return Generator(seed).program(); }

std::string to_text(const Block& program) {
  std::string text;
  write(program, 0, text);
  return text;
}

Block shrunk(Block program) {
  constexpr int kMaxRounds = 8;  // one may enable another; a few rounds suffice for a readable program
  for (int round = 0; round < kMaxRounds && shrink(program, program); ++round) {}
  return program;
}

}  // namespace tsl
