// A prompt: runs entries one by one; each can use what earlier ones have declared. Nothing but its variables is kept
// of an entry, and the code of functions that are left.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "bytecode/compiler.h"
#include "bytecode/entry_cache.h"
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
  /// Returns the variable of a name; null if there is none.
  ast::Variable* variable(Name name) const;
  /// Returns the variables that entries have declared, in no order.
  std::vector<ast::Variable*> variables() const;
  /// Returns the names that entries have declared, in alphabetical order.
  std::vector<Name> names() const;
  /// Lets a function show the values of an entry that are not its last; nil: nothing does.
  void show_with(Value function) { show_ = std::move(function); }
  /// Makes `_` a name of the value in later entries.
  void set_last(Value value);
  /// Sets the dtype of floats in later entries, as `use` does.
  void use(DType reals) { reals_ = reals; }
  /// Forgets all that entries have declared. Functions that other values hold go on to work.
  void reset();
  /// Assigns a variable, as `var name = value` would. Throws Failure (name) for what is no name.
  void assign(Name name, Value value);
  /// Declares a variable likewise, as `let name = value` would.
  void declare(Name name, Value value);

 private:
  void declare(const char* keyword, Name name, Value value);
  Value run_entry(const ast::Module& entry, const Value* show = nullptr, Ref<Code>* kept = nullptr);
  void forget_code();
  void publish(const ast::Module& entry);
  void publish_variable(const ast::Variable& variable);

  /// A variable: a copy, so that no entry's tree is kept, with its name.
  struct Visible {
    HeldName name;
    std::unique_ptr<ast::Variable> variable;
  };

  Engine& engine_;
  VariableCells cells_;  // of the visible variables
  std::unordered_map<Name, Visible> visible_;
  size_t entries_ = 0;        // so far
  DType reals_ = DType::f32;  // of the last entry `use f64`
  Value show_;
  EntryCache repeated_;
  size_t changes_ = 0;  // of what names mean
};

}  // namespace tsl
