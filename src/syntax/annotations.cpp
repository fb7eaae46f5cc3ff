// Builds the types and limits of parameters and results, and formats them.
#include <algorithm>

#include "base/error_names.h"
#include "syntax/fail_at.h"
#include "syntax/literals.h"
#include "syntax/parser.h"
#include "syntax/tree_builder.h"

namespace tsl {

using namespace ast;
using antlr4::Token;

namespace {

/// The types that name what they hold in brackets: list[int], map[str, f32[n]], tuple[int, str].
struct Container {
  std::string_view name;
  size_t parts;  // how many types stand in the brackets; 0: any number
};
constexpr Container kContainers[] = {{"list", 1}, {"map", 2}, {"tuple", 0}};

const Container* container_named(std::string_view name) {
  const auto found = std::find_if(std::begin(kContainers), std::end(kContainers),
                                  [&](const Container& each) { return each.name == name; });
  return found == std::end(kContainers) ? nullptr : &*found;
}

BinaryOp size_op(size_t token) {
  switch (token) {
    case TreeBuilder::Parser::PLUS: return BinaryOp::add;
    case TreeBuilder::Parser::MINUS: return BinaryOp::sub;
    case TreeBuilder::Parser::STAR: return BinaryOp::mul;
    default: return BinaryOp::floordiv;
  }
}

}  // namespace

Annotation* TreeBuilder::annotation(Function& function, Parser::AnnotationContext* context, Dims& dims) {
  Annotation* first = nullptr;
  Annotation** next = &first;
  for (Parser::AlternativeContext* item : context->alternative()) {
    *next = alternative(function, item, dims);
    next = &(*next)->other;
  }
  return first;
}

Annotation* TreeBuilder::alternative(Function& function, Parser::AlternativeContext* context, Dims& dims) {
  return nested(span_of(*context), [&] {
    Annotation made;
    made.span = span_of(*context);
    const Token& start = *context->start;
    if (start.getType() == Parser::STRING) {
      made.text = string_of(start);
    } else if (start.getType() == Parser::RECORD_OPEN) {
      made.base = names_.intern("record");
      made.has_parts = true;
      std::vector<Name> fields;
      std::vector<Annotation*> types;
      for (Parser::FieldTypeContext* field : context->fieldType()) {
        fields.push_back(name_of(*field->NAME()->getSymbol()));
        types.push_back(annotation(function, field->annotation(), dims));
      }
      made.fields = arena_.copy(fields);
      made.parts = arena_.copy(types);
    } else if (start.getType() != Parser::BRACKET_OPEN) {
      made.base = name_of(start);
    }
    if (context->PAREN_OPEN()) {
      const bool was_described = std::exchange(is_described_, true);
      made.has_parts = true;
      made.parts = parts(function, context->annotation(), dims);
      if (context->result) made.returns = alternative(function, context->result, dims);
      is_described_ = was_described;
    }
    if (Parser::BracketedContext* bracketed = context->bracketed()) {
      made.has_parts = made.base && container_named(*made.base);
      made.has_shape = !made.has_parts;
      if (made.has_parts) made.parts = held(function, bracketed, dims);
      else made.dims = sizes(function, bracketed, dims);
    }
    return arena_.make<Annotation>(made);
  });
}

List<Annotation*> TreeBuilder::parts(Function& function, const std::vector<Parser::AnnotationContext*>& contexts,
                                     Dims& dims) {
  std::vector<Annotation*> types;
  for (Parser::AnnotationContext* each : contexts) types.push_back(annotation(function, each, dims));
  return arena_.copy(types);
}

/// Builds the types in the brackets of a list, a tuple or a map.
List<Annotation*> TreeBuilder::held(Function& function, Parser::BracketedContext* context, Dims& dims) {
  const auto* whole = static_cast<Parser::AlternativeContext*>(context->parent);
  const Container& container = *container_named(text_of(*whole->start));
  std::vector<Annotation*> types;
  for (Parser::BracketItemContext* each : context->bracketItem()) {
    if (!each->item()) fail_at(ErrorName::malformed_declaration, span_of(*each), "a type stands here, not '...'");
    types.push_back(held_type(function, each->item(), dims));
  }
  if (container.parts != 0 && types.size() != container.parts) {
    fail_at(ErrorName::malformed_declaration, span_of(*context),
            container.parts == 1 ? "a list has one type of items" : "a map has a type of keys and one of values",
            {container.parts == 1 ? "`list[int]`; `tuple[int, str]` has a type for each item" : "`map[str, int]`"});
  }
  return arena_.copy(types);
}

Annotation* TreeBuilder::held_type(Function& function, Parser::ItemContext* context, Dims& dims) {
  if (context->atom) return alternative(function, context->alternative(), dims);
  if (!context->op || context->op->getType() != Parser::BAR)
    fail_at(ErrorName::malformed_declaration, span_of(*context), "a type stands here, not a size");
  Annotation* first = held_type(function, context->left, dims);
  Annotation* last = first;
  while (last->other) last = last->other;
  last->other = held_type(function, context->right, dims);
  return first;
}

/// Builds the sizes of a tensor: names that stand alone first, since the others may use them.
List<AnnotatedDim> TreeBuilder::sizes(Function& function, Parser::BracketedContext* context, Dims& dims) {
  const std::vector<Parser::BracketItemContext*> items = context->bracketItem();
  std::vector<AnnotatedDim> built(items.size());
  bool has_ellipsis = false;
  for (const bool is_alone : {true, false}) {
    for (size_t i = 0; i < items.size(); ++i) {
      Parser::ItemContext* item = items[i]->item();
      if (is_alone != (!item || item->atom)) continue;
      if (item) {
        built[i] = size(function, item, dims, false);
        continue;
      }
      built[i].span = span_of(*items[i]);
      built[i].is_ellipsis = true;
      if (has_ellipsis) fail_at(ErrorName::repeated_ellipsis, built[i].span, "a shape has at most one '...'");
      has_ellipsis = true;
    }
  }
  return arena_.copy(built);
}

AnnotatedDim TreeBuilder::size(Function& function, Parser::ItemContext* context, Dims& dims, bool is_operand) {
  const Token& start = *context->start;
  const Span span = span_of(*context);
  if (context->inner) return size(function, context->inner, dims, is_operand);
  if (context->op && context->op->getType() != Parser::BAR) {
    return *nested(span, [&] {
      AnnotatedDim made;
      made.span = span;
      made.op = size_op(context->op->getType());
      made.left = arena_.make<AnnotatedDim>(size(function, context->left, dims, true));
      made.right = arena_.make<AnnotatedDim>(size(function, context->right, dims, true));
      return arena_.make<AnnotatedDim>(made);
    });
  }
  const bool is_word = start.getType() == Parser::NAME && context->start == context->stop;
  if (is_word) return named_size(function, start, dims, is_operand);
  if (!context->NUMBER()) {
    fail_at(ErrorName::malformed_declaration, span, "a size is an int, a name, or made of them by '+', '-', '*', '//'");
  }
  const Number number = read_number(text_of(start), span, false);
  if (!number.is_integer || !number.dtype.empty()) {
    fail_at(ErrorName::malformed_declaration, span, "a size is a plain int");
  }
  AnnotatedDim made;
  made.span = span;
  made.size = number.integer;
  return made;
}

AnnotatedDim TreeBuilder::named_size(Function& function, const Token& token, Dims& dims, bool is_operand) {
  AnnotatedDim made;
  made.span = span_of(token);
  const Name name = name_of(token);
  if (*name == "_" && !is_operand) return made;
  made.name = name;
  if (is_described_) return made;
  for (const Parameter& parameter : function.parameters) {
    if (parameter.variable->name == name) made.variable = parameter.variable;
  }
  for (Variable* dim : dims) {
    if (dim->name == name) made.variable = dim;
  }
  if (made.variable) return made;
  if (is_operand) {
    fail_at(ErrorName::misplaced_dimension, made.span, fmt::format("dimension '{}' is not known here", *name),
            {"it stands alone before, or in the same brackets: `x: f32[n, 2 * n]`"});
  }
  made.variable = variable(token);
  made.binds = true;
  dims.push_back(made.variable);
  return made;
}

Limits TreeBuilder::limits(Parser::LimitsContext* context) {
  Limits made;
  if (context->low) made.low = limit(context->low);
  if (context->high) made.high = limit(context->high);
  const size_t op = context->op->getType();
  made.is_closed = op == Parser::CLOSED_RANGE || op == Parser::LEFT_OPEN_RANGE;
  made.is_open = op == Parser::OPEN_RANGE || op == Parser::LEFT_OPEN_RANGE;
  const bool has_one = made.is_closed && !made.is_open;  // where both ends are equal
  const bool is_empty = made.low && made.high && (has_one ? *made.high < *made.low : *made.high <= *made.low);
  if (is_empty || (!made.low && (!made.high || made.is_open)) || (made.is_closed && !made.high)) {
    fail_at(ErrorName::malformed_declaration, span_of(*context), "no number lies in this range");
  }
  return made;
}

double TreeBuilder::limit(Parser::LimitContext* context) {
  const Token& token = *context->stop;
  const Number number = read_number(text_of(token), span_of(token), false);
  if (!number.dtype.empty()) fail_at(ErrorName::malformed_declaration, span_of(token), "a limit is a plain number");
  const double size = number.is_integer ? static_cast<double>(number.integer) : number.real;
  return context->start == context->stop ? size : -size;
}

// ---- Texts ---------------------------------------------------------------------------------------------

namespace {

std::string join(const auto& items, auto text_of) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + text_of(item);
  return text;
}

bool is_sum(const AnnotatedDim& dim) { return dim.op == BinaryOp::add || dim.op == BinaryOp::sub; }

/// Formats a size. An operand that binds less tightly, or as tightly on the right, stands in parentheses.
std::string size(const AnnotatedDim& dim) {
  if (dim.is_ellipsis) return "...";
  if (dim.size >= 0) return std::to_string(dim.size);
  if (!dim.op) return dim.name ? *dim.name : "_";
  const auto operand = [](const AnnotatedDim& each, bool is_bare) {
    return is_bare ? size(each) : "(" + size(each) + ")";
  };
  const char* const symbol =
      is_sum(dim) ? (dim.op == BinaryOp::add ? " + " : " - ") : (dim.op == BinaryOp::mul ? " * " : " // ");
  return operand(*dim.left, is_sum(dim) || !is_sum(*dim.left)) + symbol +
         operand(*dim.right, !dim.right->op || (is_sum(dim) && !is_sum(*dim.right)));
}

std::string alternative(const Annotation& annotation) {
  if (annotation.text) return "\"" + encode_text(*annotation.text, false) + "\"";
  const auto type = [](const Annotation* each) { return format(*each); };
  const std::string base = annotation.base ? *annotation.base : "";
  if (annotation.has_shape) return base + "[" + join(annotation.dims, size) + "]";
  if (!annotation.has_parts) return base;
  if (base == "fn") {
    const std::string signature = "fn(" + join(annotation.parts, type) + ")";
    return annotation.returns ? signature + " -> " + format(*annotation.returns) : signature;
  }
  if (base != "record") return base + "[" + join(annotation.parts, type) + "]";
  size_t field = 0;
  return "{" +
         join(annotation.parts,
              [&](const Annotation* each) { return *annotation.fields[field++] + ": " + format(*each); }) +
         "}";
}

}  // namespace

std::string format(const Annotation& annotation) {
  std::string text;
  for (const Annotation* each = &annotation; each; each = each->other)
    text += (text.empty() ? "" : " | ") + alternative(*each);
  return text;
}

std::string format(const Limits& limits) {
  const std::string low = limits.low ? fmt::format("{}", *limits.low) : "";
  const std::string high = limits.high ? fmt::format("{}", *limits.high) : "";
  return low + (limits.is_open ? "<.." : "..") + (limits.is_closed ? "=" : "") + high;
}

}  // namespace tsl
