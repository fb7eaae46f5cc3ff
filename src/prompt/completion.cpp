#include "prompt/completion.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "engine/engine.h"
#include "engine/modules.h"
#include "engine/prompt.h"
#include "prompt/commands.h"
#include "prompt/entry_text.h"
#include "syntax/tokens.h"
#include "value/builtin.h"
#include "value/signature.h"
#include "vm/indexing.h"

namespace tsl::prompt {

namespace fs = std::filesystem;

namespace {

constexpr const char* kKeywords[] = {"and", "as",     "break", "catch",  "continue", "else", "false", "fn",
                                     "for", "from",   "if",    "import", "in",       "let",  "nil",   "not",
                                     "or",  "return", "true",  "try",    "var",      "while"};

/// Finds the candidates for one place in a text.
class Completer {
 public:
  Completer(Engine& engine, std::string_view text)
      : engine_(engine), text_(text), tokens_(tokens_of(text)), word_(text.size()) {
    if (!tokens_.empty() && is_word(tokens_.back()) && tokens_.back().end == text.size()) {
      word_ = tokens_.back().begin;
      tokens_.pop_back();
    }
  }

  Completion run() {
    if (const std::optional<size_t> string = open_string()) return files(*string);
    if (!tokens_.empty() && tokens_.back().kind == TokenClass::comment) return {};
    if (ends_with(".")) fields();
    else if (ends_with("import") && !imported_module().empty()) exports(imported_module());
    else if (ends_with("import") || ends_with("from")) add_all(ModuleLoader::library_names());
    else names();
    return take();
  }

 private:
  static bool is_word(const TextToken& token) {
    return token.kind == TokenClass::name || token.kind == TokenClass::keyword || token.kind == TokenClass::constant;
  }
  std::string_view text_of(const TextToken& token) const { return text_.substr(token.begin, token.end - token.begin); }
  /// Whether the last token before the word is this one.
  bool ends_with(std::string_view token) const { return !tokens_.empty() && text_of(tokens_.back()) == token; }

  void add(std::string candidate) {
    const std::string_view typed = text_.substr(word_);
    const bool is_hidden = candidate[0] == '_' && typed.empty();
    if (!is_hidden && candidate.compare(0, typed.size(), typed) == 0) candidates_.push_back(std::move(candidate));
  }
  void add_all(const std::vector<std::string>& candidates) {
    for (const std::string& candidate : candidates) add(candidate);
  }
  Completion take() {
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.insert(candidates_.begin(), arguments_.begin(), arguments_.end());  // the likeliest come first
    std::vector<std::string> distinct;
    for (std::string& candidate : candidates_) {
      if (std::find(distinct.begin(), distinct.end(), candidate) == distinct.end())
        distinct.push_back(std::move(candidate));
    }
    return {word_, std::move(distinct)};
  }

  /// Returns where the text of a string begins that the cursor is in.
  std::optional<size_t> open_string() const {
    if (tokens_.empty() || tokens_.back().kind != TokenClass::error || word_ != text_.size()) return {};
    const size_t quote = tokens_.back().begin;
    if (text_[quote] != '"' || text_.find('\n', quote) != std::string_view::npos) return {};
    return quote + 1;
  }

  Completion files(size_t begin) { return complete_file(text_, begin); }

 public:
  static Completion complete_file(std::string_view text, size_t begin) {
    const std::string typed(text.substr(begin));
    const size_t slash = typed.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
    const std::string start = typed.substr(folder.size());
    Completion completion{begin + folder.size(), {}};
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, failed)) {
      std::string name = entry.path().filename().string();
      const bool is_hidden = name[0] == '.' && start.empty();
      if (is_hidden || name.compare(0, start.size(), start) != 0) continue;
      std::error_code ignored;
      completion.candidates.push_back(entry.is_directory(ignored) ? name + "/" : name);
    }
    std::sort(completion.candidates.begin(), completion.candidates.end());
    return completion;
  }

 private:
  /// Returns the value of the names and dots that end before token `end`: `a.b`; null if it has none without running
  /// code.
  const Value* value_before(size_t end) const {
    size_t first = end;
    while (first > 0 && tokens_[first - 1].kind == TokenClass::name) {
      --first;
      if (first == 0 || text_of(tokens_[first - 1]) != ".") break;
      --first;
    }
    if (first == end || tokens_[first].kind != TokenClass::name) return nullptr;
    const Value* value = engine_.find(text_of(tokens_[first]));
    for (size_t i = first + 2; value && i < end; i += 2) value = field_of(*value, text_of(tokens_[i]));
    return value;
  }

  const Value* field_of(const Value& value, std::string_view name) const {
    const Name known = engine_.names().intern(std::string(name));
    if (value.is(Tag::record)) return value.as<Record>().find(known);
    const Cell* cell = value.is(Tag::module) ? value.as<Module>().find(known) : nullptr;
    return cell && cell->is_set ? &cell->value : nullptr;
  }

