// The abstract syntax tree. Nodes are allocated in an Arena, have a span each, and do not change after the resolver has
// bound their names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/intern.h"
#include "base/source.h"

namespace tsl::ast {

struct Expr;
struct Stmt;
struct Block;
struct Function;

template <class T> using List = std::span<T>;

// ---- Variables -----------------------------------------------------------------------------------

/// A declared variable. Every use of it refers to this object.
struct Variable {
  Name name = nullptr;
  Span span;
  bool is_mutable = false;              // `var`; parameters and loop variables are immutable like `let`
  bool is_captured = false;             // used by a function nested in its owner
  bool is_assigned_by_capture = false;  // assigned by a function nested in its owner
  bool is_exported = false;             // declared at a module's top level: accessible as module.name
  Function* owner = nullptr;            // the function whose frame holds it
  uint32_t index = 0;                   // dense among its owner's variables, in order of declaration
};

// ---- Expressions ---------------------------------------------------------------------------------

enum class ExprKind : uint8_t {
  nil,
  boolean,
  integer,
  real,
  string,
  fstring,
  typed,  // literals
  name,
  list,
  tuple,
  record,
  map,
  range,
  unary,
  binary,
  chain,
  logical,
  call,
  index,
  field,
  lambda,
  if_,
  try_,
  block
};

enum class UnaryOp : uint8_t { negate, plus, bit_not, logical_not };

enum class BinaryOp : uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,
  pow,
  matmul,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  in,
  bit_or,
  bit_xor,
  bit_and,
  left_shift,
  right_shift
};

enum class LogicalOp : uint8_t { and_, or_ };

struct Expr {
  ExprKind kind;
  Span span;
};

struct BoolExpr : Expr {
  bool value;
};
struct IntExpr : Expr {
  int64_t value;
};
struct RealExpr : Expr {
  double value;
};
struct StringExpr : Expr {
  Name text;
};  // escapes already decoded
/// A typed literal, `0.1bf16` or `2i32`: a 0-d tensor. `is_integer` says which of the values is valid.
struct TypedExpr : Expr {
  bool is_integer;
  int64_t integer;
  double real;
  Name dtype;
};

struct FStringExpr;

/// One piece of an f-string: literal text, or a value with its format spec ("" if none).
struct FStringPart {
  Name text;    // of {x=}: what is written before the value, "x="
  Expr* value;  // null for literal text
  Name spec;
  FStringExpr* computed_spec;  // of {x:{width}}; null if the spec is `spec`
};
struct FStringExpr : Expr {
  List<FStringPart> parts;
};

/// A use of a name. The resolver sets `variable`; null means a builtin.
struct NameExpr : Expr {
  Name name;
  Variable* variable;
};

struct ListExpr : Expr {
  List<Expr*> items;
};
struct TupleExpr : Expr {
  List<Expr*> items;
  std::optional<size_t> rest;  // of a target: which of the items is `...others`
};

struct RecordEntry {
  Name key;  // null for `...rest`
  Expr* value;
};
struct RecordExpr : Expr {
  List<RecordEntry> entries;
};

struct MapEntry {
  Expr* key;  // null for `...rest`
  Expr* value;
};
struct MapExpr : Expr {
  List<MapEntry> entries;
};

struct RangeExpr : Expr {
  Expr* begin;
  Expr* end;
  bool closed;
};
struct UnaryExpr : Expr {
  UnaryOp op;
  Expr* operand;
};
struct BinaryExpr : Expr {
  BinaryOp op;
  Expr* left;
  Expr* right;
  Span op_span;
};
/// A chain of comparisons, `a < b <= c`: each operand but the ends stands in two.
struct ChainLink {
  BinaryOp op;
  Span op_span;
  Expr* right;
};
struct ChainExpr : Expr {
  Expr* first;
  List<ChainLink> links;
};
struct LogicalExpr : Expr {
  LogicalOp op;
  Expr* left;
  Expr* right;
};

