// Tests tensor files: files of NumPy and safetensors are read, and malformed headers are rejected.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <zip.h>

#include "backend/cpu/memory.h"
#include "base/run_watch.h"
#include "catch.h"
#include "io/atomic_file.h"
#include "io/npy.h"
#include "io/safetensors.h"

using namespace tsl;

namespace {

/// A temporary folder, removed at the end of the test.
struct Folder {
  std::filesystem::path path = temporary_name((std::filesystem::temp_directory_path() / "tsl_files").string());
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  size_t entries() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {})); }
};

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string text("\x93NUMPY", 6);
  text +=
      {static_cast<char>(version), 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  if (version > 1) text += std::string(2, '\0');
  return text + header + data;
}

template <class T> std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (T v : values) bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  return bytes;
}

std::string safetensors(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

template <class T> std::vector<T> elements(const Tensor& tensor) {
  std::vector<T> values(static_cast<size_t>(element_count(tensor.shape()).hint()));
  std::memcpy(values.data(), tensor.data(), values.size() * sizeof(T));
  return values;
}

template <class Call> std::string error_of(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::io);
    return failure.error().message;
  }
  return "";
}

struct Fixture {
  Folder folder;
  cpu::CachingAllocator allocator;

  Tensor tensor(DType dtype, const Shape& shape) {
    Tensor t(dtype, Layout::contiguous(shape),
             allocator.allocate(static_cast<uint64_t>(element_count(shape).hint()) * size_of(dtype)));
    auto* data = reinterpret_cast<unsigned char*>(t.data());
    for (uint64_t i = 0; i < byte_count(t); ++i)
      data[i] = static_cast<unsigned char>(dtype == DType::boolean ? i % 2 : i);
    return t;
  }
  std::string npy_error(const std::string& bytes) {
    const std::string path = folder.write("bad.npy", bytes);
    const uint64_t before = allocator.stats().live_bytes;
    const std::string message = error_of([&] { load_npy(path, allocator); });
    CHECK(allocator.stats().live_bytes == before);
    return message;
  }
  std::string safetensors_error(const std::string& header, const std::string& data) {
    const std::string path = folder.write("bad.safetensors", safetensors(header, data));
    return error_of([&] { load_safetensors(path, allocator); });
  }
};

using Catch::Contains;

}  // namespace

TEST_CASE_METHOD(Fixture, "npy: headers as NumPy writes them") {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }          \n";
  for (int version : {1, 2, 3}) {
    const Tensor t = load_npy(folder.write("a.npy", npy(header, bytes_of<float>({1, 2, 3, 4}), version)), allocator);
    CHECK(t.dtype() == DType::f32);
    CHECK(t.shape() == Shape{2, 2});
    CHECK(elements<float>(t) == std::vector<float>{1, 2, 3, 4});
  }
}

TEST_CASE_METHOD(Fixture, "npy: orders, byte orders and types that TSL lacks") {
  SECTION("Fortran's order is a transposed view") {
    const std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}";
    const Tensor t = load_npy(folder.write("f.npy", npy(header, bytes_of<int32_t>({1, 4, 2, 5, 3, 6}))), allocator);
    CHECK(t.shape() == Shape{2, 3});
    CHECK(t.layout().strides == Dims{1, 2});
    CHECK(elements<int32_t>(t) == std::vector<int32_t>{1, 4, 2, 5, 3, 6});
  }
  SECTION("big-endian") {
    const std::string header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}";
    const Tensor t = load_npy(folder.write("b.npy", npy(header, std::string("\x01\x02\xff\xfe", 4))), allocator);
    CHECK(elements<int16_t>(t) == std::vector<int16_t>{0x0102, -2});
  }
  SECTION("u16, u32 and u64") {
    const Tensor a = load_npy(folder.write("u.npy", npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,)}",
                                                        bytes_of<uint16_t>({65535}))),
                              allocator);
    CHECK(a.dtype() == DType::u16);
    CHECK(elements<uint16_t>(a)[0] == 65535);
    const Tensor b = load_npy(folder.write("u.npy", npy("{'descr': '<u4', 'fortran_order': False, 'shape': ()}",
                                                        bytes_of<uint32_t>({4294967295u}))),
                              allocator);
    CHECK(b.dtype() == DType::u32);
    CHECK(elements<uint32_t>(b)[0] == 4294967295u);
    const Tensor c = load_npy(folder.write("u.npy", npy("{'descr': '>u8', 'fortran_order': False, 'shape': (2,)}",
                                                        std::string("\xff\xff\xff\xff\xff\xff\xff\xfe"
                                                                    "\0\0\0\0\0\0\1\2",
                                                                    16))),
                              allocator);
    CHECK(c.dtype() == DType::u64);
    CHECK(elements<uint64_t>(c) == std::vector<uint64_t>{~uint64_t{1}, 258});
  }
  SECTION("bool bytes become 0 and 1") {
    const Tensor t = load_npy(folder.write("o.npy", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}",
                                                        std::string("\x00\x01\x7f", 3))),
                              allocator);
    CHECK(elements<uint8_t>(t) == std::vector<uint8_t>{0, 1, 1});
  }
}

