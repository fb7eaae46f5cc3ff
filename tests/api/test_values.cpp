// Tests values and tensors of the C API.
#include <functional>

#include "api.h"

using namespace tsl::api_test;

TEST_CASE("values are made and read", "[api]") {
  Fixture t;
  tsl_value items[3] = {{0}, {0}, {0}};
  REQUIRE(tsl_new_int(t.engine, -5, &items[0]) == TSL_OK);
  REQUIRE(tsl_new_bool(t.engine, true, &items[1]) == TSL_OK);
  REQUIRE(tsl_new_string(t.engine, str("größe"), &items[2]) == TSL_OK);
  tsl_value list = {0}, tuple = {0}, record = {0};
  REQUIRE(tsl_new_list(t.engine, items, 3, &list) == TSL_OK);
  REQUIRE(tsl_new_tuple(t.engine, items, 2, &tuple) == TSL_OK);
  const tsl_string keys[] = {str("a"), str("b")};
  REQUIRE(tsl_new_record(t.engine, keys, items, 2, &record) == TSL_OK);
  CHECK(t.text(list) == "[-5, true, \"größe\"]");
  CHECK(t.text(tuple) == "(-5, true)");
  CHECK(t.text(record) == "{a: -5, b: true}");

  size_t length = 0;
  REQUIRE(tsl_get_length(t.engine, list, &length) == TSL_OK);
  CHECK(length == 3);
  tsl_value item = {0};
  REQUIRE(tsl_get_item(t.engine, list, 2, &item) == TSL_OK);
  tsl_string text = {};
  REQUIRE(tsl_get_string(t.engine, item, &text) == TSL_OK);
  CHECK(text_of(text) == "größe");
  CHECK(tsl_get_item(t.engine, list, 3, &item) == TSL_INDEX);
  REQUIRE(tsl_get_key(t.engine, record, 1, &text) == TSL_OK);
  CHECK(text_of(text) == "b");
  REQUIRE(tsl_get_field(t.engine, record, str("a"), &item) == TSL_OK);
  int64_t number = 0;
  REQUIRE(tsl_get_int(t.engine, item, &number) == TSL_OK);
  CHECK(number == -5);
  CHECK(tsl_get_field(t.engine, record, str("c"), &item) == TSL_NAME);
  CHECK(tsl_get_field(t.engine, list, str("a"), &item) == TSL_MISUSE);
  bool flag = false;
  CHECK(tsl_get_bool(t.engine, items[0], &flag) == TSL_MISUSE);
  const tsl_string equal[] = {str("a"), str("a")};
  CHECK(tsl_new_record(t.engine, equal, items, 2, &record) == TSL_VALUE);
  CHECK(tsl_new_string(t.engine, str("\xff"), &item) == TSL_VALUE);
}

TEST_CASE("maps are made and read by their keys", "[api]") {
  Fixture t;
  const tsl_value keys[] = {t.eval("\"a\""), t.eval("(1, 2)"), t.eval("3")};
  const tsl_value values[] = {t.eval("1"), t.eval("[2]"), t.eval("nil")};
  tsl_value map = {0}, item = {0};
  REQUIRE(tsl_new_map(t.engine, keys, values, 3, &map) == TSL_OK);
  CHECK(t.text(map) == "[\"a\": 1, (1, 2): [2], 3: nil]");
  size_t length = 0;
  REQUIRE(tsl_get_length(t.engine, map, &length) == TSL_OK);
  CHECK(length == 3);
  REQUIRE(tsl_get_map_key(t.engine, map, 1, &item) == TSL_OK);
  CHECK(t.text(item) == "(1, 2)");
  REQUIRE(tsl_get_item(t.engine, map, 1, &item) == TSL_OK);
  CHECK(t.text(item) == "[2]");
  REQUIRE(tsl_get_map_value(t.engine, map, t.eval("3.0"), &item) == TSL_OK);
  CHECK(t.text(item) == "nil");
  CHECK(tsl_get_map_key(t.engine, map, 3, &item) == TSL_INDEX);
  CHECK(tsl_get_map_value(t.engine, map, t.eval("4"), &item) == TSL_INDEX);
  CHECK(tsl_get_map_value(t.engine, map, t.eval("[4]"), &item) == TSL_TYPE);
  CHECK(tsl_get_map_key(t.engine, keys[0], 0, &item) == TSL_MISUSE);
  const tsl_value equal[] = {t.eval("1"), t.eval("1.0")};
  CHECK(tsl_new_map(t.engine, equal, values, 2, &item) == TSL_VALUE);
  CHECK(tsl_new_map(t.engine, values, values, 2, &item) == TSL_TYPE);
}

