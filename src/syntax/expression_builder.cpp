// Implements the part of TreeBuilder that builds expressions.
#include <algorithm>
#include <unordered_set>

#include "base/count_work.h"
#include "base/error_names.h"
#include "syntax/fail_at.h"
#include "syntax/tree_builder.h"

namespace tsl {

using namespace ast;
using antlr4::Token;

using Parser = TreeBuilder::Parser;

namespace {

BinaryOp binary_op(size_t type) {
  switch (type) {
    case Parser::PLUS: return BinaryOp::add;
    case Parser::MINUS: return BinaryOp::sub;
    case Parser::STAR: return BinaryOp::mul;
    case Parser::SLASH: return BinaryOp::div;
    case Parser::FLOOR: return BinaryOp::floordiv;
    case Parser::PERCENT: return BinaryOp::mod;
    case Parser::POWER: return BinaryOp::pow;
    case Parser::AT: return BinaryOp::matmul;
    case Parser::EQUAL: return BinaryOp::eq;
    case Parser::NOT_EQUAL: return BinaryOp::ne;
    case Parser::LESS: return BinaryOp::lt;
    case Parser::LESS_EQUAL: return BinaryOp::le;
    case Parser::GREATER: return BinaryOp::gt;
    case Parser::GREATER_EQUAL: return BinaryOp::ge;
    case Parser::BAR: return BinaryOp::bit_or;
    case Parser::CARET: return BinaryOp::bit_xor;
    case Parser::AMPERSAND: return BinaryOp::bit_and;
    case Parser::SHIFT_LEFT: return BinaryOp::left_shift;
    case Parser::SHIFT_RIGHT: return BinaryOp::right_shift;
    default: return BinaryOp::in;  // `in` and `not in`
  }
}

bool is_range(size_t type) { return type == Parser::RANGE || type == Parser::CLOSED_RANGE; }

bool is_comparison(size_t type) {
  switch (type) {
    case Parser::EQUAL:
    case Parser::NOT_EQUAL:
    case Parser::LESS:
    case Parser::LESS_EQUAL:
    case Parser::GREATER:
    case Parser::GREATER_EQUAL: return true;
    default: return false;
  }
}

bool is_membership(size_t type) { return type == Parser::IN || type == Parser::NOT; }

/// Whether the left operand is an operation of two operands, without parentheses, whose operator `is` holds for.
template <class Is> bool has_open_left(const Parser::ExpressionContext* context, Is is) {
  return context->left->op && context->left->left && is(context->left->op->getType());
}

}  // namespace

// ---- Operators -----------------------------------------------------------------------------------------

/// Follows left operands in a loop, so that a long chain of operators is no deep recursion.
Expr* TreeBuilder::expression(Parser::ExpressionContext* context) {
  constexpr int64_t kExpressionWork = 256;
  count_work(kExpressionWork);
  std::vector<Parser::ExpressionContext*> chain;
  while (context->left) {
    chain.push_back(context);
    context = context->left;
  }
  const int siblings = std::exchange(height_, 0);
  Expr* built = operand(context);
  grow(built->span);
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
    const int left = std::exchange(height_, 0);
    built = extend(built, *link);
    if (left > height_) height_ = left;
    grow(built->span);
  }
  if (siblings > height_) height_ = siblings;
  return built;
}

Expr* TreeBuilder::operand(Parser::ExpressionContext* context) {
  if (context->atom) return primary(context->atom);
  const size_t type = context->op->getType();
  if (type == Parser::MINUS) return negation(context);
  const UnaryOp op = type == Parser::PLUS    ? UnaryOp::plus
                     : type == Parser::TILDE ? UnaryOp::bit_not
                                             : UnaryOp::logical_not;
  Expr* value = expression(context->right);
  return make<UnaryExpr>(ExprKind::unary, span_of(*context), op, value);
}

/// Makes a minus before a number its sign; otherwise the least int could not be written.
Expr* TreeBuilder::negation(Parser::ExpressionContext* context) {
  const Parser::ExpressionContext* right = context->right;
  if (right->atom && right->atom->start->getType() == Parser::NUMBER) {
    return number(*right->atom->start, span_of(*context), true);
  }
  Expr* value = expression(context->right);
  return make<UnaryExpr>(ExprKind::unary, span_of(*context), UnaryOp::negate, value);
}

