#include "value/runtime.h"

#include "autodiff/tape.h"
#include "backend/cpu/backend.h"
#include "base/error.h"
#include "engine/backends.h"
#include "engine/engine.h"
#include "exec/eager.h"
#include "jit/region.h"
#include "tensor/device_names.h"
#include "value/format.h"
#include "value/numbers.h"
#include "vm/vm.h"

namespace tsl {

namespace {

/// Random numbers are taken in whole blocks of four words; an f64 takes two words.
constexpr int64_t kWordsPerNumber = 2, kWordsPerBlock = 4;

class EngineRuntime final : public Runtime, private Ops {
 public:
  explicit EngineRuntime(Engine& engine)
      : engine_(engine),
        backends_(backends()),
        host_(engine.options().threads),
        devices_(host_, [this](Device device) { return open_device(device); }),
        eager_(devices_),
        regions_(engine, devices_),
        random_(make_ref<Cell>()) {
    random_->is_set = random_->is_mutable = true;
    const EngineOptions& options = engine.options();
    if (!options.device.empty()) choose_device(parse_device(options.device));
    const uint64_t memory_limit = options.backend.memory_limit;
    if (memory_limit > 0 && default_device().is_host()) host_.limit_memory(memory_limit);
    const std::string& topics = options.log_topics;
    compile_log_.sources = &engine.sources();
    compile_log_.graph = logs("graph");
    compile_log_.fusion = logs("fusion");
    compile_log_.plan = logs("plan");
    compile_log_.write = [](void* context, const std::string& text) { static_cast<Engine*>(context)->write_log(text); };
    compile_log_.context = &engine;
    has_compile_log_ = !topics.empty();
  }

  Ops& ops() override { return *this; }
  TapeStack& tapes() override { return tapes_; }
  Allocator& allocator() override { return host_.allocator(); }
  Device default_device() override {
    if (!default_) default_ = find_device();
    return *default_;
  }
  Tensor to_device(Tensor host) override { return devices_.at(device()).to_device(host); }

  Tensor read(const Tensor& tensor) override {
    if (!tensor.deferred() || !trace()) return tensor;
    return trace()->read(tensor);
  }
  Tensor to_host(const Tensor& tensor) override { return devices_.to_host(read(tensor)); }
  Value read_number(const Tensor& tensor) override {
    return trace() ? trace()->read_number(tensor) : Value(trace::element(devices_, tensor));
  }
  bool may_write_in_place(const TensorData& tensor) override {
    return tensor.device.is_host() && !trace() && tensor.recording == nullptr && !tapes_.listening();
  }

  // The state of the random stream is a variable like any other, so a region reads and writes it like one.
  RandomState next_random(Dim count) override {
    if (trace()) trace()->enter(*random_);
    const std::vector<Value>& state = random_->value.as<Tuple>().items;
    RandomState out{operand_of(state[0]), operand_of(state[1])};
    const Dim blocks = (count * kWordsPerNumber + (kWordsPerBlock - 1)) / kWordsPerBlock;
    const Dim next = dim_of(state[1]) + blocks;
    random_->value = make_tuple({state[0], from_dim(next)});
    return out;
  }
  void seed(uint64_t seed) override {
    if (trace()) trace()->enter(*random_);
    random_->value = make_tuple({Value(static_cast<int64_t>(seed)), Value(int64_t{0})});
  }

  void effect_print(Value value) override {
    if (trace()) trace()->print(std::move(value));
    else engine_.print(value);
  }
  Value effect(Value (*run)(Engine&, std::span<Value>), std::vector<Value> args) override {
    give_up("it touches the world outside");
    return run(engine_, args);
  }

  graph::Counters counters(Device device) override { return devices_.counters(device); }
  TraceCounts trace_counts() const override { return regions_.counts(); }

  void resume() override { devices_.forget_active(); }

  void enter(Cell& cell) override {
    if (trace()) trace()->enter(cell);
  }
  void error_caught(ErrorKind kind) override {
    if (trace()) trace()->error_caught(kind);
  }
  void give_up(const std::string& reason) override {
    if (trace()) trace()->give_up(reason);
  }
  void out_of_steps() override { give_up("it runs too long to be traced"); }

  bool logs(std::string_view topic) const override {
    const std::string topics = "," + engine_.options().log_topics + ",";
    return topics.find("," + std::string(topic) + ",") != std::string::npos;
  }
  void log(std::string_view topic, const std::string& text) override {
    if (logs(topic)) engine_.write_log(text);
  }
  const graph::CompileLog* compile_log() override { return has_compile_log_ ? &compile_log_ : nullptr; }

