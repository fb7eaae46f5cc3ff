// Tests complex numbers and tensors of the C API: parts side by side, in memory that is shared where it can be.
#include <complex>

#include "api.h"
#include "api/dlpack.h"
#include "tsl/tsl.hpp"

using namespace tsl::api;
using namespace tsl::api_test;

namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;

tsl_tensor_type type_of(tsl_dtype dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  tsl_tensor_type type = {};
  type.dtype = dtype;
  type.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), type.shape);
  std::copy(strides.begin(), strides.end(), type.strides);
  type.is_strided = !strides.empty();
  return type;
}

const C64* address_of(Fixture& t, tsl_value tensor) {
  const void* data = nullptr;
  REQUIRE(tsl_tensor_map(t.engine, tensor, &data) == TSL_OK);
  return static_cast<const C64*>(data);
}

std::vector<C64> elements(Fixture& t, tsl_value tensor, size_t count) {
  std::vector<C64> read(count);
  REQUIRE(tsl_tensor_read(t.engine, tensor, read.data(), count * sizeof(C64)) == TSL_OK);
  return read;
}

}  // namespace

TEST_CASE("complex memory of the host is wrapped, viewed and given back", "[api]") {
  Fixture t;
  std::vector<C64> numbers = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  int released = 0;
  const auto release = [](void* user) { ++*static_cast<int*>(user); };
  const tsl_tensor_type type = type_of(TSL_DTYPE_C64, {2, 2}, {1, 2});
  tsl_value z = {0};
  REQUIRE(tsl_tensor_wrap(t.engine, &type, numbers.data(), TSL_WRITABLE, release, &released, &z) == TSL_OK);
  tsl_kind kind = TSL_KIND_NIL;
  CHECK((tsl_get_kind(t.engine, z, &kind) == TSL_OK && kind == TSL_KIND_TENSOR));
  CHECK(address_of(t, z) == numbers.data());
  tsl_tensor_type found = {};
  REQUIRE(tsl_tensor_get_type(t.engine, z, &found) == TSL_OK);
  CHECK(found.dtype == TSL_DTYPE_C64);
  CHECK((found.is_strided && found.strides[0] == 1 && found.strides[1] == 2));
  CHECK(elements(t, z, 4) == std::vector<C64>{{1, 2}, {5, 6}, {3, 4}, {7, 8}});

  REQUIRE(tsl_set(t.engine, str("z"), z) == TSL_OK);
  const tsl_value column = t.eval("z[:, 1]");
  CHECK(address_of(t, column) == &numbers[2]);
  CHECK(elements(t, t.eval("z * 1i"), 4) == std::vector<C64>{{-2, 1}, {-6, 5}, {-4, 3}, {-8, 7}});
  CHECK(t.text(t.eval("var w = z\nw[0] = 0.0\n(w[1, 0], z[0, 0])")) == "(c64[] 3.0+4.0i, c64[] 1.0+2.0i)");
  CHECK(numbers[0] == C64(1, 2));

  REQUIRE(tsl_tensor_unwrap(t.engine, z) == TSL_OK);
  CHECK(released == 1);
  numbers.assign(4, C64());
  CHECK(t.text(t.eval("z[1, 1]")) == "c64[] 7.0+8.0i");
  REQUIRE(tsl_tensor_wrap(t.engine, &type, numbers.data(), TSL_READ_ONLY, release, &released, &z) == TSL_OK);
  REQUIRE(tsl_tensor_unwrap(t.engine, z) == TSL_OK);
  CHECK(released == 2);
}

