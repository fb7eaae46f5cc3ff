#include "graph/plan_memory.h"

#include "base/error.h"

namespace tsl::graph {

PlanMemory::PlanMemory(const Plan& plan, Allocator& allocator) : plan_(plan), allocator_(allocator) {
  addresses_.resize(plan.buffers.size());
  size_t outputs = 0;
  for (const Buffer& buffer : plan.buffers) outputs += buffer.kind == Buffer::Kind::output;
  storages_.resize(outputs);
}

void PlanMemory::place(std::span<const Tensor> inputs, std::span<const bool> donated) {
  try {
    if (plan_.arena_bytes > 0) arena_ = allocator_.allocate(plan_.arena_bytes);
    taken_.assign(inputs.size(), false);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      switch (buffer.kind) {
        case Buffer::Kind::input: addresses_[b] = inputs[buffer.index].data(); break;
        case Buffer::Kind::temporary:
          // Without an arena every temporary is empty.
          addresses_[b] = arena_ ? static_cast<std::byte*>(arena_->data()) + buffer.offset : nullptr;
          break;
        case Buffer::Kind::output: place_output(buffer, addresses_[b], inputs, donated); break;
      }
    }
  } catch (const Failure&) {
    release();
    throw;
  }
}

void PlanMemory::place_output(const Buffer& buffer, std::byte*& address, std::span<const Tensor> inputs,
                              std::span<const bool> donated) {
  Ref<Storage>& storage = storages_[buffer.index];
  storage = donor(buffer, inputs, donated);
  if (!storage) storage = allocator_.allocate(static_cast<uint64_t>(buffer.count.hint()) * size_of(buffer.dtype));
  address = static_cast<std::byte*>(storage->data());
}

/// The storage of an input that was given up and can hold this output.
Ref<Storage> PlanMemory::donor(const Buffer& output, std::span<const Tensor> inputs, std::span<const bool> donated) {
  if (donated.empty() || output.index >= plan_.donors.size()) return {};
  for (uint32_t i : plan_.donors[output.index]) {
    if (!donated[i] || taken_[i] || inputs[i].layout().offset.hint() != 0) continue;
    taken_[i] = true;
    return inputs[i]->storage;
  }
  return {};
}

void PlanMemory::make_outputs(std::span<const Tensor> inputs, std::span<const Scalar> symbols,
                              std::span<Tensor> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PlanOutput& out = plan_.outputs[i];
    const Buffer& buffer = plan_.buffers[out.buffer];
    Layout layout = out.layout;
    layout.offset = layout.offset.in_run(symbols);
    if (buffer.kind == Buffer::Kind::output) {
      outputs[i] = Tensor(out.dtype, layout, storages_[buffer.index]);
      continue;
    }
    const Tensor& input = inputs[buffer.index];
    layout.offset = layout.offset + input.layout().offset;
    outputs[i] = input.with_layout(layout);
  }
}

void PlanMemory::release() {
  for (Ref<Storage>& storage : storages_) storage = nullptr;
  arena_ = nullptr;
}

}  // namespace tsl::graph
