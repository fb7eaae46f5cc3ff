// Checks that help("word") finds what people mean by usual words.
#include "builtins/library_help.h"

#include <algorithm>
#include <set>

#include "base/words.h"
#include "support/session.h"
#include "value/builtin.h"

using namespace tsl;

namespace {

std::string help_of(Session& s, const std::string& word) {
  std::string printed;
  s.engine.output = [&](std::string_view text) { printed += text; };
  s.engine.run("<help>", "help(\"" + word + "\")");
  return printed;
}

struct UsualWord {
  const char* word;
  const char* names;  // which the help of the word begins a line with
};

constexpr UsualWord kUsualWords[] = {
    {"plot", "plot.line plot.scatter plot.bar save"},
    {"heat map", "plot.heatmap plot.contour"},
    {"pooling", "max_pool2d avg_pool2d"},
    {"integrate", "trapezoid simpson science.quad science.odeint"},
    {"convolution", "conv2d nn.conv1d convolve"},
    {"derivative", "grad value_and_grad jacobian"},
    {"gradient", "gradient grad value_and_grad"},
    {"optimizer", "optim.adam optim.sgd"},
    {"learning rate", "optim.cosine optim.linear_warmup optim.step_decay"},
    {"average", "average mean"},
    {"random", "rand randn randint seed"},
    {"normal", "science.normal randn random_normal"},
    {"matrix multiply", "matmul dot einsum"},
    {"inverse", "inv solve"},
    {"sort", "sort argsort topk"},
    {"histogram", "histogram bincount"},
    {"interpolation", "interp science.interp1d science.cubic_spline"},
    {"regression", "lstsq polyfit science.curve_fit"},
    {"dropout", "nn.dropout"},
    {"embedding", "embedding nn.embedding_bag"},
    {"softmax", "softmax log_softmax"},
    {"loss", "cross_entropy nn.mse"},
    {"save", "save write_text"},
    {"load", "load read_text"},
    {"csv", "load save"},
    {"image", "load plot.image science.resize conv2d"},
    {"complex", "complex real imag"},
    {"Fourier transform", "fft rfft"},
    {"gpu", "to"},
    {"seed", "seed random_state"},
    {"reshape", "reshape"},
    {"transpose", "transpose"},
    {"concat", "concat stack"},
    {"broadcast", "expand broadcast_tensors"},
    {"sum", "sum cumsum"},
    {"max", "max argmax maximum"},
    {"std", "std var"},
    {"standard deviation", "std var"},
    {"eigenvalues", "eigh eig"},
    {"activations", "relu gelu"},
    {"neural network", "nn nn.linear"},
    {"train", "optim.adam nn.batches"},
    {"shape", "reshape permute"},
    {"mask", "where"},
    {"percentile", "percentile quantile"},
    {"unique", "unique"},
    {"regular expression", "search findall"},
    {"time", "now clock parse_time"},
};

}  // namespace

TEST_CASE("help finds what usual words mean") {
  Session s;
  for (const auto& [word, names] : kUsualWords) {
    const std::string help = help_of(s, word);
    for (const std::string_view name : split_words(names)) {
      INFO(word << ": " << name << " in\n" << help);
      const std::string text(name);
      const bool is_listed = help.find("\n  " + text + " ") != std::string::npos;
      CHECK((is_listed || help.starts_with(text + "(")));
    }
  }
}

TEST_CASE("topics of help name what there is, and no word twice") {
  Session s;
  std::set<std::string, std::less<>> names;
  for (const std::string& name : s.engine.builtins().names()) names.insert(name);
  for (const LibrarySource& source : s.engine.builtins().library_sources()) names.insert(std::string(source.name));
  for (const ModuleFunction& function : library_functions(s.engine.builtins().library_sources()))
    names.insert(function.path);
  std::set<std::string_view> words;
  for (const HelpTopic& topic : help_topics()) {
    for (const std::string_view name : split_words(topic.names)) {
      INFO(name);
      CHECK(names.count(name) == 1);
    }
    for (const std::string_view word : split_words(topic.words, ',')) {
      INFO(word);
      CHECK(words.insert(word.substr(word.starts_with(' ') ? 1 : 0)).second);
    }
  }
}

TEST_CASE("a module's functions are those that a program can import") {
  Session s;
  for (const ModuleFunction& function : library_functions(s.engine.builtins().library_sources())) {
    INFO(function.path);
    const std::string module = function.path.substr(0, function.path.find('.'));
    CHECK(s.eval("import " + module + "\ntype(" + function.path + ")") == "\"function\"");
  }
}

TEST_CASE("help of a word that much has is a screen, best first") {
  Session s;
  const std::string help = help_of(s, "elements");
  CHECK(std::count(help.begin(), help.end(), '\n') == 26);
  CHECK(help.find(" more: `help(\"elements\", all: true)`") != std::string::npos);
  const std::string all = help_of(s, "elements\", \"\" == \"");
  CHECK(std::count(all.begin(), all.end(), '\n') > 60);
  const std::string log = help_of(s, "loga");
  CHECK(log.find("\n  logaddexp ") < log.find("\n  log "));
}
