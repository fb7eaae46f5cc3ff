#include "backend/cuda/driver/executable.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "backend/cuda/codegen/generate.h"
#include "backend/cuda/driver/dependencies.h"
#include "backend/cuda/driver/op_kernels.h"
#include "backend/cuda/driver/product.h"
#include "backend/cuda/driver/sequence.h"
#include "base/error.h"
#include "exec/plan_memory.h"
#include "tensor/elements.h"

namespace tsl::cuda {

using exec::RunError;
using graph::Kernel;
using graph::Plan;

namespace {

/// The arguments of a stage that may be others at the next run. A table has thousands of arguments: most are addresses
/// or never change, and its entries share the numbers of the host.
struct Changing {
  struct Address {
    uint32_t word, buffer;
  };
  struct Number {
    Argument argument;            // not of Kind::buffer
    std::vector<uint32_t> words;  // that have its value
  };
  explicit Changing(const Stage& stage);
  std::vector<Address> addresses;
  std::vector<Number> numbers;
};

Changing::Changing(const Stage& stage) {
  addresses.reserve(stage.arguments.size());
  constexpr size_t kRecent = 16;  // where an equal number is looked for: in what the last entries of a table have
  for (uint32_t word = 0; word < stage.arguments.size(); ++word) {
    const Argument& argument = stage.arguments[word];
    if (argument.kind == Argument::Kind::buffer) addresses.push_back({word, argument.buffer});
    if (!argument.symbol && argument.kind != Argument::Kind::scratch) continue;
    const auto recent = numbers.end() - static_cast<ptrdiff_t>(std::min(numbers.size(), kRecent));
    const auto at = std::find_if(recent, numbers.end(), [&](const Number& n) { return n.argument == argument; });
    if (at != numbers.end()) at->words.push_back(word);
    else numbers.push_back({argument, {word}});
  }
}

/// Stages with their functions.
struct Ready {
  std::vector<Stage> stages;
  std::vector<CUfunction> functions;
  std::vector<Changing> changing;
  Ref<Storage> arrivals;             // the counters; null: there are none
  std::vector<Ref<Storage>> tables;  // of the stages; null for one without, or with one that is a parameter

  Ready() = default;
  Ready(LaunchStages of, Gpu& gpu);

 private:
  static void settle(Stage& stage, Argument::Kind kind, const Storage& memory, size_t unit);
};

Ready::Ready(LaunchStages of, Gpu& gpu)
    : stages(std::move(of.stages)), changing(stages.begin(), stages.end()), tables(stages.size()) {
  if (of.arrivals > 0) {
    arrivals = gpu.allocator.allocate(of.arrivals * sizeof(uint32_t));
    gpu.device.fill(address_of(arrivals->data()), 0, of.arrivals * sizeof(uint32_t));
    for (Stage& stage : stages) settle(stage, Argument::Kind::arrivals, *arrivals, sizeof(uint32_t));
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].table_in_memory) continue;
    tables[i] = gpu.allocator.allocate(stages[i].table_words * sizeof(uint64_t));
    settle(stages[i], Argument::Kind::table, *tables[i], sizeof(uint64_t));
  }
}

/// Arguments that are addresses in `memory` are numbers from now on.
void Ready::settle(Stage& stage, Argument::Kind kind, const Storage& memory, size_t unit) {
  for (Argument& argument : stage.arguments) {
    if (argument.kind != kind) continue;
    argument.kind = Argument::Kind::integer;
    argument.value = static_cast<int64_t>(address_of(memory.data()) + argument.scratch * unit);
  }
}

/// One launch of the plan: kernels, or a product.
struct Unit {
  uint32_t launch = 0;
  uint32_t calls = 1;
  std::optional<PlanProduct> product;
  Ready wide, narrow;             // narrow: loaded when first needed
  bool has_offsets = false;       // of a run, which decide about the stages
  const Ready* chosen = nullptr;  // for the present run
  const Ready* set = nullptr;     // the one that its calls have been set to
};

/// What runs one after another: kernels and products as one sequence, or an op that is neither.
struct Step {
  uint32_t op = 0;  // kernel of the plan
  std::vector<size_t> units;
  std::unique_ptr<KernelSequence> sequence;  // null for an op
};

class ProductWork : public LibraryWork {
 public:
  ProductWork(Matmul& matmul, const Product& product, uint32_t workspace)
      : matmul_(matmul), product_(product), workspace_(workspace) {
    matmul_.take_workspace(product, workspace);
  }
  void enqueue(const std::vector<uint64_t>& at) override {
    matmul_.run(product_, at[0], at[1], at[2], at[3], workspace_);
  }
  bool can_record(const std::vector<uint64_t>& at) override {
    return matmul_.can_record(product_, at[0], at[1], at[2]);
  }

