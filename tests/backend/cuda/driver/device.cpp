// Tests the device: copies, memory, launches, recorded work, the kernel cache. Needs a GPU.
#include "backend/cuda/driver/device.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/driver/memory.h"
#include "base/error_names.h"
#include "support/gpu.h"
#include "tensor/elements.h"

using namespace tsl;
using namespace tsl::cuda;
using Gpu = tsl::cuda::Device;

namespace {

std::vector<uint32_t> numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> values(count);
  for (uint32_t& value : values) value = random();
  return values;
}

CUdeviceptr at(const Ref<Storage>& storage) { return address_of(storage->data()); }

const KernelSource kScale{"k_scale", R"(
extern "C" __global__ void k_scale(u32* to, const u32* from, u32 factor, i64 n) {
  const i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x;
  if (i < n) to[i] = from[i] * factor;
})"};

void launch_scale(Gpu& gpu, CUfunction function, CUdeviceptr to, CUdeviceptr from, uint32_t factor, int64_t n) {
  void* arguments[] = {&to, &from, &factor, &n};
  Launch launch;
  launch.function = function;
  launch.block[0] = 256;
  launch.grid[0] = static_cast<unsigned>((n + 255) / 256);
  gpu.launch(launch, arguments, "k_scale");
}

template <class T> std::vector<T> to_host(Gpu& gpu, CUdeviceptr from, size_t count) {
  std::vector<T> values(count);
  gpu.copy_to_host(values.data(), from, count * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("a device tells what it is", "[cuda]") {
  TSL_NEEDS_GPU();
  const Gpu gpu;
  const Properties& p = gpu.properties();
  CHECK_FALSE(p.name.empty());
  CHECK(p.arch == fmt::format("sm_{}{}", p.compute_major, p.compute_minor));
  CHECK(p.total_memory > uint64_t{1} << 30);
  CHECK_THROWS_WITH(Gpu(999), Catch::Contains("there is no GPU 999"));
}

TEST_CASE("copies to the device and back give the same bytes, whatever their size", "[cuda]") {
  TSL_NEEDS_GPU();
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  uint64_t bytes = 0;
  for (const size_t count :
       {size_t{1}, size_t{3}, size_t{1000}, size_t{1} << 18, (size_t{1} << 18) + 1, size_t{5'000'003}}) {
    INFO(count);
    const std::vector<uint32_t> values = numbers(count, 1);
    const Ref<Storage> a = allocator.allocate(count * 4), b = allocator.allocate(count * 4);
    gpu.copy_to_device(at(a), values.data(), count * 4);
    gpu.copy_on_device(at(b), at(a), count * 4);
    gpu.fill(at(a), 0, count * 4);
    CHECK(to_host<uint32_t>(gpu, at(b), count) == values);
    CHECK(to_host<uint32_t>(gpu, at(a), count) == std::vector<uint32_t>(count));
    bytes += count * 4;
  }
  CHECK(gpu.counters().bytes_to_device == bytes);
  CHECK(gpu.counters().bytes_to_host == 2 * bytes);
}

TEST_CASE("many small copies in a row all arrive, though their source changes at once", "[cuda]") {
  TSL_NEEDS_GPU();
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  constexpr uint32_t kCount = 100'000;  // more than the staging memory holds
  const Ref<Storage> all = allocator.allocate(kCount * 4);
  uint32_t value = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    value = i * 2654435761u;
    gpu.copy_to_device(at(all) + i * 4, &value, 4);
  }
  const std::vector<uint32_t> got = to_host<uint32_t>(gpu, at(all), kCount);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) wrong += got[i] != i * 2654435761u;
  CHECK(wrong == 0);
  uint32_t last = 0;
  gpu.copy_to_host(&last, at(all) + (kCount - 1) * 4, 4);
  CHECK(last == (kCount - 1) * 2654435761u);
}

TEST_CASE("device memory is reused at the same address, aligned, and given back when it runs out", "[cuda][alone]") {
  TSL_NEEDS_GPU();
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  Ref<Storage> first = allocator.allocate(1000);
  const CUdeviceptr address = at(first);
  CHECK(address % 512 == 0);
  CHECK(first->device() == tsl::Device::of("cuda"));
  first = nullptr;
  CHECK(at(allocator.allocate(1000)) == address);
  for (int i = 0; i < 100; ++i) allocator.allocate(1000);
  CHECK(gpu.counters().driver_allocations == 1);

  CHECK_THROWS_WITH(allocator.allocate(uint64_t{1} << 50),
                    Catch::Contains("out of memory: 1.0 PiB asked for") && Catch::Contains("of the GPU's"));
  CHECK(allocator.stats().cached_bytes == 0);
  CHECK(allocator.allocate(1000)->bytes() == 1024);  // it goes on
  // Nearly all of the memory can be allocated twice only if the first allocation was returned to the driver.
  size_t free = 0, total = 0;
  gpu.check(gpu.driver().cuMemGetInfo(&free, &total), "asking");
  allocator.allocate(free / 4 * 3);
  CHECK(allocator.allocate(free / 3 * 2)->bytes() >= free / 3 * 2);
  allocator.release_cache();

  allocator.set_limit(1 << 20);
  CHECK_THROWS_WITH(allocator.allocate(2 << 20), Catch::Contains("limit 1.0 MiB"));
}

