// Profiles are made of timelines: showing them needs neither an engine nor a backend.
#include "profile/profile_table.h"

using namespace tsl;

int main() {
  report::Profile profile;
  exec::Timeline timeline(profile);
  timeline.flush();
  const SourceMap sources;
  const std::string text = report::profile_text({timeline, profile, sources, "nothing", {}, false, nullptr});
  return text.find("profile of nothing") == 0 ? 0 : 1;
}
