// What the factorisations of a GPU share. cuSOLVER's matrices are in columns, so that a matrix in rows is its transpose
// to it. All are computed in f64, as the CPU's are.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/libraries/cublas.h"
#include "backend/cuda/libraries/cusolver.h"
#include "backend/cuda/libraries/handle.h"
#include "backend/cuda/libraries/optional_library.h"
#include "backend/cuda/libraries/own_kernel.h"

namespace tsl::cuda {

/// cuBLAS, for batches of small matrices.
struct BatchSolver {
  explicit BatchSolver(Gpu& gpu) : gpu(gpu) {}
  /// Returns the handle, for calls on the device's stream.
  cublasHandle_t on_stream() const {
    library.check(library.cublasSetStream_v2(handle.get(), gpu.device.stream()), "choosing a stream");
    return handle.get();
  }

  Gpu& gpu;
  Cublas library{gpu.device.driver().version_number()};
  Handle<cublasHandle_t> handle{
      gpu.device, [this](cublasHandle_t* made) { library.check(library.cublasCreate_v2(made), "starting"); }};
};

/// cuSOLVER with all that its calls need on one GPU.
struct Solver {
  explicit Solver(Gpu& gpu);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Returns the handle, for calls on the device's stream.
  cusolver::Handle on_stream() const {
    library.check(library.cusolverDnSetStream(handle.get(), gpu.device.stream()), "choosing a stream");
    return handle.get();
  }
  /// Returns an address of the device, for questions about sizes, which need one and do not read it.
  template <class T> T* any_address() const { return reinterpret_cast<T*>(gpu.workspace(0)); }

  Gpu& gpu;
  Cusolver library{gpu.device.driver().version_number()};
  Handle<cusolver::Handle> handle{
      gpu.device, [this](cusolver::Handle* made) { library.check(library.cusolverDnCreate(made), "starting"); }};
  cusolver::Params params = nullptr;
  cusolver::Jacobi jacobi = nullptr;
  cusolver::SingularJacobi singular_jacobi = nullptr;
  OptionalLibrary<BatchSolver> batches;
};

/// A batch of matrices that is factorised, and what all factorisations do.
class FactorisationKernel : public exec::OpKernel {
 public:
  FactorisationKernel(const graph::Node& node, Solver& solver);
  uint64_t workspace_bytes() const override { return bytes_; }
  void run(const exec::OpCall& call) override {
    if (!is_empty()) factorise(call);
  }

 protected:
  static constexpr int64_t kMostBatches = 32768;  // in one call

  virtual bool is_empty() const { return rows_ * columns_ * count_ == 0; }
  int64_t elements() const { return count_ * rows_ * columns_; }
  int64_t least() const { return std::min(rows_, columns_); }
  Gpu& gpu() const { return solver_.gpu; }
  const Device& device() const { return solver_.gpu.device; }
  const Cusolver& library() const { return solver_.library; }
  std::string type() const { return std::string(tsl::name_of(dtype_)); }

  /// Reserves a part of the workspace. Returns its offset.
  uint64_t reserve(uint64_t bytes);
  uint64_t reserve_doubles(int64_t count) { return reserve(sizeof(double) * static_cast<uint64_t>(count)); }
  static CUdeviceptr part(const exec::OpCall& call, uint64_t offset) { return address_of(call.workspace) + offset; }
  static CUdeviceptr result(const exec::OpCall& call, size_t which) { return address_of(call.results[which]); }
  template <class T> static T* at(CUdeviceptr address) { return reinterpret_cast<T*>(address); }

  Solver& solver_;
  DType dtype_;
  int64_t rows_, columns_, count_;

 private:
  virtual void factorise(const exec::OpCall& call) = 0;

  uint64_t bytes_ = 0;
};

/// Converts matrices in rows to matrices of f64 in columns.
class ColumnReader {
 public:
  ColumnReader() = default;
  ColumnReader(Gpu& gpu, DType dtype);
  /// Reads `count` matrices [rows, columns]; those it writes begin `step` elements apart. `failed`: lowered to matrices
  /// with elements that are not finite, which become 0; null: nothing is checked.
  void enqueue(const Device& device, CUdeviceptr in, CUdeviceptr out, int64_t count, int64_t rows, int64_t columns,
               int64_t step, CUdeviceptr failed = 0) const {
    kernel_.enqueue(device, count * rows * columns, in, out, rows, columns, step, failed);
  }

 private:
  OwnKernel kernel_;
};

/// Which elements of a matrix are written; the others become 0.
enum class Written : int64_t { all, upper };

/// Converts matrices of f64 in columns to matrices in rows.
class RowWriter {
 public:
  RowWriter() = default;
  RowWriter(Gpu& gpu, DType dtype);
  /// Writes `count` matrices [rows, columns]; those it reads have columns of `length` elements and begin `step`
  /// elements apart. Nothing if `out` is null.
  void enqueue(const Device& device, CUdeviceptr in, CUdeviceptr out, int64_t count, int64_t rows, int64_t columns,
               int64_t length, int64_t step, Written written = Written::all) const {
    if (out) kernel_.enqueue(device, count * rows * columns, in, out, rows, columns, length, step, written);
  }

 private:
  OwnKernel kernel_;
};

/// Return the op kernels of the factorisations of general matrices; null: the host runs the node.
std::unique_ptr<exec::OpKernel> make_solve(const graph::Node& node, Solver& solver);
std::unique_ptr<exec::OpKernel> make_lu(const graph::Node& node, Solver& solver);
std::unique_ptr<exec::OpKernel> make_qr(const graph::Node& node, Solver& solver);
std::unique_ptr<exec::OpKernel> make_svd(const graph::Node& node, Solver& solver);

}  // namespace tsl::cuda
