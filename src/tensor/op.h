// The op table: one row holds everything the system knows about an op. Type checks, documentation, eager calls,
// recording, differentiation and tests all use it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ref.h"
#include "tensor/element_error.h"
#include "tensor/ints.h"
#include "tensor/limits.h"
#include "tensor/op_traits.h"
#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace tsl {

/// Every primitive op. Elementwise ops and reductions are the rows of elementwise.def and reductions.def.
enum class Op : uint16_t {
#define TSL_UNARY(name, ...) name,
#define TSL_BINARY(name, ...) name,
#define TSL_TERNARY(name, ...) name,
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
  // elementwise with attributes
  cast,  // x; dtype
  copy,  // x: the same elements, laid out contiguously
  // sources
  fill,            // scalar; shape, dtype
  iota,            // start, step (scalars); count, dtype: start + i * step
  random_bits,     // key, counter (int scalars); shape, dtype = i64: Philox words, uniform in [0, 2^32)
  random_uniform,  // key, counter; shape, dtype: uniform in [0, 1)
  random_normal,   // key, counter; shape, dtype: Box-Muller
  // views: only the layout changes
  permute,      // x; axes = order
  expand,       // x; shape (broadcast, NumPy's rule)
  reshape,      // x; shape
  slice,        // x; axis, start, count, step
  select,       // x; axis, start; removes the axis
  insert_axis,  // x; axis
  windows,      // x; axis, size, step, dilation; adds a last axis of extent size
  as_strided,   // x; `view` over x laid out contiguously: the adjoint of assign_view
// reductions over axes; keepdims keeps them with extent 1
#define TSL_REDUCTION(name, ...) name,
#define TSL_ARG_REDUCTION(name, ...) name,
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
  // along axis
  cumsum,
  cumprod,
  sort,  // -> values, order (i64 indices); count (of the first elements); stable; descending; NaN is the greatest
  // indexing, by the number of batch axes. x: [batch…, n, rest…], index: i64 [batch…, idx…]
  take,     // x, index -> [batch…, idx…, rest…]; negative indices count from the end, unless from_start; fallible
  scatter,  // x, index, updates [batch…, idx…, rest…] -> x with those rows replaced (last wins); fallible
  scatter_add,  // x, index, updates -> x with updates added, in order of the index; fallible
  nonzero,      // bool mask; count: i64 [count, rank], indices of the true elements in order
  // structure
  concat,        // any number of tensors; axis
  assign_view,   // x, value: x with a view replaced; the view is described by `view` (over x laid out contiguously)
  fold_windows,  // adjoint of windows: [.., w at axis, .., size last] -> sums; axis, step, dilation, count = extent
  // convolutions of [batch, channels, space…] with [out, channels / groups, taps…]; conv: how windows lie
  conv,              // x, weights -> [batch, out, windows…]
  conv_input_grad,   // grad, weights; shape = space -> [batch, channels, space…]
  conv_weight_grad,  // x, grad; shape = taps -> [out, channels / groups, taps…]
  // linear algebra
  matmul,    // [batch…, m, k] @ [batch…, k, n], equal batches
  cholesky,  // [batch…, n, n], of which the lower triangle is read; fallible
  eigh,      // [batch…, n, n], as above -> values [batch…, n], vectors [batch…, n, n] in columns; fallible
  solve_triangular,  // a [batch…, n, n], b [batch…, n, k], equal batches; upper
  solve,             // a [batch…, n, n], b [batch…, n, k], equal batches; fallible
  // of [batch…, m, n], where k = min(m, n)
  qr,   // -> q [batch…, m, k], r [batch…, k, n]; complete: m instead of k
  svd,  // -> u [batch…, m, k], s [batch…, k], vh [batch…, k, n]; complete: u [m, m], vh [n, n]; fallible
  lu,   // -> l and u in one [batch…, m, n], i64 row exchanges [batch…, k], i64 order of rows [batch…, m]
  eig,  // [batch…, n, n] -> values [batch…, n, 2], vectors [batch…, n, n, 2] in columns, as pairs; fallible
  // Fourier transforms along the last axis, not divided by its extent; complex numbers are pairs along an axis behind
  // it
  fft,    // [batch…, n, 2] -> the same; inverse
  rfft,   // [batch…, n] -> [batch…, n / 2 + 1, 2]
  irfft,  // [batch…, n / 2 + 1, 2] -> [batch…, n]; count = n
  // attention; causal, size (of the window; 0: none), scale (0: 1 / sqrt(width)), softcap (0: none)
  attention,       // query, key, value (see AttentionForm) -> result, logsumexp of scores [batch…, heads, rows]
  attention_grad,  // query, key, value, both results of attention, gradient of the first -> of query, key, value
  // transfers between devices; never nodes, since a graph has one device
  to_device,  // x; device; contiguous
  // between the ranks of a world, in the order of the program; count (of ranks); never nodes: the engine performs them
  gather_ranks,    // x -> [count, …]: what each rank has
  exchange_ranks,  // [count, …] -> the same: row i goes to rank i, and comes from rank i
  broadcast_rank,  // x; start (the rank that sends it) -> that rank's x
  sum_ranks,       // x: the sum of what all ranks have, in their order
  shift_ranks,     // x; start: x of the rank that is so many before this one, around the ring
  // a result of an op that has several: see graph::Node::result
  result,
  count_,
};
inline constexpr int kOpCount = static_cast<int>(Op::count_);

