// Reads what plan_json() has written: the same plan, ready to be prepared for a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/plan.h"

namespace tsl::report {

struct StoredPlan {
  struct Kernel {
    std::string name;  // the unique name, as on the device of the dump
    uint32_t launch = 0;
  };
  graph::Plan plan;
  std::unique_ptr<SymbolTable> symbols;
  std::vector<Kernel> kernels;  // that a run launched, in order
};

/// Makes the plan of a text by plan_json(). `name` is its file, for errors. Throws Failure (io) if the text is damaged.
StoredPlan read_plan(const std::string& text, const std::string& name);

}  // namespace tsl::report
