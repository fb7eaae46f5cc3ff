// Tests the backends of an engine: their registry, devices and names.
#include "exec/backend_registry.h"
#include "base/error_names.h"
#include "catch.h"
#include "exec/devices.h"
#include "tensor/device_names.h"

using namespace tsl;

namespace {

/// A backend that computes nothing, for the registry only.
class NamedBackend : public exec::Backend {
 public:
  explicit NamedBackend(Device device) : device(device) {}
  BlockCache& allocator() override { fail(ErrorName::device_failed, "{} has no memory", to_string(device)); }
  std::unique_ptr<exec::Executable> prepare(graph::Plan) override { return nullptr; }
  Counters counters() const override {
    Counters counters;
    counters.kernels = 10 * static_cast<uint64_t>(device.backend) + device.ordinal;
    return counters;
  }
  const Device device;
};

std::string message_of(std::string_view name) {
  try {
    parse_device(name);
    return "";
  } catch (const Failure& failure) { return failure.what(); }
}

}  // namespace

TEST_CASE("devices of two backends with one number are two devices") {
  NamedBackend host{Device{}};
  int opened = 0;
  exec::Devices devices(host, [&](Device device) {
    ++opened;
    return std::make_unique<NamedBackend>(device);
  });
  const Device first = Device::of("first"), second = Device::of("second"), other = Device::of("second", 3);
  for (const Device device : {first, second, other, first, second, other}) {
    exec::Backend& backend = devices.at(device);
    CHECK(static_cast<NamedBackend&>(backend).device == device);
  }
  CHECK(opened == 3);
  CHECK(devices.counters(first).kernels == 10 * static_cast<uint64_t>(first.backend));
  CHECK(devices.counters(other).kernels == 10 * static_cast<uint64_t>(second.backend) + 3);
  CHECK(devices.counters({second.backend, 1}).kernels == 0);  // not open
}

TEST_CASE("a device that failed to open is tried again") {
  NamedBackend host{Device{}};
  bool is_there = false;
  exec::Devices devices(host, [&](Device device) {
    if (!is_there) fail(ErrorName::no_device, "there is no {}", to_string(device));
    return std::make_unique<NamedBackend>(device);
  });
  const Device device = Device::of("first", 1);
  CHECK_THROWS_AS(devices.at(device), Failure);
  CHECK(devices.counters(device).kernels == 0);
  is_there = true;
  CHECK(static_cast<NamedBackend&>(devices.at(device)).device == device);
}

TEST_CASE("devices are named by their backend and number") {
  const uint8_t first = backend_number("first"), second = backend_number("second");
  CHECK(backend_number("cpu") == 0);
  CHECK(backend_number("first") == first);
  CHECK(parse_device("cpu") == Device{});
  CHECK(parse_device("first") == Device{first, 0});
  CHECK(parse_device("second:12") == Device{second, 12});
  CHECK(to_string(parse_device("second:12")) == "second:12");
  CHECK(parse_device("second", {second, 4}) == Device{second, 4});
  CHECK(parse_device("second", {first, 4}) == Device{second, 0});
  for (const char* wrong : {"", "first:", "first:x", "first:1 ", "first:256", "cpu:0", "third", ":0"}) {
    INFO(wrong);
    CHECK(message_of(wrong) == "unknown device '" + std::string(wrong) + "': cpu, first, first:N, second or second:N");
  }
}

TEST_CASE("a registry finds the backend of a device") {
  const auto open = [](int, exec::Backend&, const exec::BackendOptions&) -> std::unique_ptr<exec::Backend> {
    return nullptr;
  };
  const auto probe = [](int ordinal) {
    if (ordinal > 0) fail(ErrorName::no_device, "there is one device");
  };
  const exec::BackendRegistry registry({{"first", true, probe, open}, {"second", false, probe, open}});
  REQUIRE(registry.rows().size() == 2);
  CHECK(registry.at(parse_device("second")).name == "second");
  CHECK_THROWS_AS(registry.at(parse_device("first")).probe(1), Failure);
  CHECK_THROWS_AS(registry.at(Device{}), Failure);
}
