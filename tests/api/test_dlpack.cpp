// Tests that tensors come from and go to other frameworks by DLPack: without copies, and each deleter called once.
#include <thread>

#include "api.h"
#include "api/dlpack.h"

using namespace tsl::api;
using namespace tsl::api_test;

namespace {

/// A tensor of another framework, which counts how often it is deleted.
template <class Managed> struct Foreign {
  explicit Foreign(std::vector<float> values) : numbers(std::move(values)) {
    managed.dl_tensor.data = numbers.data();
    managed.dl_tensor.device_type = kDlCpu;
    managed.dl_tensor.ndim = 1;
    managed.dl_tensor.dtype = {kDlFloat, 32, 1};
    managed.dl_tensor.shape = shape;
    shape[0] = static_cast<int64_t>(numbers.size());
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.major; }) managed.major = 1;
  }
  std::vector<float> numbers;
  int64_t shape[9] = {}, strides[9] = {};
  Managed managed = {};
  int deleted = 0;
};
using Versioned = Foreign<DLManagedTensorVersioned>;
using Unversioned = Foreign<DLManagedTensor>;

/// Imports a tensor that is refused; returns the status, and checks that it was deleted.
tsl_status refusal(Fixture& t, void (*spoil)(DLManagedTensorVersioned&)) {
  Versioned foreign({1, 2});
  spoil(foreign.managed);
  tsl_value x = {0};
  const tsl_status status = tsl_tensor_from_dlpack(t.engine, &foreign.managed, TSL_READ_ONLY, TSL_NO_STREAM, &x);
  CHECK(foreign.deleted == 1);
  CHECK(x.id == 0);
  return status;
}

}  // namespace

TEST_CASE("a tensor of another framework is read in place, and deleted once", "[api]") {
  Versioned foreign({1, 2, 3, 4, 5, 6});
  {
    Fixture t;
    foreign.managed.dl_tensor.ndim = 2;
    foreign.shape[0] = 2;
    foreign.shape[1] = 2;
    foreign.strides[0] = 1;
    foreign.strides[1] = 2;
    foreign.managed.dl_tensor.strides = foreign.strides;
    foreign.managed.dl_tensor.byte_offset = 4;
    tsl_value x = {0};
    REQUIRE(tsl_tensor_from_dlpack(t.engine, &foreign.managed, TSL_READ_ONLY, TSL_NO_STREAM, &x) == TSL_OK);
    const void* data = nullptr;
    REQUIRE(tsl_tensor_map(t.engine, x, &data) == TSL_OK);
    CHECK(data == &foreign.numbers[1]);
    REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
    CHECK(t.text(t.eval("x.tolist()")) == "[[2.0, 4.0], [3.0, 5.0]]");
    tsl_release(t.engine, x);
    CHECK(foreign.deleted == 0);
  }
  CHECK(foreign.deleted == 1);
}

TEST_CASE("a broadcast tensor of another framework repeats its element", "[api]") {
  Fixture t;
  Versioned foreign({7});
  foreign.shape[0] = 3;
  foreign.managed.dl_tensor.strides = foreign.strides;  // all 0
  tsl_value x = {0};
  REQUIRE(tsl_tensor_from_dlpack(t.engine, &foreign.managed, TSL_WRITABLE, TSL_NO_STREAM, &x) == TSL_OK);
  REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
  tsl_release(t.engine, x);
  CHECK(t.text(t.eval("x[0] = 9.0\nx.tolist()")) == "[9.0, 7.0, 7.0]");
  CHECK(foreign.numbers[0] == 7);
}

TEST_CASE("a tensor without a version is read likewise, and may have no deleter", "[api]") {
  Fixture t;
  Unversioned foreign({1, 2, 3});
  tsl_value x = {0};
  REQUIRE(tsl_tensor_from_dlpack_unversioned(t.engine, &foreign.managed, TSL_READ_ONLY, TSL_NO_STREAM, &x) == TSL_OK);
  tsl_release(t.engine, x);
  CHECK(foreign.deleted == 1);
  foreign.managed.deleter = nullptr;
  REQUIRE(tsl_tensor_from_dlpack_unversioned(t.engine, &foreign.managed, TSL_READ_ONLY, TSL_NO_STREAM, &x) == TSL_OK);
  CHECK(tsl_release(t.engine, x) == TSL_OK);
}

