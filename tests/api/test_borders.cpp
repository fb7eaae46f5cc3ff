// Tests the borders of the C API: memory of every shape and layout, drawn at random, and handles of every wrong kind.
// Under AddressSanitizer an element outside of the host's memory ends the program.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "api/api.h"

using namespace tsl::api_test;

namespace {

constexpr size_t kSizes[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 2, 4, 8, 8, 16};  // of each dtype

struct Drawn {
  tsl_tensor_type type = {};
  bool is_valid = true;
  uint64_t count = 0;
  uint64_t needed = 0;  // bytes from the first element to the end of the last
};

/// Draws a type, valid or not: extents of 0, 1, few, beyond all memory, or negative, and strides likewise.
Drawn draw(std::mt19937_64& random) {
  const auto pick = [&](auto... choices) {
    const int64_t all[] = {choices...};
    return all[random() % std::size(all)];
  };
  Drawn out;
  tsl_tensor_type& type = out.type;
  type.dtype = static_cast<tsl_dtype>(random() % std::size(kSizes));
  type.rank = static_cast<int32_t>(random() % 20 == 0 ? pick(-1, 9, 100) : pick(0, 1, 1, 2, 2, 3, 4, 8));
  type.is_strided = random() % 3 != 0;
  if (type.rank < 0 || type.rank > TSL_MAX_RANK) {
    out.is_valid = false;
    return out;
  }
  const bool is_odd = random() % 5 == 0;
  const auto size = static_cast<unsigned __int128>(kSizes[type.dtype]);
  unsigned __int128 count = 1, reach = 0, dense = 1;
  for (int32_t i = type.rank - 1; i >= 0; --i) {
    type.shape[i] = is_odd ? pick(0, 1, 3, int64_t{1} << 31, INT64_MAX, -1) : pick(0, 1, 1, 2, 3, 5);
    type.strides[i] = is_odd ? pick(0, 1, -1, int64_t{1} << 31, INT64_MAX) : pick(0, 1, 2, 3, 7);
    const int64_t stride = type.is_strided ? type.strides[i] : 0;
    if (type.shape[i] < 0 || stride < 0) out.is_valid = false;
    if (type.shape[i] < 0) continue;
    const auto extent = static_cast<unsigned __int128>(type.shape[i]);
    count = std::min<unsigned __int128>(count * extent, INT64_MAX);
    dense = std::min<unsigned __int128>(dense * std::max<unsigned __int128>(extent, 1), INT64_MAX);
    if (extent > 1 && stride > 0) reach += (extent - 1) * static_cast<unsigned __int128>(stride);
    reach = std::min<unsigned __int128>(reach, INT64_MAX);
  }
  constexpr auto kMostBytes = static_cast<unsigned __int128>(1) << 46;  // of any tensor
  if (dense * size > kMostBytes) out.is_valid = false;
  out.count = static_cast<uint64_t>(count);
  const unsigned __int128 elements = count == 0 ? 0 : type.is_strided ? reach + 1 : count;
  out.needed = static_cast<uint64_t>(std::min<unsigned __int128>(elements * size, UINT64_MAX / 2));
  return out;
}

/// Copies the elements that a type describes, in row order.
std::vector<char> gathered(const tsl_tensor_type& type, const char* memory) {
  const size_t size = kSizes[type.dtype];
  std::vector<char> out;
  std::vector<int64_t> index(static_cast<size_t>(type.rank), 0);
  for (int32_t i = 0; i < type.rank; ++i) {
    if (type.shape[i] == 0) return out;
  }
  while (true) {
    int64_t at = 0, dense = 1;
    for (int32_t i = type.rank - 1; i >= 0; --i) {
      const int64_t stride = type.is_strided ? type.strides[i] : dense;
      at += index[static_cast<size_t>(i)] * stride;
      dense *= type.shape[i];
    }
    out.insert(out.end(), memory + static_cast<size_t>(at) * size, memory + (static_cast<size_t>(at) + 1) * size);
    int32_t axis = type.rank - 1;
    for (; axis >= 0 && ++index[static_cast<size_t>(axis)] == type.shape[axis]; --axis)
      index[static_cast<size_t>(axis)] = 0;
    if (axis < 0) return out;
  }
}

std::vector<char> read(Fixture& t, tsl_value tensor, const tsl_tensor_type& type) {
  size_t count = 1;
  for (int32_t i = 0; i < type.rank; ++i) count *= static_cast<size_t>(type.shape[i]);
  std::vector<char> out(count * kSizes[type.dtype]);
  CHECK(tsl_tensor_read(t.engine, tensor, out.data(), out.size()) == TSL_OK);
  return out;
}

/// Checks a wrapped tensor in every way that elements leave the engine.
void check_elements(Fixture& t, tsl_value tensor, const tsl_tensor_type& type, const std::vector<char>& expected) {
  CHECK(read(t, tensor, type) == expected);
  tsl_value same = {0}, function = t.get("same");
  REQUIRE(tsl_call(t.engine, function, &tensor, 1, &same) == TSL_OK);
  CHECK(read(t, same, type) == expected);
  tsl_value copied = {0};
  tsl_tensor_type dense = type;
  dense.is_strided = false;
  dense.bytes = expected.size();
  REQUIRE(tsl_tensor_copy(t.engine, &dense, expected.data(), &copied) == TSL_OK);
  CHECK(t.text(same) == t.text(copied));
  const void* mapped = nullptr;
  REQUIRE(tsl_tensor_map(t.engine, same, &mapped) == TSL_OK);
  if (!expected.empty()) CHECK(std::memcmp(mapped, expected.data(), expected.size()) == 0);
  for (const tsl_value value : {same, function, copied}) CHECK(tsl_release(t.engine, value) == TSL_OK);
}

}  // namespace