TEST_CASE("a kernel compiles, runs, and is found in memory and on disk the next time", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  constexpr size_t kCount = 10'000;
  const std::vector<uint32_t> values = numbers(kCount, 2);
  const Ref<Storage> from = allocator.allocate(kCount * 4), to = allocator.allocate(kCount * 4);
  gpu.copy_to_device(at(from), values.data(), kCount * 4);
  const auto is_right = [&](CUfunction function) {
    gpu.fill(at(to), 0, kCount * 4);
    launch_scale(gpu, function, at(to), at(from), 3, kCount);
    const std::vector<uint32_t> got = to_host<uint32_t>(gpu, at(to), kCount);
    for (size_t i = 0; i < kCount; ++i)
      if (got[i] != values[i] * 3) return false;
    return true;
  };
  {
    KernelCache cache(gpu, DiskCache(folder.path));
    const CUfunction function = cache.get(kScale.name, kScale.source);
    CHECK(is_right(function));
    CHECK(cache.get(kScale.name, kScale.source) == function);
    CHECK(cache.stats().compiled == 1);
    CHECK(cache.stats().from_memory == 1);
    CHECK(cache.resources(function).registers > 0);
    CHECK(cache.resources(function).max_threads >= 256);
  }
  const auto try_again = [&](uint64_t compiled, uint64_t from_disk) {
    KernelCache cache(gpu, DiskCache(folder.path));
    CHECK(is_right(cache.get(kScale.name, kScale.source)));
    CHECK(cache.stats().compiled == compiled);
    CHECK(cache.stats().from_disk == from_disk);
  };
  try_again(0, 1);
  for (const auto& file : std::filesystem::directory_iterator(folder.path + "/kernels"))
    std::filesystem::resize_file(file.path(), file.file_size() / 2);
  try_again(1, 0);
  try_again(0, 1);
  KernelCache without(gpu, DiskCache(""));
  CHECK(is_right(without.get(kScale.name, kScale.source)));
  CHECK(gpu.counters().kernel_launches == 5);
}

TEST_CASE("max and min of GPUs before sm_80 give the bits of later ones", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  if (gpu.properties().compute_major < 8) TSL_SKIP("this GPU is older than sm_80");
  DeviceAllocator allocator(gpu);
  KernelCache cache(gpu, DiskCache(folder.path));
  const CUfunction function = cache.get("k_both", R"(
extern "C" __global__ void k_both(u32* wrong, const f32* a, i64 n) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < n * n; i += i64(gridDim.x) * blockDim.x) {
    const f32 x = a[i / n], y = a[i % n];
    if (bits_of(native_max(x, y)) != bits_of(number_max(x, y))) atomicAdd(wrong, 1u);
    if (bits_of(native_min(x, y)) != bits_of(number_min(x, y))) atomicAdd(wrong + 1, 1u);
  }
})");
  std::vector<uint32_t> values = numbers(2000, 5);
  for (const uint32_t bits : {0u, 1u, 0x007fffffu, 0x00800000u, 0x3f800000u, 0x7f7fffffu, 0x7f800000u, 0x7f800001u,
                              0x7fa00000u, 0x7fc00000u, 0x7fffffffu}) {
    values.push_back(bits);
    values.push_back(bits | 0x80000000u);
  }
  int64_t count = static_cast<int64_t>(values.size());
  const Ref<Storage> from = allocator.allocate(values.size() * 4), to = allocator.allocate(8);
  gpu.copy_to_device(at(from), values.data(), values.size() * 4);
  gpu.fill(at(to), 0, 8);
  CUdeviceptr wrong = at(to), in = at(from);
  void* arguments[] = {&wrong, &in, &count};
  Launch launch;
  launch.function = function;
  launch.block[0] = 256;
  launch.grid[0] = 1000;
  gpu.launch(launch, arguments, "k_both");
  CHECK(to_host<uint32_t>(gpu, wrong, 2) == std::vector<uint32_t>{0, 0});
}

