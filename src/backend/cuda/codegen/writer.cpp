#include "backend/cuda/codegen/writer.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/error_names.h"
#include "base/integers.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

// Approximated functions are long. A kernel that uses one more often than this calls it: fetching the instructions,
// which no cache holds when a small kernel starts, would take longer than running them.
constexpr int kMaxInlined = 4;
// Larger offsets need 64-bit arithmetic: the index of a thread past the end may exceed them before it is checked.
constexpr int64_t kMaxSmallIndex = INT32_MAX - (1 << 16);

/// Returns the largest distance from the first element of an access to any other in the loops.
int64_t reach(const Kernel& kernel, const graph::IndexMap& map) {
  int64_t sum = 0;
  const auto add = [&](Dim stride, Dim extent) {
    sum += std::abs(stride.hint()) * std::max<int64_t>(extent.hint() - 1, 0);
  };
  for (int i = 0; i < map.strides.rank(); ++i) {
    const int kept = kernel.kept.rank();
    add(map.strides[i], i < kept ? kernel.kept[i] : kernel.reduced[i - kept]);
  }
  return sum;
}

bool uses_small_indices(const Kernel& kernel) {
  if (count_of(kernel.kept) * std::max<int64_t>(count_of(kernel.reduced), 1) > kMaxSmallIndex) return false;
  return std::all_of(kernel.program.begin(), kernel.program.end(), [&](const Instr& instr) {
    const int64_t gathered = instr.index_stride.hint() * instr.index_extent.hint();
    return reach(kernel, instr.map) + gathered <= kMaxSmallIndex;
  });
}

}  // namespace

int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (Dim d : dims) count *= d.hint();
  return count;
}

std::vector<int64_t> extents_of(const Dims& dims) {
  std::vector<int64_t> extents;
  for (Dim d : dims) extents.push_back(d.hint());
  return extents;
}

uint64_t reserve_bytes(GeneratedKernels& generated, int64_t count, int64_t bytes) {
  constexpr uint64_t kAlignment = 256;
  const uint64_t at = generated.scratch_bytes;
  generated.scratch_bytes += rounded_up(static_cast<uint64_t>(count * bytes), kAlignment);
  return at;
}

int64_t reciprocal_of(int64_t divisor) {
  assert(divisor > 1 && divisor <= INT32_MAX);
  // With 2^shift >= divisor, the multiplier exceeds 2^(31 + shift) / divisor by at most 1. So the quotient of a number
  // below 2^31 exceeds the exact one by less than 1 / divisor, and rounds down to the same number.
  const int shift = std::bit_width(static_cast<uint64_t>(divisor - 1));
  const int64_t multiplier = (int64_t{1} << (31 + shift)) / divisor + 1;
  return multiplier | static_cast<int64_t>(shift - 1) << 32;
}

int element_bytes(const Kernel& kernel, const graph::Plan& plan, const Instr& instr) {
  return static_cast<int>(size_of(plan.buffers[kernel.buffers[instr.buffer]].dtype));
}

void add_missing(std::vector<VectorAccess>& all, const std::vector<VectorAccess>& more) {
  for (const VectorAccess& access : more) {
    if (std::find(all.begin(), all.end(), access) == all.end()) all.push_back(access);
  }
}

bool is_contiguous_along(const Kernel& kernel, const Instr& instr, int loop) {
  if (!is_plain_load(instr) && instr.kind != Instr::Kind::store) return false;
  return loop >= 0 && loop < instr.map.strides.rank() && instr.map.strides[loop].hint() == 1 &&
         loop < kernel.kept.rank() + kernel.reduced.rank();
}

bool is_aligned_along(const Instr& instr, int loop, int width) {
  if (!instr.map.offset.symbol() && instr.map.offset.hint() % width != 0) return false;
  for (int k = 0; k < instr.map.strides.rank(); ++k) {
    if (k != loop && instr.map.strides[k].hint() % width != 0) return false;
  }
  return true;
}

bool allows_vectors(const Kernel& kernel, int loop, int width) {
  return std::all_of(kernel.program.begin(), kernel.program.end(), [&](const Instr& instr) {
    return !is_contiguous_along(kernel, instr, loop) || is_aligned_along(instr, loop, width);
  });
}

std::vector<VectorAccess> find_vector_accesses(const Kernel& kernel, const graph::Plan& plan, int loop, int width,
                                               const std::vector<Instr>* program) {
  std::vector<VectorAccess> out;
  for (const Instr& instr : program ? *program : kernel.program) {
    if (!is_contiguous_along(kernel, instr, loop) || !is_aligned_along(instr, loop, width)) continue;
    const int bytes = element_bytes(kernel, plan, instr);
    out.push_back({kernel.buffers[instr.buffer], bytes * width, bytes, instr.map.offset.symbol()});
  }
  return out;
}

