// Tests when devices are opened, made active and closed.
#include "exec/devices.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error_names.h"
#include "catch.h"
#include "tensor/block_cache.h"

using namespace tsl;

namespace {

/// Host memory that appears as a device's.
class Memory : public BlockCache {
 public:
  explicit Memory(Device device) : BlockCache(device, {}) {}
  ~Memory() override { release_cache(); }

 protected:
  void* take_from_system(uint64_t bytes) override { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
  void give_to_system(void* data, uint64_t) override { std::free(data); }
};

/// Records its calls in a journal: "open 0, active 0".
class Recorded : public exec::Backend {
 public:
  Recorded(Device device, std::string& journal, bool has_peers = false)
      : device_(device), memory_(device), journal_(journal), has_peers_(has_peers) {
    note("open");
  }
  ~Recorded() override { note("close"); }
  BlockCache& allocator() override { return memory_; }
  std::unique_ptr<exec::Executable> prepare(graph::Plan) override { return nullptr; }
  Tensor to_device(const Tensor& host) override {
    note("to");
    return copy(host, memory_);
  }
  Tensor to_host(const Tensor& tensor) override {
    note("from");
    static Memory host{Device{}};
    return copy(tensor, host);
  }
  Tensor from_peer(const Tensor& tensor, exec::Backend&) override {
    if (!has_peers_) return {};
    note("peer");
    return copy(tensor, memory_);
  }
  void activate() override { note("active"); }
  Counters counters() const override { return {.kernels = 7}; }

 private:
  void note(const char* what) {
    if (!device_.is_host()) journal_ += std::string(what) + ' ' + std::to_string(device_.ordinal) + ", ";
  }
  static Tensor copy(const Tensor& tensor, Allocator& to) {
    const size_t bytes = static_cast<size_t>(element_count(tensor.shape()).hint()) * size_of(tensor.dtype());
    Ref<Storage> storage = to.allocate(bytes);
    std::memcpy(storage->data(), tensor.data(), bytes);
    return Tensor(tensor.dtype(), Layout::contiguous(tensor.shape()), std::move(storage));
  }

  Device device_;
  Memory memory_;
  std::string& journal_;
  bool has_peers_;
};

const Device kFirst = Device::of("first", 0), kSecond = Device::of("first", 1);

struct Fixture {
  std::string journal;
  bool has_peers = false;
  Recorded host{Device{}, journal};
  exec::Devices devices{host, [this](Device device) { return std::make_unique<Recorded>(device, journal, has_peers); }};

  std::string take_journal() { return std::exchange(journal, ""); }
  Tensor three() {
    Ref<Storage> storage = host.allocator().allocate(3 * sizeof(float));
    const float values[] = {1, 2, 3};
    std::memcpy(storage->data(), values, sizeof values);
    return Tensor(DType::f32, Layout::contiguous({3}), std::move(storage));
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a device is opened when it is first asked for, and made active when it changes", "[exec]") {
  CHECK(&devices.at({}) == &host);
  CHECK(take_journal() == "");
  exec::Backend& second = devices.at(kSecond);
  CHECK(take_journal() == "open 1, ");
  CHECK(&devices.at(kSecond) == &second);
  CHECK(take_journal() == "");
  devices.at(kFirst);
  CHECK(take_journal() == "open 0, ");
  CHECK(&devices.at(kSecond) == &second);
  CHECK(take_journal() == "active 1, ");
}

TEST_CASE_METHOD(Fixture, "the host is no device to make active", "[exec]") {
  devices.at(kFirst);
  devices.at({});
  devices.at(kFirst);
  CHECK(take_journal() == "open 0, ");
}

TEST_CASE_METHOD(Fixture, "after another thread may have had the device it is made active again", "[exec]") {
  devices.at(kFirst);
  devices.forget_active();
  devices.at(kFirst);
  CHECK(take_journal() == "open 0, active 0, ");
}

TEST_CASE("a device that fails to open is tried again", "[exec]") {
  std::string journal;
  Recorded host{Device{}, journal};
  int tries = 0;
  exec::Devices devices(host, [&](Device device) -> std::unique_ptr<exec::Backend> {
    if (++tries == 1) fail(ErrorName::no_device, "no driver");
    return std::make_unique<Recorded>(device, journal);
  });
  CHECK_THROWS_AS(devices.at(kFirst), Failure);
  devices.at(kFirst);
  CHECK(journal == "open 0, ");
}

TEST_CASE("each device is active when it is closed", "[exec]") {
  std::string journal;
  Recorded host{Device{}, journal};
  {
    exec::Devices devices(host, [&](Device device) { return std::make_unique<Recorded>(device, journal); });
    devices.at(kSecond);
    devices.at(kFirst);
    journal.clear();
  }
  CHECK(journal == "active 0, close 0, active 1, close 1, ");
}

TEST_CASE_METHOD(Fixture, "counters are those of the device, and none before it is opened", "[exec]") {
  CHECK(devices.counters({}).kernels == 7);
  CHECK(devices.counters(kSecond).kernels == 0);
  devices.at(kSecond);
  CHECK(devices.counters(kSecond).kernels == 7);
  CHECK(devices.counters(kFirst).kernels == 0);
}

TEST_CASE_METHOD(Fixture, "a tensor moves by way of the host where devices have no way of their own", "[exec]") {
  const Tensor there = devices.move(three(), kFirst);
  CHECK(there.device() == kFirst);
  CHECK(take_journal() == "open 0, to 0, ");
  const Tensor second = devices.move(there, kSecond);
  CHECK(second.device() == kSecond);
  CHECK(take_journal() == "open 1, active 0, from 0, active 1, to 1, ");
  const Tensor back = devices.move(second, {});
  CHECK(back.device().is_host());
  CHECK(reinterpret_cast<const float*>(back.data())[2] == 3.0f);
}

TEST_CASE("a tensor moves directly where devices can", "[exec]") {
  Fixture fixture;
  fixture.has_peers = true;
  const Tensor there = fixture.devices.move(fixture.three(), kFirst);
  fixture.take_journal();
  const Tensor second = fixture.devices.move(there, kSecond);
  CHECK(second.device() == kSecond);
  CHECK(fixture.take_journal() == "open 1, peer 1, ");
}
