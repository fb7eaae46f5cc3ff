// Tests that hosts have the program's options: by name in C and C++, and the reports that they ask for.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "api.h"
#include "engine/option_table.h"
#include "tsl/tsl.hpp"

using namespace tsl::api_test;
namespace fs = std::filesystem;

namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

/// An engine with named options.
struct Named : Fixture {
  explicit Named(const Options& options)
      : Fixture([given = rows(options)](tsl_config& config) {
          config.capabilities = TSL_ALLOW_COMPILE;
          config.options = given.data();
          config.option_count = given.size();
        }) {}

  static std::vector<tsl_option> rows(const Options& options) {
    std::vector<tsl_option> out;
    for (const auto& [name, value] : options) out.push_back({str(name), str(value)});
    return out;
  }
};

/// Returns why an engine with one option cannot be made; "" if it can.
std::string refusal(const std::string& name, const std::string& value, uint32_t capabilities = TSL_ALLOW_COMPILE) {
  tsl_config config;
  tsl_config_init(&config);
  const tsl_option option = {str(name), str(value)};
  config.capabilities = capabilities;
  config.options = &option;
  config.option_count = 1;
  tsl_engine engine = {0};
  if (tsl_engine_create(&config, &engine) == TSL_OK) {
    tsl_engine_destroy(engine);
    return "";
  }
  tsl_error error = {};
  REQUIRE(tsl_get_error({0}, &error) == TSL_OK);
  return text_of(error.message);
}

/// Returns the folder of a function's specialisation in a dump; "" if there is none.
std::string folder_of(const std::string& dump, const std::string& function) {
  if (!fs::exists(dump)) return "";
  for (const fs::directory_entry& entry : fs::directory_iterator(dump)) {
    if (entry.path().filename().string().starts_with(function + ".")) return entry.path().string();
  }
  return "";
}

std::string fresh_folder(const std::string& name) {
  const fs::path folder = fs::temp_directory_path() / "tsl_test_options" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a host may set each option of the program by its name", "[api]") {
  const std::string folder = fresh_folder("each");
  for (const tsl::EngineOption& option : tsl::engine_options()) {
    const std::string name = option.name.substr(2);
    INFO(name);
    const bool takes_any_text = option.value == "FILE" || option.value == "DIR" || option.value == "DEVICE";
    if (!takes_any_text) { CHECK(refusal(name, "\n").find(name + ": ") != std::string::npos); }
    std::string value = option.value.substr(0, option.value.find('|'));
    if (value == "N") value = "2";
    else if (value == "SIZE") value = "1.5GiB";
    else if (value == "DEVICE") value = "cpu";
    else if (value == "FILE" || value == "DIR") value = folder + "/" + name;
    else if (value.find("TOPIC") == 0) value = "perf";
    else if (value.empty()) value = "on";
    CHECK(refusal(name, value) == "");
    if (option.form == tsl::EngineOption::Form::flag) { CHECK(refusal(name, "off") == ""); }
  }
}

TEST_CASE("an option that is none is refused with the nearest, and a wrong value with what it may be", "[api]") {
  CHECK(refusal("tf23", "on") == "'config.options': there is no option 'tf23'; did you mean 'tf32'?");
  CHECK(refusal("--tf32", "on") == "'config.options': there is no option '--tf32'; did you mean 'tf32'?");
  CHECK(refusal("tf32", "yes") == "'config.options': tf32: 'yes' is not on or off");
  CHECK(refusal("numerics", "") == "'config.options': numerics: '' is not exact or fast");
  CHECK(refusal("threads", "many") == "'config.options': threads: 'many' is not a number of threads, from 0 to 9999");
  CHECK(refusal("memory-limit", "5 apples").find("'5 apples' is not a size") != std::string::npos);
  CHECK(refusal("dump", "/proc/no/folder").find("cannot make the folder /proc/no/folder") == 0);
  CHECK(refusal("profile", "/proc/no/trace.json").find("cannot write /proc/no/trace.json") == 0);
  tsl_config config;
  tsl_config_init(&config);
  config.option_count = 1;
  tsl_engine engine = {0};
  CHECK(tsl_engine_create(&config, &engine) == TSL_MISUSE);  // no array
  config.struct_size = offsetof(tsl_config, options);        // a program that was built before there were options
  CHECK(tsl_engine_create(&config, &engine) == TSL_OK);
  tsl_engine_destroy(engine);
}

TEST_CASE("options permit nothing that the capabilities do not", "[api]") {
  CHECK(refusal("compile", "on", 0) == "'config.options': 'compile' needs TSL_ALLOW_COMPILE");
  CHECK(refusal("device", "cuda").find("the host program does not allow") == 0);
  Fixture plain([](tsl_config& config) {
    static const tsl_option option = {str("no-compile"), str("off")};
    config.options = &option;
    config.option_count = 1;
  });
  tsl_string text = {};
  REQUIRE(tsl_explain(plain.engine, {0}, &text) == TSL_OK);
  plain.eval("@compile\nfn f(x) = x * 2.0\nf(ones([2]))");
  REQUIRE(tsl_explain_json(plain.engine, &text) == TSL_OK);
  const nlohmann::json regions = nlohmann::json::parse(text_of(text))["regions"];
  REQUIRE(regions.size() == 1);  // it says why it is interpreted
  CHECK(regions[0]["limits"].size() == 1);
  CHECK(regions[0]["specialisations"].empty());
}

