// The grammar of TSL.
//
// Between the lexer and the parser stands a token source (src/syntax/token_source.cpp) that settles what a
// context-free grammar says badly. It drops the newlines that end no statement and turns the others, and ';',
// into END: one between two statements, never doubled, none beside a block's braces. It tells the '{' of a
// record (RECORD_OPEN) from that of a block, and the `use` of a dtype (USE) from a name. It takes f-strings apart,
// because what ends one depends on what is nested in it. A byte the lexer reads is one character: bytes above 127 are parts of UTF-8 sequences.
grammar Tsl;

options { superClass = ParserBase; }

@parser::preinclude { #include "syntax/parser_base.h" }

// Tokens that only the token source makes.
tokens { END, USE, RECORD_OPEN, FSTRING_TEXT, HOLE_OPEN, FORMAT_SPEC, HOLE_CLOSE, FSTRING_CLOSE, ERROR }

// ---- Modules and statements ----------------------------------------------------------------------------

/// A source file, `-e` text or a prompt's line.
module : (statement (END statement)*)? EOF ;

/// Statements in braces.
block : '{' (statement (END statement)*)? '}' ;

statement
  : declaration
  | function
  | 'return' expression?
  | 'while' expression block
  | 'for' pattern 'in' expression block
  | 'break'
  | 'continue'
  | moduleImport
  | dtypeUse
  | evaluation
  ;

/// let x = 1     var (a, b) = t
declaration : ('let' | 'var') pattern '=' expression ;

/// An expression for its effect, or an assignment: x = 1     p.w[0] += 2     (a, b) = f()
/// That the left side can be assigned to is checked by the tree builder.
evaluation
  : expression (op=('=' | '+=' | '-=' | '*=' | '/=' | '//=' | '%=' | '**=' | '@=') value=expression)? ;

/// import nn     import "./util.tsl" as util     from nn import linear, relu as r
moduleImport
  : 'import' modulePath ('as' NAME)?
  | 'from' modulePath 'import' importedName (',' importedName)*
  ;

modulePath : NAME | STRING ;

/// use f64
dtypeUse : USE NAME ;

importedName : name=NAME ('as' alias=NAME)? ;

/// What a declaration, a loop or a parameter binds: a name, the items of a tuple or list, or the fields of a record.
pattern : NAME | parts ;

parts
  : '(' itemPattern (',' itemPattern)* ','? ')'
  | RECORD_OPEN fieldPattern (',' fieldPattern)* ','? '}'
  ;

/// (first, ...others)
itemPattern : pattern | '...' NAME ;

/// {a, b: x, ...others}
fieldPattern : NAME (':' pattern)? | '...' NAME ;

// ---- Functions -----------------------------------------------------------------------------------------

/// @compile fn f(x: f32[b, 64], k = 2) -> f32[b] { return … }     fn f(x) = x + 1
function : attribute* 'fn' NAME signature functionBody ;

/// On the function's line or on lines before it.
attribute : '@' NAME ('(' (argument (',' argument)* ','?)? ')')? END? ;

signature : '(' (parameter (',' parameter)* ','?)? ')' ('->' annotation)? ;

/// `...others`, which comes last, is the list of all further arguments. A pattern takes an argument apart: fn((a, b))
parameter : NAME (':' annotation ('in' limits)?)? ('=' expression)? | parts ('=' expression)? | '...' NAME ;

/// What a builtin declares, in one line of text: sum(x: array, axis: integers | nil = nil)     print(...values: any)
declaredSignature : NAME '(' (declaredParameter (',' declaredParameter)* ','?)? ')' ('->' annotation)? EOF ;

declaredParameter : parameter | '...' NAME ':' annotation ;

functionBody : block | '=' expression ;

/// f32[b, 64]     [b, n]     int | nil     list | "all"     list[int]     {x: f32[n], name: str}     fn(int) -> f32[]
annotation : alternative ('|' alternative)* ;

alternative
  : (NAME | 'nil') bracketed?
  | bracketed
  | STRING
  | 'fn' ('(' (annotation (',' annotation)* ','?)? ')' ('->' result=alternative)?)?
  | RECORD_OPEN (fieldType (',' fieldType)* ','?)? '}'
  ;

fieldType : NAME ':' annotation ;

/// The sizes of a tensor, or the types of what a list, a tuple or a map holds.
bracketed : '[' (bracketItem (',' bracketItem)* ','?)? ']' ;

bracketItem : '...' | item ;

/// A size or a type. The tree builder tells them apart, since a name is either: f32[n]     list[int]
item
  : atom=alternative
  | NUMBER
  | '(' inner=item ')'
  | left=item op=('*' | '//') right=item
  | left=item op=('+' | '-') right=item
  | left=item op='|' right=item
  ;

/// Where a number must lie: 0..=1     0..     ..10     0<..
limits : low=limit? op=('..' | '..=' | '<..' | '<..=') high=limit? ;

limit : '-'? NUMBER ;

// ---- Expressions ---------------------------------------------------------------------------------------

/// Alternatives are listed from the tightest binding to the loosest.
expression
  : atom=primary
  | left=expression tail=suffix
  | <assoc=right> left=expression op='**' right=expression
  | op=('-' | '+' | '~') right=expression
  | left=expression op=('*' | '/' | '//' | '%' | '@') right=expression
  | left=expression op=('+' | '-') right=expression
  | left=expression op=('<<' | '>>') right=expression
  | left=expression op=('..' | '..=') right=expression
  | left=expression op='&' right=expression
  | left=expression op='^' right=expression
  | left=expression op='|' right=expression
  | left=expression op=('==' | '!=' | '<' | '<=' | '>' | '>=' | 'in') right=expression
  | left=expression op='not' 'in' right=expression
  | op='not' right=expression
  | left=expression op='and' right=expression
  | left=expression op='or' right=expression
  | left=expression op='|>' right=expression
  ;

/// What may follow an operand: x.field     x[index]     f(arguments)
suffix
  : '.' NAME
  | '[' indexItem (',' indexItem)* ','? ']'
  | '(' (argument (',' argument)* ','?)? ')'
  ;

/// f(1, axis: 0)     f(...list)     f(...record)
argument : (NAME ':')? expression | '...' expression ;

/// x[0]     x[1:5]     x[::-1]     x[...]
indexItem
  : '...'
  | begin=expression (':' end=expression? (':' step=expression?)?)?
  | ':' end=expression? (':' step=expression?)?
  ;

primary
  : NUMBER
  | STRING
  | fstring
  | 'true'
  | 'false'
  | 'nil'
  | NAME
  | parenthesized
  | list
  | record
  | lambda
  | conditional
  | attempt
  ;

/// Grouping (a), or a tuple: ()     (a,)     (a, b)     or what is assigned to: (a, ...others) = t
parenthesized : '(' ('...'? expression (',' '...'? expression)* comma=','?)? ')' ;

/// A list [1, 2, 3], or a map: [:]     ["a": 1, k: v, ...rest]
/// The tree builder tells them apart: a second look at each item of nested lists would take quadratic time.
list : '[' (':' | listItem (',' listItem)* ','?)? ']' ;

listItem : expression (':' value=expression)? | '...' expression ;

/// {a: 1, "b c": 2, d, ...rest}
record : RECORD_OPEN (recordEntry (',' recordEntry)* ','?)? '}' ;

recordEntry
  : (NAME | STRING) ':' expression
  | NAME
  | '...' expression
  ;

/// fn(x) = x + 1     fn(x) { return x + 1 }
lambda : 'fn' signature functionBody ;

/// if a { … } else if b { … } else { … }
conditional : 'if' expression block (elseIf)* ('else' block)? ;

elseIf : 'else' 'if' expression block ;

/// try { … } catch e { … } finally { … }
attempt : 'try' block ('catch' NAME block ('finally' last=block)? | 'finally' last=block) ;

/// f"loss {l:.4f}"     f"{x=}"     f"{x:{width}}"
fstring : FSTRING_OPEN (FSTRING_TEXT | hole)* FSTRING_CLOSE ;

hole : HOLE_OPEN expression '='? formatSpec? HOLE_CLOSE ;

/// The first piece begins with the ':'.
formatSpec : FORMAT_SPEC (FORMAT_SPEC | hole)* ;

// ---- Tokens --------------------------------------------------------------------------------------------

LET : 'let' ;
VAR : 'var' ;
FN : 'fn' ;
RETURN : 'return' ;
IF : 'if' ;
ELSE : 'else' ;
WHILE : 'while' ;
FOR : 'for' ;
IN : 'in' ;
BREAK : 'break' ;
CONTINUE : 'continue' ;
IMPORT : 'import' ;
FROM : 'from' ;
AS : 'as' ;
AND : 'and' ;
OR : 'or' ;
NOT : 'not' ;
TRUE : 'true' ;
FALSE : 'false' ;
NIL : 'nil' ;
TRY : 'try' ;
CATCH : 'catch' ;
FINALLY : 'finally' ;

PLUS : '+' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
FLOOR : '//' ;
PERCENT : '%' ;
POWER : '**' ;
AT : '@' ;
ASSIGN : '=' ;
PLUS_ASSIGN : '+=' ;
MINUS_ASSIGN : '-=' ;
STAR_ASSIGN : '*=' ;
SLASH_ASSIGN : '/=' ;
FLOOR_ASSIGN : '//=' ;
PERCENT_ASSIGN : '%=' ;
POWER_ASSIGN : '**=' ;
AT_ASSIGN : '@=' ;

/// Stands nowhere, so that a habit of other languages is no sum of a sign.
INCREMENT : '++' ;

EQUAL : '==' ;
NOT_EQUAL : '!=' ;
LESS : '<' ;
LESS_EQUAL : '<=' ;
GREATER : '>' ;
GREATER_EQUAL : '>=' ;
SHIFT_LEFT : '<<' ;
SHIFT_RIGHT : '>>' ;
AMPERSAND : '&' ;
CARET : '^' ;
TILDE : '~' ;
BAR : '|' ;
PIPE : '|>' ;
ARROW : '->' ;
RANGE : '..' ;
CLOSED_RANGE : '..=' ;

/// Of limits alone: without their beginning.
OPEN_RANGE : '<..' ;
LEFT_OPEN_RANGE : '<..=' ;

ELLIPSIS : '...' ;
DOT : '.' ;
COMMA : ',' ;
COLON : ':' ;
SEMICOLON : ';' ;
PAREN_OPEN : '(' ;
PAREN_CLOSE : ')' ;
BRACKET_OPEN : '[' ;
BRACKET_CLOSE : ']' ;
BRACE_OPEN : '{' ;
BRACE_CLOSE : '}' ;

/// Any run that starts like a number is one, so that a malformed number is reported as a whole. Values and
/// suffixes (0.1bf16, 2i32) are read by src/syntax/literals.cpp.
NUMBER
  : '0' [xXbBoO] [0-9a-zA-Z_]*
  | ([0-9] [0-9_]* ('.' [0-9] [0-9_]*)? | '.' [0-9] [0-9_]*) ([eE] [+\-]? [0-9] [0-9_]*)? ([a-zA-Z_] [0-9a-zA-Z_]*)?
  ;

NAME : [a-zA-Z_\u0080-\u00FF] [0-9a-zA-Z_\u0080-\u00FF]* ;

/// "text"     r"raw, without escapes"     """of several lines"""
STRING
  : 'r'? '"""' ('\\' . | ~[\\])*? '"""'
  | 'r'? '"' ('\\' ~[\r\n] | ~["\\\r\n])* '"'
  ;
UNTERMINATED_STRING
  : 'r'? '"""' ('\\' . | '"' '"'? ('\\' . | ~["\\]) | ~["\\])* '"'? '"'? '\\'?
  | 'r'? '"' ('\\' ~[\r\n] | ~["\\\r\n])* '\\'?
  ;
FSTRING_OPEN : 'f"' | 'f"""' ;

NEWLINE : '\r'? '\n' ;
DOC_COMMENT : '##' (~[#\r\n] ~[\r\n]*)? ;
COMMENT : '#' ~[\r\n]* ;
SPACE : [ \t\r\u000C]+ -> skip ;

/// Whatever starts no token.
UNEXPECTED : . ;
