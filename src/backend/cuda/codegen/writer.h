// Writes one CUDA kernel: its parameters, coordinates, and the statements of the kernel IR's instructions.
#pragma once

#include <deque>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "backend/cuda/source/cuda_kernel.h"
#include "backend/cuda/source/text_builder.h"
#include "base/integers.h"

namespace tsl::cuda {

/// Returns the name of a dtype in CUDA source.
inline std::string_view type_of(DType dtype) { return row_of(dtype).cuda; }

/// The element that a statement computes: an index expression for each loop (kept loops, then reduced ones), and the
/// element's number in row-major order over all loops, by which errors are ordered.
struct Position {
  std::vector<std::string> index;
  std::string linear = "0";
};

class KernelWriter {
 public:
  KernelWriter(const graph::Kernel& kernel, const graph::Plan& plan);
  /// For an op with a kernel of its own: the caller says whether 32-bit indices suffice, and which device functions
  /// stand in front of the kernel.
  KernelWriter(const graph::Kernel& kernel, const graph::Plan& plan, bool is_small, std::string_view functions);

  const graph::Kernel& kernel() const { return kernel_; }
  const graph::Instr& instr(graph::Reg r) const { return (*program_)[r]; }
  /// Takes instructions from `program`, which must outlive their use, instead of the kernel's: what is left of them.
  void use(const std::vector<graph::Instr>& program) { program_ = &program; }

  // Parameters. Each function returns the expression that names the parameter; the reference stays valid. Equal sizes
  // share a parameter.
  const std::string& size(int64_t value);                      // 0 and 1 are literals
  const std::string& number(const char* role, int64_t value);  // a separate parameter for each role, whatever its value
  const std::string& reciprocal(int64_t divisor);              // for divide()
  const std::string& offset(Dim offset);
  const std::string& buffer(uint32_t kernel_buffer);  // index into Kernel::buffers
  const std::string& scratch(uint64_t at, DType dtype) { return scratch(at, type_of(dtype)); }
  const std::string& scratch(uint64_t at, std::string_view type);
  const std::string& arrivals(uint64_t at);  // the address of counter number `at`
  const std::string& scalar(Scalar value, const Symbol* symbol, DType dtype);
  const std::string& error_cell();

  /// Returns the index expression of an access, in elements.
  std::string index_expr(const graph::IndexMap& map, const Position& at);

  /// Writes one line of the body, indented by the open blocks. open() begins a block, close() ends it.
  template <class... T> void line(fmt::format_string<T...> text, T&&... args) {
    fmt::memory_buffer made;
    fmt::format_to(std::back_inserter(made), text, std::forward<T>(args)...);
    put(std::string_view(made.data(), made.size()));
  }
  template <class... Pieces> void put(const Pieces&... pieces) {
    body_.indent(static_cast<size_t>(2 * depth_));
    body_.add(pieces..., "\n");
  }
  template <class... T> void open(fmt::format_string<T...> text, T&&... args) {
    put(fmt::format(text, std::forward<T>(args)...), " {");
    ++depth_;
  }
  void close(std::string_view after = {}) {
    --depth_;
    put("}", after);
  }
  /// Ends the block of an `if` and begins its `else`.
  void otherwise() {
    close(" else {");
    ++depth_;
  }

  /// Declares coordinates for element number `linear` of loops with these extents: `prefix`0, `prefix`1, ….
  std::vector<std::string> coordinates(const std::string& linear, const std::vector<int64_t>& extents,
                                       const char* prefix);

  /// Returns the name of a register, with its subscript if it is an array.
  std::string reg(graph::Reg r) const { return text_of(piece(r)); }
  /// Sets the subscript of each register that is an array; "" for the others.
  void set_arrays(std::vector<std::string> index) { array_index_ = std::move(index); }

  /// Emits an instruction (load, scalar, map, gather, generate, part, choose) as statements that assign its register.
  /// `declare`: declares the register as well.
  void emit(graph::Reg r, const Position& at, bool declare);
  void emit_store(const graph::Instr& store, const Position& at) { emit_store(store, at, reg(store.a)); }
  void emit_store(const graph::Instr& store, const Position& at, const std::string& value);

  /// Completes the CUDA kernel; it is launched with `blocks` blocks of threads_x * threads_y threads.
  CudaKernel finish(std::string_view suffix, int64_t blocks, int threads_x, int threads_y = 1);