KernelWriter::KernelWriter(const Kernel& kernel, const graph::Plan& plan)
    : KernelWriter(kernel, plan, uses_small_indices(kernel), "") {}

KernelWriter::KernelWriter(const Kernel& kernel, const graph::Plan& plan, bool is_small, std::string_view functions)
    : kernel_(kernel),
      plan_(plan),
      program_(&kernel.program),
      is_small_(is_small),
      functions_(functions),
      body_(900),
      parameters_(200) {
  arguments_.reserve(8);  // as many as small kernels have; the capacities above are chosen likewise
  body_.add(kBlockIndexLine);
  // The device continues after a failure until the host reads it, so a kernel that needs success checks first.
  if (graph::needs_success(plan, kernel)) put("if (has_failed(", error_cell(), ")) return;");
}

// ---- Parameters ----------------------------------------------------------------------------------------

/// Returns the name of the parameter for this value; empty if it is new.
std::string& KernelWriter::named(Meaning meaning, int64_t value, int type, std::string_view role) {
  for (Named& n : named_) {
    if (n.meaning == meaning && n.value == value && n.type == type && n.role == role) return n.name;
  }
  return named_.emplace_back(Named{meaning, value, type, role, {}}).name;
}

template <class... Type> const std::string& KernelWriter::parameter(std::string& name, std::string_view letters,
                                                                    size_t number, const KernelArg& argument,
                                                                    const Type&... type) {
  char made[40];  // a short word and a number
  name.assign(made, write(write(made, letters), number));
  if (!parameters_.empty()) parameters_.add(", ");
  parameters_.add(type..., " ", name);
  arguments_.push_back(argument);
  return name;
}

const std::string& KernelWriter::size(int64_t value) {
  static const auto& written_out = *new std::array<std::string, 2>{"0", "1"};
  if (value == 0 || value == 1) return written_out[value];
  std::string& name = named(Meaning::size, value);
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::integer;
  argument.value = value;
  return parameter(name, "n", named_.size(), argument, "const Index");
}

const std::string& KernelWriter::number(const char* role, int64_t value) {
  std::string& name = named(Meaning::number, 0, 0, role);
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::integer;
  argument.value = value;
  return parameter(name, role, named_.size(), argument, "const Index");
}

const std::string& KernelWriter::reciprocal(int64_t divisor) {
  std::string& name = named(Meaning::reciprocal, divisor);
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::integer;
  argument.value = reciprocal_of(divisor);
  return parameter(name, "d", named_.size(), argument, "const unsigned long long");
}

const std::string& KernelWriter::offset(Dim offset) {
  if (!offset.symbol() && offset.hint() == 0) return size(0);
  std::string& name =
      offset.symbol() ? named(Meaning::offset_symbol, offset.symbol()->id) : named(Meaning::offset, offset.hint());
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::integer;
  argument.value = offset.hint();
  argument.symbol = offset.symbol();
  return parameter(name, "o", named_.size(), argument, "const long long");
}

const std::string& KernelWriter::buffer(uint32_t kernel_buffer) {
  std::string& name = named(Meaning::buffer, kernel_buffer);
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::buffer;
  argument.buffer = kernel_.buffers[kernel_buffer];
  const bool is_written = kernel_buffer >= kernel_.buffers.size() - kernel_.written;
  return parameter(name, "b", kernel_buffer, argument, is_written ? std::string_view() : "const ",
                   type_of(plan_.buffers[argument.buffer].dtype), "*");
}

const std::string& KernelWriter::scratch(uint64_t at, std::string_view type) {
  std::string& name = named(Meaning::scratch, static_cast<int64_t>(at));
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::scratch;
  argument.scratch = at;
  return parameter(name, "t", named_.size(), argument, type, "*");
}

const std::string& KernelWriter::arrivals(uint64_t at) {
  std::string& name = named(Meaning::arrivals, static_cast<int64_t>(at));
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::arrivals;
  argument.scratch = at;
  return parameter(name, "arrivals", named_.size(), argument, "unsigned*");
}

const std::string& KernelWriter::scalar(Scalar value, const Symbol* symbol, DType dtype) {
  const int type = static_cast<int>(dtype);
  std::string& name =
      symbol ? named(Meaning::scalar_symbol, symbol->id, type)
             : named(Meaning::scalar, static_cast<int64_t>(value.bits()), type + 256 * static_cast<int>(value.type));
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::scalar;
  argument.scalar = value;
  argument.symbol = symbol;
  argument.dtype = dtype;
  return parameter(name, "x", named_.size(), argument, "const ", type_of(dtype));
}

const std::string& KernelWriter::error_cell() {
  std::string& name = named(Meaning::error);
  if (!name.empty()) return name;
  KernelArg argument;
  argument.kind = KernelArg::Kind::error;
  return parameter(name, "error", named_.size(), argument, "ErrorCell*");
}

