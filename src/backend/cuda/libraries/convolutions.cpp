// Convolutions of floats and their gradients, by cuDNN but for those of few pixels. A node's algorithm is the first
// that cuDNN's rules of thumb propose of those whose sums have one order; the rules know shapes, dtypes and the GPU.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/libraries/convolutions.h"
#include "backend/cuda/libraries/cudnn.h"
#include "backend/cuda/libraries/handle.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/libraries/optional_library.h"
#include "graph/conv_form.h"

namespace tsl::cuda {

namespace {

constexpr uint64_t kMostWorkspace = uint64_t{1} << 30;
constexpr int kMostProposals = 10;  // more than cuDNN has algorithms
// Groups of fewer channels are slow in cuDNN: TSL's own kernels compute them.
constexpr int64_t kFewestChannels = 8;

/// cuDNN with all that its calls need on one GPU.
struct ConvLibrary {
  explicit ConvLibrary(Gpu& gpu) : gpu(gpu) {}
  /// Returns the handle, for calls on the device's stream.
  cudnn::Handle on_stream() const {
    library.check(library.cudnnSetStream(handle.get(), gpu.device.stream()), "choosing a stream");
    return handle.get();
  }

  Gpu& gpu;
  Cudnn library{gpu.device.driver().version_number()};
  Handle<cudnn::Handle> handle{gpu.device,
                               [this](cudnn::Handle* made) { library.check(library.cudnnCreate(made), "starting"); }};
  /// What was proposed for a problem: all numbers that describe it.
  std::map<std::vector<int64_t>, std::optional<cudnn::Algorithm>> choices;
};

int dtype_number(DType dtype) {
  static constexpr std::pair<DType, int> kNumbers[] = {{DType::f16, cudnn::kHalf},
                                                       {DType::bf16, cudnn::kBfloat16},
                                                       {DType::f32, cudnn::kFloat},
                                                       {DType::f64, cudnn::kDouble}};
  for (const auto& [each, number] : kNumbers) {
    if (each == dtype) return number;
  }
  return cudnn::kFloat;
}

/// Returns the extents of a tensor for cuDNN, which knows no convolution over one axis.
std::vector<int> extents_of(const ConvForm& form, int64_t first, int64_t second, const ConvAxes& space) {
  std::vector<int> extents = {static_cast<int>(first), static_cast<int>(second)};
  const int rank = std::max(form.rank, 2);
  for (int i = kMostSpace - rank; i < kMostSpace; ++i)
    extents.push_back(static_cast<int>(space[static_cast<size_t>(i)]));
  return extents;
}

std::vector<int> axes_of(const Ints& values, int missing) {
  std::vector<int> axes(values.begin(), values.end());
  if (axes.size() == 1) axes.insert(axes.begin(), missing);
  return axes;
}

/// The descriptors of one convolution: x [n, c, …], w [o, c / groups, …] and y [n, o, …].
class ConvProblem {
 public:
  ConvProblem(const graph::Node& node, ConvLibrary& cudnn, bool tf32) : cudnn_(cudnn) {
    const ConvForm form = graph::conv_form_of(node);
    const int64_t outs = form.groups * form.out_channels;
    const int dtype = dtype_number(node.dtype);
    const bool is_half = node.dtype == DType::f16 || node.dtype == DType::bf16;
    const ConvGeometry& geometry = *node.attrs.conv;
    const Cudnn& library = cudnn.library;
    set(x_, extents_of(form, form.batch, form.groups * form.in_channels, form.in), dtype);
    set(y_, extents_of(form, form.batch, outs, form.out), dtype);
    const std::vector<int> w = extents_of(form, outs, form.in_channels, form.taps);
    note(library.cudnnCreateFilterDescriptor(&w_));
    note(library.cudnnSetFilterNdDescriptor(w_, dtype, cudnn::kRowMajor, static_cast<int>(w.size()), w.data()));
    const std::vector<int> padding = axes_of(geometry.low, 0), stride = axes_of(geometry.stride, 1),
                           dilation = axes_of(geometry.dilation, 1);
    note(library.cudnnCreateConvolutionDescriptor(&convolution_));
    note(library.cudnnSetConvolutionNdDescriptor(convolution_, static_cast<int>(padding.size()), padding.data(),
                                                 stride.data(), dilation.data(), cudnn::kCrossCorrelation,
                                                 node.dtype == DType::f64 ? cudnn::kDouble : cudnn::kFloat));
    note(library.cudnnSetConvolutionGroupCount(convolution_, static_cast<int>(geometry.groups)));
    math_ = is_half ? cudnn::kTensorOpMath : tf32 && node.dtype == DType::f32 ? cudnn::kDefaultMath : cudnn::kFmaMath;
    note(library.cudnnSetConvolutionMathType(convolution_, math_));
  }
  ~ConvProblem() {
    const Cudnn& library = cudnn_.library;
    if (x_) library.cudnnDestroyTensorDescriptor(x_);
    if (y_) library.cudnnDestroyTensorDescriptor(y_);
    if (w_) library.cudnnDestroyFilterDescriptor(w_);
    if (convolution_) library.cudnnDestroyConvolutionDescriptor(convolution_);
  }
  ConvProblem(const ConvProblem&) = delete;
  ConvProblem& operator=(const ConvProblem&) = delete;

