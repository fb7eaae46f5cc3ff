// Tests scopes, captures and assignments.
#include <algorithm>

#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::ast;
using namespace tsl::test;

namespace {

const Function& function_at(const Parsed& parsed, size_t i) { return *as<FunctionStmt>(parsed.statement(i)).function; }
const Function& nested(const Function& function, size_t i) {
  return *as<FunctionStmt>(*function.body->statements[i]).function;
}
const Variable& declared_at(const Parsed& parsed, size_t i) {
  return *as<DeclareStmt>(parsed.statement(i)).pattern->variable;
}
const NameExpr& returned_name(const Function& function) {
  return as<NameExpr>(*as<ReturnStmt>(*function.body->statements.back()).value);
}
std::string names(List<Variable*> variables) {
  std::string text;
  for (const Variable* variable : variables) text += (text.empty() ? "" : " ") + *variable->name;
  return text;
}

}  // namespace

TEST_CASE("names bind to variables, or to builtins") {
  const auto parsed = resolve_text("let x = 1\nprint(x)");
  const auto& call = as<CallExpr>(*as<ExprStmt>(parsed->statement(1)).value);
  CHECK(as<NameExpr>(*call.callee).variable == nullptr);
  CHECK(as<NameExpr>(*call.args[0].value).variable == &declared_at(*parsed, 0));
}

TEST_CASE("a variable may shadow a builtin, an outer variable, or itself") {
  const auto parsed = resolve_text("let sum = 1\nlet x = sum\nlet x = x\nfn f(x) { let x = x; return x }");
  const auto value = [&](size_t i) { return as<NameExpr>(*as<DeclareStmt>(parsed->statement(i)).value).variable; };
  CHECK(value(1) == &declared_at(*parsed, 0));
  CHECK(value(2) == &declared_at(*parsed, 1));
  CHECK(&declared_at(*parsed, 1) != &declared_at(*parsed, 2));
  const Function& f = function_at(*parsed, 3);
  CHECK(returned_name(f).variable != f.parameters[0].variable);
  CHECK(names(f.variables) == "x x");
}

TEST_CASE("blocks have scopes of their own") {
  CHECK(name_error("if true { let q = 1 }\nprint(q)").message == "unknown name 'q'");
  CHECK(name_error("for i in 0..3 { }\nprint(i)").message == "unknown name 'i'");
  CHECK(name_error("try { let q = 1 } catch e { print(q) }").message == "unknown name 'q'");
  CHECK(name_error("try { } catch e { }\nprint(e)").message == "unknown name 'e'");
  CHECK(name_error("var x = 1\nif true { x = 2; let x = 3 }\nx = 4").message.empty());
}

TEST_CASE("functions know one another in their block, in any order") {
  CHECK(name_error("print(f())\nfn f() = g()\nfn g() = f()").message.empty());
  CHECK(name_error("fn f() { return g()\n fn g() = h()\n fn h() = 1 }").message.empty());
  CHECK(name_error("fn f() = 1\nfn f() = 2").message == "function 'f' is declared twice in this block");
  CHECK(name_error("fn f() = 1\nif true { fn f() = 2 }").message.empty());
}

TEST_CASE("a function's body may use a module's name declared further down") {
  const auto parsed = resolve_text("fn f() = later\nlet later = 1");
  CHECK(returned_name(function_at(*parsed, 0)).variable == &declared_at(*parsed, 1));
  CHECK(declared_at(*parsed, 1).is_captured);
  CHECK(names(function_at(*parsed, 0).captures) == "later");
  const Complaint complaint = name_error("print(zzz)\nlet zzz = 1");
  CHECK(complaint.message == "unknown name 'zzz'");
  CHECK(complaint.hints == "it is declared further down");
}

TEST_CASE("frames list their variables, parameters first, each with the dimensions it binds") {
  const auto parsed =
      resolve_text("fn f(x: f32[b, n], k = 1) {\n let y = b\n if true { var y = n }\n for i in 0..k { }\n}");
  const Function& f = function_at(*parsed, 0);
  CHECK(names(f.variables) == "x b n k y y i");
  for (uint32_t i = 0; i < f.variables.size(); ++i) {
    CHECK(f.variables[i]->index == i);
    CHECK(f.variables[i]->owner == &f);
  }
  CHECK(f.captures.empty());
  CHECK(names(parsed->module->main->variables) == "f");
}

TEST_CASE("a default may use the parameters and dimensions before it") {
  CHECK_NOTHROW(resolve_text("fn f(x: f32[n], y = x, z: f32[n] = sum(n), g = fn() = z) { }"));
  CHECK(name_error("fn f(a = b, b = 2) { }").message == "unknown name 'b'");
  CHECK(name_error("fn f(a = a) { }").message == "unknown name 'a'");
  CHECK(name_error("fn f(a = n, x: f32[n] = 2) { }").message == "unknown name 'n'");
  CHECK(name_error("fn f(x: f32[n] = sum(n)) { }").message == "unknown name 'n'");
}

