// Compiles one function. Internal to function_compiler_*.cpp.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "bytecode/bytecode.h"
#include "bytecode/compiler.h"
#include "syntax/fail_at.h"

namespace tsl {

/// The state that all functions of a module share while they are compiled.
struct ModuleCompilation {
  const Builtins& builtins;
  const CompileOptions& options;
  VariableCells& cells;
  DType reals;  // see Proto
};

/// Registers are a stack: a scope's variables, then temporaries. Every instruction writes its result last, so an
/// expression can be compiled directly into a variable that it reads.
class FunctionCompiler {
 public:
  FunctionCompiler(ModuleCompilation& module, const ast::Function& function, FunctionCompiler* enclosing);
  std::unique_ptr<Proto> run();

 private:
  using Reg = uint16_t;
  using JumpList = std::vector<uint32_t>;

  /// The place of a variable: a register, a cell or a captured cell.
  struct VariableSlot {
    RootKind kind = RootKind::reg;
    uint16_t index = 0;
  };

  /// How a `try` is left besides its end and an error.
  enum class Exit : uint8_t { break_, continue_, return_ };

  /// A `try` with `finally` whose code is being compiled.
  struct Attempt {
    size_t loops;               // around it
    Reg state;                  // holds how it is left, see Opcode::guard
    Reg returned;               // holds the value of a return out of it
    std::array<bool, 3> exits;  // by Exit: those that occur
    JumpList jumps;             // of them, to the `finally` block
    bool has(Exit exit) const { return exits[static_cast<size_t>(exit)]; }
  };

  struct LoopContext {
    JumpList breaks;
    JumpList continues;
  };

  /// Frees, at the end of a scope, the registers allocated in it.
  class Scope {
   public:
    explicit Scope(FunctionCompiler& compiler) : compiler_(compiler), saved_(compiler.next_) {}
    ~Scope() {
      compiler_.forget_registers(saved_);
      compiler_.next_ = saved_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    FunctionCompiler& compiler_;
    uint32_t saved_;
  };

  // function_compiler_functions.cpp: signatures, variables, code
  void signature();
  void prologue();
  bool is_global(const ast::Variable& v) const;
  VariableSlot slot_of(const ast::Variable& v);
  uint16_t global_index(const ast::Variable& v);
  uint16_t capture_index(const ast::Variable& v);
  Reg allocate(Span span);
  Reg declare_register(const ast::Variable& v, Span span);
  void bind_register(const ast::Variable& v, Reg reg, Span span);
  void forget_registers(uint32_t first);
  bool is_fresh(Reg r) const { return !bound_[r]; }
  uint32_t emit(Opcode op, Span span, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, uint8_t extra = 0);
  uint32_t emit_wide(Opcode op, Span span, uint32_t a, uint32_t value);
  void jump_to(uint32_t target, Span span) { emit_wide(Opcode::jump, span, 0, target); }
  void jump(JumpList& targets, Span span) { targets.push_back(emit_wide(Opcode::jump, span, 0, 0)); }
  void patch(const JumpList& jumps, uint32_t target);
  void patch_here(const JumpList& jumps) { patch(jumps, here()); }
  uint32_t here() const { return static_cast<uint32_t>(proto_->code.size()); }
  uint32_t constant(Value value);
  uint32_t string_constant(Name text);
  uint32_t name_index(Name name);
  uint16_t narrow(size_t index, Span span, const char* what) const;
  void nested_function(const ast::Function& function, Reg dst);

  // function_compiler_expressions.cpp
  void into(const ast::Expr& e, Reg dst);
  Reg operand(const ast::Expr& e);
  Reg early_operand(const ast::Expr& e, std::initializer_list<const ast::Expr*> later);
  bool plain_register(const ast::Expr& e, Reg& reg);
  void load(const ast::Variable& v, Reg dst, Span span);
  void load_constant(Value value, Reg dst, Span span);
  void name(const ast::NameExpr& e, Reg dst);
  void typed(const ast::TypedExpr& e, Reg dst);
  void unary(const ast::UnaryExpr& e, Reg dst);
  void negation(const ast::Expr& operand, Reg dst, Span span);
  void binary(const ast::BinaryExpr& e, Reg dst);
  void chain(const ast::ChainExpr& e, Reg dst);
  void operation(ast::BinaryOp op, Reg dst, Reg left, const ast::Expr& right, Span span);
  bool number_constant(const ast::Expr& e, uint32_t& index);
  void truth_value(const ast::Expr& e, Reg dst);
  void sequence(Opcode op, ast::List<ast::Expr*> items, Reg dst, Span span);
  void record(const ast::RecordExpr& e, Reg dst);
  void map(const ast::MapExpr& e, Reg dst);
  void record_with_spread(const ast::RecordExpr& e, Reg dst);
  void fstring(const ast::FStringExpr& e, Reg dst);
  void range(const ast::RangeExpr& e, Reg dst);
  void index(const ast::IndexExpr& e, Reg dst);
  void field(const ast::FieldExpr& e, Reg dst);
  IndexShape index_shape(const ast::IndexExpr& e);
  void index_operands(const ast::IndexExpr& e);
  void call(const ast::CallExpr& e, Reg dst);
  void spread_call(const ast::CallExpr& e, Reg dst);
  void note_arguments(const ast::CallExpr& e, bool is_method);
  void note_operator(Span span);
  uint16_t call_shape(const ast::CallExpr& e, bool is_method);
  void conditional(const ast::IfExpr& e, Reg dst, bool wants_value);
  void condition(const ast::Expr& e, bool jump_if, JumpList& targets);
  bool comparison(const ast::BinaryExpr& e, bool jump_if, JumpList& targets);
  void block_value(const ast::Block& block, Reg dst, Span span);

