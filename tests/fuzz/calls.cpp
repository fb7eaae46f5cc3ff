// Makes any sequence of API calls: each byte is a call or an argument of one; handles may be released, null, or another
// engine's. Wrapped memory and values of the host are released exactly once. See tools/check --long fuzzers.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fuzz/host.h"

namespace {

using tsl::fuzz::Host;
using tsl::fuzz::require;
using tsl::fuzz::str;

constexpr std::string_view kTexts[] = {"",
                                       "x",
                                       "f",
                                       "fn f(x) = x",
                                       "@compile fn f(x) = x * 2.0 + 1.0",
                                       "var x = [1, ones([3])]",
                                       "f(x)",
                                       "x[0] = f(x)",
                                       "native(1, ones([2]))",
                                       "error(\"no\")",
                                       "try { f(1) } catch e { e.kind }",
                                       "native(a: int, b: f32[n] = nil)",
                                       "native(a: any, b: T | nil = nil)",
                                       "x == [x, f]",
                                       "@compile fn f(a) = if a == x { native(a, x) } else { [a] }",
                                       "native(a, b)",
                                       "\xff"};
constexpr int kLargestArray = 64;

/// One sequence of calls: two engines, their values, and the memory that is wrapped.
class Sequence {
 public:
  Sequence(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

  void run() {
    {
      Host first(TSL_ALLOW_COMPILE), second(0);
      hosts_[0] = &first;
      hosts_[1] = &second;
      while (data_ != end_) call();
    }
    require(wrapped_ == released_, "wrapped memory is released once");
  }

 private:
  uint8_t next() { return data_ == end_ ? 0 : *data_++; }
  tsl_string text() { return str(kTexts[next() % std::size(kTexts)]); }
  tsl_value value() {
    return values_.empty() || next() % 16 == 0 ? tsl_value{next()} : values_[next() % values_.size()];
  }
  std::vector<tsl_value> several() {
    std::vector<tsl_value> result(next() % 4);
    for (tsl_value& each : result) each = value();
    return result;
  }
  static void release(void* user) { ++static_cast<Sequence*>(user)->released_; }
  static tsl_status native(tsl_engine engine, void* user, const tsl_value* arguments, size_t count, tsl_value* result) {
    auto& sequence = *static_cast<Sequence*>(user);
    if (sequence.next() % 4 == 0) return tsl_fail(engine, static_cast<tsl_status>(sequence.next() % 24), str("no"));
    if (count > 0 && sequence.next() % 2) return tsl_retain(engine, arguments[sequence.next() % count], result);
    if (sequence.depth_ < 3) {
      ++sequence.depth_;
      sequence.call();
      --sequence.depth_;
    }
    return TSL_OK;
  }
  void make_tensor(tsl_engine engine, tsl_value* result) {
    tsl_tensor_type type = {};
    type.dtype = static_cast<tsl_dtype>(next() % 12);
    type.rank = next() % 4;
    for (int i = 0; i < type.rank; ++i) type.shape[i] = next() % 4;  // 27 elements at most
    alignas(8) static double memory[kLargestArray] = {};
    if (next() % 2) {
      status_ = tsl_tensor_copy(engine, &type, memory, result);
      return;
    }
    ++wrapped_;
    status_ = tsl_tensor_wrap(engine, &type, memory, TSL_READ_ONLY, release, this, result);
  }
  void read(tsl_engine engine) {
    const tsl_value of = value();
    tsl_string string;
    tsl_tensor_type type = {};
    double number;
    int64_t whole;
    alignas(8) double memory[kLargestArray];
    const void* data;
    void* object;
    switch (next() % 8) {
      case 0: status_ = tsl_to_text(engine, of, &string); break;
      case 1: status_ = tsl_get_float(engine, of, &number); break;
      case 2: status_ = tsl_get_int(engine, of, &whole); break;
      case 3: status_ = tsl_tensor_get_type(engine, of, &type); break;
      case 4: status_ = tsl_tensor_read(engine, of, memory, next() % sizeof memory); break;
      case 5: status_ = tsl_get_foreign(engine, of, nullptr, &object); break;
      case 6: status_ = tsl_display(engine, of, &string); break;
      default: status_ = tsl_tensor_map(engine, of, &data);
    }
  }
  /// Asks about a source that is being written.
  void write(tsl_engine engine) {
    tsl_string string;
    bool is_complete;
    switch (next() % 4) {
      case 0: status_ = tsl_check(engine, text(), text(), &string); break;
      case 1: status_ = tsl_complete(engine, text(), next() % 32, &string); break;
      case 2: status_ = tsl_format(engine, text(), text(), &string); break;
      default: status_ = tsl_is_complete(engine, text(), &is_complete);
    }
  }
  /// Defines a type of the host's, and makes a value of it.
  void make_foreign(tsl_engine engine, tsl_value* result) {
    static const char types[2] = {};
    const tsl_type type = &types[next() % 2];
    if (next() % 2) status_ = tsl_define_type(engine, type, str(next() % 2 ? "T" : "int"));
    ++wrapped_;
    status_ = tsl_new_foreign(engine, type, this, release, result);
  }
  void define(tsl_engine engine) {
    ++wrapped_;
    status_ = tsl_define(engine, text(), str(""), native, this, release);
  }

  void call();

  const uint8_t* data_;
  const uint8_t* const end_;
  Host* hosts_[2] = {};
  std::vector<tsl_value> values_;
  int wrapped_ = 0, released_ = 0, depth_ = 0;
  tsl_status status_ = TSL_OK;
};

void Sequence::call() {
  Host& host = *hosts_[next() % 8 == 0];
  const tsl_engine engine = host.engine();
  tsl_value result = {0};
  status_ = TSL_OK;
  switch (next() % 20) {
    case 0: status_ = tsl_run(engine, text(), text(), &result); break;
    case 1: status_ = tsl_get(engine, text(), &result); break;
    case 2: status_ = tsl_set(engine, text(), value()); break;
    case 3: {
      const std::vector<tsl_value> arguments = several();
      status_ = tsl_call(engine, value(), arguments.data(), arguments.size(), &result);
      break;
    }
    case 4: {
      const std::vector<tsl_value> items = several();
      status_ = (next() % 2 ? tsl_new_list : tsl_new_tuple)(engine, items.data(), items.size(), &result);
      break;
    }
    case 5: {
      const std::vector<tsl_value> items = several();
      const tsl_string keys[] = {text(), text(), text()};
      status_ = tsl_new_record(engine, keys, items.data(), items.size(), &result);
      break;
    }
    case 18: {
      const std::vector<tsl_value> keys = several(), items = several();
      status_ = tsl_new_map(engine, keys.data(), items.data(), std::min(keys.size(), items.size()), &result);
      break;
    }
    case 19:
      status_ = next() % 2 ? tsl_get_map_key(engine, value(), next(), &result)
                           : tsl_get_map_value(engine, value(), value(), &result);
      break;
    case 6: status_ = tsl_new_float(engine, next(), &result); break;
    case 7: status_ = tsl_new_int(engine, next(), &result); break;
    case 8: status_ = tsl_new_string(engine, text(), &result); break;
    case 9: status_ = tsl_release(engine, value()); break;
    case 10: status_ = tsl_retain(engine, value(), &result); break;
    case 11: status_ = tsl_get_item(engine, value(), next(), &result); break;
    case 12: status_ = tsl_get_field(engine, value(), text(), &result); break;
    case 13: make_tensor(engine, &result); break;
    case 14: read(engine); break;
    case 15: make_foreign(engine, &result); break;
    case 16: write(engine); break;
    default: define(engine);
  }
  host.check(status_);
  if (status_ == TSL_OK && result.id != 0) values_.push_back(result);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Sequence(data, size).run();
  return 0;
}
