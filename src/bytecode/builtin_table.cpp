#include "bytecode/builtin_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>

#include "base/error_names.h"
#include "bytecode/declaration.h"
#include "value/numbers.h"

namespace tsl {

namespace {

/// Whether the interpreter or the compiler calls a function of the prelude by its name.
bool is_called_by_name(std::string_view function) {
  return function.starts_with(kComplexForm) || function == kGreatestDifference || function == kRoundToDecimals;
}

/// Lists the functions at the top level of a part of the prelude: lines that start with "fn name(". A name that starts
/// with an underscore is private to its part, but for those that is_called_by_name().
std::vector<std::string_view> functions_of(std::string_view text) {
  std::vector<std::string_view> functions;
  for (size_t line = 0; line < text.size();) {
    const size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view content = text.substr(line, end - line);
    const size_t open = content.starts_with("fn ") ? content.find('(') : std::string_view::npos;
    const std::string_view name = open == std::string_view::npos ? "" : content.substr(3, open - 3);
    if (!name.empty() && (name[0] != '_' || is_called_by_name(name))) functions.push_back(name);
    line = end + 1;
  }
  return functions;
}

struct PreludeFunction {
  std::string_view name;
  const LibrarySource* source;
};

/// Returns the functions of the prelude: read once for all engines, since reading takes most of making one.
const std::vector<PreludeFunction>& prelude_of(std::span<const LibrarySource> sources) {
  static std::mutex mutex;
  static auto& known = *new std::map<const LibrarySource*, std::vector<PreludeFunction>>;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(sources.data());
  for (const LibrarySource& source : is_new ? sources : std::span<const LibrarySource>()) {
    if (!source.is_prelude()) continue;
    for (const std::string_view name : functions_of(source.text)) entry->second.push_back({name, &source});
  }
  return entry->second;
}

}  // namespace

BuiltinTable::BuiltinTable(Interner& names, const Library& library, LoadPrelude load)
    : interner_(names), complex_keys_(make_complex_keys(names)), load_(std::move(load)), sources_(library.sources) {
  const std::vector<PreludeFunction>& prelude = prelude_of(sources_);
  size_t rows_count = 0;
  for (const std::span<const Builtin> rows : library.builtins) rows_count += rows.size();
  rows_.reserve(rows_count);
  prelude_.reserve(prelude.size());
  for (const std::span<const Builtin> rows : library.builtins) add_rows(rows);
  values_ = rows_;
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    values_[interner_.intern(tsl::name_of(dtype))] = Value(dtype);
  }
  for (const Constant& constant : library.constants) values_[interner_.intern(constant.name)] = Value(constant.value);
  for (const PreludeFunction& each : prelude) prelude_[interner_.intern(each.name)] = each.source;
}

void BuiltinTable::add_rows(std::span<const Builtin> rows) {
  for (const Builtin& row : rows) {
    Ref<BuiltinFunction> native = make_ref<BuiltinFunction>();
    native->builtin = &row;
    rows_[interner_.intern(row.name)] = Value(std::move(native));
  }
}

void BuiltinTable::define(const Builtin& builtin) {
  const Name name = interner_.intern(builtin.name);
  if (contains(name)) fail(ErrorName::name_taken, "there is a builtin '{}' already", builtin.name);
  signature(builtin);
  add_rows({&builtin, 1});
  values_[name] = rows_[name];
}

void BuiltinTable::define(const ForeignType& type) {
  require_type_name(type.name, interner_);
  const Name name = interner_.intern(type.name);
  if (foreign_type(name)) fail(ErrorName::name_taken, "there is a type '{}' already", type.name);
  foreign_types_[name] = &type;
}

const ForeignType* BuiltinTable::foreign_type(Name name) const {
  const auto found = foreign_types_.find(name);
  return found == foreign_types_.end() ? nullptr : found->second;
}

const Value* BuiltinTable::native(Name name) const {
  const auto found = values_.find(name);
  return found != values_.end() && prelude_.count(name) == 0 ? &found->second : nullptr;
}

const Value* BuiltinTable::row(std::string_view name) const {
  const auto found = rows_.find(interner_.intern(name));
  return found == rows_.end() ? nullptr : &found->second;
}

bool BuiltinTable::contains(Name name) const { return values_.count(name) || prelude_.count(name); }

/// Dtypes, constants and the composites of the prelude have none.
bool BuiltinTable::has_effect(Name name) const {
  const auto row = rows_.find(name);
  return row != rows_.end() && row->second.as<BuiltinFunction>().builtin->has_effect;
}

const Value* BuiltinTable::find(Name name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return &found->second;
  const auto composite = prelude_.find(name);
  if (composite == prelude_.end()) return nullptr;
  const Ref<Module> module = load_(*composite->second);
  for (const auto& [exported, cell] : module->exports) {
    const auto part = prelude_.find(exported);
    if (part != prelude_.end() && part->second == composite->second) values_[exported] = cell->value;
  }
  return &values_.at(name);
}

std::vector<std::string> BuiltinTable::names() const {
  std::vector<std::string> names;
  for (const auto& entry : values_) names.push_back(*entry.first);
  for (const auto& entry : prelude_) {
    if (!values_.count(entry.first)) names.push_back(*entry.first);
  }
  std::erase_if(names, [](const std::string& name) { return name.starts_with('_'); });
  std::sort(names.begin(), names.end());  // a hash table's order must not reach users
  return names;
}

const Signature& BuiltinTable::signature(const Builtin& builtin) {
  Recent& recent = recent_[reinterpret_cast<uintptr_t>(&builtin) / alignof(std::max_align_t) % std::size(recent_)];
  if (recent.builtin == &builtin) return *recent.signature;
  auto known = signatures_.find(&builtin);
  if (known == signatures_.end()) {
    known = signatures_.emplace(&builtin, parse_signature(builtin.signature, interner_, this)).first;
  }
  recent = {&builtin, &known->second};
  return known->second;
}

const Signature& BuiltinTable::signature(const BuiltinFunction& native) {
  const BuiltinFunction* callee = &native;
  while (callee->builtin->forwards) {
    const Value& next = callee->bound[0];
    if (next.is(Tag::function)) return next.as<Function>().info->signature;
    if (!next.is(Tag::builtin)) break;
    callee = &next.as<BuiltinFunction>();
  }
  return signature(*callee->builtin);
}

}  // namespace tsl
