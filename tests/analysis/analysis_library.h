// Builtins and modules for tests of analyses: the real ones belong to rooms that use this one.
#pragma once

#include "analysis/workspace.h"

namespace tsl::analysis {

inline const Library& small_library() {
  static constexpr Builtin rows[] = {
      with_effect({"print", "print(...values: any)", "writes values to the output\nand a newline", nullptr, "host"}),
      {"sum", "sum(x: array, axis: integers | nil = nil)", "adds the elements", nullptr, "reduce"},
      {"split", "split(text: str, separator: str | nil = nil)", "splits a text", nullptr, "text"},
  };
  static constexpr LibrarySource sources[] = {
      {"prelude", "## the mean of the elements\nfn mean(x, axis: int | nil = nil) = sum(x, axis: axis) / 2\n"},
      {"shapes",
       "## Areas and lengths.\n\n## width times height\nfn area(width, height = 1) = width * height\nlet unit = 1\n"},
      {"solids", "from \"./solids/volumes.tsl\" import cube\n"},
      {"solids/volumes", "## side cubed\nfn cube(side) = side * side * side\n"},
  };
  static const Library library{{rows}, sources};
  return library;
}

}  // namespace tsl::analysis
