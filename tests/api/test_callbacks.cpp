// Tests what the host program supplies: modules, memory, threads; and the reports that it reads.
#include <cstdlib>
#include <map>
#include <thread>

#include <nlohmann/json.hpp>

#include "api.h"

using namespace tsl::api_test;

namespace {

/// What the callbacks of a configuration share.
struct Supplies {
  std::map<std::string, std::string> modules;
  std::string asked;  // for modules
  uint64_t allocated = 0, freed = 0;
  uint64_t loops = 0, tasks = 0;
  std::string printed;
};

bool load_module(void* user, tsl_string name, tsl_string importer, tsl_write found, void* to) {
  auto& supplies = *static_cast<Supplies*>(user);
  supplies.asked += text_of(name) + " for " + text_of(importer) + "; ";
  const auto module = supplies.modules.find(text_of(name));
  if (module == supplies.modules.end()) return false;
  found(to, str(module->second));
  return true;
}

void* allocate(void* user, size_t bytes, size_t alignment) {
  static_cast<Supplies*>(user)->allocated += bytes;
  return std::aligned_alloc(alignment, bytes);
}

void deallocate(void* user, void* data, size_t bytes) {
  static_cast<Supplies*>(user)->freed += bytes;
  std::free(data);
}

void run_tasks(void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
  auto& supplies = *static_cast<Supplies*>(user);
  ++supplies.loops;
  supplies.tasks += count;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back([=] { task(context, i); });
  for (std::thread& each : threads) each.join();
}

void note(void* user, tsl_string text) { static_cast<Supplies*>(user)->printed += text_of(text); }

/// An engine whose configuration has `supplies` as its user.
struct Supplied : Fixture {
  Supplied(Supplies& supplies, void (*configure)(tsl_config&))
      : Fixture([&](tsl_config& config) {
          config.user = &supplies;
          config.output = config.diagnostics = note;
          configure(config);
        }) {}
};

nlohmann::json parse(tsl_string text) { return nlohmann::json::parse(text_of(text)); }

}  // namespace

TEST_CASE("the host gives the sources of modules, once for each name", "[api]") {
  Supplies supplies;
  supplies.modules["rules"] = "import base\nfn rate() = base.one() + 1.0\nprint(\"loaded\")";
  supplies.modules["base"] = "fn one() = 1.0";
  supplies.modules["./wrong.tsl"] = "let = 1";
  Supplied t(supplies, [](tsl_config& config) {
    config.load_module = load_module;
    config.source_limit = 100;
  });
  CHECK(t.text(t.eval("import rules\nrules.rate()")) == "2.0");
  CHECK(t.text(t.eval("import rules as again\nagain.rate()")) == "2.0");
  CHECK(supplies.printed == "loaded\n");
  CHECK(supplies.asked.find("base for rules; ") != std::string::npos);
  CHECK(t.run("import \"./wrong.tsl\" as wrong") == TSL_SYNTAX);
  CHECK(t.run("import missing") == TSL_IO);
  supplies.modules["long"] = std::string(101, ' ');
  CHECK(t.run("import long") == TSL_LIMIT);
}

TEST_CASE("a host that says it has a module must give it", "[api]") {
  Supplies supplies;
  Supplied t(supplies, [](tsl_config& config) {
    config.load_module = [](void*, tsl_string, tsl_string, tsl_write, void*) { return true; };
  });
  CHECK(t.run("import empty") == TSL_IO);
  CHECK(t.message() == "the host's module 'empty' has no source");
}

TEST_CASE("tensors are in memory of the host's functions, and all of it is freed", "[api]") {
  Supplies supplies;
  {
    Supplied t(supplies, [](tsl_config& config) {
      config.allocate = allocate;
      config.deallocate = deallocate;
    });
    t.eval("let x = ones([1000])");
    CHECK(supplies.allocated >= 4000);
    tsl_string json = {nullptr, 0};
    REQUIRE(tsl_memory_json(t.engine, str("cpu"), &json) == TSL_OK);
    CHECK(parse(json)["live"].get<uint64_t>() >= 4000);
    CHECK(parse(json)["device"] == "cpu");
  }
  CHECK(supplies.allocated == supplies.freed);
}

