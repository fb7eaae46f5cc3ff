// The options of the program that say how an engine runs, by their names. The command line, its help and the host
// programs of the API take them from here; an option of a backend is a row of exec/backend_options.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tsl {

struct EngineOptions;

struct EngineOption {
  /// How it is written on the command line: --name, --name VALUE, or --name and --name=FILE. By its name alone, a flag
  /// is `on` or `off`, and a flag_or_file that or a file.
  enum class Form : uint8_t { flag, value, flag_or_file };

  std::string name;   // "--numerics"
  const char* group;  // the heading above it in --help
  Form form;
  std::string value;  // what stands for its value: "N", "exact|fast"
  std::string text;   // what --help says
  /// Reads a value into options. Returns what is wrong with it, or "".
  std::function<std::string(EngineOptions& options, const std::string& value)> read;
};

/// Returns all of them, in the order of --help.
const std::vector<EngineOption>& engine_options();

/// Sets an option by its name without dashes. Returns what is wrong with name or value, or "".
std::string set_option(EngineOptions& options, std::string_view name, const std::string& value);

/// Returns what is wrong with a size in memory, or "".
std::string check_memory_size(const std::string& size);

}  // namespace tsl
