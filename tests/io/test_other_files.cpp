// Tests that files which TSL does not read are recognised, by how they begin and by their names.
#include "catch.h"
#include "io/other_files.h"

using namespace tsl;

namespace {

std::string what(const std::string& path, std::string_view begin = "") {
  const auto file = other_file(path, begin);
  return file ? file->what : "";
}

}  // namespace

TEST_CASE("a file is recognised by how it begins, or by its name", "[files]") {
  using namespace std::string_view_literals;
  CHECK(what("x.jpg") == "a JPEG image");
  CHECK(what("X.JPEG") == "a JPEG image");
  CHECK(what("x.txt", "\x89PNG\r\n") == "a PNG image");
  CHECK(what("x", "RIFF\1\2\3\4WAVEfmt") == "sound");
  CHECK(what("x", "RIFF\1\2\3\4WEBPVP8") == "a WebP image");
  CHECK(what("x", "RIFF\1\2\3\4AVI ").empty());
  CHECK(what("m.pt", "PK\x03\x04") == "objects of PyTorch");
  CHECK(what("m.xlsx", "PK\x03\x04") == "a spreadsheet");
  CHECK(what("m.onnx") == "a model in ONNX");
  CHECK(what("m.bin", "GGUF\3") == "a model of llama.cpp");
  CHECK(what("t.txt", "\xFF\xFEh\0"sv) == "text in UTF-16");
  CHECK(what("x.npz") == "an archive of NumPy's arrays");
  for (const char* text : {"t.txt", "t.csv", "noextension", "a.jpg/b", ".png"}) CHECK(what(text).empty());
}

TEST_CASE("a hint names the file, and the one to make", "[files]") {
  CHECK(other_file("a/x.gif")->hint ==
        "in Python, `np.save(\"a/x.npy\", np.asarray(PIL.Image.open(\"a/x.gif\")))` makes an array of it");
  CHECK(other_file("m.pt")->hint.find("\"m.safetensors\"") != std::string::npos);
  CHECK(other_file("m.gguf")->hint.find("**{t.name: t.data for t in gguf.GGUFReader(\"m.gguf\").tensors}") !=
        std::string::npos);
}

TEST_CASE("a text has no bytes that control nothing", "[files]") {
  using namespace std::string_view_literals;
  CHECK(find_binary("a\tb\r\n\f\x1b[0m größe") == std::string_view::npos);
  CHECK(find_binary("ab\0c"sv) == 2);
  CHECK(find_binary("\x01") == 0);
}