  /// Limits the registers of a thread, so that `count` blocks share a multiprocessor.
  void set_residents(int count) { residents_ = count; }
  /// Makes clusters of so many neighbouring blocks, which share their memory (from sm_90 on). The kernel's blocks must
  /// be a multiple.
  void set_cluster(int blocks) { cluster_ = blocks; }

  /// Whether 32-bit arithmetic suffices for every index of this kernel.
  bool is_small() const { return is_small_; }

 private:
  /// The meaning of a parameter.
  enum class Meaning : uint8_t {
    size,
    number,
    reciprocal,
    offset,
    offset_symbol,
    buffer,
    scratch,
    arrivals,
    scalar,
    scalar_symbol,
    error
  };
  struct Named {
    Meaning meaning;
    int64_t value;          // or the symbol's id
    int type;               // dtype, for scalars
    std::string_view role;  // for numbers
    std::string name;
  };

  std::string& named(Meaning meaning, int64_t value = 0, int type = 0, std::string_view role = {});
  /// Adds a parameter and returns its name: `letters` followed by `number`.
  template <class... Type> const std::string& parameter(std::string& name, std::string_view letters, size_t number,
                                                        const KernelArg& argument, const Type&... type);
  /// A register as a piece of text: the number, and the subscript if it is an array.
  struct Register {
    graph::Reg number;
    std::string_view index;  // "": not an array
    friend size_t room_for(const Register& r) { return 24 + r.index.size(); }
    friend char* write(char* to, const Register& r) {
      to = tsl::cuda::write(tsl::cuda::write(to, "r"), r.number);
      return r.index.empty() ? to : tsl::cuda::write(tsl::cuda::write(tsl::cuda::write(to, "["), r.index), "]");
    }
  };
  Register piece(graph::Reg r) const { return {r, r < array_index_.size() ? array_index_[r] : std::string_view()}; }
  bool is_called(const graph::Instr& instr);
  std::string contracted(const graph::Instr& i) const;
  void emit_gather(graph::Reg r, const Position& at, const std::string& target);
  std::string generated(const graph::Instr& instr, const Position& at);
  std::string header() const;

  const graph::Kernel& kernel_;
  const graph::Plan& plan_;
  const std::vector<graph::Instr>* program_;
  bool is_small_;
  std::string_view functions_;
  int depth_ = 1;
  int residents_ = 0, cluster_ = 1;
  TextBuilder body_;
  TextBuilder parameters_;
  std::vector<KernelArg> arguments_;
  std::deque<Named> named_;  // searched linearly, since kernels have few
  std::vector<std::string> array_index_;
  std::set<std::pair<std::string_view, std::string_view>> called_;  // functions that are called, with their types
};

/// Whether the instruction reads an element for every index.
inline bool is_plain_load(const graph::Instr& instr) {
  return instr.kind == graph::Instr::Kind::load && !instr.is_guarded;
}
inline bool defines(const graph::Instr& instr) { return instr.kind != graph::Instr::Kind::store; }

int64_t count_of(const Dims& dims);
std::vector<int64_t> extents_of(const Dims& dims);

/// Returns the multiplier and the shift with which divide() in templates.cuh divides numbers below 2^31 by `divisor`.
int64_t reciprocal_of(int64_t divisor);

/// Reserves scratch memory for `count` elements of `bytes` each; returns its offset.
uint64_t reserve_bytes(GeneratedKernels& generated, int64_t count, int64_t bytes);

/// Returns the bytes of an element of the buffer that an instruction reads or writes.
int element_bytes(const graph::Kernel& kernel, const graph::Plan& plan, const graph::Instr& instr);
/// Adds the accesses that are not there yet.
void add_missing(std::vector<VectorAccess>& all, const std::vector<VectorAccess>& more);

/// Whether a plain load or store has stride 1 along `loop`.
bool is_contiguous_along(const graph::Kernel& kernel, const graph::Instr& instr, int loop);
/// Whether a contiguous access along `loop` is aligned for `width` elements at a time, if its buffer is.
bool is_aligned_along(const graph::Instr& instr, int loop, int width);
/// allows_vectors(): whether all accesses along `loop` are aligned for `width` elements at a time, if their buffers
/// are.
/// find_vector_accesses(): the buffers' alignment that must be checked when the plan runs, for the aligned accesses of
/// `program`, by default the kernel's.
bool allows_vectors(const graph::Kernel& kernel, int loop, int width);
std::vector<VectorAccess> find_vector_accesses(const graph::Kernel& kernel, const graph::Plan& plan, int loop,
                                               int width, const std::vector<graph::Instr>* program = nullptr);

}  // namespace tsl::cuda
