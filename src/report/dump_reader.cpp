#include "report/dump_reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"
#include "report/dump_format.h"

namespace tsl::report {

namespace fs = std::filesystem;

namespace {

/// The parts of a path to something in a dump. Empty parts: all of them.
struct Selection {
  fs::path dump;
  std::string specialisation, kernel;
};

/// Splits a path at the innermost dump that it is in, whether or not the rest exists.
Selection select(const std::string& path) {
  fs::path dump = fs::path(path).lexically_normal();
  if (!dump.has_filename()) dump = dump.parent_path();
  std::vector<std::string> rest;
  for (; !is_dump(dump.string()); dump = dump.parent_path()) {
    if (dump.empty() || dump == dump.root_path())
      fail_with(ErrorKind::io, fmt::format("{} is not in a dump of tsl", path),
                {"`tsl --dump DIR SCRIPT` writes a dump, and `tsl bench DIR/KERNEL` runs a kernel of it"});
    rest.insert(rest.begin(), dump.filename().string());
  }
  if (dump.empty()) dump = ".";
  Selection out{dump, "", ""};
  std::erase(rest, "kernels");
  if (!rest.empty() && (rest.size() > 1 || fs::is_directory(dump / rest[0]))) {
    out.specialisation = rest[0];
    rest.erase(rest.begin());
  }
  if (!rest.empty()) out.kernel = rest.back();
  for (const char* extension : {".cu", ".txt"}) {
    const size_t size = out.kernel.size() - std::min(out.kernel.size(), std::string_view(extension).size());
    if (out.kernel.substr(size) == extension) out.kernel.resize(size);
  }
  return out;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) fail(ErrorKind::io, "cannot read {}", path.string());
  return text.str();
}

/// Reads the cache key. Fails for a dump of another format.
std::map<std::string, std::string> read_key(const fs::path& dump) {
  std::istringstream lines(read_file(dump / kVersionFile));
  std::string line;
  std::getline(lines, line);
  if (const std::string ours = fmt::format("{} {}", kMagic, kFormat); line != ours)
    fail(ErrorKind::io, "{} says \"{}\", but this tsl reads \"{}\": dump again with this tsl",
         (dump / kVersionFile).string(), line, ours);
  std::map<std::string, std::string> key;
  while (std::getline(lines, line)) {
    const size_t space = std::min(line.find(' '), line.size());
    key[line.substr(0, space)] = line.substr(std::min(space + 1, line.size()));
  }
  return key;
}

std::vector<std::string> specialisations_of(const fs::path& dump) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(dump)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

[[noreturn]] void fail_unknown(const char* what, const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest_name(name, names);
  std::vector<std::string> notes;
  if (!near.empty()) notes.push_back(fmt::format("did you mean '{}'?", near));
  else if (!names.empty()) notes.push_back(fmt::format("it has {}", fmt::join(names, ", ")));
  fail_with(ErrorKind::io, fmt::format("the dump has no {} '{}'", what, name), std::move(notes));
}

}  // namespace

OpenedDump open_dump(const std::string& path) {
  const Selection wanted = select(path);
  OpenedDump out;
  out.key = read_key(wanted.dump);
  std::vector<std::string> names = specialisations_of(wanted.dump), kernels;
  if (!wanted.specialisation.empty()) {
    if (std::find(names.begin(), names.end(), wanted.specialisation) == names.end())
      fail_unknown("specialisation", wanted.specialisation, names);
    names = {wanted.specialisation};
  }
  for (const std::string& name : names) {
    const fs::path file = wanted.dump / name / kPlanFile;
    if (!fs::exists(file)) continue;  // too large to be dumped
    DumpedPlan plan{name, read_plan(read_file(file), file.string()), {}, wanted.kernel};
    for (const StoredPlan::Kernel& kernel : plan.stored.kernels) {
      kernels.push_back(kernel.name);
      if (!wanted.kernel.empty() && kernel.name != wanted.kernel) continue;
      if (plan.launches.empty() || plan.launches.back() != kernel.launch) plan.launches.push_back(kernel.launch);
    }
    if (!plan.launches.empty()) out.plans.push_back(std::move(plan));
  }
  if (out.plans.empty() && !wanted.kernel.empty()) fail_unknown("kernel", wanted.kernel, kernels);
  if (out.plans.empty()) fail(ErrorKind::io, "the dump in {} has no kernels", wanted.dump.string());
  return out;
}

}  // namespace tsl::report