/// How the windows of a convolution lie on each axis of space. Padding of a negative width cuts off.
struct ConvGeometry : Counted {
  Ints stride, dilation, low, high;
  int64_t groups = 1;

  int rank() const { return static_cast<int>(stride.size()); }
  /// Returns an equal geometry for an input x [batch, channels, space…], whose strides and dilations are at most the
  /// padded extents: a greater one is that of a single window, or of a single tap.
  ConvGeometry clamped(const Shape& x) const;
  /// Returns all numbers, by which calls are compared and stored; the second function, a geometry of these.
  std::vector<int64_t> numbers() const;
  static Ref<const ConvGeometry> of(std::span<const int64_t> numbers);
  friend bool operator==(const ConvGeometry& a, const ConvGeometry& b) {
    return a.stride == b.stride && a.dilation == b.dilation && a.low == b.low && a.high == b.high &&
           a.groups == b.groups;
  }
};

/// An op's parameters that are not operands. Each op reads only the fields listed in `enum class Op`; the others keep
/// their defaults, so that equal calls have equal attributes.
struct Attrs {
  DType dtype = DType::f32;
  bool keepdims = false;
  bool descending = false;
  bool from_start = false;
  bool upper = false;
  bool complete = false;
  bool inverse = false;
  bool causal = false;
  bool pairs = false;  // of factorisations: numbers are complex, and pairs along a last axis
  Device device = {};
  int64_t axis = 0;  // may be negative until `prepare` has run; `axes` as well
  int64_t batch = 0;
  Dim start = 0;
  Dim count = 0;
  int64_t step = 1;
  int64_t size = 0;
  int64_t dilation = 1;
  double scale = 0;
  double softcap = 0;
  Ints axes = {};
  Dims shape = {};
  Layout view = {};  // assign_view and as_strided only
  Ref<const ConvGeometry> conv = {};
  Ref<const ElementError> error = {};  // of a take: what it raises for an index out of range

  /// Calls visit(name, pointer to member) for each field; op_table.cpp checks that it does.
  template <class Visit> static constexpr void for_each_field(Visit&& visit) {
    visit("dtype", &Attrs::dtype);
    visit("keepdims", &Attrs::keepdims);
    visit("descending", &Attrs::descending);
    visit("from_start", &Attrs::from_start);
    visit("upper", &Attrs::upper);
    visit("complete", &Attrs::complete);
    visit("inverse", &Attrs::inverse);
    visit("causal", &Attrs::causal);
    visit("pairs", &Attrs::pairs);
    visit("device", &Attrs::device);
    visit("axis", &Attrs::axis);
    visit("batch", &Attrs::batch);
    visit("step", &Attrs::step);
    visit("size", &Attrs::size);
    visit("dilation", &Attrs::dilation);
    visit("scale", &Attrs::scale);
    visit("softcap", &Attrs::softcap);
    visit("start", &Attrs::start);
    visit("count", &Attrs::count);
    visit("axes", &Attrs::axes);
    visit("shape", &Attrs::shape);
    visit("view", &Attrs::view);
    visit("conv", &Attrs::conv);
    visit("error", &Attrs::error);
  }
  /// Calls visit(size) for every size except those in `view`.
  template <class Visit> void for_each_size(Visit visit) { visit_sizes(*this, visit); }
  template <class Visit> void for_each_size(Visit visit) const { visit_sizes(*this, visit); }