 private:
  Matmul& matmul_;
  Product product_;
  uint32_t workspace_;
};

class CudaExecutable : public exec::Executable {
 public:
  CudaExecutable(Gpu& gpu, Plan plan) : gpu_(gpu), plan_(std::move(plan)), memory_(plan_, gpu.allocator) {
    uses_.resize(plan_.launches.size());
    for (uint32_t launch = 0; launch < plan_.launches.size(); ++launch) add_launch(launch);
    link_calls();
    load_all();
  }

  const Plan& plan() const override { return plan_; }

  RunError run(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
               std::span<Tensor> outputs) override {
    gpu_.device.make_current();
    memory_.place(inputs, donated);
    last_began_at_.reset();
    RunError error;
    try {
      if (set_moves_ != memory_.moves()) check_devices(inputs);
      for (Unit& unit : units_) choose_stages(unit, symbols);
      if (scratch_bytes_ > 0) scratch_ = gpu_.allocator.allocate(scratch_bytes_);
      prepare_sequences(symbols);
      error = run_steps(symbols);
      if (reporting_) error = first_of(error, reported(error));
      if (!error) memory_.make_outputs(inputs, symbols, outputs);
    } catch (...) {
      if (reporting_) gpu_.errors.forget();
      const bool is_lost = has_written();
      release();
      if (is_lost) exec::fail_having_written();
      throw;
    }
    release();
    return error;
  }

 private:
  /// Whether the run may have written over inputs that were given up. Only kernels of the last step do: the plan lets
  /// nothing write over an input before all ops that take memory on their way (Plan::donors).
  bool has_written() const { return memory_.has_donors() && last_began_at_ && launches() != *last_began_at_; }
  uint64_t launches() const { return gpu_.device.counters().kernel_launches + gpu_.device.counters().graph_launches; }