TEST_CASE_METHOD(Fixture, "npy: complex numbers are pairs of parts") {
  SECTION("in both orders of bytes, and of axes") {
    const std::string header = "{'descr': '<c8', 'fortran_order': True, 'shape': (1, 2)}";
    const FileTensor t = load_npy(folder.write("c.npy", npy(header, bytes_of<float>({1, 2, 3, 4}))), allocator);
    CHECK(t.is_complex);
    CHECK(t.dtype() == DType::f32);
    CHECK(t.shape() == Shape{1, 2});
    CHECK(t.layout().strides == Dims{1, 1});
    CHECK(std::memcmp(t.data(), bytes_of<float>({1, 2, 3, 4}).data(), byte_count(t)) == 0);
    const std::string swapped = "{'descr': '>c16', 'fortran_order': False, 'shape': ()}";
    const FileTensor s = load_npy(folder.write("c.npy", npy(swapped, std::string("\x3f\xf0\0\0\0\0\0\0"
                                                                                 "\x40\0\0\0\0\0\0\0",
                                                                                 16))),
                                  allocator);
    CHECK(s.is_complex);
    CHECK(std::memcmp(s.data(), bytes_of<double>({1, 2}).data(), byte_count(s)) == 0);
  }
  SECTION("files and archives that are written are read") {
    const FileTensor z(Tensor(DType::f64, Layout::contiguous({2, 3}), tensor(DType::f64, {12})->storage), true);
    CHECK(byte_count(z) == 96);
    save_npy(folder.file("z.npy"), z);
    save_npz(folder.file("z.npz"), {{"z", z}, {"x", tensor(DType::i32, {2})}});
    for (const FileTensor& back :
         {load_npy(folder.file("z.npy"), allocator), load_npz(folder.file("z.npz"), allocator)[0].tensor}) {
      CHECK(back.is_complex);
      CHECK(back.shape() == z.shape());
      CHECK(std::memcmp(back.data(), z.data(), byte_count(z)) == 0);
    }
  }
  SECTION("errors") {
    const std::string zeros(8, '\0');
    CHECK_THAT(npy_error(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", zeros)), Contains("truncated"));
    CHECK_THAT(npy_error(npy("{'descr': '<c4', 'fortran_order': False, 'shape': (2,)}", zeros)), Contains("no dtype"));
    CHECK_THAT(npy_error(npy("{'descr': '<c32', 'fortran_order': False, 'shape': (0,)}", "")), Contains("c16"));
    CHECK_THAT(npy_error(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (-1,)}", zeros)), Contains("negative"));
  }
}

TEST_CASE_METHOD(Fixture, "safetensors: C64 is complex, and aligned") {
  const FileTensor z(Tensor(DType::f32, Layout::contiguous({3}), tensor(DType::f32, {6})->storage), true);
  save_safetensors(folder.file("z.safetensors"), {{"x", tensor(DType::f32, {1})}, {"z", z}});
  const std::vector<NamedTensor> back = load_safetensors(folder.file("z.safetensors"), allocator);
  CHECK_FALSE(back[0].tensor.is_complex);
  CHECK(back[1].tensor.is_complex);
  CHECK(back[1].tensor.shape() == Shape{3});
  CHECK(std::memcmp(back[1].tensor.data(), z.data(), byte_count(z)) == 0);
  CHECK_THAT(safetensors_error(R"({"z":{"dtype":"C64","shape":[1],"data_offsets":[0,4]}})", "1234"),
             Contains("does not fit"));
}

TEST_CASE_METHOD(Fixture, "npy: round trips of every dtype and rank") {
  const std::vector<Shape> shapes = {Shape{}, Shape{3}, Shape{0}, Shape{2, 0, 3}, Shape{2, 3, 4}};
  for (int d = 0; d < kDTypeCount; ++d) {
    for (const Shape& shape : shapes) {
      const Tensor t = tensor(static_cast<DType>(d), shape);
      save_npy(folder.file("r.npy"), t);
      const Tensor back = load_npy(folder.file("r.npy"), allocator);
      CHECK(back.dtype() == t.dtype());
      CHECK(back.shape() == t.shape());
      CHECK(std::memcmp(back.data(), t.data(), byte_count(t)) == 0);
      CHECK(folder.entries() == 1);
    }
  }
}

TEST_CASE_METHOD(Fixture, "npy: hostile headers are refused before memory is asked for") {
  auto header = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
  };
  CHECK_THAT(npy_error(""), Contains("too short"));
  CHECK_THAT(npy_error("PK\x03\x04 something else"), Contains("does not start as"));
  CHECK_THAT(npy_error(npy("{}", "", 9)), Contains("version 9"));
  CHECK_THAT(npy_error(npy(header("<f4", "(2,)"), "").substr(0, 30)), Contains("header is truncated"));
  CHECK_THAT(npy_error(npy(header("<f4", "(4,)"), bytes_of<float>({1, 2}))), Contains("16 bytes, but 8 follow"));
  CHECK_THAT(npy_error(npy(header("<f4", "(-1,)"), "")), Contains("negative extent"));
  CHECK_THAT(npy_error(npy(header("<f4", "(9223372036854775807, 9223372036854775807)"), "")),
             Contains("beyond any memory"));
  CHECK_THAT(npy_error(npy(header("<f4", "(99999999999999999999,)"), "")), Contains("beyond any memory"));
  CHECK_THAT(npy_error(npy(header("<f8", "(0, 4611686018427387904, 8)"), "")), Contains("beyond any memory"));
  CHECK_THAT(npy_error(npy(header("<f8", "(35184372088832,)"), "")), Contains("truncated"));
  CHECK_THAT(npy_error(npy(header("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), bytes_of<float>({1}))), Contains("9 axes"));
  CHECK_THAT(npy_error(npy(header("<c32", "(1,)"), "12345678")), Contains("no dtype for '<c32'"));
  CHECK_THAT(npy_error(npy(header("|O", "(1,)"), "12345678")), Contains("no dtype for '|O'"));
  CHECK_THAT(npy_error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234")),
             Contains("structured"));
  for (const char* malformed :
       {"{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} import os",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (a,)}",
        "{'evil': '<f4', 'fortran_order': False, 'shape': (1,)}", "{'descr': '<f4"}) {
    CHECK_THAT(npy_error(npy(malformed, "1234")), Contains("malformed"));
  }
}

TEST_CASE_METHOD(Fixture, "paths that cannot be read or written") {
  CHECK_THAT(error_of([&] { load_npy(folder.file("missing.npy"), allocator); }),
             Contains("missing.npy") && Contains("No such file"));
  CHECK_THAT(error_of([&] { load_npy(folder.path.string(), allocator); }), Contains("folder"));
  CHECK_THAT(error_of([&] { save_npy(folder.file("no/such/x.npy"), tensor(DType::f32, {2})); }),
             Contains("No such file"));
  if (std::filesystem::exists("/dev/full")) {
    CHECK_THAT(error_of([&] { save_npy("/dev/full", tensor(DType::f32, {2})); }), Contains("No space left"));
    CHECK_THAT(error_of([&] {
                 save_npz("/dev/full", {{"a", tensor(DType::f32, {2})}});
               }),
               Contains("not a regular file"));
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE_METHOD(Fixture, "a failed save leaves the old file") {
  const std::string path = folder.write("keep.txt", "old");
  {
    AtomicFile file(path);
    file.write("new");
  }  // given up before commit()
  CHECK(read_text_file(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE_METHOD(Fixture,
                 "what an ended process has left behind goes with the next save, what a living one writes stays") {
  const std::string path = folder.file("x.txt");
  folder.write("x.txt.0123abcd.tmp", "left behind");
  folder.write("x.txt.other.tmp", "not ours");
  folder.write("y.txt.0123abcd.tmp", "of another file");
  AtomicFile living(path);
  living.write("living");
  CHECK(folder.entries() == 3);
  write_text_file(path, "text");
  CHECK(folder.entries() == 4);
  living.commit();
  CHECK(read_text_file(path) == "living");
  CHECK(folder.entries() == 3);
}

TEST_CASE_METHOD(Fixture, "a pipe is refused before anyone waits for its writer") {
  const std::string pipe = folder.file("pipe.npz");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(error_of([&] { load_npy(pipe, allocator); }), Contains("not a regular file"));
  CHECK_THAT(error_of([&] { load_npz(pipe, allocator); }), Contains("not a regular file"));
  CHECK_THAT(error_of([&] { load_safetensors(pipe, allocator); }), Contains("not a regular file"));
  CHECK_THAT(error_of([&] { read_text_file(pipe); }), Contains("not a regular file"));
}

TEST_CASE_METHOD(Fixture, "a text that is larger than the memory, or than the run may hold, is not read") {
  const std::string path = folder.write("sparse.json", "");
  std::error_code status;
  std::filesystem::resize_file(path, uint64_t{1} << 43, status);
  if (status) std::filesystem::resize_file(path, uint64_t{1} << 41);  // some file systems hold no more
  const auto kind_of = [&] {
    try {
      read_text_file(path);
    } catch (const Failure& failure) { return failure.error().kind(); }
    return ErrorKind::user;
  };
  CHECK(kind_of() == ErrorKind::memory);
  std::filesystem::resize_file(path, 1 << 20);
  RunWatch watch;
  watch.limit_host_bytes(1 << 19);
  const RunWatch::Scope scope(watch, {});
  CHECK(kind_of() == ErrorKind::limit);
  CHECK(read_text_file(folder.write("short.json", "[1]")) == "[1]");
}

TEST_CASE_METHOD(Fixture, "a host hears how much of a large file is read") {
  const std::string path = folder.write("large.txt", "text");
  std::filesystem::resize_file(path, 100'000'000);
  RunWatch watch;
  std::vector<uint64_t> shown;
  watch.show_reading = [&](std::string_view read, uint64_t done, uint64_t total) {
    CHECK(read == path);
    CHECK(total == 100'000'000);
    shown.push_back(done);
  };
  const RunWatch::Scope scope(watch, {});
  CHECK(read_text_file(path).size() == 100'000'000);
  REQUIRE(shown.size() >= 2);
  CHECK(shown.front() > 0);
  CHECK(shown.front() < 100'000'000);
  CHECK(std::is_sorted(shown.begin(), shown.end()));
  CHECK(shown.back() == 100'000'000);
  shown.clear();
  std::filesystem::resize_file(path, 1'000'000);
  read_text_file(path);
  CHECK(shown.empty());
}

TEST_CASE_METHOD(Fixture, "what is saved to a link is in the file it names") {
  namespace fs = std::filesystem;
  fs::create_directory(folder.path / "data");
  const auto is_link = [&](const char* name) { return fs::is_symlink(folder.path / name); };
  SECTION("through several links, beside files and from other folders") {
    folder.write("data/x.npy", "old");
    fs::create_symlink("x.npy", folder.path / "data" / "latest.npy");
    fs::create_symlink("data/latest.npy", folder.path / "link.npy");
    save_npy(folder.file("link.npy"), tensor(DType::f32, {2}));
    CHECK(is_link("link.npy"));
    CHECK(is_link("data/latest.npy"));
    CHECK(load_npy(folder.file("data/x.npy"), allocator).shape() == Shape{2});
  }
  SECTION("archives") {
    folder.write("data/x.npz", "old");
    fs::create_symlink(folder.path / "data" / "x.npz", folder.path / "link.npz");
    save_npz(folder.file("link.npz"), {{"a", tensor(DType::f32, {2})}});
    CHECK(is_link("link.npz"));
    CHECK(load_npz(folder.file("data/x.npz"), allocator).size() == 1);
  }
  SECTION("a file that is not there yet is made") {
    fs::create_symlink("data/new.txt", folder.path / "link.txt");
    write_text_file(folder.file("link.txt"), "new");
    CHECK(is_link("link.txt"));
    CHECK(read_text_file(folder.file("data/new.txt")) == "new");
  }
  SECTION("no temporary files are left") {
    fs::create_symlink("data/x.txt", folder.path / "link.txt");
    write_text_file(folder.file("link.txt"), "text");
    CHECK(folder.entries() == 2);
    CHECK(std::distance(fs::directory_iterator(folder.path / "data"), {}) == 1);
  }
  SECTION("links in a circle name nothing") {
    fs::create_symlink("b.txt", folder.path / "a.txt");
    fs::create_symlink("a.txt", folder.path / "b.txt");
    CHECK_THAT(error_of([&] { write_text_file(folder.file("a.txt"), "text"); }), Contains("symbolic links"));
  }
  SECTION("an open file is written where it is") {
    const FileHandle open(std::fopen(folder.write("out.txt", "").c_str(), "r+"));
    const std::string descriptor = fmt::format("/proc/self/fd/{}", ::fileno(open.get()));
    if (!fs::exists(descriptor)) return;
    write_text_file(descriptor, "text");
    CHECK(std::fgetc(open.get()) == 't');
  }
}

TEST_CASE_METHOD(Fixture, "npz: round trip, and what archives can hide") {
  const std::string path = folder.file("a.npz");
  SECTION("round trip") {
    save_npz(
        path,
        {{"w", tensor(DType::f32, {2, 3})}, {"empty", tensor(DType::i64, {0})}, {"b", tensor(DType::boolean, {4})}});
    const std::vector<NamedTensor> back = load_npz(path, allocator);
    REQUIRE(back.size() == 3);
    CHECK(back[0].name == "w");
    CHECK(back[0].tensor.shape() == Shape{2, 3});
    CHECK(std::memcmp(back[0].tensor.data(), tensor(DType::f32, {2, 3}).data(), 24) == 0);
    CHECK(back[1].tensor.shape() == Shape{0});
    CHECK(folder.entries() == 1);
    save_npz(path, {{"x", tensor(DType::f32, {1})}});  // replaces
    CHECK(load_npz(path, allocator).size() == 1);
  }
  SECTION("real data, compressed or not") {
    const std::vector<NamedTensor> digits = load_npz(TSL_SOURCE_DIR "/examples/data/digits.npz", allocator);
    REQUIRE(digits.size() == 2);
    CHECK(describe(digits[0].tensor) == "u8[1797, 64]");
  }
  SECTION("no archive") {
    folder.write("a.npz", "this is no archive");
    CHECK_THAT(error_of([&] { load_npz(path, allocator); }), Contains("a.npz"));
  }
  SECTION("cut short") {
    save_npz(path, {{"w", tensor(DType::f32, {100})}});
    std::filesystem::resize_file(path, 300);
    CHECK_THAT(error_of([&] { load_npz(path, allocator); }), Contains("a.npz"));
  }
  SECTION("a flipped bit fails the checksum") {
    save_npz(path, {{"w", tensor(DType::f32, {100})}});
    std::string bytes = read_text_file(path);
    bytes[300] = static_cast<char>(bytes[300] ^ 1);
    folder.write("a.npz", bytes);
    CHECK_THAT(error_of([&] { load_npz(path, allocator); }), Contains("w.npy"));
  }
  SECTION("an entry that is no array") {
    zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
    zip_file_add(archive, "readme.txt", zip_source_buffer(archive, "hello", 5, 0), 0);
    zip_close(archive);
    CHECK_THAT(error_of([&] { load_npz(path, allocator); }), Contains("no array that TSL can hold"));
  }
  SECTION("what is no array of TSL's is left out and named, and the rest is read") {
    const auto entry = [](const char* descr, size_t bytes) {
      return npy(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (1,)}}", descr),
                 std::string(bytes, '\0'));
    };
    const std::pair<std::string, std::string> entries[] = {
        {"z.npy", entry("'<c32'", 32)},      {"text.npy", entry("'<U3'", 12)},
        {"a.npy", entry("'<f4'", 4)},        {"objects.npy", entry("'|O'", 9)},
        {"dates.npy", entry("'<M8[s]'", 8)}, {"fields.npy", entry("[('x', '<i4')]", 4)},
        {"wide.npy", entry("'<f16'", 16)},   {"README.md", "what this is"},
        {"b.npy", entry("'|b1'", 1)}};
    zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
    for (const auto& [name, bytes] : entries)
      zip_file_add(archive, name.c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
    zip_dir_add(archive, "folder", 0);
    REQUIRE(zip_close(archive) == 0);
    std::vector<UnreadEntry> unread;
    const std::vector<NamedTensor> read = load_npz(path, allocator, &unread);
    REQUIRE(read.size() == 2);
    CHECK(read[0].name == "a");
    CHECK(read[1].name == "b");
    std::string reasons;
    for (const UnreadEntry& each : unread) reasons += each.name + ": " + each.why + "\n";
    for (const char* reason : {"z: TSL has no dtype for '<c32': save x.astype('c16')", "text: ", "holds text",
                               "objects: ", "objects of Python", "dates: ", "fields: it holds records",
                               "wide: ", "README.md: it is no array", "folder/: it is a folder"})
      CHECK_THAT(reasons, Contains(reason));
    CHECK(unread.size() == 8);
    CHECK(load_npz(path, allocator).size() == 2);
  }
  SECTION("an entry that claims more than it can hold") {
    save_npz(path, {{"w", tensor(DType::f32, {100})}});
    std::string bytes = read_text_file(path);
    const size_t central = bytes.rfind("PK\x01\x02");
    const uint32_t huge = 0xfffffff0u;
    std::memcpy(&bytes[central + 24], &huge, 4);  // the uncompressed size in the directory
    folder.write("a.npz", bytes);
    CHECK_FALSE(error_of([&] { load_npz(path, allocator); }).empty());
  }
}

TEST_CASE_METHOD(Fixture, "safetensors: a tensor of another dtype is left out and named") {
  const std::string header = R"({"a": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [0, 3]},)"
                             R"( "b": {"dtype": "U8", "shape": [2], "data_offsets": [3, 5]}})";
  std::vector<UnreadEntry> unread;
  const std::string path = folder.write("m.safetensors", safetensors(header, std::string("\1\2\3\4\5", 5)));
  const std::vector<NamedTensor> read = load_safetensors(path, allocator, &unread);
  REQUIRE(read.size() == 1);
  CHECK(read[0].name == "b");
  CHECK(elements<uint8_t>(read[0].tensor) == std::vector<uint8_t>{4, 5});
  REQUIRE(unread.size() == 1);
  CHECK(unread[0].name == "a");
  CHECK_THAT(unread[0].why, Contains("F8_E4M3"));
  CHECK_THAT(
      safetensors_error(R"({"a": {"dtype": "C128", "shape": [1], "data_offsets": [0, 16]}})", std::string(16, '\0')),
      Contains("C128"));
}

TEST_CASE_METHOD(Fixture, "safetensors: U16, U32 and U64 have dtypes of their own") {
  const std::string header = R"({"a": {"dtype": "U16", "shape": [1], "data_offsets": [0, 2]},)"
                             R"( "b": {"dtype": "U32", "shape": [1], "data_offsets": [2, 6]},)"
                             R"( "c": {"dtype": "U64", "shape": [1], "data_offsets": [6, 14]}})";
  const std::string path = folder.write("m.safetensors", safetensors(header, std::string(14, '\xff')));
  const std::vector<NamedTensor> read = load_safetensors(path, allocator);
  REQUIRE(read.size() == 3);
  CHECK(read[0].tensor.dtype() == DType::u16);
  CHECK(elements<uint16_t>(read[0].tensor)[0] == UINT16_MAX);
  CHECK(read[1].tensor.dtype() == DType::u32);
  CHECK(elements<uint32_t>(read[1].tensor)[0] == UINT32_MAX);
  CHECK(read[2].tensor.dtype() == DType::u64);
  CHECK(elements<uint64_t>(read[2].tensor)[0] == UINT64_MAX);
}

TEST_CASE_METHOD(Fixture, "safetensors: round trip of every dtype") {
  std::vector<NamedTensor> tensors;
  for (int d = 0; d < kDTypeCount; ++d) {
    tensors.push_back({std::string(name_of(static_cast<DType>(d))), tensor(static_cast<DType>(d), {3, 2})});
  }
  tensors.push_back({"empty", tensor(DType::f32, {0, 5})});
  tensors.push_back({"one", tensor(DType::f16, {})});
  const std::string path = folder.file("a.safetensors");
  save_safetensors(path, tensors);
  const std::vector<NamedTensor> back = load_safetensors(path, allocator);
  REQUIRE(back.size() == tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    CHECK(back[i].name == tensors[i].name);
    CHECK(describe(back[i].tensor) == describe(tensors[i].tensor));
    CHECK(std::memcmp(back[i].tensor.data(), tensors[i].tensor.data(), byte_count(tensors[i].tensor)) == 0);
  }
}

TEST_CASE_METHOD(Fixture, "safetensors: a file as its own library writes it") {
  const std::string path = folder.write(
      "a.safetensors",
      safetensors(R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )",
                  bytes_of<float>({1.5f, -2.0f})));
  const std::vector<NamedTensor> tensors = load_safetensors(path, allocator);
  REQUIRE(tensors.size() == 1);
  CHECK(elements<float>(tensors[0].tensor) == std::vector<float>{1.5f, -2.0f});
}

TEST_CASE_METHOD(Fixture, "safetensors: hostile headers") {
  auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "{\"w\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
  };
  const std::string eight(8, 'x');
  CHECK_THAT(error_of([&] { load_safetensors(folder.write("s.safetensors", "1234"), allocator); }),
             Contains("too short"));
  CHECK_THAT(error_of([&] { load_safetensors(folder.write("s.safetensors", std::string(8, '\xff')), allocator); }),
             Contains("claims"));
  CHECK_THAT(
      error_of([&] { load_safetensors(folder.write("s.safetensors", bytes_of<uint64_t>({100}) + "{}"), allocator); }),
      Contains("truncated"));
  CHECK_THAT(safetensors_error("not json", ""), Contains("no JSON"));
  CHECK_THAT(safetensors_error("[]", ""), Contains("not a JSON object"));
  CHECK_THAT(safetensors_error("{\"w\":{\"w\":[[[[[[[[[[1]]]]]]]]]]}}", ""), Contains("nested too deeply"));
  CHECK_THAT(safetensors_error("{\"w\":1}", ""), Contains("lacks dtype"));
  CHECK_THAT(safetensors_error(entry("F32", "[2]", "[0,16]"), eight), Contains("beyond the end"));
  CHECK_THAT(safetensors_error(entry("F32", "[2]", "[8,0]"), eight), Contains("beyond the end"));
  CHECK_THAT(safetensors_error(entry("F32", "[2]", "[0,18446744073709551615]"), eight), Contains("beyond the end"));
  CHECK_THAT(safetensors_error(entry("F32", "[3]", "[0,8]"), eight), Contains("does not fit its offsets"));
  CHECK_THAT(safetensors_error(entry("F32", "[-2]", "[0,8]"), eight), Contains("not a whole number"));
  CHECK_THAT(safetensors_error(entry("F32", "[2.0]", "[0,8]"), eight), Contains("not a whole number"));
  CHECK_THAT(safetensors_error(entry("F32", "[4294967296,4294967296]", "[0,8]"), eight), Contains("beyond any memory"));
  CHECK_THAT(safetensors_error(entry("F32", "[18446744073709551615]", "[0,8]"), eight), Contains("beyond any memory"));
  CHECK_THAT(safetensors_error(entry("F8_E4M3", "[8]", "[0,8]"), eight), Contains("F8_E4M3"));
  CHECK_THAT(safetensors_error(entry("F32", "[1]", "[0,4]"), eight), Contains("belong to no tensor"));
  CHECK_THAT(safetensors_error(entry("F32", "[1]", "[4,8]"), eight), Contains("gap"));
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK_THAT(safetensors_error("{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight),
             Contains("overlaps"));
  CHECK_THAT(safetensors_error("{" + a + "," + a + "}", eight), Contains("two tensors named 'a'"));
}

TEST_CASE_METHOD(Fixture, "safetensors: a header of very many tensors") {
  constexpr size_t kCount = 200'000;  // in quadratic time a minute or two
  std::vector<NamedTensor> tensors;
  const Tensor empty = tensor(DType::f32, {0});
  for (size_t i = 0; i < kCount; ++i) tensors.push_back({fmt::format("layer.{}.\"weight\"", i), empty});
  const std::string path = folder.file("many.safetensors");
  save_safetensors(path, tensors);
  const std::vector<NamedTensor> loaded = load_safetensors(path, allocator);
  REQUIRE(loaded.size() == kCount);
  CHECK(loaded[kCount - 1].name == tensors[kCount - 1].name);
}