TEST_CASE("compile compiles everything, and check-nan and warn do what they do in the program", "[api]") {
  const auto regions = [](const Options& options) {
    Named t(options);
    tsl_string text = {};
    REQUIRE(tsl_explain_json(t.engine, &text) == TSL_OK);  // begins to record
    t.eval("fn f(x) = x * 2.0 + 1.0\nf(ones([4]))\nf(ones([4]))");
    REQUIRE(tsl_explain_json(t.engine, &text) == TSL_OK);
    return nlohmann::json::parse(text_of(text))["regions"].size();
  };
  CHECK(regions({}) == 0);
  CHECK(regions({{"compile", "on"}}) == 1);
  CHECK(regions({{"compile", "on"}, {"compile", "off"}}) == 0);  // the last one counts
  CHECK(Named(Options{}).run("log(zeros([2]) - 1.0)") == TSL_OK);
  CHECK(Named(Options{{"check-nan", "on"}}).run("log(zeros([2]) - 1.0)") == TSL_VALUE);
  const char* const warned = "let d = ones([4, 1]) - ones([4])\nlet l = norm(d)";
  CHECK(Named(Options{}).run(warned) == TSL_OK);
  CHECK(Named(Options{{"warn", "error"}}).run(warned) != TSL_OK);
}

TEST_CASE("reports of an engine are written when it asks for them, and at its end", "[api]") {
  const std::string folder = fresh_folder("reports");
  const std::string dump = folder + "/dump", trace = folder + "/trace.json", json = folder + "/profile.json";
  std::string shown;
  {
    Named t({{"dump", dump},
             {"profile", trace},
             {"profile-json", json},
             {"timings", "on"},
             {"numerics", "fast"},
             {"tf32", "on"},
             {"portable", "on"},
             {"cuda-graphs", "off"}});
    t.eval("@compile\nfn f(x) = x * 2.0 + 1.0\nf(ones([4]))");
    CHECK(folder_of(dump, "f") == "");
    REQUIRE(tsl_write_reports(t.engine) == TSL_OK);
    CHECK(fs::exists(folder_of(dump, "f") + "/02-graph.txt"));
    const std::string key = read_file(dump + "/version.txt");
    for (const char* line :
         {"numerics fast\n", "tf32 on\n", "portable on\n", "cuda-graphs off\n", "compile annotated\n"})
      CHECK(key.find(line) != std::string::npos);
    CHECK(read_file(trace).find("k_mul_add") != std::string::npos);
    CHECK(nlohmann::json::parse(read_file(json)).contains("version"));
    CHECK(t.printed.find("profile of <host>") != std::string::npos);
    CHECK(t.printed.find("f:2#0") != std::string::npos);  // in the timings
    tsl_string text = {};
    REQUIRE(tsl_profile_text(t.engine, &text) == TSL_OK);
    CHECK(text_of(text).find("k_mul_add") != std::string::npos);
    t.eval("@compile\nfn later(x) = x - 1.0\nlater(ones([4]))");
    t.printed.clear();
    REQUIRE(tsl_engine_destroy(t.engine) == TSL_OK);
    t.engine = {0};
    shown = t.printed;
  }
  CHECK(shown.find("profile of <host>") != std::string::npos);
  CHECK(folder_of(dump, "later") != "");
  CHECK(read_file(trace).find("k_sub") != std::string::npos);
}

TEST_CASE("an engine whose reports cannot be written ends all the same, and says so", "[api]") {
  const std::string folder = fresh_folder("lost");
  Named t({{"profile-json", folder + "/profile.json"}});
  t.eval("1 + 1");
  fs::remove_all(folder);
  CHECK(tsl_write_reports(t.engine) == TSL_IO);
  CHECK(tsl_engine_destroy(t.engine) == TSL_IO);
  tsl_error error = {};
  REQUIRE(tsl_get_error({0}, &error) == TSL_OK);
  CHECK(text_of(error.message).find("cannot write " + folder) == 0);
  CHECK(tsl_engine_destroy(t.engine) == TSL_MISUSE);
}

TEST_CASE("a profile that a host has begun is formatted as text before it ends", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
  tsl_string text = {};
  CHECK(tsl_profile_text(t.engine, &text) == TSL_MISUSE);
  REQUIRE(tsl_profile_start(t.engine) == TSL_OK);
  t.eval("@compile\nfn f(x) = x * 2.0 + 1.0\nf(ones([4]))");
  REQUIRE(tsl_profile_text(t.engine, &text) == TSL_OK);
  CHECK(text_of(text).find("profile of <host>") == 0);
  REQUIRE(tsl_profile_stop(t.engine, &text) == TSL_OK);
  CHECK(t.printed.empty());
}

TEST_CASE("a C++ program sets options by name, and asks for the reports", "[api]") {
  const std::string folder = fresh_folder("cpp");
  auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE,
                                     .options = {{"compile", "on"}, {"dump", folder + "/dump"}, {"profile", "on"}}})
                    .value();
  engine.run("fn f(x) = x * 2.0 + 1.0\nf(ones([4]))").value();
  CHECK(engine.profile_text().value().find("profile of <host>") == 0);
  engine.write_reports().value();
  CHECK(folder_of(folder + "/dump", "f") != "");
  const auto refused = tsl::Engine::create({.options = {{"numeric", "fast"}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "'config.options': there is no option 'numeric'; did you mean 'numerics'?");
}
