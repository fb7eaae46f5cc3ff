#include "prompt/stopped_program.h"

#include <unordered_set>

#include <fmt/format.h>

#include "base/error_names.h"
#include "engine/engine.h"
#include "vm/interpreter.h"

namespace tsl::prompt {

StoppedProgram::StoppedProgram(Engine& engine) : engine_(engine) {
  const FrameStack& frames = engine.interpreter().frames();
  for (size_t i = frames.size(); i-- > 0;) {
    if (!frames[i].proto->is_library) frames_.push_back(i);
  }
  outer_ = engine.exchange_prompt(std::make_unique<Prompt>(engine));
  show_variables();
}

StoppedProgram::~StoppedProgram() { engine_.exchange_prompt(std::move(outer_)); }

void StoppedProgram::move(int steps) {
  const auto wanted = static_cast<int64_t>(at_) + steps;
  if (wanted < 0) fail(ErrorName::wrong_command_argument, "this is the innermost call");
  if (wanted >= static_cast<int64_t>(frames_.size()))
    fail(ErrorName::wrong_command_argument, "this is the outermost call");
  at_ = static_cast<size_t>(wanted);
  show_variables();
}

/// Makes the variables of the call visible, behind those of the prompt around the program.
void StoppedProgram::show_variables() {
  Prompt& prompt = engine_.prompt();
  prompt.reset();
  for (const Name name : outer_->names()) {
    if (*name != "_") prompt.declare(name, *outer_->find(name));
  }
  if (frames_.empty()) return;
  prompt.use(engine_.interpreter().frames()[frames_[at_]].proto->reals);
  const std::vector<LiveVariable> variables = engine_.interpreter().variables_of(frames_[at_]);
  std::vector<std::pair<Name, Value>> copies;  // entries move what the variables refer to
  for (const LiveVariable& each : variables) {
    if (each.value && !each.value->is(Tag::absent)) copies.emplace_back(each.name, *each.value);
  }
  for (auto& [name, value] : copies) prompt.declare(name, std::move(value));
}

std::string StoppedProgram::location_text(size_t frame) const {
  const Frame& at = engine_.interpreter().frames()[frame];
  return fmt::format("{}, {}", at.proto->display_name(), engine_.sources().location(at.proto->spans[at.pc_index()]));
}

std::string StoppedProgram::place() const {
  if (frames_.empty()) return "outside all calls\n";
  const Frame& at = engine_.interpreter().frames()[frames_[at_]];
  const Span span = at.proto->spans[at.pc_index()];
  const Source& source = engine_.sources().get(span.source);
  const uint32_t line = source.line_of(span.begin);
  return fmt::format("in {}\n{:>4} | {}\n", location_text(frames_[at_]), line, source.line(line));
}

std::string StoppedProgram::calls() const {
  std::string text;
  for (size_t i = 0; i < frames_.size(); ++i)
    text += fmt::format("{} {}\n", i == at_ ? "->" : "  ", location_text(frames_[i]));
  return text;
}

}  // namespace tsl::prompt
