#include "io/safetensors.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/run_watch.h"
#include "io/atomic_file.h"

namespace tsl {

namespace {

constexpr uint64_t kMaxTensorsHeader = 100'000'000;  // as in the format's own library
constexpr int64_t kTensorWork = 1000;                // to read or write what a header says of a tensor
constexpr int kMaxHeaderDepth = 8;                   // a header has three levels
constexpr size_t kAlignment = 8;                     // of the elements in the file
constexpr std::string_view kMetadata = "__metadata__";
constexpr const char* kForm = "tsl_tree";  // of the metadata: how a tree is made of the tensors

constexpr std::string_view kComplexDType = "C64";  // of two f32; the format has no other complex numbers

/// Returns the format of a dtype's name in the file.
std::optional<ElementFormat> format_named(std::string_view name) {
  if (name == kComplexDType) return ElementFormat{DType::f32, false, true};
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

/// Returns the entries' places, in the order of their data.
std::vector<size_t> order_in_file(const std::vector<Entry>& entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(entries[a].begin, entries[a].end) < std::pair(entries[b].begin, entries[b].end);
  });
  return order;
}

/// Reads a header's JSON as it is parsed: an object per tensor, of dtype, shape and data_offsets. nlohmann's own
/// objects look through all their keys for each new one.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const std::string& path, uint64_t data_size) : path_(path), data_size_(data_size) {}

  std::vector<Entry> read(const std::string& text) {
    if (text.find('\0') != std::string::npos) bad("its header is no JSON");  // which the parser takes for the end
    nlohmann::json::sax_parse(text, this);
    check_cover();
    return std::move(entries_);
  }
  /// Returns what the metadata says of a tree, after read(); "" if it says nothing.
  std::string take_form() { return std::move(form_); }