  /// Compares structurally: symbolic sizes are equal if they are the same symbol. Records no guard.
  friend bool operator==(const Attrs& a, const Attrs& b) {
    bool is_equal = true;
    for_each_field([&](const char*, auto field) { is_equal = is_equal && same_value(a.*field, b.*field); });
    return is_equal;
  }

 private:
  template <class T> static bool same_value(const T& a, const T& b) { return a == b; }
  static bool same_value(const Dim& a, const Dim& b) { return a.same(b); }
  static bool same_value(const Dims& a, const Dims& b) { return tsl::same(a, b); }
  static bool same_value(const Layout& a, const Layout& b) { return tsl::same(a, b); }
  template <class T> static bool same_value(const Ref<const T>& a, const Ref<const T>& b) {
    return a == b || (a && b && *a == *b);
  }
  template <class Self, class Visit> static void visit_sizes(Self& self, Visit& visit) {
    for_each_field([&](const char*, auto field) {
      using Field = std::decay_t<decltype(self.*field)>;
      if constexpr (std::is_same_v<Field, Dim>) visit(self.*field);
      if constexpr (std::is_same_v<Field, Dims>) {
        for (auto& extent : self.*field) visit(extent);
      }
    });
  }
};

/// A tensor or a host number. The number is weakly typed, and may be symbolic.
struct Operand {
  Tensor tensor;
  Scalar scalar;
  const Symbol* symbol = nullptr;
  /// The caller's own references to the tensor, if nothing reads it after the call: an eager op may then overwrite it.
  uint8_t dying_references = 0;

  Operand() = default;
  Operand(Tensor t) : tensor(std::move(t)) {}
  Operand(Scalar s, const Symbol* symbol = nullptr) : scalar(s), symbol(symbol) {}
  bool is_tensor() const { return static_cast<bool>(tensor); }
  /// Returns the operand of a tensor that the caller references once, and does not read after the call.
  static Operand dying(Tensor t) {
    Operand operand(std::move(t));
    operand.dying_references = 1;
    return operand;
  }
};

/// Describes an operand: "f32[128, 784]", "int 3".
std::string describe(const Operand& operand);

struct TensorType {
  DType dtype = DType::f32;
  Shape shape = {};
};

/// The most results of an op.
inline constexpr int kMaxResults = 4;
using ResultTypes = std::array<TensorType, kMaxResults>;
/// The results of a call, as many as its op has.
using Results = std::array<Tensor, kMaxResults>;

class Ops;
struct OpDef;

/// A gradient that is zero but in a view of its tensor, laid out contiguously.
struct EmbeddedGradient {
  Tensor elements;
  Layout view;
};

/// The arguments of a derivative rule: the call to differentiate, and the gradients of its results.
struct VjpCall {
  Ops& ops;
  const OpDef& op;
  std::span<const Operand> inputs;
  const Attrs& attrs;
  const Tensor& output;          // the first result
  const Tensor& grad;            // of the output, and of its type
  std::span<const bool> needed;  // per input
  std::span<Tensor> grads;       // set by the rule: one per tensor input that is needed, of the input's type
  // Of ops of several results.
  std::span<const Tensor> results = {};
  std::span<const Tensor> result_grads = {};  // null: no gradient reaches the result
  // Where the rule of a view puts the first input's gradient, in place of grads[0]; null: nowhere.
  EmbeddedGradient* embedded = nullptr;
};

struct BatchCall;

