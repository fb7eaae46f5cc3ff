// Recordings are plain data: rendering them needs no engine.
#include "report/recording.h"

using namespace tsl::report;

int main() {
  Recording recording;
  const int declaration = 0;
  recording.region(&declaration).name = "f:1";
  return recording.region(&declaration).name == "f:1" && to_string(Location{"a.tsl", 2, ""}) == "a.tsl:2" ? 0 : 1;
}
