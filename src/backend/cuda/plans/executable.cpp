#include "backend/cuda/plans/executable.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "backend/cuda/kernels/generate.h"
#include "backend/cuda/kernels/launch_candidates.h"
#include "backend/cuda/plans/dependencies.h"
#include "backend/cuda/plans/host_op.h"
#include "backend/cuda/plans/launch_unit.h"
#include "base/error_names.h"
#include "exec/address_check.h"
#include "exec/constant_launches.h"
#include "exec/plan_memory.h"
#include "exec/sharing_check.h"
#include "graph/plan_steps.h"
#include "tensor/elements.h"

namespace tsl::cuda {

using exec::ActivityKind;
using exec::GraphState;
using exec::RunError;
using graph::Kernel;
using graph::Plan;

namespace {

// Larger constants take longer than their launch, and a program may have many plans.
constexpr uint64_t kMostConstantBytes = uint64_t{1} << 20;

class CudaExecutable : public exec::Executable, public exec::DeferredRuns {
 public:
  CudaExecutable(Gpu& gpu, Plan plan, const std::optional<LaunchParameters>& parameters,
                 std::span<const exec::KernelSource> edited)
      : gpu_(gpu), plan_(std::move(plan)), parameters_(parameters), memory_(plan_, gpu.allocator) {
    uses_.resize(plan_.launches.size());
    for (uint32_t buffer : constants_.buffers) memory_.keep(buffer);
    if (!constants_.buffers.empty()) steps_.emplace_back().launcher = make_launcher(GraphState::off);
    {
      const exec::ActivityScope generating(gpu_.timeline(), ActivityKind::generate);
      for (uint32_t launch = 0; launch < plan_.launches.size(); ++launch) add_launch(launch);
      link_calls();
    }
    const auto first = std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return overwrites_first(s); });
    if (first != steps_.end()) overwriting_step_ = &*first;
    load_all();
    for (const exec::KernelSource& each : edited) replace_kernel(each);
  }

  const Plan& plan() const override { return plan_; }
  bool has_graphs() const override { return true; }
  void observe(exec::LaunchObserver* observer) override { observer_ = observer; }
  /// Generates the texts again: they are freed once their kernels are loaded.
  std::vector<exec::KernelSource> sources() const override {
    std::vector<exec::KernelSource> out;
    for (const LaunchUnit& unit : units_) {
      if (unit.op_kernel) {
        if (const OwnOpKernel* own = unit.op_kernel->own()) {
          for (exec::KernelSource& source : own->sources(unit.launch)) out.push_back(std::move(source));
        }
        continue;
      }
      for (const CudaKernel& cuda_kernel :
           generate_launch(plan_, plan_.launches[unit.launch], true, unit.parameters).kernels)
        out.push_back(source_of(cuda_kernel, unit.launch, gpu_.options));
    }
    return out;
  }

  std::vector<exec::LoadedKernel> kernels() const override {
    std::vector<exec::LoadedKernel> out;
    for (const Step& step : steps_) {
      if (!step.launcher) out.push_back(op_on_host(step));
      for (size_t u : step.units) {
        for (exec::LoadedKernel& kernel : kernels_of(units_[u])) out.push_back(std::move(kernel));
      }
    }
    return out;
  }

  std::vector<exec::KernelCandidate> candidates(uint32_t launch) const override {
    const std::vector<uint32_t>& kernels = plan_.launches[launch];
    const Kernel& first = plan_.kernels[kernels[0]];
    if (first.kind != graph::Template::op) return {};
    return gpu_.rows.candidates(plan_.graph[first.op_node], is_op(plan_, kernels) ? "host" : "generated");
  }

  RunError run(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
               std::span<Tensor> outputs) override {
    return run(inputs, donated, symbols, outputs, true);
  }

