// Inputs of a compiled region: takes them apart for a trace, guards them, and binds them in later runs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "jit/recorder.h"
#include "value/value.h"

namespace tsl::jit {

/// A property of an input that a region depends on, in depth-first order. Tensors and numbers are inputs of the
/// compiled code; everything else must be unchanged.
struct InputGuard {
  enum class Kind : uint8_t { constant, number, tensor, record, list, tuple } kind = Kind::constant;
  ScalarType type{};                      // number
  DType dtype{};                          // tensor
  Device device;                          // tensor
  uint8_t varying = 0;                    // tensor: the axes (a bit each) whose extents have been seen to vary
  bool is_dense = false;                  // tensor with symbolic extents: without gaps, so that they give its strides
  uint32_t symbol = 0;                    // number: the id of its symbol
  uint32_t count = 0;                     // list, tuple, record: how many parts follow
  Layout layout;                          // tensor: extents and strides; a symbolic extent may be any from 2 up
  std::array<uint8_t, kMaxRank> order{};  // tensor that is dense: its axes as they lie in memory
  Ref<RecordKeys> keys;                   // record
  Value constant;  // constant: identical, or equal if nothing can change it (a string, a function without captures…)
};

/// The extent, in what is known of an input before it has been seen: only which axes vary counts.
inline constexpr int64_t kUnknownExtent = -1;

/// Whether a value is small enough, and not too deeply nested, to be taken apart.
bool can_abstract(const Value& value);

/// Takes a value apart for a trace: gives the value with numbers replaced by symbols and tensors by deferred ones,
/// appends its guards, and appends its tensors and numbers to the run, beginning at `slot` (which moves on; what the
/// run holds already, from an earlier attempt, is kept). Extents that `known` guards of the same input (or null) say
/// vary, or that differ from those, become symbols.
Value abstract(const Value& value, const std::vector<InputGuard>* known, std::vector<InputGuard>& guards,
               Recorder& recorder, Run& run, uint32_t& slot);

/// Checks a value against its guards, which begin at `guard`, appends its tensors to the run, and sets the symbols of
/// its numbers and extents, for which there is room. Returns the next guard, or null if one fails. `may_donate`: the
/// caller donates the value; `donated` gets, per tensor, whether all that contains it has one owner.
const InputGuard* bind_input(const Value& value, const InputGuard* guard, Run& run, bool may_donate,
                             std::vector<char>& donated);

/// Whether a guard holds the only reference to a function: no later call can match it.
bool is_only_reference(const Value& constant);

/// Describes the first difference between a value and its guards, or "".
std::string difference(const Value& value, const InputGuard*& guard, const std::string& what);

}  // namespace tsl::jit