Expr* TreeBuilder::extend(Expr* left, Parser::ExpressionContext* context) {
  if (context->tail) return suffix(left, context);
  const Span span = span_of(*context);
  const size_t type = context->op->getType();
  if (type == Parser::PIPE) return pipe(left, context);
  if (type == Parser::AND || type == Parser::OR) {
    const LogicalOp op = type == Parser::AND ? LogicalOp::and_ : LogicalOp::or_;
    return make<LogicalExpr>(ExprKind::logical, span, op, left, expression(context->right));
  }
  check_chain(context);
  if (is_comparison(type) && has_open_left(context, is_comparison)) return chain(left, context);
  if (is_range(type)) {
    Expr* end = expression(context->right);
    return make<RangeExpr>(ExprKind::range, span, left, end, type == Parser::CLOSED_RANGE);
  }
  return binary(left, context);
}

/// Rejects chains that have no meaning. What stands in parentheses is no part of a chain.
void TreeBuilder::check_chain(Parser::ExpressionContext* context) const {
  const size_t type = context->op->getType();
  const auto compares = [](size_t inner) { return is_comparison(inner) || is_membership(inner); };
  if ((is_membership(type) && has_open_left(context, compares)) ||
      (is_comparison(type) && has_open_left(context, is_membership))) {
    fail_at(ErrorName::chained_operators, span_of(*context->op), "`in` cannot be chained with other comparisons",
            {"join two with 'and', or put one in parentheses"});
  }
  if (is_range(type) && has_open_left(context, is_range))
    fail_at(ErrorName::chained_operators, span_of(*context->op), "ranges cannot be chained");
}

/// Adds a comparison to the one or the chain on its left: `a < b < c`.
Expr* TreeBuilder::chain(Expr* left, Parser::ExpressionContext* context) {
  std::vector<ChainLink> links;
  Expr* first = nullptr;
  if (left->kind == ExprKind::chain) {
    const auto& chain = as<ChainExpr>(*left);
    first = chain.first;
    links.assign(chain.links.begin(), chain.links.end());
  } else {
    const auto& compared = as<BinaryExpr>(*left);
    first = compared.left;
    links.push_back({compared.op, compared.op_span, compared.right});
  }
  Expr* right = expression(context->right);
  links.push_back({binary_op(context->op->getType()), span_of(*context->op), right});
  return make<ChainExpr>(ExprKind::chain, span_of(*context), first, arena_.copy(links));
}

Expr* TreeBuilder::binary(Expr* left, Parser::ExpressionContext* context) {
  const Span span = span_of(*context);
  Span op_span = span_of(*context->op);
  const bool is_not_in = context->op->getType() == Parser::NOT;
  if (is_not_in) op_span = join(op_span, span_of(*context->IN()->getSymbol()));
  const BinaryOp op = binary_op(context->op->getType());
  Expr* whole = make<BinaryExpr>(ExprKind::binary, span, op, left, expression(context->right), op_span);
  return is_not_in ? make<UnaryExpr>(ExprKind::unary, span, UnaryOp::logical_not, whole) : whole;
}

