#include "io/safetensors.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error_names.h"

namespace tsl {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxHeader = 100'000'000;  // as in the format's own library
constexpr int kMaxDepth = 8;                  // a header has three levels
constexpr size_t kAlignment = 8;              // of the elements in the file
constexpr std::string_view kMetadata = "__metadata__";

/// Returns the format of a dtype's name in the file.
std::optional<ElementFormat> format_named(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.safetensors == name) return ElementFormat{row.dtype};
  }
  return std::nullopt;
}

struct Entry {
  std::string name;
  ElementFormat format;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // in the data that follows the header
  std::string why_unread;       // empty: TSL has the dtype
};

class HeaderReader {
 public:
  HeaderReader(const std::string& path, uint64_t data_size) : path_(path), data_size_(data_size) {}

  std::vector<Entry> read(const std::string& text) {
    const Json json = parse(text);
    if (!json.is_object()) bad("its header is not a JSON object");
    std::vector<Entry> entries;
    for (const auto& [name, value] : json.items()) {
      if (name != kMetadata) entries.push_back(read_entry(name, value));
    }
    check_cover(entries);
    return entries;
  }

 private:
  [[noreturn]] void bad(const std::string& why) const { fail_to_load(ErrorName::malformed_file, path_, why); }
  [[noreturn]] void bad_entry(const std::string& name, const char* why) const {
    bad(fmt::format("'{}' {}", name, why));
  }

  Json parse(const std::string& text) const {
    std::set<std::string> names;
    auto check = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > kMaxDepth) bad("its header is nested too deeply");
      if (event == Json::parse_event_t::key && depth == 1 && !names.insert(value.get<std::string>()).second) {
        bad(fmt::format("it has two tensors named '{}'", value.get<std::string>()));
      }
      return true;
    };
    try {
      return Json::parse(text, check);
    } catch (const Json::exception&) { bad("its header is no JSON"); }
  }

  uint64_t unsigned_number(const std::string& name, const Json& value) const {
    if (!value.is_number_unsigned()) bad_entry(name, "has a size or offset that is not a whole number from 0 on");
    return value.get<uint64_t>();
  }

  Entry read_entry(const std::string& name, const Json& value) const {
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets")) {
      bad_entry(name, "lacks dtype, shape or data_offsets");
    }
    const Json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
      bad_entry(name, "is malformed");
    Entry entry;
    entry.name = name;
    const std::optional<ElementFormat> known = format_named(dtype.get<std::string>());
    const bool is_known = known.has_value();
    if (is_known) entry.format = *known;
    else entry.why_unread = fmt::format("it is {}, a dtype that TSL does not have", dtype.get<std::string>());
    for (const Json& extent : shape) {
      const uint64_t size = unsigned_number(name, extent);
      if (size > static_cast<uint64_t>(INT64_MAX)) bad_entry(name, "has a shape beyond any memory");
      entry.shape.push_back(static_cast<int64_t>(size));
    }
    entry.begin = unsigned_number(name, offsets[0]);
    entry.end = unsigned_number(name, offsets[1]);
    if (entry.begin > entry.end || entry.end > data_size_) bad_entry(name, "lies beyond the end of the file");
    if (is_known && checked_bytes(path_ + ": " + name, entry.shape, entry.format) != entry.end - entry.begin) {
      bad_entry(name, "has a shape that does not fit its offsets");
    }
    return entry;
  }

  // Checks that tensors fill the data without gaps or overlaps, as the format requires.
  void check_cover(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> order;
    for (const Entry& entry : entries) order.push_back(&entry);
    std::sort(order.begin(), order.end(),
              [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
    uint64_t at = 0;
    for (const Entry* entry : order) {
      if (entry->begin < at) bad_entry(entry->name, "overlaps another tensor");
      if (entry->begin > at) bad_entry(entry->name, "leaves a gap before it");
      at = entry->end;
    }
    if (at != data_size_) bad(fmt::format("{} bytes belong to no tensor", data_size_ - at));
  }

  const std::string& path_;
  uint64_t data_size_;
};

std::string read_header(FileReader& file) {
  if (file.left() < 8) fail_to_load(ErrorName::malformed_file, file.name(), "it is too short for a .safetensors file");
  unsigned char bytes[8];
  file.read(bytes, sizeof bytes);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
  if (length > kMaxHeader)
    fail_to_load(ErrorName::malformed_file, file.name(), fmt::format("its header claims {} bytes", length));
  if (length > file.left()) fail_to_load(ErrorName::malformed_file, file.name(), "its header is truncated");
  std::string text(length, '\0');
  file.read(text.data(), length);
  return text;
}

}  // namespace

namespace {

void skip(ByteReader& reader, uint64_t bytes) {
  char dropped[4096];
  for (; bytes > 0; bytes -= std::min<uint64_t>(bytes, sizeof dropped))
    reader.read(dropped, std::min<uint64_t>(bytes, sizeof dropped));
}

}  // namespace

std::vector<NamedTensor> load_safetensors(const std::string& path, Allocator& allocator,
                                          std::vector<UnreadEntry>* unread) {
  FileReader file(path);
  const std::string header = read_header(file);
  const std::vector<Entry> entries = HeaderReader(path, file.left()).read(header);
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(entries[a].begin, entries[a].end) < std::pair(entries[b].begin, entries[b].end);
  });
  std::vector<NamedTensor> tensors(entries.size());
  for (size_t i : order) {
    const Entry& entry = entries[i];
    if (!entry.why_unread.empty()) skip(file, entry.end - entry.begin);
    else tensors[i] = {entry.name, read_elements(file, entry.shape, entry.format, allocator)};
  }
  std::vector<UnreadEntry> left_out;
  for (const Entry& entry : entries) {
    if (!entry.why_unread.empty()) left_out.push_back({entry.name, entry.why_unread});
  }
  std::erase_if(tensors, [](const NamedTensor& each) { return !each.tensor; });
  if (tensors.empty() && !left_out.empty())
    fail_to_load(ErrorName::malformed_file, path, fmt::format("'{}': {}", left_out[0].name, left_out[0].why));
  if (unread) *unread = std::move(left_out);
  return tensors;
}

void save_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  // Stores tensors with wide elements first, so that every tensor in the file is aligned to its elements.
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& item : tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return size_of(a->tensor.dtype()) > size_of(b->tensor.dtype());
  });
  std::map<const NamedTensor*, uint64_t> offsets;
  uint64_t at = 0;
  for (const NamedTensor* item : order) {
    offsets[item] = at;
    at += byte_count(item->tensor);
  }
  Json header = Json::object();
  for (const NamedTensor& item : tensors) {
    if (item.name == kMetadata)
      fail_to_save(ErrorName::unsaveable_value, path, "the name '__metadata__' is taken by the format");
    std::vector<int64_t> shape;
    for (const Dim& extent : item.tensor.shape()) shape.push_back(extent.hint());
    header[item.name] = {{"dtype", std::string(row_of(item.tensor.dtype()).safetensors)},
                         {"shape", shape},
                         {"data_offsets", {offsets[&item], offsets[&item] + byte_count(item.tensor)}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) { fail_to_save(ErrorName::unsaveable_value, path, "a name is not valid UTF-8"); }
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const NamedTensor* item : order) file.write(item->tensor.data(), byte_count(item->tensor));
  file.commit();
}

}  // namespace tsl
