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
  /// empty.
  Value run(std::string text, const std::string& path);

 private:
  void publish(const ast::Module& entry);

  Engine& engine_;
  VariableCells cells_;
  std::unordered_map<Name, ast::Variable*> visible_;
  std::vector<std::unique_ptr<ast::Module>> entries_;  // own the variables
};

}  // namespace tsl
