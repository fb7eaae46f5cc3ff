// .npz: a zip archive of .npy files.
#include <filesystem>
#include <set>

#include <zip.h>

#include "base/error_names.h"
#include "io/npy.h"

namespace tsl {

namespace {

// DEFLATE cannot shrink data further than this, so an entry that claims more is invalid (or a zip bomb).
constexpr uint64_t kMaxDeflateRatio = 1032;
constexpr std::string_view kSuffix = ".npy";

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

std::string message_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

class EntryReader : public ByteReader {
 public:
  EntryReader(zip_t* archive, uint64_t index, std::string name, uint64_t size)
      : ByteReader(std::move(name), size), entry_(zip_fopen_index(archive, index, 0)) {
    if (!entry_) fail_to_load(ErrorName::malformed_file, this->name(), zip_strerror(archive));
  }

  void read(void* to, uint64_t count) override {
    if (count > left_) fail_to_load(ErrorName::malformed_file, name(), "it is truncated");
    auto* at = static_cast<char*>(to);
    for (uint64_t done = 0; done < count;) {
      const zip_int64_t now = zip_fread(entry_.get(), at + done, count - done);
      if (now < 0) fail_to_load(ErrorName::malformed_file, name(), zip_file_strerror(entry_.get()));
      if (now == 0) fail_to_load(ErrorName::malformed_file, name(), "it is shorter than the archive says");
      done += static_cast<uint64_t>(now);
    }
    left_ -= count;
  }

  /// Reads the rest of the entry, because the checksum is only compared at its end.
  void finish() {
    char rest[4096];
    for (;;) {
      const zip_int64_t now = zip_fread(entry_.get(), rest, sizeof rest);
      if (now < 0) fail_to_load(ErrorName::malformed_file, name(), zip_file_strerror(entry_.get()));
      if (now == 0) return;
    }
  }

 private:
  std::unique_ptr<zip_file_t, CloseEntry> entry_;
};

Tensor load_entry(zip_t* archive, uint64_t index, const std::string& path, const zip_stat_t& entry,
                  Allocator& allocator) {
  const std::string name = fmt::format("{} ({})", path, entry.name);
  constexpr uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((entry.valid & kNeeded) != kNeeded)
    fail_to_load(ErrorName::malformed_file, name, "the archive does not say how large it is");
  if ((entry.valid & ZIP_STAT_ENCRYPTION_METHOD) && entry.encryption_method != ZIP_EM_NONE)
    fail_to_load(ErrorName::malformed_file, name, "it is encrypted");
  const bool is_stored = entry.comp_method == ZIP_CM_STORE;
  if (!is_stored && entry.comp_method != ZIP_CM_DEFLATE)
    fail_to_load(ErrorName::malformed_file, name, "its compression is unknown");
  std::error_code status;
  const uint64_t file_size = std::filesystem::file_size(path, status);
  const bool fits = is_stored ? entry.size == entry.comp_size : entry.size / kMaxDeflateRatio <= entry.comp_size + 1;
  if (entry.comp_size > file_size || !fits)
    fail_to_load(ErrorName::malformed_file, name,
                 fmt::format("it claims {} bytes in {} of the archive", entry.size, entry.comp_size));
  EntryReader reader(archive, index, name, entry.size);
  Tensor tensor = read_known_npy(reader, allocator);
  reader.finish();
  return tensor;
}

}  // namespace

namespace {

std::string why_no_array(std::string_view name) {
  return name.ends_with('/') ? "it is a folder" : "it is no array: arrays of an archive end in .npy";
}

/// Throws Failure (io) that names what an archive without an array has.
[[noreturn]] void fail_without_arrays(const std::string& path, const std::vector<UnreadEntry>& unread) {
  std::vector<std::string> notes;
  constexpr size_t kMost = 8;
  for (const UnreadEntry& each : unread) {
    if (notes.size() < kMost) notes.push_back(fmt::format("'{}': {}", each.name, each.why));
  }
  fail_with(ErrorName::malformed_file, fmt::format("cannot load {}: it has no array that TSL can hold", path), {},
            std::move(notes));
}

}  // namespace

std::vector<NamedTensor> load_npz(const std::string& path, Allocator& allocator, std::vector<UnreadEntry>* unread) {
  std::vector<UnreadEntry> left_out;
  FileReader check(path);  // the usual messages for what cannot be opened
  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) fail_to_load(ErrorName::malformed_file, path, message_of(code));
  std::vector<NamedTensor> tensors;
  std::set<std::string> seen;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    const auto index = static_cast<uint64_t>(i);
    if (zip_stat_index(archive.get(), index, 0, &entry) != 0)
      fail_to_load(ErrorName::malformed_file, path, zip_strerror(archive.get()));
    std::string name = (entry.valid & ZIP_STAT_NAME) ? entry.name : "";
    if (!std::string_view(name).ends_with(kSuffix)) {
      left_out.push_back({name, why_no_array(name)});
      continue;
    }
    name.resize(name.size() - kSuffix.size());
    if (!seen.insert(name).second)
      fail_to_load(ErrorName::malformed_file, path, fmt::format("it has two arrays named '{}'", name));
    try {
      tensors.push_back({name, load_entry(archive.get(), index, path, entry, allocator)});
    } catch (UnknownElements& unknown) { left_out.push_back({name, std::move(unknown.why)}); }
  }
  if (tensors.empty() && !left_out.empty()) fail_without_arrays(path, left_out);
  if (unread) *unread = std::move(left_out);
  return tensors;
}

namespace {

void add_entry(zip_t* archive, const std::string& path, const NamedTensor& item, const std::string& header) {
  const zip_buffer_fragment_t parts[] = {
      {reinterpret_cast<zip_uint8_t*>(const_cast<char*>(header.data())), header.size()},
      {reinterpret_cast<zip_uint8_t*>(item.tensor.data()), byte_count(item.tensor)}};
  zip_source_t* source = zip_source_buffer_fragment(archive, parts, parts[1].length == 0 ? 1 : 2, 0);
  if (!source) fail_to_save(ErrorName::cannot_write_file, path, zip_strerror(archive));
  const zip_int64_t index = zip_file_add(archive, (item.name + std::string(kSuffix)).c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    fail_to_save(ErrorName::cannot_write_file, path, fmt::format("'{}': {}", item.name, zip_strerror(archive)));
  }
  zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);  // as np.savez
}

}  // namespace

void save_npz(const std::string& path, const std::vector<NamedTensor>& tensors) {
  if (tensors.empty()) fail_to_save(ErrorName::unsaveable_value, path, "there is nothing to save");
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) fail_to_save(ErrorName::cannot_write_file, path, "it is a folder");
  if (std::filesystem::exists(path, status) && !std::filesystem::is_regular_file(path, status))
    fail_to_save(ErrorName::cannot_write_file, path, "it is not a regular file");
  const std::string target = target_of(path);
  const std::string temporary = temporary_name(target);
  int code = 0;
  Archive archive(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_EXCL, &code));
  if (!archive) fail_to_save(ErrorName::cannot_write_file, path, message_of(code));
  std::vector<std::string> headers;  // they must live until the archive is written
  for (const NamedTensor& item : tensors) headers.push_back(npy_header(item.tensor));
  for (size_t i = 0; i < tensors.size(); ++i) add_entry(archive.get(), path, tensors[i], headers[i]);
  if (zip_close(archive.get()) != 0) fail_to_save(ErrorName::cannot_write_file, path, zip_strerror(archive.get()));
  archive.release();
  replace_file(temporary, target);
}

}  // namespace tsl
