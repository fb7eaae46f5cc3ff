#include "syntax/attributes.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "syntax/fail_at.h"

namespace tsl {

using namespace ast;

namespace {

struct Option {
  std::string_view name, yes, no;
  std::optional<bool> CompileRequest::*field;
};

constexpr Option kOptions[] = {{"graphs", "on", "off", &CompileRequest::graphs},
                               {"numerics", "fast", "exact", &CompileRequest::fast_numerics},
                               {"mode", "max-autotune", "default", &CompileRequest::autotune}};

void read_option(const Argument& argument, CompileRequest& request) {
  const auto option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const Option& o) { return argument.name && o.name == *argument.name; });
  if (option == std::end(kOptions)) {
    fail_at(ErrorKind::name, argument.span,
            argument.name ? fmt::format("unknown option '{}' of @compile", *argument.name)
                          : "options of @compile have names",
            {"there are graphs, numerics and mode, as in @compile(graphs: \"off\")"});
  }
  const bool is_text = argument.value->kind == ExprKind::string;
  const std::string_view value = is_text ? std::string_view(*as<StringExpr>(*argument.value).text) : std::string_view();
  if (value != option->yes && value != option->no) {
    fail_at(ErrorKind::value, argument.span,
            fmt::format("{} is \"{}\" or \"{}\"", option->name, option->yes, option->no));
  }
  request.*option->field = value == option->yes;
}

}  // namespace

std::optional<CompileRequest> compile_request(const Function& function) {
  std::optional<CompileRequest> request;
  for (const Attribute& attribute : function.attributes) {
    if (*attribute.name != "compile") {
      const std::string near = nearest_name(*attribute.name, {"compile"});
      fail_at(ErrorKind::name, attribute.span, fmt::format("unknown attribute '@{}'", *attribute.name),
              {near.empty() ? "the only attribute is @compile" : "did you mean '@compile'?"});
    }
    if (!request) request.emplace();
    for (const Argument& argument : attribute.args) read_option(argument, *request);
  }
  return request;
}

}  // namespace tsl