  /// Returns the first algorithm proposed that always adds in one order and rounds no operand of f32; none: there is
  /// none.
  std::optional<cudnn::Algorithm> find(Op op) const {
    std::array<cudnn::Algorithm, kMostProposals> proposals{};
    int count = 0;
    if (status_ != cudnn::kSuccess) return {};
    const Cudnn& library = cudnn_.library;
    const cudnn::Handle handle = cudnn_.on_stream();
    int status = 0;
    if (op == Op::conv) {
      status = library.cudnnGetConvolutionForwardAlgorithm_v7(handle, x_, w_, convolution_, y_, kMostProposals, &count,
                                                              proposals.data());
    } else if (op == Op::conv_input_grad) {
      status = library.cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w_, y_, convolution_, x_, kMostProposals,
                                                                   &count, proposals.data());
    } else {
      status = library.cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x_, y_, convolution_, w_, kMostProposals,
                                                                     &count, proposals.data());
    }
    if (status != cudnn::kSuccess) return {};
    for (int i = 0; i < count; ++i) {
      const cudnn::Algorithm& proposal = proposals[static_cast<size_t>(i)];
      const bool is_exact = math_ != cudnn::kFmaMath || proposal.math == cudnn::kFmaMath;
      if (proposal.status == cudnn::kSuccess && proposal.determinism == cudnn::kDeterministic && is_exact &&
          proposal.workspace_bytes <= kMostWorkspace)
        return proposal;
    }
    return {};
  }

  /// Returns the status of the call. `a`, `b`: the operands of the op.
  int run(Op op, const cudnn::Algorithm& algorithm, const void* a, const void* b, void* result, void* workspace,
          bool is_double) const {
    static constexpr float kOne = 1, kZero = 0;
    static constexpr double kWideOne = 1, kWideZero = 0;
    const void* const one = is_double ? static_cast<const void*>(&kWideOne) : &kOne;
    const void* const zero = is_double ? static_cast<const void*>(&kWideZero) : &kZero;
    const Cudnn& library = cudnn_.library;
    const cudnn::Handle handle = cudnn_.on_stream();
    library.check(library.cudnnSetConvolutionMathType(convolution_, algorithm.math), "choosing an algorithm");
    if (op == Op::conv) {
      return library.cudnnConvolutionForward(handle, one, x_, a, w_, b, convolution_, algorithm.number, workspace,
                                             algorithm.workspace_bytes, zero, y_, result);
    }
    if (op == Op::conv_input_grad) {
      return library.cudnnConvolutionBackwardData(handle, one, w_, b, y_, a, convolution_, algorithm.number, workspace,
                                                  algorithm.workspace_bytes, zero, x_, result);
    }
    return library.cudnnConvolutionBackwardFilter(handle, one, x_, a, y_, b, convolution_, algorithm.number, workspace,
                                                  algorithm.workspace_bytes, zero, w_, result);
  }

 private:
  /// Keeps the first status that is a failure: cuDNN does not know such a problem.
  void note(int status) {
    if (status_ == cudnn::kSuccess) status_ = status;
  }

