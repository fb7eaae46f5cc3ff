// Defines builtins that read parts of files: load_rows, load_shapes, line_starts, and ahead: begin_rows, end_rows.
#include <array>
#include <cstring>
#include <memory>

#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "builtins/expect_path.h"
#include "builtins/held_state.h"
#include "io/background.h"
#include "io/rows.h"
#include "value/context.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

constexpr int64_t kRequestWork = 10'000;  // to open a file and look at its header

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

/// What load_rows() reads.
struct RowRequest {
  std::string path;
  StoredTensor stored;
  std::vector<int64_t> places;
  Shape shape;
};

RowRequest row_request(Context& context, const Value& path, const Value& places, const Value& name) {
  RowRequest request;
  request.path = expect_path(context, path);
  request.stored = stored_tensor(context, request.path, name);
  const std::vector<int64_t>& stored = request.stored.shape;
  if (stored.empty())
    fail_argument(ErrorName::shape_mismatch, "path",
                  fmt::format("load_rows: the tensor of '{}' has no rows", request.path));
  const Tensor host = places_of(context, places);
  request.places = checked_places(host, stored[0]);
  request.shape = host.shape();
  for (size_t i = 1; i < stored.size(); ++i) request.shape.push_back(Dim(stored[i]));  // bounded: by the axes
  return request;
}

Value placed_rows(Context& context, const FileTensor& rows, const Shape& shape) {
  const Layout layout = Layout::contiguous(shape);
  if (rows.is_complex) return placed_complex(context, rows, layout);
  return context.runtime().to_device(rows.with_layout(layout));
}

Value loaded_rows(Context& context, const Value& path, const Value& places, const Value& name) {
  const RowRequest request = row_request(context, path, places, name);
  const FileTensor rows = read_rows(request.path, request.stored, request.places, context.runtime().allocator());
  return placed_rows(context, rows, request.shape);
}

Device device_of_rows(Context& context, const Value& device) {
  return device.is_nil() ? context.runtime().default_device() : expect_device(context, device, "the device");
}

Value run_load_rows(Context& context, std::span<Value> args) {
  const Placement placement(context.ops(), device_of_rows(context, args[3]));
  return loaded_rows(context, args[0], args[1], args[2]);
}

// ---- Reading ahead ------------------------------------------------------------------------------------------------

/// What a thread reads.
struct Reading {
  Value given;  // is read again where that has failed, for the errors and the results of load_rows()
  std::vector<RowRequest> requests;
  std::vector<FileTensor> rows;
  std::unique_ptr<Background> work;  // null: nothing can be read ahead
};

const ForeignType& reading_type() {
  static const ForeignType& type = *new ForeignType{"reading"};
  return type;
}

/// Returns the path, the places and the name of a request.
std::array<Value, 3> parts_of_request(const Value& value) {
  if (!is_items(value) || value.as<Sequence>().items.size() < 2 || value.as<Sequence>().items.size() > 3)
    fail_argument(
        ErrorName::wrong_argument_type, "requests",
        fmt::format("begin_rows: a request is a tuple of path, places and perhaps name, not {}", type_name(value)));
  const std::vector<Value>& items = value.as<Sequence>().items;
  return {items[0], items[1], items.size() > 2 ? items[2] : Value()};
}

/// Begins to read into memory that is allocated now, where it counts.
void begin_reading(Context& context, Reading& reading) {
  std::vector<std::byte*> data;
  for (const Value& each : reading.given.as<Sequence>().items) {
    count_work(kRequestWork);
    const auto [path, places, name] = parts_of_request(each);
    const RowRequest& request = reading.requests.emplace_back(row_request(context, path, places, name));
    reading.rows.push_back(
        new_rows(request.path, request.stored, request.places.size(), context.runtime().allocator()));
    data.push_back(reading.rows.back().data());
  }
  if (data.empty()) return;
  reading.work = std::make_unique<Background>([&requests = reading.requests, data = std::move(data)] {
    for (size_t i = 0; i < data.size(); ++i) {
      count_work(kRequestWork);
      fill_rows(requests[i].path, requests[i].stored, requests[i].places, data[i]);
    }
  });
}

Value run_begin_rows(Context& context, std::span<Value> args) {
  auto reading = std::make_unique<Reading>();
  reading->given = args[0];
  for (const Value& each : args[0].as<Sequence>().items) parts_of_request(each);  // bounded: by a list
  try {
    begin_reading(context, *reading);
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    reading->rows.clear();
  }
  return make_held(reading_type(), std::move(reading));
}

/// Waits for what is read. Returns whether it is whole.
bool is_read(const Reading& reading) {
  if (!reading.work) return false;
  try {
    reading.work->wait();
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    return false;
  }
  return true;
}

Value run_end_rows(Context& context, std::span<Value> args) {
  const auto& reading = expect_held<Reading>(reading_type(), args[0], "begin_rows");
  const Placement placement(context.ops(), device_of_rows(context, args[1]));
  const bool is_whole = is_read(reading);
  Collector tensors;
  size_t number = 0;
  for (const Value& each : reading.given.as<Sequence>().items) {
    count_work(kRequestWork);
    const auto [path, places, name] = parts_of_request(each);
    tensors.add(is_whole ? placed_rows(context, reading.rows[number], reading.requests[number].shape)
                         : loaded_rows(context, path, places, name));
    ++number;
  }
  return make_list(tensors.take());
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
    {"begin_rows", "begin_rows(requests: list)",
     "begins to read rows in a thread, of requests (path, places) or (path, places, name) as load_rows takes them, and "
     "returns what end_rows takes; what is dropped before is given up",
     part_builtin<run_begin_rows>, "host"},
    {"end_rows", "end_rows(reading: any, device: str | nil = nil)",
     "a list of the tensors that begin_rows has begun to read, with the errors of load_rows",
     part_builtin<run_end_rows>, "host"},
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