  void check_devices(const exec::Inputs& inputs) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].device().is_host()) continue;
      fail(ErrorKind::device, "an op on a GPU was given {}, which is in host memory", describe(inputs[i]));
    }
  }

  void add_launch(uint32_t launch) {
    const std::vector<uint32_t>& kernels = plan_.launches[launch];
    std::optional<PlanProduct> product = product_of(plan_.kernels[kernels[0]]);
    const bool is_apart = is_op(plan_, kernels) && !product;
    if (is_apart || steps_.empty() || !steps_.back().sequence) steps_.emplace_back();
    Step& step = steps_.back();
    if (is_apart) {
      step.op = kernels[0];
      return;
    }
    if (!step.sequence)
      step.sequence = std::make_unique<KernelSequence>(gpu_.device, gpu_.options.cuda_graphs && plan_.options.graphs);
    std::vector<KernelCall>& calls = step.sequence->calls();
    step.units.push_back(units_.size());
    if (product) {
      const uint32_t workspace = products_++ % Matmul::kWorkspaces;
      uses_[launch].workspace = workspace;
      calls.emplace_back();
      calls.back().name = "a product";
      calls.back().library = std::make_shared<ProductWork>(gpu_.matmul(), product->product(), workspace);
      units_.push_back({launch, 1, std::move(product), {}, {}});
      return;
    }
    LaunchStages stages = stages_of(plan_, kernels, true);
    scratch_bytes_ = std::max(scratch_bytes_, stages.scratch_bytes);
    uses_[launch] = use_of(kernels);
    if (uses_[launch].reports) reporting_ = step.sequence.get();
    const auto count = static_cast<uint32_t>(stages.stages.size());
    calls.resize(calls.size() + count);
    Unit& unit = units_.emplace_back(Unit{launch, count, {}, Ready(std::move(stages), gpu_), {}});
    for (const Stage& stage : unit.wide.stages) {
      for (const WideAccess& access : stage.wide) unit.has_offsets |= access.offset != nullptr;
    }
  }

  LaunchUse use_of(const std::vector<uint32_t>& kernels) const {
    LaunchUse use;
    for (uint32_t k : kernels) {
      const Kernel& kernel = plan_.kernels[k];
      use.scratch |= kernel.kind != graph::Template::pointwise;  // perhaps only where accesses are not wide
      use.needs_success |= graph::needs_success(plan_, kernel);
      for (graph::NodeId id : kernel.nodes) use.reports |= plan_.graph[id].may_fail();
    }
    return use;
  }

  /// Tells the calls of each step what they come after: within a launch, the one before. Launches of nothing have no
  /// calls, so what comes after one comes after what that does.
  void link_calls() {
    const std::vector<std::vector<uint32_t>> before = dependencies(plan_, uses_);
    std::vector<std::vector<uint32_t>> ends(plan_.launches.size());  // of the step's launches: the calls to come after
    for (const Step& step : steps_) {
      uint32_t call = 0;
      for (size_t u : step.units) {
        const Unit& unit = units_[u];
        std::vector<uint32_t>& after = ends[unit.launch];
        for (uint32_t b : before[unit.launch]) after.insert(after.end(), ends[b].begin(), ends[b].end());
        std::sort(after.begin(), after.end());
        after.erase(std::unique(after.begin(), after.end()), after.end());
        for (uint32_t stage = 0; stage < unit.calls; ++stage, ++call) {
          step.sequence->calls()[call].after = std::exchange(after, {call});
          step.sequence->calls()[call].reports = uses_[unit.launch].reports;
        }
      }
      for (size_t u : step.units) ends[units_[u].launch].clear();
    }
  }

  /// The product that the kernel is, if its operands can be taken as they lie.
  std::optional<PlanProduct> product_of(const Kernel& kernel) const {
    if (kernel.kind != graph::Template::op || plan_.graph[kernel.op_node].op != Op::matmul) return {};
    if (!is_float(plan_.graph[kernel.op_node].dtype)) return {};
    PlanProduct product(plan_, kernel, gpu_.options.tf32);
    if (!product.is_call()) return {};
    return product;
  }

  /// All at once: the cache compiles them side by side.
  void load_all() {
    std::vector<Stage*> stages;
    stages.reserve(units_.size());
    for (Unit& unit : units_) {
      for (Stage& stage : unit.wide.stages) stages.push_back(&stage);
    }
    const std::vector<CUfunction> functions = functions_of(stages);
    auto next = functions.begin();
    for (Unit& unit : units_) {
      const auto end = next + static_cast<ptrdiff_t>(unit.wide.stages.size());
      unit.wide.functions.assign(next, end);
      next = end;
    }
  }

  /// Their texts go: nobody needs them any more.
  std::vector<CUfunction> functions_of(const std::vector<Stage*>& stages) {
    std::vector<CUfunction> functions = gpu_.kernels.get_many(stages);
    for (Stage* stage : stages) stage->text = {};
    return functions;
  }

  void load_narrow(Unit& unit) {
    LaunchStages stages = stages_of(plan_, plan_.launches[unit.launch], false);
    scratch_bytes_ = std::max(scratch_bytes_, stages.scratch_bytes);
    unit.narrow = Ready(std::move(stages), gpu_);
    std::vector<Stage*> narrow;
    for (Stage& stage : unit.narrow.stages) narrow.push_back(&stage);
    unit.narrow.functions = functions_of(narrow);
  }

  void prepare_sequences(std::span<const Scalar> symbols) {
    has_moved_ = std::exchange(set_moves_, kUnset) != memory_.moves();
    for (Step& step : steps_) {
      if (!step.sequence) continue;
      KernelCall* call = step.sequence->calls().data();
      for (size_t u : step.units) {
        if (const std::optional<PlanProduct>& product = units_[u].product) {
          const std::array<uint64_t, 4> at = product->addresses(memory_.addresses(), symbols);
          call->values.resize(at.size());
          for (uint32_t word = 0; word < at.size(); ++word) call->set(word, at[word]);
          ++call;
        } else {
          call = set_calls(call, units_[u], symbols);
        }
      }
      step.sequence->prepare();
    }
    set_moves_ = memory_.moves();
  }

  static RunError first_of(const RunError& a, const RunError& b) { return b.order < a.order ? b : a; }

  /// What kernels reported. The device may still be at work on what comes after the last of those that can.
  RunError reported(const RunError& of_an_op) {
    if (of_an_op) gpu_.device.synchronize();
    else reporting_->wait_for_reports();
    return gpu_.errors.take();
  }

  RunError run_steps(std::span<const Scalar> symbols) {
    for (Step& step : steps_) {
      if (&step == &steps_.back()) last_began_at_ = launches();
      if (step.sequence) step.sequence->launch();
      else if (RunError error = run_op(gpu_, plan_, plan_.kernels[step.op], memory_.addresses(), symbols)) return error;
    }
    return {};
  }

  /// The stages for buffers that lie as they do now.
  void choose_stages(Unit& unit, std::span<const Scalar> symbols) {
    if (!unit.has_offsets && set_moves_ == memory_.moves()) return;  // the same as in the last run
    unit.chosen = &unit.wide;
    for (const Stage& stage : unit.wide.stages) {
      if (is_aligned(stage, symbols)) continue;
      if (unit.narrow.functions.empty()) load_narrow(unit);
      unit.chosen = &unit.narrow;
      return;
    }
  }

  KernelCall* set_calls(KernelCall* call, Unit& unit, std::span<const Scalar> symbols) {
    const Ready& ready = *unit.chosen;
    const bool is_other = std::exchange(unit.set, unit.chosen) != unit.chosen;
    for (size_t i = 0; i < ready.stages.size(); ++i, ++call) {
      if (is_other) set_call(*call, ready, i, symbols);
      if (has_moved_) {
        for (const Changing::Address& at : ready.changing[i].addresses) {
          call->set(at.word, reinterpret_cast<uint64_t>(memory_.addresses()[at.buffer]));
        }
      }
      for (const Changing::Number& number : ready.changing[i].numbers) {
        const uint64_t value = value_of(number.argument, symbols);
        if (call->values[number.words.front()] == value) continue;
        for (uint32_t word : number.words) call->set(word, value);
      }
    }
    return call;
  }

  void set_call(KernelCall& call, const Ready& ready, size_t i, std::span<const Scalar> symbols) const {
    const Stage& stage = ready.stages[i];
    call.name = stage.readable;
    call.function = ready.functions[i];
    call.blocks = static_cast<unsigned>(stage.blocks);
    call.threads[0] = static_cast<unsigned>(stage.threads_x);
    call.threads[1] = static_cast<unsigned>(stage.threads_y);
    call.table_words = stage.table_words;
    call.table = ready.tables[i] ? address_of(ready.tables[i]->data()) : 0;
    call.values.clear();
    for (const Argument& argument : stage.arguments) call.values.push_back(value_of(argument, symbols));
    call.is_sent = call.is_copied = false;
  }

  bool is_aligned(const Stage& stage, std::span<const Scalar> symbols) const {
    for (const WideAccess& access : stage.wide) {
      uint64_t address = reinterpret_cast<uint64_t>(memory_.addresses()[access.buffer]);
      if (access.offset) address += static_cast<uint64_t>(symbols[access.offset->id].integer * access.element_bytes);
      if (address & static_cast<uint64_t>(access.bytes - 1)) return false;
    }
    return true;
  }

  uint64_t value_of(const Argument& argument, std::span<const Scalar> symbols) const {
    switch (argument.kind) {
      case Argument::Kind::buffer: return reinterpret_cast<uint64_t>(memory_.addresses()[argument.buffer]);
      case Argument::Kind::scratch:
        return scratch_ ? address_of(scratch_->data()) + argument.scratch : 0;  // of nothing
      case Argument::Kind::error: return gpu_.errors.cell();
      case Argument::Kind::arrivals:
      case Argument::Kind::table: return 0;  // an address since the stage is ready
      case Argument::Kind::integer:
        return static_cast<uint64_t>(argument.symbol ? symbols[argument.symbol->id].integer : argument.value);
      case Argument::Kind::scalar: {
        const ScalarBits bits =
            to_bits(argument.symbol ? symbols[argument.symbol->id] : argument.scalar, argument.dtype);
        uint64_t value = 0;
        std::memcpy(&value, bits.bytes, sizeof value);
        return value;
      }
    }
    return 0;
  }

  void release() {
    memory_.release();
    scratch_ = nullptr;
  }

  Gpu& gpu_;
  Plan plan_;
  exec::PlanMemory memory_;
  std::vector<Unit> units_;
  std::vector<LaunchUse> uses_;  // by launch
  uint32_t products_ = 0;
  std::vector<Step> steps_;
  Ref<Storage> scratch_;
  uint64_t scratch_bytes_ = 0;
  static constexpr uint64_t kUnset = ~uint64_t{0};
  uint64_t set_moves_ = kUnset;            // memory_.moves() when all calls were set
  bool has_moved_ = true;                  // since then
  KernelSequence* reporting_ = nullptr;    // the last one with kernels that may fail
  std::optional<uint64_t> last_began_at_;  // in launches(): when the present run came to its last step
};

}  // namespace

std::unique_ptr<exec::Executable> prepare_plan(Gpu& gpu, Plan plan) {
  gpu.device.make_current();
  return std::make_unique<CudaExecutable>(gpu, std::move(plan));
}

}  // namespace tsl::cuda
