// Evaluates a text on types: branches are joined, loops run until what is known no longer changes, and what is called
// in the library runs in a Sketch.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "inference/sketch.h"
#include "inference/values.h"
#include "syntax/ast.h"
#include "vm/indexing.h"

namespace tsl::inference {

/// The types of declared variables: of all values that each ever has, if they are one.
using DeclaredTypes = std::unordered_map<const ast::Variable*, ShownType>;

class Evaluator {
 public:
  Evaluator(Sketch& sketch, analysis::Names& names);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Evaluates a text. What holds for functions whatever they are given is found from their annotations.
  DeclaredTypes run(const ast::Module& module);

 private:
  /// The variables of a call that runs, or of a module.
  struct Activation {
    const ast::Function* function = nullptr;
    Activation* enclosing = nullptr;  // of the function around it
    std::vector<Value> values;        // by index
    Value returned;
    bool has_returned = false;
    bool notes = false;   // whether types of declarations are noted
    bool is_any = false;  // stands for each call
  };
  struct TextFunction;
  /// What a way through the text has changed.
  struct Path {
    std::map<Value*, Value> changed;
    bool leaves = false;
    Value value;
  };
  /// A loop that runs: where its ways to the next iteration and out of it stand.
  struct Loop {
    size_t mark = 0;
    std::vector<Path> next, out;
    Loop* enclosing = nullptr;
  };

  // Statements (evaluator.cpp)
  Activation& activation_of(const ast::Function& function, Activation* enclosing);
  void run_body(Activation& activation);
  Value block(const ast::Block& block);
  Value statement(const ast::Stmt& statement);
  void import(const ast::ImportStmt& import);
  Value import_file(const ast::ImportStmt& import);
  void bind(const ast::Pattern& pattern, const Value& value);
  void assign(const ast::Expr& target, const Value& value);
  void assign_statement(const ast::AssignStmt& assignment);
  Value* slot_of(const ast::Variable& variable, Activation*& owner);
  Value read(const ast::Variable& variable);
  void write(const ast::Variable& variable, const Value& value);
  void overwrite(Value* slot, Value value);
  void note(const ast::Variable& variable, const Value& value);

  // Ways (evaluator_ways.cpp)
  Path path_since(size_t mark) const;
  void undo(size_t mark);
  template <class Body> Path explore(Body&& body);
  Value merge(const std::vector<Path>& paths);
  Value conditional(const ast::IfExpr& e);
  Value attempt(const ast::TryExpr& e);
  void while_loop(const ast::WhileStmt& loop);
  void for_loop(const ast::ForStmt& loop);
  template <class Begin> void repeat(const ast::Block& body, Begin&& begin);
  bool unroll(const ast::ForStmt& loop, const std::vector<Value>& items);
  std::vector<Value> known_items(const Value& iterable);
  Value any_item(const Value& iterable);
  void leave_loop(bool is_break);

  // Expressions (evaluator_expressions.cpp)
  Value value_of(const ast::Expr& e);
  Value record_value(const ast::RecordExpr& e);
  Value range_value(const ast::RangeExpr& e);
  Value unary(const ast::UnaryExpr& e);
  Value binary(const ast::BinaryExpr& e);
  Value logical(const ast::LogicalExpr& e);
  Value index(const ast::IndexExpr& e);
  Value field(const ast::FieldExpr& e);
  bool index_items(const Value& object, const ast::IndexExpr& e, std::vector<IndexItem>& items);
  template <class Body> Value if_known(Body&& body);
  Value some_number(ScalarType type);

  // Calls (evaluator_calls.cpp)
  Value call(const ast::CallExpr& e);
  Value callee_of(const ast::Expr& callee, std::vector<Value>& args);
  bool arguments(const ast::CallExpr& e, std::vector<Value>& args, CallShape& shape);
  Value call_value(const Value& callee, std::vector<Value>& args, const CallShape& shape);
  Value call_text(const TextFunction& function, std::span<Value> args);
  Value function_value(const ast::Function& function);
  void take_arguments(Activation& activation, std::span<Value> args);
  void bind_sizes(const ast::Annotation& annotation, const Value& value);
  Value described(const ast::Annotation* annotation);
  Value described_tensor(const ast::Annotation& annotation);
  Value size_of_dim(const ast::AnnotatedDim& dim);
  void run_for_any_call(const TextFunction& function);

  bool takes_step();

  Sketch& sketch_;
  analysis::Names& names_;
  SymbolTable& symbols_;
  std::deque<Activation> activations_;
  Activation* current_ = nullptr;
  Loop* loop_ = nullptr;
  std::vector<std::pair<Value*, Value>> trail_;  // what was overwritten while ways are explored
  int ways_ = 0;
  bool leaves_ = false;  // the way ends here: a return, a break
  int depth_ = 0;        // of calls
  int64_t steps_left_;
  int64_t sizes_ = 0;
  std::vector<Value> declared_functions_;  // of activations that note types, to run for any call
  std::unordered_set<const ast::Function*> noted_functions_;
  std::unordered_map<uint32_t, Value> modules_;
  std::unordered_set<uint32_t> loading_;
  std::vector<std::shared_ptr<const ast::Module>> kept_;  // trees of modules
  SizeNames size_names_;
  DeclaredTypes types_;
};

}  // namespace tsl::inference
