// Launches: which kernels run as one.
#pragma once

#include <memory_resource>

#include "graph/plan.h"

namespace tsl::graph {

/// Whether two pointwise kernels run the same program, on other buffers and other sizes.
bool same_program(const Kernel& a, const Kernel& b);

/// Whether the kernel writes one of the parts that a node's result is made of. They do not overlap, so they come in any
/// order.
bool writes_part(const Plan& plan, const Kernel& kernel);

/// Fills plan.launches: gathers kernels that run the same program and do not depend on each other into tables, one
/// launch each. An optimizer's update of two hundred parameters becomes one launch over a table of two hundred, and so
/// do two hundred parts of a concat. Of several launches that could take a kernel the earliest does, so that what reads
/// it finds most to join.
void make_launches(Plan& plan, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
