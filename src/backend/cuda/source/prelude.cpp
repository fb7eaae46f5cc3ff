#include "backend/cuda/source/prelude.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tsl::cuda {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(std::string_view token) { return !token.empty() && is_in_word(token[0]) && !is_digit(token[0]); }

/// Visits every word of a text. Words in comments count too; they only add declarations that are not needed.
template <class Visit> void for_each_name(std::string_view text, Visit&& visit) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_in_word(text[end])) ++end;
    if (const std::string_view word = text.substr(at, end - at); is_name(word)) visit(word);
    at = std::max(end, at + 1);
  }
}

/// A part of the prelude: a declaration, a directive, or everything between #if and #endif.
struct Part {
  std::string_view text;
  std::vector<std::string_view> names;  // that it declares; of none: it is always there
};

/// Splits the prelude into parts. Since the text is TSL's own, words, brackets and semicolons suffice: a declaration at
/// namespace level ends with a semicolon or a brace. It declares the last word before the first of ( = { ; [ : outside
/// angle brackets or, if it is a macro call, the macro's arguments.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<Part> split() {
    for (std::string_view token = next(); !token.empty(); token = next()) {
      if (!part_.text.data()) part_.text = token;
      if (depth_ == 0 && statement_.empty() && (token[0] == '#' || token[0] == '}')) take_line(token);
      else take(token);
    }
    return std::move(parts_);
  }

 private:
  /// Returns the next token: a directive's line, a string, a word or number, or one character; "" at the end.
  std::string_view next() {
    while (at_ < text_.size() &&
           (std::isspace(static_cast<unsigned char>(text_[at_])) || text_.substr(at_, 2) == "//")) {
      at_ = text_[at_] == '/' ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
    }
    if (at_ == text_.size()) return {};
    const size_t begin = at_++;
    const char first = text_[begin];
    if (first == '#') {
      at_ = std::min(text_.find('\n', begin), text_.size());
      while (text_[at_ - 1] == '\\' && at_ < text_.size()) at_ = std::min(text_.find('\n', at_ + 1), text_.size());
    } else if (first == '"') {
      while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      ++at_;
    } else if (is_in_word(first)) {
      while (at_ < text_.size() && (is_in_word(text_[at_]) || (text_[at_] == '\'' && is_digit(first)))) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  /// Handles a directive, or the end of a namespace.
  void take_line(std::string_view line) {
    const std::string_view directive = line.substr(std::min(line.find_first_not_of(" #"), line.size()));
    if (directive.substr(0, 2) == "if") ++conditions_;
    if (directive.substr(0, 5) == "endif") --conditions_;
    if (directive.substr(0, 7) == "define ") {
      for_each_name(directive.substr(7, directive.find_first_of(" (", 7) - 7), [&](std::string_view macro) {
        part_.names.push_back(macro);
        macros_.insert(macro);
      });
    }
    end_part();
  }

  void take(std::string_view token) {
    statement_.push_back(token);
    const char c = token[0];
    depth_ += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    const bool opens_namespace = statement_[0] == "namespace" && c == '{';
    if (opens_namespace) depth_ = 0;
    const bool goes_on = at_ < text_.size() && (text_[at_] == ';' || text_[at_] == ',');
    const bool ends = depth_ == 0 && (c == ';' || (c == '}' && !goes_on) || (c == ')' && calls_macro()));
    if (!ends && !opens_namespace) return;
    if (!opens_namespace) add_names();
    statement_.clear();
    end_part();
  }

  void end_part() {
    if (conditions_ > 0) return;
    const char* const begin = part_.text.data();
    part_.text = {begin, static_cast<size_t>(text_.data() + at_ - begin)};
    parts_.push_back(std::move(part_));
    part_ = {};
  }

  bool calls_macro() const { return statement_.size() > 1 && statement_[1] == "(" && macros_.count(statement_[0]) > 0; }

  /// Adds the names that the statement declares. A statement may declare several constants, separated by commas.
  void add_names() {
    if (statement_[0] == "static_assert" || (statement_[0] == "using" && statement_[1] == "namespace")) return;
    if (calls_macro()) {
      std::copy_if(statement_.begin() + 2, statement_.end(), std::back_inserter(part_.names), is_name);
      return;
    }
    std::string_view last;
    int angles = 0;
    size_t at = 0;
    for (; at < statement_.size(); ++at) {
      const char c = statement_[at][0];
      angles += (c == '<') - (c == '>');
      if (angles > 0) continue;
      if (statement_[at] == "alignas") {
        for (int open = 0; ++at < statement_.size();) {
          open += (statement_[at] == "(") - (statement_[at] == ")");
          if (open == 0) break;
        }
        continue;
      }
      if (std::string_view("(={;[:").find(c) != std::string_view::npos) break;
      if (is_name(statement_[at])) last = statement_[at];
    }
    part_.names.push_back(last);
    if (at == statement_.size() || statement_[at] != "=") return;
    for (; at + 1 < statement_.size(); ++at) {
      if (statement_[at] == "," && is_name(statement_[at + 1])) part_.names.push_back(statement_[at + 1]);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0, conditions_ = 0;
  Part part_;
  std::vector<std::string_view> statement_;  // tokens of the current statement
  std::unordered_set<std::string_view> macros_;
  std::vector<Part> parts_;
};

struct Parts {
  Parts() : all(Splitter(prelude()).split()) {
    for (size_t i = 0; i < all.size(); ++i) {
      for (std::string_view name : all[i].names) of_name[name].push_back(i);
    }
  }
  std::vector<Part> all;
  std::unordered_map<std::string_view, std::vector<size_t>> of_name;
};

}  // namespace

std::string prelude_for(std::span<const std::string_view> sources) {
  static const auto& parts = *new Parts;
  std::vector<bool> is_used(parts.all.size(), false);
  std::vector<std::string_view> to_read(sources.begin(), sources.end());
  const auto use = [&](size_t part) {
    if (is_used[part]) return;
    is_used[part] = true;
    to_read.push_back(parts.all[part].text);
  };
  for (size_t i = 0; i < parts.all.size(); ++i) {
    if (parts.all[i].names.empty()) use(i);
  }
  while (!to_read.empty()) {
    const std::string_view text = to_read.back();
    to_read.pop_back();
    for_each_name(text, [&](std::string_view name) {
      const auto found = parts.of_name.find(name);
      if (found == parts.of_name.end()) return;
      for (size_t part : found->second) use(part);
    });
  }
  std::string text;
  for (size_t i = 0; i < parts.all.size(); ++i) {
    if (is_used[i]) text.append(parts.all[i].text).append("\n");
  }
  return text;
}

}  // namespace tsl::cuda
