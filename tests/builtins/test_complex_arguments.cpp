// Checks that no function calls itself without end when complex numbers are among its arguments, and that one which
// does not take them says so.
#include "support/session.h"
#include "value/builtin.h"

using namespace tsl;

namespace {

/// Calls f with complex tensors, numbers and lists in turn; gives the places of the calls that nest without end, and
/// the messages about complex numbers that name neither f nor a parameter of it.
const char* const kCalls = R"(
let (z, x, c) = (complex(tensor([1.0, 2.0]), tensor([0.5, 0.0])), tensor([1.0, 2.0]), 1.0 + 2i)
let m = complex(eye(2), ones([2, 2]))
let calls = [
  fn() = f(z), fn() = f(z, z), fn() = f(z, z, z), fn() = f(z, 1), fn() = f(1, z), fn() = f(z, 1, z), fn() = f(z, 0.5),
  fn() = f([z]), fn() = f([z], z), fn() = f([z, z]), fn() = f([z], [z]), fn() = f(c), fn() = f(c, c), fn() = f(x, z),
  fn() = f(z, x), fn() = f(x, x, z), fn() = f(m), fn() = f(m, m), fn() = f(m, 0), fn() = f([c, 1.0], x),
  fn() = f([1.0, c]), fn() = f([1.0, c], [c, 2]), fn() = f([[1.0, c], [2.0]]), fn() = f([[1, c], [3, 4]], [1, 2]),
]
var endless = []
var riddles = []
for (i, call) in enumerate(calls) {
  try { call() } catch e {
    if e.kind == "limit" { endless += [i] }
    let is_named = contains(e.message, name) or name == "sorted"  # which compares as `<` does
    let is_inner = e.message.startswith("cannot ") or e.message.startswith("'%'") or contains(e.message, "expected a tensor")
    if e.kind == "type" and contains(e.message, "complex") and is_inner and not is_named { riddles += [e.message] }
  }
}
(endless, riddles)
)";

}  // namespace

TEST_CASE("complex arguments are computed with or refused, by every function") {
  Session s;
  int functions = 0;
  for (const std::string& name : s.engine.builtins().names()) {
    const Value& value = *s.engine.builtins().find(s.engine.names().intern(name));
    const bool is_builtin = value.is(Tag::builtin);
    if (name[0] == '_' || (!value.is(Tag::function) && !is_builtin)) continue;
    if (is_builtin && value.as<BuiltinFunction>().builtin->has_effect) continue;  // files, input, exit
    INFO(name);
    CHECK(s.eval("let name = \"" + name + "\"\nfn f(...args) = " + name + "(...args)\n" + kCalls) == "([], [])");
    ++functions;
  }
  CHECK(functions > 400);
}