  // function_compiler_assertions.cpp
  bool assertion(const ast::CallExpr& e, Reg dst);
  void assert_close(const ast::CallExpr& e, const ast::CallExpr& close, Reg dst);
  void fail_assertion(const ast::CallExpr& e, Span at, std::initializer_list<Reg> values,
                      std::initializer_list<Span> texts);

  // function_compiler_statements.cpp
  void block(const ast::Block& block);
  bool ends_line(const ast::Stmt& s) const;
  void show(const ast::Expr& e);
  void module_body();
  void prepare_block(const ast::Block& block);
  void prepare_cell(const ast::Variable* v);
  void prepare_cells(const ast::Pattern& pattern);
  void statement(const ast::Stmt& s);
  void expression_statement(const ast::Expr& e);
  void declare(const ast::DeclareStmt& s);
  void allocate_pattern(const ast::Pattern& pattern);
  void unpack(uint32_t first, Reg value, size_t count, std::optional<size_t> rest, Span span);
  void take_apart(const ast::Pattern& pattern, Reg value);
  void bind_pattern(const ast::Pattern& pattern, Reg value);
  void bind_fields(const ast::Pattern& pattern, Reg value);
  void store(const ast::Variable& v, Reg value, Span span);
  void assign(const ast::AssignStmt& s);
  void assign_variable(const ast::AssignStmt& s, const ast::NameExpr& target);
  void assign_part(const ast::AssignStmt& s);
  void assign_from(const ast::Expr& target, Reg value);
  void update_target(VariableSlot root, const Path& path, Reg first, Span span);
  const ast::Variable& target_root(const ast::Expr& target, std::vector<const ast::Expr*>& steps) const;
  Path target_path(const std::vector<const ast::Expr*>& steps);
  void return_value(const ast::Expr* value, Span span);
  void return_branches(const ast::IfExpr& e);
  void return_block(const ast::Block& block);
  void while_loop(const ast::WhileStmt& s);
  void for_loop(const ast::ForStmt& s);
  void for_range(const ast::ForStmt& s, const ast::RangeExpr& range);
  /// `bar`: the register of the loop's progress bar, if it has one.
  void loop_body(const ast::ForStmt& s, Reg item, Opcode next, Reg state, std::optional<Reg> bar = std::nullopt);
  Reg loop_item(const ast::Pattern& pattern);
  uint32_t begin_loop(Span span);
  void import(const ast::ImportStmt& s);
  /// Each compiles a `try`; without `dst` its value is not needed.
  void attempt(const ast::TryExpr& e, std::optional<Reg> dst);
  void caught(const ast::TryExpr& e, std::optional<Reg> dst);
  void guarded(const ast::TryExpr& e, std::optional<Reg> dst);
  void part(const ast::Block& block, std::optional<Reg> dst);
  void continue_exit(const Attempt& attempt, Exit exit, Span span);
  void add_handler(const Handler& handler);
  void leave(Exit exit, Span span, Reg value = 0);

  ModuleCompilation& module_;
  const ast::Function& function_;
  FunctionCompiler* enclosing_;
  std::unique_ptr<Proto> proto_;
  uint32_t next_ = 0;                         // the first free register
  std::vector<size_t> named_;                 // of Proto::register_names, those in scope
  std::vector<bool> bound_;                   // registers that hold a variable in scope
  std::vector<VariableSlot> variable_slots_;  // of the function's own variables, by their index
  std::vector<LoopContext> loops_;
  std::vector<Attempt> attempts_;  // those with `finally` around the code that is compiled, the innermost last
  std::map<const ast::Variable*, uint16_t> capture_indices_;
  std::map<const ast::Variable*, uint16_t> global_indices_;
  std::map<std::pair<int, uint64_t>, uint32_t> number_constants_;
  std::map<Name, uint32_t> string_constants_;
  std::map<Name, uint32_t> builtin_constants_;
  std::map<Name, uint32_t> name_indices_;
};

}  // namespace tsl
