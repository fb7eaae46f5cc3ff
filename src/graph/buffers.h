// Assigns memory to a plan's buffers: lifetimes, donors, aliases and the arena.
#pragma once

#include <memory_resource>

#include "graph/plan.h"

namespace tsl::graph {

/// An output needs one donor; more are alternatives for callers that donate only some inputs.
inline constexpr size_t kMaxDonors = 8;

/// Whether the kernel, which writes `out`, reads each element of `in` only where and before it writes it, and does not
/// write `in`.
bool may_overwrite(const Kernel& kernel, uint32_t in, uint32_t out);

/// Returns the last launch that can fail, because of elements' values or of memory that it allocates; -1 if none can. A
/// failed plan must not have overwritten its inputs.
int64_t last_fallible(const Plan& plan);

/// Finds the lifetimes of plan.buffers and their memory; fills plan.donors, plan.may_fail and plan.arena_bytes.
void assign_buffers(Plan& plan, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