/// Builds a pipe: `x |> f(a)` is f(x, a); `x |> f` is f(x). In parentheses, `x |> (f(a))` calls the result of f(a).
Expr* TreeBuilder::pipe(Expr* left, Parser::ExpressionContext* context) {
  Parser::ExpressionContext* right = context->right;
  const bool is_callable = right->tail || right->atom;
  if (!is_callable) {
    fail_at(ErrorName::wrong_pipe_target, span_of(*right), "the right side of '|>' must be a function or a call");
  }
  const bool is_call = right->tail && right->tail->start->getType() == Parser::PAREN_OPEN;
  Expr* callee = expression(right);
  std::vector<Argument> args = {{nullptr, left, left->span}};
  if (is_call) {
    const CallExpr& call = as<CallExpr>(*callee);
    args.insert(args.end(), call.args.begin(), call.args.end());
    callee = call.callee;
  }
  switch (callee->kind) {
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::fstring:
    case ExprKind::typed:
    case ExprKind::list:
    case ExprKind::tuple:
    case ExprKind::record:
    case ExprKind::map:
      fail_at(ErrorName::wrong_pipe_target, callee->span, "the right side of '|>' must be a function or a call");
    case ExprKind::name:
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
  return make<CallExpr>(ExprKind::call, span_of(*context), callee, arena_.copy(args), true);
}

// ---- Calls, indices and fields -------------------------------------------------------------------------

Expr* TreeBuilder::suffix(Expr* object, Parser::ExpressionContext* context) {
  const Span span = span_of(*context);
  Parser::SuffixContext* tail = context->tail;
  switch (tail->start->getType()) {
    case Parser::DOT: {
      const Token& name = *tail->NAME()->getSymbol();
      return make<FieldExpr>(ExprKind::field, span, object, name_of(name), span_of(name));
    }
    case Parser::BRACKET_OPEN: {
      std::vector<IndexItem> items;
      bool has_ellipsis = false;
      for (Parser::IndexItemContext* item : tail->indexItem()) {
        items.push_back(index_item(item));
        if (items.back().kind != IndexItem::Kind::ellipsis) continue;
        if (has_ellipsis) fail_at(ErrorName::repeated_ellipsis, items.back().span, "an index has at most one '...'");
        has_ellipsis = true;
      }
      return make<IndexExpr>(ExprKind::index, span, object, arena_.copy(items));
    }
    default: return make<CallExpr>(ExprKind::call, span, object, arguments(tail->argument()), false);
  }
}

IndexItem TreeBuilder::index_item(Parser::IndexItemContext* context) {
  IndexItem item{};
  item.span = span_of(*context);
  if (context->start->getType() == Parser::ELLIPSIS) {
    item.kind = IndexItem::Kind::ellipsis;
    return item;
  }
  const auto built = [&](Parser::ExpressionContext* part) { return part ? expression(part) : nullptr; };
  const bool is_slice = !context->COLON().empty();
  item.kind = is_slice ? IndexItem::Kind::slice : IndexItem::Kind::value;
  (is_slice ? item.start : item.value) = built(context->begin);
  item.stop = built(context->end);
  item.step = built(context->step);
  return item;
}

List<Argument> TreeBuilder::arguments(const std::vector<Parser::ArgumentContext*>& contexts) {
  std::vector<Argument> args;
  std::unordered_set<Name> names;
  args.reserve(contexts.size());
  for (Parser::ArgumentContext* context : contexts) {
    Argument argument{nullptr, nullptr, span_of(*context)};
    argument.is_spread = context->start->getType() == Parser::ELLIPSIS;
    if (context->NAME()) {
      argument.name = name_of(*context->NAME()->getSymbol());
      if (!names.insert(argument.name).second) {
        fail_at(ErrorName::repeated_argument, argument.span,
                fmt::format("argument '{}' is given twice", *argument.name));
      }
    } else if (!names.empty()) {
      fail_at(ErrorName::positional_after_named, argument.span,
              argument.is_spread ? "'...' must stand before the named arguments"
                                 : "a positional argument cannot follow a named one");
    }
    argument.value = expression(context->expression());
    args.push_back(argument);
  }
  return arena_.copy(args);
}

List<Expr*> TreeBuilder::expressions(const std::vector<Parser::ExpressionContext*>& contexts) {
  std::vector<Expr*> items;
  items.reserve(contexts.size());
  for (Parser::ExpressionContext* context : contexts) items.push_back(expression(context));
  return arena_.copy(items);
}

// ---- Primaries -----------------------------------------------------------------------------------------

Expr* TreeBuilder::primary(Parser::PrimaryContext* context) {
  const Token& token = *context->start;
  const Span span = span_of(*context);
  switch (token.getType()) {
    case Parser::NUMBER: return number(token, span, false);
    case Parser::STRING: return make<StringExpr>(ExprKind::string, span, string_of(token));
    case Parser::FSTRING_OPEN: return fstring(context->fstring());
    case Parser::TRUE: return make<BoolExpr>(ExprKind::boolean, span, true);
    case Parser::FALSE: return make<BoolExpr>(ExprKind::boolean, span, false);
    case Parser::NIL: return arena_.make<Expr>(ExprKind::nil, span);
    case Parser::NAME: return make<NameExpr>(ExprKind::name, span, name_of(token), nullptr);
    case Parser::PAREN_OPEN: return parenthesized(context->parenthesized());
    case Parser::BRACKET_OPEN: return list(context->list());
    case Parser::RECORD_OPEN: return record(context->record());
    case Parser::FN: {
      Parser::LambdaContext* lambda = context->lambda();
      return make<LambdaExpr>(ExprKind::lambda, span, function(span, lambda->signature(), lambda->functionBody()));
    }
    case Parser::TRY: return attempt(context->attempt());
    default: return conditional(context->conditional());
  }
}

Expr* TreeBuilder::number(const Token& token, Span span, bool negative) {
  const Number value = read_number(text_of(token), span_of(token), negative);
  if (!value.dtype.empty()) {
    return make<TypedExpr>(ExprKind::typed, span, value.is_integer, value.integer, value.real,
                           names_.intern(value.dtype));
  }
  if (value.is_integer) return make<IntExpr>(ExprKind::integer, span, value.integer);
  return make<RealExpr>(ExprKind::real, span, value.real);
}

Expr* TreeBuilder::parenthesized(Parser::ParenthesizedContext* context) {
  const auto items = context->expression();
  const auto dots = context->ELLIPSIS();
  if (items.size() == 1 && !context->comma && dots.empty()) return expression(items[0]);
  if (dots.size() > 1)
    fail_at(ErrorName::repeated_ellipsis, span_of(*dots[1]->getSymbol()), "a tuple has at most one '...'");
  std::optional<size_t> rest;
  if (!dots.empty()) {
    const size_t at = dots[0]->getSymbol()->getStopIndex();
    rest = std::count_if(items.begin(), items.end(), [at](auto* item) { return item->start->getStartIndex() < at; });
  }
  return make<TupleExpr>(ExprKind::tuple, span_of(*context), expressions(items), rest);
}

/// Builds a list, or a map if there is a ':'.
Expr* TreeBuilder::list(Parser::ListContext* context) {
  const auto items = context->listItem();
  const auto is_entry = [](Parser::ListItemContext* item) { return item->value != nullptr; };
  const bool is_map = context->COLON() || std::any_of(items.begin(), items.end(), is_entry);
  std::vector<Expr*> values;
  std::vector<MapEntry> entries;
  for (Parser::ListItemContext* item : items) {
    const bool is_spread = item->ELLIPSIS() != nullptr;
    if (is_map ? !is_spread && !item->value : is_spread) fail_on_item(*item, is_map);
    Expr* first = expression(item->expression(0));
    if (!is_map) values.push_back(first);
    else if (is_spread) entries.push_back({nullptr, first});
    else entries.push_back({first, expression(item->value)});
  }
  if (is_map) return make<MapExpr>(ExprKind::map, span_of(*context), arena_.copy(entries));
  return make<ListExpr>(ExprKind::list, span_of(*context), arena_.copy(values));
}

void TreeBuilder::fail_on_item(Parser::ListItemContext& item, bool is_map) const {
  if (is_map) {
    fail_at(ErrorName::mixed_entries, span_of(item), "this map has an item without a key",
            {"a map is written `[key: value]`, a list `[a, b]`"});
  }
  fail_at(ErrorName::mixed_entries, span_of(item), "a list takes no '...'",
          {"`a + b` joins two lists; in a map that has an entry of its own, `[...m, k: v]` adds those of another"});
}

Expr* TreeBuilder::record(Parser::RecordContext* context) {
  std::vector<RecordEntry> entries;
  std::unordered_set<Name> keys;
  for (Parser::RecordEntryContext* item : context->recordEntry()) {
    entries.push_back(record_entry(item));
    const Name key = entries.back().key;
    if (key && !keys.insert(key).second) {
      fail_at(ErrorName::repeated_key, span_of(*item->start), fmt::format("key '{}' is given twice", *key));
    }
  }
  return make<RecordExpr>(ExprKind::record, span_of(*context), arena_.copy(entries));
}

RecordEntry TreeBuilder::record_entry(Parser::RecordEntryContext* context) {
  const Token& start = *context->start;
  Expr* value = context->expression() ? expression(context->expression()) : nullptr;
  if (start.getType() == Parser::ELLIPSIS) return {nullptr, value};
  const Name key = start.getType() == Parser::STRING ? string_of(start) : name_of(start);
  if (!value) value = make<NameExpr>(ExprKind::name, span_of(start), key, nullptr);  // {a} is {a: a}
  return {key, value};
}

/// Builds branches from last to first: each is the `otherwise` of the one before.
Expr* TreeBuilder::conditional(Parser::ConditionalContext* context) {
  Expr* otherwise = nullptr;
  const Span whole = span_of(*context);
  if (!context->block().empty() && context->block().size() == 2) {
    Block* last = block(context->block(1));
    otherwise = make<BlockExpr>(ExprKind::block, last->span, last);
  }
  const auto branches = context->elseIf();
  for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch) {
    Expr* condition = expression((*branch)->expression());
    Block* then = block((*branch)->block());
    const Span span{whole.source, span_of(*(*branch)->IF()->getSymbol()).begin, whole.end};
    otherwise = make<IfExpr>(ExprKind::if_, span, condition, then, otherwise);
    grow(span);
  }
  Expr* condition = expression(context->expression());
  Block* then = block(context->block(0));
  return make<IfExpr>(ExprKind::if_, whole, condition, then, otherwise);
}

