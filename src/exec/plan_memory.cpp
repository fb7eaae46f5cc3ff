#include "exec/plan_memory.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error_names.h"

namespace tsl::exec {

void fail_after_overwriting() {
  Error error{ErrorName::out_of_memory, "out of memory", {}, {}, {}};
  try {
    throw;
  } catch (const Failure& failure) { error = failure.error(); } catch (const std::bad_alloc&) {
  }
  error.is_final = true;
  error.notes.push_back("a compiled function had begun to overwrite its donated inputs: their values are lost");
  throw Failure(std::move(error));
}

namespace {

size_t find_first_overwriting(const graph::Plan& plan) {
  const auto overwrites = [&](uint32_t k) {
    const std::span<const uint32_t> written = written_by(plan.kernels[k]);
    return std::any_of(written.begin(), written.end(), [&](uint32_t b) { return !donors_of(plan, b).empty(); });
  };
  const auto first = std::find_if(plan.launches.begin(), plan.launches.end(), [&](const auto& kernels) {
    return std::any_of(kernels.begin(), kernels.end(), overwrites);
  });
  return static_cast<size_t>(first - plan.launches.begin());
}

}  // namespace

PlanMemory::PlanMemory(const graph::Plan& plan, BlockCache& allocator)
    : plan_(plan), allocator_(allocator), first_overwriting_(find_first_overwriting(plan)) {
  addresses_.resize(plan.buffers.size());
  inputs_.reserve(plan.graph.inputs().size());
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const graph::Buffer& buffer = plan.buffers[b];
    switch (buffer.kind) {
      case graph::Buffer::Kind::input: inputs_.push_back({b, buffer.index}); break;
      case graph::Buffer::Kind::temporary: temporaries_.push_back(b); break;
      case graph::Buffer::Kind::output: {
        if (outputs_.size() <= buffer.index) outputs_.resize(buffer.index + 1);
        Output& output = outputs_[buffer.index];
        output.buffer = b;
        output.bytes = static_cast<uint64_t>(buffer.count.hint()) * size_of(buffer.dtype);
        if (buffer.index < plan.donors.size()) output.donors = plan.donors[buffer.index];
        break;
      }
    }
  }
  same_layout_donors_.reserve(plan.outputs.size());
  for (const graph::PlanOutput& out : plan.outputs) {
    uint32_t like = 0;
    const graph::Buffer& buffer = plan.buffers[out.buffer];
    if (buffer.kind == graph::Buffer::Kind::output) {
      const std::span<const uint32_t> donors = outputs_[buffer.index].donors;
      for (size_t d = 0; d < donors.size(); ++d) {
        if (same(out.layout, plan.graph[plan.graph.inputs()[donors[d]]].input_layout)) like |= 1u << d;
      }
    }
    same_layout_donors_.push_back(like);
  }
}

void PlanMemory::keep(uint32_t buffer) {
  kept_.push_back(allocate(bytes_of(plan_.buffers[buffer]), buffer));
  put(buffer, kept_.back()->data());
  std::erase(temporaries_, buffer);
}

void PlanMemory::bind(Inputs inputs, std::span<const char> donated) {
  const uint64_t epoch = address_epoch_;
  const auto bind_inputs = [&](auto&& donated_references) {
    for (Input& input : inputs_) {
      const size_t slot = inputs.slot(input.index);
      const Tensor& tensor = inputs.tensors()[slot];
      const uint32_t references = donated_references(slot);
      const bool is_free = references > 0 && tensor.layout().offset.hint() == 0 &&
                           tensor->use_count() <= references + 1 && tensor->storage->is_exclusive();
      put(input.buffer, tensor.data());
      if (input.is_free == is_free) continue;
      input.is_free = is_free;
      is_chosen_ = false;
    }
  };
  if (donated.empty()) bind_inputs([](size_t) { return 0u; });
  else bind_inputs([counts = donated.data()](size_t slot) { return static_cast<uint32_t>(counts[slot]); });
  const bool is_chosen = is_chosen_;
  if (!is_chosen) choose_donors();
  if (!is_chosen || address_epoch_ != epoch) {
    for (const Output& output : outputs_) {
      if (output.donor >= 0)
        put(output.buffer, inputs[output.donors[static_cast<size_t>(output.donor)]]->storage->data());
    }
  }
  try {
    if (plan_.arena_bytes > 0) arena_ = allocate(plan_.arena_bytes, kArena);
    for (uint32_t o : allocated_) {
      outputs_[o].storage = allocate(outputs_[o].bytes, outputs_[o].buffer);
      put(outputs_[o].buffer, outputs_[o].storage->data());
    }
    for (uint32_t b : temporaries_) put(b, address_of_temporary(plan_.buffers[b]));
  } catch (...) {
    release();
    throw;
  }
}

