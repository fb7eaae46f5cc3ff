#include "bytecode/exports.h"

namespace tsl {

Ref<tsl::Module> make_module(const ast::Module& tree, const VariableCells& cells, const std::string& name) {
  Ref<tsl::Module> module = make_ref<tsl::Module>();
  module->name = name;
  module->doc = tree.doc;
  for (const ast::Variable* v : tree.main->variables) {
    if (v->is_exported) module->exports.emplace_back(v->name, cells.at(v));
  }
  return module;
}

}  // namespace tsl
