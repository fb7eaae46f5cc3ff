// Defines what a program asks of the machinery that runs it: profiles, named ranges, waiting, compiling anew.
#include "builtins/builtins.h"
#include "io/file_system.h"
#include "value/context.h"
#include "value/runtime.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value profile_builtin(Context& context, Args args) {
  const auto text = [&](size_t i, const char* what) {
    return args[i].is_nil() ? std::string() : expect_string(context, args[i], what);
  };
  ProfileRequest request;
  request.name = text(1, "name");
  request.trace_file = text(2, "to");
  request.sort = text(3, "sort");
  request.group = text(4, "group");
  request.rows = expect_int(context, args[5], "rows");
  request.warmup = expect_int(context, args[6], "warmup");
  request.steps = args[7].is_nil() ? 0 : expect_int(context, args[7], "steps");
  if (!request.trace_file.empty()) require_permission(context.permissions().files, "files");
  require_path(request.trace_file, "to");
  if (request.steps > 0) require_permission(context.permissions().clock, "the clock");
  return context.runtime().profile(args[0], request);
}

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

Value stop_now(Context& context, std::span<Value>) {
  context.stop_at_breakpoint();
  return Value();
}

Value breakpoint_builtin(Context& context, Args) {
  context.runtime().abort_trace("breakpoint() stops the program in it");
  return context.runtime().effect(stop_now, {});
}

constexpr Builtin kObserveRows[] = {
    with_effect({"breakpoint", "breakpoint()",
                 "stops the program for a prompt that sees its variables: `:continue` goes on, `:where` shows the "
                 "calls, `:up` and `:down` go through them. From then on everything is interpreted. In a host program "
                 "it does nothing",
                 breakpoint_builtin, "host"}),
    with_effect(
        {"profile",
         "profile(f: fn, name: str | nil = nil, to: str | nil = nil, sort: str = \"time\", "
         "group: str = \"launch\", rows: int in 0.. = 10, warmup: int in 0.. = 0, "
         "steps: int | nil in 1.. = nil)",
         "calls f, and logs what took how long; returns its result. f is called `warmup` times before, and "
         "`steps` times if that is given:\nthen the result is a record of the profile, with the last result of f "
         "as `result`. `to` is a file for a trace",
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

std::span<const Builtin> observe_builtins() { return kObserveRows; }

}  // namespace tsl
