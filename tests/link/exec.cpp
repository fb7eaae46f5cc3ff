// The table of devices and eager execution need a backend's interface, but no backend and no language.
#include "exec/eager.h"

#include "base/error.h"

using namespace tsl;

namespace {

/// A device that has no memory.
class Nothing : public exec::Backend {
 public:
  Allocator& allocator() override { fail(ErrorKind::memory, "no memory"); }
  std::unique_ptr<exec::Executable> prepare(graph::Plan) override { fail(ErrorKind::memory, "no plans"); }
  Counters counters() const override { return {}; }
};

}  // namespace

int main() {
  Nothing host;
  exec::Devices devices(host, [](Device) { return std::make_unique<Nothing>(); });
  exec::EagerExecutor eager(devices);
  const Operand operands[] = {Scalar::of(1.5)};
  Attrs attrs;
  attrs.dims = {4};
  try {
    eager.run(op_def(Op::fill), operands, attrs, {DType::f32, {4}}, {}, false);
  } catch (const Failure& failure) { return failure.error().kind == ErrorKind::memory ? 0 : 1; }
  return 1;
}
