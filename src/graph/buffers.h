// Where a plan's buffers lie: lifetimes, donors, aliases and the arena.
#pragma once

#include <memory_resource>

#include "graph/plan.h"

namespace tsl::graph {

/// An output needs one donor; more are for callers that keep some of their inputs.
inline constexpr size_t kMaxDonors = 8;

/// Whether the kernel, which writes `out`, reads `in` only where and before it writes, and does not write it.
bool may_overwrite(const Kernel& kernel, uint32_t in, uint32_t out);

/// The last launch that can fail, on its elements' values or for want of memory of its own, or -1. A plan that failed
/// must have left its inputs alone.
int64_t last_fallible(const Plan& plan);

/// Finds the lifetimes of plan.buffers and where each lies; fills plan.donors, plan.may_fail and plan.arena_bytes.
void assign_buffers(Plan& plan, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