TEST_CASE("memory of any shape and layout is what a copy of it is, or an error", "[api]") {
  Fixture t;
  t.eval("fn same(x) = concat([x.reshape([-1]), x.reshape([-1])[:0]]).reshape(x.shape)");
  const char* const given = std::getenv("TSL_SEED");  // default: another one each time
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("to repeat it: TSL_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  size_t valid = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Drawn drawn = draw(random);
    tsl_tensor_type& type = drawn.type;
    const bool is_short = drawn.needed > 0 && random() % 4 == 0;
    constexpr uint64_t kMost = 1 << 16;
    const uint64_t has = std::min(is_short ? drawn.needed - 1 : drawn.needed, kMost);
    type.bytes = has == 0 ? 1 : has;  // 0 would say that it is not known
    const std::unique_ptr<char[]> memory(new char[std::max<uint64_t>(has, 1)]);
    for (uint64_t i = 0; i < std::max<uint64_t>(has, 1); ++i)
      memory[i] = static_cast<char>(type.dtype == TSL_DTYPE_BOOL ? random() % 2 : random() % 64);
    const bool is_fine = drawn.is_valid && type.bytes >= drawn.needed;
    tsl_value tensor = {0};
    const tsl_access access = random() % 2 ? TSL_READ_ONLY : TSL_WRITABLE;
    const tsl_status status = tsl_tensor_wrap(t.engine, &type, memory.get(), access, nullptr, nullptr, &tensor);
    INFO("seed " << seed << ", round " << round << ", dtype " << type.dtype << ", rank " << type.rank << ", needs "
                 << drawn.needed << ", has " << has << ": " << t.message());
    if (!is_fine) {
      CHECK(status != TSL_OK);
      tsl_value copy = {0};
      CHECK(tsl_tensor_copy(t.engine, &type, memory.get(), &copy) != TSL_OK);
      ++refused;
      continue;
    }
    REQUIRE(status == TSL_OK);
    ++valid;
    constexpr uint64_t kMostRead = 1 << 16;  // strides of 0 make billions of elements of one
    if (drawn.count <= kMostRead) check_elements(t, tensor, type, gathered(type, memory.get()));
    CHECK(tsl_release(t.engine, tensor) == TSL_OK);
  }
  CHECK(valid > 500);
  CHECK(refused > 500);
}

