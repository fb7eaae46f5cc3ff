"""What Python's operators, indices, loops and formats do with a tensor. Each is a function of TSL, which an engine makes when it is
first needed."""
import operator

from . import _library as lib

_BINARY = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
           "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# Those with names of functions, which an engine makes before scripts can declare others of these names.
NAMED = ("fn(a) = abs(a)", "fn(a, b) = any(a == b)", "fn(a) = tensor(a)")
_ABS, _CONTAINS, _TENSOR = NAMED
_UNARY = {"neg": "-a", "pos": "+a", "invert": "~a"}


def _is_operand(value):
    """Whether a value is a number or an array; of others, Python asks the other side, or refuses them."""
    return isinstance(value, (bool, int, float, complex, Operators)) or hasattr(value, "__dlpack__") or hasattr(value, "__array__")


def _index_text(index, as_tensor):
    """Returns an index as TSL writes it, with a name for each value in it, and these values."""
    values = []

    def name(value):
        values.append(value)
        return f"v{len(values) - 1}"

    def text(item):
        if item is None or item is Ellipsis:
            return "nil" if item is None else "..."
        if isinstance(item, slice):
            parts = [None if part is None else name(operator.index(part)) for part in (item.start, item.stop, item.step)]
            return ":".join(part or "" for part in (parts if parts[2] else parts[:2]))
        if isinstance(item, (list, range)):
            return name(as_tensor(list(item)))
        if isinstance(item, bool):
            raise TypeError("a bool is no index: True and False select nothing, and a mask is a tensor or an array of bools")
        if isinstance(item, Operators) or hasattr(item, "__array__") and getattr(item, "shape", ()) != ():
            return name(item)
        try:
            return name(operator.index(item))
        except TypeError:
            raise TypeError(f"an index is an int, a slice, None, ..., a list, a tensor or an array, not {type(item).__name__}") from None

    items = index if isinstance(index, tuple) else (index,)
    return ", ".join(map(text, items)), values


class Operators:
    """The operators of a tensor, which compute as those of TSL do."""

    __array_priority__ = 1000  # so that array + tensor is a tensor, too
    __hash__ = object.__hash__  # by identity, as in PyTorch: == gives a tensor of bools

    def _computed(self, expression, names, values):
        return self._engine._evaluated(f"fn({names}) = {expression}", values)

    def __getitem__(self, index):
        text, values = _index_text(index, lambda items: self._engine._evaluated(_TENSOR, [items]))
        if text == "":
            return self
        names = ", ".join(["x", *(f"v{i}" for i in range(len(values)))])
        try:
            return self._computed(f"x[{text}]", names, [self, *values])
        except lib.Error as error:
            if error.kind != "index":
                raise
            raise IndexError(error.message) from None

    def __setitem__(self, index, value):
        raise TypeError("a tensor never changes: in TSL, `x[i] = v` changes the variable x")

    def __iter__(self):
        if not self.shape:
            raise TypeError("a tensor of rank 0 has no items")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value):
        return bool(self._engine._evaluated(_CONTAINS, [self, value]))

    def __abs__(self):
        return self._engine._evaluated(_ABS, [self])

    def __format__(self, spec):
        if not spec:
            return str(self)
        if len(self.tobytes()) != lib.ITEM_SIZES[self._type.dtype]:
            raise TypeError(f"{spec!r} formats a number, and this tensor has several: format its items, or f\"{{t.tolist()}}\"")
        return format(self.item(), spec)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def T(self):
        """The tensor with its axes in reverse order."""
        return self._computed("a.T", "a", [self])


def _binary(text, is_reversed=False):
    expression = f"b {text} a" if is_reversed else f"a {text} b"

    def compute(self, other):
        return self._computed(expression, "a, b", [self, other]) if _is_operand(other) else NotImplemented
    return compute


def _unary(expression):
    return lambda self: self._computed(expression, "a", [self])


for _name, _text in _BINARY.items():
    setattr(Operators, f"__{_name}__", _binary(_text))
    setattr(Operators, f"__r{_name}__", _binary(_text, is_reversed=True))
for _name, _text in _COMPARISONS.items():
    setattr(Operators, f"__{_name}__", _binary(_text))
for _name, _text in _UNARY.items():
    setattr(Operators, f"__{_name}__", _unary(_text))
