// Formats the tree.
#include <algorithm>
#include <cmath>
#include <utility>

#include "syntax/literals.h"
#include "syntax/parser.h"
#include "syntax/tokens.h"

namespace tsl {

using namespace ast;

namespace {

/// The binding strength of expressions, weakest first. An operand that binds more weakly than its context requires gets
/// parentheses.
enum class Level : int {
  open,  // lambdas and `if`: bare only where nothing can follow
  pipe,
  or_,
  and_,
  not_,
  compare,
  bit_or,
  bit_xor,
  bit_and,
  range,
  shift,
  sum,
  product,
  negate,
  power,
  postfix
};

Level tighter(Level level) { return static_cast<Level>(static_cast<int>(level) + 1); }

struct Operator {
  std::string_view text;
  Level level;
};

Operator operator_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return {"+", Level::sum};
    case BinaryOp::sub: return {"-", Level::sum};
    case BinaryOp::mul: return {"*", Level::product};
    case BinaryOp::div: return {"/", Level::product};
    case BinaryOp::floordiv: return {"//", Level::product};
    case BinaryOp::mod: return {"%", Level::product};
    case BinaryOp::pow: return {"**", Level::power};
    case BinaryOp::matmul: return {"@", Level::product};
    case BinaryOp::eq: return {"==", Level::compare};
    case BinaryOp::ne: return {"!=", Level::compare};
    case BinaryOp::lt: return {"<", Level::compare};
    case BinaryOp::le: return {"<=", Level::compare};
    case BinaryOp::gt: return {">", Level::compare};
    case BinaryOp::ge: return {">=", Level::compare};
    case BinaryOp::in: return {"in", Level::compare};
    case BinaryOp::bit_or: return {"|", Level::bit_or};
    case BinaryOp::bit_xor: return {"^", Level::bit_xor};
    case BinaryOp::bit_and: return {"&", Level::bit_and};
    case BinaryOp::left_shift: return {"<<", Level::shift};
    case BinaryOp::right_shift: return {">>", Level::shift};
  }
  return {};
}

Operator operator_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::negate: return {"-", Level::negate};
    case UnaryOp::plus: return {"+", Level::negate};
    case UnaryOp::bit_not: return {"~", Level::negate};
    case UnaryOp::logical_not: return {"not ", Level::not_};
  }
  return {};
}

Operator operator_of(LogicalOp op) {
  switch (op) {
    case LogicalOp::and_: return {"and", Level::and_};
    case LogicalOp::or_: return {"or", Level::or_};
  }
  return {};
}

bool is_number(const Expr& e) {
  return e.kind == ExprKind::integer || e.kind == ExprKind::real || e.kind == ExprKind::typed;
}

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!is_plain) return false;
  }
  return std::find(keywords().begin(), keywords().end(), text) == keywords().end();
}

std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string literal_text(const Expr& e) {
  switch (e.kind) {
    case ExprKind::boolean: return as<BoolExpr>(e).value ? "true" : "false";
    case ExprKind::integer: return std::to_string(as<IntExpr>(e).value);
    case ExprKind::real: return real_text(as<RealExpr>(e).value);
    case ExprKind::string: return "\"" + encode_text(*as<StringExpr>(e).text, false) + "\"";
    case ExprKind::name: return *as<NameExpr>(e).name;
    case ExprKind::typed: {
      const auto& typed = as<TypedExpr>(e);
      return (typed.is_integer ? std::to_string(typed.integer) : real_text(typed.real)) + *typed.dtype;
    }
    case ExprKind::nil:
    case ExprKind::fstring:
    case ExprKind::list:
    case ExprKind::tuple:
    case ExprKind::record:
    case ExprKind::map:
    case ExprKind::range:
    case ExprKind::unary:
    case ExprKind::binary:
    case ExprKind::chain:
    case ExprKind::logical:
    case ExprKind::call:
    case ExprKind::index:
    case ExprKind::field:
    case ExprKind::lambda:
    case ExprKind::if_:
    case ExprKind::try_:
    case ExprKind::block: break;
  }
  return "nil";
}

/// Appends to `out_`. Statements of a block are on lines of their own, indented by two spaces.
class Formatter {
 public:
  std::string run(const Module& module);

