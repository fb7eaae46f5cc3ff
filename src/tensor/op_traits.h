// What the compiler and the tools know of an op: the traits in its row of the op table.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "tensor/layout.h"

namespace tsl {

struct Attrs;

/// How the compiler fuses an op.
enum class FusesAs : uint8_t {
  nothing,      // it has kernels of its own, or is never a node
  elementwise,  // one scalar body per element
  source,       // elementwise without tensor inputs
  reduction,    // over axes
  take,         // reads other elements of its first operand
};

/// Into what memory an op with kernels of its own writes.
enum class WritesInto : uint8_t {
  fresh,               // memory of its own, all of it
  fresh_or_first,      // as above, or that of its first operand, if it reads all of that in order
  copy_of_first,       // a copy of its first operand, which it changes
  copies_of_operands,  // parts of the result: each operand is copied into one, and no other kernel is left
};

/// What the operands of a call may be.
enum class OperandRule : uint8_t {
  promoted,    // tensors and numbers of a common dtype, broadcast to one shape; no attributes
  tensors,     // tensors
  value_last,  // tensors; the last operand may be a number
  numbers,     // numbers
};

/// Which attribute names axes of the first operand.
enum class AxisUse : uint8_t { none, axis, axes, batch };

/// What an op requires of its inputs' elements, for whoever draws them at random.
enum class InputNeed : uint8_t {
  nothing,
  index,     // the second operand indexes the first along the axis `batch`
  positive,  // the first operand's matrices are positive definite
  trues,     // as many elements of the first operand are true as the attribute `count` says
};

/// The kind of a launch's work, from its ops, and from the library functions that they are part of: a label of
/// profiles.
enum class Category : uint8_t {
  convolution,  // conv2d(), the copy of its windows included
  attention,    // attention(), its softmax included
  matmul,
  factorisation,  // of matrices, by a library
  fourier,        // transforms
  reduction,      // sums, softmax, norms
  scan,
  sort,
  indexing,   // take, scatter, nonzero
  optimizer,  // the functions of optim
  random,     // draws random numbers
  pointwise,
  copy,     // moves, fills or converts elements
  library,  // of a library, unknown to us
};
std::string_view name_of(Category category);

/// Whether calls may be merged, removed or moved past one another.
enum class Ordering : uint8_t {
  free,     // as long as operands are computed before results
  program,  // no: the ranks of a world make them in the order of the program
};

/// How vmap maps an op without a rule of its own over examples.
enum class MapsBy : uint8_t {
  axis,     // examples are an axis more, behind which AxisUse names the op's own; without one, one after another
  leading,  // examples are an axis more of a batch of matrices
  drawing,  // draws numbers for all examples
};

/// The operations that a kernel of the op's own needs, which profiles and predictions count.
enum class FlopsOf : uint8_t { nothing, product, convolution, scan };

/// Whether a kernel of the op's own may allocate memory while it runs; else a run allocates it as it begins.
enum class Allocates : uint8_t {
  by_device,  // as DeviceTraits::ops_allocate says
  always,     // a library or a host program may
  never,
  unless_of_floats,  // libraries run floats without allocating; other dtypes as the device says
};

/// How an op fails depending on its operands' elements.
struct OpFailure {
  bool integers_only;  // a call whose result is a float never fails
  /// Describes a failure. `value`: the element; `source`: how the first operand is read.
  Error (*describe)(int64_t value, const Layout& source, const Attrs& attrs);
};

/// A field without a default: a row that leaves it out does not compile.
template <class T> struct Given {
  T value;
  template <std::convertible_to<T> U> constexpr Given(U given) : value(given) {}
  constexpr operator T() const { return value; }
};

struct OpTraits {
  Given<FusesAs> fuses_as;
  Given<WritesInto> writes_into;
  Given<OperandRule> operands;
  Given<AxisUse> axis;
  Given<InputNeed> needs;
  Given<Category> category;
  /// Operations for each element of f32, beside those of an addition (cost.cpp); none: nobody can tell.
  Given<std::optional<double>> operations;
  Given<const OpFailure*> failure;  // null: no call fails
  Given<Ordering> ordering;
  // Of ops with kernels of their own, and of sources:
  MapsBy maps = MapsBy::axis;
  FlopsOf flops = FlopsOf::nothing;
  Allocates allocates = Allocates::by_device;
};

/// Returns the traits of an op on tensors that is never fused, writes fresh memory, and takes any elements.
constexpr OpTraits unfused_traits(Category category, AxisUse axis, std::optional<double> operations,
                                  FlopsOf flops = FlopsOf::nothing, Allocates allocates = Allocates::by_device) {
  return {.fuses_as = FusesAs::nothing,
          .writes_into = WritesInto::fresh,
          .operands = OperandRule::tensors,
          .axis = axis,
          .needs = InputNeed::nothing,
          .category = category,
          .operations = operations,
          .failure = nullptr,
          .ordering = Ordering::free,
          .flops = flops,
          .allocates = allocates};
}

}  // namespace tsl