// ---- Indices -----------------------------------------------------------------------------------------------

std::string KernelWriter::index_expr(const graph::IndexMap& map, const Position& at) {
  std::string sum;
  const auto add = [&](const std::string& term) {
    if (sum.empty()) sum = term;
    else sum += " + ", sum += term;
  };
  for (int i = 0; i < map.strides.rank(); ++i) {
    const int64_t stride = map.strides[i].hint();
    const std::string& index = at.index[static_cast<size_t>(i)];
    if (stride == 0 || index == "0") continue;
    if (stride == 1) add(index);
    else add(text_of(std::string_view(stride < 0 ? "-" : ""), size(std::abs(stride)), " * ", index));
  }
  if (const std::string& from = offset(map.offset); from != "0") add(from);
  return sum.empty() ? "0" : sum;
}

std::vector<std::string> KernelWriter::coordinates(const std::string& linear, const std::vector<int64_t>& extents,
                                                   const char* prefix) {
  std::vector<std::string> names;
  names.reserve(extents.size());
  for (size_t i = 0; i < extents.size(); ++i) names.push_back(text_of(std::string_view(prefix), i));
  if (extents.empty()) return names;
  std::string left = linear;
  for (size_t i = extents.size(); i-- > 1;) {
    const std::string extent = size(extents[i]);
    const std::string rest = fmt::format("{}{}_rest", prefix, i);
    const std::string quotient = is_small_ && extents[i] > 1
                                     ? fmt::format("divide({}, {})", left, reciprocal(extents[i]))
                                     : fmt::format("{} / {}", left, extent);
    line("const Index {} = {}, {} = {} - {} * {};", rest, quotient, names[i], left, rest, extent);
    left = rest;
  }
  put("const Index ", names[0], " = ", left, ";");
  return names;
}

// ---- Statements ----------------------------------------------------------------------------------------

bool KernelWriter::is_called(const Instr& instr) {
  const auto is_same = [&](const Instr& other) {
    return other.kind == Instr::Kind::map && other.op == instr.op && other.operand_dtype == instr.operand_dtype;
  };
  if (op_def(instr.op).dtype_rule != DTypeRule::floating || op_def(instr.op).arity != 1) return false;
  if (std::count_if(kernel_.program.begin(), kernel_.program.end(), is_same) <= kMaxInlined) return false;
  called_.emplace(op_def(instr.op).name, type_of(instr.operand_dtype));
  return true;
}

void KernelWriter::emit(Reg r, const Position& at, bool declare) {
  const Instr& i = instr(r);
  const std::string_view type = declare ? type_of(i.dtype) : "", gap = declare ? " " : "";
  switch (i.kind) {
    case Instr::Kind::load: {
      const std::string where = index_expr(i.map, at);
      if (i.is_guarded)
        put(type, gap, piece(r), " = load_guarded(", buffer(i.buffer), ", ", where, ", ", piece(i.a), ");");
      else put(type, gap, piece(r), " = ", buffer(i.buffer), "[", where, "];");
      break;
    }
    case Instr::Kind::part: {
      const std::string where = index_expr(i.map, at), &low = size(i.low), &high = size(i.high);
      const std::string guard = i.is_guarded ? text_of(reg(i.a), " && ") : std::string();
      put(type, gap, piece(r), " = ", guard, low, " <= ", where, " && ", where, " < ", high, ";");
      break;
    }
    case Instr::Kind::choose:
      put(type, gap, piece(r), " = ", piece(i.a), " ? ", piece(i.b), " : ", piece(i.c), ";");
      break;
    case Instr::Kind::scalar: put(type, gap, piece(r), " = ", scalar(i.scalar, i.symbol, i.dtype), ";"); break;
    case Instr::Kind::map: {
      const OpDef& op = op_def(i.op);
      if (may_fail(op, i.operand_dtype)) {
        line("if (divides_by_zero({})) report({}, {}u, {}u, {}, 0);", reg(i.b), error_cell(), plan_.graph[i.node].order,
             i.node, at.linear);
      }
      if (i.contraction != Instr::Contraction::none) put(type, gap, piece(r), " = ", contracted(i), ";");
      else if (i.op == Op::cast) put(type, gap, piece(r), " = s_cast<", type_of(i.dtype), ">(", piece(i.a), ");");
      else {
        const std::string_view prefix = is_called(i) ? "called_" : "s_";
        if (op.arity == 1) put(type, gap, piece(r), " = ", prefix, op.name, "(", piece(i.a), ");");
        else if (op.arity == 2)
          put(type, gap, piece(r), " = ", prefix, op.name, "(", piece(i.a), ", ", piece(i.b), ");");
        else
          put(type, gap, piece(r), " = ", prefix, op.name, "(", piece(i.a), ", ", piece(i.b), ", ", piece(i.c), ");");
      }
      break;
    }
    case Instr::Kind::gather: emit_gather(r, at, text_of(type, gap, reg(r))); break;
    case Instr::Kind::generate: put(type, gap, piece(r), " = ", generated(i, at), ";"); break;
    case Instr::Kind::reduce:  // written by the templates
    case Instr::Kind::store: break;
  }
}