TEST_CASE("tensors that TSL cannot hold are refused and deleted", "[api]") {
  Fixture t;
  CHECK(refusal(t, [](auto& m) { m.major = 2; }) == TSL_VALUE);
  CHECK(t.message() == "TSL knows version 1 of DLPack, not 2.0");
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.dtype = {5, 32, 1}; }) == TSL_TYPE);  // complex, of two f16
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.dtype.lanes = 4; }) == TSL_TYPE);     // vectors
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.device_type = 7; }) == TSL_DEVICE);   // Vulkan
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.ndim = 9; }) == TSL_LIMIT);
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.ndim = -1; }) == TSL_LIMIT);
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.shape = nullptr; }) == TSL_MISUSE);
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.shape[0] = -1; }) == TSL_MISUSE);
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.data = nullptr; }) == TSL_MISUSE);
  CHECK(refusal(t, [](auto& m) { m.dl_tensor.byte_offset = 1; }) == TSL_MISUSE);  // not aligned
  CHECK(refusal(t, [](auto& m) {
          static int64_t backwards = -1;
          m.dl_tensor.strides = &backwards;
        }) == TSL_VALUE);

  tsl_value x = {0};
  CHECK(tsl_tensor_from_dlpack(t.engine, nullptr, TSL_READ_ONLY, TSL_NO_STREAM, &x) == TSL_MISUSE);
  Versioned foreign({1});
  CHECK(tsl_tensor_from_dlpack(t.engine, &foreign.managed, TSL_READ_ONLY, TSL_NO_STREAM, nullptr) == TSL_MISUSE);
  CHECK(tsl_tensor_from_dlpack({0}, &foreign.managed, TSL_READ_ONLY, TSL_NO_STREAM, &x) == TSL_MISUSE);
  CHECK(tsl_tensor_from_dlpack(t.engine, &foreign.managed, static_cast<tsl_access>(7), TSL_NO_STREAM, &x) ==
        TSL_MISUSE);
  CHECK(foreign.deleted == 3);
}

TEST_CASE("memory of another framework is written only if both sides allow it", "[api]") {
  for (const bool is_read_only : {false, true}) {
    Versioned foreign({1, 2, 3});
    foreign.managed.flags = is_read_only ? kDlpackReadOnly : 0;
    Fixture t;
    tsl_value x = {0};
    REQUIRE(tsl_tensor_from_dlpack(t.engine, &foreign.managed, TSL_WRITABLE, TSL_NO_STREAM, &x) == TSL_OK);
    REQUIRE(tsl_set(t.engine, str("x"), x) == TSL_OK);
    tsl_release(t.engine, x);
    t.eval("x[0] = 9.0");
    CHECK(foreign.numbers[0] == (is_read_only ? 1 : 9));
  }
}

TEST_CASE("every dtype goes out and comes back unchanged, without a copy", "[api]") {
  Fixture t;
  for (const char* dtype :
       {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "u16", "u32", "u64"}) {
    const tsl_value x = t.eval(std::string("ones([3, 2], dtype: ") + dtype + ").transpose(0, 1)");
    DLManagedTensorVersioned* out = nullptr;
    REQUIRE(tsl_tensor_to_dlpack(t.engine, x, TSL_READ_ONLY, TSL_NO_STREAM, &out) == TSL_OK);
    CHECK(out->major == 1);
    CHECK(out->flags == kDlpackReadOnly);
    const void* data = nullptr;
    REQUIRE(tsl_tensor_map(t.engine, x, &data) == TSL_OK);
    CHECK(out->dl_tensor.data == data);
    CHECK(out->dl_tensor.strides[0] == 1);
    tsl_value y = {0};
    REQUIRE(tsl_tensor_from_dlpack(t.engine, out, TSL_READ_ONLY, TSL_NO_STREAM, &y) == TSL_OK);
    CHECK(t.text(x) == t.text(y));
    tsl_release(t.engine, x);
    CHECK(t.text(y).find(dtype) != std::string::npos);
    tsl_release(t.engine, y);
  }
}

