#include "syntax/dump.h"

#include "syntax/parser.h"

#include <fmt/format.h>

namespace tsl::test {

using namespace ast;

namespace {

std::string operator_of(BinaryOp op) {
  static const char* const kTexts[] = {
      "+", "-", "*", "/", "//", "%", "**", "@", "==", "!=", "<", "<=", ">", ">=", "in", "|", "^", "&", "<<", ">>"};
  return kTexts[static_cast<size_t>(op)];
}

std::string operator_of(UnaryOp op) {
  static const char* const kTexts[] = {"-", "+", "~", "not"};
  return kTexts[static_cast<size_t>(op)];
}

std::string dump_block(const Block& block) {
  std::string text = "{";
  for (const Stmt* statement : block.statements) text += (text.size() > 1 ? "; " : "") + dump(*statement);
  return text + "}";
}

std::string dump_pattern(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::name) return pattern.variable ? *pattern.variable->name : "_";
  const bool has_fields = pattern.kind == Pattern::Kind::fields;
  std::string text = has_fields ? "{" : "(";
  for (size_t i = 0; i < pattern.items.size(); ++i) {
    if (i > 0) text += " ";
    if (pattern.rest == i) text += "...";
    else if (has_fields) text += *pattern.keys[i] + ":";
    text += dump_pattern(*pattern.items[i]);
  }
  return text + (has_fields ? "}" : ")");
}

std::string dump_annotation(const Annotation& annotation);

std::string dump_dim(const AnnotatedDim& dim) {
  if (dim.is_ellipsis) return "...";
  if (dim.size >= 0) return std::to_string(dim.size);
  if (!dim.op) return dim.name ? (dim.binds ? "+" : "") + *dim.name : "_";
  const char* const op = dim.op == BinaryOp::add   ? "+"
                         : dim.op == BinaryOp::sub ? "-"
                         : dim.op == BinaryOp::mul ? "*"
                                                   : "//";
  return std::string("(") + op + " " + dump_dim(*dim.left) + " " + dump_dim(*dim.right) + ")";
}

std::string dump_parts(const Annotation& annotation) {
  std::string text = "(";
  for (size_t i = 0; i < annotation.parts.size(); ++i) {
    if (i > 0) text += " ";
    if (!annotation.fields.empty()) text += *annotation.fields[i] + ":";
    text += dump_annotation(*annotation.parts[i]);
  }
  return text + ")" + (annotation.returns ? "->" + dump_annotation(*annotation.returns) : "");
}

std::string dump_alternative(const Annotation& annotation) {
  std::string text = annotation.base ? *annotation.base : annotation.text ? "\"" + *annotation.text + "\"" : "";
  if (annotation.has_parts) return text + dump_parts(annotation);
  if (!annotation.has_shape) return text;
  text += "[";
  for (const AnnotatedDim& dim : annotation.dims) {
    if (text.back() != '[') text += " ";
    text += dump_dim(dim);
  }
  return text + "]";
}

std::string dump_annotation(const Annotation& annotation) {
  const std::string text = dump_alternative(annotation);
  return annotation.other ? text + "|" + dump_annotation(*annotation.other) : text;
}

std::string dump_function(const Function& function) {
  std::string text;
  for (const Attribute& attribute : function.attributes) {
    text += "@" + *attribute.name + "(";
    for (const Argument& argument : attribute.args) {
      if (text.back() != '(') text += " ";
      text += (argument.name ? *argument.name + ":" : "") + dump(*argument.value);
    }
    text += ") ";
  }
  text += "(";
  for (const Parameter& parameter : function.parameters) {
    if (text.back() != '(') text += " ";
    text += parameter.pattern ? dump_pattern(*parameter.pattern) : *parameter.variable->name;
    if (parameter.annotation) text += ":" + dump_annotation(*parameter.annotation);
    if (parameter.limits) text += " in " + format(*parameter.limits);
    if (parameter.default_value) text += "=" + dump(*parameter.default_value);
  }
  if (function.rest) text += (text.back() != '(' ? " ..." : "...") + *function.rest->name;
  text += ")";
  if (function.returns) text += "->" + dump_annotation(*function.returns);
  return text + " " + dump_block(*function.body);
}

std::string dump_items(const char* head, List<Expr*> items, std::optional<size_t> rest = {}) {
  std::string text = std::string("(") + head;
  for (size_t i = 0; i < items.size(); ++i) text += (rest == i ? " ..." : " ") + dump(*items[i]);
  return text + ")";
}

std::string dump_index(const IndexExpr& index) {
  std::string text = "(index " + dump(*index.object);
  const auto part = [](const Expr* e) { return e ? dump(*e) : std::string("_"); };
  for (const IndexItem& item : index.items) {
    text += " ";
    if (item.kind == IndexItem::Kind::ellipsis) text += "...";
    if (item.kind == IndexItem::Kind::value) text += dump(*item.value);
    if (item.kind == IndexItem::Kind::slice) text += part(item.start) + ":" + part(item.stop) + ":" + part(item.step);
  }
  return text + ")";
}

std::string dump_fstring(const FStringExpr& fstring) {
  std::string text = "(f";
  for (const FStringPart& part : fstring.parts) {
    const std::string spec = part.computed_spec ? dump_fstring(*part.computed_spec) : *part.spec;
    if (!part.text->empty() || !part.value) text += " \"" + *part.text + "\"";
    if (part.value) text += " {" + dump(*part.value) + "|" + spec + "}";
  }
  return text + ")";
}

std::string dump_call(const CallExpr& call) {
  std::string text = (call.is_pipe ? "(pipe " : "(call ") + dump(*call.callee);
  for (const Argument& argument : call.args) {
    text +=
        " " + (argument.name ? *argument.name + ":" : "") + (argument.is_spread ? "..." : "") + dump(*argument.value);
  }
  return text + ")";
}

std::string dump_record(const RecordExpr& record) {
  std::string text = "(record";
  for (const RecordEntry& entry : record.entries) {
    text += " " + (entry.key ? *entry.key + ":" : "...") + dump(*entry.value);
  }
  return text + ")";
}

std::string dump_map(const MapExpr& map) {
  std::string text = "(map";
  for (const MapEntry& entry : map.entries)
    text += " " + (entry.key ? dump(*entry.key) + ":" : "...") + dump(*entry.value);
  return text + ")";
}

}  // namespace

