// A host of plug-ins: each is a script with an engine of its own, which may do nothing but compute and call what the
// host gives it. One that fails is left out, and the others go on.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <tsl/tsl.hpp>

namespace {

const std::map<std::string, std::string> kSources = {
    {"louder", "called(\"Louder\")\nfn apply(samples) = clamp(samples * 2.0, -1.0, 1.0)"},
    {"echo", "called(\"Echo\")\nfn apply(samples) = samples + 0.5 * roll(samples, 2)"},
    {"curious", "called(\"Curious\")\nfn apply(samples) = load(\"/etc/passwd\")"},
    {"broken", "called(\"Broken\")\nfn apply(samples) = samples + ones([3])"},
    {"nameless", "fn apply(samples) = sampels"},
};

class Plugin {
 public:
  /// Loads a plug-in, or throws what is wrong with it.
  Plugin(const std::string& name, const std::string& source)
      : engine_(tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE, .memory_limit = 1 << 24, .time_limit = 0.5})
                    .value()) {
    engine_.def("called(text: str)", [this](const std::string& text) { title_ = text; }).value();
    engine_.run(source, name).value();
    apply_ = engine_.get("apply").value();
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  const std::string& title() const { return title_; }

  /// Changes samples in place, or returns what went wrong and leaves them alone.
  std::string apply(std::vector<float>& samples) const {
    const auto size = static_cast<int64_t>(samples.size());
    const auto done = engine_.call_into(std::span(samples), {size}, apply_, samples);
    return done ? "" : done.error().message;
  }

 private:
  std::string title_ = "a plug-in without a title";
  tsl::Engine engine_;
  tsl::Value apply_;
};

}  // namespace

int main() {
  std::vector<float> samples = {0.25f, 0, 0, 0, 0.75f, 0};
  for (const auto& [name, source] : kSources) {
    try {
      const Plugin plugin(name, source);
      const std::string problem = plugin.apply(samples);
      std::printf("%s: %s\n", plugin.title().c_str(), problem.empty() ? "done" : problem.c_str());
    } catch (const tsl::Exception& failure) {
      std::printf("%s is left out: %s\n", name.c_str(), failure.error().message.c_str());
    }
  }
  for (const float sample : samples) std::printf("%.3g ", static_cast<double>(sample));
  std::puts("");
  return 0;
}