 private:
  void statement(const Stmt& statement);
  void statements(const Block& block);
  void block(const Block& block);
  void pattern(const Pattern& pattern);
  void function_statement(const FunctionStmt& declared);
  void signature(const Function& function);
  void body(const Function& function);
  void import(const ImportStmt& import);
  void doc(std::string_view text);

  void expression(const Expr& e, Level least = Level::open);
  void bare(const Expr& e);
  void operation(const Expr& e);
  void unary(const UnaryExpr& unary);
  void binary(const BinaryExpr& binary);
  void chain(const ChainExpr& chain);
  void pipe(const CallExpr& call);
  void conditional(const IfExpr& conditional);
  void attempt(const TryExpr& e);
  void record(const RecordExpr& record);
  void map(const MapExpr& map);
  void index(const IndexExpr& index);
  void fstring(const FStringExpr& fstring);
  void fstring_value(const FStringPart& part);
  void arguments(List<Argument> args);
  void list(std::string_view open, List<Expr*> items, std::string_view close, std::optional<size_t> rest = {});
  /// Starts a new line, or adds a space within the braces of an f-string, which cannot span lines.
  void line() { out_ += in_hole_ ? " " : "\n" + std::string(static_cast<size_t>(indent_) * 2, ' '); }
  static Level level_of(const Expr& e);

  std::string out_;
  int indent_ = 0;
  bool in_hole_ = false;
};

// ---- Statements ----------------------------------------------------------------------------------------

std::string Formatter::run(const Module& module) {
  if (!module.doc.empty()) {
    doc(module.doc);
    out_ += "\n";
  }
  if (module.use) {
    out_ += "use " + *module.use;
    line();
  }
  statements(*module.main->body);
  if (!out_.empty() && out_.back() != '\n') out_ += "\n";
  return std::move(out_);
}

void Formatter::doc(std::string_view text) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out_ += "##";
    if (end > at) out_ += " ";
    out_ += text.substr(at, end - at);
    line();
    at = end + 1;
  }
}

void Formatter::statements(const Block& block) {
  bool is_first = true;
  for (const Stmt* item : block.statements) {
    if (!is_first && in_hole_) out_ += ";";
    if (!is_first) line();
    is_first = false;
    statement(*item);
  }
}

void Formatter::block(const Block& block) {
  if (block.statements.empty()) {
    out_ += "{ }";
    return;
  }
  out_ += "{";
  ++indent_;
  line();
  statements(block);
  --indent_;
  line();
  out_ += "}";
}

void Formatter::statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::expr: return expression(*as<ExprStmt>(s).value);
    case StmtKind::declare: {
      const Pattern* first = as<DeclareStmt>(s).pattern;
      while (!first->items.empty()) first = first->items[0];
      out_ += first->variable && first->variable->is_mutable ? "var " : "let ";
      pattern(*as<DeclareStmt>(s).pattern);
      out_ += " = ";
      return expression(*as<DeclareStmt>(s).value);
    }
    case StmtKind::assign: {
      const auto& assign = as<AssignStmt>(s);
      expression(*assign.target);
      out_ += fmt::format(" {}= ", assign.has_op ? operator_of(assign.op).text : "");
      return expression(*assign.value);
    }
    case StmtKind::function: return function_statement(as<FunctionStmt>(s));
    case StmtKind::return_:
      out_ += "return";
      if (!as<ReturnStmt>(s).value) return;
      out_ += " ";
      return expression(*as<ReturnStmt>(s).value);
    case StmtKind::while_:
      out_ += "while ";
      expression(*as<WhileStmt>(s).condition);
      out_ += " ";
      return block(*as<WhileStmt>(s).body);
    case StmtKind::for_:
      out_ += "for ";
      pattern(*as<ForStmt>(s).pattern);
      out_ += " in ";
      expression(*as<ForStmt>(s).iterable);
      out_ += " ";
      return block(*as<ForStmt>(s).body);
    case StmtKind::break_: out_ += "break"; return;
    case StmtKind::continue_: out_ += "continue"; return;
    case StmtKind::import: return import(as<ImportStmt>(s));
  }
}

