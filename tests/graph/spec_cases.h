// Graphs and plans that each break one rule of the specification.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/plan.h"

namespace tsl::graph {

struct SpecCase {
  std::string rule;              // the sentence
  std::function<void()> verify;  // of what breaks it
};

void add_graph_cases(std::vector<SpecCase>& cases);
void add_kernel_cases(std::vector<SpecCase>& cases);
void add_plan_cases(std::vector<SpecCase>& cases);

/// Adds a case that verifies the plan of a graph, which is valid before `spoil` changes it.
void add_plan_case(std::vector<SpecCase>& cases, const char* rule, Plan (*make)(), std::function<void(Plan&)> spoil);

/// Returns a symbol that belongs to no trace.
const Symbol* orphan();

// Valid plans, to be made invalid.
Plan pointwise_plan();  // one kernel, of two inputs and a number
Plan softmax_plan();    // one row kernel
Plan sum_plan();        // one reduce kernel, of elements made by an exp
Plan product_plan();    // four products of squares: a = x x, b = a x, c = a b, d = c x, an output
Plan sort_plan();       // one op kernel, whose two results are outputs
Plan quotient_plan();   // of integers: it may fail

}  // namespace tsl::graph