TEST_CASE("results are put side by side once, and copies are the elements", "[api]") {
  Fixture t;
  const tsl_value z = t.eval("complex(tensor([1.0, 2.0]), tensor([3.0, 4.0]))");
  const C64* const data = address_of(t, z);
  CHECK(data == address_of(t, z));
  CHECK((data[0] == C64(1, 3) && data[1] == C64(2, 4)));
  std::vector<C64> into(3);
  const tsl_tensor_type spread = type_of(TSL_DTYPE_C64, {2}, {2});
  REQUIRE(tsl_tensor_read_into(t.engine, z, &spread, into.data()) == TSL_OK);
  CHECK(into == std::vector<C64>{{1, 3}, {0, 0}, {2, 4}});
  const tsl_tensor_type wide = type_of(TSL_DTYPE_C128, {2});
  C128 other[2];
  CHECK(tsl_tensor_read_into(t.engine, z, &wide, other) == TSL_TYPE);
  CHECK(t.message() == "the host's array is c128[2], and the tensor c64[2]");
  const tsl_tensor_type three = type_of(TSL_DTYPE_C64, {3});
  CHECK(tsl_tensor_read_into(t.engine, z, &three, into.data()) == TSL_SHAPE);
  CHECK(tsl_tensor_read(t.engine, z, into.data(), 8) == TSL_MISUSE);
  CHECK(t.message() == "'bytes' is 8, but c64[2] takes 16");

  tsl_value copy = {0};
  REQUIRE(tsl_tensor_copy(t.engine, &spread, into.data(), &copy) == TSL_OK);
  CHECK(elements(t, copy, 2) == std::vector<C64>{{1, 3}, {2, 4}});
  REQUIRE(tsl_tensor_copy(t.engine, &wide, nullptr, &copy) == TSL_OK);
  CHECK(t.text(copy) == "c128[2]\n[0.+0.i 0.+0.i]");
  CHECK(tsl_tensor_copy(t.engine, &wide, reinterpret_cast<char*>(other) + 4, &copy) == TSL_MISUSE);
  CHECK(t.message() == "'data' is not aligned to the 8 bytes of a part of an element");
}

TEST_CASE("complex tensors go to other frameworks and come from them", "[api]") {
  Fixture t;
  const tsl_value z = t.eval("c128([1i, 2.0 - 3i, 4.0])[::2]");
  DLManagedTensorVersioned* out = nullptr;
  REQUIRE(tsl_tensor_to_dlpack(t.engine, z, TSL_READ_ONLY, TSL_NO_STREAM, &out) == TSL_OK);
  CHECK(out->dl_tensor.dtype == DlpackType{kDlComplex, 128, 1});
  CHECK((out->dl_tensor.ndim == 1 && out->dl_tensor.shape[0] == 2));
  const auto* const numbers = static_cast<const C128*>(out->dl_tensor.data);
  CHECK((numbers[0] == C128(0, 1) && numbers[out->dl_tensor.strides[0]] == C128(4, 0)));
  tsl_value back = {0};
  REQUIRE(tsl_tensor_from_dlpack(t.engine, out, TSL_READ_ONLY, TSL_NO_STREAM, &back) == TSL_OK);
  const void* data = nullptr;
  REQUIRE(tsl_tensor_map(t.engine, back, &data) == TSL_OK);
  CHECK(data == numbers);
  CHECK(t.text(back) == t.text(z));
  REQUIRE(tsl_tensor_to_dlpack(t.engine, z, TSL_WRITABLE, TSL_NO_STREAM, &out) == TSL_OK);
  CHECK(out->dl_tensor.data != numbers);
  CHECK(static_cast<const C128*>(out->dl_tensor.data)[1] == C128(4, 0));
  out->deleter(out);
}

TEST_CASE("complex numbers and vectors cross the border of C++", "[api]") {
  auto engine = tsl::Engine::create().value();
  engine.run("fn f(z) = z * 2i\nfn g(z: c64[n]) = z + 1i\nfn kind(z) = type(z)").value();
  CHECK(engine.call<C128>("f", C128(1, 2)).value() == C128(-4, 2));
  CHECK(engine.call<std::string>("kind", C64(1, 2)).value() == "complex");
  CHECK(engine.call<C64>("f", 3.0).value() == C64(0, 6));
  CHECK(engine.call<double>("f", 3.0).error().kind == TSL_MISUSE);
  const std::vector<C64> numbers = {{1, 2}, {3, 4}};
  const auto result = engine.call<tsl::Tensor>("g", numbers).value();
  CHECK(result.read<C64>().value() == std::vector<C64>{{1, 3}, {3, 5}});
  CHECK(result.span<C64>().value()[1] == C64(3, 5));
  CHECK(result.view<float>().error().kind == TSL_TYPE);
  CHECK(result.view<C128>().error().kind == TSL_TYPE);
}
