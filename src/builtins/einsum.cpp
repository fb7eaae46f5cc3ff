// einsum: each pair of operands becomes one (batched) matrix product, so that long equations are efficient.
// bounded loops: a term has a label for each axis, of 52 letters, once it has been read.
#include "builtins/einsum.h"

#include <algorithm>
#include <string>

#include "base/count_work.h"
#include "base/error_names.h"
#include "value/context.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

/// One label per axis. Letters come from the equation; '0' to '7' are the axes of an ellipsis, counted from the right.
using Labels = std::string;

struct Term {
  Tensor tensor;
  Labels labels;
};

bool contains(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

/// Parses "ij,...jk->i...k".
class Equation {
 public:
  Equation(std::string_view text, const std::vector<Tensor>& operands) : text_(text) {
    std::string compact;
    polled_each(text.size(), 2, [&](size_t i) {
      if (text[i] != ' ') compact += text[i];
    });
    const size_t arrow = compact.find("->");
    const std::string left = compact.substr(0, arrow);
    size_t begin = 0;
    for (size_t i = 0; i <= left.size(); ++i) {
      count_work(1);
      if (i < left.size() && left[i] != ',') continue;
      inputs_.push_back(left.substr(begin, i - begin));
      begin = i + 1;
    }
    if (inputs_.size() != operands.size())
      fail_with(
          ErrorName::malformed_einsum,
          fmt::format("einsum: '{}' names {} operands, but {} were given", text_, inputs_.size(), operands.size()),
          {"each term before the arrow is a tensor's: `einsum(\"ij,jk->ik\", a, b)`"});
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = expand(inputs_[i], operands[i].rank(), i);
    output_ = arrow == std::string::npos ? implied_output() : expand(compact.substr(arrow + 2), -1, 0);
    for (char label : output_) {
      const bool known =
          std::any_of(inputs_.begin(), inputs_.end(), [&](const Labels& in) { return contains(in, label); });
      if (!known) bad(fmt::format("'{}' of the result is in no operand", label));
      if (std::count(output_.begin(), output_.end(), label) > 1) bad(fmt::format("'{}' is twice in the result", label));
    }
  }

  const std::vector<Labels>& inputs() const { return inputs_; }
  const Labels& output() const { return output_; }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    fail(ErrorName::malformed_einsum, "einsum: '{}' {}", text_, why);
  }

  // `rank` is -1 for the result, whose ellipsis has as many axes as the largest of the operands'.
  Labels expand(const std::string& term, int rank, size_t operand) {
    const size_t dots = term.find("...");
    const std::string letters = dots == std::string::npos ? term : term.substr(0, dots) + term.substr(dots + 3);
    for (char c : letters) {
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        bad(fmt::format("has '{}' where a letter is expected", c));
    }
    const int named = static_cast<int>(letters.size());
    if (rank >= 0 && (dots == std::string::npos ? named != rank : named > rank)) {
      fail(ErrorName::rank_mismatch, "einsum: operand {} has rank {}, but '{}' names {} axes", operand, rank, term,
           named);
    }
    if (dots == std::string::npos) return letters;
    const int width = rank >= 0 ? rank - named : widest_;
    widest_ = std::max(widest_, width);
    return letters.substr(0, dots) + ellipsis(width) + letters.substr(dots);
  }

  static Labels ellipsis(int width) {
    Labels labels;
    for (int i = width - 1; i >= 0; --i) labels += static_cast<char>('0' + i);
    return labels;
  }

  // Returns the labels that occur once, in alphabetical order.
  Labels implied_output() const {
    Labels all;
    for (const Labels& input : inputs_) all += input;
    Labels once;
    for (char label : all)
      if (label > '9' && std::count(all.begin(), all.end(), label) == 1) once += label;
    std::sort(once.begin(), once.end());
    return ellipsis(widest_) + once;
  }

  std::string text_;
  std::vector<Labels> inputs_;
  Labels output_;
  int widest_ = 0;
};

class Contraction {
 public:
  Contraction(Ops& ops, Labels output) : ops_(ops), output_(std::move(output)) {}

  Tensor run(std::vector<Term> terms) {
    for (Term& term : terms) term = diagonals(std::move(term));
    check_extents(terms);
    Term result = std::move(terms[0]);
    for (size_t i = 1; i < terms.size(); ++i) {
      Labels needed = output_;
      for (size_t later = i + 1; later < terms.size(); ++later) needed += terms[later].labels;
      result = multiply(sum_out(result, needed + terms[i].labels), sum_out(terms[i], needed + result.labels), needed);
    }
    return arrange(sum_out(result, output_), output_).tensor;
  }

 private:
  Dim extent(const Term& term, char label) const {
    return term.tensor.shape()[static_cast<int>(term.labels.find(label))];
  }

