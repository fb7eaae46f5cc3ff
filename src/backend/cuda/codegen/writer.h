// Writes one stage: its parameters, coordinates, and the statements of the kernel IR's instructions.
#pragma once

#include <deque>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "backend/cuda/codegen/stage.h"
#include "backend/cuda/codegen/text.h"

namespace tsl::cuda {

/// An element's type in CUDA, as the prelude names it.
std::string_view type_of(DType dtype);

/// The position a statement is written for: an expression for the index of each loop (kept, then reduced), and for the
/// element's place in row-major order over all loops, which errors are sorted by.
struct Position {
  std::vector<std::string> index;
  std::string linear = "0";
};

class StageWriter {
 public:
  StageWriter(const graph::Kernel& kernel, const graph::Plan& plan);
  /// For an op with a kernel of its own: what numbers it needs is told, and which functions stand in front of it.
  StageWriter(const graph::Kernel& kernel, const graph::Plan& plan, bool is_small, std::string_view functions);

  const graph::Kernel& kernel() const { return kernel_; }
  const graph::Instr& instr(graph::Reg r) const { return kernel_.program[r]; }

  // Parameters; each gives the expression that names it, which stays where it is. Equal sizes share one.
  const std::string& size(int64_t value);                      // 0 and 1 are written out
  const std::string& number(const char* role, int64_t value);  // a parameter of its own, whatever its value
  const std::string& offset(Dim offset);
  const std::string& buffer(uint32_t kernel_buffer);  // index into Kernel::buffers
  const std::string& scratch(uint64_t at, DType dtype) { return scratch(at, type_of(dtype)); }
  const std::string& scratch(uint64_t at, std::string_view type);
  const std::string& arrivals(uint64_t at);  // counters from this one on
  const std::string& scalar(Scalar value, const Symbol* symbol, DType dtype);
  const std::string& error_cell();

  /// Where an access lies: an expression in elements.
  std::string place(const graph::IndexMap& map, const Position& at);

  /// One line of the body, indented by the open blocks. open() begins a block, close() ends it.
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
  /// Ends the block of an `if` and begins the other one.
  void otherwise() {
    close(" else {");
    ++depth_;
  }

  /// Declares the coordinates of `linear` over loops [first, first + extents.size()): names them `prefix`0, ….
  std::vector<std::string> coordinates(const std::string& linear, const std::vector<int64_t>& extents,
                                       const char* prefix);

  /// The name of a register, with its index if it is an array.
  std::string reg(graph::Reg r) const { return text_of(piece(r)); }
  /// By which expression each register is indexed that is an array; "" for those that are none.
  void set_arrays(std::vector<std::string> index) { array_index_ = std::move(index); }

  /// The value of an instruction (load, scalar, map, gather, generate) as statements that assign its register.
  /// `declare`: whether the register is declared here.
  void emit(graph::Reg r, const Position& at, bool declare);
  void emit_store(const graph::Instr& store, const Position& at) { emit_store(store, at, reg(store.a)); }
  void emit_store(const graph::Instr& store, const Position& at, const std::string& value);

  /// The stage, to be launched as so many blocks of threads_x * threads_y threads.
  Stage finish(std::string_view suffix, int64_t blocks, int threads_x, int threads_y = 1);

  /// So few registers a thread that `count` blocks share a multiprocessor.
  void set_residents(int count) { residents_ = count; }

  /// 32-bit arithmetic suffices for every index of this kernel.
  bool is_small() const { return is_small_; }

 private:
  /// What parameters stand for.
  enum class Meaning : uint8_t {
    size,
    number,
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
    int type;               // of scalars
    std::string_view role;  // of numbers
    std::string name;
  };

  std::string& named(Meaning meaning, int64_t value = 0, int type = 0, std::string_view role = {});
  /// Adds a parameter named so and gives its name.
  template <class... Type> const std::string& parameter(std::string& name, std::string_view letters, size_t number,
                                                        const Argument& argument, const Type&... type);
  /// What reg() names, as a piece of text.
  struct Register {
    graph::Reg number;
    std::string_view index;  // "": no array
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
  bool is_small_;
  std::string_view functions_;
  int depth_ = 1;
  int residents_ = 0;
  Text body_;
  Text parameters_;
  std::vector<Argument> arguments_;
  std::deque<Named> named_;  // few enough to be looked through
  std::vector<std::string> array_index_;
  std::set<std::pair<std::string_view, std::string_view>> called_;  // functions and their type
};

/// Whether the instruction defines a register.
inline bool defines(const graph::Instr& instr) { return instr.kind != graph::Instr::Kind::store; }
/// The registers an instruction reads.
std::vector<graph::Reg> operands(const graph::Instr& instr);

int64_t count_of(const Dims& dims);
std::vector<int64_t> extents_of(const Dims& dims);
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Space in the scratch memory for `count` elements of so many bytes each; where it begins.
uint64_t reserve_bytes(KernelProgram& program, int64_t count, int64_t bytes);

/// Whether a load or store goes along `loop` one element after the other.
bool lies_along(const graph::Kernel& kernel, const graph::Instr& instr, int loop);
/// Whether all accesses along `loop`, from a multiple of `width` on, are aligned for that many elements at a time if
/// their buffers are; and what to check of the buffers when the plan runs.
bool allows_wide(const graph::Kernel& kernel, int loop, int width);
std::vector<WideAccess> wide_accesses(const graph::Kernel& kernel, const graph::Plan& plan, int loop, int width);

}  // namespace tsl::cuda
