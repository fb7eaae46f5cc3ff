#include "inference/sketch_runtime.h"

#include <new>

#include "base/error_names.h"
#include "value/context.h"
#include "vm/interpreter.h"

namespace tsl::inference {

void not_known() {
  Error error;
  error.name = ErrorName::interrupted;
  error.is_final = true;
  throw Failure(std::move(error));
}

namespace {

/// Memory for the numbers of a text: what is larger is written nowhere.
class LiteralMemory final : public Allocator {
 public:
  Ref<Storage> allocate(uint64_t bytes) override {
    constexpr uint64_t kMost = uint64_t{1} << 20;
    if (bytes > kMost) not_known();
    return Ref<Storage>(new Storage(this, ::operator new(bytes + 1), bytes, {}));
  }
  void free(Storage* storage) override {
    ::operator delete(storage->data());
    delete storage;
  }
  void release_cache() override {}
  Stats stats() const override { return {}; }
};

}  // namespace

SketchRuntime::SketchRuntime(Context& context, Interpreter& interpreter)
    : context_(context), interpreter_(interpreter) {
  begin();
  set_tracing(true);  // so that texts of what is not known wait
}

void SketchRuntime::begin() {
  symbols_ = std::make_shared<SymbolTable>();
  symbols_->set_locate([]() -> Span { not_known(); });  // where a guard is recorded
  listeners().trace_begins(symbols_);
}

Allocator& SketchRuntime::allocator() {
  static LiteralMemory& memory = *new LiteralMemory;
  return memory;
}

Tensor SketchRuntime::tensor_of(const TensorType& type, Device device) {
  Ref<TensorData> data(TensorData::make());
  data->dtype = type.dtype;
  data->device = device;
  data->recording = &recording_;
  data->layout = Layout::contiguous(type.shape);
  return Tensor(std::move(data));
}

Value SketchRuntime::read_number(const Tensor& tensor) {
  if (is_example(tensor)) fail_read(tensor);
  constexpr double kSomeReal = 0.5;
  constexpr int64_t kSomeInt = 7;
  const DType dtype = tensor.dtype();
  if (is_float(dtype)) return Value(symbols_->input(Scalar::of(kSomeReal)));
  return Value(symbols_->input(dtype == DType::boolean ? Scalar::of(true) : Scalar::of(kSomeInt)));
}

RandomState SketchRuntime::next_random(Dim) { return {Scalar::of(int64_t{0}), Scalar::of(int64_t{0})}; }

Value SketchRuntime::with_range(const std::string&, const Value& function) { return context_.call(function, {}); }

void SketchRuntime::abort_trace(const std::string&) {
  if (is_tracing()) not_known();
}

void SketchRuntime::run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                        std::span<const TensorType> types, std::span<Tensor> results) {
  if (is_of_program(op)) not_known();
  const Device device = op.op == Op::to_device ? attrs.device : device_of(operands);
  for (size_t i = 0; i < results.size(); ++i) results[i] = tensor_of(types[i], device);
}

/// Tells the tapes, so that derivatives have types, too.
void SketchRuntime::after(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                          std::span<const Tensor> results) {
  const int level = batch() ? batch_level(operands) : 0;
  if (listeners().listening())
    listeners().record(op, operands, attrs, results, origin(), {level, function_level(*this)});
}

DType SketchRuntime::code_reals() const { return interpreter_.depth() > 0 ? DType::f32 : reals_; }

}  // namespace tsl::inference
