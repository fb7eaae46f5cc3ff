// bounded loops: a header has 64 KiB at most
#include "io/npy.h"

#include <charconv>
#include <optional>

#include "base/error_names.h"
#include "io/atomic_file.h"

namespace tsl {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy itself refuses to evaluate headers over 10000 bytes; real ones have about 100.
constexpr uint32_t kMaxHeader = 1 << 16;
constexpr size_t kHeaderAlignment = 64;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// The header is a Python dict of exactly three keys. Only that is understood; nothing is evaluated.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        header.descr = string();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = tuple();
        has_shape = true;
      } else {
        bad();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size() || !has_descr || !has_order || !has_shape) bad();
    return header;
  }

 private:
  [[noreturn]] void bad() const { fail_to_load(ErrorName::malformed_file, file_, "its .npy header is malformed"); }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad();
  }

  std::string string() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '[')
      throw UnknownElements{"it holds records (a structured dtype): save each of their fields by itself"};
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) bad();
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) bad();
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_spaces();
    for (bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    bad();
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> items;
    expect('(');
    while (!accept(')')) {
      items.push_back(integer());
      if (items.size() > 64) bad();
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return items;
  }

  int64_t integer() {
    skip_spaces();
    int64_t value = 0;
    const auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (status == std::errc::result_out_of_range)
      fail_to_load(ErrorName::malformed_file, file_, "its shape is beyond any memory");
    if (status != std::errc()) bad();
    at_ = static_cast<size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
};

/// Returns NumPy's code for complex numbers of these parts, without the order of bytes: "c8".
std::string complex_code(DType part) { return fmt::format("c{}", 2 * size_of(part)); }

std::optional<ElementFormat> format_of(std::string_view descr) {
  if (descr.size() < 3) return std::nullopt;
  const char order = descr[0];
  if (order != '<' && order != '>' && order != '|' && order != '=') return std::nullopt;
  const std::string_view code = descr.substr(1);
  const bool is_swapped = order == '>' && code.substr(1) != "1";
  for (const DTypeRow& row : kDTypes) {
    if (row.npy.substr(1) == code) return ElementFormat{row.dtype, is_swapped};
  }
  for (const DType part : {DType::f32, DType::f64}) {
    if (complex_code(part) == code) return ElementFormat{part, is_swapped, true};
  }
  return std::nullopt;
}

std::string read_header(ByteReader& reader) {
  char magic[8];
  if (reader.left() < 10) fail_to_load(ErrorName::malformed_file, reader.name(), "it is too short for an .npy file");
  reader.read(magic, 8);
  if (std::string_view(magic, kMagic.size()) != kMagic)
    fail_to_load(ErrorName::malformed_file, reader.name(), "it does not start as an .npy file does");
  const int version = static_cast<unsigned char>(magic[6]);
  if (version < 1 || version > 3)
    fail_to_load(ErrorName::malformed_file, reader.name(), fmt::format("version {} of .npy is unknown", version));
  unsigned char length[4] = {};
  reader.read(length, version == 1 ? 2 : 4);
  const uint32_t size = length[0] | length[1] << 8 | length[2] << 16 | static_cast<uint32_t>(length[3]) << 24;
  if (size > kMaxHeader)
    fail_to_load(ErrorName::malformed_file, reader.name(), fmt::format("its header claims {} bytes", size));
  std::string header(size, '\0');
  if (size > reader.left()) fail_to_load(ErrorName::malformed_file, reader.name(), "its header is truncated");
  reader.read(header.data(), size);
  return header;
}

}  // namespace

namespace {

/// Says what elements are that TSL does not have, and what to save instead.
std::string why_unknown(std::string_view descr) {
  const char kind = descr.size() > 1 ? descr[1] : descr.empty() ? '?' : descr[0];
  const auto says = [&](const char* what) { return fmt::format("TSL has no dtype for '{}': {}", descr, what); };
  switch (kind) {
    case 'c': return says("save x.astype('c16')");
    case 'U':
    case 'S':
    case 'T': return says("it holds text; save it as a list in a .json file");
    case 'O': return says("it holds objects of Python; save the arrays among them by themselves");
    case 'M':
    case 'm': return says("it holds dates or durations; save x.astype('i8')");
    case 'f': return says("save x.astype('f8')");
    default: return fmt::format("TSL has no dtype for '{}'", descr);
  }
}

}  // namespace

FileTensor read_npy(ByteReader& reader, Allocator& allocator) {
  try {
    return read_known_npy(reader, allocator);
  } catch (const UnknownElements& unknown) { fail_to_load(ErrorName::malformed_file, reader.name(), unknown.why); }
}

FileTensor read_known_npy(ByteReader& reader, Allocator& allocator) {
  const std::string text = read_header(reader);
  Header header = HeaderParser(text, reader.name()).parse();
  const auto format = format_of(header.descr);
  if (!format) throw UnknownElements{why_unknown(header.descr)};
  if (header.fortran_order) std::reverse(header.shape.begin(), header.shape.end());
  const uint64_t bytes = checked_bytes(reader.name(), header.shape, *format);
  if (bytes > reader.left()) {
    fail_to_load(ErrorName::malformed_file, reader.name(),
                 fmt::format("it is truncated: its elements take {} bytes, but {} follow", bytes, reader.left()));
  }
  const FileTensor tensor = read_elements(reader, header.shape, *format, allocator);
  if (!header.fortran_order) return tensor;
  Layout transposed;
  for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
    transposed.shape.push_back(tensor.layout().shape[axis]);
    transposed.strides.push_back(tensor.layout().strides[axis]);
  }
  return {tensor.with_layout(transposed), tensor.is_complex};
}

StoredTensor stored_in_npy(const std::string& path) {
  FileReader reader(path);
  const uint64_t size = reader.left();
  try {
    const std::string text = read_header(reader);
    const Header header = HeaderParser(text, path).parse();
    const auto format = format_of(header.descr);
    if (!format) throw UnknownElements{why_unknown(header.descr)};
    if (header.fortran_order && header.shape.size() > 1)
      throw UnknownElements{"its rows are not together: in Python, save np.ascontiguousarray(x)"};
    if (checked_bytes(path, header.shape, *format) > reader.left())
      fail_to_load(ErrorName::malformed_file, path, "it is truncated");
    return {"", *format, header.shape, size - reader.left()};
  } catch (const UnknownElements& unknown) { fail_to_load(ErrorName::malformed_file, path, unknown.why); }
}

FileTensor load_npy(const std::string& path, Allocator& allocator) {
  FileReader reader(path);
  return read_npy(reader, allocator);
}

std::string npy_header(const FileTensor& tensor) {
  std::string shape;
  for (const Dim& extent : tensor.shape()) shape += fmt::format("{}, ", extent.hint());
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  else if (tensor.rank() == 1) shape.pop_back();
  const std::string descr =
      tensor.is_complex ? "<" + complex_code(tensor.dtype()) : std::string(row_of(tensor.dtype()).npy);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const size_t before = kMagic.size() + 4;  // version and length
  header.append(kHeaderAlignment - (before + header.size() + 1) % kHeaderAlignment, ' ');
  header += '\n';
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return start + header;
}

void save_npy(const std::string& path, const FileTensor& tensor) {
  AtomicFile file(path);
  file.write(npy_header(tensor));
  file.write(tensor.data(), byte_count(tensor));
  file.commit();
}

}  // namespace tsl