Expr* TreeBuilder::attempt(Parser::AttemptContext* context) {
  Block* body = block(context->block(0));
  Variable* error = context->NAME() ? variable(*context->NAME()->getSymbol()) : nullptr;
  Block* handler = error ? block(context->block(1)) : nullptr;
  Block* last = context->last ? block(context->last) : nullptr;
  return make<TryExpr>(ExprKind::try_, span_of(*context), body, error, handler, last);
}

Expr* TreeBuilder::fstring(Parser::FstringContext* context) {
  std::vector<FStringPart> parts;
  for (antlr4::tree::ParseTree* child : context->children) {
    if (auto* hole = dynamic_cast<Parser::HoleContext*>(child)) {
      parts.push_back(fstring_value(hole));
      continue;
    }
    const Token& token = *static_cast<antlr4::tree::TerminalNode*>(child)->getSymbol();
    if (token.getType() != Parser::FSTRING_TEXT) continue;
    const std::string text = decode_text(text_of(token), span_of(token), true);
    parts.push_back({names_.intern(text), nullptr, names_.intern(""), nullptr});
  }
  return make<FStringExpr>(ExprKind::fstring, span_of(*context), arena_.copy(parts));
}

FStringPart TreeBuilder::fstring_value(Parser::HoleContext* hole) {
  FStringPart part{names_.intern(""), expression(hole->expression()), names_.intern(""), nullptr};
  Parser::FormatSpecContext* const spec = hole->formatSpec();
  if (hole->ASSIGN()) {
    const size_t begin = hole->start->getStopIndex() + 1;
    part.text = names_.intern(text_.substr(begin, (spec ? spec->start : hole->stop)->getStartIndex() - begin));
  }
  if (!spec) return part;
  const std::string_view first = text_of(*spec->start).substr(1);  // without the ':'
  if (spec->children.size() == 1) {
    part.spec = names_.intern(first);
    return part;
  }
  std::vector<FStringPart> pieces;
  if (!first.empty()) pieces.push_back({names_.intern(first), nullptr, names_.intern(""), nullptr});
  for (auto child = spec->children.begin() + 1; child != spec->children.end(); ++child) {
    if (auto* inner = dynamic_cast<Parser::HoleContext*>(*child)) {
      pieces.push_back(fstring_value(inner));
    } else {
      const Token& token = *static_cast<antlr4::tree::TerminalNode*>(*child)->getSymbol();
      pieces.push_back({names_.intern(text_of(token)), nullptr, names_.intern(""), nullptr});
    }
  }
  part.computed_spec = make<FStringExpr>(ExprKind::fstring, span_of(*spec), arena_.copy(pieces));
  return part;
}

}  // namespace tsl
