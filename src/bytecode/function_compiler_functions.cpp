// Compiles functions: signatures, the storage of variables, and the building blocks of code.
#include <bit>
#include <optional>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/run_watch.h"
#include "bytecode/declaration.h"
#include "bytecode/function_compiler.h"
#include "bytecode/liveness.h"
#include "syntax/tree_walk.h"
#include "value/builtin.h"
#include "value/numbers.h"

namespace tsl {

using namespace ast;

namespace {

constexpr const char* kRegisters = "variables, or parts of one expression,";

struct LibraryFunction {
  std::string_view module;  // or the folder of its parts
  std::string_view name;    // "": each function
  ComposedWork work;
};
constexpr LibraryFunction kLibraryWork[] = {
    {"<stdlib>/prelude/neural.tsl", "conv2d", ComposedWork::convolution},
    {"<stdlib>/prelude/neural.tsl", "attention", ComposedWork::attention},
    {"<stdlib>/optim/", "", ComposedWork::optimizer},
};

ComposedWork work_of(const CompileOptions& options, std::string_view function) {
  for (const LibraryFunction& row : kLibraryWork) {
    if (options.name.starts_with(row.module) && (row.name.empty() || row.name == function)) return row.work;
  }
  return ComposedWork::none;
}

/// Whether the default of a parameter in the library is f32, which stands for the dtype of the caller's floats.
bool is_default_dtype(const Expr* value) {
  return value && value->kind == ExprKind::name && *as<NameExpr>(*value).name == "f32";
}

}  // namespace

FunctionCompiler::FunctionCompiler(ModuleCompilation& module, const ast::Function& function,
                                   FunctionCompiler* enclosing)
    : module_(module), function_(function), enclosing_(enclosing), proto_(std::make_unique<Proto>()) {}

std::unique_ptr<Proto> FunctionCompiler::run() {
  proto_->name = function_.name;
  proto_->doc = std::string(function_.doc);
  proto_->span = function_.name_span.valid() ? function_.name_span : function_.span;
  proto_->extent = function_.span;
  proto_->is_module = function_.is_module;
  proto_->is_internal = module_.options.is_internal;
  proto_->is_library = module_.options.is_library;
  proto_->is_dtype = proto_->is_library && proto_->name && complex_part_named(*proto_->name);
  proto_->reals = module_.reals;
  if (proto_->is_library) proto_->work = work_of(module_.options, proto_->display_name());
  variable_slots_.resize(function_.variables.size());
  for (const Variable* v : function_.captures) {
    if (!is_global(*v)) capture_index(*v);
  }
  signature();
  proto_->is_compiled = function_.compile.has_value();
  proto_->is_interpreted = function_.is_interpreted;
  proto_->request = function_.compile.value_or(CompileRequest{});
  prologue();
  if (function_.is_module) {
    module_body();
  } else {
    block(*function_.body);
    return_value(nullptr, function_.body->span);
  }
  mark_last_uses(*proto_, module_.options.keeps_variables);
  const bool has_attribute = proto_->is_compiled || proto_->is_interpreted;
  const bool is_direct =
      !has_attribute && !proto_->tests_arguments && !function_.rest && proto_->parameter_count() < Proto::kNoDirectCall;
  if (is_direct) proto_->direct_arity = static_cast<uint16_t>(proto_->parameter_count());
  return std::move(proto_);
}

// ---- Signatures ----------------------------------------------------------------------------------------

void FunctionCompiler::signature() {
  Signature& signature = proto_->signature;
  signature.set_function(proto_->display_name());
  for (const Parameter& parameter : function_.parameters) {
    declare_register(*parameter.variable, parameter.span);
    if (!parameter.default_value) ++proto_->required;
  }
  const auto declare_dims = [&](const Annotation* annotation) {
    for_each_dim(annotation, [&](const AnnotatedDim& dim) {
      if (dim.binds) signature.dim_registers.push_back(declare_register(*dim.variable, dim.span));
    });
  };
  if (function_.rest) {
    signature.rest.emplace();
    signature.rest->name = function_.rest->name;
    declare_register(*function_.rest, function_.rest->span);
  }
  for (const Parameter& parameter : function_.parameters) declare_dims(parameter.annotation);
  declare_dims(function_.returns);
  const auto register_of = [this](const Variable& dim) { return variable_slots_[dim.index].index; };
  for (const Parameter& parameter : function_.parameters) {
    signature.parameters.push_back(parameter_info(parameter, &module_.builtins, register_of));
    proto_->tests_arguments |= parameter.annotation != nullptr;
    if (!proto_->is_library || !is_default_dtype(parameter.default_value)) continue;
    signature.parameters.back().default_value = Value(DType::f32);
    proto_->takes_reals = true;
  }
  if (function_.returns) signature.result = value_type(*function_.returns, &module_.builtins, register_of);
  proto_->tests_arguments |= !signature.dim_registers.empty();  // they must start out unbound
}

/// Emits the code before the body: moves captured parameters to cells, computes and checks defaults.
void FunctionCompiler::prologue() {
  const auto box = [&](const Variable& v) {
    if (!v.is_captured) return;
    variable_slots_[v.index].kind = RootKind::cell;
    emit(Opcode::box, v.span, variable_slots_[v.index].index);
  };
  const auto box_dims = [&](const Annotation* annotation) {
    for_each_dim(annotation, [&](const AnnotatedDim& dim) {
      if (dim.binds) box(*dim.variable);
    });
  };
  for (const Parameter& parameter : function_.parameters) box_dims(parameter.annotation);
  box_dims(function_.returns);
  if (function_.rest) box(*function_.rest);
  for (size_t i = 0; i < function_.parameters.size(); ++i) {
    const Parameter& parameter = function_.parameters[i];
    const Reg reg = static_cast<Reg>(i);
    if (parameter.default_value) {
      JumpList given;
      emit(Opcode::test_given, parameter.span, reg);
      jump(given, parameter.span);
      into(*parameter.default_value, reg);
      if (parameter.annotation) emit(Opcode::check_parameter, parameter.span, reg);
      patch_here(given);
    }
    if (parameter.pattern) take_apart(*parameter.pattern, reg);
    box(*parameter.variable);
  }
}

// ---- Variables -----------------------------------------------------------------------------------------

/// Whether the variable's cell is known at compile time: a module's top level runs only once.
bool FunctionCompiler::is_global(const Variable& v) const {
  if (module_.cells.count(&v)) return true;
  return v.is_exported && (v.is_captured || module_.options.export_cells);
}

uint16_t FunctionCompiler::global_index(const Variable& v) {
  const auto [entry, is_new] = global_indices_.try_emplace(&v, 0);
  if (is_new) {
    entry->second = narrow(proto_->globals.size(), v.span, "global variables");
    auto known = module_.cells.find(&v);
    if (known == module_.cells.end()) {
      Ref<Cell> cell = make_ref<Cell>();  // before it is stored: if memory runs out, no entry without a cell remains
      cell->is_mutable = v.is_mutable;
      known = module_.cells.emplace(&v, std::move(cell)).first;
    }
    proto_->globals.push_back(known->second);
    proto_->global_names.push_back(v.name);
    proto_->global_spans.push_back(v.span);
  }
  return entry->second;
}

uint16_t FunctionCompiler::capture_index(const Variable& v) {
  const auto [entry, is_new] = capture_indices_.try_emplace(&v, 0);
  if (is_new) {
    entry->second = narrow(proto_->captures.size(), v.span, "captured variables");
    const VariableSlot outside = enclosing_->slot_of(v);
    proto_->captures.push_back({v.name, v.span, outside.kind == RootKind::cell, outside.index});
  }
  return entry->second;
}

FunctionCompiler::VariableSlot FunctionCompiler::slot_of(const Variable& v) {
  if (is_global(v)) return {RootKind::global, global_index(v)};
  if (v.owner != &function_) return {RootKind::capture, capture_index(v)};
  return variable_slots_[v.index];
}

FunctionCompiler::Reg FunctionCompiler::allocate(Span span) {
  const Reg reg = narrow(next_++, span, kRegisters);
  if (next_ > bound_.size()) bound_.resize(next_);
  bound_[reg] = false;
  proto_->register_count = std::max<uint16_t>(proto_->register_count, narrow(next_, span, kRegisters));
  return reg;
}

FunctionCompiler::Reg FunctionCompiler::declare_register(const Variable& v, Span span) {
  const Reg reg = allocate(span);
  bind_register(v, reg, span);
  return reg;
}

/// Makes a register hold a variable from here on.
void FunctionCompiler::bind_register(const Variable& v, Reg reg, Span span) {
  variable_slots_[v.index] = {RootKind::reg, reg};
  bound_[reg] = true;
  proto_->register_names.push_back({reg, here(), RegisterName::kOpenEnd, v.name, span});
  named_.push_back(proto_->register_names.size() - 1);  // last: none may be named here that is not there
}

/// Ends the extent of the variables whose registers are freed.
void FunctionCompiler::forget_registers(uint32_t first) {
  for (; !named_.empty() && proto_->register_names[named_.back()].reg >= first; named_.pop_back())
    proto_->register_names[named_.back()].end = here();
}

// ---- Code ----------------------------------------------------------------------------------------------

uint16_t FunctionCompiler::narrow(size_t index, Span span, const char* what) const {
  if (index >= 0xFFFF) fail_at(ErrorName::function_too_large, span, fmt::format("too many {} in one function", what));
  return static_cast<uint16_t>(index);
}

uint32_t FunctionCompiler::emit(Opcode op, Span span, uint32_t a, uint32_t b, uint32_t c, uint8_t extra) {
  constexpr int64_t kInstructionWork = 256;
  count_work(kInstructionWork);
  if (proto_->code.size() == proto_->code.capacity())
    require_host_bytes(3 * proto_->code.capacity() * (sizeof(Instruction) + sizeof(Span)));
  Instruction i;
  i.op = op;
  i.a = narrow(a, span, "values");
  i.b = narrow(b, span, "values");
  i.c = narrow(c, span, "values");
  i.set_extra(extra);
  proto_->code.push_back(i);
  proto_->spans.push_back(span);
  return here() - 1;
}

uint32_t FunctionCompiler::emit_wide(Opcode op, Span span, uint32_t a, uint32_t value) {
  const uint32_t at = emit(op, span, a);
  proto_->code[at].set_wide(value);
  return at;
}

void FunctionCompiler::patch(const JumpList& jumps, uint32_t target) {
  for (uint32_t at : jumps) proto_->code[at].set_wide(target);
}

namespace {

/// The bits that tell an immediate constant from others of its tag, or none.
std::optional<uint64_t> bits_of(const Value& constant) {
  if (constant.is_nil()) return 0;
  if (constant.is(Tag::boolean)) return constant.boolean();
  if (constant.is(Tag::integer)) return static_cast<uint64_t>(constant.integer());
  if (constant.is(Tag::real)) return std::bit_cast<uint64_t>(constant.real());
  if (constant.is(Tag::dtype)) return static_cast<uint64_t>(constant.dtype());
  return std::nullopt;
}

}  // namespace

uint32_t FunctionCompiler::constant(Value value) {
  const auto add = [&] {
    proto_->constants.push_back(value);
    return static_cast<uint32_t>(proto_->constants.size() - 1);
  };
  const std::optional<uint64_t> bits = bits_of(value);
  if (!bits) return add();
  const auto [entry, is_new] = number_constants_.try_emplace({static_cast<int>(value.tag()), *bits}, 0);
  if (is_new) entry->second = add();
  return entry->second;
}

uint32_t FunctionCompiler::string_constant(Name text) {
  const auto [entry, is_new] = string_constants_.try_emplace(text, 0);
  if (is_new) entry->second = constant(make_string(*text));
  return entry->second;
}

uint32_t FunctionCompiler::name_index(Name name) {
  const auto [entry, is_new] = name_indices_.try_emplace(name, 0);
  if (is_new) {
    entry->second = static_cast<uint32_t>(proto_->names.size());
    proto_->names.push_back(name);
  }
  return entry->second;
}

void FunctionCompiler::nested_function(const ast::Function& function, Reg dst) {
  std::unique_ptr<Proto> proto = FunctionCompiler(module_, function, this).run();
  proto_->functions.push_back(std::move(proto));
  emit_wide(Opcode::closure, function.span, dst, static_cast<uint32_t>(proto_->functions.size() - 1));
}

// ---- Entry ---------------------------------------------------------------------------------------------

std::unique_ptr<Proto> compile(const Builtins& builtins, const ast::Module& module, const CompileOptions& options,
                               VariableCells& cells) {
  const DType reals = module.use ? dtype_named(*module.use).value_or(options.reals) : options.reals;
  ModuleCompilation shared{builtins, options, cells, reals};
  return FunctionCompiler(shared, *module.main, nullptr).run();
}

}  // namespace tsl
