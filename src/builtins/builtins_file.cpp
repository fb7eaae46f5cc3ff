// Defines builtins on files, and on the bytes of files and strings: load, save, read_text, encode, …
#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "builtins/builtins.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/other_files.h"
#include "io/safetensors.h"
#include "syntax/unicode.h"
#include "value/context.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/runtime.h"
#include "value/value_walk.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

enum class FileKind { npy, npz, safetensors, json };

FileKind kind_of(const std::string& path, const std::string& hint) {
  const size_t slash = path.find_last_of("/\\");
  const size_t dot = path.rfind('.');
  const std::string extension =
      dot == std::string::npos || (slash != std::string::npos && dot < slash) ? "" : path.substr(dot);
  if (extension == ".npy") return FileKind::npy;
  if (extension == ".npz") return FileKind::npz;
  if (extension == ".safetensors") return FileKind::safetensors;
  if (extension == ".json") return FileKind::json;
  fail_argument(ErrorName::unknown_file_format, "path",
                fmt::format("'{}': load and save know .npy, .npz, .safetensors and .json, not '{}'", path, extension),
                hints_of(hint));
}

/// Returns what stands between the columns of a table in text, as it is written in a str; "" for other files.
std::string column_mark(const std::string& path) {
  if (path.ends_with(".tsv")) return "\\t";
  return path.ends_with(".csv") ? "," : "";
}

std::string hint_to_read(const std::string& path) {
  const std::string mark = column_mark(path);
  if (mark.empty()) return "`read_text(path)` reads any other file as text";
  return fmt::format(
      "`tensor(map(fn(line) = map(float, line.split(\"{1}\")), read_text(\"{0}\").strip().split(\"\\n\")))` makes a "
      "matrix "
      "of its numbers",
      path, mark);
}

std::string hint_to_write(const std::string& path) {
  const std::string mark = column_mark(path);
  if (mark.empty()) return "`write_text(path, text)` writes text to any other file";
  return fmt::format(
      "`write_text(\"{0}\", join(map(fn(row) = join(map(str, row), \"{1}\"), x.tolist()), \"\\n\"))` writes all rows "
      "of a "
      "matrix",
      path, mark);
}

/// As kind_of(), with what any other file is.
FileKind kind_to_load(const std::string& path) {
  try {
    return kind_of(path, hint_to_read(path));
  } catch (Failure& failure) {
    const std::optional<OtherFile> other = other_file(path);
    if (other) {
      failure.error().message += fmt::format(": it is {}", other->what);
      failure.error().hints = hints_of(other->hint);
    }
    throw;
  }
}

Value record_of(Context& context, const std::string& path, std::vector<NamedTensor> tensors,
                const std::vector<UnreadEntry>& unread) {
  Value record = make_record({});
  for (NamedTensor& item : tensors) {  // bounded: by the limit of entries of a file
    record.as<Record>().set(HeldName(context.names(), item.name),
                            Value(context.runtime().to_device(std::move(item.tensor))));
  }
  if (unread.empty()) return record;
  auto reasons = std::make_shared<std::vector<std::pair<std::string, std::string>>>();
  for (const UnreadEntry& each : unread)  // bounded: likewise
    reasons->emplace_back(each.name, fmt::format("'{}' of {} was not read: {}", each.name, path, each.why));
  record.as<Record>().keys->unread = std::move(reasons);
  return record;
}

Value run_load(Context& context, std::span<Value> args) {
  const std::string& path = expect_string(context, args[0], "a path");
  const Device device = args[1].is_nil() ? context.ops().device() : expect_device(context, args[1], "the device");
  const Placement placement(context.ops(), device);
  Allocator& allocator = context.runtime().allocator();
  std::vector<UnreadEntry> unread;
  switch (kind_to_load(path)) {
    case FileKind::npy: return context.runtime().to_device(load_npy(path, allocator));
    case FileKind::npz: return record_of(context, path, load_npz(path, allocator, &unread), unread);
    case FileKind::safetensors: return record_of(context, path, load_safetensors(path, allocator, &unread), unread);
    case FileKind::json: return load_json(context, path);
  }
  return Value();
}

/// Returns a value's elements in order, in host memory. Refuses several tensors, which would load as one.
Tensor packed(Context& context, const std::string& path, const Value& v) {
  if (!v.is(Tag::tensor) && any_leaf(v, [](const Value& leaf) { return leaf.is(Tag::tensor); })) {
    fail_with(ErrorName::wrong_argument_type, fmt::format("'{}' holds tensors, but no {} of them", path, type_name(v)),
              {"stack(…) or concat(…) makes one tensor; a record with a key for each keeps them apart"});
  }
  if (is_text(v)) {
    fail_argument(ErrorName::wrong_argument_type, "value", fmt::format("'{}' holds numbers, not str", path),
                  {"`write_text(path, text)` writes text to a file"});
  }
  const Tensor x = to_tensor(context, v, "save");
  return read_to_host(context, x.layout().is_contiguous() ? x : context.ops().call(Op::copy, {x}));
}

