#include "backend/cuda/libraries/matmul.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "backend/cuda/driver/memory.h"
#include "backend/cuda/libraries/cublaslt.h"
#include "backend/cuda/libraries/handle.h"
#include "base/error_names.h"

namespace tsl::cuda {

namespace {

constexpr uint64_t kWorkspace = uint64_t{32} << 20;  // NVIDIA's advice for Hopper
constexpr int kCandidates = 8;                       // algorithms to request; the first one that runs is used
constexpr int64_t kMostBatches = 65535;              // per call: some kernels use the batch as a grid's z
constexpr int64_t kMostRows = int64_t{1} << 30;      // in one call
constexpr int64_t kMostExtent = INT32_MAX;           // of sums and rows of the result: kernels count in 32 bits
constexpr uint32_t kAlignment = 16;                  // no kernel requires more
constexpr int64_t kMostBias = int64_t{1} << 20;      // bytes; bounds the buffer for an aligned copy

// ---- cuBLASLt's types ----

struct Types {
  cudaDataType_t element;
  cublasComputeType_t compute;
  cudaDataType_t scale;
};

Types types_of(const Gemm& gemm) {
  const auto f32 = gemm.tf32 && gemm.dtype == DType::f32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const std::pair<DType, Types> all[] = {{DType::f16, {CUDA_R_16F, f32, CUDA_R_32F}},
                                         {DType::bf16, {CUDA_R_16BF, f32, CUDA_R_32F}},
                                         {DType::f32, {CUDA_R_32F, f32, CUDA_R_32F}},
                                         {DType::f64, {CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F}}};
  for (const auto& [dtype, types] : all) {
    if (dtype == gemm.dtype) return types;
  }
  fail(ErrorName::device_defect, "internal error: no matrix product of {} by cuBLASLt", name_of(gemm.dtype));
}

/// The activations that cuBLASLt applies; Op::copy is none.
struct Activation {
  Op op;
  cublasLtEpilogue_t alone, after_bias;
};
constexpr Activation kActivations[] = {
    {Op::copy, CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS},
    {Op::relu, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS},
    {Op::gelu_tanh, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS},
};

const Activation* activation_of(const Gemm& gemm) {
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const Activation& a) { return a.op == gemm.epilogue.activation; });
  return found == std::end(kActivations) ? nullptr : found;
}

cublasLtEpilogue_t epilogue_of(const Gemm& gemm) {
  const Activation* const activation = activation_of(gemm);
  if (!activation)
    fail(ErrorName::device_defect, "internal error: no epilogue with {} by cuBLASLt",
         op_def(gemm.epilogue.activation).name);
  return gemm.epilogue.bias ? activation->after_bias : activation->alone;
}

// ---- Problems ----

uint32_t alignment_of(CUdeviceptr address) {
  const uint64_t lowest = address & (~address + 1);
  return address == 0 ? kAlignment : static_cast<uint32_t>(std::min<uint64_t>(lowest, kAlignment));
}

/// A product as cuBLASLt computes it. Its algorithm depends only on dense(gemm) and on the alignment of c, which is
/// always the same in plans.
struct Key {
  Gemm gemm;
  uint32_t c_alignment;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    const Gemm& p = key.gemm;
    uint64_t hash = 0;
    const auto mix = [&](int64_t value) {
      hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15ull;
      hash ^= hash >> 29;
    };
    for (const int64_t value : {static_cast<int64_t>(p.dtype), p.m, p.n, p.k, p.batch, int64_t{p.tf32}}) mix(value);
    mix(static_cast<int64_t>(p.epilogue.activation) * 2 + p.epilogue.bias);
    for (const MatrixOperand& operand : {p.a, p.b, p.c}) {
      mix(operand.leading);
      mix(operand.transposed);
      mix(operand.batch_stride);
    }
    mix(key.c_alignment);
    return static_cast<size_t>(hash);
  }
};

/// Removes differences that have no effect: the strides between rows or matrices if there is only one.
Gemm normalised(Gemm gemm) {
  const auto normalise = [&](MatrixOperand& operand, int64_t rows, int64_t columns) {
    if (operand.transposed) std::swap(rows, columns);
    if (rows == 1) operand.leading = columns;
    if (gemm.batch == 1) operand.batch_stride = 0;
  };
  normalise(gemm.a, gemm.m, gemm.k);
  normalise(gemm.b, gemm.k, gemm.n);
  normalise(gemm.c, gemm.m, gemm.n);
  if (gemm.dtype != DType::f32) gemm.tf32 = false;
  return gemm;
}