TEST_CASE("the entries of a map of which keys were removed have no gaps", "[api]") {
  Fixture t;
  const tsl_value map = t.eval("remove([1: 10, 2: 20, 3: 30], 2)");
  tsl_value item = {0};
  REQUIRE(tsl_get_map_key(t.engine, map, 1, &item) == TSL_OK);
  CHECK(t.text(item) == "3");
  REQUIRE(tsl_get_item(t.engine, map, 1, &item) == TSL_OK);
  CHECK(t.text(item) == "30");
  CHECK(tsl_get_item(t.engine, map, 2, &item) == TSL_INDEX);
}

TEST_CASE("each kind has a name", "[api]") {
  Fixture t;
  const std::pair<const char*, tsl_kind> cases[] = {
      {"nil", TSL_KIND_NIL},      {"true", TSL_KIND_BOOL},          {"1", TSL_KIND_INT},
      {"1.5", TSL_KIND_FLOAT},    {"\"a\"", TSL_KIND_STRING},       {"[1]", TSL_KIND_LIST},
      {"(1, 2)", TSL_KIND_TUPLE}, {"{a: 1}", TSL_KIND_RECORD},      {"[1: 2]", TSL_KIND_MAP},
      {"0..3", TSL_KIND_RANGE},   {"fn(x) = x", TSL_KIND_FUNCTION}, {"sum", TSL_KIND_FUNCTION},
      {"f32", TSL_KIND_DTYPE},    {"ones([2])", TSL_KIND_TENSOR}};
  for (const auto& [source, expected] : cases) {
    INFO(source);
    tsl_kind kind = TSL_KIND_NIL;
    REQUIRE(tsl_get_kind(t.engine, t.eval(source), &kind) == TSL_OK);
    CHECK(kind == expected);
  }
}

TEST_CASE("wrapped memory is used without a copy, and released once", "[api]") {
  int released = 0;
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  {
    Fixture t;
    tsl_tensor_type type = {};
    type.dtype = TSL_DTYPE_F32;
    type.rank = 2;
    type.shape[0] = 2;
    type.shape[1] = 2;
    type.strides[0] = 3;
    type.strides[1] = 1;
    type.is_strided = true;
    tsl_value x = {0};
    const auto release = [](void* user) { ++*static_cast<int*>(user); };
    REQUIRE(tsl_tensor_wrap(t.engine, &type, numbers, TSL_READ_ONLY, release, &released, &x) == TSL_OK);
    const void* data = nullptr;
    REQUIRE(tsl_tensor_map(t.engine, x, &data) == TSL_OK);
    CHECK(data == numbers);
    REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
    CHECK(t.text(t.eval("x.tolist()")) == "[[1.0, 2.0], [4.0, 5.0]]");
    CHECK(tsl_release(t.engine, x) == TSL_OK);
    CHECK(t.text(t.eval("x[0, 0] = 9.0\nx[0, 0].item()")) == "9.0");
    CHECK(numbers[0] == 1);  // read only
    CHECK(released == 1);    // the variable has a copy now
  }
  CHECK(released == 1);
}

