#include "backend/cuda/kernels/convolution/few_pixels.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/cuda/codegen/writer.h"
#include "backend/cuda/kernels/own_op.h"
#include "graph/conv_form.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kWidePixelBytes = 16;                         // of a read of filters
constexpr int64_t kMostGrid = 65535;                            // blocks along an axis but the first
constexpr int kTileRows = 16, kTilePixels = 8, kTileDepth = 8;  // of an instruction: mma.m16n8k8
constexpr int kMostTaps = 9;                                    // which are unrolled
constexpr int64_t kStages = 3;                                  // of copies
constexpr int64_t kMostStep = 1 << 16;                          // a stride, a dilation or a padding

// Where the kernels are faster than cuDNN's, and how they are divided best: measured on an H100 (November 2026) with
// batch sizes of 1 and 5.
constexpr int64_t kMostPixels = 4096, kLeastDepth = 64;
constexpr int64_t kMostProducts = int64_t{240} << 20;    // of two numbers
constexpr int64_t kMostPlainPixels = 256;                // of one tap and no stride, which cuDNN computes as a product
constexpr int64_t kMostPlainArea = 64, kPlainRatio = 4;  // pixels of an image; channels to outputs
constexpr int64_t kEnoughBlocks = 64, kMostPixelBlocks = 264;
constexpr int64_t kMostSplit = 8;  // blocks of a cluster, on every GPU with clusters

/// How the warps of a block divide a tile: see Convolution in few_pixels.cuh.
struct Division {
  int tiles, row_warps, channel_warps, pixel_tiles;
  int rows() const { return kTileRows * tiles * row_warps; }
  int pixels() const { return kTilePixels * pixel_tiles; }
  int warps() const { return row_warps * channel_warps; }
};
/// From the largest tile on; a multiple of 7 pixels is a whole part of most planes of models.
constexpr Division kDivisions[] = {{2, 1, 4, 7}, {1, 1, 4, 7}, {1, 1, 4, 4}};

constexpr size_t kY = 1, kX = 2;  // of ConvAxes, whose first has extent 1; one axis of space lies along x

/// Finds the kernel and the arguments of one convolution.
class FewPixelsChoice {
 public:
  FewPixelsChoice(const graph::Node& node, const DeviceFacts& facts)
      : dtype_(node.dtype),
        facts_(facts),
        size_(static_cast<int64_t>(size_of(node.dtype))),
        form_(graph::conv_form_of(node)),
        parts_(product_of(form_.taps) == 1 ? 2 : 1) {
    for (const Division& each : kDivisions) {
      division_ = each;
      if (blocks() * most_split() >= kEnoughBlocks) break;
    }
    while (2 * split_ <= most_split() && 2 * split_ * blocks() <= kMostPixelBlocks) split_ *= 2;
  }

  /// Says why the kernels cannot compute it on the GPU; "": they can.
  std::string_view refusal() const {
    if (!facts_.has_clusters) return "the GPU has no clusters of blocks";
    if (size_ != 2 && !(dtype_ == DType::f32 && facts_.tf32)) return "f32 must not be rounded (--tf32 lets it)";
    if (shared_bytes() > facts_.shared_bytes) return "a tile does not fit in shared memory";
    return ceil_div(form_.out_channels, division_.rows()) <= kMostGrid ? "" : "too many outputs";
  }

  FewPixels make() const {
    FewPixels result;
    CudaKernel& kernel = result.kernel;
    kernel.readable = "k_conv_few_pixels";
    kernel.text.header = few_pixels_templates();
    kernel.text.bounds = fmt::format("__launch_bounds__({})", 32 * division_.warps());
    if (split_ > 1) kernel.text.bounds += fmt::format(" __cluster_dims__({})", split_);
    kernel.text.parameters = "const tsl::cuda::few_pixels::Arguments p";
    kernel.text.body = fmt::format(
        "  extern __shared__ __align__(16) char memory[];\n"
        "  tsl::cuda::few_pixels::Convolution<{}, {}, {}, {}, {}, {}, {}, {}, {}>::run(p, memory);\n",
        type_of(dtype_), form_.taps[kY], form_.taps[kX], division_.tiles, division_.row_warps, division_.channel_warps,
        division_.pixel_tiles, parts_, kStages);
    kernel.threads_x = 32 * division_.warps();
    result.grid = {static_cast<unsigned>(split_), static_cast<unsigned>(ceil_div(form_.out_channels, division_.rows())),
                   static_cast<unsigned>(form_.batch * tiles())};
    result.shared_bytes = shared_bytes();
    result.can_filters_be_wide = form_.in_channels * size_ % kWidePixelBytes == 0;
    fill(result.arguments);
    return result;
  }

 private:
  /// Clusters of blocks.
  int64_t blocks() const { return ceil_div(form_.out_channels, division_.rows()) * tiles() * form_.batch; }
  int64_t most_split() const { return std::min(kMostSplit, chunks()); }
  int64_t tiles() const { return ceil_div(product_of(form_.out), division_.pixels()); }
  int64_t chunk() const { return kTileDepth * division_.channel_warps * parts_; }  // channels
  int64_t chunks() const { return ceil_div(form_.in_channels, chunk()); }
  int64_t stages() const { return std::min(kStages, ceil_div(chunks(), split_)); }

  /// The rows of pixels that a tile may touch.
  int64_t lines() const {
    const int64_t pixels = division_.pixels();
    return std::min(form_.out[kY],
                    pixels % form_.out[kX] == 0 ? pixels / form_.out[kX] : (pixels - 2) / form_.out[kX] + 2);
  }
  /// What is read along an axis, without gaps if there is one tap.
  int64_t reach(int64_t count, size_t axis) const {
    const int64_t taps = form_.taps[axis];
    return taps == 1 ? count : (count - 1) * form_.stride[axis] + (taps - 1) * form_.dilation[axis] + 1;
  }
  int64_t rows() const { return reach(lines(), kY); }
  int64_t columns() const { return reach(form_.out[kX], kX); }
  /// Elements from one channel to the next: four channels are in different banks.
  int64_t plane() const { return ceil_div(rows() * columns() - 8, 16) * 16 + 8; }

