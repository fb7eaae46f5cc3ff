// Unwinds frames after errors.
#include "base/count_work.h"
#include "base/error_names.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/runtime.h"
#include "vm/instructions.h"
#include "vm/interpreter.h"

namespace tsl {

namespace {

Span span_of(const Frame& frame) { return frame.proto->spans[frame.pc_index()]; }

/// Whether an instruction has arguments in the source. Others that note a place are operations: it is their operator.
bool has_arguments(Opcode op) {
  return op == Opcode::call || op == Opcode::call_named || op == Opcode::method || op == Opcode::method_named ||
         op == Opcode::format;
}

/// Returns the span of the running call's argument at a position, or of its name, or of the operator, else that of the
/// instruction.
Span span_of(const Frame& frame, int argument, bool of_name = false) {
  const int position = has_arguments(frame.pc->op) ? argument : 0;
  const Span span = frame.proto->argument_span(frame.pc_index(), position, of_name);
  return span.valid() ? span : span_of(frame);
}

/// Whether the name of an argument is wrong, and not its value.
bool is_about_name(const Error& error) {
  return error.name == ErrorName::unknown_parameter || error.name == ErrorName::argument_given_twice;
}

/// Returns the shape of the call that a frame runs; null if all arguments are positional.
const CallShape* call_shape_of(const Frame& frame) {
  const Instruction& call = *frame.pc;
  const bool has_names = call.op == Opcode::call_named || call.op == Opcode::method_named;
  return has_names ? &frame.proto->call_shapes[call.b] : nullptr;
}

/// Returns the position of the argument for a callee's parameter in the call that `caller` runs; -1 if it is not given.
int argument_of(const Frame& caller, const Signature& callee, const std::string& parameter) {
  const bool is_method = caller.pc->op == Opcode::method || caller.pc->op == Opcode::method_named;
  const bool is_member = is_method && (caller.flags & Frame::kMember);
  const CallShape* shape = call_shape_of(caller);
  if (shape && is_member) ++shape;  // the one without the object
  const size_t given = shape ? shape->count() : caller.pc->b - (is_member ? 1u : 0u);
  const int at = argument_position(callee, parameter, given, shape);
  return at < 0 ? at : at + is_member;
}

int argument_of(const Frame& caller, const Frame& callee, const std::string& parameter) {
  const bool is_from_builtin = (callee.flags & Frame::kEntry) && !(callee.flags & Frame::kRegion);
  return is_from_builtin ? -1 : argument_of(caller, callee.proto->signature, parameter);
}

/// Whether a frame runs a call of a builtin, which stands where its result would.
bool calls_builtin(const Frame& frame) {
  return has_arguments(frame.pc->op) && frame.pc->op != Opcode::format && frame.base[frame.pc->a].is(Tag::builtin);
}

const BuiltinFunction& callee(const Frame& frame) { return frame.base[frame.pc->a].as<BuiltinFunction>(); }

/// Whether an operator or a conversion has refused a complex number.
bool is_about_complex(const Error& error) {
  const std::string& message = error.message;
  return error.kind() == ErrorKind::type && (message.starts_with("cannot ") || message.starts_with("'")) &&
         message.find("complex") != std::string::npos && message.find(" must be ") == std::string::npos;
}

/// Names the library function that was called in place of the function that it uses: "mean: axis 7 is …" and not
/// "sum: axis 7 is …". Drops hints about values that the caller does not see.
void name_function(Error& error, const std::string& function, const Builtins& builtins, Interner& names) {
  const size_t end = error.message.find_first_of(":' ");
  const std::string first = error.message.substr(0, end);
  const bool is_form = function.starts_with(kComplexForm);  // of complex numbers, which has no name of its own
  const std::string shown = is_form ? function.substr(kComplexForm.size()) : function;
  if (end == std::string::npos || first == shown) return;
  if (is_about_complex(error)) {
    error.message = fmt::format("{} does not take complex numbers", shown);
    error.hints.clear();
    return;
  }
  const bool is_prefix = error.message.compare(end, 2, ": ") == 0 || error.message.compare(end, 3, "'s ") == 0 ||
                         error.message.compare(end, 15, " does not take ") == 0;
  if (!is_prefix || !builtins.contains(names.find(first))) return;
  error.message.replace(0, end, shown);
  if (error.kind() != ErrorKind::index) error.hints.clear();
}

constexpr int64_t kUnwindWork = 1000;  // of a frame or a handler: throwing takes most of it

/// Returns the handler of the frame that covers its current instruction.
const Handler* handler_of(const Frame& frame) {
  const uint32_t pc = frame.pc_index();
  for (const Handler& handler : frame.proto->handlers) {
    if (handler.begin <= pc && pc < handler.end) return &handler;
  }
  return nullptr;
}

}  // namespace

/// Adds the position and the calls to an error, when it first gets here. Frames of the standard library are left out:
/// to users, its functions look like builtins.
void Interpreter::locate(Error& error) const {
  if (error.is_located) return;
  error.is_located = true;
  if (error.argument < 0 && !error.parameter.empty() && !frames_.empty()) {
    const Frame& last = frames_[frames_.size() - 1];
    if (calls_builtin(last))
      error.argument = argument_of(last, context_.builtins().signature(callee(last)), error.parameter);
  }
  const Frame* library = nullptr;  // that runs the function which the program called
  for (size_t i = frames_.size(); i-- > 0;) {
    const Frame& frame = frames_[i];
    if (frame.proto->is_library) {
      // The error is about a parameter of this function: the caret is under the argument for it.
      const bool is_about = i > 0 && !error.span.valid() && !error.parameter.empty();
      error.argument = is_about ? argument_of(frames_[i - 1], frame, error.parameter) : -1;
      library = &frame;
      continue;
    }
    if (library && !error.span.valid()) {
      name_function(error, library->proto->display_name(), context_.builtins(), context_.names());
    }
    if (!error.span.valid()) error.span = span_of(frame, error.argument, is_about_name(error));
    else error.called_from.push_back({frame.proto->display_name(), span_of(frame)});
  }
}

Failure Interpreter::lack_of_memory() const {
  Failure failure(Error{ErrorName::out_of_memory, "out of memory", {}, {}, {}});
  locate(failure.error());
  return failure;
}

/// Locates a failure, and continues at its handler. Returns false if the run has none. If there is no memory to
/// describe the failure, it becomes one of memory, unless nothing may catch it. Whatever is thrown, the frames of the
/// run are gone.
bool Interpreter::recovers(const Run& run, Failure& failure) {
  try {
    try {
      const bool is_new = !failure.error().is_located;
      locate(failure.error());
      if (is_new) hooks_->failed(failure);
      return unwind(run, failure);
    } catch (const std::bad_alloc&) {
      if (!failure.error().is_final) failure = lack_of_memory();
      return unwind(run, failure);
    }
  } catch (...) {
    drop_frames(run);
    throw;
  }
}

/// Pops frames until one catches the failure, and continues it at its handler. Returns false if the run ends first; its
/// frames are then gone.
bool Interpreter::unwind(const Run& run, const Failure& failure) {
  const bool can_be_caught = !failure.error().is_final;
  for (;;) {
    Frame& frame = *frames_.top();
    if (can_be_caught) count_work(kUnwindWork + static_cast<int64_t>(frame.proto->handlers.size()));
    const Handler* handler = can_be_caught ? handler_of(frame) : nullptr;
    const bool is_body = &frame == run.body_frame;
    if (handler && is_body && (handler->handler < run.begin || handler->handler >= run.end)) handler = nullptr;
    if (handler) {
      hooks_->error_caught(failure.error().kind());
      frame.base[handler->reg] =
          handler->holds_failure ? Value(make_ref<vm::HeldFailure>(failure)) : error_record(failure.error());
      frame.pc = frame.proto->code.data() + handler->handler;
      return true;
    }
    if (is_body) return false;
    for (Value* v = frame.base - 1; v < frame.end(); ++v) vm::clear(*v);
    frames_.pop();
    if (frames_.size() == run.entry) return false;
  }
}

void Interpreter::drop_frames(const Run& run) {
  while (frames_.size() > run.entry && frames_.top() != run.body_frame) {
    Frame& frame = *frames_.top();
    for (Value* v = frame.base - 1; v < frame.end(); ++v) vm::clear(*v);
    frames_.pop();
  }
}

Origin Interpreter::origin() const {
  ComposedWork work = ComposedWork::none;
  for (size_t i = frames_.size(); i-- > 0;) {
    const Proto& proto = *frames_[i].proto;
    if (!proto.is_library) return {span_of(frames_[i]), false, work};
    if (work == ComposedWork::none) work = proto.work;
  }
  return {};
}

DType Interpreter::reals() const {
  for (size_t i = frames_.size(); i-- > 0;) {
    if (!frames_[i].proto->is_library) return frames_[i].proto->reals;
  }
  return DType::f32;
}

std::vector<CallSite> Interpreter::calls(size_t begin, size_t end) const {
  std::vector<CallSite> out;
  for (size_t i = end; i-- > begin;) {
    const Frame& frame = frames_[i];
    if (frame.proto->is_library) continue;
    const Span span = out.empty() ? span_of(frame, -1) : span_of(frame);  // as locate() does
    out.push_back({frame.proto->display_name(), span});
  }
  return out;
}

const Proto* Interpreter::whole_function(size_t depth) const {
  for (size_t i = frames_.size(); i-- > depth;) {
    if (frames_[i].proto->request.whole) return frames_[i].proto;
  }
  return nullptr;
}

bool Interpreter::is_guarded(size_t depth, const Loop* body) const {
  for (size_t i = frames_.size(); i-- > depth;) {
    const Handler* handler = handler_of(frames_[i]);
    const bool is_outside =
        body && i == depth && handler && (handler->handler < body->begin || handler->handler >= body->end);
    if (handler && !is_outside) return true;
  }
  return false;
}

Value Interpreter::error_record(const Error& error) const {
  Interner& names = context_.names();
  const Source& source = context_.sources().get(error.span.source);
  const bool has_place = error.span.valid();
  const int64_t line = has_place ? source.line_of(error.span.begin) : 0;
  return make_record({{names.intern("kind"), make_string(std::string(error.kind_text()))},
                      {names.intern("name"), make_string(std::string(name_of(error.name)))},
                      {names.intern("message"), make_string(error.message)},
                      {names.intern("line"), Value(line)},
                      {names.intern("file"), make_string(has_place ? source.name() : std::string())}});
}

void Interpreter::out_of_steps() {
  set_step_limit(0);
  hooks_->out_of_steps();
}

}  // namespace tsl
