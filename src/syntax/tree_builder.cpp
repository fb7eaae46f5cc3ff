#include "syntax/tree_builder.h"

#include "base/error_names.h"
#include "base/run_watch.h"
#include "syntax/fail_at.h"

namespace tsl {

using namespace ast;
using antlr4::Token;

// ---- Used for statements and expressions ---------------------------------------------------------------

Span TreeBuilder::span_of(const Token& token) const {
  return {module_.source, static_cast<uint32_t>(token.getStartIndex()),
          static_cast<uint32_t>(token.getStopIndex() + 1)};
}

Span TreeBuilder::span_of(const antlr4::ParserRuleContext& context) const {
  const Span start = span_of(*context.start);
  return context.stop ? join(start, span_of(*context.stop)) : start;
}

std::string_view TreeBuilder::text_of(const Token& token) const {
  return text_.substr(token.getStartIndex(), token.getStopIndex() + 1 - token.getStartIndex());
}

Name TreeBuilder::string_of(const Token& token) {
  std::string_view text = text_of(token);
  const bool is_raw = text.front() == 'r';
  const size_t quote = is_raw ? 1 : 0;
  const size_t quotes = is_long_string(text.substr(quote)) ? 3 : 1;
  text = text.substr(quote + quotes, text.size() - quote - 2 * quotes);
  if (is_raw) return names_.intern(with_unix_lines(text));
  Span span = span_of(token);
  span.begin += static_cast<uint32_t>(quotes);
  return names_.intern(decode_text(text, span, false));
}

Variable* TreeBuilder::variable(const Token& token, bool is_mutable) {
  Variable made;
  made.name = name_of(token);
  made.span = span_of(token);
  made.is_mutable = is_mutable;
  return arena_.make<Variable>(made);
}

void TreeBuilder::grow(Span span) {
  if (++height_ <= kMaxHeight) return;
  fail_at(ErrorName::program_too_deep, span, "the program is nested too deeply, or chains too many operators, here",
          {fmt::format("at most {} levels are possible; name a part of it with 'let'", kMaxHeight)});
}

Function* TreeBuilder::build(Parser::DeclaredSignatureContext* context, Parameter*& rest) {
  Function* made = arena_.make<Function>();
  made->span = span_of(*context);
  made->name = name_of(*context->NAME()->getSymbol());
  function_ = made;
  std::vector<Parser::ParameterContext*> named;
  for (Parser::DeclaredParameterContext* item : context->declaredParameter()) {
    if (rest && !(item->parameter() && item->parameter()->expression()))
      fail_at(ErrorName::malformed_declaration, span_of(*item), "only parameters with defaults can follow '...'");
    if (item->parameter()) {
      named.push_back(item->parameter());
      continue;
    }
    Dims dims;
    Parameter others;
    others.span = span_of(*item);
    others.variable = variable(*item->NAME()->getSymbol());
    others.annotation = annotation(*made, item->annotation(), dims);
    rest = arena_.make<Parameter>(others);
  }
  parameters(*made, named, context->annotation());
  return made;
}

// ---- Statements ----------------------------------------------------------------------------------------

Function* TreeBuilder::build(Parser::ModuleContext* context) {
  Function* main = arena_.make<Function>();
  main->is_module = true;
  main->span = {module_.source, 0, static_cast<uint32_t>(text_.size())};
  main->name = names_.intern("<main>");
  main->doc = *names_.intern(tokens_.module_doc());
  main->body = arena_.make<Block>();
  function_ = main;
  main->body->span = main->span;
  std::vector<Parser::StatementContext*> contexts = context->statement();
  if (!contexts.empty() && contexts.front()->dtypeUse()) {
    use(contexts.front()->dtypeUse());
    contexts.erase(contexts.begin());
  }
  main->body->statements = statements(contexts);
  return main;
}

void TreeBuilder::use(Parser::DtypeUseContext* context) {
  const Token& dtype = *context->NAME()->getSymbol();
  const std::string_view text = text_of(dtype);
  if (text != "f64" && text != "f32")
    fail_at(ErrorName::malformed_declaration, span_of(dtype), fmt::format("use takes f64 or f32, not {}", text));
  module_.use = name_of(dtype);
}

List<Stmt*> TreeBuilder::statements(const std::vector<Parser::StatementContext*>& contexts) {
  std::vector<Stmt*> built;
  built.reserve(contexts.size());
  for (Parser::StatementContext* context : contexts) {
    poll_stop();
    built.push_back(statement(context));
  }
  return arena_.copy(built);
}

Block* TreeBuilder::block(Parser::BlockContext* context) {
  const Span span = span_of(*context);
  return nested(span, [&] { return arena_.make<Block>(span, statements(context->statement())); });
}

Stmt* TreeBuilder::statement(Parser::StatementContext* context) {
  return nested(span_of(*context), [&] { return statement_of(context); });
}

Stmt* TreeBuilder::statement_of(Parser::StatementContext* context) {
  const Span span = span_of(*context);
  switch (context->start->getType()) {
    case Parser::LET:
    case Parser::VAR: return declaration(context->declaration());
    case Parser::IMPORT:
    case Parser::FROM: return module_import(context->moduleImport());
    case Parser::USE:
      fail_at(ErrorName::malformed_declaration, span,
              module_.use ? "a file has one `use`" : "`use` stands at the top of a file, before other statements");
    case Parser::RETURN: {
      Parser::ExpressionContext* value = context->expression();
      return make<ReturnStmt>(StmtKind::return_, span, value ? expression(value) : nullptr);
    }
    case Parser::WHILE: {
      Expr* condition = expression(context->expression());
      return make<WhileStmt>(StmtKind::while_, span, condition, block(context->block()));
    }
    case Parser::FOR: {
      Pattern* each = pattern(context->pattern(), false);
      Expr* iterable = expression(context->expression());
      return make<ForStmt>(StmtKind::for_, span, each, iterable, block(context->block()));
    }
    case Parser::BREAK: return make<BreakStmt>(StmtKind::break_, span);
    case Parser::CONTINUE: return make<ContinueStmt>(StmtKind::continue_, span);
    default:
      if (Parser::FunctionContext* declared = context->function()) return function_statement(declared);
      return evaluation(context->evaluation());
  }
}

Stmt* TreeBuilder::declaration(Parser::DeclarationContext* context) {
  const bool is_mutable = context->start->getType() == Parser::VAR;
  Pattern* target = pattern(context->pattern(), is_mutable);
  return make<DeclareStmt>(StmtKind::declare, span_of(*context), target, expression(context->expression()));
}

namespace {

BinaryOp assignment_op(size_t type) {
  switch (type) {
    case TreeBuilder::Parser::PLUS_ASSIGN: return BinaryOp::add;
    case TreeBuilder::Parser::MINUS_ASSIGN: return BinaryOp::sub;
    case TreeBuilder::Parser::STAR_ASSIGN: return BinaryOp::mul;
    case TreeBuilder::Parser::SLASH_ASSIGN: return BinaryOp::div;
    case TreeBuilder::Parser::FLOOR_ASSIGN: return BinaryOp::floordiv;
    case TreeBuilder::Parser::PERCENT_ASSIGN: return BinaryOp::mod;
    case TreeBuilder::Parser::POWER_ASSIGN: return BinaryOp::pow;
    default: return BinaryOp::matmul;
  }
}

}  // namespace

Stmt* TreeBuilder::evaluation(Parser::EvaluationContext* context) {
  const Span span = span_of(*context);
  Expr* first = expression(context->expression(0));
  if (!context->op) return make<ExprStmt>(StmtKind::expr, span, first);
  const bool has_op = context->op->getType() != Parser::ASSIGN;
  check_target(*first, has_op);
  const BinaryOp op = has_op ? assignment_op(context->op->getType()) : BinaryOp::add;
  return make<AssignStmt>(StmtKind::assign, span, first, has_op, op, expression(context->value));
}

void TreeBuilder::check_target(const Expr& target, bool has_op) const {
  switch (target.kind) {
    case ExprKind::name: return;
    case ExprKind::tuple:
      if (has_op) fail_at(ErrorName::wrong_assignment_target, target.span, "only '=' assigns to a tuple");
      for (const Expr* item : as<TupleExpr>(target).items) check_target(*item, false);
      return;
    case ExprKind::index:
    case ExprKind::field: {
      const Expr* base = &target;
      while (base->kind == ExprKind::index || base->kind == ExprKind::field) {
        base = base->kind == ExprKind::index ? as<IndexExpr>(*base).object : as<FieldExpr>(*base).object;
      }
      if (base->kind == ExprKind::name) return;
      fail_at(ErrorName::wrong_assignment_target, base->span, "only a part of a variable can be assigned to",
              {"this value has no name: the change would be lost"});
    }
    case ExprKind::call:
      fail_at(ErrorName::wrong_assignment_target, target.span, "the result of a call cannot be assigned to");
    case ExprKind::list:
    case ExprKind::record:
    case ExprKind::map:
      fail_at(ErrorName::wrong_assignment_target, target.span, "this cannot be assigned to",
              {"several names are assigned as a tuple: (a, b) = …"});
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::fstring:
    case ExprKind::typed:
    case ExprKind::range:
    case ExprKind::unary:
    case ExprKind::binary:
    case ExprKind::chain:
    case ExprKind::logical:
    case ExprKind::lambda:
    case ExprKind::if_:
    case ExprKind::try_:
    case ExprKind::block: break;
  }
  fail_at(ErrorName::wrong_assignment_target, target.span, "this cannot be assigned to");
}

namespace {

/// Returns the name that "./lib/util.tsl" has without `as`, which is util; "" if that is not a valid name.
std::string_view stem_of(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  path = path.substr(0, path.find('.'));
  const bool is_name = !path.empty() && !(path[0] >= '0' && path[0] <= '9') &&
                       path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                           std::string_view::npos;
  return is_name ? path : std::string_view();
}

}  // namespace

Stmt* TreeBuilder::module_import(Parser::ModuleImportContext* context) {
  const Span span = span_of(*context);
  const Token& path = *context->modulePath()->start;
  const bool is_file = path.getType() == Parser::STRING;
  const Name path_name = is_file ? string_of(path) : name_of(path);
  std::vector<ImportedName> names;
  Variable* module = nullptr;
  if (context->start->getType() == Parser::FROM) {
    for (Parser::ImportedNameContext* item : context->importedName()) {
      const Token& name = *item->name;
      names.push_back({name_of(name), variable(item->alias ? *item->alias : name), span_of(name)});
    }
  } else if (context->NAME()) {
    module = variable(*context->NAME()->getSymbol());
  } else {
    module = variable(path);
    module->name = is_file ? names_.intern(stem_of(*path_name)) : path_name;
    if (module->name->empty()) {
      fail_at(ErrorName::malformed_declaration, span, "this import needs a name",
              {fmt::format("import {} as …", text_of(path))});
    }
  }
  return make<ImportStmt>(StmtKind::import, span, path_name, is_file, module, arena_.copy(names));
}

Pattern* TreeBuilder::pattern(Parser::PatternContext* context, bool is_mutable) {
  return context->NAME() ? name_pattern(*context->NAME()->getSymbol(), is_mutable)
                         : parts(context->parts(), is_mutable);
}

Pattern* TreeBuilder::parts(Parser::PartsContext* context, bool is_mutable) {
  return nested(span_of(*context), [&] {
    Pattern made;
    made.span = span_of(*context);
    std::vector<Pattern*> items;
    std::vector<Name> keys;
    const auto add = [&](const antlr4::ParserRuleContext& item, Parser::PatternContext* inner, const Token* name) {
      if (item.start->getType() == Parser::ELLIPSIS) {
        if (made.rest) fail_at(ErrorName::repeated_ellipsis, span_of(item), "a pattern has at most one '...'");
        made.rest = items.size();
      }
      items.push_back(inner ? pattern(inner, is_mutable) : name_pattern(*name, is_mutable));
    };
    for (Parser::ItemPatternContext* item : context->itemPattern())
      add(*item, item->pattern(), item->NAME() ? item->NAME()->getSymbol() : nullptr);
    for (Parser::FieldPatternContext* item : context->fieldPattern()) {
      add(*item, item->pattern(), item->NAME()->getSymbol());
      keys.push_back(name_of(*item->NAME()->getSymbol()));
    }
    made.kind = keys.empty() ? Pattern::Kind::items : Pattern::Kind::fields;
    made.items = arena_.copy(items);
    made.keys = arena_.copy(keys);
    return arena_.make<Pattern>(made);
  });
}

Pattern* TreeBuilder::name_pattern(const Token& name, bool is_mutable) {
  Pattern made;
  made.span = span_of(name);
  if (text_of(name) != "_") made.variable = variable(name, is_mutable);
  return arena_.make<Pattern>(made);
}

// ---- Functions -----------------------------------------------------------------------------------------

Stmt* TreeBuilder::function_statement(Parser::FunctionContext* context) {
  const Span span = span_of(*context);
  const Token& name = *context->NAME()->getSymbol();
  std::vector<Attribute> attributes;
  for (Parser::AttributeContext* item : context->attribute()) attributes.push_back(attribute(item));
  Function* declared = function(span, context->signature(), context->functionBody());
  declared->name = name_of(name);
  declared->name_span = span_of(name);
  declared->attributes = arena_.copy(attributes);
  declared->doc = *names_.intern(tokens_.doc_before(span.begin));
  return make<FunctionStmt>(StmtKind::function, span, variable(name), declared);
}

Attribute TreeBuilder::attribute(Parser::AttributeContext* context) {
  const Token& name = *context->NAME()->getSymbol();
  return {join(span_of(*context->start), span_of(name)), name_of(name), arguments(context->argument())};
}

Function* TreeBuilder::function(Span span, Parser::SignatureContext* signature, Parser::FunctionBodyContext* body_) {
  return nested(span, [&] {
    Function* made = arena_.make<Function>();
    made->span = span;
    made->enclosing = function_;
    function_ = made;
    parameters(*made, signature->parameter(), signature->annotation());
    made->body = body(body_);
    function_ = made->enclosing;
    return made;
  });
}

Parameter TreeBuilder::parameter(Parser::ParameterContext* context) {
  Parameter made;
  made.span = span_of(*context);
  if (context->parts()) {
    made.pattern = parts(context->parts(), false);
    Variable whole;
    whole.span = made.pattern->span;
    whole.name = names_.intern(text_.substr(whole.span.begin, whole.span.end - whole.span.begin));
    made.variable = arena_.make<Variable>(whole);
  } else {
    made.variable = variable(*context->NAME()->getSymbol());
  }
  if (context->limits()) made.limits = limits(context->limits());
  if (context->expression()) made.default_value = expression(context->expression());
  return made;
}

void TreeBuilder::parameters(Function& function, const std::vector<Parser::ParameterContext*>& contexts,
                             Parser::AnnotationContext* result) {
  std::vector<Parameter> built;
  for (Parser::ParameterContext* context : contexts) {
    if (function.rest) fail_at(ErrorName::malformed_declaration, span_of(*context), "no parameter can follow '...'");
    if (context->start->getType() == Parser::ELLIPSIS) function.rest = variable(*context->NAME()->getSymbol());
    else built.push_back(parameter(context));
  }
  // Annotations come second, since a dimension may have the name of any parameter.
  function.parameters = arena_.copy(built);
  Dims dims;
  for (size_t i = 0; i < built.size(); ++i) {
    if (!contexts[i]->annotation()) continue;
    function.parameters[i].annotation = annotation(function, contexts[i]->annotation(), dims);
  }
  if (result) function.returns = annotation(function, result, dims);
}

Block* TreeBuilder::body(Parser::FunctionBodyContext* context) {
  if (context->block()) return block(context->block());
  Expr* value = expression(context->expression());
  std::vector<Stmt*> statements = {make<ReturnStmt>(StmtKind::return_, value->span, value)};
  return arena_.make<Block>(value->span, arena_.copy(statements));
}

}  // namespace tsl