/// Allocates a block for an output's buffer, or the arena. If there is no memory, the error says what it was for.
Ref<Storage> PlanMemory::allocate(uint64_t bytes, uint32_t buffer) {
  const auto node = [&]() -> const graph::Node& { return plan_.graph[plan_.buffers[buffer].node]; };
  try {
    if (!allocator_.is_observed()) return allocator_.allocate(bytes);
    if (buffer == kArena) return allocator_.allocate(bytes, {.plan = plan_.options.name, .what = "arena"});
    return allocator_.allocate(bytes, {plan_.options.name, node().def().name, node().origin()});
  } catch (OutOfMemory& failure) {
    std::string who = "the arena of " + plan_.options.name;
    if (buffer != kArena)
      who = fmt::format("`{}`: {}", node().def().name, describe(node().dtype, without_symbols(node().shape)));
    failure.error().notes.push_back(fmt::format("{} asked for by {}", describe_bytes(bytes), who));
    throw;
  }
}

/// Returns a temporary's address; outputs must be bound. Without an arena, the temporaries that belong there are empty.
std::byte* PlanMemory::address_of_temporary(const graph::Buffer& buffer) const {
  const graph::Buffer& target = plan_.buffers[buffer.alias_of];
  if (target.kind == graph::Buffer::Kind::output) return addresses_[buffer.alias_of];
  return arena_ ? static_cast<std::byte*>(arena_->data()) + target.offset : nullptr;
}

/// Chooses, for each output, the first donor that is free.
void PlanMemory::choose_donors() {
  is_chosen_ = false;
  std::vector<char> is_free(plan_.graph.inputs().size());
  for (const Input& input : inputs_) is_free[input.index] = input.is_free;
  allocated_.clear();
  for (uint32_t o = 0; o < outputs_.size(); ++o) {
    Output& output = outputs_[o];
    const auto donor = std::find_if(output.donors.begin(), output.donors.end(), [&](uint32_t i) { return is_free[i]; });
    output.donor = donor == output.donors.end() ? -1 : static_cast<int>(donor - output.donors.begin());
    if (output.donor >= 0) is_free[*donor] = false;
    else allocated_.push_back(o);
  }
  same_as_.assign(plan_.outputs.size(), -1);
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const graph::Buffer& buffer = plan_.buffers[plan_.outputs[i].buffer];
    if (buffer.kind != graph::Buffer::Kind::output) continue;
    const Output& output = outputs_[buffer.index];
    if (output.donor < 0 || !(same_layout_donors_[i] >> output.donor & 1)) continue;
    same_as_[i] = static_cast<int32_t>(output.donors[static_cast<size_t>(output.donor)]);
  }
  is_chosen_ = true;
}

void PlanMemory::make_outputs(Inputs inputs, std::span<const Scalar> symbols, std::span<Tensor> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (same_as_[i] >= 0) {
      outputs[i] = inputs[static_cast<size_t>(same_as_[i])];
      continue;
    }
    const graph::PlanOutput& out = plan_.outputs[i];
    const graph::Buffer& buffer = plan_.buffers[out.buffer];
    if (buffer.kind == graph::Buffer::Kind::input) {
      const Tensor& input = inputs[buffer.index];
      Layout layout = out.layout;
      layout.offset = layout.offset.in_run(symbols) + input.layout().offset.hint();
      outputs[i] = input.with_layout(layout);
      continue;
    }
    const Output& output = outputs_[buffer.index];
    const Tensor* donor = output.donor >= 0 ? &inputs[output.donors[static_cast<size_t>(output.donor)]] : nullptr;
    outputs[i] = Tensor(out.dtype, out.layout, donor ? (*donor)->storage : output.storage);
    if (out.layout.offset.symbol()) outputs[i]->layout.offset = out.layout.offset.in_run(symbols);
  }
}

void PlanMemory::release() {
  for (uint32_t o : allocated_) outputs_[o].storage = nullptr;
  arena_ = nullptr;
}

}  // namespace tsl::exec
