// Values of the host program that programs pass on.
#include <fmt/format.h>

#include "api/host_memory.h"

using namespace tsl;
using namespace tsl::api;

tsl_status tsl_define_type(tsl_engine engine, tsl_type type, tsl_string name) {
  return run_call(engine, [=](Host& host) {
    require_pointer(type, "type");
    auto defined = std::make_unique<HostType>();
    defined->name = text_of(name, "name");
    defined->address = type;
    host.add_type(std::move(defined));
  });
}

tsl_status tsl_new_foreign(tsl_engine engine, tsl_type type, void* data, tsl_release_function release,
                           tsl_value* result) {
  Release on_failure(release, data);
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    auto value = make_ref<Foreign>(&host.type(type));
    value->data = data;
    value->finalizer = release;
    on_failure.dismiss();
    host.put(result, Value(std::move(value)));
  });
}

tsl_status tsl_get_foreign(tsl_engine engine, tsl_value value, tsl_type type, void** data) {
  return run_call(engine, [=](Host& host) {
    require_pointer(data, "data");
    const Value& given = host.value(value, "value");
    const HostType* const wanted = type ? &host.type(type) : nullptr;
    if (!given.is(Tag::foreign) || (wanted && given.as<Foreign>().type != wanted))
      throw Misuse{fmt::format("'value' is {}, not {}", type_name(given), wanted ? wanted->name : "one of the host's")};
    *data = original_of(given).as<Foreign>().data;
  });
}
