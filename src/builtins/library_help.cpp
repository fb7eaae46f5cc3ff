#include "builtins/library_help.h"

#include "base/count_work.h"
#include "base/error.h"

namespace tsl {

namespace {

constexpr std::string_view kDoc = "##", kFunction = "fn ";

std::string_view line_at(std::string_view text, size_t begin) {
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

std::string_view doc_line(std::string_view line) {
  line.remove_prefix(kDoc.size());
  return line.starts_with(' ') ? line.substr(1) : line;
}

void add_line(std::string& doc, std::string_view line) { doc.append(doc.empty() ? "" : "\n").append(line); }

/// Returns the name and the parameters of the function that is declared at `begin`, in one line.
std::string declaration_at(std::string_view text, size_t begin) {
  std::string declaration;
  int depth = 0;
  // bounded: by the library's text
  for (const char c : text.substr(begin)) {
    const bool is_blank = c == ' ' || c == '\n';
    if (!is_blank || (!declaration.empty() && declaration.back() != ' ')) declaration += is_blank ? ' ' : c;
    depth += (c == '(') - (c == ')');
    if (c == ')' && depth == 0) break;
  }
  return declaration;
}

/// Returns the name of the module whose part a source is: "nn" of "nn/losses".
std::string_view module_of(const LibrarySource& source) { return source.name.substr(0, source.name.find('/')); }

/// Returns the documentation at the start of a module.
std::string doc_of(const LibrarySource& module) {
  std::string doc;
  // bounded: by the library's text
  for (size_t at = 0; module.text.substr(at).starts_with(kDoc);) {
    const std::string_view line = line_at(module.text, at);
    add_line(doc, doc_line(line));
    at = std::min(at + line.size() + 1, module.text.size());
  }
  return doc;
}

}  // namespace

std::string with_doc(std::string heading, std::string_view doc) {
  if (doc.empty()) return heading;
  heading += "\n  ";
  polled_each(doc.size(), 2, [&](size_t i) {
    heading += doc[i];
    if (doc[i] == '\n') heading += "  ";
  });
  return heading;
}

namespace {

bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Whether a text has a name outside comments, as a module has those that it imports from its parts.
bool mentions(std::string_view text, std::string_view name) {
  // bounded: by the library's text
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size(), line = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (text[line] == '#') continue;
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

/// Returns the functions at the top level of a part of a module that the module has, too.
std::vector<ModuleFunction> functions_of(const LibrarySource& source, std::string_view module_text) {
  std::vector<ModuleFunction> functions;
  std::string doc;
  // bounded: by the library's text
  for (size_t at = 0; at < source.text.size();) {
    const std::string_view line = line_at(source.text, at);
    const bool is_function = line.starts_with(kFunction) && line[kFunction.size()] != '_';
    if (is_function) {
      const std::string declaration =
          fmt::format("{}.{}", module_of(source), declaration_at(source.text, at + kFunction.size()));
      const std::string path = declaration.substr(0, declaration.find('('));
      if (mentions(module_text, std::string_view(path).substr(module_of(source).size() + 1)))
        functions.push_back({path, declaration, doc});
    }
    if (line.starts_with(kDoc)) add_line(doc, doc_line(line));
    else if (!line.starts_with('@')) doc.clear();
    at += line.size() + 1;
  }
  return functions;
}

std::string_view text_of_module(std::span<const LibrarySource> sources, std::string_view name) {
  // bounded: by the library's modules
  for (const LibrarySource& source : sources) {
    if (source.name == name) return source.text;
  }
  return "";
}

constexpr HelpTopic kTopics[] = {
#define TOPIC(words, names) {words, names},
#include "builtins/help_topics.def"
#undef TOPIC
};

}  // namespace

std::vector<ModuleFunction> library_functions(std::span<const LibrarySource> sources) {
  std::vector<ModuleFunction> functions;
  // bounded: by the library's text
  for (const LibrarySource& source : sources) {
    if (source.is_prelude()) continue;
    // bounded: likewise
    for (ModuleFunction& function : functions_of(source, text_of_module(sources, module_of(source))))
      functions.push_back(std::move(function));
  }
  return functions;
}

std::string help_in_modules(std::span<const LibrarySource> sources, std::string_view name) {
  std::string text;
  // bounded: by the library's modules
  for (const LibrarySource& source : sources) {
    if (!source.is_prelude() && source.name == name)
      text = with_doc(fmt::format("module {}, which `import {}` loads", name, name), doc_of(source));
  }
  // bounded: by the library's text
  for (const ModuleFunction& function : library_functions(sources)) {
    const size_t dot = function.path.find('.');
    const bool is_named = function.path == name || std::string_view(function.path).substr(dot + 1) == name;
    if (function.path.substr(0, dot) == name) text += "\n  " + function.declaration;
    else if (is_named) text += (text.empty() ? "" : "\n") + with_doc(function.declaration, function.doc);
  }
  return text;
}

std::span<const HelpTopic> help_topics() { return kTopics; }

}  // namespace tsl
