// Tests PNG and JPEG images: those of other programs are read, and damaged ones are errors, never crashes.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <jpeglib.h>
#include <png.h>

#include "backend/cpu/memory.h"
#include "base/error.h"
#include "base/run_watch.h"
#include "catch.h"
#include "io/atomic_file.h"
#include "io/image.h"

using namespace tsl;

namespace {

struct ImageFolder {
  std::filesystem::path path = temporary_name((std::filesystem::temp_directory_path() / "tsl_images").string());
  cpu::CachingAllocator allocator;
  ImageFolder() { std::filesystem::create_directory(path); }
  ~ImageFolder() { std::filesystem::remove_all(path); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
  Tensor load(const std::string& bytes, bool is_png) {
    const std::string file = write(is_png ? "x.png" : "x.jpg", bytes);
    return is_png ? load_png(file, allocator) : load_jpeg(file, allocator);
  }
  /// Returns the error's message; "" if the image is read.
  std::string error_of(const std::string& bytes, bool is_png) {
    try {
      load(bytes, is_png);
    } catch (const Failure& failure) {
      CHECK((failure.error().kind() == ErrorKind::io || failure.error().kind() == ErrorKind::memory));
      return failure.error().message;
    }
    return "";
  }
  Tensor image(int64_t rows, int64_t columns, int64_t channels) {
    const Shape shape{Dim(rows), Dim(columns), Dim(channels)};
    Tensor t(DType::u8, Layout::contiguous(shape),
             allocator.allocate(static_cast<uint64_t>(rows * columns * channels)));
    auto* const data = reinterpret_cast<unsigned char*>(t.data());
    for (int64_t i = 0; i < rows * columns * channels; ++i) data[i] = static_cast<unsigned char>(i * 37 % 251);
    return t;
  }
};

std::vector<int> values_of(const Tensor& t) {
  const auto* const data = reinterpret_cast<const unsigned char*>(t.data());
  return {data, data + element_count(t.shape()).hint()};
}

std::vector<int64_t> extents_of(const Tensor& t) {
  std::vector<int64_t> extents;
  for (const Dim& extent : t.shape()) extents.push_back(extent.hint());
  return extents;
}

/// Makes a PNG of 4 × 2 pixels with libpng, as other programs write it: of a kind of colours, bits and interlacing.
std::string other_png(int colours, int depth, int interlace, bool has_transparent) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), count);
      },
      nullptr);
  png_set_IHDR(png, info, 4, 2, depth, colours, interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[4] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {250, 251, 252}};
  const png_byte alphas[2] = {0, 128};
  if (colours == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 4);
  if (has_transparent) png_set_tRNS(png, info, const_cast<png_bytep>(alphas), 2, nullptr);
  png_write_info(png, info);
  png_byte rows[2][8] = {{0x1B, 0x1B, 3, 4, 5, 6, 7, 8}, {0xE4, 0xE4, 9, 8, 7, 6, 5, 4}};
  png_bytep pointers[] = {rows[0], rows[1]};
  png_write_image(png, pointers);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

/// Makes a JPEG of one colour with libjpeg, as other programs write it: of so many rows and columns.
std::string other_jpeg(J_COLOR_SPACE space, int extent, bool is_progressive, bool is_arithmetic = false) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &data, &size);
  jpeg.image_width = jpeg.image_height = static_cast<JDIMENSION>(extent);
  jpeg.input_components = space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK ? 4 : 3;
  jpeg.in_color_space = space;
  jpeg_set_defaults(&jpeg);
  jpeg.arith_code = is_arithmetic;
  if (is_progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<JSAMPLE> row;
  for (int i = 0; i < extent * jpeg.input_components; ++i)
    row.push_back(static_cast<JSAMPLE>(40 + 50 * (i % jpeg.input_components)));
  for (JSAMPROW rows[] = {row.data()}; jpeg.next_scanline < jpeg.image_height;) jpeg_write_scanlines(&jpeg, rows, 1);
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(data), size);
  std::free(data);
  return bytes;
}

/// Loads every truncation of an image, and many with flipped bits and runs of bytes. Returns how many were read.
int load_damaged(ImageFolder& folder, const std::string& bytes, bool is_png) {
  int read = 0;
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 300) {
    INFO("the first " << size << " bytes");
    CHECK(!folder.error_of(bytes.substr(0, size), is_png).empty());
  }
  uint64_t random = 1;
  const auto next = [&](size_t bound) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(random >> 33) % bound;
  };
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    for (size_t flips = 1 + next(4); flips > 0; --flips)
      damaged[next(damaged.size())] ^= static_cast<char>(1 << next(8));
    if (i % 5 == 0) damaged.erase(next(damaged.size()), next(20));
    read += folder.error_of(damaged, is_png).empty() ? 1 : 0;
  }
  return read;
}

}  // namespace

TEST_CASE("an image is read as it was written") {
  ImageFolder folder;
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = folder.image(5, 7, channels);
    const Tensor read = folder.load(png_bytes("x", image), true);
    CHECK(extents_of(read) == std::vector<int64_t>{5, 7, channels});
    CHECK(values_of(read) == values_of(image));
  }
  const Tensor read = folder.load(jpeg_bytes("x", folder.image(5, 7, 3)), false);
  CHECK(extents_of(read) == std::vector<int64_t>{5, 7, 3});
}

