// Defines what a program asks of the machinery that runs it: profiles, named ranges, waiting, compiling anew.
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

Value recompile_builtin(Context& context, Args args) {
  context.runtime().recompile(args[0]);
  return Value();
}

Value wait_now(Context& context, std::span<Value>) {
  context.runtime().wait();
  return Value();
}

Value wait_builtin(Context& context, Args) { return context.runtime().effect(wait_now, {}); }

constexpr Builtin kRows[] = {
    with_effect({"profile", "profile(f: fn)", "calls f, and logs what took how long; returns its result",
                 profile_builtin, "host"}),
    with_effect({"with_range", "with_range(name: str, f: fn)",
                 "calls f as a named range of profiles and traces; returns its result", with_range_builtin, "host"}),
    with_effect(
        {"recompile", "recompile(f: fn | nil = nil)",
         "forgets what was compiled for a function and the loops in it, or for the whole program: the next call "
         "is compiled anew",
         recompile_builtin, "host"}),
    with_effect({"wait", "wait()",
                 "waits until all devices have done what they were given, as before reading the clock()", wait_builtin,
                 "host"}),
};

}  // namespace

std::span<const Builtin> observe_builtins() { return kRows; }

}  // namespace tsl