/// One row of the op table.
struct OpDef {
  Op op = Op::count_;
  std::string_view name = {};
  std::string_view signature = {};  // "exp(x)": as a user would call it; "" for internal ops
  std::string_view doc = {};        // one line
  OpTraits traits;
  DTypeRule dtype_rule = DTypeRule::same;           // elementwise only
  std::optional<ScalarOp> scalar = std::nullopt;    // the same op for host numbers
  ReduceRule reduce_rule = ReduceRule::same;        // reductions only
  std::optional<Op> step = std::nullopt;            // the elementwise op that a reduction repeats
  std::optional<double> of_nothing = std::nullopt;  // a reduction's result over no elements; none: an error
  int arity = 1;                                    // operands; -1 for any number
  bool repeats = false;                             // a view that may have more elements than its operand
  /// Normalises a call to the form that `infer` and `run` expect (axes counted from the start, operands of one dtype,
  /// …): makes the normalised call and returns its result, or null if the call is normalised already. Null for ops
  /// without other forms; Ops promotes and broadcasts the operands of elementwise ops.
  Tensor (*prepare)(Ops&, Op, std::span<const Operand>, const Attrs&) = nullptr;
  /// Returns the result's type. Checks the operands and throws Failure that names them. Operands of elementwise ops
  /// have been promoted and broadcast already.
  TensorType (*infer)(std::span<const Operand>, const Attrs&) = nullptr;
  int results = 1;  // at most kMaxResults; an op of several has no `prepare`, no `view` and is not elementwise
  /// Returns the type of result i > 0, after `infer` has checked the operands.
  TensorType (*infer_other)(std::span<const Operand>, const Attrs&, int result) = nullptr;
  /// Returns the layout of a view op's result; null for other ops. (If no strides express an Op::reshape, Ops copies
  /// the operand first.)
  Layout (*view)(const Layout&, const Attrs&) = nullptr;
  /// Defines a call by calls of other ops, in place of which it stands: Ops makes them where no_kernel(), so that
  /// derivatives and batches follow. A result that only derivatives read may be null. Null for ops without a
  /// definition.
  Results (*compose)(Ops&, std::span<const Operand>, const Attrs&) = nullptr;
  /// Computes gradients; null for ops without a derivative, where gradients stop.
  void (*vjp)(VjpCall&) = nullptr;
  /// Maps a call to all examples of a batch (rows/batch.cpp); null: as the traits say, else example by example.
  Results (*batch)(const BatchCall&) = nullptr;
};

/// Infers the types of all results of a call.
ResultTypes infer_all(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);

/// Whether ops can share kernels with others; all other ops have kernels of their own.
inline bool fuses(const OpDef& op) { return op.traits.fuses_as != FusesAs::nothing; }
inline bool is_elementwise(const OpDef& op) { return op.traits.fuses_as == FusesAs::elementwise; }
inline bool is_reduction(const OpDef& op) { return op.traits.fuses_as == FusesAs::reduction; }

/// Whether calls may fail depending on elements' values, and whether one with such a result may.
inline bool may_fail(const OpDef& op) { return op.traits.failure != nullptr; }
inline bool may_fail(const OpDef& op, DType result) {
  const OpFailure* failure = op.traits.failure;
  return failure && !(failure->integers_only && is_float(result));
}

/// Whether calls are made in the order of the program, and never merged, removed or moved past one another.
inline bool is_of_program(const OpDef& op) { return op.traits.ordering == Ordering::program; }

const OpDef& op_def(Op op);
/// Returns all rows, in the order of Op.
std::span<const OpDef> op_table();

/// Calls ops. This class does what eager execution and recording share: it promotes dtypes (inserting cast), broadcasts
/// (inserting expand), checks, and turns views into layouts. `run` computes or records the rest.
class Ops {
 public:
  virtual ~Ops() = default;

  /// Calls an op; all op calls pass through here. Throws Failure without a span.
  Tensor call(Op op, std::span<const Operand> operands, const Attrs& attrs = {});
  Tensor call(Op op, std::initializer_list<Operand> operands, const Attrs& attrs = {}) {
    return call(op, std::span<const Operand>(operands.begin(), operands.size()), attrs);
  }

  /// Calls an op, and returns all its results. (call() returns the first.)
  Results call_many(Op op, std::span<const Operand> operands, const Attrs& attrs);
  Results call_many(Op op, std::initializer_list<Operand> operands, const Attrs& attrs = {}) {
    return call_many(op, std::span<const Operand>(operands.begin(), operands.size()), attrs);
  }

