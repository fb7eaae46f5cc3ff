// What a module that has run gives to those that import it.
#pragma once

#include <string>

#include "bytecode/compiler.h"
#include "value/value.h"

namespace tsl {

/// Makes the value of a module: its documentation, and the cells of the variables that it exports.
Ref<tsl::Module> make_module(const ast::Module& tree, const VariableCells& cells, const std::string& name);

}  // namespace tsl