void Formatter::pattern(const Pattern& pattern_) {
  if (pattern_.kind == Pattern::Kind::name) {
    out_ += pattern_.variable ? *pattern_.variable->name : "_";
    return;
  }
  const bool has_fields = pattern_.kind == Pattern::Kind::fields;
  out_ += has_fields ? "{" : "(";
  for (size_t i = 0; i < pattern_.items.size(); ++i) {
    const Pattern& item = *pattern_.items[i];
    if (i > 0) out_ += ", ";
    if (pattern_.rest == i) out_ += "...";
    const bool is_key = has_fields && pattern_.rest != i;
    const bool is_short = is_key && item.variable && item.variable->name == pattern_.keys[i];
    if (is_key && !is_short) out_ += *pattern_.keys[i] + ": ";
    pattern(item);
  }
  out_ += has_fields ? "}" : pattern_.items.size() == 1 && !pattern_.rest ? ",)" : ")";
}

void Formatter::import(const ImportStmt& import) {
  const std::string path = import.is_file ? "\"" + encode_text(*import.path, false) + "\"" : *import.path;
  if (import.variable) {
    out_ += "import " + path;
    if (import.is_file || import.variable->name != import.path) out_ += " as " + *import.variable->name;
    return;
  }
  out_ += "from " + path + " import ";
  for (size_t i = 0; i < import.names.size(); ++i) {
    const ImportedName& item = import.names[i];
    out_ += (i > 0 ? ", " : "") + *item.name;
    if (item.variable->name != item.name) out_ += " as " + *item.variable->name;
  }
}

// ---- Functions -----------------------------------------------------------------------------------------

void Formatter::function_statement(const FunctionStmt& declared) {
  const Function& function = *declared.function;
  if (!function.doc.empty() && !in_hole_) doc(function.doc);
  for (const Attribute& attribute : function.attributes) {
    out_ += "@" + *attribute.name;
    if (!attribute.args.empty()) arguments(attribute.args);
    line();
  }
  out_ += "fn " + *function.name;
  signature(function);
  body(function);
}

void Formatter::signature(const Function& function) {
  out_ += "(";
  bool is_first = true;
  for (const Parameter& parameter : function.parameters) {
    if (!is_first) out_ += ", ";
    is_first = false;
    if (parameter.pattern) pattern(*parameter.pattern);
    else out_ += *parameter.variable->name;
    if (parameter.annotation) {
      out_ += ": ";
      out_ += format(*parameter.annotation);
      if (parameter.limits) out_ += " in " + format(*parameter.limits);
    }
    if (parameter.default_value) {
      out_ += " = ";
      expression(*parameter.default_value);
    }
  }
  if (function.rest) out_ += (is_first ? "..." : ", ...") + *function.rest->name;
  out_ += ")";
  if (!function.returns) return;
  out_ += " -> ";
  out_ += format(*function.returns);
}

void Formatter::body(const Function& function) {
  const List<Stmt*> statements = function.body->statements;
  const bool is_expression =
      statements.size() == 1 && statements[0]->kind == StmtKind::return_ && as<ReturnStmt>(*statements[0]).value;
  if (is_expression) {
    out_ += " = ";
    return expression(*as<ReturnStmt>(*statements[0]).value);
  }
  out_ += " ";
  block(*function.body);
}

// ---- Expressions ---------------------------------------------------------------------------------------

Level Formatter::level_of(const Expr& e) {
  switch (e.kind) {
    case ExprKind::integer: return as<IntExpr>(e).value < 0 ? Level::negate : Level::postfix;
    case ExprKind::real: return std::signbit(as<RealExpr>(e).value) ? Level::negate : Level::postfix;
    case ExprKind::typed: {
      const auto& typed = as<TypedExpr>(e);
      const bool is_negative = typed.is_integer ? typed.integer < 0 : std::signbit(typed.real);
      return is_negative ? Level::negate : Level::postfix;
    }
    case ExprKind::lambda:
    case ExprKind::if_:
    case ExprKind::try_: return Level::open;
    case ExprKind::range: return Level::range;
    case ExprKind::unary: return operator_of(as<UnaryExpr>(e).op).level;
    case ExprKind::binary: return operator_of(as<BinaryExpr>(e).op).level;
    case ExprKind::chain: return Level::compare;
    case ExprKind::logical: return operator_of(as<LogicalExpr>(e).op).level;
    case ExprKind::call: return as<CallExpr>(e).is_pipe ? Level::pipe : Level::postfix;
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::string:
    case ExprKind::fstring:
    case ExprKind::name:
    case ExprKind::list:
    case ExprKind::tuple:
    case ExprKind::record:
    case ExprKind::map:
    case ExprKind::index:
    case ExprKind::field:
    case ExprKind::block: break;
  }
  return Level::postfix;
}