  exec::DeferredRuns* deferred_runs() override { return reporting_ && !may_fail_alone_ ? this : nullptr; }
  uint32_t run_deferred(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                        std::span<Tensor> outputs) override {
    run(inputs, donated, symbols, outputs, false);
    return gpu_.errors.defer();
  }
  RunError report(uint32_t run) override {
    const exec::ActivityScope waiting(gpu_.timeline(), ActivityKind::wait);
    return gpu_.errors.report(run);
  }

 private:
  /// `waits`: for kernels that may report a failure.
  RunError run(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
               std::span<Tensor> outputs, bool waits) {
    gpu_.device.make_current();
    exec::Timeline* const timeline = gpu_.timeline();
    if (exec::checks_addresses()) exec::AddressCheck(plan_, inputs, symbols).check_kernels();
    memory_.bind(inputs, donated);
    overwriting_began_at_.reset();
    RunError error;
    try {
      if (bound_epoch_ != memory_.address_epoch()) check_devices(inputs);
      for (LaunchUnit& unit : units_) choose_kernels(unit, symbols);
      if (scratch_bytes_ > 0) scratch_ = gpu_.allocator.allocate(scratch_bytes_);
      for (const auto& each : copying_) each->reserve_copies();
      if (timeline) set_activities(*timeline);
      {
        const exec::ActivityScope launching(timeline, ActivityKind::launch);
        prepare_launchers(symbols);
        error = run_steps(symbols);
      }
      if (reporting_ && waits) error = first_of(error, reported(error));
      if (!error) memory_.make_outputs(inputs, symbols, outputs);
    } catch (const abi::__forced_unwind&) {
      release();
      throw;
    } catch (...) {
      if (reporting_) gpu_.errors.forget();
      const bool is_lost = has_written();
      release();
      if (is_lost) exec::fail_after_overwriting();
      throw;
    }
    release();
    return error;
  }

  /// Whether the run may have overwritten donated inputs.
  bool has_written() const {
    return memory_.has_donors() && overwriting_began_at_ && launches() != *overwriting_began_at_;
  }
  /// Whether the step has the first launch that may overwrite donated inputs.
  bool overwrites_first(const Step& step) const {
    const size_t first = memory_.first_overwriting();
    if (!step.launcher) return step.launch == first;
    return std::any_of(step.units.begin(), step.units.end(), [&](size_t u) { return units_[u].launch == first; });
  }
  uint64_t launches() const { return gpu_.device.counters().kernel_launches + gpu_.device.counters().graph_launches; }

