// Reads and writes JPEG by libjpeg-turbo. Its errors jump back to run_jpeg(), past frames of C alone.
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>
#include <exception>
#include <new>

#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

#include "base/error_names.h"
#include "io/image.h"

namespace tsl {

namespace {

constexpr int64_t kMostJpegExtent = JPEG_MAX_DIMENSION;
// A block takes a bit at least, and stands for 8 × 8 pixels; for twice as many where colours are sampled oddly.
constexpr uint64_t kMostPixelsOfByte = 1024;
constexpr int kMostScans = 500;  // of a progressive image; each goes over all blocks

/// Holds what libjpeg calls when something is wrong. It comes first in `error`, so that the two convert.
struct JpegErrors {
  jpeg_error_mgr manager;  // the first member
  std::jmp_buf back;
  char problem[JMSG_LENGTH_MAX];
  std::exception_ptr stop;  // the run was ended meanwhile
};

[[noreturn]] void leave_jpeg(j_common_ptr image) {
  auto& errors = *reinterpret_cast<JpegErrors*>(image->err);
  image->err->format_message(image, errors.problem);
  std::longjmp(errors.back, 1);
}

/// Makes errors of the warnings that tell of lost data.
void note_jpeg_message(j_common_ptr image, int level) {
  const int code = image->err->msg_code;
  const bool is_harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR || code == JWRN_TOO_MUCH_DATA;
  if (level < 0 && !is_harmless) leave_jpeg(image);
}

/// Looks after the scans of an image, which one call of libjpeg reads: their number, and whether the run is ended.
void watch_scans(j_common_ptr image) {
  auto& errors = *reinterpret_cast<JpegErrors*>(image->err);
  try {
    poll_stop();
  } catch (...) { errors.stop = std::current_exception(); }
  const bool has_too_many = reinterpret_cast<j_decompress_ptr>(image)->input_scan_number > kMostScans;
  if (!errors.stop && !has_too_many) return;
  image->err->msg_code = JERR_BAD_PROGRESSION;
  leave_jpeg(image);
}

jpeg_error_mgr* jpeg_manager(JpegErrors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave_jpeg;
  errors.manager.emit_message = note_jpeg_message;
  errors.problem[0] = '\0';
  return &errors.manager;
}

/// Calls functions of libjpeg. Returns false if one of them has failed; `f` must have no objects to destroy.
template <class F> bool run_jpeg(JpegErrors& errors, F&& f) {
  if (setjmp(errors.back) != 0) return false;
  f();
  return true;
}

class JpegReader {
 public:
  explicit JpegReader(const std::string& path) : path_(path), bytes_(read_image_file(path)) {
    jpeg_.err = jpeg_manager(errors_);
    if (!run_jpeg(errors_, [&] { jpeg_create_decompress(&jpeg_); })) throw std::bad_alloc();
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Tensor read(Allocator& allocator) {
    progress_.progress_monitor = watch_scans;
    jpeg_.progress = &progress_;
    call([&] {
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      jpeg_read_header(&jpeg_, TRUE);
    });
    const bool is_grey = jpeg_.jpeg_color_space == JCS_GRAYSCALE, is_print = jpeg_.num_components == 4;
    if (is_print) fail_to_load(ErrorName::malformed_file, path_, "it has the four colours of print (CMYK)");
    // Whose size says nothing of the image's.
    if (jpeg_.arith_code)
      fail_to_load(ErrorName::malformed_file, path_, "it is coded arithmetically, which few programs read");
    jpeg_.out_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
    const ImageSize size{jpeg_.image_height, jpeg_.image_width, is_grey ? 1 : 3};
    const Tensor image = new_image(path_, size, DType::u8, bytes_.size() * kMostPixelsOfByte, allocator);
    // Of several scans, libjpeg keeps a coefficient of two bytes for each element.
    if (jpeg_has_multiple_scans(&jpeg_)) require_host_bytes(static_cast<uint64_t>(size.rows * size.columns) * 2 * 3);
    call([&] { jpeg_start_decompress(&jpeg_); });
    auto* const data = reinterpret_cast<JSAMPLE*>(image.data());
    for (int64_t row = 0; row < size.rows; ++row) {
      JSAMPROW to = data + row * size.columns * size.channels;
      call([&] { jpeg_read_scanlines(&jpeg_, &to, 1); });
      poll_stop();
    }
    call([&] { jpeg_finish_decompress(&jpeg_); });
    return image;
  }

 private:
  template <class F> void call(F&& f) {
    if (run_jpeg(errors_, f)) return;
    if (errors_.stop) std::rethrow_exception(errors_.stop);
    fail_to_load(ErrorName::malformed_file, path_, fmt::format("damaged JPEG: {}", errors_.problem));
  }

  const std::string& path_;
  const std::string bytes_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct jpeg_ = {};
};

class JpegWriter {
 public:
  explicit JpegWriter(const std::string& path) : path_(path) {
    jpeg_.err = jpeg_manager(errors_);
    if (!run_jpeg(errors_, [&] { jpeg_create_compress(&jpeg_); })) throw std::bad_alloc();
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&jpeg_);
    std::free(data_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  std::string write(const Tensor& image, const ImageSize& size, int quality) {
    call([&] {
      jpeg_mem_dest(&jpeg_, &data_, &count_);
      jpeg_.image_width = static_cast<JDIMENSION>(size.columns);
      jpeg_.image_height = static_cast<JDIMENSION>(size.rows);
      jpeg_.input_components = static_cast<int>(size.channels);
      jpeg_.in_color_space = size.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_set_defaults(&jpeg_);
      jpeg_set_quality(&jpeg_, quality, TRUE);
      jpeg_start_compress(&jpeg_, TRUE);
    });
    auto* const data = reinterpret_cast<JSAMPLE*>(image.data());
    for (int64_t row = 0; row < size.rows; ++row) {
      JSAMPROW from = data + row * size.columns * size.channels;
      call([&] { jpeg_write_scanlines(&jpeg_, &from, 1); });
      poll_stop();
    }
    call([&] { jpeg_finish_compress(&jpeg_); });
    return {reinterpret_cast<const char*>(data_), count_};
  }

 private:
  template <class F> void call(F&& f) {
    if (!run_jpeg(errors_, f)) fail_to_save(ErrorName::cannot_write_file, path_, errors_.problem);
  }

  const std::string& path_;
  JpegErrors errors_;
  jpeg_compress_struct jpeg_ = {};
  unsigned char* data_ = nullptr;  // what libjpeg has allocated
  unsigned long count_ = 0;
};

ImageSize jpeg_size(const std::string& path, const Tensor& image) {
  return image_size(path, image, kMostJpegExtent, "1 or 3");
}

}  // namespace

Tensor load_jpeg(const std::string& path, Allocator& allocator) { return JpegReader(path).read(allocator); }

void require_jpeg_image(const std::string& path, const Tensor& image) {
  if (image.dtype() != DType::u8) {
    fail_with(ErrorName::wrong_argument_type, fmt::format("'{}' holds elements of u8, not {}", path, describe(image)),
              {"`u8(clamp(x, min: 0, max: 1) * 255 + 0.5)` makes u8 of floats from 0 to 1"});
  }
  jpeg_size(path, image);
}

std::string jpeg_bytes(const std::string& path, const Tensor& image, int quality) {
  return JpegWriter(path).write(image, jpeg_size(path, image), quality);
}

}  // namespace tsl
