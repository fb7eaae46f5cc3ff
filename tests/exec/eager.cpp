// Tests eager execution without the language: signatures, numbers, donated operands, errors.
#include "exec/eager.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/backend.h"
#include "base/error.h"
#include "catch.h"

using namespace tsl;

namespace {

/// Counts the plans that are prepared.
class CountingCpu : public cpu::CpuBackend {
 public:
  CountingCpu() : CpuBackend(1) {}
  std::unique_ptr<exec::Executable> prepare(graph::Plan plan) override {
    ++plans;
    return CpuBackend::prepare(std::move(plan));
  }
  int plans = 0;
};

struct Fixture {
  CountingCpu host;
  exec::Devices devices{host, [](Device) { return std::make_unique<CountingCpu>(); }};
  exec::EagerExecutor eager{devices};

  template <class T> Tensor make(DType dtype, const std::vector<T>& values) {
    Ref<Storage> storage = host.allocator().allocate(values.size() * sizeof(T));
    std::copy(values.begin(), values.end(), static_cast<T*>(storage->data()));
    return Tensor(dtype, Layout::contiguous({static_cast<int64_t>(values.size())}), std::move(storage));
  }
  Tensor floats(const std::vector<float>& values) { return make(DType::f32, values); }
  Tensor integers(const std::vector<int64_t>& values) { return make(DType::i64, values); }

  Tensor run(Op op, std::vector<Operand> operands, bool may_donate = false) {
    const Tensor& first = operands[0].tensor;
    return run(op, operands, {}, {first.dtype(), first.shape()}, may_donate);
  }
  Tensor run(Op op, std::span<const Operand> operands, const Attrs& attrs, const TensorType& type, bool may_donate) {
    Tensor result;
    eager.run(op_def(op), operands, attrs, {&type, 1}, {}, may_donate, {&result, 1});
    return result;
  }
};

std::vector<float> elements(const Tensor& tensor) {
  const float* data = reinterpret_cast<const float*>(tensor.data());
  return {data, data + element_count(tensor.shape()).hint()};
}

}  // namespace

TEST_CASE_METHOD(Fixture, "calls of one signature share a plan, whatever their numbers", "[exec]") {
  CHECK(elements(run(Op::add, {floats({1, 2}), Scalar::of(1.5)})) == std::vector<float>{2.5f, 3.5f});
  CHECK(elements(run(Op::add, {floats({3, 4}), Scalar::of(10.0)})) == std::vector<float>{13, 14});
  CHECK(host.plans == 1);
}

TEST_CASE_METHOD(Fixture, "another shape, op, kind of number or layout is another signature", "[exec]") {
  run(Op::add, {floats({1, 2}), Scalar::of(1.0)});
  run(Op::add, {floats({1, 2, 3}), Scalar::of(1.0)});
  CHECK(host.plans == 2);
  run(Op::mul, {floats({1, 2}), Scalar::of(1.0)});
  CHECK(host.plans == 3);
  run(Op::add, {floats({1, 2}), Scalar::of(int64_t{1})});
  CHECK(host.plans == 4);
  const Tensor x = floats({1, 2, 3, 4});
  Layout every_second = Layout::contiguous({2});
  every_second.strides[0] = 2;
  CHECK(elements(run(Op::add, {x.with_layout(every_second), Scalar::of(1.0)})) == std::vector<float>{2, 4});
  CHECK(host.plans == 5);
}

TEST_CASE_METHOD(Fixture, "an offset is no part of a signature", "[exec]") {
  const Tensor x = floats({1, 2, 3, 4});
  Layout part = Layout::contiguous({2});
  CHECK(elements(run(Op::neg, {x.with_layout(part)})) == std::vector<float>{-1, -2});
  part.offset = 2;
  CHECK(elements(run(Op::neg, {x.with_layout(part)})) == std::vector<float>{-3, -4});
  CHECK(host.plans == 1);
}

TEST_CASE_METHOD(Fixture, "an operand with no other owner may donate its memory to the result", "[exec]") {
  for (const bool may_donate : {false, true}) {
    for (const bool is_held : {false, true}) {
      Tensor x = floats({1, 2});
      const std::byte* const data = x.data();
      const Tensor other = is_held ? x.with_layout(x.layout()) : Tensor();
      const std::vector<Operand> operands{Operand(std::move(x))};
      const TensorType type{DType::f32, {2}};
      const Tensor result = run(Op::neg, operands, {}, type, may_donate);
      CHECK(elements(result) == std::vector<float>{-1, -2});
      CHECK((result.data() == data) == (may_donate && !is_held));
      if (is_held) CHECK(elements(other) == std::vector<float>{1, 2});
    }
  }
}

TEST_CASE_METHOD(Fixture, "an operand whose owner does not read it again may donate its memory", "[exec]") {
  for (const bool is_dying : {false, true}) {
    for (const bool is_held : {false, true}) {
      const Tensor owner = floats({1, 2});
      const Tensor other = is_held ? owner : Tensor();
      const std::vector<Operand> operands{is_dying ? Operand::dying(owner) : Operand(owner)};
      const Tensor result = run(Op::neg, operands, {}, {DType::f32, {2}}, true);
      CHECK(elements(result) == std::vector<float>{-1, -2});
      CHECK((result.data() == owner.data()) == (is_dying && !is_held));
    }
  }
}

TEST_CASE_METHOD(Fixture, "what only elements show is a Failure that says so", "[exec]") {
  const auto divide = [&] { run(Op::floordiv, {integers({6, 4}), integers({3, 0})}); };
  CHECK_THROWS_WITH(divide(), "integer division by zero");
  const Attrs attrs;
  const std::vector<Operand> operands{floats({1, 2}), integers({0, 5})};
  const auto take = [&] { run(Op::take, operands, attrs, {DType::f32, {2}}, false); };
  CHECK_THROWS_WITH(take(), "index 5 is out of range for axis 0 with extent 2");
}

TEST_CASE_METHOD(Fixture, "operands are let go of after a run, also after one that failed", "[exec]") {
  const Tensor x = integers({6}), zero = integers({0});
  const uint32_t before = x->use_count();
  CHECK_THROWS_AS(run(Op::floordiv, {x, zero}), Failure);
  CHECK(x->use_count() == before);
}