  void check_devices(const exec::Inputs& inputs) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].device().is_host()) continue;
      fail(ErrorName::device_defect, "an op on a GPU was given {}, which is in host memory", describe(inputs[i]));
    }
  }

  std::unique_ptr<CudaGraphLauncher> make_launcher(GraphState wanted) {
    return std::make_unique<CudaGraphLauncher>(gpu_.device, wanted);
  }
  GraphState wanted_graphs() const {
    if (!gpu_.options.cuda_graphs) return GraphState::off;
    return plan_.options.graphs ? GraphState::launched : GraphState::off_for_plan;
  }
  /// Whether the step computes constants: the first one, if there are any.
  bool has_constants(const Step& step) const { return !constants_.buffers.empty() && &step == steps_.data(); }
  /// Returns the step of the next launch.
  Step& step_for(uint32_t launch, bool is_alone) {
    if (constants_.is_constant[launch]) return steps_.front();
    const bool joins = !is_alone && !exec::checks_sharing();  // otherwise memory is observed between launches
    if (!joins || steps_.empty() || steps_.back().is_alone || has_constants(steps_.back())) steps_.emplace_back();
    steps_.back().is_alone = is_alone;
    return steps_.back();
  }

  void add_launch(uint32_t launch) {
    const std::vector<uint32_t>& kernels = plan_.launches[launch];
    const Kernel& first = plan_.kernels[kernels[0]];
    if (first.kind == graph::Template::op) {
      if (auto op_kernel = gpu_.rows.find(plan_.graph[first.op_node]))
        return add_op_kernel(launch, std::make_shared<OpKernelCall>(gpu_, plan_, first, std::move(op_kernel)));
    }
    if (is_op(plan_, kernels)) {
      Step& step = step_for(launch, true);
      step.op = kernels[0];
      step.launch = launch;
      may_fail_alone_ |= use_of(plan_, kernels).reports;
      return;
    }
    Step& step = step_for(launch, false);
    if (!step.launcher) step.launcher = make_launcher(wanted_graphs());
    std::vector<KernelCall>& calls = step.launcher->calls();
    step.units.push_back(units_.size());
    GeneratedKernels generated = generate_launch(plan_, kernels, true);
    const LaunchParameters parameters =
        parameters_ ? *parameters_ : gpu_.choices.find(generated).value_or(LaunchParameters());
    if (parameters != LaunchParameters()) generated = generate_launch(plan_, kernels, true, parameters);
    scratch_bytes_ = std::max(scratch_bytes_, generated.scratch_bytes);
    uses_[launch] = use_of(plan_, kernels);
    if (uses_[launch].reports) reporting_ = step.launcher.get();
    const auto count = static_cast<uint32_t>(generated.kernels.size());
    calls.resize(calls.size() + count);
    LaunchUnit& unit =
        units_.emplace_back(LaunchUnit{launch, count, {}, LoadedKernels(std::move(generated), gpu_), {}});
    unit.parameters = parameters;
    unit.moves = graph::moves_of(plan_, kernels);
    for (const CudaKernel& cuda_kernel : unit.vectorized.kernels) {
      for (const VectorAccess& access : cuda_kernel.vector_accesses) unit.has_offsets |= access.offset != nullptr;
    }
  }

  /// Adds the calls of an op kernel, in a step of their own if they cannot be recorded, and the report of its failures.
  void add_op_kernel(uint32_t launch, std::shared_ptr<OpKernelCall> op_kernel) {
    const bool is_recordable = op_kernel->is_recordable();
    Step& step = step_for(launch, !is_recordable);
    if (!step.launcher) step.launcher = make_launcher(is_recordable ? wanted_graphs() : GraphState::off);
    step.units.push_back(units_.size());
    LaunchUse& use = uses_[launch];
    const graph::Node& node = plan_.graph[plan_.kernels[plan_.launches[launch][0]].op_node];
    const bool is_beside_others = node.is_of_program();  // and shares no workspace with them
    if (!is_beside_others && op_kernel->workspace_bytes() <= Gpu::kWorkspaceBytes) {
      use.workspace = workspace_users_++ % Gpu::kWorkspaces;
      if (op_kernel->workspace_bytes() > 0) gpu_.workspace(*use.workspace);  // now, since runs must not allocate it
    } else if (!is_beside_others) {
      use.scratch = true;
      scratch_bytes_ = std::max(scratch_bytes_, op_kernel->workspace_bytes());
    }
    if (op_kernel->copies_operands()) copying_.push_back(op_kernel);
    const uint32_t count = op_kernel->count();
    std::vector<KernelCall>& calls = step.launcher->calls();
    for (uint32_t i = 0; i < count; ++i) {
      KernelCall& call = calls.emplace_back();
      call.name = op_kernel->name();
      if (op_kernel->is_launched_by_kernels()) call.structure = op_kernel;
      else call.library = op_kernel;
    }
    LoadedKernels report(op_kernel->failure_report(), gpu_);
    use.reports = !report.kernels.empty();
    if (use.reports) reporting_ = step.launcher.get();
    const auto reports = static_cast<uint32_t>(report.kernels.size());
    calls.resize(calls.size() + reports);
    units_.emplace_back(LaunchUnit{launch, count + reports, std::move(op_kernel), std::move(report), {}});
  }

  // ---- For a profile ----

  /// Describes the kernels of a unit.
  std::vector<exec::LoadedKernel> kernels_of(const LaunchUnit& unit) const {
    std::vector<exec::LoadedKernel> out;
    if (unit.op_kernel) out = unit.op_kernel->describe(unit.launch);
    const LoadedKernels& loaded = unit.kernels();
    for (size_t i = 0; i < loaded.kernels.size(); ++i) {
      const CudaKernel& cuda_kernel = loaded.kernels[i];
      out.push_back(
          describe(gpu_, loaded.functions[i], cuda_kernel.blocks, cuda_kernel.threads_x * cuda_kernel.threads_y));
      out.back().launch = unit.launch;
      out.back().choice = to_string(unit.parameters);
    }
    return out;
  }

  exec::LoadedKernel op_on_host(const Step& step) const {
    const graph::Node& node = plan_.graph[plan_.kernels[step.op].op_node];
    return {.name = fmt::format("{} (on the host)", node.def().name), .launch = step.launch};
  }

  /// Sets the activities of the kernels that this run launches.
  void set_activities(exec::Timeline& timeline) {
    const tsl::Device device = name_of(gpu_.device);
    for (Step& step : steps_) {
      if (!step.launcher) {
        step.op_activity.first(timeline, plan_, device, [&] { return std::vector{op_on_host(step)}; });
        continue;
      }
      size_t call = 0;
      for (size_t u : step.units) {
        LaunchUnit& unit = units_[u];
        const exec::Timeline::Id first =
            unit.activities().first(timeline, plan_, device, [&] { return kernels_of(unit); });
        step.launcher->set_activities(call, unit.calls, first);
        call += unit.calls;
      }
    }
  }

  // ---- Calls ----

  /// Sets the dependencies of each step's calls: within a launch, on the call before. An empty launch passes its own
  /// dependencies on.
  void link_calls() {
    const std::vector<std::vector<uint32_t>> before = without(constants_.is_constant, dependencies(plan_, uses_));
    std::vector<std::vector<uint32_t>> ends(plan_.launches.size());  // per launch: the calls that later calls depend on
    for (const Step& step : steps_) {
      uint32_t call = 0;
      for (size_t u : step.units) {
        const LaunchUnit& unit = units_[u];
        std::vector<uint32_t>& after = ends[unit.launch];
        for (uint32_t b : before[unit.launch]) after.insert(after.end(), ends[b].begin(), ends[b].end());
        std::sort(after.begin(), after.end());
        after.erase(std::unique(after.begin(), after.end()), after.end());
        for (uint32_t cuda_kernel = 0; cuda_kernel < unit.calls; ++cuda_kernel, ++call) {
          step.launcher->calls()[call].after = std::exchange(after, {call});
          step.launcher->calls()[call].reports = uses_[unit.launch].reports;
        }
      }
      for (size_t u : step.units) ends[units_[u].launch].clear();
    }
  }

  /// Loads all kernels at once: the cache compiles them in parallel.
  void load_all() {
    std::vector<CudaKernel*> kernels;
    kernels.reserve(units_.size());
    for (LaunchUnit& unit : units_) {
      for (CudaKernel& cuda_kernel : unit.vectorized.kernels) kernels.push_back(&cuda_kernel);
      if (OwnOpKernel* own = unit.own()) {
        for (CudaKernel* cuda_kernel : own->kernels()) kernels.push_back(cuda_kernel);
      }
    }
    const std::vector<CUfunction> functions = functions_of(kernels);
    std::span<const CUfunction> rest = functions;
    const auto take = [&](size_t count) {
      const std::span<const CUfunction> taken = rest.first(count);
      rest = rest.subspan(count);
      return taken;
    };
    for (LaunchUnit& unit : units_) {
      const std::span<const CUfunction> loaded = take(unit.vectorized.kernels.size());
      unit.vectorized.functions.assign(loaded.begin(), loaded.end());
      if (OwnOpKernel* own = unit.own()) own->set_functions(take(own->launches()));
    }
  }

  void replace_kernel(const exec::KernelSource& edited) {
    bool is_found = false;
    for (LaunchUnit& unit : units_) {
      is_found |= unit.own() && unit.own()->replace(edited);
      is_found |= unit.vectorized.replace(edited, gpu_);
    }
    if (!is_found)
      fail(ErrorName::edited_code_refused,
           "the launch has other kernels than {} when it runs alone, so that edited code has no place", edited.name);
  }

  /// Loads the kernels, and frees their texts, which are not needed any more.
  std::vector<CUfunction> functions_of(const std::vector<CudaKernel*>& kernels) {
    const exec::ActivityScope loading(gpu_.timeline(), ActivityKind::load);
    std::vector<CUfunction> functions = gpu_.kernels.get_many(kernels);
    for (CudaKernel* cuda_kernel : kernels) cuda_kernel->text = {};
    return functions;
  }

  void load_scalar(LaunchUnit& unit) {
    GeneratedKernels generated;
    {
      const exec::ActivityScope generating(gpu_.timeline(), ActivityKind::generate);
      generated = generate_launch(plan_, plan_.launches[unit.launch], false, unit.parameters);
    }
    scratch_bytes_ = std::max(scratch_bytes_, generated.scratch_bytes);
    unit.scalar = LoadedKernels(std::move(generated), gpu_);
    std::vector<CudaKernel*> scalar;
    for (CudaKernel& cuda_kernel : unit.scalar.kernels) scalar.push_back(&cuda_kernel);
    unit.scalar.functions = functions_of(scalar);
  }

  void prepare_launchers(std::span<const Scalar> symbols) {
    exec::GraphNote note;
    addresses_changed_ = std::exchange(bound_epoch_, kUnset) != memory_.address_epoch();
    for (Step& step : steps_) {
      if (!step.launcher || (has_constants(step) && has_made_constants_)) continue;
      KernelCall* call = step.launcher->calls().data();
      for (size_t u : step.units) {
        if (units_[u].op_kernel) call = set_op_kernel(call, units_[u], symbols);
        call = set_calls(call, units_[u], symbols);
      }
      const GraphChange change = step.launcher->prepare();
      note.made += change == GraphChange::made;
      note.updated += change == GraphChange::updated;
    }
    bound_epoch_ = memory_.address_epoch();
    if (gpu_.owner) tell_graphs(note);
  }

  KernelCall* set_op_kernel(KernelCall* call, const LaunchUnit& unit, std::span<const Scalar> symbols) {
    const std::optional<uint32_t> kept = uses_[unit.launch].workspace;
    CUdeviceptr workspace = 0;
    if (unit.op_kernel->workspace_bytes() > 0) workspace = kept ? gpu_.workspace(*kept) : address_of(scratch_->data());
    for (uint32_t i = 0; i < unit.op_kernel->count(); ++i, ++call) {
      if (call->structure && !call->launch.function) call->launch = unit.own()->launch(i);
      unit.op_kernel->bind(*call, memory_.addresses(), symbols, workspace);
    }
    return call;
  }

  /// Tells the observers of the graphs if this run launches them otherwise than the last one.
  void tell_graphs(exec::GraphNote& note) {
    note.state = GraphState::no_calls;
    for (const Step& step : steps_) {
      if (has_constants(step)) continue;
      note.alone += step.is_alone;
      if (step.is_alone) continue;
      note.calls += step.launcher->calls().size();
      const GraphState state = step.launcher->state();
      if (note.state == GraphState::no_calls || note.state == GraphState::launched) note.state = state;
    }
    if (note.made + note.updated == 0 && told_graphs_ == note.state) return;
    told_graphs_ = note.state;
    for (exec::PlanObserver* observer : gpu_.owner->observers()) observer->on_device_graph(plan_.options, note);
  }

  static RunError first_of(const RunError& a, const RunError& b) { return b.order < a.order ? b : a; }

  /// Returns the failure that kernels reported. Waits only for the last kernels that may report one.
  RunError reported(const RunError& of_an_op) {
    const exec::ActivityScope waiting(gpu_.timeline(), ActivityKind::wait);
    if (of_an_op) gpu_.device.synchronize();
    else reporting_->wait_for_reports();
    return gpu_.errors.take();
  }

  /// Lets the observer see the memory before or after a step. Constants are one step of several launches, each of which
  /// may read what another one writes: they are seen afterwards.
  void observe(const Step& step, void (exec::LaunchObserver::*see)(uint32_t, std::byte* const*)) {
    if (!observer_ || (has_constants(step) && see == &exec::LaunchObserver::before)) return;
    gpu_.device.synchronize();
    if (!step.launcher) (observer_->*see)(step.launch, memory_.addresses());
    for (size_t u : step.units) (observer_->*see)(units_[u].launch, memory_.addresses());
  }

  RunError run_step(Step& step, std::span<const Scalar> symbols) {
    if (step.launcher) {
      step.launcher->launch();
      return {};
    }
    const WorkLog::Scope call(gpu_.device.log(), step.op_activity.id());
    return run_on_host(gpu_, plan_, plan_.kernels[step.op], memory_.addresses(), symbols);
  }

  RunError run_steps(std::span<const Scalar> symbols) {
    for (Step& step : steps_) {
      if (has_constants(step) && has_made_constants_) continue;
      if (&step == overwriting_step_) overwriting_began_at_ = step.launcher ? launches() : kUnset;
      observe(step, &exec::LaunchObserver::before);
      if (RunError error = run_step(step, symbols)) return error;
      observe(step, &exec::LaunchObserver::after);
    }
    has_made_constants_ = true;
    return {};
  }

  /// Chooses vectorized or scalar kernels by the buffers' current alignment.
  void choose_kernels(LaunchUnit& unit, std::span<const Scalar> symbols) {
    if (!unit.has_offsets && bound_epoch_ == memory_.address_epoch()) return;  // the same as in the last run
    unit.chosen = &unit.vectorized;
    for (const CudaKernel& cuda_kernel : unit.vectorized.kernels) {
      if (is_aligned(cuda_kernel, symbols)) continue;
      if (unit.scalar.functions.empty()) load_scalar(unit);
      unit.chosen = &unit.scalar;
      return;
    }
  }

  KernelCall* set_calls(KernelCall* call, LaunchUnit& unit, std::span<const Scalar> symbols) {
    const LoadedKernels& loaded = *unit.chosen;
    const bool is_other = std::exchange(unit.set, unit.chosen) != unit.chosen;
    for (size_t i = 0; i < loaded.kernels.size(); ++i, ++call) {
      if (is_other) set_call(*call, loaded, i, symbols);
      if (addresses_changed_ && !unit.moves.empty()) call->set_idle(moves_nothing(unit));
      if (addresses_changed_) {
        for (const DynamicArgs::Address& at : loaded.dynamic_args[i].addresses) {
          call->set(at.word, reinterpret_cast<uint64_t>(memory_.addresses()[at.buffer]));
        }
      }
      for (const DynamicArgs::Number& number : loaded.dynamic_args[i].numbers) {
        const uint64_t value = value_of(number.argument, symbols);
        if (call->values[number.words.front()] == value) continue;
        for (uint32_t word : number.words) call->set(word, value);
      }
    }
    return call;
  }

  /// Whether all elements that the launch moves are where they belong.
  bool moves_nothing(const LaunchUnit& unit) const {
    return std::all_of(unit.moves.begin(), unit.moves.end(), [&](graph::Move move) {
      return memory_.addresses()[move.from] == memory_.addresses()[move.to];
    });
  }

  void set_call(KernelCall& call, const LoadedKernels& loaded, size_t i, std::span<const Scalar> symbols) const {
    const CudaKernel& cuda_kernel = loaded.kernels[i];
    call.name = cuda_kernel.readable;
    call.launch.function = loaded.functions[i];
    if (cuda_kernel.blocks > INT32_MAX)
      fail(ErrorName::launch_too_large, "{} needs {} blocks of threads, and a GPU launches at most 2^31 - 1",
           cuda_kernel.readable, cuda_kernel.blocks);
    call.launch.grid[0] = static_cast<unsigned>(cuda_kernel.blocks);
    call.launch.block[0] = static_cast<unsigned>(cuda_kernel.threads_x);
    call.launch.block[1] = static_cast<unsigned>(cuda_kernel.threads_y);
    call.arg_table_words = cuda_kernel.arg_table_words;
    call.table = loaded.tables[i] ? address_of(loaded.tables[i]->data()) : 0;
    call.values.clear();
    for (const KernelArg& argument : cuda_kernel.arguments) call.values.push_back(value_of(argument, symbols));
    call.is_sent = call.is_copied = false;
  }

  bool is_aligned(const CudaKernel& cuda_kernel, std::span<const Scalar> symbols) const {
    for (const VectorAccess& access : cuda_kernel.vector_accesses) {
      uint64_t address = reinterpret_cast<uint64_t>(memory_.addresses()[access.buffer]);
      if (access.offset) address += static_cast<uint64_t>(symbols[access.offset->id].integer * access.element_bytes);
      if (address & static_cast<uint64_t>(access.bytes - 1)) return false;
    }
    return true;
  }

  uint64_t value_of(const KernelArg& argument, std::span<const Scalar> symbols) const {
    switch (argument.kind) {
      case KernelArg::Kind::buffer: return reinterpret_cast<uint64_t>(memory_.addresses()[argument.buffer]);
      case KernelArg::Kind::scratch:
        return scratch_ ? address_of(scratch_->data()) + argument.scratch : 0;  // null: the kernel uses none of it
      case KernelArg::Kind::error: return gpu_.errors.cell();
      case KernelArg::Kind::arrivals:
      case KernelArg::Kind::arg_table: return 0;  // replaced by an address when the kernel was loaded
      case KernelArg::Kind::integer:
        return static_cast<uint64_t>(argument.symbol ? symbols[argument.symbol->id].integer : argument.value);
      case KernelArg::Kind::scalar: {
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
  const std::optional<LaunchParameters> parameters_;  // for all launches
  exec::PlanMemory memory_;
  const exec::ConstantLaunches constants_{exec::find_constant_launches(plan_, kMostConstantBytes)};
  bool has_made_constants_ = false;
  std::optional<GraphState> told_graphs_;  // what the observers know of the last run
  std::vector<LaunchUnit> units_;
  std::vector<LaunchUse> uses_;                         // per launch
  uint32_t workspace_users_ = 0;                        // op kernels that use a kept workspace
  std::vector<std::shared_ptr<OpKernelCall>> copying_;  // calls that copy operands
  std::vector<Step> steps_;
  Ref<Storage> scratch_;
  uint64_t scratch_bytes_ = 0;
  static constexpr uint64_t kUnset = ~uint64_t{0};
  uint64_t bound_epoch_ = kUnset;           // memory_.address_epoch() when the calls were last bound
  bool addresses_changed_ = true;           // since bound_epoch_
  CudaGraphLauncher* reporting_ = nullptr;  // the last launcher with kernels that may report failures
  bool may_fail_alone_ = false;             // a standalone op may fail, which the host learns as it runs
  exec::LaunchObserver* observer_ = nullptr;
  const Step* overwriting_step_ = nullptr;  // the first that may overwrite donated inputs; null: none does
  // The value of launches() when the current run reached that step; kUnset: an op on the host.
  std::optional<uint64_t> overwriting_began_at_;
};

}  // namespace

std::unique_ptr<exec::Executable> prepare_plan(Gpu& gpu, Plan plan, const std::optional<LaunchParameters>& parameters,
                                               std::span<const exec::KernelSource> edited) {
  gpu.device.make_current();
  return std::make_unique<CudaExecutable>(gpu, std::move(plan), parameters, edited);
}

}  // namespace tsl::cuda
