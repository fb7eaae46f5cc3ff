// Recording needs no backend and no language.
#include "jit/recorder.h"

using namespace tsl;

int main() {
  trace::Recorder recorder(std::make_shared<SymbolTable>());
  const Tensor host(DType::f32, Layout::contiguous({2}), nullptr);
  const Tensor x = recorder.input(host.dtype(), host.layout(), 0);
  const Operand operands[] = {x};
  const Tensor y = recorder.record(op_def(Op::neg), operands, {}, {DType::f32, x.shape()}, {});
  const trace::Recorder::Cut cut = recorder.cut(1);
  return y.deferred() && cut.graph.inputs().size() == 1 ? 0 : 1;
}
