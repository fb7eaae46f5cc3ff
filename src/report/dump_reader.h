// Opens dump folders, to run their kernels again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/plan_reader.h"

namespace tsl::report {

/// A specialisation of a dump, with the launches that were asked for.
struct DumpedPlan {
  std::string folder;  // its name in the dump: "step.3fa2c1d0"
  StoredPlan stored;
  std::vector<uint32_t> launches;
  std::string kernel;                              // the kernel that was asked for; "": all
  std::map<std::string, std::string> edited = {};  // files of kernels that are not as the dump wrote them, by name
};

struct OpenedDump {
  std::map<std::string, std::string> key;  // what compiled code depends on: "device" is "cuda:0"
  std::vector<DumpedPlan> plans;
};

/// Whether a kernel was asked for: by its name, or by the readable part of it.
bool is_named(const std::string& kernel, const std::string& wanted);

/// Opens a dump or a part of it: DIR, DIR/SPECIALISATION, DIR/KERNEL, DIR/SPECIALISATION/KERNEL, or the path of a
/// kernel's file. A specialisation is "step:12#0", "step.12.0", or each of "step". With "@64x32" behind it, only
/// specialisations with an input of this shape count. Throws Failure (io) for what is no dump, is damaged, has another
/// format, or lacks the part.
OpenedDump open_dump(const std::string& path);

}  // namespace tsl::report
