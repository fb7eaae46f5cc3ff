// Enums of the ops of one class, so that switches over them are exhaustive: the compiler names each switch that a new
// op of the class must be added to. Elementwise ops and reductions have tables (.def files) instead.
#pragma once

#include <cassert>
#include <cstdint>

#include "tensor/op.h"

namespace tsl {

enum class SourceOp : uint8_t { fill, iota, random_bits, random_uniform, random_normal };
enum class ScanOp : uint8_t { cumsum, cumprod };
enum class ScatterOp : uint8_t { scatter, scatter_add };

/// Finds an op in a group, whose ops are consecutive in Op from `first` to `last`.
template <class Group, Op first, Op last, Group last_of_group> constexpr Group find_in_group(Op op) {
  static_assert(static_cast<int>(last) - static_cast<int>(first) == static_cast<int>(last_of_group),
                "an op was added to this group in op.h: add it to the group's enum, too");
  assert(first <= op && op <= last);
  return static_cast<Group>(static_cast<int>(op) - static_cast<int>(first));
}
constexpr SourceOp source_op(Op op) {
  return find_in_group<SourceOp, Op::fill, Op::random_normal, SourceOp::random_normal>(op);
}
constexpr ScanOp scan_op(Op op) { return find_in_group<ScanOp, Op::cumsum, Op::cumprod, ScanOp::cumprod>(op); }
constexpr ScatterOp scatter_op(Op op) {
  return find_in_group<ScatterOp, Op::scatter, Op::scatter_add, ScatterOp::scatter_add>(op);
}

// Checks that the group ends where the next class begins, so that an op added after the group's last one is noticed.
static_assert(static_cast<int>(Op::permute) == static_cast<int>(Op::random_normal) + 1);
static_assert(static_cast<int>(Op::sort) == static_cast<int>(Op::cumprod) + 1);
static_assert(static_cast<int>(Op::nonzero) == static_cast<int>(Op::scatter_add) + 1);

}  // namespace tsl
