// Changes lines of programs as text, to shrink them. What it makes need not be a valid program.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tsl {

/// `let name = value`, or with `var`.
struct Binding {
  std::string name, value;
};

std::optional<Binding> binding_of(const std::string& line);
/// Returns the names in a text, each once, without those of functions that are called and of named arguments.
std::vector<std::string> identifiers(const std::string& text);
/// Writes another name wherever `name` occurs.
std::string with_name(const std::string& line, const std::string& name, const std::string& other);
/// Returns the name in "fn NAME(…)", or "".
std::string function_of_head(const std::string& line);
/// Removes an argument of each call of a function, or the parameter in its head.
std::string without_argument(const std::string& line, const std::string& function, size_t argument);
/// Returns lines in which one expression is replaced by a part of it, or one item of a list is missing, shortest first.
std::vector<std::string> simpler_lines(const std::string& line);

}  // namespace tsl