  /// Whether a call is made by its op's definition.
  bool is_composed(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);

  /// Returns the innermost batch over whose examples the running function is mapped; null if there is none.
  const Ref<Batch>& batch() const { return batch_; }

  /// Sets the most elements of a tensor.
  void limit_elements(int64_t elements) { element_limit_ = elements; }

  /// Returns the device for results of ops without tensor operands: that of the innermost Placement, else the default
  /// device.
  Device device() { return place_ ? *place_ : default_device(); }

  /// Returns the dtype of tensors that are made of floats without a dtype, as the program's file says (`use f64`); the
  /// library's code does as its caller.
  DType reals() const { return file_reals(); }
  /// Returns the dtype of integers that become floats, as the running code's file says; the library's says f32.
  DType promoted_reals() const { return code_reals(); }

  /// Returns where the program calls the running op: as the innermost OriginScope says, else location().
  Origin origin() { return origin_ ? *origin_ : location_in_range(); }

 protected:
  /// Returns where the program makes the running call, if that is known.
  virtual Origin location() const { return {}; }
  /// Returns the range around the running call, of SourceMap::ranges().
  virtual uint32_t range() { return 0; }
  Origin location_in_range() {
    Origin here = location();
    here.range = range();
    return here;
  }
  virtual Device default_device() { return {}; }
  /// Says why the device of a call, whose op has a definition, has no kernel for it or a slower one; "": it has one. A
  /// function of dtypes, shapes, attributes and the device, which records guards; strides are chosen later.
  virtual std::string_view no_kernel(const OpDef&, std::span<const Operand>, const Attrs&) { return {}; }
  /// Returns the most bytes of a tensor on a device that is not the host.
  virtual int64_t tensor_limit(Device) { return memory_limit(); }
  /// Returns the device of a result: that of the operands, else device().
  Device device_of(std::span<const Operand> operands);
  /// Computes or records an op that is not a view, with operands that are promoted, broadcast and checked. Fills
  /// `results`, which have these types.
  virtual void run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                   std::span<const TensorType> types, std::span<Tensor> results) = 0;
  /// Called after every op, views included, with its results; tapes record op calls through it.
  virtual void after(const OpDef&, std::span<const Operand>, const Attrs&, std::span<const Tensor>) {}
  /// As reals() and promoted_reals(): f32 where no program runs.
  virtual DType file_reals() const { return DType::f32; }
  virtual DType code_reals() const { return DType::f32; }

 private:
  friend class Placement;
  friend class OriginScope;
  friend class BatchScope;
  friend class KernelScope;
  /// Computes or records a checked call; one of a batch's examples is mapped to all of them.
  void compute(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
               std::span<const TensorType> types, std::span<Tensor> results);
  std::vector<Operand> on_one_device(const OpDef& op, std::span<const Operand> operands);
  Tensor call_elementwise(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);
  Tensor call_view(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);
  int64_t limit_for(Device device, const TensorType& type);
  void check_result(const OpDef& op, Device device, const TensorType& type);
  Tensor finish(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);

  std::optional<Device> place_;
  const Origin* origin_ = nullptr;
  Ref<Batch> batch_;
  bool wants_kernels_ = false;
  int64_t element_limit_ = kMaxTensorBytes;
};

/// Sets, during its lifetime, the device on which ops without tensor operands make tensors; nothing means the default
/// device.
class Placement {
 public:
  Placement(Ops& ops, std::optional<Device> device) : ops_(ops), before_(std::exchange(ops.place_, device)) {}
  ~Placement() { ops_.place_ = before_; }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

 private:
  Ops& ops_;
  const std::optional<Device> before_;
};

/// Sets the origin of the ops that are called during its lifetime.
class OriginScope {
 public:
  OriginScope(Ops& ops, const Origin& origin) : ops_(ops), before_(std::exchange(ops.origin_, &origin)) {}
  ~OriginScope() { ops_.origin_ = before_; }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  Ops& ops_;
  const Origin* const before_;
};

/// Records the ops that are called during its lifetime as they are, also where the device runs their definitions
/// faster.
class KernelScope {
 public:
  explicit KernelScope(Ops& ops) : ops_(ops), before_(std::exchange(ops.wants_kernels_, true)) {}
  ~KernelScope() { ops_.wants_kernels_ = before_; }
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  Ops& ops_;
  const bool before_;
};

