#include "prompt/line_editor.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/platform/file_descriptor.h"
#include "base/platform/signals.h"
#include "base/platform/terminal.h"
#include "engine/engine.h"
#include "prompt/completion.h"
#include "prompt/entry_text.h"
#include "prompt/utf8_text.h"
#include "value/builtin.h"

namespace tsl::prompt {

namespace {

constexpr const char* kPrompt = ">>> ";
constexpr const char* kContinuation = "... ";
constexpr size_t kMostUndo = 1000;
// A signal may come just before poll(), or to a thread of the CPU backend: milliseconds until it is seen all the same.
constexpr int kSignalWait = 50;
constexpr int kPasteWait = 200;  // milliseconds without a byte, after which an interrupted paste is over
constexpr std::string_view kPasteEnd = "\033[201~";

// A signal handler can only set globals: the terminal has another size, or the program goes on after Ctrl-Z.
platform::SignalFlag was_resized = 0;
platform::SignalFlag was_continued = 0;

/// Lets signals about the terminal end a read() during a scope.
struct TerminalSignals {
  const platform::SignalScope resize{platform::Signal::resize, [](int) { was_resized = 1; }};
  const platform::SignalScope resume{platform::Signal::resume, [](int) { was_continued = 1; }};
};

/// Makes the terminal mark what is pasted during a scope.
class BracketedPaste {
 public:
  explicit BracketedPaste(const Screen& screen) : screen_(screen) { screen_.write("\033[?2004h"); }
  ~BracketedPaste() { screen_.write("\033[?2004l"); }
  BracketedPaste(const BracketedPaste&) = delete;
  BracketedPaste& operator=(const BracketedPaste&) = delete;

