// Tracing needs the interpreter, but neither an engine nor a backend.
#include "jit/recorder.h"
#include "jit/region.h"

using namespace tsl;

int main() {
  jit::Recorder recorder(std::make_shared<SymbolTable>());
  const Tensor host(DType::f32, Layout::contiguous({2}), nullptr);
  const Tensor x = recorder.input(host.dtype(), host.layout(), 0);
  const Operand operands[] = {x};
  const TensorType type{DType::f32, x.shape()};
  Tensor y;
  recorder.record(op_def(Op::neg), operands, {}, {&type, 1}, {}, {}, {&y, 1});
  const jit::Recorder::Cut cut = recorder.cut(1);
  Value (jit::RegionCache::*volatile call)(const Value&, std::span<Value>) =
      &jit::RegionCache::call;  // linked, not called
  return call && y.deferred() && cut.graph.inputs().size() == 1 ? 0 : 1;
}