/// Returns the same product, of matrices without gaps.
Gemm dense(Gemm gemm) {
  const auto close_gaps = [&](MatrixOperand& operand, int64_t rows, int64_t columns) {
    operand.leading = operand.transposed ? rows : columns;
    operand.batch_stride = gemm.batch == 1 ? 0 : rows * columns;
  };
  close_gaps(gemm.a, gemm.m, gemm.k);
  close_gaps(gemm.b, gemm.k, gemm.n);
  close_gaps(gemm.c, gemm.m, gemm.n);
  return gemm;
}

/// The descriptors of a problem, and its algorithm. cuBLASLt's matrices are column-major, so it computes c^T = b^T a^T:
/// memory that holds the rows of a holds the columns of a^T.
class MatmulProblem {
 public:
  /// `plain` is the problem of dense(key.gemm), whose algorithm this takes; null if this is the dense problem.
  MatmulProblem(const CublasLt& blas, cublasLtHandle_t handle, const Key& key, const MatmulProblem* plain)
      : blas_(blas), types_(types_of(key.gemm)) {
    try {
      describe(key.gemm);
      if (!plain || !take_algorithm(handle, *plain)) choose(handle, key);
    } catch (...) {
      release();
      throw;
    }
  }
  ~MatmulProblem() { release(); }
  MatmulProblem(const MatmulProblem&) = delete;
  MatmulProblem& operator=(const MatmulProblem&) = delete;

  bool has_algorithm() const { return has_algorithm_; }
  bool has_run() const { return has_run_; }

  void run(cublasLtHandle_t handle, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, CUdeviceptr bias,
           CUdeviceptr workspace, CUstream stream) {
    if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    static constexpr float one_f32 = 1, zero_f32 = 0;
    static constexpr double one_f64 = 1, zero_f64 = 0;
    const bool is_f64 = types_.scale == CUDA_R_64F;
    const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    blas_.check(
        blas_.cublasLtMatmul(handle, operation_, is_f64 ? static_cast<const void*>(&one_f64) : &one_f32, pointer(b), b_,
                             pointer(a), a_, is_f64 ? static_cast<const void*>(&zero_f64) : &zero_f32, pointer(c), c_,
                             pointer(c), c_, &algorithm_, pointer(workspace), kWorkspace, stream),
        "multiplying matrices");
    has_run_ = true;
  }

 private:
  void describe(const Gemm& p) {
    blas_.check(blas_.cublasLtMatmulDescCreate(&operation_, types_.compute, types_.scale), "describing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.epilogue != graph::Epilogue()) set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p));
    // The heuristic depends on the pointer's alignment.
    if (p.epilogue.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUdeviceptr{kAlignment});
    a_ = layout(p.a, p.m, p.k, p.batch);
    b_ = layout(p.b, p.k, p.n, p.batch);
    c_ = layout(p.c, p.m, p.n, p.batch);
  }

  void set(cublasLtMatmulDescAttributes_t attribute, auto value) {
    blas_.check(blas_.cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value),
                "describing a product");
  }

  cublasLtMatrixLayout_t layout(const MatrixOperand& operand, int64_t rows, int64_t columns, int64_t batch) const {
    if (operand.transposed) std::swap(rows, columns);
    cublasLtMatrixLayout_t layout = nullptr;
    blas_.check(blas_.cublasLtMatrixLayoutCreate(&layout, types_.element, static_cast<uint64_t>(columns),
                                                 static_cast<uint64_t>(rows), operand.leading),
                "describing a matrix");
    const auto count = static_cast<int32_t>(batch);
    const int64_t stride = operand.batch_stride;
    cublasStatus_t status =
        blas_.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = blas_.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                      sizeof stride);
    }
    if (status != CUBLAS_STATUS_SUCCESS) blas_.cublasLtMatrixLayoutDestroy(layout);
    blas_.check(status, "describing a matrix");
    return layout;
  }

  /// Whether the algorithm of another problem computes this one.
  bool take_algorithm(cublasLtHandle_t handle, const MatmulProblem& other) {
    cublasLtMatmulHeuristicResult_t result = {};
    has_algorithm_ = other.has_algorithm_ &&
                     blas_.cublasLtMatmulAlgoCheck(handle, operation_, b_, a_, c_, c_, &other.algorithm_, &result) ==
                         CUBLAS_STATUS_SUCCESS &&
                     result.workspaceSize <= kWorkspace;
    if (has_algorithm_) algorithm_ = other.algorithm_;
    return has_algorithm_;
  }

  /// Chooses the algorithm, a function of the problem, the library and the device. Split sums are allowed only with
  /// partial sums in the accumulator's type, added in a fixed order.
  void choose(cublasLtHandle_t handle, const Key& key) {
    cublasLtMatmulPreference_t preference = nullptr;
    blas_.check(blas_.cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm");
    cublasLtMatmulHeuristicResult_t found[kCandidates] = {};
    int count = 0;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      if (status == CUBLAS_STATUS_SUCCESS)
        status = blas_.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspace});
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kAlignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.c_alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.c_alignment);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = blas_.cublasLtMatmulAlgoGetHeuristic(handle, operation_, b_, a_, c_, c_, preference, kCandidates, found,
                                                    &count);
    }
    blas_.cublasLtMatmulPreferenceDestroy(preference);
    // These results mean that there is no algorithm or, for some epilogues, that the request is invalid.
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE)
      blas_.check(status, "choosing an algorithm");
    for (int i = 0; i < count; ++i) {
      if (found[i].state != CUBLAS_STATUS_SUCCESS || found[i].workspaceSize > kWorkspace) continue;
      algorithm_ = found[i].algo;
      has_algorithm_ = true;
      return;
    }
  }

  void release() {
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_})
      if (layout) blas_.cublasLtMatrixLayoutDestroy(layout);
    if (operation_) blas_.cublasLtMatmulDescDestroy(operation_);
  }

  const CublasLt& blas_;
  Types types_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
  bool has_algorithm_ = false, has_run_ = false;
};

}  // namespace

