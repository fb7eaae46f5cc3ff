// Internal to the specification: tables of rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "graph/spec.h"

namespace tsl::graph::spec {

/// A rule about every Subject. A Subject has a member dump(), for errors.
template <class Subject> struct Rule {
  const char* sentence;
  bool (*holds)(const Subject&);
};

template <class Subject> void check(std::span<const Rule<Subject>> rules, const Subject& subject, const char* pass) {
  for (const Rule<Subject>& rule : rules) {
    if (!rule.holds(subject)) throw BrokenRule(pass, rule.sentence, subject.dump());
  }
}

template <class Subject> void add_sentences(std::span<const Rule<Subject>> rules, std::vector<const char*>& sentences) {
  for (const Rule<Subject>& rule : rules) sentences.push_back(rule.sentence);
}

void add_graph_sentences(std::vector<const char*>& sentences);
void add_kernel_sentences(std::vector<const char*>& sentences);
void add_plan_sentences(std::vector<const char*>& sentences);

/// The first and last element that a loop nest accesses, relative to its offset.
struct Reach {
  int64_t first = 0, last = 0;
  void add(int64_t extent, int64_t stride) { (stride < 0 ? first : last) += (extent - 1) * stride; }
  /// Whether this range contains `other` moved by `offset`.
  bool holds(const Reach& other, int64_t offset) const {
    return other.first + offset >= first && other.last + offset <= last;
  }
};

/// Whether the symbol belongs to a table; true if there is none.
inline bool is_known(const Symbol* symbol) {
  return !symbol || (symbol->table && symbol->id < symbol->table->size() && &symbol->table->at(symbol->id) == symbol);
}

inline bool are_numbers(const Dims& dims) {
  return std::none_of(dims.begin(), dims.end(), [](Dim d) { return d.symbol(); });
}

inline bool is_empty(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.hint() == 0; });
}

inline int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (Dim d : dims) count *= d.hint();
  return count;
}

/// Returns the elements of a node's memory, relative to element (0, 0, …).
Reach memory_of(const Node& node);

/// Whether a layout accesses only elements of `memory`. If its offset is a symbol, some offset must satisfy this.
bool fits(const Layout& layout, const Reach& memory);

}  // namespace tsl::graph::spec
