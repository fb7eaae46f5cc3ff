// Tests nests of statements, left by each exit, against a model: what a program prints is computed while it is drawn.
#include <random>

#include "support/session.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

enum class Exit : uint8_t { none, break_, continue_, return_, error };

/// A statement, and what the model knows of it.
struct Node {
  enum class Kind : uint8_t {
    mark,     // n += 1; print(number, n)
    exit,     // leaves by `exit`; a return gives n
    when,     // if n % 2 == number { first } else { second }
    while_,   // twice
    for_,     // twice
    attempt,  // try { first } catch e { second } finally { last }
    value,    // let v = try { first; number } finally { last }; print(v)
    call,     // print(local function that holds first)
  };
  Kind kind = Kind::mark;
  int number = 0;
  Exit exit = Exit::none;
  bool is_caught = false, has_last = false;
  std::vector<Node> first, second, last;
};

/// Runs statements as the language says.
class Model {
 public:
  struct Ending {
    Exit exit = Exit::none;
    int value = 0;
  };

  /// Returns what a function that holds the statements prints, and then its value or error.
  std::string run(const std::vector<Node>& body) {
    const Ending ending = function(body);
    printed_ +=
        ending.exit == Exit::error ? fmt::format("error {}\n", ending.value) : fmt::format("value {}\n", ending.value);
    return std::move(printed_);
  }
  bool is_long() const { return steps_ > kMostSteps; }

 private:
  static constexpr int kMostSteps = 2000;

  Ending function(const std::vector<Node>& body) {
    const Ending ending = block(body);
    return ending.exit == Exit::error ? ending : Ending{Exit::none, ending.exit == Exit::return_ ? ending.value : -1};
  }

  Ending block(const std::vector<Node>& body) {
    for (const Node& each : body) {
      if (const Ending ending = statement(each); ending.exit != Exit::none) return ending;
    }
    return {};
  }

  Ending statement(const Node& s) {
    if (++steps_ > kMostSteps) return {};
    switch (s.kind) {
      case Node::Kind::mark: printed_ += fmt::format("{} {}\n", s.number, ++n_); return {};
      case Node::Kind::exit: return {s.exit, s.exit == Exit::error ? s.number : n_};
      case Node::Kind::when: return block(n_ % 2 == s.number ? s.first : s.second);
      case Node::Kind::while_:
      case Node::Kind::for_: return loop(s);
      case Node::Kind::attempt: {
        Ending ending = block(s.first);
        if (s.is_caught && ending.exit == Exit::error) {
          printed_ += fmt::format("caught {}\n", ending.value);
          ending = block(s.second);
        }
        return last(s, ending);
      }
      case Node::Kind::value: {
        const Ending ending = last(s, block(s.first));
        if (ending.exit == Exit::none) printed_ += fmt::format("{}\n", s.number);
        return ending;
      }
      case Node::Kind::call: {
        const Ending ending = function(s.first);
        if (ending.exit == Exit::none) printed_ += fmt::format("{}\n", ending.value);
        return ending;
      }
    }
    return {};
  }

  Ending loop(const Node& s) {
    for (int i = 0; i < 2; ++i) {
      const Ending ending = block(s.first);
      if (ending.exit == Exit::break_) break;
      if (ending.exit == Exit::return_ || ending.exit == Exit::error) return ending;
    }
    return {};
  }

  Ending last(const Node& s, const Ending& before) {
    if (!s.has_last) return before;
    const Ending ending = block(s.last);
    return ending.exit == Exit::none ? before : ending;
  }

  std::string printed_;
  int n_ = 0;
  int steps_ = 0;
};

/// Writes statements as a text. Each loop variable has a name of its own.
class Writer {
 public:
  std::string function(const std::string& name, const std::vector<Node>& body) {
    return fmt::format("fn {}() {{ var n = 0; {}; return -1 }}\n", name, block(body));
  }

 private:
  std::string block(const std::vector<Node>& body) {
    std::string text;
    for (const Node& each : body) text += (text.empty() ? "" : "; ") + statement(each);
    return text;
  }

