// Decides which kernels share a launch.
#pragma once

#include <memory_resource>

#include "graph/plan.h"

namespace tsl::graph {

/// Whether two pointwise kernels run the same program, on possibly different buffers and sizes.
bool same_program(const Kernel& a, const Kernel& b);

/// Whether the kernel writes one of several parts of a node's result. Parts do not overlap, so their order does not
/// matter.
bool writes_part(const Plan& plan, const Kernel& kernel);

/// Fills plan.launches: independent kernels with the same program share a multi-tensor launch. For example, an
/// optimizer's update of two hundred parameters is one launch, and so are two hundred parts of a concat. A kernel joins
/// the earliest possible launch, so that its readers have most launches to join.
void make_launches(Plan& plan, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