  void set(cudnn::Tensor& tensor, const std::vector<int>& extents, int dtype) {
    std::vector<int> strides(extents.size(), 1);
    for (size_t i = extents.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * extents[i];
    note(cudnn_.library.cudnnCreateTensorDescriptor(&tensor));
    note(cudnn_.library.cudnnSetTensorNdDescriptor(tensor, dtype, static_cast<int>(extents.size()), extents.data(),
                                                   strides.data()));
  }

  ConvLibrary& cudnn_;
  int math_ = 0, status_ = cudnn::kSuccess;
  cudnn::Tensor x_ = nullptr, y_ = nullptr;
  cudnn::Filter w_ = nullptr;
  cudnn::Convolution convolution_ = nullptr;
};

class ConvKernel final : public exec::OpKernel {
 public:
  ConvKernel(const graph::Node& node, ConvLibrary& cudnn, std::unique_ptr<ConvProblem> problem,
             const cudnn::Algorithm& algorithm)
      : cudnn_(cudnn),
        problem_(std::move(problem)),
        algorithm_(algorithm),
        op_(node.op),
        name_(fmt::format("{} (cuDNN)", node.def().name)),
        is_double_(node.dtype == DType::f64) {}

  std::string name() const override { return name_; }
  uint64_t workspace_bytes() const override { return algorithm_.workspace_bytes; }
  bool is_recordable() const override { return true; }
  /// A call loads what it needs of the library when it first runs.
  bool can_record(const exec::OpCall&) override { return has_run_; }
  void run(const exec::OpCall& call) override {
    cudnn_.library.check(
        problem_->run(op_, algorithm_, call.operands[0], call.operands[1], call.results[0], call.workspace, is_double_),
        "computing a convolution");
    has_run_ = true;
  }

 private:
  ConvLibrary& cudnn_;
  std::unique_ptr<ConvProblem> problem_;
  const cudnn::Algorithm algorithm_;
  const Op op_;
  const std::string name_;
  const bool is_double_;
  bool has_run_ = false;
};

/// Returns all numbers on which the choice of an algorithm depends.
std::vector<int64_t> key_of(const graph::Node& node, bool tf32) {
  std::vector<int64_t> key = {static_cast<int64_t>(node.op), static_cast<int64_t>(node.dtype), int64_t{tf32}};
  for (const Shape* shape : {&node.args[0].layout.shape, &node.args[1].layout.shape, &node.shape}) {
    for (const Dim& extent : *shape) key.push_back(extent.hint());
  }
  const std::vector<int64_t> numbers = node.attrs.conv->numbers();
  key.insert(key.end(), numbers.begin(), numbers.end());
  return key;
}

}  // namespace

bool can_cudnn_describe(const graph::Node& node) {
  const ConvGeometry& geometry = *node.attrs.conv;
  if (!graph::is_conv_of_ints(node)) return false;
  const ConvForm form = graph::conv_form_of(node);
  for (int i = 0; i < geometry.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    const auto axis = static_cast<size_t>(kMostSpace - form.rank + i);
    const int64_t reach = (form.taps[axis] - 1) * geometry.dilation[at] + 1;
    const int64_t padded = form.in[axis] + 2 * geometry.low[at];
    if (geometry.low[at] < 0 || geometry.low[at] > INT32_MAX / 4 || geometry.dilation[at] > INT32_MAX ||
        geometry.stride[at] > INT32_MAX || padded < reach ||
        (padded - reach) / geometry.stride[at] + 1 != form.out[axis])
      return false;
  }
  return form.groups == 1 || std::min(form.in_channels, form.out_channels) >= kFewestChannels;
}

std::vector<exec::KernelRow> convolutions_rows(Gpu& gpu) {
  const auto by_cudnn = [](const graph::Node& node) -> std::string_view {
    if (!is_float(node.dtype)) return "of integers";
    return can_cudnn_describe(node) ? "" : "groups of few channels, uneven margins, or extents beyond 32 bits";
  };
  const auto library = std::make_shared<OptionalLibrary<ConvLibrary>>();
  const auto make = [&gpu, library](const graph::Node& node) -> std::unique_ptr<exec::OpKernel> {
    gpu.device.make_current();
    ConvLibrary* const cudnn = library->open(gpu);
    if (!cudnn) return nullptr;
    auto problem = std::make_unique<ConvProblem>(node, *cudnn, gpu.options.tf32);
    const auto [choice, is_new] = cudnn->choices.try_emplace(key_of(node, gpu.options.tf32));
    if (is_new) choice->second = problem->find(node.op);
    if (!choice->second) return nullptr;
    return std::make_unique<ConvKernel>(node, *cudnn, std::move(problem), *choice->second);
  };
  return {{.name = "cuDNN",
           .ops = {Op::conv, Op::conv_input_grad, Op::conv_weight_grad},
           .refusal = by_cudnn,
           .make = make}};
}

}  // namespace tsl::cuda