TEST_CASE("palettes and few bits are expanded") {
  ImageFolder folder;
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    const Tensor coloured = folder.load(other_png(PNG_COLOR_TYPE_PALETTE, 2, interlace, false), true);
    CHECK(extents_of(coloured) == std::vector<int64_t>{2, 4, 3});
    CHECK(values_of(coloured) ==
          std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252, 250, 251, 252, 7, 8, 9, 4, 5, 6, 1, 2, 3});
    const Tensor clear = folder.load(other_png(PNG_COLOR_TYPE_PALETTE, 2, interlace, true), true);
    CHECK(extents_of(clear) == std::vector<int64_t>{2, 4, 4});
    CHECK(values_of(clear)[3] == 0);
    CHECK(values_of(clear)[7] == 128);
    CHECK(values_of(clear)[11] == 255);
    CHECK(values_of(folder.load(other_png(PNG_COLOR_TYPE_GRAY, 2, interlace, false), true)) ==
          std::vector<int>{0, 85, 170, 255, 255, 170, 85, 0});
    CHECK(values_of(folder.load(other_png(PNG_COLOR_TYPE_GRAY, 1, interlace, false), true)) ==
          std::vector<int>{0, 0, 0, 255, 255, 255, 255, 0});
  }
}

TEST_CASE("16 bits of a PNG are kept") {
  ImageFolder folder;
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    const Tensor wide = folder.load(other_png(PNG_COLOR_TYPE_GRAY, 16, interlace, false), true);
    CHECK(wide.dtype() == DType::u16);
    CHECK(extents_of(wide) == std::vector<int64_t>{2, 4, 1});
    const auto* const data = reinterpret_cast<const uint16_t*>(wide.data());
    CHECK(std::vector<int>(data, data + 8) ==
          std::vector<int>{0x1B1B, 0x0304, 0x0506, 0x0708, 0xE4E4, 0x0908, 0x0706, 0x0504});
  }
}

TEST_CASE("JPEG images of other programs are read, or say what they are") {
  ImageFolder folder;
  for (const bool is_progressive : {false, true}) {
    const Tensor grey = folder.load(other_jpeg(JCS_GRAYSCALE, 16, is_progressive), false);
    CHECK(extents_of(grey) == std::vector<int64_t>{16, 16, 1});
    CHECK(values_of(grey) == std::vector<int>(256, 40));
    const std::vector<int> colour = values_of(folder.load(other_jpeg(JCS_RGB, 16, is_progressive), false));
    REQUIRE(colour.size() == 768);
    for (size_t i = 0; i < 3; ++i) CHECK(std::abs(colour[i] - (40 + 50 * static_cast<int>(i))) <= 2);
    CHECK(folder.error_of(other_jpeg(JCS_CMYK, 16, is_progressive), false)
              .find("it has the four colours of print (CMYK)") != std::string::npos);
  }
  CHECK(folder.error_of(other_jpeg(JCS_RGB, 16, false, true), false).find("it is coded arithmetically") !=
        std::string::npos);
}

TEST_CASE("what a progressive JPEG needs besides its pixels counts as memory of the host") {
  ImageFolder folder;
  RunWatch watch;
  watch.limit_host_bytes(20'000);
  const std::string bytes = other_jpeg(JCS_RGB, 64, true);  // 24 KB of coefficients
  const RunWatch::Current current(&watch);
  CHECK(extents_of(folder.load(other_jpeg(JCS_RGB, 64, false), false)) == std::vector<int64_t>{64, 64, 3});
  try {
    folder.load(bytes, false);
    FAIL("it was loaded");
  } catch (const Failure& failure) { CHECK(failure.error().kind() == ErrorKind::limit); }
}

TEST_CASE("sizes that the file cannot hold are refused before memory is taken") {
  ImageFolder folder;
  std::string jpeg = jpeg_bytes("x", folder.image(16, 16, 3));
  const size_t at = jpeg.find("\xFF\xC0");
  REQUIRE(at != std::string::npos);
  for (size_t i = 5; i < 9; ++i) jpeg[at + i] = '\xFE';
  CHECK(folder.error_of(jpeg, false).find("it is truncated: it is too short for 65278 × 65278 pixels") !=
        std::string::npos);

  std::string png = png_bytes("x", folder.image(16, 16, 3));
  png[16] = 0;
  png[17] = 15;  // 983,056 columns; libpng checks the sum of the header, which is computed anew
  png[21] = 15;
  std::string header = png.substr(12, 17);
  uint32_t sum = 0xFFFFFFFF;
  for (const char c : header) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ 0xEDB88320 : sum >> 1;
  }
  sum = ~sum;
  for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  CHECK(folder.error_of(png, true).find("too short for 983056 × 983056 pixels") != std::string::npos);
}

TEST_CASE("damaged images are errors") {
  ImageFolder folder;
  CHECK(load_damaged(folder, png_bytes("x", folder.image(13, 17, 3)), true) < 300);  // the sums of chunks tell
  CHECK(load_damaged(folder, other_png(PNG_COLOR_TYPE_PALETTE, 2, PNG_INTERLACE_ADAM7, true), true) < 300);
  load_damaged(folder, jpeg_bytes("x", folder.image(33, 17, 3)), false);  // a flipped bit is often another colour
  load_damaged(folder, other_jpeg(JCS_RGB, 40, true), false);
  load_damaged(folder, other_jpeg(JCS_CMYK, 16, false), false);
}
