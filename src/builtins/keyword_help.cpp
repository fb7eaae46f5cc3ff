// Defines what help() and `tsl help` say of the keywords of the language.
#include "builtins/library_help.h"

namespace tsl {

namespace {

constexpr KeywordHelp kKeywords[] = {
    {"let",
     "let x = 1     let (a, ...rest) = xs     let {a, b: x} = r\n  declares a variable that keeps its value; `var` "
     "declares one to assign to"},
    {"var", "var x = 1     x += 1\n  declares a variable that can be assigned to; var(x) is the variance of a tensor"},
    {"fn return",
     "fn f(x, k: int = 2) { return x * k }     fn f(x) = x + 1     fn(x) = x + 1\n"
     "  declares a function, or is one without a name; a caller may name arguments: f(1, k: 3)"},
    {"@compile compile",
     "@compile fn f(x) = x + 1     @compile(whole: true, numerics: \"fast\") fn f(x) = x + 1\n"
     "  compiles the function as it is called, for what it is called with; `whole: true`: in one piece, or it is an "
     "error"},
    {"@interpret interpret",
     "@interpret fn f(x) = x + 1\n  runs the function, and what it calls, op by op: none of it is compiled"},
    {"if else",
     "if a { … } else if b { … } else { … }     let x = if a { 1 } else { 2 }\n"
     "  runs the block of the first condition that is true; the last expression of the block is the value"},
    {"while", "while condition { … }\n  repeats a block as long as the condition is true"},
    {"for in",
     "for x in xs { … }     for (k, v) in items(r) { … }     for i in 0..10 { … }\n"
     "  runs a block for each item; as an operator, `x in xs` is whether xs has x"},
    {"break continue", "break     continue\n  leaves the innermost loop, or goes on with its next round"},
    {"import from as",
     "import nn     import \"./util.tsl\" as util     from nn import linear as dense\n"
     "  binds a module of the standard library or a file, or names in it"},
    {"use",
     "use f64\n  at the top of a file: floats of which nothing names a dtype are f64 in it: `zeros([2])`, "
     "`tensor([0.1])`, "
     "`randn([2])`"},
    {"try catch finally",
     "let n = try { int(s) } catch e { 0 } finally { print(s) }\n"
     "  runs the second block if there is an error in the first, and the third in any case; the value is that of the "
     "first or second"},
    {"and or not",
     "a and b     a or b     not a\n  combines conditions; the right side is computed only if it matters"},
    {"true false", "true     false\n  the values of conditions"},
    {"nil", "nil\n  the value of what has no other; x[nil] inserts an axis"},
};

}  // namespace

std::span<const KeywordHelp> keyword_help() { return kKeywords; }

}  // namespace tsl
