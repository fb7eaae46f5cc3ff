"""The colours of TSL in pages that nbconvert and other users of Pygments make."""
from pygments.lexer import RegexLexer, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

# tests/editors/words.py keeps them those of the grammar and of the program.
KEYWORDS = (
    "and", "as", "break", "catch", "continue", "else", "finally", "fn", "for", "from", "if", "import", "in", "let",
    "not", "or", "return", "try", "var", "while",
)
CONSTANTS = (
    "false", "nil", "true",
)
TYPES = (
    "bf16", "bool", "f16", "f32", "f64", "i16", "i32", "i64", "i8", "u16", "u32", "u64", "u8",
)


_TEXT = [(r"\\.|\{\{|\}\}", String.Escape), (r"\{", String.Interpol, "hole")]


class TslLexer(RegexLexer):
    name, aliases, filenames = "TSL", ["tsl"], ["*.tsl"]
    tokens = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"#.*$", Comment.Single),
            (r'f"""', String, "text"),
            (r'f"', String, "line"),
            (r'r?"""(?:\\.|[^\\])*?"""', String),
            (r'r?"(?:\\.|[^"\\\n])*"', String),
            (r"@\w+", Name.Decorator),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (words(CONSTANTS, prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(TYPES, prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (r"0[xob][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?i?", Number),
            (r"[^\W\d]\w*(?=\s*\()", Name.Function),
            (r"[^\W\d]\w*", Name),
            (r"[-+*/%@&|^~<>=!.]+", Operator),
            (r"\{", Punctuation, "block"),
            (r"[][()},:;?]", Punctuation),
        ],
        "block": [(r"\}", Punctuation, "#pop"), include("root")],
        "line": [*_TEXT, (r'[^"\\{}]+|\}', String), (r'"', String, "#pop")],
        "text": [*_TEXT, (r'"""', String, "#pop"), (r'[^"\\{}]+|["}]', String)],
        "hole": [(r"\}", String.Interpol, "#pop"), (r":[^}\"]*(?=\})", String.Interpol), include("root")],
    }
