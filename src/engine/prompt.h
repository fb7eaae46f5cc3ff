// A prompt: runs entries one by one; each can use what earlier ones have declared.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/compiler.h"
#include "syntax/ast.h"

namespace tsl {

class Engine;

class Prompt {
 public:
  explicit Prompt(Engine& engine) : engine_(engine) {}

  /// Runs one entry and returns its value. If it fails, its declarations so far remain. `path` is the entry's file, or
  /// empty; `name` stands for its text in messages (default: the path, or a number).
  Value run(std::string text, const std::string& path, const std::string& name = "");
  /// Returns the value of a variable that an entry has declared; null if there is none.
  const Value* find(Name name) const;
  /// Assigns a variable, as `var name = value` would. Throws Failure (name) for what is no name.
  void assign(Name name, Value value);

 private:
  void publish(const ast::Module& entry);

  Engine& engine_;
  VariableCells cells_;
  std::unordered_map<Name, ast::Variable*> visible_;
  std::vector<std::unique_ptr<ast::Module>> entries_;  // own the variables
};

}  // namespace tsl