struct Argument {
  Name name;  // null for a positional argument
  Expr* value;
  Span span;
  bool is_spread = false;  // `...value`: the items of a list, or the fields of a record by name

  Span name_span() const { return {span.source, span.begin, span.begin + static_cast<uint32_t>(name->size())}; }
};
/// A call `f(a, k: b)`. `x |> f(a)` becomes f(x, a) with `is_pipe`. A callee that is a FieldExpr is a method call if
/// the object is neither a record nor a module: x.sum(axis: 0) means sum(x, axis: 0).
struct CallExpr : Expr {
  Expr* callee;
  List<Argument> args;
  bool is_pipe;
};

struct IndexItem {
  enum class Kind : uint8_t { value, slice, ellipsis } kind;
  Expr* value;  // Kind::value; a NilExpr inserts a new axis
  Expr* start;  // Kind::slice; each may be null
  Expr* stop;
  Expr* step;
  Span span;
};
struct IndexExpr : Expr {
  Expr* object;
  List<IndexItem> items;
};

struct FieldExpr : Expr {
  Expr* object;
  Name field;
  Span field_span;
};
struct LambdaExpr : Expr {
  Function* function;
};

/// `if` as expression or statement. `otherwise` is null, an IfExpr or a BlockExpr.
struct IfExpr : Expr {
  Expr* condition;
  Block* then;
  Expr* otherwise;
};
/// `try { … } catch e { … } finally { … }`, as expression or statement. `handler` or `last` is null if it is missing;
/// the value is that of the body, or of the handler.
struct TryExpr : Expr {
  Block* body;
  Variable* error;
  Block* handler;
  Block* last;
};
/// A block in expression position (a branch of `if`): its last expression is its value.
struct BlockExpr : Expr {
  Block* block;
};

// ---- Patterns and annotations --------------------------------------------------------------------

/// The target of `let`, `var` and `for`, or a parameter: a name, the items of a tuple or list, or the fields of a
/// record. `_` binds nothing.
struct Pattern {
  enum class Kind : uint8_t { name, items, fields } kind = Kind::name;
  Span span;
  Variable* variable = nullptr;  // set for a name
  List<Pattern*> items;          // set for the others
  List<Name> keys;               // of fields: the key of each item
  std::optional<size_t> rest;    // which of the items is `...name`
};

/// One size in `f32[b, 64, 2 * n]`: a literal, a name that is bound by its first use, an expression of sizes, or `...`
/// for any number of them.
struct AnnotatedDim {
  Span span;
  int64_t size = -1;             // >= 0 for a literal
  Name name = nullptr;           // null for the others and for `_` (any size)
  Variable* variable = nullptr;  // for a name: an int in the body; null in the signature of a function's type
  bool binds = false;            // the first use in the signature
  bool is_ellipsis = false;
  std::optional<BinaryOp> op;  // of an expression, whose operands follow
  AnnotatedDim* left = nullptr;
  AnnotatedDim* right = nullptr;
};

/// `f32[b, 64]`, `[b, n]`, `f32` (any shape), `int`, `fn`, `record`…, and alternatives: `int | nil`, `list | "all"`.
/// Parts are the types of what a value holds: `list[int]`, `map[str, f32]`, `{x: f32}`, or of a function's parameters.
struct Annotation {
  Span span;            // of this alternative
  Name base = nullptr;  // dtype or kind name; null in `[b, n]` and for a literal
  Name text = nullptr;  // for a literal: the string that the value must be
  bool has_shape = false;
  List<AnnotatedDim> dims;
  bool has_parts = false;
  List<Annotation*> parts;
  List<Name> fields;              // of a record: the name of each part
  Annotation* returns = nullptr;  // of a function
  Annotation* other = nullptr;    // the alternative after `|`
};

/// Where a number must lie: `in 0..=1`, `in 0..`, `in 0<..`.
struct Limits {
  std::optional<double> low, high;
  bool is_closed = false;  // `..=`: high itself is allowed
  bool is_open = false;    // `<..`: low itself is not
};

