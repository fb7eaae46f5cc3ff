// What factorisations by LAPACK share. Its matrices are in columns, so that a matrix in rows is its transpose to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

#include "backend/cpu/products/thread_memory.h"
#include "backend/cpu/threads.h"
#include "base/run_watch.h"
#include "exec/matrix_layout.h"
#include "exec/op_kernel.h"
#include "graph/plan.h"

namespace tsl::cpu::lapack {

/// The extents of the matrices of a batch.
struct Extents {
  int64_t rows, columns;
  int64_t least() const { return std::min(rows, columns); }
  int64_t elements() const { return rows * columns; }
};

/// Returns the shape of the first operand's matrices, without the axis of pairs.
inline Shape matrices_of(const graph::Node& node) {
  Shape shape = node.args[0].layout.shape;
  if (node.attrs.pairs) shape.erase(shape.rank() - 1);
  return shape;
}

/// Returns the extents of the first operand's matrices.
inline Extents extents_of(const graph::Node& node) {
  const Shape shape = matrices_of(node);
  return {shape[shape.rank() - 2].hint(), shape[shape.rank() - 1].hint()};
}

/// Ends the run if its deadline comes before LAPACK could be done with one matrix, for which it cannot be interrupted.
class TimeModel {
 public:
  explicit TimeModel(const graph::Node& node);
  void require() const { require_time(seconds_); }

 private:
  double seconds_;
};

/// A factorisation of each matrix of a batch, computed in f64 whatever the dtype, as NumPy's are: the results are
/// f64's, rounded once.
class FactorisationKernel : public exec::OpKernel {
 public:
  /// `bytes`: the workspace of a matrix.
  FactorisationKernel(const graph::Node& node, ThreadPool& pool, uint64_t bytes)
      : pool_(pool),
        count_(exec::batch_count(matrices_of(node))),
        extents_(extents_of(node)),
        bytes_each_(graph::aligned(bytes)),
        time_(node) {}
  uint64_t workspace_bytes() const override {
    return bytes_each_ * static_cast<uint64_t>(count_ > 1 ? pool_.size() : 1);
  }
  void run(const exec::OpCall& call) override {
    if (is_empty()) return;
    if (count_ == 1) {
      time_.require();
      return factorise_one(call, 0, call.workspace);
    }
    pool_.parallel_for(count_, [&](int64_t i, int worker) {
      time_.require();
      factorise_one(call, i, call.workspace + static_cast<uint64_t>(worker) * bytes_each_);
    });
  }

 protected:
  const Extents& extents() const { return extents_; }

 private:
  /// Whether there is nothing to compute.
  virtual bool is_empty() const { return extents_.elements() == 0; }
  /// Factorises matrix i, or reports that it has no factors.
  virtual void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const = 0;

  ThreadPool& pool_;
  int64_t count_;
  Extents extents_;
  uint64_t bytes_each_;
  TimeModel time_;
};

inline constexpr int64_t kTile = 32;  // rows and columns whose elements are moved while they are in the cache

/// Calls visit(row, column) for each element, a tile after the other.
template <class Visit> void for_each(int64_t rows, int64_t columns, Visit&& visit) {
  for (int64_t top = 0; top < rows; top += kTile) {
    for (int64_t left = 0; left < columns; left += kTile) {
      const int64_t bottom = std::min(rows, top + kTile), right = std::min(columns, left + kTile);
      for (int64_t row = top; row < bottom; ++row) {
        for (int64_t column = left; column < right; ++column) visit(row, column);
      }
    }
  }
}

/// Transposes a matrix in rows: tiles of blocks, which the compiler keeps in registers.
template <class From, class To> void turn(const From* in, int64_t rows, int64_t columns, To* out) {
  constexpr int64_t kBlock = 4;
  const int64_t whole_rows = rows / kBlock * kBlock, whole_columns = columns / kBlock * kBlock;
  for (int64_t left = 0; left < whole_columns; left += kTile) {
    for (int64_t top = 0; top < whole_rows; top += kTile) {
      const int64_t bottom = std::min(whole_rows, top + kTile), right = std::min(whole_columns, left + kTile);
      for (int64_t column = left; column < right; column += kBlock) {
        for (int64_t row = top; row < bottom; row += kBlock) {
          To block[kBlock][kBlock];
          for (int64_t i = 0; i < kBlock; ++i) {
            for (int64_t j = 0; j < kBlock; ++j) block[j][i] = static_cast<To>(in[(row + i) * columns + column + j]);
          }
          for (int64_t j = 0; j < kBlock; ++j) std::copy_n(block[j], kBlock, out + (column + j) * rows + row);
        }
      }
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = row < whole_rows ? whole_columns : 0; column < columns; ++column)
      out[column * rows + row] = static_cast<To>(in[row * columns + column]);
  }
}

/// Copies a matrix in rows to one in columns.
template <class T> void read_columns(const T* in, Extents extents, double* out) {
  turn(in, extents.rows, extents.columns, out);
}

/// Copies a matrix in columns to one in rows.
template <class T> void write_rows(const double* in, Extents extents, T* out) {
  turn(in, extents.columns, extents.rows, out);
}

template <class T> const T* operand(const exec::OpCall& call, size_t which, int64_t offset) {
  return reinterpret_cast<const T*>(call.operands[which]) + offset;
}

/// Returns part of a result; null: nothing reads it.
template <class T> T* result(const exec::OpCall& call, size_t which, int64_t offset) {
  return call.results[which] ? reinterpret_cast<T*>(call.results[which]) + offset : nullptr;
}

inline uint64_t bytes_of(int64_t doubles, int64_t ints = 0) {
  return sizeof(double) * static_cast<uint64_t>(doubles) + sizeof(int) * static_cast<uint64_t>(ints);
}

/// Writes row exchanges, which LAPACK counts from 1, and the order of rows that they give; nothing for null.
inline void write_row_order(const int* pivots, int64_t rows, int64_t least, int64_t* exchanges, int64_t* order) {
  if (exchanges) std::transform(pivots, pivots + least, exchanges, [](int pivot) { return int64_t{pivot} - 1; });
  if (!order) return;
  std::iota(order, order + rows, int64_t{0});
  for (int64_t row = 0; row < least; ++row) std::swap(order[row], order[pivots[row] - 1]);
}

/// Makes an op kernel for a node's dtype.
template <template <class> class Kernel>
std::unique_ptr<exec::OpKernel> make(const graph::Node& node, ThreadPool& pool) {
  if (node.dtype == DType::f32) return std::make_unique<Kernel<float>>(node, pool);
  return std::make_unique<Kernel<double>>(node, pool);
}

/// Makes the op kernel that a table of pairs has for a node's op; null if it has none.
template <class Rows>
std::unique_ptr<exec::OpKernel> make_by_op(const Rows& rows, const graph::Node& node, ThreadPool& pool) {
  for (const auto& [op, make_kernel] : rows) {
    if (op == node.op) return make_kernel(node, pool);
  }
  return nullptr;
}

/// Returns the op kernels of factorisations of complex matrices, whose numbers are pairs.
std::unique_ptr<exec::OpKernel> make_complex(const graph::Node& node, ThreadPool& pool);

}  // namespace tsl::cpu::lapack