TEST_CASE("an entry that the driver does not take is compiled again", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  const DiskCache disk(folder.path);
  {
    KernelCache cache(gpu, disk);
    cache.get(kScale.name, kScale.source);
  }
  // Valid entries with wrong payloads under every key: no kernel, and a kernel for another GPU.
  Cubin foreign = compile_only(Nvrtc(), kScale, gpu.properties().compute_major == 8 ? "sm_90" : "sm_80");
  foreign.push_back(std::byte{'c'});
  for (const Bytes& payload : {Bytes(100, std::byte{'c'}), foreign}) {
    for (const auto& file : std::filesystem::directory_iterator(disk.folder())) {
      const std::string name = file.path().stem().string();
      const Digest key{std::stoull(name.substr(0, 16), nullptr, 16), std::stoull(name.substr(16), nullptr, 16)};
      REQUIRE(disk.store(key, payload));
    }
    KernelCache cache(gpu, disk);
    CHECK(cache.get(kScale.name, kScale.source) != nullptr);
    CHECK(cache.stats().compiled == 1);
    CHECK(cache.stats().from_disk == 0);
  }
}

TEST_CASE("kernels that were compiled and stored without a device are found", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  const Nvrtc nvrtc;
  const KernelSource sources[] = {kScale, {"k_one", "extern \"C\" __global__ void k_one(int* to) { *to = 1; }"}};
  const Digester keys = keys_for(gpu.arch(), nvrtc.version());
  const Digest digests[] = {key_of(keys, sources[0]), key_of(keys, sources[1])};
  store_unit(DiskCache(folder.path), digests, nvrtc.compile(program_of({&sources[0], &sources[1]}), gpu.arch()));
  KernelCache cache(gpu, DiskCache(folder.path));
  cache.get_many(sources);
  CHECK(cache.stats().from_disk == 2);
  CHECK(cache.stats().compiled == 0);
}

TEST_CASE("many kernels compile together and load from disk together", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  std::vector<KernelSource> sources;
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("k_const_{}", i / 2 * 2);  // pairs of equal names
    sources.push_back({name, fmt::format("extern \"C\" __global__ void {}(int* to) {{ *to = {}; }}", name, i)});
  }
  sources.push_back(sources[0]);  // and one twice
  const Ref<Storage> to = allocator.allocate(4);
  for (const bool is_warm : {false, true}) {
    INFO(is_warm);
    KernelCache cache(gpu, DiskCache(folder.path));
    const std::vector<CUfunction> functions = cache.get_many(sources);
    REQUIRE(functions.size() == sources.size());
    CHECK(functions.back() == functions.front());
    CHECK(cache.stats().compiled == (is_warm ? 0u : 40u));
    CHECK(cache.stats().from_disk == (is_warm ? 40u : 0u));
    for (int i = 0; i < 40; ++i) {
      CUdeviceptr address = at(to);
      void* arguments[] = {&address};
      Launch launch;
      launch.function = functions[static_cast<size_t>(i)];
      gpu.launch(launch, arguments, "k_const");
      CHECK(to_host<int>(gpu, at(to), 1)[0] == i);
    }
  }
}

