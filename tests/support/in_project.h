// Runs a test in the project's folder, where scripts find their files.
#pragma once

#include <filesystem>

namespace tsl {

class InProject {
 public:
  InProject() { std::filesystem::current_path(TSL_SOURCE_DIR); }
  ~InProject() { std::filesystem::current_path(before_); }
  InProject(const InProject&) = delete;
  InProject& operator=(const InProject&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

}  // namespace tsl