  std::string statement(const Node& s) {
    const int id = ++names_;
    switch (s.kind) {
      case Node::Kind::mark: return fmt::format("n += 1; print({}, n)", s.number);
      case Node::Kind::exit: return exit(s);
      case Node::Kind::when:
        return fmt::format("if n % 2 == {} {{ {} }} else {{ {} }}", s.number, block(s.first), block(s.second));
      case Node::Kind::while_:
        return fmt::format("var w{0} = 0; while w{0} < 2 {{ w{0} += 1; {1} }}", id, block(s.first));
      case Node::Kind::for_:
        return fmt::format("for i{} in {} {{ {} }}", id, s.number % 2 ? "[5, 6]" : "0..2", block(s.first));
      case Node::Kind::attempt: {
        std::string text = fmt::format("try {{ {} }}", block(s.first));
        if (s.is_caught)
          text += fmt::format(" catch e{0} {{ print(\"caught\", e{0}.message); {1} }}", id, block(s.second));
        return text + (s.has_last ? fmt::format(" finally {{ {} }}", block(s.last)) : "");
      }
      case Node::Kind::value:
        return fmt::format("let v{0} = try {{ {1}; {2} }} finally {{ {3} }}; print(v{0})", id, block(s.first), s.number,
                           block(s.last));
      case Node::Kind::call: return fmt::format("fn f{0}() {{ {1}; return -1 }}; print(f{0}())", id, block(s.first));
    }
    return "";
  }

  static std::string exit(const Node& s) {
    switch (s.exit) {
      case Exit::none: return "nil";
      case Exit::break_: return "break";
      case Exit::continue_: return "continue";
      case Exit::return_: return "return n";
      case Exit::error: return fmt::format("error(\"{}\")", s.number);
    }
    return "";
  }

  int names_ = 0;
};

class Drawing {
 public:
  explicit Drawing(uint32_t seed) : random_(seed) {}

  std::vector<Node> block(int depth, bool is_in_loop) {
    std::vector<Node> out;
    const int count = 1 + below(depth > 3 ? 2 : 3);
    for (int i = 0; i < count; ++i) out.push_back(statement(depth, is_in_loop));
    return out;
  }

 private:
  static constexpr int kDeepest = 6;

  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  Node leaf(bool is_in_loop) {
    Node s;
    s.number = below(100);
    if (below(3) == 0) return s;
    s.kind = Node::Kind::exit;
    constexpr Exit kExits[] = {Exit::return_, Exit::error, Exit::break_, Exit::continue_};
    s.exit = kExits[below(is_in_loop ? 4 : 2)];
    return s;
  }

  Node statement(int depth, bool is_in_loop) {
    if (depth >= kDeepest || below(5) == 0) return leaf(is_in_loop);
    Node s;
    s.number = below(2);
    const int kind = below(10);
    if (kind == 0) s.kind = Node::Kind::mark;
    else if (kind == 1) s.kind = Node::Kind::when;
    else if (kind <= 3) s.kind = kind == 2 ? Node::Kind::while_ : Node::Kind::for_;
    else if (kind == 4) s.kind = Node::Kind::value;
    else if (kind == 5) s.kind = below(2) ? Node::Kind::call : Node::Kind::for_;
    else s.kind = Node::Kind::attempt;
    if (s.kind == Node::Kind::mark) return s;
    const bool is_loop = s.kind == Node::Kind::while_ || s.kind == Node::Kind::for_;
    s.first = block(depth + 1, is_loop || (is_in_loop && s.kind != Node::Kind::call));
    if (s.kind == Node::Kind::when) s.second = block(depth + 1, is_in_loop);
    if (s.kind == Node::Kind::attempt) {
      s.is_caught = below(2) == 0;
      s.has_last = !s.is_caught || below(3) > 0;
      if (s.is_caught) s.second = block(depth + 1, is_in_loop);
    }
    if (s.kind == Node::Kind::value) s.has_last = true;
    if (s.has_last) s.last = block(depth + 1, is_in_loop);
    return s;
  }

  std::mt19937 random_;
};

std::string main_of(const std::string& functions, int count) {
  std::string text = functions + "for f in [";
  for (int i = 0; i < count; ++i) text += fmt::format("{}f{}", i ? ", " : "", i);
  return text + "] { try { print(\"value\", f()) } catch e { print(\"error\", e.message) } }";
}

