// The keys of maps and records, as programs give them.
#pragma once

#include <string>
#include <vector>

#include "value/value.h"

namespace tsl {

class Context;

/// Returns a value as the key of a map: with its numbers pinned and its texts joined, which may end a trace. Throws
/// Failure (type) for a value that cannot be a key.
Value as_key(Context&, const Value&);
/// Returns the value of a key in a record or a map; null if it has no such key.
const Value* find_entry(Context&, const Value& container, const Value& key);
/// Whether a record or a map has a key. A trace does not depend on its value.
bool has_entry(Context&, const Value& container, const Value& key);
/// Fails for a record or a map that has no such key, and names the nearest one.
[[noreturn]] void unknown_key(Context&, const Value& container, const Value& key);
/// Returns why the file of a record gave it no such key, or names what else the file did not give; "" without either.
std::string reason_unread(const Record& record, const std::string& key);
/// Returns the texts among the keys of a record or a map, for hints: the first thousands.
std::vector<std::string> text_keys(const Value& container);
/// Lists the first keys for a hint; "" if there is none.
std::string list_keys(const std::vector<std::string>& keys);

}  // namespace tsl