std::vector<NamedTensor> named_tensors(Context& context, const std::string& path, const Value& v) {
  if (!v.is(Tag::record)) {
    fail_argument(ErrorName::wrong_argument_type, "value",
                  fmt::format("'{}' holds a record of tensors, not {}", path, type_name(v)),
                  {"a record names each tensor: `save(path, {x: x})`; .npy files hold one tensor"});
  }
  const Record& record = v.as<Record>();
  constexpr int64_t kEntryWork = 128;
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < record.values.size(); ++i) {
    count_work(kEntryWork);
    const std::string& key = *record.keys->names[i];
    if (record.values[i].is(Tag::record)) {
      fail(ErrorName::wrong_argument_type, "'{}' holds a flat record of tensors, but '{}' is a record", path, key);
    }
    tensors.push_back({key, packed(context, path, record.values[i])});
  }
  return tensors;
}

Value run_save(Context& context, std::span<Value> args) {
  const std::string& path = expect_string(context, args[0], "a path");
  switch (kind_of(path, hint_to_write(path))) {
    case FileKind::npy: save_npy(path, packed(context, path, args[1])); break;
    case FileKind::npz: save_npz(path, named_tensors(context, path, args[1])); break;
    case FileKind::safetensors: save_safetensors(path, named_tensors(context, path, args[1])); break;
    case FileKind::json: save_json(context, path, args[1]); break;
  }
  return Value();
}

Value run_read_text(Context& context, std::span<Value> args) {
  const std::string& path = expect_string(context, args[0], "a path");
  std::string text = read_text_file(path);
  constexpr size_t kBegin = 16;
  const size_t at = find_binary(text);
  if (at == std::string::npos) return make_string(std::move(text));
  const std::optional<OtherFile> other = other_file(path, std::string_view(text).substr(0, kBegin));
  const std::string what =
      other ? other->what : fmt::format("no text: byte {} is 0x{:02x}", at + 1, static_cast<unsigned char>(text[at]));
  fail_argument(ErrorName::not_a_text_file, "path", fmt::format("cannot read {} as text: it is {}", path, what),
                hints_of(other ? other->hint : "in Python, `np.fromfile` and `np.save` make an array of it"));
}

Value run_write_text(Context& context, std::span<Value> args) {
  write_text_file(expect_string(context, args[0], "a path"), expect_string(context, args[1], "the text"));
  return Value();
}

// ---- Bytes -----------------------------------------------------------------------------------------

Tensor new_bytes(Context& context, uint64_t count) {
  return new_host_tensor(context, DType::u8, Shape{static_cast<int64_t>(count)});
}

std::string_view bytes_of(const Tensor& host) {
  return {reinterpret_cast<const char*>(host.data()), static_cast<size_t>(host.layout().shape[0].hint())};
}

Value run_read_bytes(Context& context, std::span<Value> args) {
  const Device device = args[1].is_nil() ? context.ops().device() : expect_device(context, args[1], "the device");
  const Placement placement(context.ops(), device);
  FileReader reader(expect_string(context, args[0], "a path"));
  const uint64_t count = reader.left();
  const Tensor bytes = new_bytes(context, count);
  reader.read(bytes.data(), count);
  return context.runtime().to_device(bytes);
}

Value run_write_bytes(Context& context, std::span<Value> args) {
  const std::string& path = expect_string(context, args[0], "a path");
  const Tensor bytes = packed(context, path, args[1]);
  write_text_file(path, bytes_of(bytes));
  return Value();
}

Value encode_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "encode's text");
  const Device device = args[1].is_nil() ? context.ops().device() : expect_device(context, args[1], "the device");
  const Placement placement(context.ops(), device);
  const Tensor bytes = new_bytes(context, text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return context.runtime().to_device(bytes);
}

Value run_decode(Context& context, std::span<Value> args) {
  const Tensor bytes = packed(context, "decode", args[0]);
  require_host_bytes(bytes_of(bytes).size());
  std::string text = copy_text(bytes_of(bytes));
  const size_t bad = find_invalid_utf8(text);
  if (bad == std::string::npos) return make_string(std::move(text));
  fail_argument(
      ErrorName::text_not_utf8, "bytes",
      fmt::format("decode: the bytes are not UTF-8: byte {} is 0x{:02x}", bad, static_cast<unsigned char>(text[bad])));
}

Value decode_builtin(Context& context, Args args) { return context.runtime().effect(run_decode, {args[0]}); }

/// The caret of an error about a file is under its path.
template <Value (*kRun)(Context&, std::span<Value>)> Value effect_builtin(Context& context, Args args) {
  require_permission(context.permissions().files, "files");
  try {
    return context.runtime().effect(kRun, {args.values.begin(), args.values.end()});
  } catch (Failure& failure) {
    Error& error = failure.error();
    if (error.kind() == ErrorKind::io && error.parameter.empty()) error.parameter = "path";
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
    {"read_bytes", "read_bytes(path: str, device: str | nil = nil)", "a file's bytes, a tensor of u8",
     effect_builtin<run_read_bytes>, "host"},
    with_effect({"write_bytes", "write_bytes(path: str, bytes: u8[n])", "writes a tensor of bytes to a file",
                 effect_builtin<run_write_bytes>, "host"}),
    {"encode", "encode(text: str, device: str | nil = nil)", "the bytes of text in UTF-8, a tensor of u8",
     encode_builtin, "host"},
    {"decode", "decode(bytes: u8[n])", "the text whose bytes in UTF-8 these are", decode_builtin, "host"},
};

}  // namespace

std::span<const Builtin> file_builtins() { return kRows; }

}  // namespace tsl