namespace {

/// Each call that takes a value, with a value in its place.
std::vector<std::function<tsl_status(tsl_engine, tsl_value)>> calls_with_a_value() {
  static tsl_value result;
  static tsl_string text;
  static char memory[64];
  static tsl_tensor_type dense;
  dense.dtype = TSL_DTYPE_F32;
  dense.rank = 1;
  dense.shape[0] = 2;
  return {
      [](tsl_engine e, tsl_value v) { return tsl_set(e, str("x"), v); },
      [](tsl_engine e, tsl_value v) { return tsl_call(e, v, nullptr, 0, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_call(e, v, &v, 1, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_call_named(e, v, &v, 1, nullptr, 0, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_call_numbers(e, v, nullptr, 0, nullptr); },
      [](tsl_engine e, tsl_value v) { return tsl_new_list(e, &v, 1, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_new_tuple(e, &v, 1, &result); },
      [](tsl_engine e, tsl_value v) {
        const tsl_string key = str("a");
        return tsl_new_record(e, &key, &v, 1, &result);
      },
      [](tsl_engine e, tsl_value v) { return tsl_new_map(e, &v, &v, 1, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_get_map_key(e, v, SIZE_MAX, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_get_map_value(e, v, v, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_retain(e, v, &result); },
      [](tsl_engine e, tsl_value v) {
        tsl_kind kind;
        return tsl_get_kind(e, v, &kind);
      },
      [](tsl_engine e, tsl_value v) {
        bool is = false;
        return tsl_get_bool(e, v, &is);
      },
      [](tsl_engine e, tsl_value v) {
        int64_t number = 0;
        return tsl_get_int(e, v, &number);
      },
      [](tsl_engine e, tsl_value v) {
        double number = 0;
        return tsl_get_float(e, v, &number);
      },
      [](tsl_engine e, tsl_value v) { return tsl_get_string(e, v, &text); },
      [](tsl_engine e, tsl_value v) {
        size_t length = 0;
        return tsl_get_length(e, v, &length);
      },
      [](tsl_engine e, tsl_value v) { return tsl_get_item(e, v, 0, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_get_item(e, v, SIZE_MAX, &result); },
      [](tsl_engine e, tsl_value v) { return tsl_get_key(e, v, SIZE_MAX, &text); },
      [](tsl_engine e, tsl_value v) { return tsl_get_field(e, v, str("a"), &result); },
      [](tsl_engine e, tsl_value v) { return tsl_to_text(e, v, &text); },
      [](tsl_engine e, tsl_value v) { return tsl_display(e, v, &text); },
      [](tsl_engine e, tsl_value v) { return tsl_tensor_unwrap(e, v); },
      [](tsl_engine e, tsl_value v) {
        tsl_tensor_type type;
        return tsl_tensor_get_type(e, v, &type);
      },
      [](tsl_engine e, tsl_value v) { return tsl_tensor_read(e, v, memory, 3); },
      [](tsl_engine e, tsl_value v) { return tsl_tensor_read_into(e, v, &dense, memory); },
      [](tsl_engine e, tsl_value v) {
        const void* data = nullptr;
        return tsl_tensor_map(e, v, &data);
      },
      [](tsl_engine e, tsl_value v) {
        void* data = nullptr;
        return tsl_get_foreign(e, v, memory, &data);
      },
      [](tsl_engine e, tsl_value v) { return tsl_explain(e, v.id ? v : tsl_value{1}, &text); },
  };
}

}  // namespace

TEST_CASE("handles that are none are refused by every call, and change nothing", "[api]") {
  Fixture t, other;
  const tsl_value foreign = other.eval("[1, 2]");
  tsl_value freed = t.eval("[1, 2]");
  REQUIRE(tsl_release(t.engine, freed) == TSL_OK);
  tsl_engine ended = {0};
  {
    Fixture short_lived;
    ended = short_lived.engine;
  }
  const auto calls = calls_with_a_value();
  for (size_t i = 0; i < calls.size(); ++i) {
    INFO("call " << i);
    for (const tsl_value value : {tsl_value{0}, freed, foreign, tsl_value{1}, tsl_value{UINT64_MAX}})
      CHECK(calls[i](t.engine, value) == TSL_MISUSE);
    for (const tsl_engine engine : {tsl_engine{0}, ended, tsl_engine{UINT64_MAX}}) {
      const tsl_value fine = t.eval("3");
      CHECK(calls[i](engine, fine) == TSL_MISUSE);
      CHECK(tsl_release(t.engine, fine) == TSL_OK);
    }
  }
  CHECK(t.text(t.eval("1 + 1")) == "2");
}

TEST_CASE("values of every kind are refused by the calls for others, and stay as they were", "[api]") {
  Fixture t;
  t.eval("fn f() = 1");
  for (const char* source : {"nil", "true", "7", "2.5", "\"text\"", "[1, 2]", "(1, 2)", "{a: 1}", "[1: 2]", "f", "exp",
                             "f32", "ones([2])", "ones([2, 3])[::-1]", "zeros([0])", "tensor(1.0, dtype: f16)"}) {
    INFO(source);
    const tsl_value value = t.eval(source);
    const std::string before = t.text(value);
    for (const auto& call : calls_with_a_value()) {
      const tsl_status status = call(t.engine, value);
      CHECK((status == TSL_OK || !t.message().empty()));
    }
    CHECK(t.text(value) == before);
    CHECK(tsl_release(t.engine, value) == TSL_OK);
  }
}
