// Recordings are plain data: rendering them needs no engine.
#include "report/explain.h"

using namespace tsl::report;

int main() {
  Recording recording;
  recording.regions.emplace_back().name = "f:1";
  return explain(recording, {}).find("f:1") != std::string::npos ? 0 : 1;
}