  // A region's ops would pass the tapes by, so what is being differentiated is interpreted.
  CallMode call_mode(const Value& function) override {
    const Proto& proto = *function.as<Function>().proto;
    if (trace()) trace()->restrict_to(proto.request);
    if (trace() || tapes_.listening()) return CallMode::plain;
    const EngineOptions& options = engine_.options();
    const bool wanted = proto.is_compiled ? options.compile_annotated : options.compile_all && !proto.is_internal;
    if (!wanted) return CallMode::plain;
    if (regions_.is_demoted(function.as<Function>())) return CallMode::open;
    return engine_.interpreter().has_stack_for_region() ? CallMode::region : CallMode::plain;
  }
  Value call_region(const Value& function, std::span<Value> args) override { return regions_.call(function, args); }
  std::optional<uint32_t> run_loop_body(Frame& frame, const Loop& loop) override {
    if (trace() || tapes_.listening() || !engine_.options().compile_all) return std::nullopt;
    if (!engine_.interpreter().has_stack_for_region()) return std::nullopt;
    return regions_.run_loop_body(frame, loop);
  }

 private:
  std::unique_ptr<graph::Backend> open_device(Device device) {
    const EngineOptions& options = engine_.options();
    if (options.open_backend) return options.open_backend(device, host_);
    return backends_.at(device).open(device.ordinal, host_, options.backend);
  }
  void choose_device(Device device) {
    if (!device.is_host() && !engine_.options().open_backend) backends_.at(device).probe(device.ordinal);
    default_ = device;
  }
  /// Finds the first device of a backend that offers one as the default place; else the CPU.
  Device find_device() {
    std::string reasons;
    for (const exec::BackendRegistry::Row& row : backends_.rows()) {
      if (!row.entry.is_default_place) continue;
      const Device device{row.kind, 0};
      if (engine_.options().open_backend) return device;
      try {
        row.entry.probe(device.ordinal);
        return device;
      } catch (const Failure& failure) {
        reasons += fmt::format("[device] tensors are on the CPU: {}\n", failure.what());
      }
    }
    log("device", reasons);
    return {};
  }

  ActiveTrace* trace() const { return is_tracing() ? regions_.trace() : nullptr; }

  Tensor run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
             const TensorType& result) override {
    if (trace()) trace()->check_limits();
    // An error that only elements show must be raised here if somebody would catch it here.
    if (trace() && may_fail(op, result.dtype) && engine_.interpreter().is_guarded(trace()->depth(), trace()->loop())) {
      give_up("an op in a try may fail on its elements");
    }
    if (op.op == Op::to_device) return move(operands[0].tensor, attrs);
    const Device device = device_of(operands);
    if (trace()) trace()->enter_device(device);
    if (trace()) return trace()->record(op, operands, attrs, result, device);
    const bool may_donate = !tapes_.listening();
    if (!regions_.has_left_trace()) return eager_.run(op, operands, attrs, result, device, may_donate);
    return eager_.run(op, operands, settled(attrs), {result.dtype, without_symbols(result.shape)}, device, may_donate);
  }
  Tensor move(const Tensor& tensor, const Attrs& attrs) {
    const Device to{static_cast<Device::Kind>(attrs.ints[0]), static_cast<uint8_t>(attrs.ints[1])};
    return trace() ? trace()->move(tensor, to) : devices_.move(tensor, to);
  }
  Device device_of(std::span<const Operand> operands) {
    for (const Operand& operand : operands) {
      if (operand.is_tensor()) return operand.tensor.device();
    }
    return device();
  }
  void after(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, const Tensor& result) override {
    if (op.op_class == OpClass::view) {
      if (regions_.has_left_trace()) result->layout = without_symbols(result.layout());
      if (trace()) trace()->watch(operands[0].tensor, result);
    }
    if (tapes_.listening()) tapes_.record(op, operands, attrs, result);
  }

  /// Sizes computed before a trace was left may be on their way through here still, as symbols.
  static Attrs settled(Attrs attrs) {
    attrs.dims = without_symbols(attrs.dims);
    attrs.view = without_symbols(attrs.view);
    return attrs;
  }

  Engine& engine_;
  const exec::BackendRegistry& backends_;
  cpu::CpuBackend host_;
  trace::Devices devices_;
  std::optional<Device> default_;  // once it is known
  trace::EagerExecutor eager_;
  TapeStack tapes_;
  RegionCache regions_;
  Ref<Cell> random_;
  graph::CompileLog compile_log_;
  bool has_compile_log_ = false;
};

}  // namespace

std::unique_ptr<Runtime> make_runtime(Engine& engine) { return std::make_unique<EngineRuntime>(engine); }

}  // namespace tsl
