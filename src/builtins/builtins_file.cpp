// load, save, read_text, write_text.
#include "base/error.h"
#include "builtins/builtin_families.h"
#include "builtins/json.h"
#include "engine/engine.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "value/host_tensor.h"
#include "value/runtime.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

enum class FileKind { npy, npz, safetensors, json };

FileKind kind_of(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  const size_t dot = path.rfind('.');
  const std::string extension =
      dot == std::string::npos || (slash != std::string::npos && dot < slash) ? "" : path.substr(dot);
  if (extension == ".npy") return FileKind::npy;
  if (extension == ".npz") return FileKind::npz;
  if (extension == ".safetensors") return FileKind::safetensors;
  if (extension == ".json") return FileKind::json;
  fail(ErrorKind::io, "'{}': load and save know .npy, .npz, .safetensors and .json, not '{}'", path, extension);
}

Value record_of(Engine& engine, std::vector<NamedTensor> tensors) {
  std::vector<std::pair<Name, Value>> entries;
  for (NamedTensor& item : tensors) {
    entries.emplace_back(engine.names().intern(item.name), Value(engine.runtime().to_device(std::move(item.tensor))));
  }
  return make_record(std::move(entries));
}

Value run_load(Engine& engine, std::span<Value> args) {
  const std::string& path = expect_string(engine, args[0], "a path");
  const Device device = args[1].is_nil() ? engine.ops().device() : expect_device(engine, args[1], "the device");
  const Placement placement(engine.ops(), device);
  Allocator& allocator = engine.runtime().allocator();
  switch (kind_of(path)) {
    case FileKind::npy: return engine.runtime().to_device(load_npy(path, allocator));
    case FileKind::npz: return record_of(engine, load_npz(path, allocator));
    case FileKind::safetensors: return record_of(engine, load_safetensors(path, allocator));
    case FileKind::json: return load_json(engine, path);
  }
  return Value();
}

/// A value's elements, in order and in host memory.
Tensor packed(Engine& engine, const Value& v) {
  const Tensor x = to_tensor(engine, v, "save");
  return read_to_host(engine, x.layout().is_contiguous() ? x : engine.ops().call(Op::copy, {x}));
}

std::vector<NamedTensor> named_tensors(Engine& engine, const std::string& path, const Value& v) {
  if (!v.is(Tag::record)) fail(ErrorKind::type, "'{}' holds a record of tensors, not {}", path, type_name(v));
  const Record& record = v.as<Record>();
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < record.values.size(); ++i) {
    const std::string& key = *record.keys->names[i];
    if (record.values[i].is(Tag::record)) {
      fail(ErrorKind::type, "'{}' holds a flat record of tensors, but '{}' is a record", path, key);
    }
    tensors.push_back({key, packed(engine, record.values[i])});
  }
  return tensors;
}

Value run_save(Engine& engine, std::span<Value> args) {
  const std::string& path = expect_string(engine, args[0], "a path");
  switch (kind_of(path)) {
    case FileKind::npy: save_npy(path, packed(engine, args[1])); break;
    case FileKind::npz: save_npz(path, named_tensors(engine, path, args[1])); break;
    case FileKind::safetensors: save_safetensors(path, named_tensors(engine, path, args[1])); break;
    case FileKind::json: save_json(engine, path, args[1]); break;
  }
  return Value();
}

Value run_read_text(Engine& engine, std::span<Value> args) {
  return make_string(read_text_file(expect_string(engine, args[0], "a path")));
}

Value run_write_text(Engine& engine, std::span<Value> args) {
  write_text_file(expect_string(engine, args[0], "a path"), expect_string(engine, args[1], "the text"));
  return Value();
}

template <Value (*kRun)(Engine&, std::span<Value>)> Value effect_builtin(Engine& engine, Args args) {
  return engine.runtime().effect(kRun, {args.values.begin(), args.values.end()});
}

// save(path, value) or, as NumPy users write it for pipes, save(value, path).
Value save_builtin(Engine& engine, Args args) {
  const bool path_first = args[0].is(Tag::string) || args[0].is(Tag::text);
  return engine.runtime().effect(run_save, {args[path_first ? 0 : 1], args[path_first ? 1 : 0]});
}

constexpr Builtin kRows[] = {
    {"load", "load(path, device = nil)",
     "what a .npy (tensor), .npz or .safetensors (record of tensors) or .json file holds", effect_builtin<run_load>,
     "host"},
    {"save", "save(path, value)", "writes a tensor (.npy), a record of tensors (.npz, .safetensors), or data (.json)",
     save_builtin, "host"},
    {"read_text", "read_text(path)", "a file's text", effect_builtin<run_read_text>, "host"},
    {"write_text", "write_text(path, text)", "writes text to a file", effect_builtin<run_write_text>, "host"},
};

}  // namespace

std::span<const Builtin> file_builtins() { return kRows; }

}  // namespace tsl
