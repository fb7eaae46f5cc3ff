// Every function of the language, for tests of each of their parameters.
#pragma once

#include <string>
#include <vector>

#include "support/session.h"
#include "value/builtin.h"
#include "value/signature.h"

namespace tsl {

struct Callee {
  std::string name;
  const Signature* signature;
};

/// Returns the builtins, the prelude's functions, and the exports of the modules.
inline std::vector<Callee> all_functions(Session& s) {
  std::vector<Callee> found;
  const auto add = [&](const std::string& name, const Value& value) {
    if (value.is(Tag::function)) found.push_back({name, &value.as<Function>().info->signature});
    if (value.is(Tag::builtin)) found.push_back({name, &s.engine.builtins().signature(value.as<BuiltinFunction>())});
  };
  for (const std::string& name : s.engine.builtins().names())
    add(name, *s.engine.builtins().find(s.engine.names().intern(name)));
  for (const char* module : {"nn", "optim", "science", "plot", "world", "parallel"}) {
    const Value value = s.engine.run("modules.tsl", std::string("import ") + module + "\n" + module);
    for (const auto& [name, cell] : value.as<Module>().exports) {
      if ((*name)[0] != '_') add(std::string(module) + "." + *name, cell->value);
    }
  }
  return found;
}

}  // namespace tsl
