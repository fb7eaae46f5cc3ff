// Attention by kernels of our own: of 16-bit floats by the tensor cores, of others by plain products.

#include <algorithm>
#include <optional>

#include "backend/cuda/kernels/attention/attention_arguments.h"
#include "backend/cuda/kernels/attention/attention_source.h"
#include "backend/cuda/kernels/own_op.h"
#include "graph/plan.h"
#include "tensor/rows/attention.h"

namespace tsl::cuda {

namespace {

constexpr uint64_t kWideBytes = 16;  // of an access to a row
constexpr AttentionLimits kLimits{.columns = 256, .half_columns = 128, .masked_rows = 16};

class AttentionOp final : public OwnOp {
 public:
  AttentionOp(const graph::Node& node, std::vector<AttentionPass> passes)
      : is_forward_(node.op == Op::attention),
        dtype_(node.dtype),
        form_(node.args[0].layout.shape, node.args[1].layout.shape, node.args[2].layout.shape, node.attrs),
        passes_(std::move(passes)) {
    for (size_t i = 0; i < node.args.size(); ++i) {
      const Layout& layout = node.args[i].layout;
      const std::optional<HeadStrides> strides = i == kLogsumexp ? std::nullopt : head_strides(layout);
      is_read_as_it_lies_.push_back(strides.has_value());
      if (i == kLogsumexp) strides_.emplace_back();
      else strides_.push_back(strides ? *strides : *head_strides(Layout::contiguous(layout.shape)));
    }
  }

  std::string_view name() const override { return is_forward_ ? "attention" : "attention_grad"; }
  const Layout* order_of(size_t operand, const Layout& layout) const override {
    return is_read_as_it_lies_[operand] ? nullptr : &layout;
  }
  uint64_t workspace_bytes() const override {
    uint64_t most = 0;
    for (const AttentionPass& pass : passes_) most = std::max(most, pass.workspace_bytes);
    return most;
  }

  std::vector<OwnLaunch> launches() const override {
    std::vector<OwnLaunch> launches;
    for (const AttentionPass& pass : passes_)
      launches.push_back(
          {pass.kernel, {static_cast<unsigned>(pass.kernel.blocks), 1, 1}, pass.shared_bytes, pass.shared_bytes});
    return launches;
  }

  void* arguments(const exec::OpCall& call) override {
    arguments_ = arguments_of(call);
    return &arguments_;
  }

 private:
  static constexpr size_t kLogsumexp = 4;  // the operand of Op::attention_grad

  attention::Operand operand(const exec::OpCall& call, size_t i, int64_t columns) const {
    const HeadStrides& strides = strides_[i];
    const auto elements = static_cast<int64_t>(kWideBytes / size_of(dtype_));
    const bool is_wide = reinterpret_cast<uintptr_t>(call.operands[i]) % kWideBytes == 0 && columns % elements == 0 &&
                         strides.row % elements == 0 && strides.head % elements == 0 && strides.batch % elements == 0;
    return {call.operands[i], strides.batch, strides.head, strides.row, is_wide, 0};
  }

  void set_mask(attention::Arguments& p, const std::byte* mask) const {
    p.mask = reinterpret_cast<const unsigned char*>(mask);
    p.mask_batch = strides_[3].batch;
    p.mask_head = strides_[3].head;
    p.mask_row = strides_[3].row;
  }

  attention::Arguments arguments_of(const exec::OpCall& call) const {
    attention::Arguments p = {};
    p.query = operand(call, 0, form_.width);
    p.key = operand(call, 1, form_.width);
    p.value = operand(call, 2, form_.value_width);
    if (is_forward_) {
      p.results[0] = call.results[0];
      p.lse = call.results[1];
      if (call.operands.size() == 4) set_mask(p, call.operands[3]);
    } else {
      p.out = operand(call, 3, form_.value_width);
      p.grad = operand(call, 5, form_.value_width);
      for (size_t i = 0; i < 3; ++i) p.results[i] = call.results[i];
      p.lse = const_cast<std::byte*>(call.operands[kLogsumexp]);
    }
    p.delta = call.workspace;
    p.batch = static_cast<int>(form_.batch);
    p.heads = static_cast<int>(form_.heads);
    p.groups = static_cast<int>(form_.groups);
    p.rows = static_cast<int>(form_.rows);
    p.keys = static_cast<int>(form_.keys);
    p.width = static_cast<int>(form_.width);
    p.value_width = static_cast<int>(form_.value_width);
    p.left = static_cast<int>(form_.left);
    p.right = static_cast<int>(form_.right);
    p.scale = form_.scale;
    p.cap = form_.cap;
    return p;
  }

  bool is_forward_;
  DType dtype_;
  AttentionForm form_;
  std::vector<AttentionPass> passes_;
  attention::Arguments arguments_ = {};
  std::vector<HeadStrides> strides_;
  std::vector<bool> is_read_as_it_lies_;
};

}  // namespace

std::vector<OwnRow> attention_rows() {
  std::vector<OwnRow> rows;
  for (const AttentionWay& way : attention_ways()) {
    const auto make = [&way](const graph::Node& node, const DeviceFacts& facts) -> std::unique_ptr<OwnOp> {
      std::vector<AttentionPass> passes = way.passes(node, facts);
      return passes.empty() ? nullptr : std::make_unique<AttentionOp>(node, std::move(passes));
    };
    rows.push_back({.name = way.name,
                    .ops = {Op::attention, Op::attention_grad},
                    .refusal = way.refusal,
                    .make = make,
                    .refuses_call = [](std::span<const Operand> operands, const Attrs&, bool is_named) {
                      return refusal(kLimits, operands, is_named);
                    }});
  }
  return rows;
}

}  // namespace tsl::cuda
