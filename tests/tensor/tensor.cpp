#include "tensor/tensor.h"

#include <thread>
#include <vector>

#include "catch.h"

using namespace tsl;

namespace {

struct CountingAllocator : Allocator {
  int freed = 0;
  Ref<Storage> allocate(uint64_t bytes) override {
    return make_ref<Storage>(this, ::operator new(bytes), bytes, Device{});
  }
  void free(Storage* storage) override {
    ++freed;
    ::operator delete(storage->data());
    delete storage;
  }
  void release_cache() override {}
  Stats stats() const override { return {}; }
};

}  // namespace

TEST_CASE("a storage goes back to its allocator with its last tensor") {
  CountingAllocator allocator;
  {
    Tensor x(DType::f32, Layout::contiguous({2, 3}), allocator.allocate(24));
    const Tensor row = x.with_layout(select(x.layout(), 0, 1));
    REQUIRE(row.data() == x.data() + 12);
    REQUIRE(describe(row) == "f32[3]");
    x = Tensor();
    REQUIRE(allocator.freed == 0);
  }
  REQUIRE(allocator.freed == 1);
}

TEST_CASE("a view of a deferred tensor stays deferred") {
  struct Graph : Recording {
  } graph;
  Tensor x(DType::f32, Layout::contiguous({2, 3}), nullptr);
  x->recording = &graph;
  x->node = 7;
  const Tensor view = x.with_layout(select(x.layout(), 0, 1));
  REQUIRE(view.deferred());
  REQUIRE(view->recording == &graph);
  REQUIRE(view->node == 7);
}

TEST_CASE("tensors may end on another thread than they began, and outlive theirs") {
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> made;
    std::thread maker([&] {
      for (int i = 0; i < 10000; ++i) made.emplace_back(DType::i64, Layout::contiguous({i}), nullptr);
    });
    maker.join();
    REQUIRE(made[77].shape()[0].hint() == 77);
    std::thread ender([&] { made.resize(5000); });
    ender.join();
    made.clear();
  }
  const Tensor fresh(DType::f32, Layout(), nullptr);  // recycled memory starts afresh
  REQUIRE_FALSE(fresh.deferred());
  REQUIRE(fresh.rank() == 0);
}

TEST_CASE("devices are told apart by backend and ordinal, and printed by name") {
  const Device first = Device::of("cuda", 1), other = Device::of("another backend", 1);
  REQUIRE(first == Device::of("cuda", 1));
  REQUIRE_FALSE(first == other);
  REQUIRE_FALSE(first == Device::of("cuda"));
  REQUIRE(Device::of("cpu") == Device{});
  REQUIRE(to_string(Device{}) == "cpu");
  REQUIRE(to_string(first) == "cuda:1");
  REQUIRE(to_string(other) == "another backend:1");
}
