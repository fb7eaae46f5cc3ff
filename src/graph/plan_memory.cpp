#include "graph/plan_memory.h"

#include "base/error.h"

namespace tsl::graph {

PlanMemory::PlanMemory(const Plan& plan, Allocator& allocator) : plan_(plan), allocator_(allocator) {
  addresses_.resize(plan.buffers.size());
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    switch (buffer.kind) {
      case Buffer::Kind::input: inputs_.push_back({b, buffer.index}); break;
      case Buffer::Kind::temporary: temporaries_.push_back(b); break;
      case Buffer::Kind::output: {
        if (outputs_.size() <= buffer.index) outputs_.resize(buffer.index + 1);
        Output& output = outputs_[buffer.index];
        output.buffer = b;
        output.bytes = static_cast<uint64_t>(buffer.count.hint()) * size_of(buffer.dtype);
        if (buffer.index < plan.donors.size()) output.donors = plan.donors[buffer.index];
        break;
      }
    }
  }
  for (const PlanOutput& out : plan.outputs) {
    uint32_t like = 0;
    const Buffer& buffer = plan.buffers[out.buffer];
    if (buffer.kind == Buffer::Kind::output) {
      const std::span<const uint32_t> donors = outputs_[buffer.index].donors;
      for (size_t d = 0; d < donors.size(); ++d) {
        if (same(out.layout, plan.graph[plan.graph.inputs()[donors[d]]].input_layout)) like |= 1u << d;
      }
    }
    like_donor_.push_back(like);
  }
}

void PlanMemory::place(std::span<const Tensor> inputs, std::span<const bool> donated) {
  for (const Input& input : inputs_) addresses_[input.buffer] = inputs[input.index].data();
  try {
    if (plan_.arena_bytes > 0) arena_ = allocator_.allocate(plan_.arena_bytes);
    taken_.assign(donated.size(), false);
    for (Output& output : outputs_) place_output(output, inputs, donated);
    for (uint32_t b : temporaries_) addresses_[b] = address_of_temporary(plan_.buffers[b]);
  } catch (const Failure&) {
    release();
    throw;
  }
}

/// Outputs have their places by now. Without an arena the temporaries that would lie there are empty.
std::byte* PlanMemory::address_of_temporary(const Buffer& buffer) const {
  const Buffer& home = plan_.buffers[buffer.home];
  if (home.kind == Buffer::Kind::output) return addresses_[buffer.home];
  return arena_ ? static_cast<std::byte*>(arena_->data()) + home.offset : nullptr;
}

void PlanMemory::place_output(Output& output, std::span<const Tensor> inputs, std::span<const bool> donated) {
  output.donor = donated.empty() ? -1 : find_donor(output, inputs, donated);
  if (output.donor >= 0) {
    const uint32_t donor = output.donors[static_cast<size_t>(output.donor)];
    taken_[donor] = true;
    addresses_[output.buffer] = static_cast<std::byte*>(inputs[donor]->storage->data());
  } else {
    output.storage = allocator_.allocate(output.bytes);
    addresses_[output.buffer] = static_cast<std::byte*>(output.storage->data());
  }
}

/// Which donor was given up and can hold this output, or -1.
int PlanMemory::find_donor(const Output& output, std::span<const Tensor> inputs, std::span<const bool> donated) const {
  for (size_t d = 0; d < output.donors.size(); ++d) {
    const uint32_t i = output.donors[d];
    if (donated[i] && !taken_[i] && inputs[i].layout().offset.hint() == 0) return static_cast<int>(d);
  }
  return -1;
}

void PlanMemory::make_outputs(std::span<const Tensor> inputs, std::span<const Scalar> symbols,
                              std::span<Tensor> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PlanOutput& out = plan_.outputs[i];
    const Buffer& buffer = plan_.buffers[out.buffer];
    if (buffer.kind == Buffer::Kind::input) {
      const Tensor& input = inputs[buffer.index];
      Layout layout = out.layout;
      layout.offset = layout.offset.in_run(symbols) + input.layout().offset.hint();
      outputs[i] = input.with_layout(layout);
      continue;
    }
    const Output& output = outputs_[buffer.index];
    const Tensor* donor = output.donor >= 0 ? &inputs[output.donors[static_cast<size_t>(output.donor)]] : nullptr;
    if (donor && (like_donor_[i] >> output.donor & 1)) {
      outputs[i] = *donor;
      continue;
    }
    outputs[i] = Tensor(out.dtype, out.layout, donor ? (*donor)->storage : output.storage);
    if (out.layout.offset.symbol()) outputs[i]->layout.offset = out.layout.offset.in_run(symbols);
  }
}

void PlanMemory::release() {
  for (Output& output : outputs_) output.storage = nullptr;
  arena_ = nullptr;
}

}  // namespace tsl::graph