  bool null() override { return other_value(); }
  bool boolean(bool) override { return other_value(); }
  bool number_integer(number_integer_t) override { return is_number_read() ? bad_number() : other_value(); }
  bool number_float(number_float_t, const string_t&) override {
    return is_number_read() ? bad_number() : other_value();
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!is_number_read()) return other_value();
    bytes_.add(kBytesOfNumber);
    (field_ == "shape" ? shape_ : offsets_)->push_back(value);
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ == kInTensor && name_ == kMetadata && field_ == kForm) form_ = std::move(value);
    if (depth_ != kInTensor || field_ != "dtype") return other_value();
    dtype_ = std::move(value);
    return true;
  }
  bool binary(binary_t&) override { return other_value(); }  // of other formats
  bool key(string_t& value) override {
    count_work(kWorkOfKey);
    if (depth_ == kInHeader) begin_entry(std::move(value));
    else if (depth_ == kInTensor) field_ = std::move(value);
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ > 0) other_value(depth_ == kInHeader);
    return enter();
  }
  bool end_object() override {
    if (--depth_ == kInHeader && name_ != kMetadata) end_entry();
    return true;
  }
  bool start_array(size_t) override {
    const bool is_field = depth_ == kInTensor && (field_ == "shape" || field_ == "data_offsets");
    if (is_field) (field_ == "shape" ? shape_ : offsets_).emplace();
    else other_value();
    return enter();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    bad("its header is no JSON");
  }

 private:
  static constexpr int kInHeader = 1, kInTensor = 2, kInField = 3;
  static constexpr int64_t kWorkOfKey = 100;
  static constexpr uint64_t kBytesOfNumber = 32;  // also as an extent, in vectors that grow
  static constexpr uint64_t kBytesOfEntry = 512;  // in a vector that grows, and in a set

  [[noreturn]] void bad(const std::string& why) const { fail_to_load(ErrorName::malformed_file, path_, why); }
  [[noreturn]] void bad_entry(const std::string& name, const char* why) const {
    bad(fmt::format("'{}' {}", name, why));
  }
  bool bad_number() const { bad_entry(name_, "has a size or offset that is not a whole number from 0 on"); }

  bool enter() {
    if (++depth_ > kMaxHeaderDepth) bad("its header is nested too deeply");
    return true;
  }
  /// Whether a number is an extent or an offset.
  bool is_number_read() const {
    return name_ != kMetadata && depth_ == kInField && (field_ == "shape" || field_ == "data_offsets");
  }
  /// Checks a value that is none of those that are read; `is_tensor`: the object of a tensor.
  bool other_value(bool is_tensor = false) const {
    if (depth_ == 0) bad("its header is not a JSON object");
    if (name_ == kMetadata || is_tensor) return true;
    if (depth_ == kInHeader) bad_entry(name_, "lacks dtype, shape or data_offsets");
    if (depth_ == kInTensor && (field_ == "dtype" || field_ == "shape" || field_ == "data_offsets"))
      bad_entry(name_, "is malformed");
    return is_number_read() ? bad_number() : true;
  }

  void begin_entry(std::string name) {
    bytes_.add(kBytesOfEntry + 2 * name.size());
    if (!names_.insert(name).second) bad(fmt::format("it has two tensors named '{}'", name));
    name_ = std::move(name);
    field_.clear();
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
  }

  void end_entry() {
    if (!dtype_ || !shape_ || !offsets_) bad_entry(name_, "lacks dtype, shape or data_offsets");
    if (offsets_->size() != 2) bad_entry(name_, "is malformed");
    Entry entry;
    entry.name = name_;
    const std::optional<ElementFormat> known = format_named(*dtype_);
    if (known) entry.format = *known;
    else entry.why_unread = fmt::format("it is {}, a dtype that TSL does not have", *dtype_);
    for (const uint64_t size : *shape_) {
      count_work(1);
      if (size > static_cast<uint64_t>(INT64_MAX)) bad_entry(name_, "has a shape beyond any memory");
      entry.shape.push_back(static_cast<int64_t>(size));
    }
    entry.begin = (*offsets_)[0];
    entry.end = (*offsets_)[1];
    if (entry.begin > entry.end || entry.end > data_size_) bad_entry(name_, "lies beyond the end of the file");
    if (known && checked_bytes(path_ + ": " + name_, entry.shape, entry.format) != entry.end - entry.begin)
      bad_entry(name_, "has a shape that does not fit its offsets");
    entries_.push_back(std::move(entry));
  }

  /// Checks that tensors fill the data without gaps or overlaps, as the format requires.
  void check_cover() const {
    uint64_t at = 0;
    for (const size_t i : order_in_file(entries_)) {
      count_work(kTensorWork);
      const Entry& entry = entries_[i];
      if (entry.begin < at) bad_entry(entry.name, "overlaps another tensor");
      if (entry.begin > at) bad_entry(entry.name, "leaves a gap before it");
      at = entry.end;
    }
    if (at != data_size_) bad(fmt::format("{} bytes belong to no tensor", data_size_ - at));
  }

  const std::string& path_;
  const uint64_t data_size_;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
  GrowingBytes bytes_;
  int depth_ = 0;             // of open objects and arrays
  std::string name_, field_;  // of the tensor that is read, and of its field
  std::string form_;
  std::optional<std::string> dtype_;
  std::optional<std::vector<uint64_t>> shape_, offsets_;
};

std::string read_header(FileReader& file) {
  if (file.left() < 8) fail_to_load(ErrorName::malformed_file, file.name(), "it is too short for a .safetensors file");
  unsigned char bytes[8];
  file.read(bytes, sizeof bytes);
  uint64_t length = 0;
  // bounded: eight bytes
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
  if (length > kMaxTensorsHeader)
    fail_to_load(ErrorName::malformed_file, file.name(), fmt::format("its header claims {} bytes", length));
  if (length > file.left()) fail_to_load(ErrorName::malformed_file, file.name(), "its header is truncated");
  require_host_bytes(length);
  std::string text(length, '\0');
  file.read(text.data(), length);
  return text;
}

}  // namespace

