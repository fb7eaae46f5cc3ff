// load, save, read_text, write_text.
#include "base/error.h"
#include "builtins/builtins.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "value/context.h"
#include "value/host_tensor.h"
#include "value/runtime.h"
#include "value/value_walk.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

enum class FileKind { npy, npz, safetensors, json };

FileKind kind_of(const std::string& path, const char* hint) {
  const size_t slash = path.find_last_of("/\\");
  const size_t dot = path.rfind('.');
  const std::string extension =
      dot == std::string::npos || (slash != std::string::npos && dot < slash) ? "" : path.substr(dot);
  if (extension == ".npy") return FileKind::npy;
  if (extension == ".npz") return FileKind::npz;
  if (extension == ".safetensors") return FileKind::safetensors;
  if (extension == ".json") return FileKind::json;
  fail_argument(ErrorKind::io, "path",
                fmt::format("'{}': load and save know .npy, .npz, .safetensors and .json, not '{}'", path, extension),
                {hint});
}

Value record_of(Context& context, std::vector<NamedTensor> tensors) {
  std::vector<std::pair<Name, Value>> entries;
  for (NamedTensor& item : tensors) {
    entries.emplace_back(context.names().intern(item.name), Value(context.runtime().to_device(std::move(item.tensor))));
  }
  return make_record(std::move(entries));
}

Value run_load(Context& context, std::span<Value> args) {
  const std::string& path = expect_string(context, args[0], "a path");
  const Device device = args[1].is_nil() ? context.ops().device() : expect_device(context, args[1], "the device");
  const Placement placement(context.ops(), device);
  Allocator& allocator = context.runtime().allocator();
  switch (kind_of(path, "`read_text(path)` reads any other file as text")) {
    case FileKind::npy: return context.runtime().to_device(load_npy(path, allocator));
    case FileKind::npz: return record_of(context, load_npz(path, allocator));
    case FileKind::safetensors: return record_of(context, load_safetensors(path, allocator));
    case FileKind::json: return load_json(context, path);
  }
  return Value();
}

/// Returns a value's elements in order, in host memory. Refuses several tensors, which would load as one.
Tensor packed(Context& context, const std::string& path, const Value& v) {
  if (!v.is(Tag::tensor) && any_leaf(v, [](const Value& leaf) { return leaf.is(Tag::tensor); })) {
    fail_with(ErrorKind::type, fmt::format("'{}' holds tensors, but no {} of them", path, type_name(v)),
              {"stack(…) or concat(…) makes one tensor; a record with a key for each keeps them apart"});
  }
  if (is_text(v)) {
    fail_argument(ErrorKind::type, "value", fmt::format("'{}' holds numbers, not str", path),
                  {"`write_text(path, text)` writes text to a file"});
  }
  const Tensor x = to_tensor(context, v, "save");
  return read_to_host(context, x.layout().is_contiguous() ? x : context.ops().call(Op::copy, {x}));
}

std::vector<NamedTensor> named_tensors(Context& context, const std::string& path, const Value& v) {
  if (!v.is(Tag::record)) {
    fail_argument(ErrorKind::type, "value", fmt::format("'{}' holds a record of tensors, not {}", path, type_name(v)),
                  {"a record names each tensor: `save(path, {x: x})`; .npy files hold one tensor"});
  }
  const Record& record = v.as<Record>();
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < record.values.size(); ++i) {
    const std::string& key = *record.keys->names[i];
    if (record.values[i].is(Tag::record)) {
      fail(ErrorKind::type, "'{}' holds a flat record of tensors, but '{}' is a record", path, key);
    }
    tensors.push_back({key, packed(context, path, record.values[i])});
  }
  return tensors;
}

Value run_save(Context& context, std::span<Value> args) {
  const std::string& path = expect_string(context, args[0], "a path");
  switch (kind_of(path, "`write_text(path, str(x))` writes text to any other file")) {
    case FileKind::npy: save_npy(path, packed(context, path, args[1])); break;
    case FileKind::npz: save_npz(path, named_tensors(context, path, args[1])); break;
    case FileKind::safetensors: save_safetensors(path, named_tensors(context, path, args[1])); break;
    case FileKind::json: save_json(context, path, args[1]); break;
  }
  return Value();
}

Value run_read_text(Context& context, std::span<Value> args) {
  return make_string(read_text_file(expect_string(context, args[0], "a path")));
}

Value run_write_text(Context& context, std::span<Value> args) {
  write_text_file(expect_string(context, args[0], "a path"), expect_string(context, args[1], "the text"));
  return Value();
}

/// The caret of an error about a file is under its path.
template <Value (*kRun)(Context&, std::span<Value>)> Value effect_builtin(Context& context, Args args) {
  require_permission(context.permissions().files, "files");
  try {
    return context.runtime().effect(kRun, {args.values.begin(), args.values.end()});
  } catch (Failure& failure) {
    Error& error = failure.error();
    if (error.kind == ErrorKind::io && error.parameter.empty()) error.parameter = "path";
    throw;
  }
}

constexpr Builtin kRows[] = {
    {"load", "load(path: str, device: str | nil = nil)",
     "what a .npy (tensor), .npz or .safetensors (record of tensors) or .json file holds", effect_builtin<run_load>,
     "host"},
    with_effect({"save", "save(path: str, value: any)",
                 "writes a tensor (.npy), a record of tensors (.npz, .safetensors), or data (.json)",
                 effect_builtin<run_save>, "host", false, true}),
    {"read_text", "read_text(path: str)", "a file's text", effect_builtin<run_read_text>, "host"},
    with_effect({"write_text", "write_text(path: str, text: str)", "writes text to a file",
                 effect_builtin<run_write_text>, "host"}),
};

}  // namespace

std::span<const Builtin> file_builtins() { return kRows; }

}  // namespace tsl
