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

std::vector<ModuleFunction> functions_of(const LibrarySource& source) {
  std::vector<ModuleFunction> functions;
  std::string doc;
  // bounded: by the library's text
  for (size_t at = 0; at < source.text.size();) {
    const std::string_view line = line_at(source.text, at);
    const bool is_function = line.starts_with(kFunction) && line[kFunction.size()] != '_';
    if (is_function) {
      const std::string declaration =
          fmt::format("{}.{}", module_of(source), declaration_at(source.text, at + kFunction.size()));
      functions.push_back({declaration.substr(0, declaration.find('(')), declaration, doc});
    }
    if (line.starts_with(kDoc)) add_line(doc, doc_line(line));
    else doc.clear();
    at += line.size() + 1;
  }
  return functions;
}

std::string help_in_modules(std::span<const LibrarySource> sources, std::string_view name) {
  std::string text;
  // bounded: by the library's text
  for (const LibrarySource& source : sources) {
    if (source.is_prelude()) continue;
    const bool is_module = module_of(source) == name;
    if (source.name == name)
      text += with_doc(fmt::format("module {}, which `import {}` loads", name, name), doc_of(source));
    // bounded: by the library's text
    for (const ModuleFunction& function : functions_of(source)) {
      const bool is_named = function.path == name || function.path.substr(module_of(source).size() + 1) == name;
      if (is_module) text += "\n  " + function.declaration;
      else if (is_named) text += (text.empty() ? "" : "\n") + with_doc(function.declaration, function.doc);
    }
  }
  return text;
}

}  // namespace tsl
