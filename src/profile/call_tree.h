// The call paths of a program that samples have found.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/source.h"
#include "vm/stack.h"

namespace tsl::report {

/// The last part of a call path: a function at the line that it runs, or what it calls: a builtin or a function of the
/// standard library, which have no lines of their own.
struct CallNode {
  uint32_t caller = 0;     // the path without this part; 0: none
  std::string name = {};   // of the function
  uint32_t source = 0;     // of the program
  uint32_t declared = 0;   // the line at which the function is declared; 0: a builtin, or of the library
  uint32_t line = 0;       // that runs; of a builtin: that calls it
  bool is_module = false;  // the top level of a file

  bool is_builtin() const { return declared == 0; }
};

/// All call paths, as a tree. A program may recurse and make up functions: a path that is too deep, or beyond kMost, is
/// the path of its caller.
class CallTree {
 public:
  static constexpr size_t kMost = 50'000;
  static constexpr size_t kMostDepth = 64;

  explicit CallTree(const SourceMap& sources) : sources_(sources) {}

  /// Returns the number of the path that frames run. `builtin`: what the innermost one has called; "": nothing.
  uint32_t add(const FrameStack& frames, std::string_view builtin);
  const CallNode& operator[](uint32_t path) const { return nodes_[path]; }
  size_t size() const { return nodes_.size(); }
  /// Returns the parts of a path, the outermost first.
  std::vector<const CallNode*> parts(uint32_t path) const;

 private:
  uint32_t add(uint32_t caller, const Frame& frame);
  uint32_t add(CallNode node, uint32_t position);

  const SourceMap& sources_;
  std::vector<CallNode> nodes_ = {{}};
  // By caller, name, and where the function is and what it runs.
  std::map<std::tuple<uint32_t, std::string, uint32_t, uint32_t, uint32_t>, uint32_t> numbers_;
};

}  // namespace tsl::report
