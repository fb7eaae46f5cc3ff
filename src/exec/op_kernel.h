// How a device runs an op that is never fused: by an op kernel, which a row of its table makes. A backend
// runs what no row does by generated kernels, by others of its own, or on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/executable.h"
#include "graph/graph.h"

namespace tsl::exec {

/// The most operands of a node that an op kernel runs: no row runs one of more.
inline constexpr size_t kMostOperands = 6;

/// The memory of one call of an op kernel. On a device that works on a stream, its addresses are of the device, and
/// whoever made the op kernel has given it the device.
struct OpCall {
  /// Per tensor operand: the address of its element (0, 0, …).
  std::span<const std::byte* const> operands;
  std::span<std::byte* const> results;  // without gaps; null: nothing reads the result
  std::byte* workspace;                 // OpKernel::workspace_bytes()
  /// Reports a failure that depends on elements: the failing element, and the value that describes it. On the host.
  const std::function<void(int64_t element, int64_t value)>* report = nullptr;
  /// On a device, in its memory: the kernel lowers this i64 to each failing element. The value that
  /// describes it is its number.
  std::byte* failed = nullptr;
};

/// Runs one node. Allocates no memory of the device while it runs.
class OpKernel {
 public:
  virtual ~OpKernel() = default;
  /// Returns the name for profiles: "cholesky (LAPACK)".
  virtual std::string name() const = 0;
  /// Returns the bytes that the kernel needs while it runs.
  virtual uint64_t workspace_bytes() const { return 0; }
  /// Returns the bytes of host memory that the kernel keeps between runs, for tables.
  virtual uint64_t table_bytes() const { return 0; }
  /// Returns a permutation of an operand's layout in whose order the operand is to lie without gaps: it is copied if it
  /// does not. Null: the kernel reads the operand as it lies.
  virtual const Layout* order_of(size_t /*operand*/, const Layout& layout) const { return &layout; }
  /// On a device: enqueues the work on its stream.
  virtual void run(const OpCall& call) = 0;

  /// Whether run() only enqueues work, so that a device may record it in a graph and repeat it.
  virtual bool is_recordable() const { return false; }
  /// Whether a recording of this call would load nothing: the library has loaded all it needs. Allocates what the
  /// recorded call needs.
  virtual bool can_record(const OpCall&) { return true; }
};

// ---- The table of a backend
// ------------------------------------------------------------------------------------------

/// Why a row that does not refuse a node does not run it.
inline constexpr std::string_view kMissingKernel = "not installed, or it has no kernel for these sizes";

/// A row: a kernel for nodes of some ops.
struct KernelRow {
  std::string_view name;  // "cuBLASLt"; a name of its own among the rows of an op
  std::vector<Op> ops;
  /// Says why the row does not run a node, or which rows behind it are faster there; "": it runs the node. Null: it
  /// runs all. A function of dtype, shapes, orders of memory and the device alone, so that eager and compiled runs take
  /// the same row.
  std::function<std::string_view(const graph::Node&)> refusal;
  /// Makes the kernel; null: its library is not installed, or has no kernel for the node.
  std::function<std::unique_ptr<OpKernel>(const graph::Node&)> make;
  /// Of ops with a definition: says why a call is made by that and not by the row; "", or null: it is not. `is_named`:
  /// TSL_KERNELS names the row, which then refuses only what it cannot run.
  std::function<std::string_view(std::span<const Operand>, const Attrs&, bool is_named)> refuses_call = {};
  /// Whether the row runs a product with its epilogue; null: none.
  std::function<bool(const graph::Node&)> has_epilogue = {};
  /// As of graph::Target; null: none.
  std::function<std::optional<graph::PaddedProduct>(const graph::Node&)> padded = {};
};

/// Returns the ops of a table of pairs: an op, and what makes its kernel.
template <class Pairs> std::vector<Op> ops_of(const Pairs& pairs) {
  std::vector<Op> ops;
  for (const auto& [op, make] : pairs) ops.push_back(op);
  return ops;
}

/// The rows of a backend, in the order in which they are asked. For measurements and tests, TSL_KERNELS=op:row,… in the
/// environment, or a NamedRow, refuses the other rows of an op where the named one runs the node; bits may differ.
class KernelRows {
 public:
  KernelRows();
  void add(std::vector<KernelRow> rows);
  /// Returns the op kernel of the first row that has one; null: none has. Fails (value) if TSL_KERNELS names a row that
  /// its op does not have.
  std::unique_ptr<OpKernel> find(const graph::Node& node) const;
  /// Returns the rows of a node's op, and which one is taken; last `otherwise`, which runs what no row does.
  std::vector<KernelCandidate> candidates(const graph::Node& node, std::string_view otherwise) const;
  /// As graph::Target. TSL_KERNELS=op:definition makes all calls by the definition.
  std::string_view no_kernel(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) const;
  bool has_epilogue(const graph::Node& node) const;
  std::optional<graph::PaddedProduct> padded(const graph::Node& node) const;

 private:
  friend class NamedRow;
  /// Calls visit(row) for the rows of an op, in order, until it returns true; the second, visit(row, refusal).
  template <class Visit> void for_rows_of(Op op, Visit visit) const;
  template <class Visit> void for_rows(const graph::Node& node, Visit visit) const;
  /// Returns the row that TSL_KERNELS names for an op; null: none, or its definition.
  const KernelRow* named_row(const OpDef& op) const;
  /// As above, unless it does not run the node.
  const KernelRow* forced_row(const graph::Node& node) const;
  /// Returns what TSL_KERNELS says of an op; "": nothing.
  std::string_view forced_name(const OpDef& op) const;

  std::vector<KernelRow> rows_;
  std::vector<std::pair<std::string, std::string>> forced_;  // an op and its row
};

/// Names the row of an op during its lifetime, whatever TSL_KERNELS says of it.
class NamedRow {
 public:
  NamedRow(KernelRows& rows, const OpDef& op, std::string_view row) : rows_(rows), before_(rows.forced_) {
    rows.forced_.insert(rows.forced_.begin(), {std::string(op.name), std::string(row)});
  }
  ~NamedRow() { rows_.forced_.swap(before_); }
  NamedRow(const NamedRow&) = delete;
  NamedRow& operator=(const NamedRow&) = delete;

 private:
  KernelRows& rows_;
  std::vector<std::pair<std::string, std::string>> before_;
};

}  // namespace tsl::exec
