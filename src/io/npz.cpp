// .npz: a zip archive of .npy files.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include <zip.h>

#include "base/count_work.h"
#include "base/error_names.h"
#include "io/atomic_file.h"
#include "io/npy.h"

namespace tsl {

namespace {

constexpr int64_t kArrayWork = 1000;  // to find or add an entry of an archive

// DEFLATE cannot shrink data further than this, so an entry that claims more is invalid (or a zip bomb).
constexpr uint64_t kMaxDeflateRatio = 1032;
constexpr std::string_view kMemberSuffix = ".npy";

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
    read_in_pieces(to, count, [this](char* at, uint64_t size) {
      // bounded: read_in_pieces() polls
      for (uint64_t done = 0; done < size;) {
        const zip_int64_t now = zip_fread(entry_.get(), at + done, size - done);
        if (now < 0) fail_to_load(ErrorName::malformed_file, name(), zip_file_strerror(entry_.get()));
        if (now == 0) fail_to_load(ErrorName::malformed_file, name(), "it is shorter than the archive says");
        done += static_cast<uint64_t>(now);
      }
    });
    left_ -= count;
  }

  /// Reads the rest of the entry, because the checksum is only compared at its end.
  void finish() {
    char rest[4096];
    for (;;) {
      count_work(sizeof rest);
      const zip_int64_t now = zip_fread(entry_.get(), rest, sizeof rest);
      if (now < 0) fail_to_load(ErrorName::malformed_file, name(), zip_file_strerror(entry_.get()));
      if (now == 0) return;
    }
  }

 private:
  std::unique_ptr<zip_file_t, CloseEntry> entry_;
};

FileTensor load_entry(zip_t* archive, uint64_t index, const std::string& path, const zip_stat_t& entry,
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
  FileTensor tensor = read_known_npy(reader, allocator);
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
  // bounded: what opening the archive has read
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
    count_work(kArrayWork);
    zip_stat_t entry;
    const auto index = static_cast<uint64_t>(i);
    if (zip_stat_index(archive.get(), index, 0, &entry) != 0)
      fail_to_load(ErrorName::malformed_file, path, zip_strerror(archive.get()));
    std::string name = (entry.valid & ZIP_STAT_NAME) ? entry.name : "";
    if (!std::string_view(name).ends_with(kMemberSuffix)) {
      left_out.push_back({name, why_no_array(name)});
      continue;
    }
    name.resize(name.size() - kMemberSuffix.size());
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
  if (item.name.find('\0') != std::string::npos)
    fail_to_save(ErrorName::unsaveable_value, path,
                 "the key of an array has a character NUL, which no archive's names have");
  const zip_buffer_fragment_t parts[] = {
      {reinterpret_cast<zip_uint8_t*>(const_cast<char*>(header.data())), header.size()},
      {reinterpret_cast<zip_uint8_t*>(item.tensor.data()), byte_count(item.tensor)}};
  zip_source_t* source = zip_source_buffer_fragment(archive, parts, parts[1].length == 0 ? 1 : 2, 0);
  if (!source) fail_to_save(ErrorName::cannot_write_file, path, zip_strerror(archive));
  const zip_int64_t index =
      zip_file_add(archive, (item.name + std::string(kMemberSuffix)).c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    fail_to_save(ErrorName::cannot_write_file, path, fmt::format("'{}': {}", item.name, zip_strerror(archive)));
  }
  zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);  // as np.savez
}

/// A file that libzip writes from the start, and the last error.
struct ArchiveOutput {
  std::FILE* file;
  int error = ENOENT;  // there is no archive to read
};

/// Runs a command of libzip on an ArchiveOutput.
zip_int64_t run_command(void* state, void* data, zip_uint64_t size, zip_source_cmd_t command) {
  auto& [file, error] = *static_cast<ArchiveOutput*>(state);
  const auto checked = [&error = error](bool is_done, zip_int64_t result) -> zip_int64_t {
    if (!is_done) error = errno;
    return is_done ? result : -1;
  };
  if (command == ZIP_SOURCE_SUPPORTS)
    return zip_source_make_command_bitmap(
        ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
        ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
        ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_WRITE, ZIP_SOURCE_REMOVE, -1);
  if (command == ZIP_SOURCE_WRITE) return checked(std::fwrite(data, 1, size, file) == size, static_cast<int64_t>(size));
  if (command == ZIP_SOURCE_TELL_WRITE) return ::ftello(file);
  if (command == ZIP_SOURCE_SEEK_WRITE) {
    const auto* to = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, size, nullptr);
    return to ? checked(::fseeko(file, to->offset, to->whence) == 0, 0) : -1;
  }
  if (command == ZIP_SOURCE_ERROR) {
    const int codes[] = {error == ENOENT ? ZIP_ER_READ : ZIP_ER_WRITE, error};
    std::memcpy(data, codes, sizeof codes);
    return sizeof codes;
  }
  // AtomicFile::commit() follows a commit; no archive can be read.
  const bool is_nothing_to_do = command == ZIP_SOURCE_BEGIN_WRITE || command == ZIP_SOURCE_COMMIT_WRITE ||
                                command == ZIP_SOURCE_ROLLBACK_WRITE || command == ZIP_SOURCE_REMOVE ||
                                command == ZIP_SOURCE_FREE;
  return is_nothing_to_do ? 0 : -1;
}

}  // namespace

void save_npz(const std::string& path, const std::vector<NamedTensor>& tensors) {
  if (tensors.empty()) fail_to_save(ErrorName::unsaveable_value, path, "there is nothing to save");
  std::error_code status;
  if (std::filesystem::exists(path, status) && !std::filesystem::is_directory(path, status) &&
      !std::filesystem::is_regular_file(path, status))
    fail_to_save(ErrorName::cannot_write_file, path, "it is not a regular file");
  AtomicFile file(path);
  zip_error_t error;
  zip_error_init(&error);
  ArchiveOutput output = {file.stream()};
  zip_source_t* const into = zip_source_function_create(run_command, &output, &error);
  Archive archive(into ? zip_open_from_source(into, ZIP_CREATE | ZIP_TRUNCATE, &error) : nullptr);
  if (!archive) {
    zip_source_free(into);
    fail_to_save(ErrorName::cannot_write_file, path, zip_error_strerror(&error));
  }
  std::vector<std::string> headers;  // they must live until the archive is written
  polled_each(tensors.size(), kArrayWork, [&](size_t i) { headers.push_back(npy_header(tensors[i].tensor)); });
  polled_each(tensors.size(), kArrayWork, [&](size_t i) { add_entry(archive.get(), path, tensors[i], headers[i]); });
  if (zip_close(archive.get()) != 0) fail_to_save(ErrorName::cannot_write_file, path, zip_strerror(archive.get()));
  archive.release();
  file.commit();
}

}  // namespace tsl