TEST_CASE("a host without memory left is an error of the script", "[api]") {
  Supplies supplies;
  Supplied t(supplies, [](tsl_config& config) {
    config.allocate = [](void*, size_t bytes, size_t alignment) -> void* {
      return bytes > 100000 ? nullptr : std::aligned_alloc(alignment, bytes);
    };
    config.deallocate = [](void*, void* data, size_t) { std::free(data); };
  });
  CHECK(t.run("let x = ones([1000000])") == TSL_MEMORY);
  CHECK(t.run("let y = ones([10])") == TSL_OK);
  tsl_config config;
  tsl_config_init(&config);
  config.allocate = allocate;
  tsl_engine engine = {0};
  CHECK(tsl_engine_create(&config, &engine) == TSL_MISUSE);
}

TEST_CASE("ops run on the host's threads, with the same results", "[api]") {
  Supplies supplies;
  Supplied t(supplies, [](tsl_config& config) {
    config.run_tasks = run_tasks;
    config.threads = 3;
  });
  CHECK(t.text(t.eval("let x = ones([400, 400])\nsum(matmul(x, x)).item()")) == "64000000.0");
  CHECK(supplies.loops > 0);
  CHECK(supplies.tasks <= 3 * supplies.loops);
}

TEST_CASE("a profile is of what runs between its start and its end", "[api]") {
  Fixture t;
  tsl_string json = {nullptr, 0};
  CHECK(tsl_profile_stop(t.engine, &json) == TSL_MISUSE);
  REQUIRE(tsl_profile_start(t.engine) == TSL_OK);
  CHECK(tsl_profile_start(t.engine) == TSL_MISUSE);
  t.eval("let x = sum(ones([100, 100]) * 2.0)");
  REQUIRE(tsl_profile_stop(t.engine, &json) == TSL_OK);
  CHECK(parse(json).dump().find("mul") != std::string::npos);
  REQUIRE(tsl_profile_start(t.engine) == TSL_OK);
  REQUIRE(tsl_profile_stop(t.engine, &json) == TSL_OK);
  CHECK(parse(json).dump().find("mul") == std::string::npos);
  CHECK(tsl_profile_stop(t.engine, nullptr) == TSL_MISUSE);
  CHECK(tsl_profile_start({0}) == TSL_MISUSE);
  t.eval("ones([2]) * 2.0");
}

TEST_CASE("code that reads a variable of an earlier text is explained", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
  tsl_string text = {nullptr, 0};
  REQUIRE(tsl_explain(t.engine, {0}, &text) == TSL_OK);
  t.eval("    let far = ones([3]) + 1.0");  // no code of this text remains, and so its source does not
  t.eval("@compile fn f(x) = x + far\nf(ones([3]))");
  REQUIRE(tsl_explain(t.engine, t.get("f"), &text) == TSL_OK);
  CHECK(text_of(text).find("1 kernel") != std::string::npos);
}

TEST_CASE("what was compiled is explained in words and as JSON", "[api]") {
  Fixture t([](tsl_config& config) {
    config.capabilities = TSL_ALLOW_COMPILE;
    config.logs = str("graph");
  });
  tsl_string text = {nullptr, 0};
  REQUIRE(tsl_explain(t.engine, {0}, &text) == TSL_OK);
  t.eval("@compile\nfn scale(x) = x * 2.0 + 1.0\nfor i in 0..4 { scale(ones([8])) }");
  REQUIRE(tsl_explain(t.engine, t.get("scale"), &text) == TSL_OK);
  CHECK(text_of(text).find("scale") != std::string::npos);
  REQUIRE(tsl_explain_json(t.engine, &text) == TSL_OK);
  CHECK(parse(text).dump().find("scale") != std::string::npos);
  CHECK(t.printed.find("[graph] scale:") != std::string::npos);
  CHECK(tsl_explain(t.engine, t.number(1), &text) == TSL_MISUSE);
  CHECK(tsl_explain(t.engine, {1}, &text) == TSL_MISUSE);
  CHECK(tsl_explain(t.engine, {0}, nullptr) == TSL_MISUSE);
  CHECK(tsl_memory_json(t.engine, str("vulkan"), &text) == TSL_DEVICE);
  tsl_config config;
  tsl_config_init(&config);
  config.logs = str("nothing");
  tsl_engine engine = {0};
  CHECK(tsl_engine_create(&config, &engine) == TSL_MISUSE);
}

TEST_CASE("a host that does not allow compiling is told of functions that ask for it", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = 0; });
  t.eval("@compile\nfn scale(x) = x * 2.0\nfor i in 0..3 { scale(ones([2])) }");
  const std::string told =
      "scale has @compile, but this is interpreted: the host program does not allow it to be compiled";
  CHECK(t.printed.find(told) != std::string::npos);
  CHECK(t.printed.find(told) == t.printed.rfind(told));
  CHECK(t.printed.find("TSL_ALLOW_COMPILE") != std::string::npos);
}
