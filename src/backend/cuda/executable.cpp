#include "backend/cuda/executable.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "backend/cuda/codegen/stage.h"
#include "backend/cuda/sequence.h"
#include "base/error.h"
#include "graph/plan_memory.h"
#include "tensor/elements.h"

namespace tsl::cuda {

using graph::Kernel;
using graph::Plan;
using graph::RunError;

namespace {

/// templates.cuh has the same.
struct ErrorCell {
  uint32_t lock, order, node, padding;
  int64_t element, value;
};
constexpr ErrorCell kNoError{0, ~0u, 0, 0, INT64_MAX, 0};

/// Stages with their functions.
struct Ready {
  std::vector<Stage> stages;
  std::vector<CUfunction> functions;
};

/// What one launch of the plan becomes: kernels that may run in any order, with wide accesses and, for buffers that are
/// not aligned for them, without.
struct Unit {
  std::vector<Stage> wide, narrow;   // equally many
  uint64_t scratch_bytes = 0;
  Ready ready_wide, ready_narrow;    // loaded when first needed
};

/// What runs one after another: kernels as one sequence, or an op with a kernel of its own.
struct Step {
  uint32_t op = 0;                             // kernel of the plan
  std::vector<size_t> units;
  std::unique_ptr<KernelSequence> sequence;    // null for an op
};

/// Stages of equal source share tables.
std::vector<Stage> tabled(const std::vector<Stage>& stages, const std::vector<size_t>& group) {
  std::vector<Stage> out;
  std::vector<std::vector<const Stage*>> groups;
  for (size_t i = 0; i < stages.size(); ++i) {
    groups.resize(std::max(groups.size(), group[i] + 1));
    groups[group[i]].push_back(&stages[i]);
  }
  for (const std::vector<const Stage*>& members : groups) out.push_back(members.size() == 1 ? *members[0] : make_table(members));
  return out;
}

/// Which stages share a table: those whose sources are equal with and without wide accesses, as many as a table holds.
std::vector<size_t> find_groups(const std::vector<Stage>& wide, const std::vector<Stage>& narrow) {
  struct Open {
    size_t number, words;
  };
  std::unordered_map<std::string, Open> open;
  std::vector<size_t> group;
  size_t count = 0;
  for (size_t i = 0; i < wide.size(); ++i) {
    const size_t words = wide[i].arguments.size() + 1;
    const auto [at, is_new] = open.try_emplace(wide[i].source + narrow[i].source, Open{count, 0});
    if (is_new || at->second.words + words > kMaxTableWords) at->second = {count++, 0};
    at->second.words += words;
    group.push_back(at->second.number);
  }
  return group;
}

class CudaExecutable : public graph::Executable {
 public:
  CudaExecutable(Gpu& gpu, Plan plan) : gpu_(gpu), plan_(std::move(plan)), memory_(plan_, gpu.allocator) {
    for (const Kernel& kernel : plan_.kernels) {
      for (graph::NodeId id : kernel.nodes) may_fail_ |= kernel.kind != graph::Template::op && plan_.graph[id].def().fallible;
    }
    for (const std::vector<uint32_t>& launch : plan_.launches) add_launch(launch);
    load_all();
  }

  const Plan& plan() const override { return plan_; }

  RunError run(std::span<const Tensor> inputs, std::span<const bool> donated, std::span<const Scalar> symbols,
               std::span<Tensor> outputs) override {
    gpu_.device.make_current();
    for (const Tensor& input : inputs) {
      if (input.device().kind != tsl::Device::Kind::cuda) fail(ErrorKind::device, "an op on a GPU was given {}, which is in host memory", describe(input));
    }
    memory_.place(inputs, donated);
    RunError error;
    try {
      if (scratch_bytes_ > 0) scratch_ = gpu_.allocator.allocate(scratch_bytes_);
      if (may_fail_) gpu_.device.copy_to_device(address_of(gpu_.error_cell->data()), &kNoError, sizeof kNoError);
      error = run_steps(symbols);
      if (!error && may_fail_) error = read_error();
    } catch (...) {
      release();
      throw;
    }
    if (!error) memory_.make_outputs(inputs, symbols, outputs);
    release();
    return error;
  }

