#include "base/platform/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace tsl::platform {

namespace {

// A process that exceeds its cgroup's memory is killed, so a part of it is left for everything that is no tensor: 1/16.
constexpr uint64_t kShareOfOthers = 16;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> number_in(const std::string& text) {
  std::istringstream in(text);
  double value = 0;
  if (in >> value) return value;  // not "max"
  return std::nullopt;
}

/// Whether a list of names, separated by commas, has a name.
bool has_name(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == name) return true;
    list.remove_prefix(std::min(list.size(), first.size() + 1));
  }
  return false;
}

/// The cgroups of this process, each with the groups around it: they limit it, too.
class Cgroups {
 public:
  explicit Cgroups(const std::string& root) : root_(root) {
    std::ifstream file(root + "/proc/self/cgroup");  // "4:cpu,cpuacct:/a/b" (version 1), "0::/a/b" (version 2)
    for (std::string line; std::getline(file, line);) {
      const size_t first = line.find(':'), second = line.find(':', first + 1);
      if (second == std::string::npos) continue;
      lines_.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
    }
  }

  /// Calls visit(folder) for each folder of a controller, with whether it is of version 2.
  void for_each(std::string_view controller, const std::function<void(const std::string&, bool)>& visit) const {
    for (const Line& line : lines_) {
      const bool is_unified = line.controllers.empty();
      if (!is_unified && !has_name(line.controllers, controller)) continue;
      for (const std::string& mount : is_unified ? unified_mounts() : mounts_of(line.controllers, controller))
        visit_up(mount, line.path, [&](const std::string& folder) { visit(folder, is_unified); });
    }
  }

 private:
  struct Line {
    std::string controllers, path;
  };

  std::vector<std::string> unified_mounts() const {
    return {root_ + "/sys/fs/cgroup", root_ + "/sys/fs/cgroup/unified"};
  }
  std::vector<std::string> mounts_of(const std::string& controllers, std::string_view controller) const {
    return {root_ + "/sys/fs/cgroup/" + controllers, root_ + "/sys/fs/cgroup/" + std::string(controller)};
  }

  /// Visits the group and those around it. A container sees its own group as the mount, whatever its path.
  static void visit_up(const std::string& mount, std::string path,
                       const std::function<void(const std::string&)>& visit) {
    while (!path.empty() && path != "/") {
      visit(mount + path);
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    visit(mount);
  }

  std::string root_;
  std::vector<Line> lines_;
};

double cpu_quota(const Cgroups& cgroups) {
  double least = std::numeric_limits<double>::infinity();
  cgroups.for_each("cpu", [&](const std::string& folder, bool is_unified) {
    std::optional<double> quota, period;
    if (is_unified) {  // "50000 100000" or "max 100000"
      const std::string line = first_line(folder + "/cpu.max");
      quota = number_in(line);
      if (quota) period = number_in(line.substr(std::min(line.find(' '), line.size())));
    } else {
      quota = number_in(first_line(folder + "/cpu.cfs_quota_us"));  // -1: none
      period = number_in(first_line(folder + "/cpu.cfs_period_us"));
    }
    if (quota && period && *quota > 0 && *period > 0) least = std::min(least, *quota / *period);
  });
  return least;
}

double memory_limit_of(const Cgroups& cgroups) {
  double least = std::numeric_limits<double>::infinity();
  cgroups.for_each("memory", [&](const std::string& folder, bool is_unified) {
    const std::optional<double> limit =
        number_in(first_line(folder + (is_unified ? "/memory.max" : "/memory.limit_in_bytes")));
    if (limit && *limit > 0) least = std::min(least, *limit);
  });
  return least;
}

int cpus_of_affinity() {
  // A set may have more CPUs than cpu_set_t; then the machine's count stands.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

MachineLimits read_machine_limits(const std::string& root) {
  const Cgroups cgroups(root);
  MachineLimits limits;
  limits.cpus = cpus_of_affinity();
  const double quota = std::ceil(cpu_quota(cgroups));
  if (quota < limits.cpus) limits.cpus = std::max(1, static_cast<int>(quota));
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
  limits.memory = pages > 0 && page_size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size)
                                             : std::numeric_limits<int64_t>::max();
  const double memory = memory_limit_of(cgroups);
  if (memory < static_cast<double>(limits.memory)) {
    const auto bytes = static_cast<uint64_t>(memory);
    limits.memory = bytes - bytes / kShareOfOthers;
  }
  return limits;
}

const MachineLimits& machine_limits() {
  static const MachineLimits limits = read_machine_limits();
  return limits;
}

uint64_t last_cache_bytes() {
  uint64_t kilobytes = 0;
  for (const char* level : {"3", "2"}) {
    std::ifstream file(std::string("/sys/devices/system/cpu/cpu0/cache/index") + level + "/size");
    if (file >> kilobytes) return kilobytes << 10;  // "32768K"
  }
  return 0;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  // bounded: what the system tells of the processor
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "";
}

std::string boot_name() { return first_line("/proc/sys/kernel/random/boot_id"); }

}  // namespace tsl::platform
