// Internal to the specification: tables of rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "graph/domain.h"
#include "graph/reach.h"
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

/// Returns the elements of a node's memory, relative to element (0, 0, …).
Reach memory_of(const Node& node);

/// Whether a layout accesses only elements of `memory`. If its offset is a symbol, some offset must satisfy this.
bool fits(const Layout& layout, const Reach& memory);

}  // namespace tsl::graph::spec
