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
  std::string kernel;  // the kernel that was asked for; "": all
};

struct OpenedDump {
  std::map<std::string, std::string> key;  // what compiled code depends on: "device" is "cuda:0"
  std::vector<DumpedPlan> plans;
};

/// Opens a dump or a part of it: DIR, DIR/SPECIALISATION, DIR/KERNEL, DIR/SPECIALISATION/KERNEL, or the path of a
/// kernel's file. Throws Failure (io) for what is no dump, is damaged, has another format, or lacks the part.
OpenedDump open_dump(const std::string& path);

}  // namespace tsl::report
