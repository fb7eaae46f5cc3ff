// The bytecode compiler needs no interpreter.
#include "bytecode/compiler.h"
#include "bytecode/declaration.h"
#include "syntax/parser.h"
#include "value/builtin.h"

using namespace tsl;

namespace {

class NoBuiltins final : public Builtins {
 public:
  const Value* native(Name) const override { return nullptr; }
  const Value* row(std::string_view) const override { return nullptr; }
  bool contains(Name) const override { return false; }
  bool has_effect(Name) const override { return false; }
  const Value* find(Name) override { return nullptr; }
  Value imaginary(double) const override { return {}; }
  const ForeignType* foreign_type(Name) const override { return nullptr; }
  std::span<const LibrarySource> library_sources() const override { return {}; }
  std::vector<std::string> names() const override { return {}; }
  const Signature& signature(const Builtin&) override { return none_; }
  const Signature& signature(const BuiltinFunction&) override { return none_; }

 private:
  Signature none_;
};

}  // namespace

int main() {
  SourceMap sources;
  Interner names;
  const uint32_t id = sources.add("a.tsl", "fn f(x) = x + 1");
  const auto module = parse(sources, id, names);
  resolve(*module, {});
  VariableCells cells;
  NoBuiltins builtins;
  if (parse_signature("sum(x: array, axis: integers | nil = nil)", names).parameters.size() != 2) return 1;
  return compile(builtins, *module, {}, cells)->functions.size() == 1 ? 0 : 1;
}
