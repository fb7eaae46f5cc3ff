#include "report/dump_reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include <fmt/format.h>

#include "base/error_names.h"
#include "report/dump_format.h"

namespace tsl::report {

namespace fs = std::filesystem;

namespace {

/// The parts of a path to something in a dump. Empty parts: all of them.
struct Selection {
  fs::path dump;
  std::string specialisation, kernel;
  std::string shape;  // "64x32"
};

/// Splits "step@64x32" at the last @. Returns what follows it, if that is a shape.
std::string take_shape(std::string& name) {
  const size_t at = name.rfind('@');
  if (at == std::string::npos) return "";
  std::string shape = name.substr(at + 1);
  name.resize(at);
  for (char& c : shape) c = c == ',' ? 'x' : c;
  std::erase_if(shape, [](char c) { return c == ' ' || c == '[' || c == ']'; });
  if (shape.find_first_not_of("0123456789x") != std::string::npos)
    fail(ErrorName::malformed_shape, "'{}' is no shape, such as 64x32", shape);
  return shape;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const Dim& extent : shape) text += fmt::format("{}{}", text.empty() ? "" : "x", extent.hint());
  return text;
}

void drop_extension(std::string& name) {
  for (const char* extension : {".cu", ".txt"}) {
    if (name.ends_with(extension)) name.resize(name.size() - std::string_view(extension).size());
  }
}

/// Returns the name of the specialisation in a folder, "step:12#0", which the first line of each of its files has.
std::string name_in(const fs::path& folder) {
  std::ifstream file(folder / kGuardsFile);
  std::string line;
  std::getline(file, line);
  const size_t end = line.find(": ");
  return line.starts_with("# ") && end != std::string::npos ? line.substr(2, end - 2) : "";
}

/// Returns the folders of a dump in the order of the program.
std::vector<std::string> specialisations_of(const fs::path& dump) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(dump)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  const auto key = [&](const std::string& folder) {  // "step:2#10" is after "step:2#9"
    const std::string name = name_in(dump / folder);
    return std::tuple(name.substr(0, name.find(':')), name.size(), name, folder);
  };
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) { return key(a) < key(b); });
  return names;
}

/// Whether a folder is of what is asked for: "step", "step.3fa2c1d0", "step:12" or "step:12#0".
bool is_of(const fs::path& dump, const std::string& folder, const std::string& wanted) {
  if (folder == wanted || folder.starts_with(wanted + ".")) return true;
  if (wanted.find(':') == std::string::npos) return false;
  const std::string name = name_in(dump / folder);
  return name == wanted || name.starts_with(wanted + "#");
}

/// Splits a path at the innermost dump that it is in, whether or not the rest exists.
Selection select(const std::string& path) {
  fs::path dump = fs::path(path).lexically_normal();
  if (!dump.has_filename()) dump = dump.parent_path();
  std::vector<std::string> rest;
  for (; !is_dump(dump.string()); dump = dump.parent_path()) {
    if (dump.empty() || dump == dump.root_path())
      fail_with(ErrorName::no_dump, fmt::format("{} is not in a dump of tsl", path),
                {"`tsl --dump DIR SCRIPT` writes a dump, and `tsl bench DIR/KERNEL` runs a kernel of it"});
    rest.insert(rest.begin(), dump.filename().string());
  }
  if (dump.empty()) dump = ".";
  Selection out{dump, "", "", ""};
  std::erase(rest, "kernels");
  if (rest.empty()) return out;
  out.shape = take_shape(rest.back());
  const std::vector<std::string> names = specialisations_of(dump);
  const auto is_first = [&](const std::string& name) { return is_of(dump, name, rest[0]); };
  if (rest.size() > 1 || std::any_of(names.begin(), names.end(), is_first)) {
    out.specialisation = rest[0];
    rest.erase(rest.begin());
  }
  if (!rest.empty()) out.kernel = rest.back();
  drop_extension(out.kernel);
  return out;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) fail(ErrorName::cannot_read_file, "cannot read {}", path.string());
  return text.str();
}

/// Reads the cache key. Fails for a dump of another format.
std::map<std::string, std::string> read_key(const fs::path& dump) {
  std::istringstream lines(read_file(dump / kVersionFile));
  std::string line;
  std::getline(lines, line);
  if (const std::string ours = fmt::format("{} {}", kMagic, kFormat); line != ours)
    fail(ErrorName::dump_of_other_version, "{} says \"{}\", but this tsl reads \"{}\": dump again with this tsl",
         (dump / kVersionFile).string(), line, ours);
  std::map<std::string, std::string> key;
  while (std::getline(lines, line)) {
    const size_t space = std::min(line.find(' '), line.size());
    key[line.substr(0, space)] = line.substr(std::min(space + 1, line.size()));
  }
  return key;
}

