// Defines builtins on files, and on the bytes of files and strings: load, save, read_text, list_files, encode, …
#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "builtins/builtins.h"
#include "builtins/expect_path.h"
#include "builtins/held_state.h"
#include "drawing/drawing.h"
#include "drawing/raster.h"
#include "drawing/svg.h"
#include "io/atomic_file.h"
#include "io/background.h"
#include "io/csv.h"
#include "io/file_system.h"
#include "io/image.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/other_files.h"
#include "io/safetensors.h"
#include "io/standard_input.h"
#include "io/tree.h"
#include "syntax/unicode.h"
#include "value/context.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/value_walk.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

enum class FileKind { npy, npz, safetensors, json, csv, png, jpeg, svg };

FileKind kind_of(const std::string& path, const std::string& hint) {
  const size_t slash = path.find_last_of("/\\");
  const size_t dot = path.rfind('.');
  const std::string extension =
      dot == std::string::npos || (slash != std::string::npos && dot < slash) ? "" : path.substr(dot);
  if (extension == ".npy") return FileKind::npy;
  if (extension == ".npz") return FileKind::npz;
  if (extension == ".safetensors") return FileKind::safetensors;
  if (extension == ".json") return FileKind::json;
  if (extension == ".csv" || extension == ".tsv") return FileKind::csv;
  if (extension == ".png") return FileKind::png;
  if (extension == ".jpg" || extension == ".jpeg") return FileKind::jpeg;
  if (extension == ".svg") return FileKind::svg;
  fail_argument(
      ErrorName::unknown_file_format, "path",
      fmt::format("'{}': load and save know .npy, .npz, .safetensors, .json, .csv, .tsv, .png and .jpg, not '{}'", path,
                  extension),
      hints_of(hint));
}

/// As kind_of(), with what any other file is.
FileKind kind_to_load(const std::string& path) {
  try {
    return kind_of(path, "`read_text(path)` reads any other file as text");
  } catch (Failure& failure) {
    const std::optional<OtherFile> other = other_file(path);
    if (other) {
      failure.error().message += fmt::format(": it is {}", other->what);
      failure.error().hints = hints_of(other->hint);
    }
    throw;
  }
}

/// Returns what a file holds as a value, on the device where new tensors are.
Value loaded_value(Context& context, FileTensor tensor) {
  if (tensor.is_complex) return placed_complex(context, tensor, tensor.layout());
  return context.runtime().to_device(std::move(tensor));
}

Value record_of(Context& context, const std::string& path, std::vector<NamedTensor> tensors,
                const std::vector<UnreadEntry>& unread) {
  Value record = make_record({});
  for (NamedTensor& item : tensors) {  // bounded: by the limit of entries of a file
    record.as<Record>().set(HeldName(context.names(), item.name), loaded_value(context, std::move(item.tensor)));
  }
  if (unread.empty()) return record;
  auto reasons = std::make_shared<std::vector<std::pair<std::string, std::string>>>();
  for (const UnreadEntry& each : unread)  // bounded: likewise
    reasons->emplace_back(each.name, fmt::format("'{}' of {} was not read: {}", each.name, path, each.why));
  record.as<Record>().keys->unread = std::move(reasons);
  return record;
}

/// Reads the arguments that are of tables: header, separator, decimal, comment, skiprows; save() has the first two.
CsvOptions table_options(Context& context, FileKind kind, const std::string& path, std::span<const Value> args) {
  static constexpr const char* kNames[] = {"header", "separator", "decimal", "comment", "skiprows"};
  CsvOptions options;
  const auto mark = [&](size_t i, char& c) {
    if (i < args.size() && !args[i].is_nil()) c = csv_mark(expect_string(context, args[i], kNames[i]), kNames[i]);
  };
  if (kind != FileKind::csv) {
    for (size_t i = 0; i < args.size(); ++i) {  // bounded: by the parameters
      if (!args[i].is_nil())
        fail_argument(ErrorName::unsuitable_argument, kNames[i],
                      fmt::format("only a .csv or .tsv file has it, and '{}' is none", path));
    }
    return options;
  }
  if (!args[0].is_nil()) options.has_header = expect_bool(context, args[0], "header");
  mark(1, options.separator);
  mark(2, options.decimal);
  mark(3, options.comment);
  if (args.size() > 4 && !args[4].is_nil()) options.skipped = expect_int(context, args[4], "skiprows");
  return options;
}