TEST_CASE("memory is released once when wrapping it fails", "[api]") {
  Fixture t;
  int released = 0;
  const auto release = [](void* user) { ++*static_cast<int*>(user); };
  alignas(8) char bytes[32] = {};
  tsl_tensor_type type = {};
  type.dtype = TSL_DTYPE_F32;
  type.rank = 1;
  type.shape[0] = 4;
  tsl_value x = {0};
  CHECK(tsl_tensor_wrap(t.engine, &type, bytes + 1, TSL_READ_ONLY, release, &released, &x) == TSL_MISUSE);
  CHECK(released == 1);
  CHECK(tsl_tensor_wrap({0}, &type, bytes, TSL_READ_ONLY, release, &released, &x) == TSL_MISUSE);
  CHECK(released == 2);
  type.shape[0] = -1;
  CHECK(tsl_tensor_wrap(t.engine, &type, bytes, TSL_READ_ONLY, release, &released, &x) == TSL_MISUSE);
  type.shape[0] = INT64_MAX;
  CHECK(tsl_tensor_wrap(t.engine, &type, bytes, TSL_READ_ONLY, release, &released, &x) == TSL_MISUSE);
  type.rank = 9;
  CHECK(tsl_tensor_wrap(t.engine, &type, bytes, TSL_READ_ONLY, release, &released, &x) == TSL_MISUSE);
  type.rank = 0;
  type.dtype = static_cast<tsl_dtype>(99);
  CHECK(tsl_tensor_wrap(t.engine, &type, bytes, TSL_READ_ONLY, release, &released, &x) == TSL_MISUSE);
  CHECK(released == 6);
}

TEST_CASE("strides of 0 repeat elements, and only a type without strides is dense", "[api]") {
  Fixture t;
  float numbers[4] = {1, 2, 3, 4};
  tsl_tensor_type type = {};
  type.dtype = TSL_DTYPE_F32;
  type.rank = 2;
  type.shape[0] = type.shape[1] = 2;
  type.is_strided = true;
  tsl_value x = {0}, copy = {0};
  REQUIRE(tsl_tensor_wrap(t.engine, &type, numbers, TSL_READ_ONLY, nullptr, nullptr, &x) == TSL_OK);
  REQUIRE(tsl_tensor_copy(t.engine, &type, numbers, &copy) == TSL_OK);
  REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
  REQUIRE(tsl_set(t.engine, str("copy"), copy) == TSL_OK);
  CHECK(t.text(t.eval("[x.tolist(), copy.tolist(), (x + 1.0).tolist()]")) ==
        "[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]]]");
  tsl_tensor_type found = {};
  REQUIRE(tsl_tensor_get_type(t.engine, x, &found) == TSL_OK);
  CHECK(found.is_strided);
  REQUIRE(tsl_tensor_get_type(t.engine, copy, &found) == TSL_OK);
  CHECK_FALSE(found.is_strided);
  type.is_strided = false;
  REQUIRE(tsl_tensor_copy(t.engine, &type, numbers, &x) == TSL_OK);
  REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
  CHECK(t.text(t.eval("x.tolist()")) == "[[1.0, 2.0], [3.0, 4.0]]");
}

TEST_CASE("elements that share memory are not written in place", "[api]") {
  Fixture t;
  for (const int64_t stride : {0, 1}) {  // rows that are the same, or that overlap
    float numbers[3] = {1, 2, 3};
    tsl_tensor_type type = {};
    type.dtype = TSL_DTYPE_F32;
    type.rank = 2;
    type.shape[0] = type.shape[1] = 2;
    type.strides[0] = stride;
    type.strides[1] = 1;
    type.is_strided = true;
    tsl_value x = {0};
    REQUIRE(tsl_tensor_wrap(t.engine, &type, numbers, TSL_WRITABLE, nullptr, nullptr, &x) == TSL_OK);
    REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
    tsl_release(t.engine, x);
    CHECK(t.text(t.eval("x[0, 1] = 9.0\nx.tolist()")) ==
          (stride == 0 ? "[[1.0, 9.0], [1.0, 2.0]]" : "[[1.0, 9.0], [2.0, 3.0]]"));
    CHECK(numbers[1] == 2);
  }
}

