#include "builtins/builtins.h"

#include <limits>
#include <numbers>
#include <vector>

namespace tsl {

namespace {

std::vector<Builtin> join(std::initializer_list<std::span<const Builtin>> families) {
  std::vector<Builtin> all;
  // bounded: as many as are built in
  for (std::span<const Builtin> family : families) all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace

std::span<const Builtin> tensor_builtins() {
  static const auto& all = *new std::vector<Builtin>(
      join({create_builtins(), dtype_builtins(), shape_builtins(), reduce_builtins(), order_builtins(),
            index_builtins(), linear_algebra_builtins(), fourier_builtins(), neural_builtins(), world_builtins()}));
  return all;
}

std::span<const Constant> constants() {
  static constexpr Constant kRows[] = {
      {"pi", std::numbers::pi},
      {"e", std::numbers::e},
      {"inf", std::numeric_limits<double>::infinity()},
      {"nan", std::numeric_limits<double>::quiet_NaN()},
  };
  return kRows;
}

std::span<const Builtin> host_builtins() {
  static const auto& all = *new std::vector<Builtin>(join(
      {value_builtins(), help_builtins(), collection_builtins(), entry_builtins(), text_builtins(),
       character_builtins(), search_builtins(), regex_builtins(), data_builtins(), file_builtins(), rows_builtins(),
       stream_builtins(), argument_builtins(), time_builtins(), observe_builtins(), bench_builtins()}));
  return all;
}

}  // namespace tsl