TEST_CASE("engines of a process compile a kernel once", "[cuda][host]") {
  TSL_NEEDS_GPU();
  std::vector<KernelSource> sources;
  for (int i = 0; i < 8; ++i)
    sources.push_back(
        {fmt::format("k_{}", i), fmt::format("extern \"C\" __global__ void k_{0}(int* to) {{ *to = {0}; }}", i)});
  CompiledKernels shared;
  constexpr size_t kEngines = 4;
  std::vector<KernelCacheStats> stats(kEngines);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kEngines; ++i) {
    threads.emplace_back([&, i] {
      Gpu gpu;
      KernelCache cache(gpu, DiskCache(""), {}, &shared);
      cache.get_many(sources);
      stats[i] = cache.stats();
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t compiled = 0, from_process = 0;
  for (const KernelCacheStats& each : stats) {
    compiled += each.compiled;
    from_process += each.from_process;
    CHECK(each.compiled + each.from_process == sources.size());
    CHECK(each.from_disk == 0);
  }
  CHECK(compiled == sources.size());
  CHECK(from_process == (kEngines - 1) * sources.size());
}

TEST_CASE("recorded work runs when its graph is launched, and a failed recording leaves the stream usable", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  KernelCache cache(gpu, DiskCache(folder.path));
  const CUfunction function = cache.get(kScale.name, kScale.source);
  const std::vector<uint32_t> values = numbers(100, 3);
  const Ref<Storage> from = allocator.allocate(400), to = allocator.allocate(400);
  gpu.copy_to_device(at(from), values.data(), 400);
  gpu.fill(at(to), 0, 400);
  const CUgraph graph = gpu.capture([&] { launch_scale(gpu, function, at(to), at(from), 5, 100); });
  CHECK(to_host<uint32_t>(gpu, at(to), 100) == std::vector<uint32_t>(100));
  CUgraphExec executable = nullptr;
  gpu.check(gpu.driver().cuGraphInstantiate(&executable, graph, 0), "instantiating");
  gpu.launch_graph(executable, "the test");
  CHECK(to_host<uint32_t>(gpu, at(to), 100)[7] == values[7] * 5);
  gpu.driver().cuGraphExecDestroy(executable);
  gpu.driver().cuGraphDestroy(graph);

  CHECK_THROWS_AS(gpu.capture([&] { fail(ErrorName::user_error, "stop"); }), Failure);
  launch_scale(gpu, function, at(to), at(from), 7, 100);
  CHECK(to_host<uint32_t>(gpu, at(to), 100)[7] == values[7] * 7);
  Launch impossible;
  impossible.function = function;
  impossible.block[0] = 1 << 20;
  CHECK_THROWS_WITH(gpu.launch(impossible, nullptr, "k_scale"), Catch::Contains("CUDA failed launching k_scale"));
  launch_scale(gpu, function, at(to), at(from), 9, 100);
  CHECK(to_host<uint32_t>(gpu, at(to), 100)[7] == values[7] * 9);
}

TEST_CASE("16-bit floats convert on the device as on the host, to the bit (all NaNs are one)", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  KernelCache cache(gpu, DiskCache(folder.path));
  const auto source = [](const std::string& name, const std::string& to, const std::string& from,
                         const std::string& text) {
    return KernelSource{name, fmt::format("extern \"C\" __global__ void {}({}* to, const {}* from, i64 n) {{\n"
                                          "  const i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x;\n"
                                          "  if (i < n) to[i] = {};\n}}",
                                          name, to, from, text)};
  };
  const std::vector<KernelSource> sources = {source("k_widen_f16", "f32", "f16", "widen(from[i])"),
                                             source("k_widen_bf16", "f32", "bf16", "widen(from[i])"),
                                             source("k_narrow_f16", "f16", "f32", "narrow<f16>(from[i])"),
                                             source("k_narrow_bf16", "bf16", "f32", "narrow<bf16>(from[i])")};
  const std::vector<CUfunction> functions = cache.get_many(sources);

  std::vector<uint16_t> shorts(65536);
  for (size_t i = 0; i < shorts.size(); ++i) shorts[i] = static_cast<uint16_t>(i);
  // Tests each 16-bit float, the midpoints around each, then random bits.
  std::vector<uint32_t> floats = numbers(500'000, 4);
  for (const uint16_t bits : shorts) {
    for (const float value : {f16_to_float(bits), bf16_to_float(bits)}) {
      uint32_t middle;
      std::memcpy(&middle, &value, 4);
      for (const uint32_t step : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
        floats.push_back(middle + step);
    }
  }
  const Ref<Storage> from = allocator.allocate(floats.size() * 4), to = allocator.allocate(floats.size() * 4);
  const auto run = [&](size_t which, const void* values, size_t count, size_t size) {
    gpu.copy_to_device(at(from), values, count * size);
    CUdeviceptr to_address = at(to), from_address = at(from);
    int64_t n = static_cast<int64_t>(count);
    void* arguments[] = {&to_address, &from_address, &n};
    Launch launch;
    launch.function = functions[which];
    launch.block[0] = 256;
    launch.grid[0] = static_cast<unsigned>((count + 255) / 256);
    gpu.launch(launch, arguments, sources[which].name);
  };
  for (const size_t which : {0u, 1u}) {
    run(which, shorts.data(), shorts.size(), 2);
    const std::vector<uint32_t> got = to_host<uint32_t>(gpu, at(to), shorts.size());
    size_t wrong = 0;
    for (size_t i = 0; i < shorts.size(); ++i) {
      const float expected = which == 0 ? f16_to_float(shorts[i]) : bf16_to_float(shorts[i]);
      float value;
      std::memcpy(&value, &got[i], 4);
      wrong += std::isnan(expected) ? !std::isnan(value) : std::memcmp(&expected, &value, 4) != 0;
    }
    INFO(sources[which].name);
    CHECK(wrong == 0);
  }
  for (const size_t which : {2u, 3u}) {
    run(which, floats.data(), floats.size(), 4);
    const std::vector<uint16_t> got = to_host<uint16_t>(gpu, at(to), floats.size());
    size_t wrong = 0;
    for (size_t i = 0; i < floats.size(); ++i) {
      float value;
      std::memcpy(&value, &floats[i], 4);
      const float narrowed = which == 2 ? f16_to_float(got[i]) : bf16_to_float(got[i]);
      wrong += std::isnan(value) ? !std::isnan(narrowed)
                                 : got[i] != (which == 2 ? float_to_f16(value) : float_to_bf16(value));
    }
    INFO(sources[which].name);
    CHECK(wrong == 0);
  }
}
