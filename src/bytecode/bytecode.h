// Bytecode: the compiled form of a function. A Proto never changes after it is compiled.
//
// Registers are the Values of a frame: first parameters (register i holds parameter i), then the dimension names of the
// signature, then variables and temporaries, which share registers where their scopes allow. A flag marks the last use
// of an operand, where its value may be moved out or released.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/intern.h"
#include "base/source.h"
#include "syntax/ast.h"
#include "value/signature.h"
#include "value/value.h"

namespace tsl {

enum class Opcode : uint8_t {
#define TSL_OPCODE(name, roles, text) name,
#include "bytecode/opcodes.def"
#undef TSL_OPCODE
  count_,
};

struct OpcodeInfo {
  const char* name;
  const char* roles;  // see opcodes.def
};
const OpcodeInfo& info(Opcode op);

struct Instruction {
  Opcode op = Opcode::jump;
  uint8_t flags = 0;  // low three bits: last use of a, b, c; above them: `extra`, which depends on op
  uint16_t a = 0;
  uint16_t b = 0;
  uint16_t c = 0;

  static constexpr uint8_t kKillA = 1, kKillB = 2, kKillC = 4;
  static constexpr int kExtraShift = 3;
  bool kills_a() const { return flags & kKillA; }
  bool kills_b() const { return flags & kKillB; }
  bool kills_c() const { return flags & kKillC; }
  uint8_t extra() const { return flags >> kExtraShift; }
  void set_extra(uint8_t extra) { flags = static_cast<uint8_t>((flags & 7) | extra << kExtraShift); }
  uint32_t wide() const { return b | static_cast<uint32_t>(c) << 16; }
  void set_wide(uint32_t value) {
    b = static_cast<uint16_t>(value);
    c = static_cast<uint16_t>(value >> 16);
  }
};
static_assert(sizeof(Instruction) == 8);

/// The source of a captured cell when a closure is made.
struct CaptureSource {
  Name name = nullptr;
  Span span;                   // of the variable's declaration
  bool from_register = false;  // otherwise from the captures of the enclosing function
  uint16_t index = 0;
};

/// The form of an index x[…] whose parts are in registers.
struct IndexShape {
  struct Item {
    enum class Kind : uint8_t { value, slice, ellipsis } kind = Kind::value;
    bool has_start = false, has_stop = false, has_step = false;
  };
  std::vector<Item> items;
  uint16_t operand_count = 0;
};

/// The path to a part of a variable that is assigned: in p.w[i] = v it is {field w, index i}.
struct Path {
  struct Step {
    Name field = nullptr;  // null: an index
    IndexShape index;
  };
  std::vector<Step> steps;
  bool has_op = false;  // `op=`
  ast::BinaryOp op = ast::BinaryOp::add;
  uint16_t operand_count = 0;  // of all steps; the value follows
};

enum class RootKind : uint8_t { reg, cell, capture, global };

/// An f-string: text, or a value (text null) with its format spec.
struct TemplatePart {
  Name text = nullptr;
  std::string spec;
  bool has_computed_spec = false;  // it is in the register behind the value's
  int register_count() const { return text ? 0 : has_computed_spec ? 2 : 1; }
};
using Template = std::vector<TemplatePart>;

/// A try block: an error raised in [begin, end) continues at `handler`, with the error's record in `reg`. Inner blocks
/// precede the blocks around them.
struct Handler {
  uint32_t begin = 0, end = 0;
  uint32_t handler = 0;
  uint16_t reg = 0;
  bool holds_failure = false;  // of `finally`: `reg` gets the failure itself, which `rethrow` throws on
};

/// The body of a loop: instructions [begin, end). `begin` follows loop_body; `end` is the instruction that decides
/// about the next iteration.
struct Loop {
  uint32_t begin = 0, end = 0;
  std::vector<uint16_t> live_in;   // registers the body may read before it writes them
  std::vector<uint16_t> live_out;  // registers the body writes that are read after it (next iteration included)
  std::vector<uint32_t> exits;     // where it may leave besides `end`: targets of breaks, and its returns
  Span span;                       // of the statement
};

/// A variable in a register, for messages: it is there in instructions [begin, end).
struct RegisterName {
  uint16_t reg = 0;
  uint32_t begin = 0, end = 0;
  Name name = nullptr;
  Span span;                                 // of the declaration
  static constexpr uint32_t kOpenEnd = ~0u;  // while the scope of the variable is compiled
};

/// The source of a call's arguments, or of an operation's operator, for errors: [first, first + count) of
/// Proto::argument_spans. The spans of the names of named arguments follow them.
struct CallArguments {
  uint32_t pc = 0;  // of the call
  uint32_t first = 0, count = 0;
  uint32_t names = 0;  // how many of the last arguments have names
};

struct Proto : FunctionInfo {
  Span extent;               // of the whole declaration, or of the module
  bool is_internal = false;  // in the prelude: no region of its own under --compile
  bool is_library = false;   // in the standard library: hidden from tracebacks
  DType reals = DType::f32;  // of floats of which nothing names a dtype; in the library, the caller's count
  bool takes_reals = false;  // the default of a parameter is the caller's `reals`: in the library
  ComposedWork work = ComposedWork::none;
  bool is_compiled = false;      // has @compile
  bool is_interpreted = false;   // has @interpret
  bool tests_arguments = false;  // has annotations on parameters
  /// The number of arguments for which a call needs no further checks; kNoDirectCall if there is none.
  uint16_t direct_arity = kNoDirectCall;
  static constexpr uint16_t kNoDirectCall = 0xFFFF;
  uint16_t register_count = 0;
  uint16_t required = 0;  // parameters without default
  ast::CompileRequest request;

  std::vector<Instruction> code;
  std::vector<Span> spans;  // one per instruction
  std::vector<Value> constants;
  std::vector<Name> names;
  std::vector<CaptureSource> captures;
  std::vector<Ref<Cell>> globals;  // captured top-level variables of modules, which exist once
  std::vector<Name> global_names;
  std::vector<Span> global_spans;  // of their declarations
  std::vector<std::unique_ptr<Proto>> functions;
  std::vector<CallShape> call_shapes;
  std::vector<IndexShape> index_shapes;
  std::vector<Ref<RecordKeys>> record_shapes;
  std::vector<Path> paths;
  std::vector<Template> templates;
  std::vector<Handler> handlers;
  std::vector<Loop> loops;
  std::vector<RegisterName> register_names;   // in the order of their declarations
  std::vector<CallArguments> call_arguments;  // in the order of their calls
  std::vector<Span> argument_spans;           // of the arguments of each call; a method's object comes first

  /// Returns the variable in a register at an instruction; null if it holds a temporary.
  const RegisterName* register_name(uint16_t reg, uint32_t pc) const;
  /// Returns the source of an argument of the call at `pc`, or of its name; not valid if there is none.
  Span argument_span(uint32_t pc, int argument, bool of_name = false) const;
  /// The values that a call binds: the parameters, and the list for `...rest`.
  uint32_t argument_count() const { return parameter_count() + (signature.rest ? 1 : 0); }
  uint32_t parameter_count() const { return static_cast<uint32_t>(signature.parameters.size()); }
};

/// Returns the code of a function of the language.
inline const Proto& proto_of(const Function& function) { return static_cast<const Proto&>(*function.info); }

/// Formats the code, including nested functions.
std::string disassemble(const Proto& proto, const SourceMap& sources);

}  // namespace tsl