 private:
  void add_launch(const std::vector<uint32_t>& launch) {
    const bool is_op = plan_.kernels[launch[0]].kind == graph::Template::op;
    if (is_op || steps_.empty() || !steps_.back().sequence) steps_.emplace_back();
    Step& step = steps_.back();
    if (is_op) {
      step.op = launch[0];
      return;
    }
    if (!step.sequence) step.sequence = std::make_unique<KernelSequence>(gpu_.device);
    step.units.push_back(units_.size());
    units_.push_back(make_unit(launch));
    step.sequence->calls().resize(step.sequence->calls().size() + units_.back().wide.size());
  }

  Unit make_unit(const std::vector<uint32_t>& launch) {
    Unit unit;
    for (uint32_t k : launch) {
      KernelProgram wide = generate(plan_.kernels[k], plan_, true), narrow = generate(plan_.kernels[k], plan_, false);
      unit.scratch_bytes = std::max(unit.scratch_bytes, wide.scratch_bytes);
      std::move(wide.stages.begin(), wide.stages.end(), std::back_inserter(unit.wide));
      std::move(narrow.stages.begin(), narrow.stages.end(), std::back_inserter(unit.narrow));
    }
    scratch_bytes_ = std::max(scratch_bytes_, unit.scratch_bytes);
    if (launch.size() > 1) {
      const std::vector<size_t> group = find_groups(unit.wide, unit.narrow);
      unit.wide = tabled(unit.wide, group);
      unit.narrow = tabled(unit.narrow, group);
    }
    return unit;
  }

  /// All at once: the cache compiles them side by side.
  void load_all() {
    std::vector<KernelSource> sources;
    for (const Unit& unit : units_) {
      for (const Stage& stage : unit.wide) sources.push_back({stage.name, stage.source});
    }
    const std::vector<CUfunction> functions = gpu_.kernels.get_many(sources);
    auto next = functions.begin();
    for (Unit& unit : units_) {
      unit.ready_wide.stages = unit.wide;
      unit.ready_wide.functions.assign(next, next + static_cast<ptrdiff_t>(unit.wide.size()));
      next += static_cast<ptrdiff_t>(unit.wide.size());
    }
  }

  void load(const std::vector<Stage>& stages, Ready& ready) {
    std::vector<KernelSource> sources;
    for (const Stage& stage : stages) sources.push_back({stage.name, stage.source});
    ready.functions = gpu_.kernels.get_many(sources);
    ready.stages = stages;
  }

  RunError run_steps(std::span<const Scalar> symbols) {
    for (Step& step : steps_) {
      if (!step.sequence) {
        if (RunError error = run_op(gpu_, plan_, plan_.kernels[step.op], memory_.addresses(), symbols)) return error;
        continue;
      }
      KernelCall* call = step.sequence->calls().data();
      for (size_t u : step.units) call = set_calls(call, ready(units_[u], symbols), symbols);
      step.sequence->launch();
    }
    return {};
  }

  /// The stages for buffers that lie as they do now.
  const Ready& ready(Unit& unit, std::span<const Scalar> symbols) {
    for (const Stage& stage : unit.wide) {
      if (is_aligned(stage, symbols)) continue;
      if (unit.ready_narrow.functions.empty()) load(unit.narrow, unit.ready_narrow);
      return unit.ready_narrow;
    }
    return unit.ready_wide;
  }

  KernelCall* set_calls(KernelCall* call, const Ready& ready, std::span<const Scalar> symbols) const {
    for (size_t i = 0; i < ready.stages.size(); ++i, ++call) {
      const Stage& stage = ready.stages[i];
      if (call->function != ready.functions[i]) {
        call->name = stage.name;
        call->function = ready.functions[i];
        call->grid[0] = static_cast<unsigned>(stage.grid[0]);
        call->grid[1] = static_cast<unsigned>(stage.grid[1]);
        call->block[0] = static_cast<unsigned>(stage.threads_x);
        call->block[1] = static_cast<unsigned>(stage.threads_y);
        call->values.resize(stage.arguments.size());
        call->is_table = stage.is_table;
      }
      for (size_t a = 0; a < stage.arguments.size(); ++a) call->values[a] = value_of(stage.arguments[a], symbols);
    }
    return call;
  }

