// Reports: profiles, what was compiled, and memory.
#include <nlohmann/json.hpp>

#include "api/host.h"
#include "api/host_memory.h"
#include "report/explain.h"
#include "value/runtime.h"

using namespace tsl;
using namespace tsl::api;

namespace {

void require_rest(Host& host) {
  if (host.engine().is_running()) throw Misuse{"a script is running"};
}

void require_profile(Host& host) {
  require_rest(host);
  if (!host.engine().is_profiling()) throw Misuse{"there is no profile"};
}

}  // namespace

tsl_status tsl_profile_start(tsl_engine engine) {
  return run_call(engine, [&](Host& host) {
    require_rest(host);
    if (host.engine().is_profiling()) throw Misuse{"there is a profile already"};
    host.engine().start_profile();
  });
}

tsl_status tsl_profile_stop(tsl_engine engine, tsl_string* json) {
  return format_text(engine, json, [&](Host& host) {
    require_profile(host);
    return host.engine().stop_profile(kTitle);
  });
}

tsl_status tsl_profile_text(tsl_engine engine, tsl_string* text) {
  return format_text(engine, text, [&](Host& host) {
    require_profile(host);
    return host.engine().profile_text(kTitle, false);
  });
}

tsl_status tsl_write_reports(tsl_engine engine) {
  return run_call(engine, [&](Host& host) {
    require_rest(host);
    host.write_reports();
  });
}

tsl_status tsl_explain(tsl_engine engine, tsl_value function, tsl_string* text) {
  return format_text(engine, text, [&](Host& host) {
    const Value value = function.id == 0 ? Value() : host.value(function, "function");
    if (!value.is_nil() && !value.is(Tag::function) && !value.is(Tag::builtin))
      throw Misuse{fmt::format("'function' is {}, not a function", type_name(value))};
    return host.engine().runtime().explain(value, false);
  });
}

tsl_status tsl_explain_json(tsl_engine engine, tsl_string* json) {
  return format_text(engine, json, [&](Host& host) {
    host.engine().start_recording();
    return report::explain_json(*host.engine().recording());
  });
}

tsl_status tsl_memory_json(tsl_engine engine, tsl_string device, tsl_string* json) {
  return format_text(engine, json, [&](Host& host) {
    const Device of = device_of(host, device);
    const Counters counters = host.engine().runtime().counters(of);
    return nlohmann::ordered_json{{"device", to_string(of)},
                                  {"live", counters.memory},
                                  {"peak", counters.memory_peak},
                                  {"cached", counters.memory_cached}}
        .dump();
  });
}