TEST_CASE("a dimension of the result is nothing that the body knows") {
  CHECK_NOTHROW(resolve_text("fn f(x: f32[n]) -> f32[n, k] { return sum(n) }"));
  CHECK(name_error("fn f(x: f32[n]) -> f32[k] = x * k").message ==
        "dimension 'k' is known only once the function has returned");
  CHECK(name_error("fn f(x) -> f32[k] { return fn() = k }").message ==
        "dimension 'k' is known only once the function has returned");
}

TEST_CASE("captures pass through every function in between") {
  const auto parsed = resolve_text(
      "let m = 1\nfn outer(a) {\n  var count = 0\n  fn mid() {\n    fn inner() { count += a; return m }\n"
      "    return inner\n  }\n  return mid\n}");
  const Function& outer = function_at(*parsed, 1);
  const Function& mid = nested(outer, 1);
  const Function& inner = nested(mid, 0);
  CHECK(names(inner.captures) == "a count m");
  CHECK(names(mid.captures) == "a count m");
  CHECK(names(outer.captures) == "m");
  CHECK(inner.enclosing == &mid);
  const Variable& count = *outer.variables[2];
  CHECK(*count.name == "count");
  CHECK(count.is_captured);
  CHECK(count.is_assigned_by_capture);
  CHECK(outer.parameters[0].variable->is_captured);
  CHECK_FALSE(outer.parameters[0].variable->is_assigned_by_capture);
}

TEST_CASE("an assignment by the owner is none by capture") {
  const auto parsed = resolve_text("fn f() {\n var n = 0\n let g = fn() = n\n n = 1\n return g\n}");
  const Variable& n = *function_at(*parsed, 0).variables[0];
  CHECK(n.is_captured);
  CHECK_FALSE(n.is_assigned_by_capture);
}

TEST_CASE("a module exports its top level and nothing deeper") {
  const auto parsed = resolve_text("let a = 1\nimport nn\nfn f(p) { let q = 1 }\nif true { let b = 2 }");
  for (const Variable* variable : parsed->module->main->variables) {
    CHECK(variable->is_exported == (*variable->name != "b"));
  }
  for (const Variable* variable : function_at(*parsed, 2).variables) CHECK_FALSE(variable->is_exported);
}

TEST_CASE("unknown names suggest the nearest one") {
  const Complaint complaint = name_error("let length = 1\nprint(lenght)");
  CHECK(complaint.kind == ErrorKind::name);
  CHECK(complaint.message == "unknown name 'lenght'");
  CHECK(complaint.at == "lenght");
  CHECK(complaint.hints == "did you mean 'length'?");
  CHECK(name_error("prin(1)").hints == "did you mean 'print'?");
  CHECK(name_error("let x = None").hints == "did you mean 'nil'?");
  CHECK(name_error("let x = True").hints == "did you mean 'true'?");
  CHECK(name_error("qqqqqq").hints.empty());
  CHECK(name_error("f\"{lenght}\"").at == "lenght");
}

TEST_CASE("only what is declared with var can be assigned to or changed") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"let x = 1; x = 2", "'x' is declared with 'let' and cannot be assigned to"},
      {"let x = 1; x += 2", "'x' is declared with 'let' and cannot be assigned to"},
      {"let x = [1]; x[0] = 2", "'x' is declared with 'let' and cannot be changed"},
      {"let p = {a: 1}; p.a.b[0] = 2", "'p' is declared with 'let' and cannot be changed"},
      {"let x = 1; var y = 1; (y, x) = (1, 2)", "'x' is declared with 'let' and cannot be assigned to"},
      {"fn f(a) { a = 1 }", "'a' is a parameter and cannot be assigned to"},
      {"fn f(a) { a[0] = 1 }", "'a' is a parameter and cannot be changed"},
      {"for i in 0..3 { i = 1 }", "'i' is a loop variable and cannot be assigned to"},
      {"fn f(x: [n]) { n = 1 }", "'n' is a dimension and cannot be assigned to"},
      {"fn f() = 1; f = 2", "'f' is a function and cannot be assigned to"},
      {"import nn; nn.x = 1", "'nn' is imported and cannot be changed"},
      {"try { } catch e { e = 1 }", "'e' is the error caught and cannot be assigned to"},
      {"sum = 3", "'sum' is a builtin and cannot be assigned to"},
      {"qqqqqq = 3", "'qqqqqq' is not declared"},
      {"fn f() { later = 1 }; let later = 2", "'later' is declared with 'let' and cannot be assigned to"},
  };
  for (const Case& each : cases) {
    INFO(each.text);
    CHECK(name_error(each.text).kind == ErrorKind::name);
    CHECK(name_error(each.text).message == each.message);
  }
  CHECK(name_error("var x = [1]; x[0] = 2; x = 3; (x, _) = (1, 2); fn f() { x[1] = 3 }").message.empty());
}

