// Mistakes of a host program that were accepted, or counted as defects of TSL.
#include <cstdint>
#include <vector>

#include "api.h"
#include "api/dlpack.h"

using namespace tsl::api;
using namespace tsl::api_test;

namespace {

constexpr int kBytes = 4;

tsl_tensor_type bools(int64_t count) {
  tsl_tensor_type type = {};
  type.dtype = TSL_DTYPE_BOOL;
  type.rank = 1;
  type.shape[0] = count;
  return type;
}

}  // namespace

TEST_CASE("a copy of a mask of 0 and 255 has bools", "[api]") {
  Fixture t;
  const std::vector<uint8_t> mask = {0, 255, 2, 1, 0, 128, 0, 255};
  tsl_tensor_type type = bools(static_cast<int64_t>(mask.size()));
  tsl_value x = {0};
  REQUIRE(tsl_tensor_copy(t.engine, &type, mask.data(), &x) == TSL_OK);
  REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
  CHECK(t.text(t.eval("[sum(i32(x)).item(), ones([8])[x].shape, i32(x).tolist()]")) ==
        "[5, (5,), [0, 1, 1, 1, 0, 1, 0, 1]]");
  type = bools(kBytes);
  type.strides[0] = 2;
  type.is_strided = true;
  REQUIRE(tsl_tensor_copy(t.engine, &type, mask.data(), &x) == TSL_OK);
  REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
  CHECK(t.text(t.eval("i32(x).tolist()")) == "[0, 1, 0, 0]");
}

TEST_CASE("memory whose bools are neither 0 nor 1 is not wrapped", "[api]") {
  Fixture t;
  std::vector<uint8_t> mask = {0, 255, 1, 1};
  tsl_tensor_type type = bools(kBytes);
  tsl_value x = {0};
  CHECK(tsl_tensor_wrap(t.engine, &type, mask.data(), TSL_READ_ONLY, nullptr, nullptr, &x) == TSL_MISUSE);
  CHECK(t.message() == "the memory has bools that are neither 0 nor 1; a copy of it makes 1 of all but 0");
  type = bools(2);
  type.strides[0] = 2;
  type.is_strided = true;
  CHECK(tsl_tensor_wrap(t.engine, &type, mask.data(), TSL_READ_ONLY, nullptr, nullptr, &x) == TSL_OK);  // 0 and 1

  int64_t shape[] = {kBytes};
  DLManagedTensorVersioned from = {};
  from.major = 1;
  from.dl_tensor.data = mask.data();
  from.dl_tensor.device_type = kDlCpu;
  from.dl_tensor.ndim = 1;
  from.dl_tensor.dtype = {kDlBool, 8, 1};
  from.dl_tensor.shape = shape;
  CHECK(tsl_tensor_from_dlpack(t.engine, &from, TSL_READ_ONLY, TSL_NO_STREAM, &x) == TSL_MISUSE);
  mask[1] = 1;
  CHECK(tsl_tensor_from_dlpack(t.engine, &from, TSL_READ_ONLY, TSL_NO_STREAM, &x) == TSL_OK);
}

TEST_CASE("no released handle is accepted, however often its slot is used again", "[api]") {
  Fixture t;
  const tsl_value first = t.number(1);
  REQUIRE(tsl_release(t.engine, first) == TSL_OK);
  constexpr int kUses = 70'000;  // more than a slot has generations
  int accepted = 0;
  for (int i = 0; i < kUses; ++i) {
    tsl_value value = {0};
    tsl_kind kind = TSL_KIND_NIL;
    REQUIRE(tsl_new_int(t.engine, i, &value) == TSL_OK);
    accepted += tsl_get_kind(t.engine, first, &kind) == TSL_OK;
    REQUIRE(tsl_release(t.engine, value) == TSL_OK);
  }
  CHECK(accepted == 0);
}

TEST_CASE("a variable that no program can declare is not assigned", "[api]") {
  Fixture t;
  for (const char* name : {"_", "", "a b", "1x", "é"}) {
    INFO(name);
    const tsl_status status = tsl_set(t.engine, str(name), t.number(1));
    CHECK((status == TSL_NAME || status == TSL_SYNTAX));
  }
  CHECK(t.run("1") == TSL_OK);
}

TEST_CASE("more items than there can be are a lack of memory", "[api]") {
  Fixture t;
  const tsl_value item = t.number(1);
  tsl_value result = {0};
  const tsl_string key = str("k");
  for (const int bits : {60, 62, 63}) {
    const size_t count = size_t{1} << bits;
    CHECK(tsl_new_list(t.engine, &item, count, &result) == TSL_MEMORY);
    CHECK(tsl_new_tuple(t.engine, &item, count, &result) == TSL_MEMORY);
    CHECK(tsl_new_record(t.engine, &key, &item, count, &result) == TSL_MEMORY);
    CHECK(tsl_call(t.engine, t.get("print"), &item, count, nullptr) == TSL_MISUSE);
  }
  CHECK(t.run("1") == TSL_OK);
}

TEST_CASE("a native function that does not say why it fails reports no older error", "[api]") {
  Fixture t;
  const tsl_native fails = [](tsl_engine, void*, const tsl_value*, size_t, tsl_value*) { return TSL_VALUE; };
  REQUIRE(tsl_define(t.engine, str("fails()"), str(""), fails, nullptr, nullptr) == TSL_OK);
  CHECK(t.run("error(\"an older one\", kind: \"value\")") == TSL_VALUE);
  CHECK(t.run("fails()") != TSL_OK);
  CHECK(t.message() == "the host's function fails failed with status 15: it did not say why");

  const tsl_native passes_on = [](tsl_engine engine, void*, const tsl_value*, size_t, tsl_value*) {
    return tsl_run(engine, str("inner"), str("error(\"an inner one\", kind: \"value\")"), nullptr);
  };
  REQUIRE(tsl_define(t.engine, str("passes_on()"), str(""), passes_on, nullptr, nullptr) == TSL_OK);
  CHECK(t.run("passes_on()") == TSL_VALUE);
  CHECK(t.message() == "an inner one");
}
