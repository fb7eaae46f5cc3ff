// Fourier transforms along the last axis, by cuFFT.

#include <string>
#include <tuple>

#include "backend/cuda/libraries/cufft.h"
#include "backend/cuda/libraries/handle.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/libraries/optional_library.h"
#include "backend/cuda/libraries/own_kernel.h"
#include "base/integers.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kMostNumbers = INT32_MAX;  // of one call; more run on the host

/// cuFFT on one GPU.
struct Transformer {
  explicit Transformer(Gpu& gpu) : gpu(gpu) {}
  Gpu& gpu;
  Cufft library{gpu.device.driver().version_number()};
};

/// A plan of cuFFT, and the bytes of its workspace.
struct FftPlan {
  cufft::Plan plan = 0;
  size_t work_bytes = 0;
};

/// A plan that one kernel uses: its type, the extent and the number of transforms.
class UsedPlan : public Kept<FftPlan, std::tuple<int, int64_t, int64_t>> {
 public:
  UsedPlan(const Transformer& transformer, int type, int64_t n, int64_t rows)
      : Kept(transformer.gpu.device, {type, n, rows}, [&](FftPlan* made) {
          const Cufft& library = transformer.library;
          library.check(library.cufftCreate(&made->plan), "starting");
          library.check(library.cufftSetAutoAllocation(made->plan, 0), "starting");
          long long length = n;
          library.check(library.cufftMakePlanMany64(made->plan, 1, &length, nullptr, 1, n, nullptr, 1, n, type, rows,
                                                    &made->work_bytes),
                        "planning a transform");
        }) {}
  cufft::Plan plan() const { return get().plan; }
  size_t work_bytes() const { return get().work_bytes; }
};

/// What differs between the three ops.
struct Transforms {
  bool is_f32;
  Op op;
  int type() const {
    if (op == Op::fft) return is_f32 ? cufft::kC2C : cufft::kZ2Z;
    if (op == Op::rfft) return is_f32 ? cufft::kR2C : cufft::kD2Z;
    return is_f32 ? cufft::kC2R : cufft::kZ2D;
  }
  int run(const Cufft& library, cufft::Plan plan, void* in, void* out, bool is_inverse) const {
    const int direction = is_inverse ? cufft::kInverse : cufft::kForward;
    if (op == Op::fft) return (is_f32 ? library.cufftExecC2C : library.cufftExecZ2Z)(plan, in, out, direction);
    if (op == Op::rfft) return (is_f32 ? library.cufftExecR2C : library.cufftExecD2Z)(plan, in, out);
    return (is_f32 ? library.cufftExecC2R : library.cufftExecZ2D)(plan, in, out);
  }
};

int64_t length_of(const graph::Node& node) {
  const Shape& shape = node.op == Op::rfft ? node.args[0].layout.shape : node.shape;
  return shape[shape.rank() - (node.op == Op::fft ? 2 : 1)].hint();
}

class FftKernel final : public exec::OpKernel {
 public:
  FftKernel(const graph::Node& node, Transformer& transformer)
      : transformer_(transformer),
        transforms_{node.dtype == DType::f32, node.op},
        is_inverse_(node.attrs.inverse),
        n_(length_of(node)) {
    const int64_t elements = element_count(node.shape).hint();
    if (elements == 0) return;
    const int64_t row = node.op == Op::fft ? 2 * n_ : node.op == Op::rfft ? half() : n_;
    rows_ = elements / row;
    plan_ = std::make_unique<UsedPlan>(transformer, transforms_.type(), n_, rows_);
    if (node.op != Op::irfft) return;
    // cuFFT may write to what it reads here, and the imaginary parts of real elements are to count as 0.
    const char* const type = transforms_.is_f32 ? "f32" : "f64";
    copy_ = {transformer.gpu, fmt::format("read_half_spectrum_{}", type),
             fmt::format("const {0}* in, {0}* out, const i64 n", type),
             fmt::format("  const i64 at = i % (n / 2 * 2 + 2), k = at / 2;\n"
                         "  out[i] = at % 2 == 1 && (k == 0 || 2 * k == n) ? ({})0 : in[i];\n",
                         type)};
  }

  std::string name() const override { return fmt::format("{} (cuFFT)", op_def(transforms_.op).name); }
  uint64_t workspace_bytes() const override { return rows_ == 0 ? 0 : copied_bytes() + plan_->work_bytes(); }
  bool is_recordable() const override { return rows_ > 0; }
  bool can_record(const exec::OpCall&) override { return has_run_; }

  void run(const exec::OpCall& call) override {
    if (rows_ == 0 || !call.results[0]) return;
    const Cufft& library = transformer_.library;
    const CUdeviceptr workspace = address_of(call.workspace);
    CUdeviceptr in = address_of(call.operands[0]);
    if (transforms_.op == Op::irfft) {
      copy_.enqueue(transformer_.gpu.device, rows_ * half(), in, workspace, n_);
      in = workspace;
    }
    library.check(library.cufftSetStream(plan_->plan(), transformer_.gpu.device.stream()), "choosing a stream");
    library.check(library.cufftSetWorkArea(plan_->plan(), reinterpret_cast<void*>(workspace + copied_bytes())),
                  "choosing a workspace");
    library.check(transforms_.run(library, plan_->plan(), reinterpret_cast<void*>(in), call.results[0], is_inverse_),
                  "transforming");
    has_run_ = true;
  }

 private:
  static constexpr uint64_t kPartAlignment = 256;
  /// The numbers of a half spectrum.
  int64_t half() const { return n_ / 2 * 2 + 2; }
  uint64_t copied_bytes() const {
    if (transforms_.op != Op::irfft) return 0;
    const uint64_t bytes =
        static_cast<uint64_t>(rows_ * half()) * (transforms_.is_f32 ? sizeof(float) : sizeof(double));
    return rounded_up(bytes, kPartAlignment);
  }

  Transformer& transformer_;
  Transforms transforms_;
  bool is_inverse_;
  int64_t n_, rows_ = 0;
  std::unique_ptr<UsedPlan> plan_;  // null: there is nothing to transform
  OwnKernel copy_;
  bool has_run_ = false;  // cuFFT has loaded its kernels
};

}  // namespace

std::vector<exec::KernelRow> fourier_rows(Gpu& gpu) {
  const auto refusal = [](const graph::Node& node) -> std::string_view {
    if (length_of(node) == 0) return "of nothing";
    return element_count(node.shape).hint() > kMostNumbers ? "extents beyond 32 bits" : "";
  };
  const auto library = std::make_shared<OptionalLibrary<Transformer>>();
  const auto make = [&gpu, library](const graph::Node& node) -> std::unique_ptr<exec::OpKernel> {
    Transformer* const transformer = library->open(gpu);
    return transformer ? std::make_unique<FftKernel>(node, *transformer) : nullptr;
  };
  return {{.name = "cuFFT", .ops = {Op::fft, Op::rfft, Op::irfft}, .refusal = refusal, .make = make}};
}

}  // namespace tsl::cuda
