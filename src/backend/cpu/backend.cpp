#include "backend/cpu/backend.h"

#include <cblas.h>

#include <optional>

#include "backend/cpu/op_kernels.h"

namespace tsl::cpu {

using graph::Buffer;
using graph::Plan;
using graph::PlanOutput;
using graph::RunError;

namespace {

class CpuExecutable : public graph::Executable {
 public:
  CpuExecutable(CpuBackend& backend, Plan plan) : backend_(backend), plan_(std::move(plan)) {
    for (const graph::Kernel& kernel : plan_.kernels) {
      if (kernel.kind == graph::Template::op) programs_.emplace_back(std::nullopt);
      else programs_.emplace_back(TileProgram(kernel, plan_, backend_.table()));
    }
    addresses_.resize(plan_.buffers.size());
    for (const Buffer& buffer : plan_.buffers) output_count_ += buffer.kind == Buffer::Kind::output;
    storages_.resize(output_count_);
  }

  const Plan& plan() const override { return plan_; }

  RunError run(std::span<const Tensor> inputs, std::span<const bool> donated, std::span<const Scalar> symbols,
               std::span<Tensor> outputs) override {
    place_buffers(inputs, donated);
    RunState state;
    state.buffers = addresses_.data();
    state.symbols = symbols.data();
    state.pool = &backend_.pool();
    state.scratch = &backend_.scratch();
    state.shared = &backend_.shared_scratch();
    for (const std::vector<uint32_t>& launch : plan_.launches) {
      run_launch(launch, state);
      if (state.error) break;
    }
    if (!state.error) {
      for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = make_output(plan_.outputs[i], inputs, symbols);
    }
    for (Ref<Storage>& storage : storages_) storage = nullptr;
    arena_ = nullptr;
    return state.error;
  }

 private:
  void run_launch(const std::vector<uint32_t>& launch, RunState& state) {
    if (launch.size() > 1) {
      state.pool->parallel_for(static_cast<int64_t>(launch.size()),
                               [&](int64_t i, int thread) { programs_[launch[i]]->run(state, thread); });
    } else if (programs_[launch[0]]) {
      programs_[launch[0]]->run(state);
    } else {
      run_op(backend_, plan_, plan_.kernels[launch[0]], state);
    }
  }

  void place_buffers(std::span<const Tensor> inputs, std::span<const bool> donated) {
    if (plan_.arena_bytes > 0) arena_ = backend_.allocator().allocate(plan_.arena_bytes);
    taken_.assign(inputs.size(), false);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      switch (buffer.kind) {
        case Buffer::Kind::input: addresses_[b] = inputs[buffer.index].data(); break;
        case Buffer::Kind::temporary:
          // Without an arena every temporary is empty.
          addresses_[b] = arena_ ? static_cast<std::byte*>(arena_->data()) + buffer.offset : nullptr;
          break;
        case Buffer::Kind::output: {
          Ref<Storage>& storage = storages_[buffer.index];
          storage = donor(buffer, inputs, donated);
          if (!storage) {
            storage = backend_.allocator().allocate(static_cast<uint64_t>(buffer.count.hint()) * size_of(buffer.dtype));
          }
          addresses_[b] = static_cast<std::byte*>(storage->data());
          break;
        }
      }
    }
  }

  /// The storage of an input that was given up and can hold this output.
  Ref<Storage> donor(const Buffer& output, std::span<const Tensor> inputs, std::span<const bool> donated) {
    if (donated.empty() || output.index >= plan_.donors.size()) return {};
    for (uint32_t i : plan_.donors[output.index]) {
      if (!donated[i] || taken_[i] || inputs[i].layout().offset.hint() != 0) continue;
      taken_[i] = true;
      return inputs[i]->storage;
    }
    return {};
  }

  Tensor make_output(const PlanOutput& out, std::span<const Tensor> inputs, std::span<const Scalar> symbols) const {
    const Buffer& buffer = plan_.buffers[out.buffer];
    Layout layout = out.layout;
    layout.offset = layout.offset.in_run(symbols);
    if (buffer.kind == Buffer::Kind::output) return Tensor(out.dtype, layout, storages_[buffer.index]);
    const Tensor& input = inputs[buffer.index];
    layout.offset = layout.offset + input.layout().offset;
    return input.with_layout(layout);
  }

  CpuBackend& backend_;
  Plan plan_;
  std::vector<std::optional<TileProgram>> programs_;
  std::vector<std::byte*> addresses_;
  std::vector<Ref<Storage>> storages_;
  std::vector<bool> taken_;
  Ref<Storage> arena_;
  uint32_t output_count_ = 0;
};

}  // namespace

CpuBackend::CpuBackend(int threads, Isa isa) : table_(kernels(isa)), pool_(threads), scratch_(pool_.size()) {
  openblas_set_num_threads(1);  // products are cut over this engine's own threads
}

std::unique_ptr<graph::Executable> CpuBackend::prepare(Plan plan) {
  return std::make_unique<CpuExecutable>(*this, std::move(plan));
}

}  // namespace tsl::cpu