void Formatter::expression(const Expr& e, Level least) {
  const bool is_bare = level_of(e) >= least;
  if (!is_bare) out_ += "(";
  bare(e);
  if (!is_bare) out_ += ")";
}

void Formatter::bare(const Expr& e) {
  switch (e.kind) {
    case ExprKind::fstring: return fstring(as<FStringExpr>(e));
    case ExprKind::list: return list("[", as<ListExpr>(e).items, "]");
    case ExprKind::tuple: {
      const auto& tuple = as<TupleExpr>(e);
      return list("(", tuple.items, tuple.items.size() == 1 && !tuple.rest ? ",)" : ")", tuple.rest);
    }
    case ExprKind::record: return record(as<RecordExpr>(e));
    case ExprKind::map: return map(as<MapExpr>(e));
    case ExprKind::range:
    case ExprKind::unary:
    case ExprKind::binary:
    case ExprKind::chain:
    case ExprKind::logical: return operation(e);
    case ExprKind::call:
      if (as<CallExpr>(e).is_pipe) return pipe(as<CallExpr>(e));
      expression(*as<CallExpr>(e).callee, Level::postfix);
      return arguments(as<CallExpr>(e).args);
    case ExprKind::index: return index(as<IndexExpr>(e));
    case ExprKind::field:
      expression(*as<FieldExpr>(e).object, Level::postfix);
      out_ += "." + *as<FieldExpr>(e).field;
      return;
    case ExprKind::lambda:
      out_ += "fn";
      signature(*as<LambdaExpr>(e).function);
      return body(*as<LambdaExpr>(e).function);
    case ExprKind::if_: return conditional(as<IfExpr>(e));
    case ExprKind::try_: return attempt(as<TryExpr>(e));
    case ExprKind::block: return block(*as<BlockExpr>(e).block);
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::typed:
    case ExprKind::name: out_ += literal_text(e);
  }
}

void Formatter::operation(const Expr& e) {
  if (e.kind == ExprKind::unary) return unary(as<UnaryExpr>(e));
  if (e.kind == ExprKind::binary) return binary(as<BinaryExpr>(e));
  if (e.kind == ExprKind::chain) return chain(as<ChainExpr>(e));
  if (e.kind == ExprKind::range) {
    expression(*as<RangeExpr>(e).begin, tighter(Level::range));
    out_ += as<RangeExpr>(e).closed ? "..=" : "..";
    return expression(*as<RangeExpr>(e).end, tighter(Level::range));
  }
  const auto& logical = as<LogicalExpr>(e);
  const bool is_and = logical.op == LogicalOp::and_;
  const Level level = is_and ? Level::and_ : Level::or_;
  expression(*logical.left, level);
  out_ += is_and ? " and " : " or ";
  expression(*logical.right, tighter(level));
}

void Formatter::unary(const UnaryExpr& unary) {
  const Operator op = operator_of(unary.op);
  const Expr& operand = *unary.operand;
  out_ += op.text;
  const bool is_literal = unary.op == UnaryOp::negate && is_number(operand) && level_of(operand) == Level::postfix;
  if (is_literal) out_ += "(";  // -(5) is no literal, unlike -5
  expression(operand, op.level);
  if (is_literal) out_ += ")";
}

void Formatter::binary(const BinaryExpr& binary) {
  const Operator op = operator_of(binary.op);
  const bool is_power = binary.op == BinaryOp::pow;       // associates to the right
  const bool is_comparison = op.level == Level::compare;  // does not associate
  expression(*binary.left, is_power || is_comparison ? tighter(op.level) : op.level);
  out_ += fmt::format(" {} ", op.text);
  expression(*binary.right, is_power ? op.level : tighter(op.level));
}

void Formatter::chain(const ChainExpr& chain) {
  expression(*chain.first, tighter(Level::compare));
  for (const ChainLink& link : chain.links) {
    out_ += fmt::format(" {} ", operator_of(link.op).text);
    expression(*link.right, tighter(Level::compare));
  }
}

