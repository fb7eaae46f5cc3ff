// Loads any file: the first byte says of which format, the others are its content. See tools/check --long fuzzers.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "fuzz/host.h"

namespace {

constexpr const char* kExtensions[] = {"npy", "npz", "safetensors", "json", "csv", "png", "jpg"};
constexpr int kFormats = 7;

/// The files that are loaded, one of each format, which are removed at the end.
struct Files {
  std::string names[kFormats];
  Files() {
    for (int i = 0; i < kFormats; ++i) names[i] = "/tmp/tsl_fuzz_" + std::to_string(getpid()) + "." + kExtensions[i];
  }
  ~Files() {
    for (const std::string& name : names) std::remove(name.c_str());
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Files files;
  static tsl::fuzz::Host host(TSL_ALLOW_FILES);
  if (size == 0) return 0;
  const std::string& name = files.names[data[0] % kFormats];
  std::FILE* const file = std::fopen(name.c_str(), "wb");
  tsl::fuzz::require(file, "a file can be written");
  std::fwrite(data + 1, 1, size - 1, file);
  std::fclose(file);
  host.run("load(\"" + name + "\")");
  return 0;
}