/// Maps the ops that are called during its lifetime over a batch; with null over none. The batch is open meanwhile.
class BatchScope {
 public:
  BatchScope(Ops& ops, Ref<Batch> batch) : ops_(ops), before_(std::exchange(ops.batch_, std::move(batch))) {
    if (ops_.batch_) was_open_ = std::exchange(ops_.batch_->is_open, true);
  }
  ~BatchScope() {
    if (ops_.batch_) ops_.batch_->is_open = was_open_;
    ops_.batch_ = before_;
  }
  BatchScope(const BatchScope&) = delete;
  BatchScope& operator=(const BatchScope&) = delete;

 private:
  Ops& ops_;
  const Ref<Batch> before_;
  bool was_open_ = false;
};

// ---- Batches ---------------------------------------------------------------------------------------------

/// A checked call on examples of a batch.
struct BatchCall {
  Ops& ops;
  const Ref<Batch>& batch;
  const OpDef& op;
  std::span<const Operand> inputs;  // those of an elementwise op have one shape
  const Attrs& attrs;
  std::span<const TensorType> types;  // of one example's results
};

inline bool is_example(const Tensor& tensor) { return static_cast<bool>(tensor->batch); }

/// Returns the level of a tensor's batch; 0 if it is no example.
inline int batch_level(const Tensor& tensor) { return tensor->batch ? tensor->batch->level : 0; }
int batch_level(std::span<const Operand> operands);
/// Returns the level of the innermost batch over which the running function is mapped; 0 if it is not mapped.
int function_level(const Ops& ops);

/// Returns the tensor that stands for one of these examples, which lie along axis 0.
Tensor example_of(const Ref<Batch>& batch, const Tensor& examples);
/// Returns all examples along axis 0: repeated, if the tensor is the same for all.
Tensor all_examples(Ops& ops, const Ref<Batch>& batch, const Tensor& tensor);

/// Returns the batch over which a call must be mapped: the innermost of the operands, and for random numbers the
/// innermost of all. Throws Failure if an example has left its function.
Ref<Batch> batch_of(const Ops& ops, const OpDef& op, std::span<const Operand> operands);
/// Makes a call for all examples, and fills `results` with what stands for one.
void map_call(const BatchCall& call, std::span<Tensor> results);

/// Fails since elements of an example are read: there is one for each example.
[[noreturn]] void fail_read(const Tensor& example);

// ---- Short forms -----------------------------------------------------------------------------------------

// Short forms of ops that C++ code calls often. Axes count from the end when negative.
Tensor cast(Ops&, const Tensor& x, DType dtype);
/// Converts integers to i64, as ops take indices. An element of u64 beyond i64 is then the greatest, which is no index.
Tensor as_index(Ops&, const Tensor& integers);
Tensor permute(Ops&, const Tensor& x, const Ints& order);
/// Returns another handle to the same elements, through a call. Tapes that record the call connect both handles; for
/// other tapes the new handle is a constant.
Tensor alias(Ops&, const Tensor& x);
/// Returns another handle to the same elements, which all tapes take for a constant.
Tensor constant(const Tensor& x);
Tensor move_axis(Ops&, const Tensor& x, int64_t from, int64_t to);
Tensor transpose(Ops&, const Tensor& x);  // swaps the last two axes
Tensor expand(Ops&, const Tensor& x, const Shape& shape);
Tensor reshape(Ops&, const Tensor& x, const Shape& shape);  // one extent may be -1
Tensor slice(Ops&, const Tensor& x, int64_t axis, Dim start, Dim count, int64_t step = 1);
Tensor sum(Ops&, const Tensor& x, const Ints& axes, bool keepdims);
Tensor fill(Ops&, const Shape& shape, DType dtype, Scalar value);
/// Returns zeros of `shape`, with `value` stored at the elements of `view`.
Tensor embed(Ops&, const Tensor& value, const Shape& shape, const Layout& view);
Tensor matmul(Ops&, const Tensor& a, const Tensor& b);
Tensor to_device(Ops&, const Tensor& x, Device device);  // x itself if it is there already

}  // namespace tsl
