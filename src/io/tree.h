// Trees: records, lists and tuples, nested in one another, whose leaves are everything else, complex numbers
// among them.
#pragma once

#include <string>

#include "value/value.h"

namespace tsl {

class Context;

/// Returns a flat record of a tree's leaves by dotted names, such as `blocks.0.weight`. Containers without leaves are
/// leaves. Throws Failure (limit; value: two leaves of one name).
Value flatten_tree(Context&, const Value& tree);

/// Returns the tree of a flat record: names that differ in numbers from 0 on make a list, other numbers a record in
/// their order. Throws Failure (value) for a name that is a leaf and has leaves, too.
Value unflatten_tree(Context&, const Value& record);

/// Makes files of trees that hold tensors and numbers: the tensors, and a text that says how the tree is made of them.
struct SavedTree {
  Value tensors;     // a flat record; numbers, and lists of them, are tensors
  std::string form;  // "": the tensors themselves, a flat record, are the tree
};
/// Throws Failure (io) for a value that no file holds; `path` is for messages.
SavedTree take_apart(Context&, const std::string& path, const Value& tree);
/// Makes the tree of what take_apart() has returned. Throws Failure (io) if the two do not fit.
Value put_together(Context&, const std::string& path, const Value& tensors, const std::string& form);

}  // namespace tsl