[[noreturn]] void fail_unknown(const char* what, const std::string& name, std::vector<std::string> names) {
  constexpr size_t kMost = 12;
  const std::string near = nearest_name(name, names);
  std::vector<std::string> notes;
  if (names.size() > kMost) {
    names.resize(kMost);
    names.emplace_back("…");
  }
  if (!near.empty()) notes.push_back(fmt::format("did you mean '{}'?", near));
  else if (!names.empty()) notes.push_back(fmt::format("it has {}", fmt::join(names, ", ")));
  fail_with(ErrorName::not_in_dump, fmt::format("the dump has no {} '{}'", what, name), std::move(notes));
}

/// Whether a plan has an input of a shape; notes the shapes that it has.
bool has_input(const graph::Plan& plan, const std::string& shape, std::vector<std::string>& shapes) {
  bool is_found = false;
  for (const graph::NodeId id : plan.graph.inputs()) {
    const std::string text = shape_text(plan.graph[id].shape);
    is_found |= text == shape;
    if (std::find(shapes.begin(), shapes.end(), text) == shapes.end()) shapes.push_back(text);
  }
  return is_found;
}

/// Reads the files of the kernels that were edited.
void read_edited(DumpedPlan& plan, const fs::path& folder) {
  for (const StoredPlan::Kernel& kernel : plan.stored.kernels) {
    const fs::path file = folder / "kernels" / (kernel.name + ".cu");
    if (!fs::exists(file)) continue;
    if (std::string text = read_file(file); is_edited(text)) plan.edited[kernel.name] = std::move(text);
  }
}

/// Returns the names by which a part of a dump may be asked for: of specialisations, functions and kernels.
std::vector<std::string> part_names(const std::vector<std::string>& folders, const std::vector<std::string>& kernels) {
  std::vector<std::string> names = folders;
  for (const std::string& folder : folders) names.push_back(folder.substr(0, folder.find('.')));
  for (const std::string& kernel : kernels) {
    names.push_back(kernel);
    names.push_back(kernel.substr(0, kernel.rfind("__")));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

bool is_named(const std::string& kernel, const std::string& wanted) {
  return kernel == wanted || kernel.starts_with(wanted + "__");
}

OpenedDump open_dump(const std::string& path) {
  const Selection wanted = select(path);
  OpenedDump out;
  out.key = read_key(wanted.dump);
  const std::vector<std::string> names = specialisations_of(wanted.dump);
  std::vector<std::string> folders, kernels, shapes;
  std::copy_if(names.begin(), names.end(), std::back_inserter(folders), [&](const std::string& name) {
    return wanted.specialisation.empty() || is_of(wanted.dump, name, wanted.specialisation);
  });
  if (folders.empty() && !names.empty()) fail_unknown("specialisation", wanted.specialisation, part_names(names, {}));
  for (const std::string& name : folders) {
    const fs::path file = wanted.dump / name / kPlanFile;
    if (!fs::exists(file)) continue;  // too large to be dumped
    DumpedPlan plan{name, read_plan(read_file(file), file.string()), {}, wanted.kernel, {}};
    for (const StoredPlan::Kernel& kernel : plan.stored.kernels) kernels.push_back(kernel.name);
    if (!wanted.shape.empty() && !has_input(plan.stored.plan, wanted.shape, shapes)) continue;
    read_edited(plan, wanted.dump / name);
    for (const StoredPlan::Kernel& kernel : plan.stored.kernels) {
      if (!wanted.kernel.empty() && !is_named(kernel.name, wanted.kernel)) continue;
      if (plan.launches.empty() || plan.launches.back() != kernel.launch) plan.launches.push_back(kernel.launch);
    }
    if (!plan.launches.empty()) out.plans.push_back(std::move(plan));
  }
  const auto is_wanted = [&](const std::string& kernel) { return is_named(kernel, wanted.kernel); };
  if (!wanted.kernel.empty() && std::none_of(kernels.begin(), kernels.end(), is_wanted))
    fail_unknown("kernel", wanted.kernel, part_names(wanted.specialisation.empty() ? names : folders, kernels));
  if (out.plans.empty() && !wanted.shape.empty())
    fail_with(ErrorName::not_in_dump, fmt::format("the dump has no such part with an input of shape {}", wanted.shape),
              {fmt::format("there are {}", fmt::join(shapes, ", "))});
  if (out.plans.empty()) fail(ErrorName::not_in_dump, "the dump in {} has no kernels", wanted.dump.string());
  return out;
}

}  // namespace tsl::report