/// Formats `x |> f(a)`, or `x |> (f(a))` where the result of f(a) is called.
void Formatter::pipe(const CallExpr& call) {
  expression(*call.args[0].value, Level::pipe);
  out_ += " |> ";
  const bool is_bare_call = call.args.size() == 1 && call.callee->kind == ExprKind::call;
  if (is_bare_call) out_ += "(";
  expression(*call.callee, Level::postfix);
  if (is_bare_call) out_ += ")";
  if (call.args.size() > 1) arguments(call.args.subspan(1));
}

void Formatter::conditional(const IfExpr& conditional_) {
  out_ += "if ";
  expression(*conditional_.condition);
  out_ += " ";
  block(*conditional_.then);
  if (!conditional_.otherwise) return;
  out_ += " else ";
  bare(*conditional_.otherwise);
}

void Formatter::attempt(const TryExpr& e) {
  out_ += "try ";
  block(*e.body);
  if (e.handler) {
    out_ += " catch " + *e.error->name + " ";
    block(*e.handler);
  }
  if (!e.last) return;
  out_ += " finally ";
  block(*e.last);
}

void Formatter::record(const RecordExpr& record) {
  out_ += "{";
  bool is_first = true;
  for (const RecordEntry& entry : record.entries) {
    if (!is_first) out_ += ", ";
    is_first = false;
    if (!entry.key) {
      out_ += "...";
    } else {
      out_ += is_name(*entry.key) ? *entry.key : "\"" + encode_text(*entry.key, false) + "\"";
      out_ += ": ";
    }
    expression(*entry.value);
  }
  out_ += "}";
}

void Formatter::map(const MapExpr& map) {
  if (map.entries.empty()) {
    out_ += "[:]";
    return;
  }
  out_ += "[";
  bool is_first = true;
  for (const MapEntry& entry : map.entries) {
    if (!std::exchange(is_first, false)) out_ += ", ";
    if (entry.key) expression(*entry.key);
    out_ += entry.key ? ": " : "...";
    expression(*entry.value);
  }
  out_ += "]";
}

void Formatter::index(const IndexExpr& index) {
  expression(*index.object, Level::postfix);
  out_ += "[";
  bool is_first = true;
  for (const IndexItem& item : index.items) {
    if (!is_first) out_ += ", ";
    is_first = false;
    if (item.kind == IndexItem::Kind::ellipsis) out_ += "...";
    if (item.kind == IndexItem::Kind::value) expression(*item.value);
    if (item.kind != IndexItem::Kind::slice) continue;
    if (item.start) expression(*item.start);
    out_ += ":";
    if (item.stop) expression(*item.stop);
    if (!item.step) continue;
    out_ += ":";
    expression(*item.step);
  }
  out_ += "]";
}

void Formatter::fstring(const FStringExpr& fstring) {
  out_ += "f\"";
  for (const FStringPart& part : fstring.parts) {
    if (!part.value) {
      out_ += encode_text(*part.text, true);
      continue;
    }
    fstring_value(part);
  }
  out_ += "\"";
}

void Formatter::fstring_value(const FStringPart& part) {
  out_ += "{";
  const size_t begin = out_.size();
  const bool is_nested = std::exchange(in_hole_, true);
  if (part.text->empty()) expression(*part.value);
  else out_ += *part.text;
  if (out_[begin] == '{') out_.insert(begin, " ");  // `{{` would be a brace
  if (part.computed_spec || !part.spec->empty()) out_ += ":" + *part.spec;
  if (part.computed_spec) {
    for (const FStringPart& piece : part.computed_spec->parts) {
      if (piece.value) fstring_value(piece);
      else out_ += *piece.text;
    }
  }
  in_hole_ = is_nested;
  out_ += "}";
}

void Formatter::arguments(List<Argument> args) {
  out_ += "(";
  for (size_t i = 0; i < args.size(); ++i) {
    if (i > 0) out_ += ", ";
    if (args[i].name) out_ += *args[i].name + ": ";
    if (args[i].is_spread) out_ += "...";
    expression(*args[i].value);
  }
  out_ += ")";
}

void Formatter::list(std::string_view open, List<Expr*> items, std::string_view close, std::optional<size_t> rest) {
  out_ += open;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += ", ";
    if (rest == i) out_ += "...";
    expression(*items[i]);
  }
  out_ += close;
}

}  // namespace

std::string format(const Module& module) { return Formatter().run(module); }

}  // namespace tsl