// ---- Products ----

struct Matmul::State {
  State(Device& on, Allocator& from) : device(on), allocator(from) {
    const size_t number = blas.cublasLtGetVersion();
    version = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
  }

  MatmulProblem& problem(const Gemm& gemm, CUdeviceptr c) {
    const Key key{gemm, alignment_of(c)};
    MatmulProblem& found = problem(key);
    const Gemm& p = key.gemm;
    if (!found.has_algorithm()) {
      fail(ErrorName::no_kernel, "cuBLASLt cannot multiply {}x{} by {}x{} matrices of {} ({} of them)", p.m, p.k, p.k,
           p.n, name_of(p.dtype), p.batch);
    }
    return found;
  }
  MatmulProblem& problem(const Key& key) {
    std::unique_ptr<MatmulProblem>& slot = problems[key];
    if (slot) return *slot;
    const Key plain{dense(key.gemm), key.c_alignment};
    slot = std::make_unique<MatmulProblem>(blas, handle.get(), key, plain == key ? nullptr : &problem(plain));
    return *slot;
  }

  /// Fills the result with zeros: a sum over no elements.
  void zero(const Gemm& p, CUdeviceptr c) {
    const size_t size = size_of(p.dtype), row = static_cast<size_t>(p.n) * size;
    for (int64_t i = 0; i < p.batch; ++i) {
      const CUdeviceptr at = c + static_cast<uint64_t>(i * p.c.batch_stride) * size;
      if (p.c.leading == p.n || p.m == 1) {
        device.fill(at, 0, row * static_cast<size_t>(p.m));
      } else {
        device.check(device.driver().cuMemsetD2D8Async(at, static_cast<size_t>(p.c.leading) * size, 0, row,
                                                       static_cast<size_t>(p.m), device.stream()),
                     "filling a matrix");
      }
    }
  }

  /// Returns the operand's address or, if it is not aligned, that of a copy: algorithms are chosen for aligned
  /// operands. The copy is made on the stream if `is_now`.
  CUdeviceptr aligned_operand(const Gemm& gemm, const MatrixOperand& operand, int64_t rows, int64_t columns,
                              CUdeviceptr at, Ref<Storage>& copy, bool is_now) {
    if (alignment_of(at) == kAlignment) {
      copy = nullptr;
      return at;
    }
    if (operand.transposed) std::swap(rows, columns);
    const int64_t count = (gemm.batch - 1) * operand.batch_stride + (rows - 1) * operand.leading + columns;
    const uint64_t bytes = static_cast<uint64_t>(count) * size_of(gemm.dtype);
    if (!copy || copy->bytes() < bytes) copy = allocator.allocate(bytes);
    const CUdeviceptr to = address_of(copy->data());
    if (is_now) device.copy_on_device(to, at, bytes);
    return to;
  }

  /// Returns the bias's address or, if it is not aligned, that of a copy: kernels assume an aligned bias, since the
  /// alignments given to cuBLASLt do not include it.
  CUdeviceptr aligned_bias(const Gemm& gemm, CUdeviceptr bias, CUdeviceptr copy) const {
    if (alignment_of(bias) == kAlignment) return bias;
    device.copy_on_device(copy, bias, static_cast<uint64_t>(gemm.n) * size_of(gemm.dtype));
    return copy;
  }

