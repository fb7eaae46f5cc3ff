// The interpreter needs neither an engine nor a tracer.
#include "value/context.h"
#include "vm/interpreter.h"

using namespace tsl;

namespace {

class BareContext final : public Context {
 public:
  Value call(const Value& callee, std::span<Value>, const CallShape*) override { return callee; }
  Value import(Name, bool, uint32_t) override { return {}; }
  void print(const Value&) override {}
  void write_log(std::string_view) override {}
  void warn(Error) override {}
  const std::vector<std::string>& script_args() const override { return args_; }
  bool shows_device() const override { return false; }

 private:
  std::vector<std::string> args_;
};

}  // namespace

int main() {
  BareContext context;
  Interpreter interpreter(context);
  return interpreter.depth() == 0 ? 0 : 1;
}
