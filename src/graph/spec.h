// The specification of the graph, the kernel IR and the plan: rules that hold of every one, each a sentence and a
// check. compile() checks them after each pass in debug builds, and wherever enforce_specification() has switched them
// on.
//
// The rules stand in spec_graph.cpp, spec_kernel.cpp and spec_plan.cpp, in tables in the order in which they are
// checked: a check may rely on all rules above its own. docs/specification.md says how to add one.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "graph/plan.h"

namespace tsl::graph {

/// A broken rule: a defect of the compiler. what() holds the pass, the rule's sentence, and a dump of what breaks it.
class BrokenRule : public std::logic_error {
 public:
  BrokenRule(const char* pass, const char* rule, const std::string& dump);
  /// The rule's sentence.
  const char* rule() const { return rule_; }

 private:
  const char* rule_;
};

/// Switches the checks of compile() on or off, for all threads. They are on from the start where NDEBUG is not defined.
void enforce_specification(bool on);
bool enforces_specification();

/// Checks the rules of a graph; throws BrokenRule. `pass` is what has just run. A graph is pruned once dead code has
/// been removed.
void verify(const Graph& graph, const char* pass = "construction", bool is_pruned = false);
/// Checks the rules of a plan's buffers and kernels, which hold as soon as they are lowered.
void verify_kernels(const Plan& plan, const char* pass = "construction");
/// Checks the rules of a plan's launches.
void verify_launches(const Plan& plan, const char* pass = "construction");
/// Checks all rules of a finished plan but those of its graph.
void verify(const Plan& plan, const char* pass = "construction");

/// The sentences of all rules.
std::vector<const char*> specification();

}  // namespace tsl::graph
