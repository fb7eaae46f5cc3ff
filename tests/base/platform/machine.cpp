// Tests the limits of CPUs and memory that cgroups set, with folders that pretend to be /proc and /sys.
#include "base/platform/machine.h"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "catch.h"

using namespace tsl::platform;

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

/// A folder with files, removed at the end of the test.
class Root {
 public:
  Root(std::initializer_list<std::pair<const char*, const char*>> files) {
    path_ = (std::filesystem::temp_directory_path() / "tsl_root_XXXXXX").string();
    if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
    for (const auto& [name, text] : files) {
      const std::filesystem::path file = path_ + name;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << text << "\n";
    }
  }
  ~Root() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MachineLimits limits() const { return read_machine_limits(path_); }

 private:
  std::string path_;
};

/// What the cgroup of 2 GiB leaves for tensors.
constexpr uint64_t kOfTwo = 2 * kGiB - 2 * kGiB / 16;

}  // namespace

TEST_CASE("without cgroups a process has the machine's memory and the CPUs of its affinity") {
  const MachineLimits limits = Root({}).limits();
  CHECK(limits.memory == static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  cpu_set_t all, one;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  CHECK(limits.cpus == CPU_COUNT(&all));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(Root({}).limits().cpus == 1);
  sched_setaffinity(0, sizeof all, &all);
}

TEST_CASE("cgroups of version 2 limit memory and CPUs") {
  const Root root({{"/proc/self/cgroup", "0::/"},
                   {"/sys/fs/cgroup/memory.max", "2147483648"},
                   {"/sys/fs/cgroup/cpu.max", "100000 100000"}});
  CHECK(root.limits().memory == kOfTwo);
  CHECK(root.limits().cpus == 1);
  const Root free(
      {{"/proc/self/cgroup", "0::/"}, {"/sys/fs/cgroup/memory.max", "max"}, {"/sys/fs/cgroup/cpu.max", "max 100000"}});
  CHECK(free.limits().memory == Root({}).limits().memory);
  CHECK(free.limits().cpus == Root({}).limits().cpus);
}

TEST_CASE("cgroups of version 1 limit memory and CPUs, whether controllers share a folder or not") {
  const Root apart({{"/proc/self/cgroup", "4:memory:/a\n1:cpu:/a"},
                    {"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2147483648"},
                    {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000"},
                    {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"}});
  CHECK(apart.limits().memory == kOfTwo);
  CHECK(apart.limits().cpus == 1);  // half of one
  const Root shared({{"/proc/self/cgroup", "4:cpu,cpuacct:/a"},
                     {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "100000"},
                     {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000"}});
  CHECK(shared.limits().cpus == 1);
  const Root free({{"/proc/self/cgroup", "4:memory:/\n1:cpu:/"},
                   {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"},
                   {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"},
                   {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}});
  CHECK(free.limits().memory == Root({}).limits().memory);
  CHECK(free.limits().cpus == Root({}).limits().cpus);
}

TEST_CASE("the groups around a cgroup limit it, and a container sees its own as the outermost") {
  const Root nested({{"/proc/self/cgroup", "0::/slice/service"},
                     {"/sys/fs/cgroup/slice/memory.max", "2147483648"},
                     {"/sys/fs/cgroup/slice/service/memory.max", "max"},
                     {"/sys/fs/cgroup/slice/cpu.max", "100000 100000"}});
  CHECK(nested.limits().memory == kOfTwo);
  CHECK(nested.limits().cpus == 1);
  const Root container({{"/proc/self/cgroup", "4:memory:/docker/0123456789ab"},
                        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648"}});
  CHECK(container.limits().memory == kOfTwo);
}

TEST_CASE("a hybrid of both versions has the limits of either") {
  const Root root({{"/proc/self/cgroup", "4:memory:/a\n0::/b"},
                   {"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2147483648"},
                   {"/sys/fs/cgroup/unified/b/cpu.max", "100000 100000"}});
  CHECK(root.limits().memory == kOfTwo);
  CHECK(root.limits().cpus == 1);
}

TEST_CASE("files that say something else limit nothing") {
  const Root root({{"/proc/self/cgroup", "nonsense\n0::/"},
                   {"/sys/fs/cgroup/memory.max", ""},
                   {"/sys/fs/cgroup/cpu.max", "a few"}});
  CHECK(root.limits().memory == Root({}).limits().memory);
  CHECK(root.limits().cpus == Root({}).limits().cpus);
}

TEST_CASE("the system names the processor and its own start, and says how large the caches are") {
  const std::string name = processor_name(), boot = boot_name();
  CHECK(name.find('\n') == std::string::npos);
  CHECK(!name.starts_with(' '));
  CHECK(boot.size() == 36);  // as a UUID
  CHECK(boot == boot_name());
  CHECK(last_cache_bytes() % 1024 == 0);
}
