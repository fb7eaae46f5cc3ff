// Reads and writes PNG by libpng. Errors of libpng jump back to run_png(), past frames of C alone.
#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <new>
#include <vector>

#include <fmt/format.h>
#include <png.h>

#include "base/error_names.h"
#include "io/image.h"
#include "tensor/dtype.h"

namespace tsl {

namespace {

constexpr int64_t kMostPngExtent = 1'000'000;
constexpr uint64_t kMostDeflated = 1032;  // the bytes that one byte of deflate stands for at most
constexpr png_alloc_size_t kMostChunkBytes = 8'000'000;
constexpr png_uint_32 kMostChunks = 1000;

/// Holds libpng's state, what went wrong, and the bytes that are read or written.
struct PngState {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string problem;  // what libpng said last
  std::string bytes;
  size_t at = 0;  // in `bytes`, of what is read
};

void note_png_error(png_structp png, png_const_charp message) {
  auto& state = *static_cast<PngState*>(png_get_error_ptr(png));
  try {
    state.problem = message;
  } catch (const std::bad_alloc&) { state.problem.clear(); }
  png_longjmp(png, 1);
}

void ignore_png_warning(png_structp, png_const_charp) {}

void read_png_bytes(png_structp png, png_bytep to, size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state.bytes.size() - state.at) png_error(png, "the file is truncated");
  std::memcpy(to, state.bytes.data() + state.at, count);
  state.at += count;
}

void write_png_bytes(png_structp png, png_bytep from, size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  bool is_full = false;
  try {
    state.bytes.append(reinterpret_cast<const char*>(from), count);
  } catch (const std::bad_alloc&) { is_full = true; }
  if (is_full) png_error(png, "there is no memory left");
}

void flush_png(png_structp) {}

/// Calls functions of libpng. Returns false if one of them has failed; `f` must have no objects to destroy.
template <class F> bool run_png(PngState& state, F&& f) {
  if (setjmp(png_jmpbuf(state.png)) != 0) return false;
  f();
  return true;
}

class PngReader {
 public:
  explicit PngReader(const std::string& path) : path_(path) {
    state_.bytes = read_image_file(path);
    if (png_sig_cmp(reinterpret_cast<png_const_bytep>(state_.bytes.data()), 0,
                    std::min<size_t>(state_.bytes.size(), 8)) != 0 ||
        state_.bytes.size() < 8)
      fail_to_load(ErrorName::malformed_file, path, "it does not start as a PNG image does");
    state_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state_, note_png_error, ignore_png_warning);
    if (state_.png) state_.info = png_create_info_struct(state_.png);
    if (!state_.info) {
      png_destroy_read_struct(&state_.png, &state_.info, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngReader() { png_destroy_read_struct(&state_.png, &state_.info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Tensor read(Allocator& allocator) {
    call([&] { read_header(); });
    const bool is_wide = png_get_bit_depth(state_.png, state_.info) == 16;
    const ImageSize size{png_get_image_height(state_.png, state_.info), png_get_image_width(state_.png, state_.info),
                         png_get_channels(state_.png, state_.info)};
    const uint64_t most_pixels = state_.bytes.size() * kMostDeflated * 8 / bits_;
    const Tensor image = new_image(path_, size, is_wide ? DType::u16 : DType::u8, most_pixels, allocator);
    const size_t row_bytes = png_get_rowbytes(state_.png, state_.info);
    auto* const data = reinterpret_cast<png_bytep>(image.data());
    for (int pass = 0; pass < passes_; ++pass) {
      for (int64_t row = 0; row < size.rows; ++row) {
        call([&] { png_read_row(state_.png, data + static_cast<size_t>(row) * row_bytes, nullptr); });
        poll_stop();
      }
    }
    call([&] { png_read_end(state_.png, nullptr); });
    return image;
  }

 private:
  void read_header() {
    png_set_user_limits(state_.png, kMostPngExtent, kMostPngExtent);
    png_set_chunk_cache_max(state_.png, kMostChunks);
    png_set_chunk_malloc_max(state_.png, kMostChunkBytes);
    png_set_read_fn(state_.png, &state_, read_png_bytes);
    png_read_info(state_.png, state_.info);
    bits_ = uint64_t{png_get_bit_depth(state_.png, state_.info)} * png_get_channels(state_.png, state_.info);
    png_set_expand(state_.png);  // palettes, fewer than 8 bits, and transparent colours
    if constexpr (std::endian::native == std::endian::little) png_set_swap(state_.png);
    passes_ = png_set_interlace_handling(state_.png);
    png_read_update_info(state_.png, state_.info);
  }

  template <class F> void call(F&& f) {
    if (!run_png(state_, f)) fail_to_load(ErrorName::malformed_file, path_, "damaged PNG: " + state_.problem);
  }

  const std::string& path_;
  PngState state_;
  int passes_ = 1;
  uint64_t bits_ = 1;  // of a pixel in the file
};

class PngWriter {
 public:
  explicit PngWriter(const std::string& path) : path_(path) {
    state_.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state_, note_png_error, ignore_png_warning);
    if (state_.png) state_.info = png_create_info_struct(state_.png);
    if (!state_.info) {
      png_destroy_write_struct(&state_.png, &state_.info);
      throw std::bad_alloc();
    }
  }
  ~PngWriter() { png_destroy_write_struct(&state_.png, &state_.info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  std::string write(const Tensor& image, const ImageSize& size) {
    constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    const int depth = image.dtype() == DType::u16 ? 16 : 8;
    call([&] {
      png_set_user_limits(state_.png, kMostPngExtent, kMostPngExtent);
      png_set_write_fn(state_.png, &state_, write_png_bytes, flush_png);
      png_set_IHDR(state_.png, state_.info, static_cast<png_uint_32>(size.columns), static_cast<png_uint_32>(size.rows),
                   depth, kColours[size.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                   PNG_FILTER_TYPE_DEFAULT);
      png_write_info(state_.png, state_.info);
      if constexpr (std::endian::native == std::endian::little) {
        if (depth == 16) png_set_swap(state_.png);
      }
    });
    const size_t row_bytes = static_cast<size_t>(size.columns * size.channels) * size_of(image.dtype());
    auto* const data = reinterpret_cast<png_bytep>(image.data());
    for (int64_t row = 0; row < size.rows; ++row) {
      call([&] { png_write_row(state_.png, data + static_cast<size_t>(row) * row_bytes); });
      poll_stop();
    }
    call([&] { png_write_end(state_.png, nullptr); });
    return std::move(state_.bytes);
  }

 private:
  template <class F> void call(F&& f) {
    if (!run_png(state_, f)) fail_to_save(ErrorName::cannot_write_file, path_, state_.problem);
  }

  const std::string& path_;
  PngState state_;
};

ImageSize png_size(const std::string& path, const Tensor& image) {
  return image_size(path, image, kMostPngExtent, "1, 2, 3 or 4");
}

}  // namespace

Tensor load_png(const std::string& path, Allocator& allocator) { return PngReader(path).read(allocator); }

void require_png_image(const std::string& path, const Tensor& image) {
  if (image.dtype() != DType::u8 && image.dtype() != DType::u16) {
    fail_with(ErrorName::wrong_argument_type,
              fmt::format("'{}' holds elements of u8 or u16, not {}", path, describe(image)),
              {"`u8(clamp(x, min: 0, max: 1) * 255 + 0.5)` makes u8 of floats from 0 to 1"});
  }
  png_size(path, image);
}

std::string png_bytes(const std::string& path, const Tensor& image) {
  return PngWriter(path).write(image, png_size(path, image));
}

}  // namespace tsl
