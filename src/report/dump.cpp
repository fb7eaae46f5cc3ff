#include "report/dump.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error_names.h"
#include "report/dump_format.h"
#include "report/explain.h"

namespace tsl::report {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNvccOptions = "-std=c++17 -fmad=false --expt-relaxed-constexpr -cubin";

[[noreturn]] void fail_io(const char* what, const fs::path& path, const std::error_code& error) {
  fail(ErrorName::cannot_write_file, "cannot {} {}: {}", what, path.string(), error.message());
}

/// Hashes a text: FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Hashes the recorded graph of a specialisation, without line numbers: 8 digits.
std::string content_hash(const SpecialisationRecord& s) {
  std::string content;
  for (const StageText& stage : s.stages) {
    if (stage.name == kGraphStage) content += without_lines(stage.text);
  }
  const uint64_t hash = hash_of(content + s.sizes);
  return fmt::format("{:08x}", (hash ^ hash >> 32) & 0xffffffff);
}

/// Makes the name of a specialisation's folder, of its function and its content: "step.3fa2c1d0". Characters with a
/// meaning in shells or file systems are replaced.
std::string folder_name(const SpecialisationRecord& s) {
  std::string out;
  for (char c : s.name.substr(0, s.name.rfind(':'))) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || static_cast<signed char>(c) < 0;
    out += is_plain ? c : '_';
  }
  return (out.empty() ? "_" : out) + "." + content_hash(s);
}

/// Formats the uses of a kernel, as comments.
std::string kernel_comment(const SpecialisationRecord& s, const KernelRecord& kernel) {
  std::string text = fmt::format("// {}, launch {}: {}, {}\n", s.name, kernel.launch, kernel.category, kernel.types);
  const std::string facts = facts_of(kernel);
  if (!facts.empty()) text += fmt::format("// {}\n", facts);
  for (const OpRecord& op : kernel.ops) {
    text += fmt::format("// {}", to_string(op));
    if (!op.location.source.empty()) text += ": " + op.location.source;
    text += '\n';
  }
  return text;
}

std::string guards_text(const RegionRecord& region, const SpecialisationRecord& s) {
  std::string text = fmt::format("# {}: guards, of {}\n", s.name, to_string(region.location));
  for (const TraceRecord& trace : region.traces) text += fmt::format("trace: {}\n", trace.reason);
  for (const SegmentRecord& segment : region.segments) {
    if (segment.plans != s.plans) continue;
    text += fmt::format("segment {}, which ends with {}\n", segment.number, end_of(segment));
    for (const GuardRecord& guard : segment.guards) text += "  " + guard.text + "\n";
  }
  if (!s.sizes.empty()) text += fmt::format("sizes: {}\n", s.sizes);
  return text;
}

/// Formats the code of a kernel as a program that compiles alone.
std::string program_of(const KernelRecord& kernel) {
  const std::string program = fmt::format("{}\n// {}\n\n{}", kernel.prelude, kernel.symbol, kernel.code);
  return fmt::format(
             "//\n// This file compiles alone, by NVRTC or `nvcc {}`.\n"
             "// `tsl bench` runs it beside the original once it is edited.\n",
             kNvccOptions) +
         original_line(program) + program;
}

void write_kernels(const SpecialisationRecord& s, const fs::path& folder) {
  struct File {
    std::string comment, text;
  };
  std::map<std::string, File> files;  // of several launches of a kernel: the code once
  for (const KernelRecord& kernel : s.kernels) {
    File& file = files[kernel.symbol + (kernel.code.empty() ? ".txt" : ".cu")];
    if (kernel.code.empty()) file.text += (file.text.empty() ? "" : "\n") + kernel_comment(s, kernel) + kernel.ir;
    else file = {file.comment + kernel_comment(s, kernel), program_of(kernel)};
  }
  if (files.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_io("make", folder, error);
  for (const auto& [name, file] : files) write_file((folder / name).string(), file.comment + file.text);
}

void write_specialisation(const RegionRecord& region, const SpecialisationRecord& s, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_io("make", folder, error);
  const auto write = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) write_file((folder / name).string(), text);
  };
  for (const StageText& stage : s.stages) {
    const std::string title = fmt::format("# {}: {}\n", s.name, stage.name);
    write(stage.name + ".txt", title + stage.text);
  }
  write("guards.txt", guards_text(region, s));
  write("graph.dot", s.graphviz);
  write(kPlanFile, s.plan_json);
  write_kernels(s, folder / "kernels");
}

/// Lists what a folder has besides the parts of a dump: files of other names, and folders without a stage's file.
std::string foreign_file(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_symlink()) return name;
    if (entry.is_directory() ? !fs::exists(entry.path() / kGuardsFile) : name != kVersionFile && name != kReportFile)
      return name;
  }
  return "";
}

}  // namespace

std::string original_line(std::string_view text) { return fmt::format("{}{:016x}\n", kOriginal, hash_of(text)); }

bool is_edited(std::string_view file) {
  const size_t at = file.find(kOriginal), end = file.find('\n', at);
  if (at == std::string_view::npos || end == std::string_view::npos) return true;
  return file.substr(at, end + 1 - at) != original_line(file.substr(end + 1));
}

void write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file)
    fail(ErrorName::cannot_write_file, "cannot write {}: {}", path,
         errno != 0 ? std::strerror(errno) : "the file did not take all");
}

std::string without_lines(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    size_t end = i + 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (text[i] != ':' || end == i + 1) continue;
    const std::string_view before = text.substr(0, i);
    const bool is_line = before.ends_with(".tsl") || before.ends_with('>');  // of a script, <stdin> or <command line>
    const bool is_of_name = end < text.size() && text[end] == '#';           // step:12#0
    if (!is_line && !is_of_name) continue;
    out += '_';
    i = end - 1;
  }
  return out;
}

bool is_dump(const std::string& folder) {
  std::ifstream file(fs::path(folder) / kVersionFile);
  std::string line;
  return std::getline(file, line) && line.rfind(kMagic, 0) == 0;
}

void prepare_dump(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    fail_io("make the folder", folder, error ? error : std::make_error_code(std::errc::not_a_directory));
  try {
    if (!fs::is_empty(folder)) {
      if (!is_dump(folder))
        fail(ErrorName::file_in_the_way, "cannot dump to {}: the folder is not empty, and no dump of tsl", folder);
      if (const std::string other = foreign_file(folder); !other.empty())
        fail(ErrorName::file_in_the_way, "cannot replace the dump in {}: {} is no part of it", folder, other);
      for (const fs::directory_entry& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
    }
  } catch (const fs::filesystem_error& failure) { fail_io("empty", folder, failure.code()); }
  write_file((fs::path(folder) / kVersionFile).string(), fmt::format("{} {}\n", kMagic, kFormat));
}

void write_dump(const Recording& recording, const std::string& folder) {
  const fs::path root(folder);
  write_file((root / kVersionFile).string(), fmt::format("{} {}\n{}", kMagic, kFormat, recording.cache_key));
  std::set<std::string> used;
  for (const RegionRecord& region : recording.regions) {
    for (const SpecialisationRecord& s : region.specialisations) {
      const std::string plain = folder_name(s);
      std::string name = plain;  // functions of one name may record equal graphs
      for (int n = 2; !used.insert(name).second; ++n) name = fmt::format("{}-{}", plain, n);
      write_specialisation(region, s, root / name);
    }
  }
  write_file((root / kReportFile).string(), explain(recording, {.all = true}));
}

}  // namespace tsl::report
