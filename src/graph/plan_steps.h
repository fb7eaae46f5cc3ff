// The steps that make a plan of a fused graph, in order: kernels, launches, memory.
#pragma once

#include <memory_resource>
#include <optional>

#include "graph/fuse.h"
#include "graph/plan.h"

namespace tsl::graph {

// ---- plan_lower.cpp: groups become kernels of the kernel IR, over buffers ---------------------------------------

/// Fills plan.buffers, plan.kernels and plan.outputs from plan.graph. `memory` holds temporary data.
void lower(Plan& plan, const Fusion& fusion, std::pmr::memory_resource* memory);

// ---- plan_launches.cpp: which kernels share a launch ------------------------------------------------------------

/// Whether ranks make the calls of a kernel's op in the order of the program.
bool is_of_program(const Plan& plan, const Kernel& kernel);

/// Whether two kernels, fused ones, run the same program, on possibly different buffers and sizes.
bool same_program(const Kernel& a, const Kernel& b);

/// Whether the kernel writes one of several parts of a node's result. Parts do not overlap, so their order does not
/// matter.
bool writes_part(const Plan& plan, const Kernel& kernel);

/// Fills plan.launches: independent kernels with the same program share a multi-tensor launch. For example, an
/// optimizer's update of two hundred parameters is one launch, and so are the parts of a concat, and norms. A kernel
/// joins the earliest possible launch, so that its readers have most launches to join. What follows the last op of
/// Ordering::program joins nothing that need not wait for it.
void make_launches(Plan& plan, std::pmr::memory_resource* memory);

// ---- plan_buffers.cpp: lifetimes, donors, aliases and the arena -------------------------------------------------

/// An output needs one donor; more are alternatives for callers that donate only some inputs.
inline constexpr size_t kMaxDonors = 8;

/// Whether the kernel, which writes `out`, reads each element of `in` only where and before it writes it, and does not
/// write `in`.
bool may_overwrite(const Kernel& kernel, uint32_t in, uint32_t out);
/// As above, and whether the kernel is of an op that may write over its first operand, and reads all of `in` in order.
bool may_overwrite(const Plan& plan, const Kernel& kernel, uint32_t in, uint32_t out);

/// The buffers of a kernel that only moves elements, each to the same place: in one memory it has nothing to do.
struct Move {
  uint32_t from = 0, to = 0;
};
std::optional<Move> move_of(const Kernel& kernel);
/// Returns the moves of a launch's kernels; none if one of them does anything else.
std::vector<Move> moves_of(const Plan& plan, std::span<const uint32_t> kernels);

/// Returns the last launch that can fail, because of elements' values or of memory that it allocates; -1 if none can. A
/// failed plan must not have overwritten its inputs.
int64_t last_fallible(const Plan& plan);

/// Whether the kernel that writes a buffer first lets it use a donated input's memory. A device that learns late of a
/// failure goes on: generated kernels then leave donors as they are, and those of libraries cannot.
bool may_take_donors(const Plan& plan, uint32_t writer);

/// Finds the lifetimes of plan.buffers and their memory; fills plan.donors, plan.may_fail and plan.arena_bytes.
void assign_buffers(Plan& plan, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