// ---- Functions -----------------------------------------------------------------------------------

struct Parameter {
  Span span;
  Variable* variable = nullptr;  // named as its pattern is written, if it has one
  Pattern* pattern = nullptr;    // takes the argument apart
  Annotation* annotation = nullptr;
  std::optional<Limits> limits;   // after the annotation
  Expr* default_value = nullptr;  // evaluated at the call, in the function's scope
};

struct Attribute {
  Span span;
  Name name;
  List<Argument> args;
};

/// The options of `@compile(...)`. The engine's options apply to those that are not given.
struct CompileRequest {
  std::optional<bool> graphs;         // graphs: "on", "off"
  std::optional<bool> fast_numerics;  // numerics: "fast", "exact"
  std::optional<bool> autotune;       // mode: "max-autotune", "default"
  bool whole = false;                 // whole: what would split the function or interpret it is an error
};

/// A function, or a module's top level (`is_module`), which takes no parameters.
struct Function {
  Span span;  // the whole declaration
  Span name_span;
  Name name = nullptr;   // null for a lambda
  std::string_view doc;  // the `##` lines, joined by newlines
  List<Attribute> attributes;
  List<Parameter> parameters;
  Variable* rest = nullptr;  // `...rest`, the list of all further arguments; null if there is none
  Annotation* returns = nullptr;
  Block* body = nullptr;  // for `= expr`, a block of one Return
  Function* enclosing = nullptr;
  bool is_module = false;
  // Set by the resolver:
  std::optional<CompileRequest> compile;  // if it has @compile
  bool is_interpreted = false;            // has @interpret
  List<Variable*> variables;              // all variables of its frame, in order of declaration
  List<Variable*> captures;               // variables of enclosing functions that it, or a function in it, uses
};

// ---- Statements ----------------------------------------------------------------------------------

enum class StmtKind : uint8_t { expr, declare, assign, function, return_, while_, for_, break_, continue_, import };

struct Stmt {
  StmtKind kind;
  Span span;
};

struct Block {
  Span span;
  List<Stmt*> statements;
};

struct ExprStmt : Stmt {
  Expr* value;
};
struct DeclareStmt : Stmt {
  Pattern* pattern;
  Expr* value;
};
/// `target = value` or `target op= value`. The target is a NameExpr, IndexExpr, FieldExpr, or a TupleExpr
/// of targets (without `op`).
struct AssignStmt : Stmt {
  Expr* target;
  bool has_op;
  BinaryOp op;
  Expr* value;
};
struct FunctionStmt : Stmt {
  Variable* variable;
  Function* function;
};
struct ReturnStmt : Stmt {
  Expr* value;
};  // null returns nil
struct WhileStmt : Stmt {
  Expr* condition;
  Block* body;
};
struct ForStmt : Stmt {
  Pattern* pattern;
  Expr* iterable;
  Block* body;
};
struct BreakStmt : Stmt {};
struct ContinueStmt : Stmt {};

struct ImportedName {
  Name name;
  Variable* variable;
  Span span;
};
/// `import nn`, `import "./u.tsl" as u`: `variable` is bound to the module.
/// `from nn import a, b`: `names` are bound and `variable` is null.
struct ImportStmt : Stmt {
  Name path;
  bool is_file;
  Variable* variable;
  List<ImportedName> names;
};

/// A parsed and resolved module. Owns its tree.
struct Module {
  uint32_t source = 0;
  std::string doc;
  Arena arena;
  Function* main = nullptr;
  Name use = nullptr;  // the dtype of `use f64`; null if there is none
};

/// Casts to the class of a kind. The caller has tested the kind.
template <class T> const T& as(const Expr& e) { return static_cast<const T&>(e); }
template <class T> const T& as(const Stmt& s) { return static_cast<const T&>(s); }

}  // namespace tsl::ast
