// Defines what shows a program what it did: profiles and named ranges.
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/runtime.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value profile_builtin(Context& context, Args args) { return context.runtime().profile(args[0]); }

Value with_range_builtin(Context& context, Args args) {
  return context.runtime().with_range(expect_string(context, args[0], "name"), args[1]);
}

constexpr Builtin kRows[] = {
    with_effect({"profile", "profile(f: fn)", "calls f, and logs what took how long; returns its result",
                 profile_builtin, "host"}),
    with_effect({"with_range", "with_range(name: str, f: fn)",
                 "calls f as a named range of profiles and traces; returns its result", with_range_builtin, "host"}),
};

}  // namespace

std::span<const Builtin> observe_builtins() { return kRows; }

}  // namespace tsl
