// Defines parse_args: the command line of a script, read by a record of defaults.
#include <algorithm>
#include <charconv>

#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "value/text_builder.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

constexpr int64_t kOptionWork = 500;
constexpr const char* kRest = "rest";  // the field of the arguments that belong to no option

/// Reads the whole text as a number.
template <class Number> bool read_number(std::string_view text, Number& number) {
  const auto [at, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && at == text.data() + text.size();
}

/// Returns a field's name as an option: "--batch-size" of batch_size.
std::string option_name(const std::string& field) {
  std::string name = "--" + field;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

class ArgumentParser {
 public:
  ArgumentParser(Context& context, const Record& defaults) : context_(context), defaults_(defaults) {
    polled_each(defaults.values.size(), kOptionWork, [&](size_t i) {
      const std::string& field = *defaults.keys->names[i];
      if (field == kRest)
        fail_argument(ErrorName::unsuitable_argument, "defaults",
                      "`rest` is the field of the arguments without an option: give another name to the option");
      placeholder(field, defaults.values[i]);
      names_.push_back(option_name(field));
    });
  }

  Value parse(const std::vector<std::string>& args) {
    Value result = make_record({});
    polled_each(defaults_.values.size(), kOptionWork, [&](size_t i) { set(result, i, defaults_.values[i]); });
    Collector rest;
    bool has_options = true;
    for (size_t i = 0; i < args.size(); ++i) {
      count_work(kOptionWork);
      const std::string& arg = args[i];
      const bool is_number = arg.size() > 1 && (arg[1] == '.' || (arg[1] >= '0' && arg[1] <= '9'));
      if (has_options && arg == "--") has_options = false;
      else if (!has_options || !arg.starts_with('-') || arg == "-" || is_number) rest.add(make_string(arg));
      else if (arg == "--help" || arg == "-h") show_help();
      else read_option(result, args, i);
    }
    result.as<Record>().set(HeldName(context_.names(), kRest), make_list(rest.take()));
    return result;
  }

 private:
  [[noreturn]] static void refuse(const std::string& why, std::string hint = "") {
    fail_with(ErrorName::wrong_option, why, hint.empty() ? std::vector<std::string>{} : std::vector{std::move(hint)});
  }

  void set(Value& result, size_t option, Value value) const {
    result.as<Record>().set(defaults_.keys->names[option], std::move(value));
  }

  /// Reads the option at a place of the arguments, which moves past its value.
  void read_option(Value& result, const std::vector<std::string>& args, size_t& at) const {
    const std::string& arg = args[at];
    const size_t mark = std::min(arg.find('='), arg.size());
    std::string name = arg.substr(0, mark);
    std::replace(name.begin(), name.end(), '_', '-');
    const bool has_value = mark < arg.size();
    const auto index_of = [&](const std::string& wanted) {
      return static_cast<size_t>(std::find(names_.begin(), names_.end(), wanted) - names_.begin());
    };
    const auto is_flag = [&](size_t option) {
      return option < names_.size() && defaults_.values[option].is(Tag::boolean);
    };
    const size_t option = index_of(name);
    if (option == names_.size()) {
      const size_t negated = name.starts_with("--no-") ? index_of("--" + name.substr(5)) : names_.size();
      if (!is_flag(negated) || has_value) fail_unknown(name);
      return set(result, negated, false);
    }
    if (is_flag(option) && !has_value) return set(result, option, true);
    if (!has_value && at + 1 == args.size()) refuse(fmt::format("{} lacks its value", name));
    const std::string text = has_value ? arg.substr(mark + 1) : args[++at];
    set(result, option, converted(name, text, defaults_.values[option]));
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> known = names_;
    known.emplace_back("--help");
    const std::string near = nearest_name(name, known);
    refuse(fmt::format("there is no option {}", name),
           near.empty() ? "--help lists the options" : fmt::format("did you mean {}?", near));
  }

  /// Returns a text as a value of the default's type.
  Value converted(const std::string& name, const std::string& text, const Value& like) const {
    const auto fail_for = [&](const char* wanted) {
      refuse(fmt::format("{} takes {}, not {}", name, wanted, quoted(text)));
    };
    if (like.is(Tag::boolean)) {
      if (text != "true" && text != "false") fail_for("true or false");
      return text == "true";
    }
    if (like.is(Tag::integer)) {
      int64_t number = 0;
      if (!read_number(text, number)) fail_for("an int");
      return number;
    }
    if (like.is(Tag::real)) {
      double number = 0;
      if (!read_number(text, number)) fail_for("a number");
      return number;
    }
    return like.is(Tag::list) ? converted_list(name, text, like) : make_string(text);
  }

  Value converted_list(const std::string& name, const std::string& text, const Value& like) const {
    const std::vector<Value>& items = like.as<List>().items;
    const Value item = items.empty() ? make_string("") : items[0];
    Collector values;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      values.add(converted(name, text.substr(at, end - at), item));
      at = end + 1;
    }
    return make_list(values.take());
  }

  /// Returns what stands for an option's value in the help. Fails for a default that no text stands for.
  static std::string placeholder(const std::string& field, const Value& value) {
    if (value.is(Tag::boolean)) return "";
    if (value.is(Tag::integer)) return "INT";
    if (value.is(Tag::real)) return "FLOAT";
    if (is_text(value) || value.is_nil()) return "TEXT";
    const bool is_flat =
        value.is(Tag::list) && (value.as<List>().items.empty() || !value.as<List>().items[0].is(Tag::list));
    if (is_flat) {
      const std::vector<Value>& items = value.as<List>().items;
      const std::string item = items.empty()               ? "TEXT"
                               : items[0].is(Tag::boolean) ? "BOOL"
                                                           : placeholder(field, items[0]);
      return item + ",…";
    }
    fail_argument(ErrorName::wrong_argument_type, "defaults",
                  fmt::format("the default of '{}' is a {}, which no text stands for", field, type_name(value)),
                  {"a default is a number, a bool, a str, nil or a list of those"});
  }

  /// Prints the options with their defaults, and ends the program.
  void show_help() const {
    std::vector<std::string> heads;
    polled_each(names_.size(), kOptionWork, [&](size_t i) {
      const std::string value = placeholder("", defaults_.values[i]);
      heads.push_back(value.empty() ? names_[i] : names_[i] + " " + value);
    });
    constexpr size_t kWidest = 30;
    size_t width = std::string_view("--help").size();
    polled_each(heads.size(), 1, [&](size_t i) { width = std::max(width, std::min(heads[i].size(), kWidest)); });
    TextBuilder text;
    text += "Options:";
    polled_each(heads.size(), kOptionWork, [&](size_t i) {
      text += fmt::format("\n  {:<{}}  {}", heads[i], width, to_repr(context_, defaults_.values[i]));
    });
    text += fmt::format("\n  {:<{}}  shows this", "--help", width);
    context_.runtime().effect_print(make_string(text.take()));
    exit_program(context_, 0);
  }

  Context& context_;
  const Record& defaults_;
  std::vector<std::string> names_;
};

Value parse_args_builtin(Context& context, Args args) {
  if (context.runtime().is_tracing()) context.runtime().abort_trace("it reads the command line");
  const Value defaults = args[0];
  return ArgumentParser(context, defaults.as<Record>()).parse(context.script_args());
}

constexpr Builtin kArgumentsRows[] = {
    with_effect(
        {"parse_args", "parse_args(defaults: record)",
         "the script's arguments as a record like the defaults, with the arguments that belong to no option as "
         "`rest`: --lr 0.1, --lr=0.1, --verbose, --no-verbose, --sizes 1,2. --help prints the defaults and ends "
         "the program",
         parse_args_builtin, "host"}),
};

}  // namespace

std::span<const Builtin> argument_builtins() { return kArgumentsRows; }

}  // namespace tsl
