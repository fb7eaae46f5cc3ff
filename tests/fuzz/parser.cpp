// Parses and formats any text: libFuzzer looks for one that crashes. See tools/check --long parser.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "syntax/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tsl::SourceMap sources;
  tsl::Interner names;
  const uint32_t id = sources.add("fuzz.tsl", std::string(reinterpret_cast<const char*>(data), size));
  try {
    tsl::parse(sources, id, names);
  } catch (const tsl::Failure&) {  // most texts are no programs
  }
  return 0;
}