std::string dump(const Expr& e) {
  switch (e.kind) {
    case ExprKind::nil: return "nil";
    case ExprKind::boolean: return as<BoolExpr>(e).value ? "true" : "false";
    case ExprKind::integer: return std::to_string(as<IntExpr>(e).value);
    case ExprKind::real: return fmt::format("{}", as<RealExpr>(e).value);
    case ExprKind::string: return "\"" + *as<StringExpr>(e).text + "\"";
    case ExprKind::fstring: return dump_fstring(as<FStringExpr>(e));
    case ExprKind::typed: {
      const auto& typed = as<TypedExpr>(e);
      return (typed.is_integer ? std::to_string(typed.integer) : fmt::format("{}", typed.real)) + *typed.dtype;
    }
    case ExprKind::name: return *as<NameExpr>(e).name;
    case ExprKind::list: return dump_items("list", as<ListExpr>(e).items);
    case ExprKind::tuple: return dump_items("tuple", as<TupleExpr>(e).items, as<TupleExpr>(e).rest);
    case ExprKind::record: return dump_record(as<RecordExpr>(e));
    case ExprKind::map: return dump_map(as<MapExpr>(e));
    case ExprKind::range: {
      const auto& range = as<RangeExpr>(e);
      return fmt::format("({} {} {})", range.closed ? "..=" : "..", dump(*range.begin), dump(*range.end));
    }
    case ExprKind::unary: {
      const auto& unary = as<UnaryExpr>(e);
      return fmt::format("({} {})", operator_of(unary.op), dump(*unary.operand));
    }
    case ExprKind::binary: {
      const auto& binary = as<BinaryExpr>(e);
      return fmt::format("({} {} {})", operator_of(binary.op), dump(*binary.left), dump(*binary.right));
    }
    case ExprKind::chain: {
      std::string text = "(chain " + dump(*as<ChainExpr>(e).first);
      for (const ChainLink& link : as<ChainExpr>(e).links)
        text += fmt::format(" {} {}", operator_of(link.op), dump(*link.right));
      return text + ")";
    }
    case ExprKind::logical: {
      const auto& logical = as<LogicalExpr>(e);
      return fmt::format("({} {} {})", logical.op == LogicalOp::and_ ? "and" : "or", dump(*logical.left),
                         dump(*logical.right));
    }
    case ExprKind::call: return dump_call(as<CallExpr>(e));
    case ExprKind::index: return dump_index(as<IndexExpr>(e));
    case ExprKind::field: return fmt::format("(. {} {})", dump(*as<FieldExpr>(e).object), *as<FieldExpr>(e).field);
    case ExprKind::lambda: return "(fn " + dump_function(*as<LambdaExpr>(e).function) + ")";
    case ExprKind::if_: {
      const auto& branch = as<IfExpr>(e);
      const std::string otherwise = branch.otherwise ? " " + dump(*branch.otherwise) : "";
      return fmt::format("(if {} {}{})", dump(*branch.condition), dump_block(*branch.then), otherwise);
    }
    case ExprKind::try_: {
      const auto& attempt = as<TryExpr>(e);
      std::string text = "try " + dump_block(*attempt.body);
      if (attempt.handler) text += fmt::format(" catch {} {}", *attempt.error->name, dump_block(*attempt.handler));
      return attempt.last ? text + " finally " + dump_block(*attempt.last) : text;
    }
    case ExprKind::block: return dump_block(*as<BlockExpr>(e).block);
  }
  return "?";
}

