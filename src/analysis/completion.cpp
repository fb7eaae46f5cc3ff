#include "analysis/completion.h"

#include <algorithm>

#include "analysis/cursor.h"
#include "analysis/meaning.h"
#include "value/format.h"
#include "value/map.h"
#include "value/result_display.h"
#include "value/signature.h"
#include "value/value_walk.h"

namespace tsl::analysis {

namespace {

CandidateKind kind_of(const Value& value) {
  if (value.is(Tag::function) || value.is(Tag::builtin)) return CandidateKind::function;
  if (value.is(Tag::dtype)) return CandidateKind::type;
  return value.is(Tag::module) ? CandidateKind::module : CandidateKind::variable;
}

/// Whether a value is no literal with parts that are only known when it runs.
bool is_known(const Value& value) {
  return walk_values(value, [](const Value& part) {
    if (part.is(Tag::record)) return Walk::into;
    return part.is(Tag::absent) ? Walk::end : Walk::over;
  });
}

/// Returns the first line of a documentation, or the type of another value.
std::string line_about(const Value& value) {
  if (!is_known(value)) return "";
  const bool has_documentation = kind_of(value) != CandidateKind::variable;
  const std::string text = has_documentation ? std::string(documentation_of(value)) : type_text(value);
  return text.substr(0, text.find('\n'));
}

/// Finds the candidates for one place in a text.
class Completer {
 public:
  Completer(Names& names, std::string_view text, size_t cursor, const std::string& path)
      : names_(names), cursor_(text, cursor), meanings_(names, text, path) {}

  Completion run() {
    if (const std::optional<size_t> string = cursor_.open_string()) {
      if (const Value* container = indexed_value()) return keys(*container, *string);
      return complete_file(names_, cursor_.text(), *string);
    }
    if (cursor_.is_in_comment()) return {};
    const std::optional<size_t> from = imported_from();
    if (cursor_.ends_with(".")) members();
    else if (from) exports(*from);
    else if (cursor_.ends_with("import") || cursor_.ends_with("from")) modules();
    else names();
    return take();
  }

 private:
  bool is_candidate(std::string_view text) const {
    const bool is_hidden = text.empty() || (text[0] == '_' && cursor_.word().empty());
    return !is_hidden && text.starts_with(cursor_.word());
  }
  void add(std::string text, CandidateKind kind, std::string doc = "") {
    if (is_candidate(text)) candidates_.push_back({std::move(text), kind, std::move(doc)});
  }
  /// `value`: null if it is not known.
  void add_value(std::string text, const Value* value) {
    if (!is_candidate(text)) return;
    if (value) add(std::move(text), kind_of(*value), line_about(*value));
    else add(std::move(text), CandidateKind::variable);
  }
  void add_name(const std::string& name) {
    if (is_candidate(name)) add_value(name, meanings_.find(name));
  }

  Completion take() {
    const auto is_before = [](const Candidate& a, const Candidate& b) {  // a value's own fields before methods
      const bool is_field = a.kind == CandidateKind::field, is_other = b.kind == CandidateKind::field;
      return is_field != is_other ? is_field : a.text < b.text;
    };
    std::stable_sort(candidates_.begin(), candidates_.end(), is_before);
    candidates_.insert(candidates_.begin(), arguments_.begin(), arguments_.end());  // the likeliest come first
    std::vector<Candidate> distinct;
    for (Candidate& candidate : candidates_) {
      const bool is_known = std::any_of(distinct.begin(), distinct.end(),
                                        [&](const Candidate& other) { return other.text == candidate.text; });
      if (!is_known) distinct.push_back(std::move(candidate));
    }
    return {cursor_.word_begin(), std::move(distinct)};
  }

  // ---- Keys ------------------------------------------------------------------------------------------------

  /// Returns the record or map in whose brackets a string is being typed; null elsewhere.
  const Value* indexed_value() {
    const size_t count = cursor_.tokens().size();
    if (count < 3 || cursor_.text_of(count - 2) != "[") return nullptr;
    const std::vector<std::string_view> path = cursor_.path_before(count - 2);
    const Value* value = path.empty() ? nullptr : meanings_.find(path);
    return value && has_entries(*value) ? value : nullptr;
  }

  Completion keys(const Value& container, size_t begin) {
    constexpr size_t kMost = 1000;
    const std::string_view typed = cursor_.text().substr(begin);
    Completion completion{begin, {}};
    Value key, value;
    for (int64_t state = 0; completion.candidates.size() < kMost && next_entry(container, state, key, value);) {
      if (!key.is(Tag::string)) continue;
      const std::string& text = key.as<String>().text;
      const bool is_plain = quoted(text) == "\"" + text + "\"";
      if (is_plain && text.starts_with(typed))
        completion.candidates.push_back({text, CandidateKind::field, value.is_nil() ? "" : line_about(value)});
    }
    return completion;
  }

  // ---- Members ---------------------------------------------------------------------------------------------