Value run_load(Context& context, std::span<Value> args) {
  const std::string& path = expect_path(context, args[0]);
  const FileKind kind = kind_to_load(path);
  const CsvOptions options = table_options(context, kind, path, args.subspan(2));
  const Device device = args[1].is_nil() ? context.ops().device() : expect_device(context, args[1], "the device");
  const Placement placement(context.ops(), device);
  Allocator& allocator = context.runtime().allocator();
  std::vector<UnreadEntry> unread;
  switch (kind) {
    case FileKind::npy: return loaded_value(context, load_npy(path, allocator));
    case FileKind::npz: return record_of(context, path, load_npz(path, allocator, &unread), unread);
    case FileKind::safetensors: {
      std::string form;
      const Value tensors = record_of(context, path, load_safetensors(path, allocator, &unread, &form), unread);
      return form.empty() ? tensors : put_together(context, path, tensors, form);
    }
    case FileKind::json: return load_json(context, path);
    case FileKind::csv: return load_csv(context, path, options);
    case FileKind::png: return context.runtime().to_device(load_png(path, allocator));
    case FileKind::jpeg: return context.runtime().to_device(load_jpeg(path, allocator));
    case FileKind::svg:
      fail_argument(ErrorName::unknown_file_format, "path", fmt::format("'{}': load reads no drawings", path),
                    {"`read_text(path)` reads an .svg file as text"});
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

[[noreturn]] void fail_without_names(const std::string& path, const Value& v) {
  fail_argument(ErrorName::wrong_argument_type, "value",
                fmt::format("'{}' holds a record of tensors, not {}", path, type_name(v)),
                {"a record names each tensor: `save(path, {x: x})`; .npy files hold one tensor"});
}

/// As packed(), also of complex numbers.
FileTensor packed_numbers(Context& context, const std::string& path, const Value& v) {
  if (!is_complex(v)) return packed(context, path, v);
  const auto part = [&](bool is_imaginary) { return to_tensor(context, complex_part(v, is_imaginary), "save"); };
  const Tensor re = part(false);
  const Tensor pairs = read_to_host(context, pairs_in_order(context, make_complex(context, re, part(true))));
  Layout numbers = Layout::contiguous(re.shape());
  numbers.offset = pairs.layout().offset;
  return {pairs.with_layout(numbers), true};
}

std::vector<NamedTensor> named_tensors(Context& context, const std::string& path, const Value& v) {
  if (!v.is(Tag::record) || is_complex(v)) fail_without_names(path, v);
  const Record& record = v.as<Record>();
  constexpr int64_t kEntryWork = 128;
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < record.values.size(); ++i) {
    count_work(kEntryWork);
    const std::string& key = *record.keys->names[i];
    if (record.values[i].is(Tag::record) && !is_complex(record.values[i])) {
      fail_with(ErrorName::wrong_argument_type,
                fmt::format("'{}' holds a flat record of tensors, but '{}' is a record", path, key),
                {"a .safetensors file holds nested records; `flatten_tree` makes a flat one"});
    }
    tensors.push_back({key, packed_numbers(context, path, record.values[i])});
  }
  return tensors;
}

SavedTree taken_apart(Context& context, const std::string& path, const Value& v) {
  if ((!v.is(Tag::record) || is_complex(v)) && !is_items(v)) fail_without_names(path, v);
  return take_apart(context, path, v);
}

void save_tree(Context& context, const std::string& path, const Value& v) {
  const SavedTree tree = taken_apart(context, path, v);
  save_safetensors(path, named_tensors(context, path, tree.tensors), tree.form);
}

/// What a thread writes.
struct Saving {
  std::vector<NamedTensor> tensors;
  std::unique_ptr<Background> work;
};

const ForeignType& saving_type() {
  static const ForeignType& type = *new ForeignType{"saving"};
  return type;
}

/// Returns tensors over the same elements, which stay as they are, but with counts that no other thread changes.
std::vector<NamedTensor> own_tensors(std::vector<NamedTensor> tensors) {
  for (NamedTensor& each : tensors)  // bounded: by the entries of a record
    each.tensor = {each.tensor.with_layout(each.tensor.layout()), each.tensor.is_complex};
  return tensors;
}

Value run_begin_save(Context& context, std::span<Value> args) {
  const std::string& path = expect_path(context, args[0]);
  if (kind_of(path, "") != FileKind::safetensors)
    fail_argument(ErrorName::unknown_file_format, "path",
                  fmt::format("'{}': begin_save writes .safetensors files alone", path));
  const SavedTree tree = taken_apart(context, path, args[1]);
  auto saving = std::make_unique<Saving>();
  saving->tensors = own_tensors(named_tensors(context, path, tree.tensors));
  saving->work = std::make_unique<Background>(
      [path, form = tree.form, &tensors = saving->tensors] { save_safetensors(path, tensors, form); });
  return make_held(saving_type(), std::move(saving));
}

Value run_end_save(Context&, std::span<Value> args) {
  expect_held<Saving>(saving_type(), args[0], "begin_save").work->wait();
  return Value();
}

void save_png(Context& context, const std::string& path, const Value& v) {
  constexpr int kPixelsOfOne = 2;  // of a picture, for screens that have more pixels than a length says
  const Tensor image = is_picture(v) ? draw_pixels(drawing_of(context, v), kPixelsOfOne, context.runtime().allocator())
                                     : packed(context, path, v);
  require_png_image(path, image);
  write_text_file(path, png_bytes(path, image));
}

void save_jpeg(Context& context, const std::string& path, const Value& v) {
  if (is_picture(v)) {
    fail_argument(ErrorName::unsaveable_value, "path",
                  fmt::format("'{}' holds an image, not a picture of shapes", path),
                  {"`.png` and `.svg` files hold plots without the blots of JPEG"});
  }
  const Tensor image = packed(context, path, v);
  require_jpeg_image(path, image);
  write_text_file(path, jpeg_bytes(path, image));
}

void save_svg(Context& context, const std::string& path, const Value& v) {
  if (!is_picture(v)) {
    fail_argument(ErrorName::wrong_argument_type, "value",
                  fmt::format("'{}' holds a picture, such as a plot, not {}", path, type_name(v)),
                  {"`.png` files hold tensors of pixels; `plot.image(x)` makes a picture of one"});
  }
  write_text_file(path, svg_text(drawing_of(context, v)));
}

Value run_save(Context& context, std::span<Value> args) {
  const std::string& path = expect_path(context, args[0]);
  const FileKind kind = kind_of(path, "`write_text(path, text)` writes text to any other file");
  const CsvOptions options = table_options(context, kind, path, args.subspan(2));
  switch (kind) {
    case FileKind::npy: save_npy(path, packed_numbers(context, path, args[1])); break;
    case FileKind::npz: save_npz(path, named_tensors(context, path, args[1])); break;
    case FileKind::safetensors: save_tree(context, path, args[1]); break;
    case FileKind::json: save_json(context, path, args[1]); break;
    case FileKind::csv: save_csv(context, path, args[1], options); break;
    case FileKind::png: save_png(context, path, args[1]); break;
    case FileKind::jpeg: save_jpeg(context, path, args[1]); break;
    case FileKind::svg: save_svg(context, path, args[1]); break;
  }
  return Value();
}

constexpr std::string_view kStandardInput = "-";

/// Reads a file, or standard input where the path is "-", as text.
std::string text_at(Context& context, const std::string& path) {
  const bool is_input = path == kStandardInput;
  if (is_input) require_permission(context.permissions().input, "standard input");
  else require_permission(context.permissions().files, "files");
  std::string text = is_input ? StandardInput::of_process().read_all() : read_text_file(path);
  constexpr size_t kBegin = 16;
  const size_t at = find_binary(text);
  if (at == std::string::npos) return text;
  const std::optional<OtherFile> other = other_file(path, std::string_view(text).substr(0, kBegin));
  const std::string what =
      other ? other->what : fmt::format("no text: byte {} is 0x{:02x}", at + 1, static_cast<unsigned char>(text[at]));
  fail_argument(ErrorName::not_a_text_file, "path", fmt::format("cannot read {} as text: it is {}", path, what),
                hints_of(other ? other->hint : "in Python, `np.fromfile` and `np.save` make an array of it"));
}

Value run_read_text(Context& context, std::span<Value> args) {
  return make_string(text_at(context, expect_path(context, args[0])));
}

Value run_read_lines(Context& context, std::span<Value> args) {
  const std::string text = text_at(context, expect_path(context, args[0]));
  Collector lines;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.add(make_string(std::string(line)));
  }
  return make_list(lines.take());
}

