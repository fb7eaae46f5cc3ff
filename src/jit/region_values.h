// Values at the border of a compiled region: how inputs are taken apart and checked, how results are put together
// again from what the region computed.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "jit/recorder.h"
#include "value/value.h"

namespace tsl {

class Engine;

/// What a region depends on in one of its inputs, in depth-first order. Tensors and numbers are inputs of the
/// compiled code; everything else must be as it was.
struct Fact {
  enum class Kind : uint8_t { constant, number, tensor, record, list, tuple } kind = Kind::constant;
  ScalarType type{};                      // number
  DType dtype{};                          // tensor
  Device device;                          // tensor
  uint8_t varying = 0;                    // tensor: the axes (a bit each) whose extents have been seen to vary
  bool is_dense = false;                  // tensor with symbolic extents: without gaps, so that they give its strides
  uint32_t symbol = 0;                    // number: the id of its symbol
  uint32_t count = 0;                     // list, tuple, record: how many facts-trees follow
  Layout layout;                          // tensor: extents and strides; a symbolic extent may be any from 2 up
  std::array<uint8_t, kMaxRank> order{};  // tensor that is dense: its axes as they lie in memory
  Ref<RecordKeys> keys;                   // record
  Value constant;  // constant: identical, or equal if nothing can change it (a string, a function without captures…)
};

/// The extent, in what is known of an input before it has been seen: only which axes vary counts.
inline constexpr int64_t kUnseenExtent = -1;

/// Whether a value is small enough, and not too deeply nested, to be taken apart.
bool can_abstract(const Value& value);

/// Takes a value apart for a trace: gives the value with numbers replaced by symbols and tensors by deferred ones,
/// appends its facts, and appends its tensors and numbers to the run, beginning at `slot` (which moves on; what the
/// run holds already, from an earlier attempt, is kept). Extents that `known` facts of the same input (or null) say
/// vary, or that differ from those, become symbols.
Value abstract(const Value& value, const std::vector<Fact>* known, std::vector<Fact>& facts, trace::Recorder& recorder,
               trace::Run& run, uint32_t& slot);

/// Checks a value against its facts, which begin at `fact`, appends its tensors to the run, and sets the symbols of its
/// numbers and extents, for which there is room. Gives the fact after them, or null if they do not hold. `owned` says
/// whether it is given up with all that nobody else holds of it; `given` collects that for the tensors: whether nobody
/// else holds what each is in.
const Fact* collect(const Value& value, const Fact* fact, trace::Run& run, bool owned, std::vector<char>& given);

/// Whether what a fact asks for is a function that nobody holds but the fact, so that it cannot be found again.
bool is_only_here(const Value& constant);

/// In words, the first difference between a value and its facts, or "".
std::string difference(const Value& value, const Fact*& fact, const std::string& what);

/// A value whose deferred tensors are replaced by references to slots, so that it can be kept and made again.
/// All its deferred tensors must have slots. `slots` collects them.
Value freeze(const Value& value, const trace::Recorder& recorder, std::vector<uint32_t>& slots);
/// The value with the slots and symbols of this run put in.
Value instantiate(Engine& engine, const Value& frozen, const trace::Run& run);

/// Replaces symbols by the numbers they stand for, wherever in `value` they are. Containers without symbols stay
/// the same objects. Texts whose pieces are known become strings.
void settle(Engine& engine, Value& value);

}  // namespace tsl