  Device& device;
  Allocator& allocator;
  CublasLt blas{device.driver().version_number()};
  Handle<cublasLtHandle_t> handle{device,
                                  [&](cublasLtHandle_t* made) { blas.check(blas.cublasLtCreate(made), "starting"); }};
  std::string version;
  std::unordered_map<Key, std::unique_ptr<MatmulProblem>, KeyHash> problems;
};

Matmul::Matmul(Device& device, Allocator& allocator) : state_(std::make_unique<State>(device, allocator)) {}

Matmul::~Matmul() = default;

const std::string& Matmul::version() const { return state_->version; }

template <class Visit> void Matmul::for_each_part(const Gemm& gemm, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
                                                  GemmCopies& copies, bool is_now, Visit&& visit) {
  if (gemm.k > kMostExtent || gemm.n > kMostExtent) {
    fail(ErrorName::launch_too_large,
         "matmul: {}x{} by {}x{} matrices have a dimension beyond 2^31 - 1, the most that cuBLASLt takes", gemm.m,
         gemm.k, gemm.k, gemm.n);
  }
  const auto size = static_cast<int64_t>(size_of(gemm.dtype));
  size_t count = 0;  // of the operands so far
  for (int64_t row = 0; row < gemm.m; row += kMostRows) {
    for (int64_t first = 0; first < gemm.batch; first += kMostBatches) {
      Gemm part = gemm;
      part.m = std::min(gemm.m - row, kMostRows);
      part.batch = std::min(gemm.batch - first, kMostBatches);
      const auto offset = [&](const MatrixOperand& operand, int64_t from_row) {
        const int64_t step = operand.transposed ? 1 : operand.leading;
        return static_cast<CUdeviceptr>((first * operand.batch_stride + from_row * step) * size);
      };
      part = normalised(part);
      if (copies.size() < count + 2) copies.resize(count + 2);
      const CUdeviceptr from_a =
          state_->aligned_operand(part, part.a, part.m, part.k, a + offset(gemm.a, row), copies[count], is_now);
      const CUdeviceptr from_b =
          state_->aligned_operand(part, part.b, part.k, part.n, b + offset(gemm.b, 0), copies[count + 1], is_now);
      visit(part, from_a, from_b, c + offset(gemm.c, row));
      count += 2;
    }
  }
}

void Matmul::run(const Gemm& gemm, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, CUdeviceptr workspace, CUdeviceptr bias,
                 GemmCopies* copies) {
  if (gemm.m == 0 || gemm.n == 0) return;
  if (gemm.k == 0) return state_->zero(gemm, c);
  bias = gemm.epilogue.bias ? state_->aligned_bias(gemm, bias, workspace + kWorkspace) : 0;
  GemmCopies own;  // the stream's next user of their memory comes after the product
  for_each_part(gemm, a, b, c, copies ? *copies : own, true,
                [&](const Gemm& part, CUdeviceptr pa, CUdeviceptr pb, CUdeviceptr pc) {
                  state_->problem(part, pc).run(state_->handle.get(), pa, pb, pc, bias, workspace,
                                                state_->device.stream());
                });
}

uint64_t Matmul::workspace_bytes(const Gemm& gemm) {
  return kWorkspace + (gemm.epilogue.bias ? static_cast<uint64_t>(kMostBias) : 0);  // with room for an aligned bias
}

bool Matmul::has_epilogue(const Gemm& gemm) {
  const int64_t bias = gemm.epilogue.bias ? gemm.n * static_cast<int64_t>(size_of(gemm.dtype)) : 0;
  if (gemm.k == 0 || gemm.k > kMostExtent || gemm.m > kMostRows || gemm.batch > kMostBatches || bias > kMostBias)
    return false;
  if (!activation_of(gemm)) return false;
  // cuBLASLt's gelu_tanh is accurate to 16 bits, and up to 6 ulp off for f32.
  if (gemm.epilogue.activation == Op::gelu_tanh && gemm.dtype == DType::f32) return false;
  return state_->problem({normalised(gemm), kAlignment}).has_algorithm();
}

bool Matmul::can_record(const Gemm& gemm, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, GemmCopies& copies) {
  bool can = true;
  if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0) return can;
  for_each_part(gemm, a, b, c, copies, false, [&](const Gemm& part, CUdeviceptr, CUdeviceptr, CUdeviceptr pc) {
    can &= state_->problem(part, pc).has_run();
  });
  return can;
}

}  // namespace tsl::cuda
