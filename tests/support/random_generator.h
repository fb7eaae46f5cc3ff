// Makes random programs; see random_programs.h. The parts of a program are in random_programs.cpp (the top level),
// random_functions.cpp, random_statements.cpp and random_constructs.cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/random_expressions.h"
#include "support/random_programs.h"

namespace tsl {

inline Statement branch(std::string head, Block body) { return Statement({{std::move(head), std::move(body)}}); }

struct Parameter {
  std::string name;
  Typed type;
  std::string otherwise = "";  // the default, or none
  std::string range = "";      // " in 0..", or none
};

struct Routine {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> dims;   // names: of two dimensions of the first parameter, and perhaps of a size alone
  std::vector<std::string> sizes;  // of most calls, so that traces are replayed
  Typed result;                    // of kind tensor, real or record
};

class Generator {
 public:
  Generator(Random& random, std::string module) : random_(random), expressions_(random_), module_(std::move(module)) {}

  Block program();

 private:
  std::vector<Variable>& scope() { return expressions_.scope; }
  std::string fresh(const char* prefix) { return fmt::format("{}_{}", prefix, ++names_); }

  Variable& declare(std::string name, Typed type, bool is_assignable);
  void declare_globals(Block& out);

  // Functions

  Typed parameter_type(const std::vector<std::string>& dims);

  /// Annotates a parameter, so that dimensions have names; records and lists have no annotations.
  static std::string annotated(const Parameter& p);
  /// Returns a range of numbers or elements that an annotation declares, mostly one that holds; mostly "".
  std::string any_range(const Typed& type);

  /// Appends parameters with defaults.
  void append_optional_parameters(Routine& routine);
  /// Returns the text of an argument for a parameter; "" leaves it out.
  std::string argument(const Routine& routine, const Parameter& p, const std::vector<std::string>& sizes);
  /// Replaces a routine's dimensions by the sizes of a call.
  static Typed concrete(const Routine& routine, Typed type, const std::vector<std::string>& sizes);
  /// Returns a view with other strides and the same shape.
  std::string strided(const std::string& text, size_t rank);
  static bool is_dim(const Routine& routine, const std::string& name);
  Statement function();
  Typed result_type(const Routine& routine);

  // Statements

  Block block(int statements, int depth);
  void append_statement(Block& out, int depth);
  Typed any_type();
  void append_declaration(Block& out);
  const Variable* assignable(std::initializer_list<Kind> kinds);
  void append_assignment(Block& out);

  /// Writes a part of a variable.
  void append_update(Block& out);
  void append_print(Block& out);
  void append_call(Block& out);
  std::vector<std::string> any_sizes();

  /// Makes a call, and returns its result type in the caller's names.
  std::pair<std::string, Typed> call_of(const Routine& routine);
  std::pair<std::string, Typed> call_of(const Routine& routine, const std::vector<std::string>& sizes);
  void append_gradient(Block& out);

  /// Makes a function that reads, and may change, a variable of an enclosing function.
  void append_closure(Block& out);

  /// Returns from the function, leaves its loop, or fails, under a condition.
  void append_exit(Block& out, int depth);
  void append_random(Block& out);

  // Host values, modules and derivatives of derivatives: random_constructs.cpp

  void append_construct(Block& out);
  void append_host_list(Block& out);
  void append_growing_list(Block& out);
  void append_varying_map(Block& out);
  void append_string(Block& out);
  /// Makes a map or a record of records, changes some of them, and prints all.
  void append_map(Block& out);
  /// Takes lists, tuples and records apart, also in parameters, and passes lists as arguments.
  void append_pattern(Block& out);
  /// Makes the value of a `try`.
  void append_attempt(Block& out);
  /// Calls functions of a module whose variables they change.
  void append_module(Block& out);
  /// Makes a gradient of a gradient, sometimes within a third one.
  void append_higher_gradient(Block& out);
  /// Makes a statement that fails, sometimes under a condition.
  void append_failure(Block& out);
  void append_if(Block& out, int depth);
  void append_for(Block& out, int depth);
  void append_while(Block& out, int depth);
  Block last_block(int depth);
  void append_try(Block& out, int depth);

  // The top level

  void append_use(Block& out);

  /// Calls a function several times with other values, and sometimes other shapes.
  void append_call_and_print(Block& out, const Routine& routine);

  /// Calls one function with many sizes.
  void append_sizes(Block& out, const Routine& routine);

  /// Makes a tensor grow, and passes it to a function.
  void append_growing(Block& out, const Routine& routine);
  void append_guarded_call(Block& out, const Routine& routine, const std::vector<std::string>& sizes);
  void append_loop(Block& out, const Routine& routine);

  /// Makes x = f(x, …), where the old x may donate its memory to the new one.
  void append_iteration(Block& out, const Routine& routine);

  /// Prints all bits of a value: tolist() and print() give the shortest text that reads back as the same number.
  static void print_exactly(const Variable& v, Block& out);

  Random& random_;
  Expressions expressions_;
  std::vector<Variable> globals_;
  std::vector<Routine> routines_;
  const Typed* result_ = nullptr;
  const std::string module_;  // the name of random_state.tsl, or none
  bool has_module_ = false;
  int names_ = 0;
  int loops_ = 0;
};

}  // namespace tsl
