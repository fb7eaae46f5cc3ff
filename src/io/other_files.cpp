#include "io/other_files.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include "io/bytes.h"

namespace tsl {

namespace {

using namespace std::string_view_literals;

struct Row {
  std::string_view extensions;  // each behind a blank
  std::string_view what;
  std::string_view hint;        // {0} is the path, {1} the path without its extension
  std::string_view begin = {};  // of the file; "" where the extension alone tells
  std::string_view then = {};   // what follows eight bytes later
};

constexpr std::string_view kImage =
    "in Python, `np.save(\"{1}.npy\", np.asarray(PIL.Image.open(\"{0}\")))` makes an array of it";
constexpr std::string_view kPackage = "`unzip {0}` unpacks it";

// Those with a beginning first: it counts more than a name.
constexpr Row kRows[] = {
    {" .npy", "an array of NumPy", "`load(\"{0}\")` reads it", "\x93NUMPY"},
    {" .jpg .jpeg", "a JPEG image", "`load(\"{0}\")` reads it", "\xFF\xD8\xFF"},
    {" .png", "a PNG image", "`load(\"{0}\")` reads it", "\x89PNG"},
    {" .gif", "a GIF image", kImage, "GIF8"},
    {" .webp", "a WebP image", kImage, "RIFF", "WEBP"},
    {" .tif .tiff", "a TIFF image", kImage, "II*\0"sv},
    {"", "a TIFF image", kImage, "MM\0*"sv},
    {" .wav", "sound",
     "in Python, `rate, x = scipy.io.wavfile.read(\"{0}\"); np.save(\"{1}.npy\", x)` makes an array of it", "RIFF",
     "WAVE"},
    {" .flac", "sound", "`ffmpeg -i {0} {1}.wav` makes a .wav file of it, and SciPy an array of that", "fLaC"},
    {" .mp3 .ogg .m4a", "sound", "`ffmpeg -i {0} {1}.wav` makes a .wav file of it, and SciPy an array of that", "ID3"},
    {"", "sound", "`ffmpeg -i {0} {1}.wav` makes a .wav file of it, and SciPy an array of that", "OggS"},
    {" .gguf", "a model of llama.cpp",
     "in Python, `np.savez(\"{1}.npz\", **{{t.name: t.data for t in gguf.GGUFReader(\"{0}\").tensors}})` writes its "
     "tensors; those that are quantised stay bytes",
     "GGUF"},
    {" .h5 .hdf5 .keras", "an HDF5 file",
     "in Python, `np.savez(\"{1}.npz\", **{{k: f[k][()] for k in f}})` with `f = h5py.File(\"{0}\")` writes its arrays",
     "\x89HDF"},
    {" .parquet", "a table of Parquet",
     "in Python, `np.save(\"{1}.npy\", pandas.read_parquet(\"{0}\").to_numpy())` makes an array of it", "PAR1"},
    {" .pdf", "a PDF document", "`pdftotext {0}` makes a text of it", "%PDF"},
    {" .gz .tgz", "compressed", "`gunzip {0}` unpacks it", "\x1F\x8B"},
    {" .bz2", "compressed", "`bunzip2 {0}` unpacks it", "BZh"},
    {" .xz", "compressed", "`unxz {0}` unpacks it",
     "\xFD"
     "7zXZ"},
    {" .zst", "compressed", "`unzstd {0}` unpacks it", "\x28\xB5\x2F\xFD"},
    {" .so .o", "a program", "",
     "\x7F"
     "ELF"},
    {"", "text in UTF-16", "`iconv -f utf-16 -t utf-8 {0} > {1}-utf8.txt` makes a text of it that TSL reads",
     "\xFF\xFE"},
    {"", "text in UTF-16", "`iconv -f utf-16 -t utf-8 {0} > {1}-utf8.txt` makes a text of it that TSL reads",
     "\xFE\xFF"},
    {" .npz", "an archive of NumPy's arrays", "`load(\"{0}\")` reads it"},
    {" .safetensors", "tensors", "`load(\"{0}\")` reads it"},
    {" .pt .pth .ckpt", "objects of PyTorch",
     "in Python, `safetensors.torch.save_file(torch.load(\"{0}\", map_location=\"cpu\"), \"{1}.safetensors\")` writes "
     "its "
     "tensors"},
    {" .pkl .pickle .joblib", "objects of Python",
     "in Python, `np.savez(\"{1}.npz\", …)` writes the arrays of `pickle.load(open(\"{0}\", \"rb\"))`", "\x80"},
    {" .onnx", "a model in ONNX",
     "in Python, `np.savez(\"{1}.npz\", **{{t.name: onnx.numpy_helper.to_array(t) for t in "
     "onnx.load(\"{0}\").graph.initializer}})` writes its weights"},
    {" .tflite .pb", "a model of TensorFlow", "in Python, `np.savez(\"{1}.npz\", …)` writes its weights"},
    {" .msgpack", "weights of Flax", "in Python, `np.savez(\"{1}.npz\", …)` writes its arrays"},
    {" .mat", "a file of MATLAB", "in Python, `np.savez(\"{1}.npz\", **scipy.io.loadmat(\"{0}\"))` writes its arrays"},
    {" .feather .arrow", "a table of Arrow",
     "in Python, `np.save(\"{1}.npy\", pandas.read_feather(\"{0}\").to_numpy())` makes an array of it"},
    {" .xls .xlsx .ods", "a spreadsheet",
     "in Python, `np.save(\"{1}.npy\", pandas.read_excel(\"{0}\").to_numpy())` makes an array of it"},
    {" .bmp .ppm .pgm .heic .avif", "an image", kImage},
    {" .mp4 .mov .avi .mkv .webm", "a film", "`ffmpeg -i {0} {1}-%04d.png` makes images of it, which `load` reads"},
    {" .zip .whl .jar", "an archive", kPackage, "PK\x03\x04"},
    {" .tar", "an archive", "`tar -xf {0}` unpacks it"},
    {" .7z .rar", "an archive", "unpack it first"},
    {" .bin .dat .raw", "a binary file",
     "in Python, `np.save(\"{1}.npy\", np.fromfile(\"{0}\", dtype))` makes an array of it"},
};

bool has_extension(const Row& row, const std::string& extension) {
  if (extension.empty()) return false;
  const std::string wanted = " " + extension;
  const size_t at = row.extensions.find(wanted);
  if (at == std::string_view::npos) return false;
  const size_t end = at + wanted.size();
  return end == row.extensions.size() || row.extensions[end] == ' ';
}

bool begins_so(const Row& row, std::string_view begin) {
  constexpr size_t kThen = 8;
  if (row.begin.empty() || !begin.starts_with(row.begin)) return false;
  return row.then.empty() || (begin.size() > kThen && begin.substr(kThen).starts_with(row.then));
}

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

OtherFile shown(const Row& row, const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  const std::string stem = path.substr(0, path.size() - extension.size());
  return {std::string(row.what), row.hint.empty() ? "" : fmt::format(fmt::runtime(row.hint), path, stem)};
}

}  // namespace

std::optional<OtherFile> other_file(const std::string& path, std::string_view begin) {
  const std::string extension = extension_of(path);
  const Row* found = nullptr;  // by its beginning, and better if the extension is the row's, too
  // bounded: the known formats
  for (const Row& row : kRows) {
    if (begins_so(row, begin) && (!found || has_extension(row, extension))) found = &row;
  }
  const bool is_archive = found && found->begin == "PK\x03\x04"sv;  // as of PyTorch, NumPy and Excel
  if (!found || is_archive) {
    const auto* const named =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return has_extension(row, extension); });
    if (named != std::end(kRows)) found = named;
  }
  if (!found) return std::nullopt;
  return shown(*found, path);
}

std::optional<OtherFile> other_file(const std::string& path) {
  char begin[16] = {};
  std::error_code status;
  size_t size = 0;
  if (std::filesystem::is_regular_file(path, status)) {
    if (const FileHandle file{std::fopen(path.c_str(), "rb")}) size = std::fread(begin, 1, sizeof begin, file.get());
  }
  return other_file(path, {begin, size});
}

size_t find_binary(std::string_view text) {
  const auto is_binary = [](char each) {
    const auto c = static_cast<unsigned char>(each);
    return c < 0x20 && !(c >= '\b' && c <= '\r') && c != 0x1B;
  };
  const auto* const found = std::find_if(text.begin(), text.end(), is_binary);
  return found == text.end() ? std::string_view::npos : static_cast<size_t>(found - text.begin());
}

}  // namespace tsl
