// Defines builtins that read parts of files: load_rows, load_shapes, line_starts.
#include <cstring>

#include "base/error_names.h"
#include "builtins/builtins.h"
#include "builtins/expect_path.h"
#include "io/rows.h"
#include "value/context.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

/// Returns the tensor of a file that is named, or the only one.
StoredTensor stored_tensor(Context& context, const std::string& path, const Value& name) {
  const std::vector<StoredTensor> all = stored_tensors(path);
  const std::string wanted = name.is_nil() ? "" : expect_string(context, name, "a name");
  for (const StoredTensor& each : all) {  // bounded: by the limit of entries of a file
    if (each.name == wanted || (name.is_nil() && all.size() == 1)) return each;
  }
  fail_argument(ErrorName::missing_key, "name",
                name.is_nil() ? fmt::format("load_rows: '{}' has {} tensors: which one?", path, all.size())
                              : fmt::format("load_rows: '{}' has no '{}'", path, wanted));
}

/// Returns places as x[places] takes them: from 0 on, or from the end by negative numbers.
std::vector<int64_t> checked_places(const Tensor& host, int64_t rows) {
  const auto* const numbers = reinterpret_cast<const int64_t*>(host.data());
  std::vector<int64_t> places(numbers, numbers + element_count(host.shape()).hint());
  for (int64_t& place : places) {  // bounded: by the elements of a tensor
    if (place < -rows || place >= rows)
      fail_argument(ErrorName::index_out_of_range, "places",
                    fmt::format("load_rows: row {} is out of range for {} rows", place, rows));
    if (place < 0) place += rows;
  }
  return places;
}

/// Returns places as contiguous i64 in host memory.
Tensor places_of(Context& context, const Value& value) {
  const Tensor given = to_tensor(context, value, "load_rows");
  const bool is_empty = element_count(given.shape()).hint() == 0;  // a list of nothing has no integers
  if (!is_integer(given.dtype()) && !is_empty)
    fail_argument(ErrorName::wrong_argument_type, "places",
                  fmt::format("load_rows: places are integers, not {}", describe(given)));
  const Tensor wide = to_tensor_of(context, DType::i64, Value(given), "load_rows");
  return read_to_host(context, wide.layout().is_contiguous() ? wide : context.ops().call(Op::copy, {wide}));
}

Value run_load_rows(Context& context, std::span<Value> args) {
  const std::string& path = expect_path(context, args[0]);
  const StoredTensor stored = stored_tensor(context, path, args[2]);
  if (stored.shape.empty())
    fail_argument(ErrorName::shape_mismatch, "path", fmt::format("load_rows: the tensor of '{}' has no rows", path));
  const Device device =
      args[3].is_nil() ? context.runtime().default_device() : expect_device(context, args[3], "the device");
  const Placement placement(context.ops(), device);
  const Tensor host = places_of(context, args[1]);
  const std::vector<int64_t> places = checked_places(host, stored.shape[0]);
  const FileTensor rows = read_rows(path, stored, places, context.runtime().allocator());
  Shape shape = host.shape();
  for (size_t i = 1; i < stored.shape.size(); ++i) shape.push_back(Dim(stored.shape[i]));  // bounded: by the axes
  if (rows.is_complex) return placed_complex(context, rows, Layout::contiguous(shape));
  return context.runtime().to_device(rows.with_layout(Layout::contiguous(shape)));
}

Value shape_value(const StoredTensor& stored) {
  std::vector<Value> extents;
  for (const int64_t extent : stored.shape) extents.emplace_back(extent);  // bounded: by the axes
  return make_tuple(std::move(extents));
}

Value run_load_shapes(Context& context, std::span<Value> args) {
  const std::vector<StoredTensor> all = stored_tensors(expect_path(context, args[0]));
  if (all.size() == 1 && all[0].name.empty()) return shape_value(all[0]);
  Value record = make_record({});
  for (const StoredTensor& each : all)  // bounded: by the limit of entries of a file
    record.as<Record>().set(HeldName(context.names(), each.name), shape_value(each));
  return record;
}

Value run_line_starts(Context& context, std::span<Value> args) {
  const std::vector<int64_t> starts = line_starts(expect_path(context, args[0]));
  const Tensor out = new_host_tensor(context, DType::i64, Shape{static_cast<int64_t>(starts.size())});
  std::memcpy(out.data(), starts.data(), starts.size() * sizeof(int64_t));
  return context.runtime().to_device(out);
}

template <Value (*kRun)(Context&, std::span<Value>)> Value part_builtin(Context& context, Args args) {
  require_permission(context.permissions().files, "files");
  return context.runtime().effect(kRun, {args.values.begin(), args.values.end()});
}

constexpr Builtin kRowsRows[] = {
    {"load_rows", "load_rows(path: str, places: array, name: str | nil = nil, device: str | nil = nil)",
     "x[places] of the tensor x in a .npy file, or of the named one in a .safetensors file; only these rows are read. "
     "Any "
     "other file is a vector of its bytes, u8",
     part_builtin<run_load_rows>, "host"},
    {"load_shapes", "load_shapes(path: str)",
     "the shape of the tensor in a .npy file, or a record of the shapes in a .safetensors file, without reading the "
     "elements; of any other file the number of its bytes, in a tuple",
     part_builtin<run_load_shapes>, "host"},
    {"line_starts", "line_starts(path: str)",
     "the places of the bytes at which the lines of a text file begin, and the end of the last one: i64[lines + 1]",
     part_builtin<run_line_starts>, "host"},
};

}  // namespace

std::span<const Builtin> rows_builtins() { return kRowsRows; }

}  // namespace tsl