  // Takes the diagonal where an operand has a label twice: every (n + 1)-th element of the two axes merged.
  Term diagonals(Term term) {
    for (size_t i = 0; i < term.labels.size(); ++i) {
      const size_t twin = term.labels.find(term.labels[i], i + 1);
      if (twin == Labels::npos) continue;
      const Shape& shape = term.tensor.shape();
      const Dim n = shape[static_cast<int>(i)];
      if (!(n == shape[static_cast<int>(twin)])) {
        fail(ErrorName::shape_mismatch, "einsum: '{}' is {} and {} in one operand", term.labels[i], n.hint(),
             shape[static_cast<int>(twin)].hint());
      }
      const std::vector<int64_t> order =
          order_with_front(shape.rank(), {static_cast<int64_t>(i), static_cast<int64_t>(twin)});
      const Tensor front = permute(ops_, term.tensor, order);
      Shape joined{n * n};
      for (int axis = 2; axis < front.rank(); ++axis) joined.push_back(front.shape()[axis]);
      Labels labels(1, term.labels[i]);
      for (size_t k = 2; k < order.size(); ++k) labels += term.labels[static_cast<size_t>(order[k])];
      term = {slice(ops_, reshape(ops_, front, joined), 0, 0, n, (n + 1).pin()), labels};
      i = static_cast<size_t>(-1);  // from the start: the order has changed
    }
    return term;
  }

  // Checks that extents of one label are equal, or 1; an operand with extent 1 drops the axis.
  void check_extents(std::vector<Term>& terms) {
    for (Term& term : terms) {
      for (size_t axis = 0; axis < term.labels.size();) {
        const char label = term.labels[axis];
        const Dim mine = extent(term, label);
        bool drop = false;
        for (const Term& other : terms) {
          if (!contains(other.labels, label) || extent(other, label) == mine) continue;
          if (!(mine == Dim(1)) && !(extent(other, label) == Dim(1))) {
            fail(ErrorName::shape_mismatch, "einsum: '{}' is {} in {} but {} in {}", label, mine.hint(),
                 describe(term.tensor), extent(other, label).hint(), describe(other.tensor));
          }
          drop = drop || mine == Dim(1);
        }
        if (!drop) {
          ++axis;
          continue;
        }
        term.tensor = select(ops_, term.tensor, static_cast<int64_t>(axis), 0);
        term.labels.erase(axis, 1);
      }
    }
  }

  Term sum_out(const Term& term, const Labels& needed) {
    Ints axes;
    Labels kept;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      if (contains(needed, term.labels[i])) kept += term.labels[i];
      else axes.push_back(static_cast<int64_t>(i));
    }
    return axes.empty() ? term : Term{sum(ops_, term.tensor, axes, false), kept};
  }

  Term arrange(const Term& term, const Labels& labels) {
    Ints order;
    for (char label : labels) order.push_back(static_cast<int64_t>(term.labels.find(label)));
    return term.labels == labels ? term : Term{permute(ops_, term.tensor, order), labels};
  }

  // Multiplies [batch, left, shared] @ [batch, shared, right].
  Term multiply(const Term& a, const Term& b, const Labels& needed) {
    Labels batch, shared, left, right;
    for (char label : a.labels) {
      if (!contains(b.labels, label)) left += label;
      else (contains(needed, label) ? batch : shared) += label;
    }
    for (char label : b.labels)
      if (!contains(a.labels, label)) right += label;
    if (shared.empty()) return multiply_elements(a, b, batch, left, right);
    const Term x = arrange(a, batch + left + shared), y = arrange(b, batch + shared + right);
    const int batches = static_cast<int>(batch.size());
    const int lefts = batches + static_cast<int>(left.size()), shareds = batches + static_cast<int>(shared.size());
    const Shape& sx = x.tensor.shape();
    const Shape& sy = y.tensor.shape();
    const Dim count = extent_product(sx, 0, batches), inner = extent_product(sx, lefts, sx.rank());
    const Tensor product = matmul(ops_, reshape(ops_, x.tensor, {count, extent_product(sx, batches, lefts), inner}),
                                  reshape(ops_, y.tensor, {count, inner, extent_product(sy, shareds, sy.rank())}));
    Shape shape;
    for (int i = 0; i < lefts; ++i) shape.push_back(sx[i]);
    for (int i = shareds; i < sy.rank(); ++i) shape.push_back(sy[i]);
    return {reshape(ops_, product, shape), batch + left + right};
  }

  Term multiply_elements(const Term& a, const Term& b, const Labels& batch, const Labels& left, const Labels& right) {
    Tensor x = arrange(a, batch + left).tensor, y = arrange(b, batch + right).tensor;
    for (size_t i = 0; i < right.size(); ++i) x = insert_axis(ops_, x, x.rank());
    for (size_t i = 0; i < left.size(); ++i) y = insert_axis(ops_, y, static_cast<int64_t>(batch.size()));
    return {ops_.call(Op::mul, {x, y}), batch + left + right};
  }

  Ops& ops_;
  Labels output_;
};

}  // namespace

Tensor einsum(Context& context, std::string_view text, const std::vector<Tensor>& operands) {
  if (operands.empty()) fail(ErrorName::empty_input, "einsum needs at least one tensor");
  const Equation equation(text, operands);
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) terms.push_back({operands[i], equation.inputs()[i]});
  return Contraction(context.ops(), equation.output()).run(std::move(terms));
}

}  // namespace tsl
