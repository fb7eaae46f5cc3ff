// The specification of the graph, the kernel IR and the plan: rules, each a sentence and a check. compile() checks them
// after each pass in debug builds, and wherever enforce_specification() has enabled them.
//
// The rules are in the tables of spec_graph.cpp, spec_kernel.cpp and spec_plan.cpp, in the order of checking: a check
// may assume all rules above it. docs/specification.md describes how to add one.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "graph/plan.h"

namespace tsl::graph {

/// A violated rule, which is a defect of the compiler. what() has the pass, the rule's sentence, and a dump of the
/// violation.
class BrokenRule : public std::logic_error {
 public:
  BrokenRule(const char* pass, const char* rule, const std::string& dump);
  /// Returns the rule's sentence.
  const char* rule() const { return rule_; }

 private:
  const char* rule_;
};

/// Enables or disables the checks of compile() for all threads. They are enabled by default unless NDEBUG is defined.
void enforce_specification(bool on);
bool enforces_specification();

/// Checks the rules of a graph; throws BrokenRule. `pass` is the pass that has just run; `is_pruned`: dead code has
/// been removed.
void verify(const Graph& graph, const char* pass = "construction", bool is_pruned = false);
/// Checks the rules of a plan's buffers and kernels, which hold after lowering.
void verify_kernels(const Plan& plan, const char* pass = "construction");
/// Checks the rules of a plan's launches.
void verify_launches(const Plan& plan, const char* pass = "construction");
/// Checks all rules of a finished plan except those of its graph.
void verify(const Plan& plan, const char* pass = "construction");

/// Returns the sentences of all rules.
std::vector<const char*> specification();

}  // namespace tsl::graph