namespace {

void skip(ByteReader& reader, uint64_t bytes) {
  char dropped[4096];
  for (; bytes > 0; bytes -= std::min<uint64_t>(bytes, sizeof dropped)) {
    count_work(sizeof dropped);
    reader.read(dropped, std::min<uint64_t>(bytes, sizeof dropped));
  }
}

}  // namespace

std::vector<NamedTensor> load_safetensors(const std::string& path, Allocator& allocator,
                                          std::vector<UnreadEntry>* unread, std::string* form) {
  FileReader file(path);
  const std::string header = read_header(file);
  HeaderReader reader(path, file.left());
  const std::vector<Entry> entries = reader.read(header);
  if (form) *form = reader.take_form();
  std::vector<NamedTensor> tensors(entries.size());
  for (const size_t i : order_in_file(entries)) {
    count_work(kTensorWork);
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

std::vector<StoredTensor> stored_in_safetensors(const std::string& path) {
  FileReader file(path);
  const uint64_t size = file.left();
  const std::string header = read_header(file);
  const uint64_t begin = size - file.left();
  std::vector<StoredTensor> tensors;
  // bounded: by the limit of entries of a file
  for (Entry& entry : HeaderReader(path, file.left()).read(header)) {
    if (entry.why_unread.empty())
      tensors.push_back({std::move(entry.name), entry.format, std::move(entry.shape), begin + entry.begin});
  }
  return tensors;
}

namespace {

std::string dtype_name(const FileTensor& tensor) {
  return std::string(tensor.is_complex ? kComplexDType : row_of(tensor.dtype()).safetensors);
}

/// Returns the header of a file of these tensors, padded so that the elements behind it are aligned.
std::string header_of(const std::string& path, const std::vector<NamedTensor>& tensors,
                      const std::map<const NamedTensor*, uint64_t>& offsets, const std::string& form) {
  std::string text;
  try {
    if (!form.empty())
      text =
          fmt::format("{{{}:{}", nlohmann::json(std::string(kMetadata)).dump(), nlohmann::json{{kForm, form}}.dump());
    for (const NamedTensor& item : tensors) {
      count_work(kTensorWork);
      if (item.name == kMetadata)
        fail_to_save(ErrorName::unsaveable_value, path, "the name '__metadata__' is taken by the format");
      std::vector<int64_t> shape;
      for (const Dim& extent : item.tensor.shape()) shape.push_back(extent.hint());
      const uint64_t begin = offsets.at(&item);
      const nlohmann::ordered_json entry = {{"dtype", dtype_name(item.tensor)},
                                            {"shape", shape},
                                            {"data_offsets", {begin, begin + byte_count(item.tensor)}}};
      text += fmt::format("{}{}:{}", text.empty() ? '{' : ',', nlohmann::json(item.name).dump(), entry.dump());
    }
  } catch (const nlohmann::json::exception&) {
    fail_to_save(ErrorName::unsaveable_value, path, "a name is not valid UTF-8");
  }
  text += text.empty() ? "{}" : "}";
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

namespace {

uint64_t element_bytes(const FileTensor& tensor) {
  return ElementFormat{tensor.dtype(), false, tensor.is_complex}.bytes();
}

}  // namespace

void save_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors, const std::string& form) {
  // Stores tensors with wide elements first, so that every tensor in the file is aligned to its elements.
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& item : tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return element_bytes(a->tensor) > element_bytes(b->tensor);
  });
  std::map<const NamedTensor*, uint64_t> offsets;
  uint64_t at = 0;
  for (const NamedTensor* item : order) {
    count_work(kTensorWork);
    offsets[item] = at;
    at += byte_count(item->tensor);
  }
  const std::string text = header_of(path, tensors, offsets, form);
  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const NamedTensor* item : order) file.write(item->tensor.data(), byte_count(item->tensor));
  file.commit();
}

}  // namespace tsl