TEST_CASE("assigning to an undeclared name suggests the nearest, or a declaration") {
  CHECK(name_error("var value = 1\nvalu = 2").hints == "did you mean 'value'?|declare it with 'var valu = …'");
  CHECK(name_error("qqqqqq = 2").hints == "declare it with 'var qqqqqq = …'");
  CHECK(name_error("let x = 1\nx = 2").hints == "use 'var x' where it is declared");
  CHECK(name_error("fn f(a) { a = 1 }").hints == "declare a variable first: var a = a");
}

TEST_CASE("jumps need something to leave") {
  CHECK(name_error("break").message == "'break' outside a loop");
  CHECK(name_error("if true { continue }").message == "'continue' outside a loop");
  CHECK(name_error("while true { let f = fn() { break } }").message == "'break' outside a loop");
  CHECK(name_error("return 1").message == "'return' outside a function");
  CHECK(name_error("return 1").kind == ErrorKind::syntax);
  CHECK(name_error("fn f() { while true { if true { break } } return 1 }").message ==
        "expected a new line or ';' after '}', found 'return'");
  CHECK(name_error("fn f() { while true { if true { break } }; return 1 }").message.empty());
}

TEST_CASE("one name is bound once in a pattern or signature") {
  CHECK(name_error("fn f(a, a) = 1").message == "parameter 'a' is declared twice");
  CHECK(name_error("let (a, (b, a)) = 1").message == "'a' is bound twice here");
  CHECK(name_error("fn f(_, _) = 1").message.empty());
  CHECK(name_error("let (_, _) = (1, 2)").message.empty());
  CHECK(name_error("print(_)").message == "'_' discards a value and holds none");
}

TEST_CASE("attributes and their options are known by name") {
  CHECK(name_error("@compile(mode: \"max-autotune\", graphs: \"off\", numerics: \"fast\") fn f() = 1").message.empty());
  CHECK(name_error("@compiel fn f() = 1").hints == "did you mean '@compile'?");
  CHECK(name_error("@compile(graph: \"off\") fn f() = 1").message == "unknown option 'graph' of @compile");
  CHECK(name_error("@compile(\"off\") fn f() = 1").message == "options of @compile have names");
  CHECK(name_error("@compile(graphs: \"maybe\") fn f() = 1").message == "graphs is \"on\" or \"off\"");
  CHECK(name_error("@compile(numerics: true) fn f() = 1").message == "numerics is \"fast\" or \"exact\"");
  CHECK(name_error("@compile(whole: true, graphs: \"off\") fn f() = 1").message.empty());
  CHECK(name_error("@compile(whole: false) fn f() = 1").message.empty());
  CHECK(name_error("@compile(whole: \"yes\") fn f() = 1").message == "whole is true or false");
  CHECK(name_error("@interpret fn f() = 1").message.empty());
  CHECK(name_error("@interpret(whole: true) fn f() = 1").message == "@interpret takes no options");
  CHECK(name_error("@compile @interpret fn f() = 1").message == "a function has @compile or @interpret, not both");
}

TEST_CASE("defaults see the parameters and the outer scope") {
  CHECK(name_error("let k = 1\nfn f(x, y = x, z = k) = z").message.empty());
  CHECK(name_error("fn f(x = nope) = x").message == "unknown name 'nope'");
}

TEST_CASE("a prompt's earlier variables are bound as they are") {
  Parsed first;
  first.id = first.sources.add("line 1", "var x = 1\nlet y = 2");
  first.module = parse(first.sources, first.id, first.names);
  resolve(*first.module, {});
  const uint32_t id = first.sources.add("line 2", "x = y\nfn f() { x = 3 }\nlet y = y");
  const auto second = parse(first.sources, id, first.names);
  ResolveOptions options;
  options.predeclared.find = [&first](Name name) -> Variable* {
    const auto& all = first.module->main->variables;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Variable* each) { return each->name == name; });
    return found == all.end() ? nullptr : *found;
  };
  resolve(*second, options);
  const auto& assign = as<AssignStmt>(*second->main->body->statements[0]);
  CHECK(as<NameExpr>(*assign.target).variable == first.module->main->variables[0]);
  CHECK(as<NameExpr>(*assign.value).variable == first.module->main->variables[1]);
  CHECK(as<FunctionStmt>(*second->main->body->statements[1]).function->captures.empty());
  CHECK(names(second->main->variables) == "f y");
  const uint32_t bad = first.sources.add("line 3", "y = 1");
  const auto third = parse(first.sources, bad, first.names);
  CHECK_THROWS_AS(resolve(*third, options), Failure);
}