TEST_CASE("an exported copy is the other framework's to write", "[api]") {
  Fixture t;
  t.eval("let x = ones([2, 3])");
  DLManagedTensorVersioned* out = nullptr;
  REQUIRE(tsl_tensor_to_dlpack(t.engine, t.get("x"), TSL_WRITABLE, TSL_NO_STREAM, &out) == TSL_OK);
  CHECK(out->flags == kDlpackIsCopied);
  static_cast<float*>(out->dl_tensor.data)[0] = 9;
  CHECK(t.text(t.eval("x[0, 0].item()")) == "1.0");
  out->deleter(out);
  CHECK(tsl_tensor_to_dlpack(t.engine, t.number(1), TSL_READ_ONLY, TSL_NO_STREAM, &out) == TSL_MISUSE);
  CHECK(tsl_tensor_to_dlpack(t.engine, {0}, TSL_READ_ONLY, TSL_NO_STREAM, &out) == TSL_MISUSE);
  CHECK(tsl_tensor_to_dlpack(t.engine, t.get("x"), TSL_READ_ONLY, TSL_NO_STREAM, nullptr) == TSL_MISUSE);
  DLManagedTensor* old = nullptr;
  REQUIRE(tsl_tensor_to_dlpack_unversioned(t.engine, t.get("x"), TSL_READ_ONLY, TSL_NO_STREAM, &old) == TSL_OK);
  CHECK(old->dl_tensor.shape[1] == 3);
  old->deleter(old);
}

TEST_CASE("an exported tensor outlives its engine, and ends in any thread", "[api]") {
  int released = 0;
  DLManagedTensorVersioned* out = nullptr;
  std::vector<float> numbers = {1, 2, 3};
  {
    Fixture t;
    tsl_tensor_type type = {TSL_DTYPE_F32, 1, {3}, {0}, false, 0};
    tsl_value x = {0};
    const auto release = [](void* user) { ++*static_cast<int*>(user); };
    REQUIRE(tsl_tensor_wrap(t.engine, &type, numbers.data(), TSL_READ_ONLY, release, &released, &x) == TSL_OK);
    REQUIRE(tsl_tensor_to_dlpack(t.engine, x, TSL_READ_ONLY, TSL_NO_STREAM, &out) == TSL_OK);
  }
  CHECK(released == 0);
  CHECK(out->dl_tensor.data == numbers.data());
  std::thread([out] { out->deleter(out); }).join();
  CHECK(released == 1);
}

TEST_CASE("exports that end while a script runs are released with the engine's next call", "[api]") {
  Fixture t;
  int released = 0;
  std::vector<float> numbers = {1};
  tsl_tensor_type type = {TSL_DTYPE_F32, 1, {1}, {0}, false, 0};
  tsl_value x = {0};
  const auto release = [](void* user) { ++*static_cast<int*>(user); };
  REQUIRE(tsl_tensor_wrap(t.engine, &type, numbers.data(), TSL_READ_ONLY, release, &released, &x) == TSL_OK);
  DLManagedTensorVersioned* out = nullptr;
  REQUIRE(tsl_tensor_to_dlpack(t.engine, x, TSL_READ_ONLY, TSL_NO_STREAM, &out) == TSL_OK);
  tsl_release(t.engine, x);
  const tsl_native ends = [](tsl_engine, void* user, const tsl_value*, size_t, tsl_value*) {
    auto* const managed = static_cast<DLManagedTensorVersioned*>(user);
    std::thread([managed] { managed->deleter(managed); }).join();
    return TSL_OK;
  };
  REQUIRE(tsl_define(t.engine, str("ends()"), str(""), ends, out, nullptr) == TSL_OK);
  t.eval("ends()");
  t.eval("nil");
  CHECK(released == 1);
}

TEST_CASE("exports that end in another thread do not disturb the engine's calls", "[api]") {
  Fixture t;
  const tsl_value x = t.eval("ones([4])");
  std::vector<DLManagedTensorVersioned*> exported(2000);
  for (auto& each : exported) REQUIRE(tsl_tensor_to_dlpack(t.engine, x, TSL_READ_ONLY, TSL_NO_STREAM, &each) == TSL_OK);
  std::thread other([&exported] {
    for (auto* each : exported) each->deleter(each);
  });
  int failed = 0;
  for (int i = 0; i < 2000; ++i) {
    tsl_kind kind = TSL_KIND_NIL;
    failed += tsl_get_kind(t.engine, x, &kind) != TSL_OK;
  }
  other.join();
  CHECK(failed == 0);
}
