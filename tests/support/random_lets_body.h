// Makes the lets of one function; see random_lets.h. The parts are in random_lets_body.cpp (which operands),
// random_lets_elements.cpp (elementwise), random_lets_numbers.cpp (host numbers and complex ones),
// random_lets_views.cpp (views, copies and writes), random_lets_axes.cpp (reductions, scans, products) and
// random_lets_host.cpp (host reads, branches, loops).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/random_programs.h"

namespace tsl {

/// An extent as program text, and its value in each group of calls.
struct LetExtent {
  std::string text;
  std::vector<int> values;
  bool operator==(const LetExtent& other) const { return text == other.text; }
};
using LetShape = std::vector<LetExtent>;

struct Let {
  std::string name;
  std::string dtype;
  LetShape shape;
  double bound = 2;  // of magnitudes, roughly: results that are all infinite or NaN would hide differences
  bool is_var = false;
  int uses = 0;
  bool has_kernel = false;  // is computed by a kernel of its own, and not together with what reads it

  bool is_float() const { return is_float_name(dtype); }
};

/// Returns the product of the extents, in the group of calls where it is greatest.
int64_t most_elements(const LetShape& shape);
std::string to_text(const LetShape& shape);

class LetsBody {
 public:
  /// base: the dtype of most lets; limit: the most elements of one.
  LetsBody(Random& random, std::string base, int64_t limit) : random_(random), base_(std::move(base)), limit_(limit) {}

  std::vector<Let> scope;
  Block out;

  /// Appends one statement or some, with at least one result.
  void append();
  /// Chooses one to six results of any dtype for the list that the function returns.
  std::string results();

 private:
  using Part = bool (LetsBody::*)();
  /// Chooses among the lets that fit: often one that nothing uses yet, or a late one, so that lifetimes differ.
  std::optional<Let> find(const std::function<bool(const Let&)>& fits);
  std::string fresh(const char* prefix = "v") { return fmt::format("{}{}", prefix, ++names_); }

  // Operands

  std::optional<Let> operand(size_t least_rank = 0);
  std::optional<Let> of_shape(const LetShape& shape);
  /// Returns a float that a kernel of its own computes, of the shape if one is given, and of rank 1 at least.
  std::optional<Let> of_kernel(const LetShape* shape = nullptr);
  /// Returns a float that broadcasts with `a`, mostly of the same shape; else `a`.
  Let partner(const Let& a, LetShape& shape);
  std::optional<LetShape> broadcast(const LetShape& a, const LetShape& b) const;
  /// Combines lets that nothing uses with others, until at most so many are left: unused lets are not computed.
  void join_unused(size_t most);
  int axis_of(const Let& let) { return random_.below(static_cast<int>(let.shape.size())); }
  /// As axis_of(), but often an axis of extent 1, where the result of a reduction is its operand.
  int reduced_axis_of(const Let& let);
  bool fits(const LetShape& shape) const { return most_elements(shape) <= limit_; }

  /// Appends `let NAME = text`, and a let with smaller numbers if they may be great. Returns true.
  bool declare(const std::string& text, const std::string& dtype, const LetShape& shape, double bound);
  bool declare_as(const std::string& name, const std::string& dtype, const LetShape& shape, double bound, bool is_var);

  bool unary();
  bool binary();
  bool ternary();
  bool cast();
  bool from_integers();
  bool random_numbers();
  bool constants();
  bool weak_numbers();
  bool complex_values();

  bool rolled();
  bool reversed();
  bool read_twice();
  bool read_both(const Let& first, const Let& second);
  bool interleaved();
  bool identical();
  bool strided();
  bool transposed();
  bool reshaped();
  bool expanded();
  bool concatenated();
  bool stacked();
  bool padded();
  bool written();
  bool taken();
  bool gathered();

  bool reduced();
  bool centered();
  bool located();
  bool scanned();
  bool multiplied();
  bool softmaxed();
  bool normalized();
  bool sorted();

  bool printed();
  bool branched();
  bool looped();

  Random& random_;
  const std::string base_;
  const int64_t limit_;
  int names_ = 0;
};

std::string promoted(const std::string& a, const std::string& b);
/// Returns an index for one axis: "[:, :, part]" for axis 2.
std::string at_axis(int axis, const std::string& part);

}  // namespace tsl
