// Host reads, branches and loops between lets; see random_lets_body.h.
#include "support/random_lets_body.h"

namespace tsl {

bool LetsBody::printed() {
  const std::optional<Let> a = operand();
  if (!a) return false;
  switch (random_.below(3)) {
    case 0: out.emplace_back(fmt::format("print(sum({}).item())", a->name)); break;
    case 1: out.emplace_back(fmt::format("print(bits_of({}))", a->name)); break;
    default: out.emplace_back(fmt::format("print({}.shape, mean({}).item())", a->name, a->name)); break;
  }
  return true;
}

bool LetsBody::branched() {
  const std::optional<Let> a = operand(1), read = operand();
  if (!a || !read) return false;
  const std::optional<Let> b = of_shape(a->shape);
  const std::string name = fresh("q");
  Block yes, no;
  yes.emplace_back(fmt::format("{} = {}", name, b ? a->name + " * " + b->name : a->name + " * 0.5"));
  no.emplace_back(fmt::format("{} = roll({}, 1, axis: 0)", name, (b ? *b : *a).name));
  out.emplace_back(fmt::format("var {} = {}", name, a->name));
  out.push_back(Statement({{fmt::format("if sum({}) > 0.0", read->name), std::move(yes)}, {"else", std::move(no)}}));
  return declare_as(name, b ? promoted(a->dtype, b->dtype) : a->dtype, a->shape, a->bound * (b ? b->bound : 1), true);
}

bool LetsBody::looped() {
  const std::optional<Let> a = operand(1);
  if (!a) return false;
  const std::optional<Let> b = of_shape(a->shape);
  const std::string name = fresh("q"), other = b ? b->name : "1.0";
  Block body;
  const std::string form = random_.pick({"{0} = {0} * 0.5 + {1}", "{0} = roll({0}, 1, axis: 0) * 0.5 + {1}",
                                         "{0} = maximum({0}[::-1], {1}) * 0.75", "{0} = softmax({0}) + {1}"});
  body.emplace_back(fmt::format(fmt::runtime(form), name, other));
  if (random_.chance(20)) body.emplace_back(fmt::format("print(sum({}).item())", name));
  out.emplace_back(fmt::format("var {} = {}", name, a->name));
  out.push_back(Statement({{fmt::format("for {} in 0..{}", fresh("i"), 2 + random_.below(3)), std::move(body)}}));
  return declare_as(name, b ? promoted(a->dtype, b->dtype) : a->dtype, a->shape, a->bound + 2 * (b ? b->bound : 1),
                    true);
}

}  // namespace tsl