/// Runs functions on the tiers, and compares what they print with the model.
void check(const std::vector<std::vector<Node>>& functions) {
  std::string text, expected;
  int count = 0;
  for (const std::vector<Node>& body : functions) {
    Model model;
    const std::string printed = model.run(body);
    if (model.is_long()) continue;
    text += Writer().function(fmt::format("f{}", count++), body);
    expected += printed;
  }
  const std::string program = main_of(text, count);
  for (const Tier tier : {Tier::eager, Tier::everything}) {
    const std::string printed = outcome(program, tier);
    if (printed == expected) continue;
    INFO(program);
    FAIL_CHECK(first_difference(expected, printed));
  }
}

Node node(Node::Kind kind, std::vector<Node> first, std::vector<Node> last = {}) {
  Node s;
  s.kind = kind;
  s.first = std::move(first);
  s.has_last = !last.empty();
  s.last = std::move(last);
  return s;
}

Node mark(int number) {
  Node s;
  s.number = number;
  return s;
}

Node leaving(Exit exit) {
  Node s;
  s.kind = Node::Kind::exit;
  s.exit = exit;
  s.number = 7;
  return s;
}

}  // namespace

TEST_CASE("every exit of a try runs its finally once, also one with loops that are left", "[nests]") {
  using Kind = Node::Kind;
  const Exit exits[] = {Exit::none, Exit::break_, Exit::continue_, Exit::return_, Exit::error};
  const Kind around[] = {Kind::while_, Kind::for_, Kind::attempt, Kind::value};
  std::vector<std::vector<Node>> functions;
  for (const Exit left : exits) {
    for (const Exit of_last : exits) {
      for (const Kind outer : around) {
        for (const Kind middle : around) {
          for (const Kind within : {Kind::while_, Kind::for_}) {
            Node last = node(within, {mark(1), leaving(of_last), mark(2)});
            Node inner = node(Kind::attempt, {mark(3), leaving(left), mark(4)}, {last, mark(5)});
            Node second = node(middle, {inner, mark(6)}, {mark(8), last});
            Node first = node(outer, {second, mark(9)}, {mark(10)});
            functions.push_back({node(Kind::for_, {first, mark(11)}), mark(12)});
          }
        }
      }
    }
  }
  for (size_t i = 0; i < functions.size(); i += 100) {
    check({functions.begin() + static_cast<ptrdiff_t>(i),
           functions.begin() + static_cast<ptrdiff_t>(std::min(i + 100, functions.size()))});
  }
}

TEST_CASE("nests of all statements do what a model says, on all tiers", "[nests]") {
  const char* given = std::getenv("TSL_RANDOM_NESTS");
  const int programs = given ? std::atoi(given) : 6;
  for (int seed = 0; seed < programs; ++seed) {
    Drawing drawing(static_cast<uint32_t>(seed));
    std::vector<std::vector<Node>> functions;
    for (int i = 0; i < 20; ++i) functions.push_back(drawing.block(0, false));
    INFO("seed " << seed);
    check(functions);
  }
}

TEST_CASE("a loop in a finally block does not disturb the loop that its try leaves", "[nests]") {
  CHECK(outcome("for a in [1] { try { break } finally { for b in [5, 6] { print(b) } } }", Tier::eager) == "5\n6\n");
  CHECK(outcome("while true { try { break } finally { while true { break } } }\nprint(1)", Tier::eager) == "1\n");
  CHECK(outcome("fn f() { while true { try { continue } finally { for i in 0..2 { try { return i } finally "
                "{ while true { break } } } } } }\nprint(f())",
                Tier::everything) == "0\n");
}

TEST_CASE("a finally that leaves an inner return keeps the value of the outer one", "[nests]") {
  const std::string program =
      "fn f() { try { return 1 } finally { while true { try { return 2 } finally { break } } } }\n"
      "fn g() { for i in 0..3 { try { return i } finally { if i < 2 { continue } } } }\n"
      "fn h() { try { error(\"a\") } finally { return 3 } }\nprint(f(), g(), h())";
  CHECK(outcome(program, Tier::eager) == "1 2 3\n");
  CHECK(disagreement(program) == "");
}
