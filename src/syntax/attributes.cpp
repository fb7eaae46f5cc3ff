#include "syntax/attributes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error_names.h"
#include "base/words.h"
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

/// What serves in the place of words of other compilers.
struct Advice {
  std::string_view words, hint;
};

constexpr Advice kOptionAdvice[] = {
    {"fullgraph nopython", "`whole: true` makes what would split the function an error"},
    {"dynamic",
     "no option is needed: a size that changes is not compiled for again; one that is named, as n in `x: f32[n, 64]`, "
     "may change from the first call on"},
    {"disable", "`@interpret` before a function keeps it from being compiled, and `--no-compile` all of them"},
    {"backend device", "`--device` says where a program runs; the function has no option for it"},
    {"static_argnums static_argnames", "no option is needed: what decides a shape or a branch is recognised"},
    {"donate_argnums donate_argnames", "no option is needed: the memory of what nothing reads afterwards is reused"},
};

constexpr Advice kModeAdvice[] = {
    {"reduce-overhead",
     "no mode is needed: a GPU's kernels are launched as CUDA graphs unless `graphs: \"off\"` is given"},
    {"max-autotune-no-cudagraphs", "write `mode: \"max-autotune\", graphs: \"off\"`"},
};

constexpr Advice kAttributeAdvice[] = {
    {"jit torch njit tf numba script", "did you mean '@compile'?"},
    {"disable eager no_compile nocompile skip exclude ignore run_eagerly", "did you mean '@interpret'?"},
};

/// Returns what the row of a word says; "" if there is none.
template <size_t kRows> std::string advice_for(const Advice (&rows)[kRows], std::string_view word) {
  for (const Advice& row : rows) {
    if (has_word(row.words, word)) return std::string(row.hint);
  }
  return "";
}

void read_whole(const Argument& argument, CompileRequest& request) {
  if (argument.value->kind != ExprKind::boolean)
    fail_at(ErrorName::misused_attribute, argument.span, "whole is true or false", {"write `@compile(whole: true)`"});
  request.whole = as<BoolExpr>(*argument.value).value;
}

[[noreturn]] void unknown_option(const Argument& argument) {
  if (!argument.name)
    fail_at(ErrorName::unknown_option, argument.span, "options of @compile have names",
            {"write `@compile(graphs: \"off\")`"});
  const std::string advice = advice_for(kOptionAdvice, *argument.name);
  fail_at(ErrorName::unknown_option, argument.span, fmt::format("unknown option '{}' of @compile", *argument.name),
          {advice.empty() ? "there are graphs, mode, numerics and whole, as in `@compile(graphs: \"off\")`" : advice});
}

void read_option(const Argument& argument, CompileRequest& request) {
  if (argument.name && *argument.name == "whole") return read_whole(argument, request);
  const auto option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const Option& o) { return argument.name && o.name == *argument.name; });
  if (option == std::end(kOptions)) unknown_option(argument);
  const bool is_text = argument.value->kind == ExprKind::string;
  const std::string_view value = is_text ? std::string_view(*as<StringExpr>(*argument.value).text) : std::string_view();
  if (value != option->yes && value != option->no) {
    const std::string advice = option->name == "mode" ? advice_for(kModeAdvice, value) : "";
    fail_at(ErrorName::misused_attribute, argument.span,
            fmt::format("{} is \"{}\" or \"{}\"", option->name, option->yes, option->no),
            advice.empty() ? std::vector<std::string>() : std::vector{advice});
  }
  request.*option->field = value == option->yes;
}

[[noreturn]] void unknown_attribute(const Attribute& attribute) {
  std::string hint = advice_for(kAttributeAdvice, *attribute.name);
  const std::string near = nearest_name(*attribute.name, {"compile", "interpret"});
  if (hint.empty())
    hint = near.empty() ? "there are @compile and @interpret" : fmt::format("did you mean '@{}'?", near);
  fail_at(ErrorName::unknown_attribute, attribute.span, fmt::format("unknown attribute '@{}'", *attribute.name),
          {hint});
}

}  // namespace

void read_attributes(ast::Function& function) {
  for (const Attribute& attribute : function.attributes) {
    if (*attribute.name == "interpret") {
      if (!attribute.args.empty()) fail_at(ErrorName::misused_attribute, attribute.span, "@interpret takes no options");
      function.is_interpreted = true;
    } else if (*attribute.name == "compile") {
      if (!function.compile) function.compile.emplace();
      for (const Argument& argument : attribute.args) read_option(argument, *function.compile);
    } else {
      unknown_attribute(attribute);
    }
    if (function.compile && function.is_interpreted)
      fail_at(ErrorName::misused_attribute, attribute.span, "a function has @compile or @interpret, not both");
  }
}

}  // namespace tsl
