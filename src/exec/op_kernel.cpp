#include "exec/op_kernel.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/error_names.h"

namespace tsl::exec {

namespace {

constexpr std::string_view kDefinition = "definition";  // the name of what is no row
constexpr std::string_view kForcedOther = "TSL_KERNELS names another one";
constexpr std::string_view kTooManyOperands = "of too many operands";

std::string_view refusal_of(const KernelRow& row, const graph::Node& node) {
  if (node.args.size() > kMostOperands) return kTooManyOperands;
  return row.refusal ? row.refusal(node) : std::string_view();
}

}  // namespace

KernelRows::KernelRows() {
  const char* const given = std::getenv("TSL_KERNELS");
  std::string_view left = given ? given : "";
  while (!left.empty()) {  // bounded: by a variable of the environment
    const std::string_view one = left.substr(0, left.find(','));
    left.remove_prefix(std::min(one.size() + 1, left.size()));
    const size_t colon = one.find(':');
    if (colon == std::string_view::npos)
      fail(ErrorName::wrong_option, "TSL_KERNELS is '{}', and is to name a row for each op: matmul:OpenBLAS", given);
    forced_.emplace_back(one.substr(0, colon), one.substr(colon + 1));
  }
}

void KernelRows::add(std::vector<KernelRow> rows) { std::move(rows.begin(), rows.end(), std::back_inserter(rows_)); }

template <class Visit> void KernelRows::for_rows_of(Op op, Visit visit) const {
  for (const KernelRow& row : rows_) {
    if (std::find(row.ops.begin(), row.ops.end(), op) != row.ops.end() && visit(row)) return;
  }
}

std::string_view KernelRows::forced_name(const OpDef& op) const {
  const auto found =
      std::find_if(forced_.begin(), forced_.end(), [&](const auto& each) { return each.first == op.name; });
  return found == forced_.end() ? std::string_view() : found->second;
}

const KernelRow* KernelRows::named_row(const OpDef& op) const {
  const std::string_view wanted = forced_name(op);
  if (wanted.empty() || (op.compose && wanted == kDefinition)) return nullptr;
  const KernelRow* named = nullptr;
  std::vector<std::string_view> names;
  for_rows_of(op.op, [&](const KernelRow& row) {
    if (row.name == wanted) named = &row;
    names.push_back(row.name);
    return named != nullptr;
  });
  if (named) return named;
  if (op.compose) names.push_back(kDefinition);
  fail(ErrorName::unknown_choice, "TSL_KERNELS: no kernel of {} is named '{}'; there are {}", op.name, wanted,
       names.empty() ? "none" : fmt::to_string(fmt::join(names, ", ")));
}

const KernelRow* KernelRows::forced_row(const graph::Node& node) const {
  const KernelRow* const named = named_row(node.def());
  return named && refusal_of(*named, node).empty() ? named : nullptr;
}

std::string_view KernelRows::no_kernel(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) const {
  if (!forced_.empty() && forced_name(op) == kDefinition) return kForcedOther;
  const KernelRow* const named = forced_.empty() ? nullptr : named_row(op);
  std::string_view refusal = "no kernel";
  for_rows_of(op.op, [&](const KernelRow& row) {
    refusal = row.refuses_call ? row.refuses_call(operands, attrs, named == &row) : std::string_view();
    return refusal.empty();
  });
  return refusal;
}

template <class Visit> void KernelRows::for_rows(const graph::Node& node, Visit visit) const {
  const KernelRow* const forced = forced_.empty() ? nullptr : forced_row(node);
  for_rows_of(node.op, [&](const KernelRow& row) {
    return visit(row, forced && forced != &row ? kForcedOther : refusal_of(row, node));
  });
}

std::unique_ptr<OpKernel> KernelRows::find(const graph::Node& node) const {
  std::unique_ptr<OpKernel> kernel;
  for_rows(node, [&](const KernelRow& row, std::string_view refusal) {
    if (refusal.empty()) kernel = row.make(node);
    return kernel != nullptr;
  });
  return kernel;
}

std::vector<KernelCandidate> KernelRows::candidates(const graph::Node& node, std::string_view otherwise) const {
  std::vector<KernelCandidate> out;
  bool is_taken = false;
  for_rows(node, [&](const KernelRow& row, std::string_view refusal) {
    KernelCandidate& candidate = out.emplace_back(KernelCandidate{std::string(row.name), std::string(refusal)});
    if (is_taken || !refusal.empty()) return false;
    candidate.is_taken = is_taken = row.make(node) != nullptr;
    if (!is_taken) candidate.refusal = kMissingKernel;
    return false;
  });
  if (!is_taken) out.push_back({std::string(otherwise), "", true});
  return out;
}

bool KernelRows::has_epilogue(const graph::Node& node) const {
  bool has = false;
  for_rows(node, [&](const KernelRow& row, std::string_view refusal) {
    has = refusal.empty() && row.has_epilogue && row.has_epilogue(node);
    return refusal.empty();
  });
  return has;
}

std::optional<graph::PaddedProduct> KernelRows::padded(const graph::Node& node) const {
  std::optional<graph::PaddedProduct> larger;
  for_rows(node, [&](const KernelRow& row, std::string_view refusal) {
    if (refusal.empty() && row.padded) larger = row.padded(node);
    return larger.has_value();
  });
  return larger;
}

}  // namespace tsl::exec