 private:
  const Screen& screen_;
};

size_t line_begin(std::string_view text, size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1: the first line
}

size_t line_end(std::string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

bool is_blank(std::string_view text) { return text.find_first_not_of(' ') == std::string_view::npos; }

}  // namespace

// ---- Keys ------------------------------------------------------------------------------------------

LineEditor& LineEditor::of(EditLine* editor) {
  void* self = nullptr;
  el_wget(editor, EL_CLIENTDATA, &self);
  return *static_cast<LineEditor*>(self);
}

template <LineEditor::Action action> unsigned char LineEditor::call(EditLine* editor, int key) {
  LineEditor& self = of(editor);
  self.last_key_ = key;
  return (self.*action)();
}

void LineEditor::bind_keys() {
  struct Ours {
    const wchar_t* name;
    unsigned char (*action)(EditLine*, int);
    std::vector<const wchar_t*> keys;
  };
  const Ours ours[] = {
      {L"tsl-enter", &call<&LineEditor::enter>, {L"^M", L"^J"}},
      {L"tsl-newline", &call<&LineEditor::insert_newline>, {L"\\e^M", L"\\e^J"}},
      {L"tsl-close", &call<&LineEditor::close_bracket>, {L")", L"]", L"}"}},
      {L"tsl-erase", &call<&LineEditor::erase>, {L"^H", L"^?"}},
      {L"tsl-complete", &call<&LineEditor::complete>, {L"^I"}},
      {L"tsl-up", &call<&LineEditor::up>, {L"\\e[A", L"\\eOA", L"^P"}},
      {L"tsl-down", &call<&LineEditor::down>, {L"\\e[B", L"\\eOB", L"^N"}},
      {L"tsl-begin", &call<&LineEditor::to_line_begin>, {L"^A", L"\\e[H", L"\\eOH", L"\\e[1~"}},
      {L"tsl-end", &call<&LineEditor::to_line_end>, {L"^E", L"\\e[F", L"\\eOF", L"\\e[4~"}},
      {L"tsl-right", &call<&LineEditor::right>, {L"\\e[C", L"\\eOC"}},
      {L"tsl-paste", &call<&LineEditor::paste>, {L"\\e[200~"}},
      {L"tsl-pasted", &call<&LineEditor::ignore>, {L"\\e[201~"}},  // the end of a paste that was interrupted
      {L"tsl-undo", &call<&LineEditor::undo>, {L"^_"}},
      {L"tsl-clear", &call<&LineEditor::clear>, {L"^L"}},
      {L"tsl-delete", &call<&LineEditor::delete_or_leave>, {L"^D", L"\\e[3~"}},
  };
  for (const Ours& row : ours) {
    el_wset(editor_, EL_ADDFN, row.name, row.name, row.action);
    for (const wchar_t* key : row.keys) el_wset(editor_, EL_BIND, key, row.name, nullptr);
  }
  // libedit takes the letters of Latin 1 for those keys with Alt that set a byte's highest bit. (Alt sends Escape
  // before a key here, which is bound by itself.)
  for (wchar_t c = 0x80; c <= 0xFF; ++c) {
    const wchar_t key[] = {c, 0};
    el_wset(editor_, EL_BIND, key, L"ed-insert", nullptr);
  }
  constexpr const wchar_t* kOfLibedit[][2] = {
      {L"\\e[D", L"ed-prev-char"},    {L"\\eOD", L"ed-prev-char"},     {L"\\e[1;5C", L"em-next-word"},
      {L"\\e[1;5D", L"ed-prev-word"}, {L"^W", L"ed-delete-prev-word"}, {L"^R", L"em-inc-search-prev"},
      {L"^S", L"em-inc-search-next"},
  };
  for (const auto& [key, name] : kOfLibedit) el_wset(editor_, EL_BIND, key, name, nullptr);
}

unsigned char LineEditor::enter() {
  const EditState now = state();
  if (!is_complete(now.text)) return insert_newline();
  move_to(now.text.size());
  insert("\n");  // libedit takes an empty text for the end of the input
  return CC_NEWLINE;
}

unsigned char LineEditor::insert_newline() {
  const EditState now = state();
  insert("\n" + std::string(indentation_after(now.text.substr(0, now.cursor)), ' '));
  return CC_REFRESH;
}

/// Inserts a bracket. At the beginning of a line it belongs under the line that has its partner.
unsigned char LineEditor::close_bracket() {
  const EditState now = state();
  const size_t begin = line_begin(now.text, now.cursor), blanks = now.cursor - begin;
  const size_t inner = indentation_after(now.text.substr(0, now.cursor));
  if (is_blank(now.text.substr(begin, blanks)) && inner >= kIndent && blanks > inner - kIndent)
    el_wdeletestr(editor_, static_cast<int>(blanks - (inner - kIndent)));
  insert(std::string(1, static_cast<char>(last_key_)));
  return CC_REFRESH;
}

unsigned char LineEditor::erase() {
  const EditState now = state();
  if (now.cursor == 0) return CC_ERROR;
  const size_t begin = line_begin(now.text, now.cursor), blanks = now.cursor - begin;
  const bool is_indented = blanks >= kIndent && is_blank(now.text.substr(begin, blanks));
  el_wdeletestr(editor_, is_indented ? static_cast<int>(kIndent) : 1);
  return CC_REFRESH;
}

unsigned char LineEditor::complete() {
  const EditState now = state();
  const size_t begin = line_begin(now.text, now.cursor);
  if (is_blank(now.text.substr(begin, now.cursor - begin))) {
    insert(std::string(kIndent, ' '));
    return CC_REFRESH;
  }
  Completion completion;
  try {
    completion = prompt::complete(engine_, now.text, now.cursor);
  } catch (const Failure&) {}  // a module of the library that cannot be loaded has no names
  const std::string common = common_prefix(completion.candidates);
  const size_t typed = now.cursor - completion.begin;
  if (common.size() > typed) insert(common.substr(typed));
  else if (completion.candidates.size() > 1) below_ = columns_text(completion.candidates);
  return CC_REFRESH;
}

unsigned char LineEditor::up() { return move_line(true) ? CC_REFRESH : recall(true); }

unsigned char LineEditor::down() { return move_line(false) ? CC_REFRESH : recall(false); }

unsigned char LineEditor::to_line_begin() {
  const EditState now = state();
  move_to(line_begin(now.text, now.cursor));
  return CC_REFRESH;
}

unsigned char LineEditor::to_line_end() {
  const EditState now = state();
  if (take_suggestion(now)) return CC_REFRESH;
  move_to(line_end(now.text, now.cursor));
  return CC_REFRESH;
}

unsigned char LineEditor::right() {
  const EditState now = state();
  if (take_suggestion(now)) return CC_REFRESH;
  if (now.cursor == now.text.size()) return CC_ERROR;
  el_cursor(editor_, 1);
  return CC_REFRESH;
}

/// Inserts what the terminal marks as pasted, as it is: keys in it do nothing, and nothing runs before Enter.
unsigned char LineEditor::paste() {
  std::wstring pasted;
  const std::wstring end = to_wide(kPasteEnd);
  for (wchar_t c = 0; !pasted.ends_with(end); pasted += c) {
    if (el_wgetc(editor_, &c) == 1) continue;
    if (was_interrupted_) drop_paste();
    return CC_EOF;
  }
  pasted.resize(pasted.size() - end.size());
  std::string text = to_utf8(pasted);
  for (size_t at = 0; (at = text.find('\r', at)) != std::string::npos; ++at) {
    if (text.substr(at + 1, 1) == "\n") text.erase(at, 1);
    else text[at] = '\n';
  }
  insert(without_prompts(text));
  return CC_REFRESH;
}

/// Drops the rest of a paste, which would be taken for keys: until its end, or until nothing comes for a moment.
void LineEditor::drop_paste() {
  std::string dropped;
  char byte = 0;
  while (!dropped.ends_with(kPasteEnd) && has_input(kPasteWait) &&
         platform::read_some(platform::kStandardInput, &byte, 1) == 1)
    dropped += byte;
}

unsigned char LineEditor::ignore() { return CC_REFRESH; }

unsigned char LineEditor::undo() {
  if (undo_.size() < 2) return CC_ERROR;
  undo_.pop_back();
  set(undo_.back());
  return CC_REFRESH;
}

unsigned char LineEditor::clear() {
  screen_.clear();
  return CC_REFRESH;
}

unsigned char LineEditor::delete_or_leave() {
  const EditState now = state();
  if (now.text.empty()) return last_key_ == ('D' & 0x1F) ? CC_EOF : CC_ERROR;
  if (now.cursor == now.text.size()) return CC_ERROR;
  el_cursor(editor_, 1);
  el_wdeletestr(editor_, 1);
  return CC_REFRESH;
}

// ---- Text ------------------------------------------------------------------------------------------

EditState LineEditor::state() const {
  const LineInfoW& line = *el_wline(editor_);
  const std::wstring_view text(line.buffer, static_cast<size_t>(line.lastchar - line.buffer));
  return {to_utf8(text), to_utf8(text.substr(0, static_cast<size_t>(line.cursor - line.buffer))).size()};
}

void LineEditor::set(const EditState& state) {
  const LineInfoW& line = *el_wline(editor_);
  el_cursor(editor_, static_cast<int>(line.lastchar - line.cursor));
  el_wdeletestr(editor_, static_cast<int>(line.lastchar - line.buffer));
  insert(state.text);
  move_to(state.cursor);
}

void LineEditor::insert(std::string_view text) {
  if (!text.empty()) el_winsertstr(editor_, to_wide(text).c_str());
}

void LineEditor::move_to(size_t cursor) {
  const LineInfoW& line = *el_wline(editor_);
  const auto target = static_cast<ptrdiff_t>(to_wide(state().text.substr(0, cursor)).size());
  el_cursor(editor_, static_cast<int>(target - (line.cursor - line.buffer)));
}

/// Moves to the same column of the line above or below. Returns false if there is none.
bool LineEditor::move_line(bool is_up) {
  const EditState now = state();
  const size_t begin = line_begin(now.text, now.cursor), end = line_end(now.text, now.cursor);
  if (is_up ? begin == 0 : end == now.text.size()) return false;
  const size_t other = is_up ? line_begin(now.text, begin - 1) : end + 1;
  const size_t column = to_wide(now.text.substr(begin, now.cursor - begin)).size();
  const std::wstring line = to_wide(now.text.substr(other, line_end(now.text, other) - other));
  move_to(other + to_utf8(line.substr(0, column)).size());
  return true;
}

/// Returns how the newest entry goes on that begins with the text, if that is one line. Without colours, and within the
/// text, it could not be told from what was typed.
std::string LineEditor::suggestion(const EditState& state) const {
  if (!screen_.has_color() || state.text.empty() || state.cursor != state.text.size()) return "";
  const std::vector<std::string>& entries = history_.entries();
  const auto goes_on = [&](const std::string& entry) {
    return entry.size() > state.text.size() && entry.starts_with(state.text) &&
           entry.find('\n', state.text.size()) == std::string::npos;
  };
  const auto found = std::find_if(entries.rbegin(), entries.rend(), goes_on);
  return found == entries.rend() ? "" : found->substr(state.text.size());
}

bool LineEditor::take_suggestion(const EditState& state) {
  const std::string rest = suggestion(state);
  insert(rest);
  return !rest.empty();
}

/// Shows the next older or newer entry that begins with what was typed before the cursor.
unsigned char LineEditor::recall(bool is_older) {
  const std::vector<std::string>& entries = history_.entries();
  const EditState now = state();
  if (recalled_ >= entries.size() || now.text != shown_.text) {
    typed_ = now;
    recalled_ = entries.size();
  }
  const std::string prefix = typed_.text.substr(0, typed_.cursor);
  for (size_t i = recalled_; is_older ? i > 0 : i < entries.size();) {
    i += is_older ? -1 : 1;
    if (i < entries.size() && (!entries[i].starts_with(prefix) || entries[i] == now.text)) continue;
    recalled_ = i;
    shown_ = i < entries.size() ? EditState{entries[i], entries[i].size()} : typed_;
    set(shown_);
    return CC_REFRESH;
  }
  return CC_ERROR;
}

// ---- Terminal --------------------------------------------------------------------------------------

LineEditor::LineEditor(Engine& engine, History& history, bool color)
    : engine_(engine),
      history_(history),
      screen_(platform::kStandardOutput, color),
      nowhere_(std::fopen(platform::kNullFile, "w")),
      editor_(el_init_fd("tsl", stdin, nowhere_, nowhere_, platform::kStandardInput, platform::kStandardOutput,
                         platform::kStandardError)),
      searched_(history_winit()) {
  HistEventW event;
  history_w(searched_, &event, H_SETSIZE, static_cast<int>(2 * History::kMostEntries));
  for (const std::string& entry : history_.entries()) history_w(searched_, &event, H_ENTER, to_wide(entry).c_str());
  el_wset(editor_, EL_CLIENTDATA, this);
  el_wset(editor_, EL_EDITOR, L"emacs");
  el_wset(editor_, EL_SIGNAL, 0);
  el_wset(editor_, EL_HIST, history_w, searched_);
  el_wset(editor_, EL_GETCFN, &LineEditor::read_key);
  bind_keys();
}

LineEditor::~LineEditor() {
  el_end(editor_);
  history_wend(searched_);
  std::fclose(nowhere_);
}

bool LineEditor::read(std::string& entry) {
  const platform::UnicodeScope unicode;
  const TerminalSignals signals;
  const BracketedPaste bracketed(screen_);
  engine_.watch.take_interrupt();  // one that came too late to end the last entry
  recalled_ = history_.entries().size();
  for (;;) {
    undo_.clear();
    below_.clear();
    was_interrupted_ = false;
    int count = 0;
    const wchar_t* line = el_wgets(editor_, &count);
    Picture last = picture(line ? EditState{to_utf8({line, static_cast<size_t>(count - 1)}), 0} : state());
    last.below.clear();
    last.suggestion.clear();
    entry = without_prompts(last.text);
    screen_.finish(last);
    if (line) break;
    if (!was_interrupted_) return false;
  }
  history_.add(entry);
  HistEventW event;
  if (!entry.empty()) history_w(searched_, &event, H_ENTER, to_wide(entry).c_str());
  return true;
}

int LineEditor::read_key(EditLine* editor, wchar_t* key) { return of(editor).next_key(key); }

/// Shows the text, if nobody has typed on, and reads a character. Returns 1, or what libedit takes for the end.
int LineEditor::next_key(wchar_t* key) {
  if (!has_input(0)) {
    note_undo();
    show();
  }
  std::string bytes(1, '\0');
  if (!read_byte(bytes[0])) return -1;
  const auto first = static_cast<unsigned char>(bytes[0]);
  for (int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0; more > 0; --more) {
    char byte = 0;
    if (!read_byte(byte)) return -1;
    bytes += byte;
  }
  size_t at = 0;
  *key = next_code_point(bytes, at);
  below_.clear();
  return 1;
}

bool LineEditor::read_byte(char& byte) {
  for (;;) {
    if (has_input(kSignalWait)) return platform::read_some(platform::kStandardInput, &byte, 1) == 1;
    if (engine_.watch.take_interrupt()) {
      was_interrupted_ = true;
      return false;
    }
    if (!was_continued && !was_resized) continue;
    if (std::exchange(was_continued, 0)) {  // the shell has set the terminal for itself
      el_wset(editor_, EL_PREP_TERM, 0);
      el_wset(editor_, EL_PREP_TERM, 1);
      screen_.write("\033[?2004h");
    }
    if (std::exchange(was_resized, 0)) el_resize(editor_);
    show();
  }
}

bool LineEditor::has_input(int milliseconds) const {
  return platform::has_input(platform::kStandardInput, milliseconds);
}

void LineEditor::note_undo() {
  const EditState now = state();
  if (!undo_.empty() && undo_.back().text == now.text) {
    undo_.back() = now;
    return;
  }
  if (undo_.size() >= kMostUndo) undo_.erase(undo_.begin());
  undo_.push_back(now);
}

void LineEditor::show() { screen_.paint(picture(state())); }

Picture LineEditor::picture(const EditState& state) const {
  Picture picture{kPrompt, kContinuation, state.text};
  picture.below = below_;
  for (const char* search : {"\nbck", "\nfwd"}) {  // libedit appends what it searches for to the text
    const size_t at = state.text.rfind(search);
    if (at == std::string::npos || at + 4 >= state.text.size()) continue;
    if (state.text.find('\n', at + 1) != std::string::npos || (state.text[at + 4] != ':' && state.text[at + 4] != '?'))
      continue;
    picture.below = "history: " + state.text.substr(at + 5);
    picture.text.resize(at);
  }
  picture.cursor = std::min(state.cursor, picture.text.size());
  picture.suggestion = suggestion(state);
  picture.styles = highlight(picture.text, picture.cursor, [&](std::string_view name) {
    return engine_.builtins().contains(engine_.names().intern(name));
  });
  return picture;
}

/// Formats candidates in columns that fit the terminal.
std::string LineEditor::columns_text(const std::vector<std::string>& candidates) const {
  constexpr size_t kMost = 100;
  const auto columns = static_cast<size_t>(screen_.columns());
  size_t width = 0;
  for (const std::string& candidate : candidates) width = std::max(width, candidate.size() + 2);
  const size_t per_line = std::max<size_t>(1, (columns - 1) / width);
  std::string text;
  for (size_t i = 0; i < candidates.size() && i < kMost; ++i) {
    text += candidates[i];
    const bool ends_line = (i + 1) % per_line == 0 || i + 1 == candidates.size();
    text += ends_line ? "\n" : std::string(width - candidates[i].size(), ' ');
  }
  return candidates.size() > kMost ? text + fmt::format("… {} more", candidates.size() - kMost) : text;
}

std::unique_ptr<EntryReader> make_line_editor(Engine& engine, History& history, bool color) {
  const char* const term = std::getenv("TERM");
  const std::string_view terminal = term ? term : "";
  const bool can_move = !terminal.empty() && terminal != "dumb" && terminal != "emacs";
  if (!can_move || !platform::is_terminal(platform::kStandardInput) ||
      !platform::is_terminal(platform::kStandardOutput))
    return nullptr;
  return std::make_unique<LineEditor>(engine, history, color);
}

}  // namespace tsl::prompt