std::string dump(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::expr: return dump(*as<ExprStmt>(s).value);
    case StmtKind::declare: {
      const auto& declaration = as<DeclareStmt>(s);
      const Pattern* first = declaration.pattern;
      while (!first->items.empty()) first = first->items[0];
      const bool is_mutable = first->variable && first->variable->is_mutable;
      return fmt::format("{} {} = {}", is_mutable ? "var" : "let", dump_pattern(*declaration.pattern),
                         dump(*declaration.value));
    }
    case StmtKind::assign: {
      const auto& assign = as<AssignStmt>(s);
      return fmt::format("{} {}= {}", dump(*assign.target), assign.has_op ? operator_of(assign.op) : "",
                         dump(*assign.value));
    }
    case StmtKind::function: {
      const auto& declared = as<FunctionStmt>(s);
      return fmt::format("fn {} {}", *declared.function->name, dump_function(*declared.function));
    }
    case StmtKind::return_: return as<ReturnStmt>(s).value ? "return " + dump(*as<ReturnStmt>(s).value) : "return";
    case StmtKind::while_:
      return fmt::format("while {} {}", dump(*as<WhileStmt>(s).condition), dump_block(*as<WhileStmt>(s).body));
    case StmtKind::for_: {
      const auto& loop = as<ForStmt>(s);
      return fmt::format("for {} in {} {}", dump_pattern(*loop.pattern), dump(*loop.iterable), dump_block(*loop.body));
    }
    case StmtKind::break_: return "break";
    case StmtKind::continue_: return "continue";
    case StmtKind::import: {
      const auto& import = as<ImportStmt>(s);
      std::string text = fmt::format("import {}{}", import.is_file ? "file " : "", *import.path);
      if (import.variable) text += " as " + *import.variable->name;
      for (const ImportedName& item : import.names) text += fmt::format(" {}>{}", *item.name, *item.variable->name);
      return text;
    }
  }
  return "?";
}

std::string dump(const Module& module) {
  std::string text;
  for (const Stmt* statement : module.main->body->statements) { text += (text.empty() ? "" : "\n") + dump(*statement); }
  return text;
}

}  // namespace tsl::test