TEST_CASE("shapes and strides that leave the memory are refused where its size is known", "[api]") {
  Fixture t;
  float numbers[6] = {};
  const auto status = [&](int64_t rows, int64_t columns, int64_t stride, uint64_t bytes) {
    tsl_tensor_type type = {};
    type.dtype = TSL_DTYPE_F32;
    type.rank = 2;
    type.shape[0] = rows;
    type.shape[1] = columns;
    type.strides[0] = stride;
    type.strides[1] = 1;
    type.is_strided = stride >= 0;
    type.bytes = bytes;
    tsl_value x = {0};
    const tsl_status wrapped = tsl_tensor_wrap(t.engine, &type, numbers, TSL_READ_ONLY, nullptr, nullptr, &x);
    CHECK(tsl_tensor_copy(t.engine, &type, numbers, &x) == wrapped);
    return wrapped;
  };
  CHECK(status(2, 3, -1, sizeof numbers) == TSL_OK);
  CHECK(status(3, 3, -1, sizeof numbers) == TSL_MISUSE);
  CHECK(t.message() == "the elements of 'type' reach 36 bytes, and 'type->bytes' is 24");
  CHECK(status(2, 3, 3, sizeof numbers) == TSL_OK);
  CHECK(status(2, 3, 4, sizeof numbers) == TSL_MISUSE);
  CHECK(status(4, 3, 1, sizeof numbers) == TSL_OK);
  CHECK(status(1000000, 6, 0, sizeof numbers) == TSL_OK);
  CHECK(status(1000000, 7, 0, sizeof numbers) == TSL_MISUSE);
  CHECK(status(0, 100, 9, 1) == TSL_OK);  // no elements
  CHECK(status(INT64_MAX, 2, 0, sizeof numbers) == TSL_MISUSE);
}

TEST_CASE("a writable wrap is written in place when only one value refers to it", "[api]") {
  Fixture t;
  std::vector<float> numbers = {1, 2, 3};
  const tsl_value x = t.wrap(numbers, TSL_WRITABLE);
  REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
  t.eval("x[0] = 9.0");
  CHECK(numbers[0] == 1);  // the handle refers to it, too
  tsl_release(t.engine, x);
  t.eval("x = nil");

  const tsl_value y = t.wrap(numbers, TSL_WRITABLE);
  REQUIRE(tsl_set(t.engine, str("x"), y) == TSL_OK);
  tsl_release(t.engine, y);
  t.eval("x[0] = 9.0");
  CHECK(numbers[0] == 9);
}

TEST_CASE("compiled functions leave wrapped memory alone unless it is writable", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
  t.eval("@compile\nfn step(p) = p * 2.0 + 1.0");
  for (int i = 0; i < 4; ++i) {
    std::vector<float> numbers = {1, 2, 3};
    const tsl_value x = t.wrap(numbers);
    tsl_value y = {0};
    REQUIRE(tsl_call(t.engine, t.get("step"), &x, 1, &y) == TSL_OK);
    CHECK(numbers == std::vector<float>{1, 2, 3});
    float out[3] = {};
    REQUIRE(tsl_tensor_read(t.engine, y, out, sizeof out) == TSL_OK);
    CHECK(out[2] == 7);
    tsl_release(t.engine, x);
    tsl_release(t.engine, y);
  }
}

TEST_CASE("tensors are copied in and out with any strides", "[api]") {
  Fixture t;
  const double numbers[] = {1, 2, 3, 4, 5, 6};
  tsl_tensor_type type = {};
  type.dtype = TSL_DTYPE_F64;
  type.rank = 2;
  type.shape[0] = 2;
  type.shape[1] = 3;
  type.strides[0] = 1;  // column order
  type.strides[1] = 2;
  type.is_strided = true;
  tsl_value x = {0};
  REQUIRE(tsl_tensor_copy(t.engine, &type, numbers, &x) == TSL_OK);
  double out[6] = {};
  REQUIRE(tsl_tensor_read(t.engine, x, out, sizeof out) == TSL_OK);
  CHECK(std::vector<double>(out, out + 6) == std::vector<double>{1, 3, 5, 2, 4, 6});
  CHECK(tsl_tensor_read(t.engine, x, out, sizeof out - 1) == TSL_MISUSE);
  tsl_tensor_type found = {};
  REQUIRE(tsl_tensor_get_type(t.engine, t.eval("ones([4, 5], dtype: i16).transpose(0, 1)"), &found) == TSL_OK);
  CHECK(found.dtype == TSL_DTYPE_I16);
  CHECK(found.rank == 2);
  CHECK(found.shape[0] == 5);
  CHECK(found.strides[0] == 1);
  CHECK(tsl_tensor_get_type(t.engine, t.number(1), &found) == TSL_MISUSE);
  type.shape[0] = 0;
  REQUIRE(tsl_tensor_copy(t.engine, &type, nullptr, &x) == TSL_OK);
  CHECK(tsl_tensor_read(t.engine, x, nullptr, 0) == TSL_OK);
}
