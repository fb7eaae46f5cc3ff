// The inputs of a compiled region: converts them for a trace, guards them, and binds them in later runs.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "jit/recorder.h"
#include "value/map.h"
#include "value/value.h"

namespace tsl::jit {

/// A property of an input that a trace depends on; guards of a nested value are in depth-first order. Tensors, numbers,
/// foreign values and lists that vary become inputs of the compiled code; everything else must be unchanged.
struct InputGuard {
  enum class Kind : uint8_t {
    constant,
    number,
    foreign,
    tensor,
    record,
    map,
    list,
    varying_list,  // of any length, until the code looks at its elements
    varying_map,   // of any keys, until the code looks at all entries
    tuple
  } kind = Kind::constant;
  ScalarType type{};  // number
  const ForeignType* foreign = nullptr;
  DType dtype{};          // tensor
  Device device;          // tensor
  uint8_t varying = 0;    // tensor: a bit for each axis whose extent has varied
  bool is_dense = false;  // tensor with symbolic extents: has no gaps, so the extents determine its strides
  uint32_t symbol = 0;    // number, foreign, varying_…: id of the symbol for its value, identity or length
  uint32_t count = 0;     // list, tuple, record, map: number of parts, which follow
  Layout layout;          // tensor: extents and strides; a symbolic extent matches any from kMinSymbolicExtent up
  std::array<uint8_t, kMaxRank> order{};  // dense tensor: its axes in the order of their strides
  Ref<RecordKeys> keys;                   // record
  Ref<MapKeys> map_keys;                  // map; what stands for removed keys is guarded as a constant
  uint32_t removed = 0;                   // map: how many keys are removed
  Value constant;  // must be identical, or equal if it is immutable (a string, a function without captures…)
};

/// Marks an extent that has not been observed in a shape history: only which axes vary is known.
inline constexpr int64_t kUnknownExtent = -1;

/// Whether a value is small enough, and not too deeply nested, to be an input of a trace.
bool can_abstract(const Value& value);

/// Makes what stands for the items of a container that varies, for a trace.
struct VaryingInputs {
  std::function<Ref<ListPrefix>(const Value& list, const Symbol* length)> prefix;
  std::function<Ref<InputEntries>(const Value& map, const Symbol* length)> entries;
};

/// Converts inputs for a trace.
class InputAbstraction {
 public:
  /// Values go to the run from `slot` on, which advances (those that an earlier attempt has put there are kept).
  InputAbstraction(Recorder& recorder, Run& run, uint32_t& slot, VaryingInputs varying)
      : recorder_(recorder), run_(run), slot_(slot), varying_(std::move(varying)) {}

  /// Returns a value with symbols for numbers, deferred tensors for tensors and stand-ins for foreign values, and
  /// appends its guards. Extents become symbols, lists get a prefix in place of their elements, and maps the entries of
  /// an input, if the `known` guards of the same input (or null) mark them as varying, or differ; `opens`: not the list
  /// or map that the value itself is. `may_donate`: the caller donates the value, with what only it contains.
  Value abstract(const Value& value, const std::vector<InputGuard>* known, std::vector<InputGuard>& guards,
                 bool may_donate, bool opens = false);

 private:
  /// Where the same value is in the known guards; null: not known.
  using Known = const InputGuard*;

  Value convert(const Value& value, Known known, bool may_donate);
  Value convert_number(const Value& value);
  Value convert_foreign(const Value& value);
  Value convert_tensor(const Tensor& tensor, Known known, bool may_donate);
  Value convert_list(const Value& value, Known known, bool may_donate, bool opens);
  Value convert_map(const Value& value, Known known, bool may_donate, bool opens);
  /// Appends the guard of a container that varies, and returns the symbol for its length.
  const Symbol* convert_varying(InputGuard::Kind kind, const Value& value, size_t length);
  std::vector<Value> convert_items(const Value& container, const std::vector<Value>& items, const InputGuard& guard,
                                   Known known, bool may_donate);
  void set_symbol(const Symbol* symbol, Scalar value);

  Recorder& recorder_;
  Run& run_;
  uint32_t& slot_;
  const VaryingInputs varying_;
  std::vector<InputGuard>* guards_ = nullptr;
};

/// Checks a value against its guards, which start at `guard`. Appends its tensors and opaque values to the run, and
/// sets the symbols of its numbers and extents. Returns the next guard, or null if one fails. `may_donate`: as for
/// abstract().
const InputGuard* bind_input(const Value& value, const InputGuard* guard, Run& run, bool may_donate);

/// Whether a guard has the only reference to a function, so that no later call can match it.
bool is_only_reference(const Value& constant);

/// Whether two values are the same constant: identical, or equal and immutable.
bool same_constant(const Value& a, const Value& b);
/// Whether a tensor matches its guard.
bool matches(const TensorData& tensor, const InputGuard& guard);

}  // namespace tsl::jit