  void fields() {
    const Value* value = value_before(tokens_.size() - 1);
    if (!value) return;
    if (value->is(Tag::module)) return add_exports(value->as<Module>());
    if (value->is(Tag::record)) {
      for (const Name name : value->as<Record>().keys->names) add(*name);
    }
    if (value->is(Tag::tensor)) {
      for (const char* field : tensor_fields()) add(field);
    }
    add_methods(*value);
  }

  /// Adds the builtins that take the value first.
  void add_methods(const Value& value) {
    for (const std::string& name : engine_.builtins().names()) {
      const Value* function = engine_.find(name);
      const Signature* signature = function ? signature_of(*function) : nullptr;
      if (signature && !signature->parameters.empty() && fits(signature->parameters[0], value)) add(name + "(");
    }
  }

  const Signature* signature_of(const Value& callee) const {
    if (callee.is(Tag::function)) return &callee.as<Function>().info->signature;
    return callee.is(Tag::builtin) ? &engine_.builtins().signature(callee.as<BuiltinFunction>()) : nullptr;
  }

  /// Returns the module of `from module import`, as it is written; "" elsewhere.
  std::string imported_module() const {
    const size_t count = tokens_.size();
    const bool is_from = count >= 3 && text_of(tokens_[count - 3]) == "from";
    return is_from ? std::string(text_of(tokens_[count - 2])) : "";
  }

  void exports(const std::string& name) {
    const std::vector<std::string> library = ModuleLoader::library_names();
    if (std::find(library.begin(), library.end(), name) == library.end()) return;  // a file's code would run
    add_exports(engine_.import(engine_.names().intern(name), false, 0).as<Module>());
  }

  void add_exports(const Module& module) {
    for (const auto& [name, cell] : module.exports) add(*name);
  }

  void names() {
    named_arguments();
    for (const Name name : engine_.prompt().names()) add(*name);
    for (const TextToken& token : tokens_) {  // what the entry itself declares
      if (token.kind == TokenClass::name) add(std::string(text_of(token)));
    }
    if (word_ == text_.size()) return;  // with nothing typed, all builtins are no help
    add_all(engine_.builtins().names());
    for (const char* keyword : kKeywords) add(keyword);
  }

  /// Adds the parameters of the call whose arguments are being typed.
  void named_arguments() {
    int depth = 0;
    for (size_t i = tokens_.size(); i-- > 0;) {
      if (tokens_[i].kind == TokenClass::closing) ++depth;
      if (tokens_[i].kind != TokenClass::opening || depth-- > 0) continue;
      const Value* callee = text_[tokens_[i].begin] == '(' ? value_before(i) : nullptr;
      const Signature* signature = callee ? signature_of(*callee) : nullptr;
      const std::string_view typed = text_.substr(word_);
      for (size_t p = 0; signature && p < signature->parameters.size(); ++p) {
        const Name name = signature->parameters[p].name;
        if (name && name->compare(0, typed.size(), typed) == 0) arguments_.push_back(*name + ": ");
      }
      return;
    }
  }

  Engine& engine_;
  const std::string_view text_;
  std::vector<TextToken> tokens_;  // before the word
  size_t word_;                    // where the word begins that is being typed
  std::vector<std::string> arguments_;
  std::vector<std::string> candidates_;
};

Completion complete_command(Engine& engine, std::string_view text) {
  const size_t first = text.find_first_of(":?");
  const size_t blank = text.find(' ', first);
  if (blank == std::string_view::npos && text[first] == ':') {
    Completion completion{first, {}};
    for (const Command& command : commands()) {
      std::string name = ":" + std::string(command.name);
      if (name.compare(0, text.size() - first, text.substr(first)) == 0) completion.candidates.push_back(name);
    }
    return completion;
  }
  const size_t begin = text[first] == '?' ? first + 1 : blank + 1;
  const Command* command = text[first] == ':' ? find_command(text.substr(first + 1, blank - first - 1)) : nullptr;
  if (command && command->takes == Takes::file) return Completer::complete_file(text, begin);
  Completion completion = Completer(engine, text.substr(begin)).run();
  completion.begin += begin;
  return completion;
}

}  // namespace

Completion complete(Engine& engine, std::string_view text, size_t cursor) {
  text = text.substr(0, cursor);
  return is_command(text) ? complete_command(engine, text) : Completer(engine, text).run();
}

std::string common_prefix(const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  std::string prefix = candidates[0];
  for (const std::string& candidate : candidates) {
    const auto end = std::mismatch(prefix.begin(), prefix.end(), candidate.begin(), candidate.end()).first;
    prefix.erase(end, prefix.end());
  }
  return prefix;
}

}  // namespace tsl::prompt
