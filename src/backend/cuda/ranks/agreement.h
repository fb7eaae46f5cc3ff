// What the links of GPUs have in common: agreeing on whether all ranks have one, what can be added up, and copies of a
// rank to itself.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/cuda/driver/device.h"
#include "base/error.h"
#include "world/rank_link.h"

namespace tsl::cuda {

/// Returns the message of the Failure that a call throws; "": it throws none.
template <class Work> std::string problem_of(Work&& work) {
  try {
    work();
  } catch (const Failure& failure) { return failure.error().message; }
  return "";
}

/// Returns, on all ranks alike, the first problem that a rank has, with the rank; "": none has one.
std::string first_problem(world::Ranks& ranks, const std::string& own);

/// How the links add up elements of a dtype.
struct SumType {
  uint64_t bytes = 0;         // of an element; 0: they add up none of this dtype
  std::string_view sum = {};  // the name of the dtype that they add up in
};
/// Returns that of a dtype, by its name.
SumType sum_type(std::string_view dtype);

/// Copies the piece that a rank sends to itself, in stream order.
void copy_own(Device& device, int rank, std::span<const world::Piece> sent, std::span<const world::Piece> received);

}  // namespace tsl::cuda