  uint64_t shared_bytes() const {
    const int64_t depth = chunk() * product_of(form_.taps), is_in_one_bank = depth * size_ / 4 % 8 == 0;
    const int64_t pitch = depth + (is_in_one_bank ? kWidePixelBytes / size_ : 0);
    const int64_t operands =
        stages() * (size_ * division_.rows() * pitch + 4 * chunk() * plane()) + 4 * rows() * columns();
    const int64_t sums = 4 * division_.channel_warps * division_.rows() * division_.pixels();
    return static_cast<uint64_t>(std::max(operands, sums));
  }

  void fill(few_pixels::Arguments& p) const {
    const auto set = [](int& to, int64_t value) { to = static_cast<int>(value); };
    p = {};
    set(p.channels, form_.in_channels), set(p.outputs, form_.out_channels);
    set(p.height, form_.in[kY]), set(p.width, form_.in[kX]), set(p.out_height, form_.out[kY]),
        set(p.out_width, form_.out[kX]);
    set(p.stride_y, form_.stride[kY]), set(p.stride_x, form_.stride[kX]), set(p.low_y, form_.low[kY]),
        set(p.low_x, form_.low[kX]);
    set(p.dilation_y, form_.dilation[kY]), set(p.dilation_x, form_.dilation[kX]);
    set(p.rows, rows()), set(p.columns, columns()), set(p.plane, plane()), set(p.tiles, tiles());
    set(p.stages, stages());
  }

  DType dtype_;
  const DeviceFacts& facts_;
  int64_t size_;
  ConvForm form_;
  Division division_ = kDivisions[0];
  int64_t parts_;      // of 8 channels for each warp in a chunk
  int64_t split_ = 1;  // blocks that share the channels
};

/// Says why the kernels do not know such a convolution, or cuDNN is faster; "": neither is so.
std::string_view refusal_of_form(const graph::Node& node) {
  constexpr std::string_view kUnknown = "groups, three axes of space, or extents beyond 32 bits",
                             kSlow = "cuDNN is faster";
  if (node.op != Op::conv) return "a gradient";
  const ConvForm form = graph::conv_form_of(node);
  const ConvGeometry& geometry = *node.attrs.conv;
  if (geometry.groups != 1 || geometry.rank() > 2 || !graph::is_conv_of_ints(node)) return kUnknown;
  for (const Ints* numbers : {&geometry.stride, &geometry.dilation, &geometry.low}) {
    for (const int64_t number : *numbers) {
      if (std::abs(number) > kMostStep) return "a large stride, dilation or margin";
    }
  }
  const int64_t taps = product_of(form.taps), depth = form.in_channels * taps;
  const int64_t area = product_of(form.out), pixels = form.batch * area, outputs = form.out_channels;
  if (taps > kMostTaps) return "more than nine taps";
  if (depth < kLeastDepth) return "few channels";
  if (pixels > kMostPixels) return "many pixels";
  if (taps == 1 && product_of(conv_axes(geometry.stride, 1)) == 1) {
    const bool is_faster = node.dtype == DType::f32 && pixels <= kMostPlainPixels && area <= kMostPlainArea &&
                           depth >= kPlainRatio * outputs;
    return is_faster ? "" : kSlow;
  }
  return pixels * depth * outputs <= kMostProducts ? "" : kSlow;
}

class FewPixelsOp final : public OwnOp {
 public:
  FewPixelsOp(FewPixels convolution, uint64_t most_shared)
      : convolution_(std::move(convolution)), most_shared_(most_shared) {}

  std::string_view name() const override { return "conv (few pixels)"; }
  std::vector<OwnLaunch> launches() const override {
    return {{convolution_.kernel, convolution_.grid, convolution_.shared_bytes, most_shared_}};
  }

  void* arguments(const exec::OpCall& call) override {
    few_pixels::Arguments& arguments = convolution_.arguments;
    arguments.images = call.operands[0];
    arguments.filters = call.operands[1];
    arguments.out = call.results[0];
    arguments.are_filters_wide =
        convolution_.can_filters_be_wide && reinterpret_cast<uintptr_t>(arguments.filters) % kWidePixelBytes == 0;
    return &arguments;
  }

 private:
  FewPixels convolution_;
  uint64_t most_shared_;
};

}  // namespace

std::string_view few_pixels_refusal(const graph::Node& node, const DeviceFacts& facts) {
  if (!is_float(node.dtype)) return "of integers";
  const std::string_view refusal = refusal_of_form(node);
  return refusal.empty() ? FewPixelsChoice(node, facts).refusal() : refusal;
}

std::optional<FewPixels> few_pixels_of(const graph::Node& node, const DeviceFacts& facts) {
  if (!few_pixels_refusal(node, facts).empty()) return {};
  return FewPixelsChoice(node, facts).make();
}

std::vector<OwnRow> few_pixels_rows() {
  const auto make = [](const graph::Node& node, const DeviceFacts& facts) -> std::unique_ptr<OwnOp> {
    return std::make_unique<FewPixelsOp>(FewPixelsChoice(node, facts).make(), facts.shared_bytes);
  };
  return {{.name = "few pixels",
           .ops = {Op::conv, Op::conv_input_grad, Op::conv_weight_grad},
           .refusal = few_pixels_refusal,
           .make = make}};
}

}  // namespace tsl::cuda
