// Formats the types and limits of parameters.
#include <fmt/format.h>

#include "syntax/literals.h"
#include "syntax/parser.h"

namespace tsl {

using namespace ast;

namespace {

std::string dimensions(List<AnnotatedDim> dims) {
  std::string text;
  for (const AnnotatedDim& dim : dims) {
    if (!text.empty()) text += ", ";
    if (dim.size >= 0) text += std::to_string(dim.size);
    else text += dim.variable ? *dim.variable->name : "_";
  }
  return "[" + text + "]";
}

}  // namespace

std::string format(const Annotation& annotation) {
  std::string text;
  for (const Annotation* each = &annotation; each; each = each->other) {
    if (!text.empty()) text += " | ";
    if (each->text) text += "\"" + encode_text(*each->text, false) + "\"";
    else if (each->base) text += *each->base;
    if (each->has_shape) text += dimensions(each->dims);
  }
  return text;
}

std::string format(const Limits& limits) {
  const std::string low = limits.low ? fmt::format("{}", *limits.low) : "";
  const std::string high = limits.high ? fmt::format("{}", *limits.high) : "";
  return low + (limits.is_closed ? "..=" : "..") + high;
}

}  // namespace tsl
