// bounded loops: the parameters of a function, and mistakes that are known.
#include "value/call_hints.h"

#include <array>

#include "base/error.h"
#include "base/words.h"
#include "value/numbers.h"

namespace tsl {

namespace {

constexpr uint32_t kNumberBits = tag_bit(Tag::integer) | tag_bit(Tag::real) | tag_bit(Tag::symbol);
constexpr uint32_t kOperandBits = kNumberBits | tag_bit(Tag::tensor);
constexpr uint32_t kListBits = tag_bit(Tag::list) | tag_bit(Tag::tuple);

/// A value for a parameter that shows which call is meant. "{0}" of the hint stands for the function's name.
struct Mistake {
  std::string_view functions;  // words, with a space between two
  std::string_view parameter;
  uint32_t tags;  // of the value
  std::string_view hint;
};

constexpr Mistake kMistakes[] = {
    {"tensor", "dtype", kNumberBits, "a tensor is made of one list: `tensor([1, 2, 3])`"},
    {"zeros ones rand randn empty", "dtype", kNumberBits, "a shape is one list: `{0}([2, 3])`"},
    {"concat stack", "axis", kOperandBits | kListBits, "the tensors are one list: `{0}([a, b])`"},
    {"sum prod any all", "keepdims", kNumberBits, "the numbers are one list: `{0}([1, 2, 3])`"},
    {"sum prod mean std var any all", "axis", tag_bit(Tag::tensor), "the tensors are one list: `{0}([a, b])`"},
    {"max min", "axis", tag_bit(Tag::real), "`{0}imum(a, b)` compares two values element by element"},
    {"einsum", "equation", tag_bit(Tag::tensor), "the equation comes first: `einsum(\"ij,jk->ik\", a, b)`"},
    {"join", "separator", kListBits, "the separator comes first: `join(\",\", xs)`"},
    {"map filter enumerate zip reversed", "x", kNumberBits, "`0..n` counts from 0 to n - 1"},
    {"has", "record", kListBits, "`v in xs` tests whether a list has an item"},
    {"remove", "x", kListBits, "`filter(fn(v) = v != x, xs)` is a list without an item; `xs[:-1]` without its last"},
    {"get", "x", kListBits, "an item of a list is read by its place: `xs[0]`"},
    {"keys values items", "record", kListBits, "a list has no keys: `enumerate(xs)` gives its items with their places"},
    {"to", "target", kNumberBits, "the first GPU is \"cuda:0\""},
    {"tolist", "x", kListBits, "it is a list already"},
    {"randint", "shape", tag_bit(Tag::dtype), "write `randint(low, high, shape)`"},
    {"grad value_and_grad", "wrt", tag_bit(Tag::tensor) | tag_bit(Tag::record) | kListBits,
     "`{0}(f)` is a function, which takes the arguments: `{0}(f)(x)`"},
    {"eye", "n", kListBits, "the extents are numbers: `eye(3)`, `eye(2, 3)`"},
    {"str", "full", ~0u, "`str(x)` takes one value; an f-string joins several: `f\"{{a}} {{b}}\"`"},
    {"bool", "x", tag_bit(Tag::string), "a comparison makes a bool of a str: `s == \"true\"`"},
    {"cross_entropy", "labels", kListBits, "`tensor(xs)` makes a tensor of a list of labels"},
};

/// What serves where a function of another language has a parameter.
struct MissingParameter {
  std::string_view functions;   // words
  std::string_view parameters;  // words; "": any
  std::string_view hint;
};

constexpr MissingParameter kMissingParameters[] = {
    {"print", "end sep flush",
     "`print` ends its line and puts blanks between values; an f-string joins them: `print(f\"{a}{b}\")`"},
    {"print", "file", "`eprint(x)` writes to standard error, `append_text(path, text)` to a file"},
    {"dict", "", "`{a: 1}` is a record, `[\"a\": 1]` a map"},
    {"tensor", "requires_grad", "grad(f) and value_and_grad(f) differentiate a function"},
    {"max min", "key by",
     "`sorted(xs, key: f)` is in the order of f: its first item has the least f(x), its last the greatest"},
    {"std var nanstd nanvar", "ddof unbiased", "`correction: 0` divides by n, `correction: 1` by n - 1"},
    {"line scatter bar histogram band", "label labels", "a record names the series: `{a: u, b: v}` in place of y"},
};

/// Functions that take one list where others take several arguments.
constexpr std::string_view kTakeLists = "tensor zeros ones rand randn concat stack";

/// What other libraries call a parameter.
struct ParameterAlias {
  std::string_view theirs, ours;  // words, the likeliest first
};

constexpr ParameterAlias kParameterAliases[] = {
    {"dim dims axes axis0", "axis"},
    {"keepdim keep_dims keep_dim", "keepdims"},
    {"size dims sizes", "shape"},
    {"low lo a_min lower min_val vmin", "min low start"},
    {"high hi a_max upper max_val vmax", "max high stop end"},
    {"begin first from", "start"},
    {"stop last to", "end stop"},
    {"learning_rate alpha eta", "lr"},
    {"input a tensor self array arr data", "x data"},
    {"other b y", "b y"},
    {"fill fill_value val", "value"},
    {"n_classes num_classes depth classes", "n classes count"},
    {"kernel kernel_size window filter_size", "size weight"},
    {"strides step", "stride step"},
    {"pad", "padding"},
    {"wd decay l2", "weight_decay"},
    {"argnums argnum", "wrt"},
    {"in_dims", "in_axes"},
    {"out_dims", "out_axes"},
    {"primals", "args"},
    {"sep delimiter delim", "by separator"},
    {"reverse desc", "descending"},
    {"target y labels label", "targets labels"},
    {"eps epsilon", "eps"},
    {"betas", "beta1"},
    {"bs batch_size", "size"},
    {"repeats reps", "reps repeats"},
    {"type", "dtype"},
    {"digits ndigits", "decimals"},
    {"causal is_causal", "is_causal causal"},
    {"func function fn callback", "f"},
    {"key", "by key"},
    {"steps count points", "num"},
    {"p", "ord"},
    {"maxsplit max_split", "limit"},
};

}  // namespace

std::string hint_for_argument(const Signature& signature, const std::string& parameter, const Value& given) {
  for (const Mistake& mistake : kMistakes) {
    const bool is_meant = parameter == mistake.parameter && has_word(mistake.functions, signature.function);
    if (is_meant && mistake.tags & tag_bit(given.tag()))
      return fmt::format(fmt::runtime(mistake.hint), signature.function);
  }
  return "";
}

std::string hint_for_extra_argument(const Signature& signature) {
  if (signature.function == "round") return hint_for_parameter(signature, "decimals");
  if (!has_word(kTakeLists, signature.function)) return "";
  return fmt::format("{} takes its items as one list: `{}([…])`", signature.function, signature.function);
}

std::string usage(const Signature& signature, bool with_defaults) {
  std::string text;
  bool has_more = false;
  for (const ParameterInfo& parameter : signature.parameters) {
    if (parameter.has_default && !with_defaults) has_more = true;
    else text += (text.empty() ? "" : ", ") + *parameter.name;
  }
  if (has_more || signature.rest) text += text.empty() ? "…" : ", …";
  return fmt::format("{}({})", signature.function, text);
}

std::string parameter_for(std::string_view name, const std::vector<std::string>& parameters) {
  for (const ParameterAlias& alias : kParameterAliases) {
    if (!has_word(alias.theirs, name)) continue;
    for (const std::string& parameter : parameters) {
      if (has_word(alias.ours, parameter)) return parameter;
    }
  }
  return nearest_name(name, parameters);
}

std::string hint_for_parameter(const Signature& signature, std::string_view name) {
  for (const MissingParameter& each : kMissingParameters) {
    const bool is_meant = each.parameters.empty() || has_word(each.parameters, name);
    if (has_word(each.functions, signature.function) && is_meant) return std::string(each.hint);
  }
  return "";
}

std::optional<Wanted> wanted_by(std::string_view kind) {
  if (kind == "tensor" || kind == "array") return Wanted::tensor;
  if (kind == "list") return Wanted::list;
  if (kind == "str") return Wanted::text;
  if (kind == "int" || kind == "integer" || kind == "integers") return Wanted::integer;
  if (kind == "float" || kind == "number") return Wanted::real;
  if (kind == "fn" || kind == "function") return Wanted::function;
  if (kind == "dtype") return Wanted::dtype;
  return std::nullopt;
}

}  // namespace tsl
