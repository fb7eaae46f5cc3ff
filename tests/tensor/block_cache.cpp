// Tests what allocators share: size classes, reuse, limits, running out.
#include "tensor/block_cache.h"

#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "catch.h"

using namespace tsl;

namespace {

/// Allocates up to `capacity` bytes of addresses without memory.
class FakeAllocator : public BlockCache {
 public:
  explicit FakeAllocator(uint64_t capacity, SizeClasses classes = {})
      : BlockCache(Device{}, classes), capacity_(capacity) {}
  ~FakeAllocator() override { release_cache(); }

  uint64_t taken() const { return taken_; }
  int synchronized = 0, handed_out = 0, taken_back = 0;

 protected:
  void* take_from_system(uint64_t bytes) override {
    if (bytes > capacity_ - taken_) return nullptr;
    taken_ += bytes;
    return reinterpret_cast<void*>(next_ += 4096);
  }
  void give_to_system(void*, uint64_t bytes) override {
    CHECK(synchronized > 0);
    taken_ -= bytes;
  }
  void synchronize() override { ++synchronized; }
  void on_hand_out(Storage& storage, uint64_t bytes) override {
    CHECK(bytes <= storage.bytes());
    ++handed_out;
  }
  void on_take_back(Storage&) override { ++taken_back; }
  std::string describe_system() const override { return "the system is small"; }

 private:
  uint64_t capacity_, taken_ = 0;
  uintptr_t next_ = 0;
};

std::string failure_of(Allocator& allocator, uint64_t bytes) {
  try {
    allocator.allocate(bytes);
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::memory);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("size classes hold what is asked for, waste little, and have numbers of their own") {
  const SizeClasses classes{512, uint64_t{1} << 20};
  uint64_t last = 0;
  int last_class = -1;
  for (uint64_t bytes = 0; bytes < uint64_t{1} << 40; bytes = bytes + bytes / 37 + 1) {
    const uint64_t size = classes.size_for(bytes);
    REQUIRE(size >= bytes);
    REQUIRE(size % 512 == 0);
    REQUIRE(size >= last);
    REQUIRE(classes.size_for(size) == size);
    if (bytes >= 4096) REQUIRE(size - bytes <= bytes / (bytes < 1 << 20 ? 4 : 16));
    const int number = SizeClasses::class_of(size);
    REQUIRE((number == last_class) == (size == last));
    REQUIRE(number < SizeClasses::kCount);
    last = size;
    last_class = number;
  }
  CHECK(classes.size_for(0) == 512);
  CHECK(classes.size_for(513) == 1024);
  CHECK(SizeClasses{}.size_for(65) == 128);
  CHECK(SizeClasses{}.size_for(257) == 320);
}

TEST_CASE("a freed block is handed out again, at the same address") {
  FakeAllocator allocator(1 << 20);
  Ref<Storage> first = allocator.allocate(1000);
  void* address = first->data();
  CHECK(first->bytes() == 1024);
  CHECK(allocator.stats().live_bytes == 1000);  // what was asked for
  first = nullptr;
  CHECK(allocator.stats().live_bytes == 0);
  CHECK(allocator.stats().cached_bytes == 1024);
  const Ref<Storage> second = allocator.allocate(900);
  CHECK(second->data() == address);
  const Ref<Storage> third = allocator.allocate(900);
  CHECK(third->data() != address);
  CHECK(allocator.stats().system_allocations == 2);
  CHECK(allocator.stats().peak_bytes == 1800);
  CHECK(allocator.handed_out == 3);
  CHECK(allocator.taken_back == 1);
}

TEST_CASE("when the system has no more, the cache is given back before anyone is refused") {
  FakeAllocator allocator(10'000);
  Ref<Storage> live = allocator.allocate(1024), freed = allocator.allocate(6144);
  freed = nullptr;
  const Ref<Storage> large = allocator.allocate(8192);
  CHECK(allocator.synchronized == 1);
  CHECK(allocator.stats().cached_bytes == 0);
  CHECK(allocator.taken() == 9216);
  const std::string text = failure_of(allocator, 4096);
  CHECK(text == "out of memory: 4.0 KiB asked for, 9.0 KiB in use by tensors; the system is small");
  live = nullptr;
  CHECK(failure_of(allocator, 8192) ==
        "out of memory: 8.0 KiB asked for, 8.0 KiB in use by tensors, 1.0 KiB given back from the cache in vain; the "
        "system is small");
  CHECK(allocator.allocate(1024)->bytes() == 1024);  // it still works
  CHECK(failure_of(allocator, ~uint64_t{0}).rfind("out of memory: 16.0 EiB asked for", 0) == 0);
}

TEST_CASE("a limit counts cached blocks too, and gives them up first") {
  FakeAllocator allocator(1 << 20);
  allocator.set_limit(8192);
  Ref<Storage> a = allocator.allocate(4096), b = allocator.allocate(2048);
  b = nullptr;
  const Ref<Storage> c = allocator.allocate(4096);
  CHECK(allocator.taken() == 8192);
  CHECK(failure_of(allocator, 1) ==
        "out of memory: 1 B asked for, 8.0 KiB in use by tensors, limit 8.0 KiB; the system is small");
  a = nullptr;
  CHECK(allocator.allocate(4096)->bytes() == 4096);
  allocator.set_limit(0);
  CHECK(allocator.allocate(100'000)->bytes() >= 100'000);
}

TEST_CASE("bytes are told in units a person reads") {
  CHECK(describe_bytes(0) == "0 B");
  CHECK(describe_bytes(1023) == "1023 B");
  CHECK(describe_bytes(1536) == "1.5 KiB");
  CHECK(describe_bytes(uint64_t{80} << 30) == "80.0 GiB");
}

TEST_CASE("bytes are read as they are told, and as people write them") {
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("1.5 KiB") == 1536);
  CHECK(parse_bytes("512M") == uint64_t{512} << 20);
  CHECK(parse_bytes("2gb") == uint64_t{2} << 30);
  CHECK(parse_bytes("80.0 GiB") == uint64_t{80} << 30);
  CHECK(parse_bytes("1023 B") == 1023);
  for (const char* wrong :
       {"", " ", "M", "-1", "1 2", "1Q", "1Mi b", "1MM", "1e3", "nan", "inf", "9E", "99999999999999999999", "1.2.3"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_bytes(wrong));
  }
}
