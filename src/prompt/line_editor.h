// Edits entries on a terminal. libedit keeps the text and interprets keys: moving, cutting and pasting, searching the
// history. It shows nothing (its output goes to /dev/null): whenever it waits for a key, Screen paints its text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <histedit.h>

#include "prompt/entry_reader.h"
#include "prompt/history.h"
#include "prompt/screen.h"

namespace tsl::prompt {

/// The text of an entry and the cursor, in bytes.
struct EditState {
  std::string text;
  size_t cursor = 0;
  friend bool operator==(const EditState&, const EditState&) = default;
};

class LineEditor final : public EntryReader {
 public:
  LineEditor(Engine& engine, History& history, bool color);
  ~LineEditor() override;

  bool read(std::string& entry) override;

 private:
  /// What a key of ours does. Returns one of libedit's codes (CC_REFRESH, …).
  using Action = unsigned char (LineEditor::*)();
  template <Action action> static unsigned char call(EditLine* editor, int key);
  static LineEditor& of(EditLine* editor);
  void bind_keys();

  // Keys
  unsigned char enter();
  unsigned char to_line_begin();
  unsigned char to_line_end();
  unsigned char right();
  unsigned char insert_newline();
  unsigned char close_bracket();
  unsigned char erase();
  unsigned char complete();
  unsigned char up();
  unsigned char down();
  unsigned char paste();
  unsigned char ignore();
  unsigned char undo();
  unsigned char clear();
  unsigned char delete_or_leave();

  // Text
  EditState state() const;
  void set(const EditState& state);
  void insert(std::string_view text);
  void move_to(size_t cursor);
  bool move_line(bool is_up);
  std::string suggestion(const EditState& state) const;
  bool take_suggestion(const EditState& state);
  unsigned char recall(bool is_older);

  // Terminal
  static int read_key(EditLine* editor, wchar_t* key);
  int next_key(wchar_t* key);
  bool read_byte(char& byte);
  void note_undo();
  bool has_input(int milliseconds) const;
  void drop_paste();
  void show();
  Picture picture(const EditState& state) const;
  std::string columns_text(const std::vector<std::string>& candidates) const;

  Engine& engine_;
  History& history_;
  Screen screen_;
  std::FILE* nowhere_;
  EditLine* editor_;
  HistoryW* searched_;  // the history as libedit's search reads it
  std::string below_;   // candidates, until the next key
  int last_key_ = 0;
  bool was_interrupted_ = false;
  std::vector<EditState> undo_;  // older states, the newest last; its end is the present one
  size_t recalled_ = 0;          // the entry of the history that is shown; their number: none
  EditState typed_;              // what was there before, whose text up to the cursor recalled entries begin with
  EditState shown_;              // the state after the last recall
};

}  // namespace tsl::prompt