std::string KernelWriter::contracted(const Instr& i) const {
  const auto negated = [](const std::string& name, bool is_negated) {
    return is_negated ? text_of("s_neg(", name, ")") : name;
  };
  return text_of("mul_add(", negated(reg(i.a), i.contraction == Instr::Contraction::rest), ", ", reg(i.b), ", ",
                 negated(reg(i.c), i.contraction == Instr::Contraction::difference), ")");
}

void KernelWriter::emit_gather(Reg r, const Position& at, const std::string& target) {
  const Instr& i = instr(r);
  const std::string index = fmt::format("index{}", r), extent = size(i.index_extent.hint());
  if (i.from_start) line("const long long {} = {};", index, reg(i.a));
  else line("const long long {0} = {1} < 0 ? {1} + {2} : {1};", index, reg(i.a), extent);
  line("const bool found{0} = {1} >= 0 && {1} < {2};", r, index, extent);
  line("if (!found{}) report({}, {}u, {}u, {}, {});", r, error_cell(), plan_.graph[i.node].order, i.node, at.linear,
       reg(i.a));
  line("{} = found{} ? {}[{} + (Index){} * {}] : nothing<{}>();", target, r, buffer(i.buffer), index_expr(i.map, at),
       index, size(i.index_stride.hint()), type_of(i.dtype));
}

std::string KernelWriter::generated(const Instr& i, const Position& at) {
  const std::string index = index_expr(i.map, at);
  if (i.op == Op::iota) {
    const DType counts = is_float(i.dtype) ? DType::f64 : DType::i64;
    return fmt::format("iota<{}>({}, {}, {})", type_of(i.dtype), scalar(i.scalar, i.symbol, counts),
                       scalar(i.scalar2, i.symbol2, counts), index);
  }
  const std::string stream =
      fmt::format("{}, {}", scalar(i.scalar, i.symbol, DType::i64), scalar(i.scalar2, i.symbol2, DType::i64));
  return fmt::format("{}<{}>({}, {})", op_def(i.op).name, type_of(i.dtype), stream, index);
}

void KernelWriter::emit_store(const Instr& store, const Position& at, const std::string& value) {
  const std::string where = index_expr(store.map, at);
  put(buffer(store.buffer), "[", where, "] = ", value, ";");
}

// ---- The CUDA kernel -----------------------------------------------------------------------------------------

std::string KernelWriter::header() const {
  TextBuilder text(200 + functions_.size());
  text.add("//");
  for (graph::NodeId id : kernel_.nodes) {
    text.add(std::string_view(id == kernel_.nodes.front() ? " " : ", "), graph::name_of(plan_.graph[id]));
  }
  text.add("\ntypedef ", std::string_view(is_small_ ? "int" : "long long"), " Index;\n");
  for (const auto& [name, type] : called_) {
    text.add("__device__ __noinline__ ", type, " called_", name, "(", type, " x) { return s_", name, "(x); }\n");
  }
  text.add(functions_);
  return text.take();
}

CudaKernel KernelWriter::finish(std::string_view suffix, int64_t blocks, int threads_x, int threads_y) {
  if (blocks > INT32_MAX)
    fail(ErrorName::launch_too_large, "a kernel over {} elements needs more blocks of threads than a GPU takes",
         count_of(kernel_.kept));
  CudaKernel cuda_kernel;
  const std::string_view name = kernel_.name.empty() ? "copy" : std::string_view(kernel_.name);
  cuda_kernel.readable = text_of("k_", name, std::string_view(suffix.empty() ? "" : "_"), suffix);
  cuda_kernel.text.header = header();
  const std::string residents = residents_ > 0 ? text_of(", ", residents_) : std::string();
  const std::string cluster = cluster_ > 1 ? text_of(" __cluster_dims__(", cluster_, ")") : std::string();
  cuda_kernel.text.bounds = text_of("__launch_bounds__(", threads_x * threads_y, residents, ")", cluster);
  cuda_kernel.text.parameters = parameters_.take();
  cuda_kernel.text.body = body_.take();
  cuda_kernel.arguments = std::move(arguments_);
  cuda_kernel.blocks = blocks;
  cuda_kernel.threads_x = threads_x;
  cuda_kernel.threads_y = threads_y;
  return cuda_kernel;
}

}  // namespace tsl::cuda