Value run_append_text(Context& context, std::span<Value> args) {
  append_text_file(expect_path(context, args[0]), expect_string(context, args[1], "the text"));
  return Value();
}

Value run_mkdir(Context& context, std::span<Value> args) {
  make_folder(expect_path(context, args[0]));
  return Value();
}

Value run_exists(Context& context, std::span<Value> args) { return path_exists(expect_path(context, args[0])); }

Value run_list_files(Context& context, std::span<Value> args) {
  return list_files(expect_path(context, args[0], "folder"), expect_string(context, args[1], "a pattern"));
}

Value run_write_text(Context& context, std::span<Value> args) {
  write_text_file(expect_path(context, args[0]), expect_string(context, args[1], "the text"));
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
  FileReader reader(expect_path(context, args[0]));
  const uint64_t count = reader.left();
  const Tensor bytes = new_bytes(context, count);
  reader.read(bytes.data(), count);
  return context.runtime().to_device(bytes);
}

Value run_write_bytes(Context& context, std::span<Value> args) {
  const std::string& path = expect_path(context, args[0]);
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
template <Value (*kRun)(Context&, std::span<Value>)> Value reading_builtin(Context& context, Args args) {
  try {
    return context.runtime().effect(kRun, {args.values.begin(), args.values.end()});
  } catch (Failure& failure) {
    Error& error = failure.error();
    if (error.kind() == ErrorKind::io && error.parameter.empty()) error.parameter = "path";
    throw;
  }
}

template <Value (*kRun)(Context&, std::span<Value>)> Value effect_builtin(Context& context, Args args) {
  require_permission(context.permissions().files, "files");
  return reading_builtin<kRun>(context, args);
}

constexpr Builtin kFileRows[] = {
    {"load",
     "load(path: str, device: str | nil = nil, header: bool | nil = nil, separator: str | nil = nil, "
     "decimal: str | nil = nil, comment: str | nil = nil, skiprows: int | nil in 0.. = nil)",
     "what a .npy (tensor), .npz (record of tensors), .safetensors (record of tensors, or what was saved), .json, "
     ".csv or .tsv file (record of columns), or a .png or .jpg image (u8 or u16, rows × columns × channels) holds. "
     "header: false for a table whose first row has no names. "
     "decimal: \",\" reads 1,5; comment: \"#\" leaves out the rest of a line; skiprows: as many lines before the table",
     effect_builtin<run_load>, "host"},
    with_effect({"save", "save(path: str, value: any, header: bool | nil = nil, separator: str | nil = nil)",
                 "writes a tensor (.npy), a record of tensors (.npz), a tree of tensors, numbers and texts "
                 "(.safetensors), data (.json), a table (.csv, .tsv): columns, rows or a matrix, an image (.png, .jpg) "
                 "or a plot (.svg, .png)",
                 effect_builtin<run_save>, "host", false, true}),
    with_effect(
        {"begin_save", "begin_save(path: str, value: any)",
         "begins to write a .safetensors file in a thread, of the value as it is now, and returns what end_save "
         "takes; what is dropped before is given up, and an older file stays",
         effect_builtin<run_begin_save>, "host"}),
    with_effect({"end_save", "end_save(saving: any)",
                 "waits until the file of begin_save is written, and fails as save does", effect_builtin<run_end_save>,
                 "host"}),
    {"read_text", "read_text(path: str)", "a file's text; of \"-\", what is left of standard input",
     reading_builtin<run_read_text>, "host"},
    {"read_lines", "read_lines(path: str)",
     "the lines of a file without their ends, as a list; of \"-\", those left of standard input",
     reading_builtin<run_read_lines>, "host"},
    with_effect({"write_text", "write_text(path: str, text: str)", "writes text to a file",
                 effect_builtin<run_write_text>, "host"}),
    {"read_bytes", "read_bytes(path: str, device: str | nil = nil)", "a file's bytes, a tensor of u8",
     effect_builtin<run_read_bytes>, "host"},
    with_effect({"write_bytes", "write_bytes(path: str, bytes: u8[n])", "writes a tensor of bytes to a file",
                 effect_builtin<run_write_bytes>, "host"}),
    {"encode", "encode(text: str, device: str | nil = nil)", "the bytes of text in UTF-8, a tensor of u8",
     encode_builtin, "host"},
    {"decode", "decode(bytes: u8[n])", "the text whose bytes in UTF-8 these are", decode_builtin, "host"},
    with_effect({"append_text", "append_text(path: str, text: str)",
                 "writes text behind what a file holds; makes the file if there is none",
                 effect_builtin<run_append_text>, "host"}),
    with_effect({"mkdir", "mkdir(path: str)",
                 "makes a folder, with those around it that are missing, unless it is there", effect_builtin<run_mkdir>,
                 "host"}),
    {"exists", "exists(path: str)", "whether there is a file or a folder", effect_builtin<run_exists>, "host"},
    {"list_files", "list_files(folder: str = \".\", pattern: str = \"*\")",
     "the paths of a folder's files whose names match, in order: `*` stands for any characters, `?` for one",
     effect_builtin<run_list_files>, "host"},
};

}  // namespace

std::span<const Builtin> file_builtins() { return kFileRows; }

}  // namespace tsl