  bool is_aligned(const Stage& stage, std::span<const Scalar> symbols) const {
    for (const WideAccess& access : stage.wide) {
      uint64_t address = reinterpret_cast<uint64_t>(memory_.addresses()[access.buffer]);
      if (access.offset) address += static_cast<uint64_t>(symbols[access.offset->id].integer * access.element_bytes);
      if (address % static_cast<uint64_t>(access.bytes) != 0) return false;
    }
    return true;
  }

  uint64_t value_of(const Argument& argument, std::span<const Scalar> symbols) const {
    switch (argument.kind) {
      case Argument::Kind::buffer: return reinterpret_cast<uint64_t>(memory_.addresses()[argument.buffer]);
      case Argument::Kind::scratch: return address_of(scratch_->data()) + argument.scratch;
      case Argument::Kind::error: return address_of(gpu_.error_cell->data());
      case Argument::Kind::integer:
        return static_cast<uint64_t>(argument.symbol ? symbols[argument.symbol->id].integer : argument.value);
      case Argument::Kind::scalar: {
        const ScalarBits bits = to_bits(argument.symbol ? symbols[argument.symbol->id] : argument.scalar, argument.dtype);
        uint64_t value = 0;
        std::memcpy(&value, bits.bytes, sizeof value);
        return value;
      }
    }
    return 0;
  }

  RunError read_error() {
    ErrorCell cell;
    gpu_.device.copy_to_host(&cell, address_of(gpu_.error_cell->data()), sizeof cell);
    RunError error;
    if (cell.order == ~0u) return error;
    error.order = cell.order;
    error.node = cell.node;
    error.value = cell.value;
    return error;
  }

  void release() {
    memory_.release();
    scratch_ = nullptr;
  }

  Gpu& gpu_;
  Plan plan_;
  graph::PlanMemory memory_;
  std::vector<Unit> units_;
  std::vector<Step> steps_;
  Ref<Storage> scratch_;
  uint64_t scratch_bytes_ = 0;
  bool may_fail_ = false;
};

/// The elements that a layout can reach, as a range of its storage: first, and how many.
std::pair<int64_t, int64_t> reached(const Layout& layout) {
  int64_t low = 0, high = 0;
  for (int i = 0; i < layout.rank(); ++i) {
    if (layout.shape[i].hint() == 0) return {0, 0};
    const int64_t far = (layout.shape[i].hint() - 1) * layout.strides[i].hint();
    (far < 0 ? low : high) += far;
  }
  return {low, high - low + 1};
}

}  // namespace

Gpu::Gpu(int ordinal, graph::Backend& host)
    : host(host), device(ordinal), allocator(device), kernels(device), error_cell(allocator.allocate(sizeof(ErrorCell))) {}

Matmul& Gpu::matmul() {
  if (!matmul_) matmul_ = std::make_unique<Matmul>(device, allocator);
  return *matmul_;
}

std::unique_ptr<graph::Executable> prepare_plan(Gpu& gpu, Plan plan) {
  gpu.device.make_current();
  return std::make_unique<CudaExecutable>(gpu, std::move(plan));
}

Tensor move_to_device(Gpu& gpu, const Tensor& host) {
  if (host.device().kind == tsl::Device::Kind::cuda) return host;
  const auto [first, count] = reached(host.layout());
  const uint64_t size = size_of(host.dtype()), bytes = static_cast<uint64_t>(count) * size;
  const Ref<Storage> storage = gpu.allocator.allocate(bytes);
  if (count > 0) gpu.device.copy_to_device(address_of(storage->data()), host.data() + first * static_cast<int64_t>(size), bytes);
  Layout layout = host.layout();
  layout.offset = -first;
  return Tensor(host.dtype(), layout, storage);
}

Tensor move_to_host(Gpu& gpu, const Tensor& tensor) {
  if (tensor.device().kind != tsl::Device::Kind::cuda) return tensor;
  const auto [first, count] = reached(tensor.layout());
  const uint64_t size = size_of(tensor.dtype()), bytes = static_cast<uint64_t>(count) * size;
  const Ref<Storage> storage = gpu.host.allocator().allocate(bytes);
  if (count > 0) gpu.device.copy_to_host(storage->data(), address_of(tensor.data() + first * static_cast<int64_t>(size)), bytes);
  Layout layout = tensor.layout();
  layout.offset = -first;
  return Tensor(tensor.dtype(), layout, storage);
}

}  // namespace tsl::cuda