  void members() {
    const Value* value = meanings_.find(cursor_.path_before(cursor_.tokens().size() - 1));
    if (!value) return;
    if (value->is(Tag::module)) return add_exports(value->as<Module>(), "(");
    if (value->is(Tag::record)) {
      const Record& record = value->as<Record>();
      for (size_t i = 0; i < record.values.size(); ++i)
        add(*record.keys->names[i], CandidateKind::field, line_about(record.values[i]));
    }
    if (value->is(Tag::tensor)) {
      for (const char* field : tensor_fields()) add(field, CandidateKind::field);
    }
    add_methods(*value);
  }

  /// Adds the builtins that take the value first.
  void add_methods(const Value& value) {
    for (const std::string& name : names_.builtins().names()) {
      if (!is_candidate(name)) continue;
      const Value* function = meanings_.find(name);
      const Signature* signature = function ? signature_of(names_, *function) : nullptr;
      if (signature && !signature->parameters.empty() && fits(signature->parameters[0], value))
        add_value(name + "(", function);
    }
  }

  /// `call`: what follows the name of a function.
  void add_exports(const Module& module, const char* call) {
    for (const auto& [name, cell] : module.exports) {
      const bool is_function = cell->is_set && kind_of(cell->value) == CandidateKind::function;
      add_value(*name + (is_function ? call : ""), cell->is_set ? &cell->value : nullptr);
    }
  }

  // ---- Modules ---------------------------------------------------------------------------------------------

  /// Returns the token that is the module of `from module import …`; nothing elsewhere.
  std::optional<size_t> imported_from() const {
    size_t end = cursor_.tokens().size();  // behind `import`, and names with commas
    while (end > 1 && cursor_.text_of(end - 1) == "," && cursor_.tokens()[end - 2].kind == TokenClass::name) end -= 2;
    const bool is_import = end >= 3 && cursor_.text_of(end - 1) == "import" && cursor_.text_of(end - 3) == "from";
    return is_import ? std::optional(end - 2) : std::nullopt;
  }

  void exports(size_t token) {
    std::string name(cursor_.text_of(token));
    const bool is_file = cursor_.tokens()[token].kind == TokenClass::string;
    if (is_file) name = name.substr(1, name.size() - 2);
    if (const Ref<Module> module = meanings_.declared().import(name, is_file)) add_exports(*module, "");
  }

  void modules() {
    for (const std::string& name : names_.library().module_names()) add(name, CandidateKind::module);
  }

  // ---- Names -----------------------------------------------------------------------------------------------

  void names() {
    named_arguments();
    for (const ast::Variable* variable : names_.variables()) add_name(*variable->name);
    for (size_t i = 0; i < cursor_.tokens().size(); ++i) {  // what the text itself declares
      if (cursor_.tokens()[i].kind == TokenClass::name) add_name(std::string(cursor_.text_of(i)));
    }
    for (const auto& [name, value] : meanings_.declared().all()) add_value(*name, &value);
    if (cursor_.word().empty()) return;  // with nothing typed, all builtins are no help
    for (const std::string& name : names_.builtins().names()) add_name(name);
    for (const std::string_view keyword : keywords()) add(std::string(keyword), CandidateKind::keyword);
    add("use", CandidateKind::keyword);  // a name elsewhere
  }

  /// Adds the parameters of the call whose arguments are being typed.
  void named_arguments() {
    const std::optional<OpenCall> call = cursor_.open_call();
    const Value* function = call ? meanings_.callee(cursor_, call->bracket).function : nullptr;
    const Signature* signature = function ? signature_of(names_, *function) : nullptr;
    if (!signature || call->name) return;
    const std::string declaration = declaration_of(names_, *function);
    const std::vector<ByteRange> ranges = parameter_ranges(declaration);
    for (size_t i = 0; i < signature->parameters.size() && i < ranges.size(); ++i) {
      const Name name = signature->parameters[i].name;
      const bool is_pattern = name && (name->starts_with('(') || name->starts_with('{'));  // which no call can name
      if (!name || is_pattern || !name->starts_with(cursor_.word())) continue;
      const std::string declared = declaration.substr(ranges[i].begin, ranges[i].end - ranges[i].begin);
      arguments_.push_back({*name + ": ", CandidateKind::argument, declared});
    }
  }

  Names& names_;
  const Cursor cursor_;
  Meanings meanings_;
  std::vector<Candidate> arguments_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::string_view name_of(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::keyword: return "keyword";
    case CandidateKind::variable: return "variable";
    case CandidateKind::function: return "function";
    case CandidateKind::type: return "type";
    case CandidateKind::module: return "module";
    case CandidateKind::field: return "field";
    case CandidateKind::argument: return "argument";
    case CandidateKind::file: return "file";
  }
  return "";
}

Completion complete(Names& names, std::string_view text, size_t cursor, const std::string& path) {
  return Completer(names, text, cursor, path).run();
}

Completion complete_file(const Names& names, std::string_view text, size_t begin) {
  const std::string_view typed = text.substr(begin);
  const size_t folder = typed.rfind('/') + 1;  // 0 if there is none
  const std::string_view start = typed.substr(folder);
  Completion completion{begin + folder, {}};
  for (const std::string& entry : names.folder_entries(std::string(typed.substr(0, folder)))) {
    const bool is_hidden = entry[0] == '.' && start.empty();
    if (!is_hidden && entry.starts_with(start)) completion.candidates.push_back({entry, CandidateKind::file, ""});
  }
  return completion;
}

}  // namespace tsl::analysis
