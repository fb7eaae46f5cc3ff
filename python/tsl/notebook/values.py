"""How values look in a notebook: tensors as tables, those that hold pictures as pictures, plots as SVG, others as text."""
import html
import math
import os
import tempfile

import tsl

_EDGE = 5  # rows and columns that are shown at each end
_LARGEST_PICTURE = 4_000_000  # pixels
_LEAST_SIDE = 16  # of a tensor that is taken for a picture
_UNORDERED = ("bool", "c64", "c128")

# Functions of TSL without names, which the variables of cells do not change.
_PREVIEW = "fn(x, rows, columns) = map(fn(r) = map(fn(c) = x[r, c].item(), columns), rows)"
_RANGE = "fn(x) = [nanmin(x).item(), nanmax(x).item(), any(isnan(x)).item()]"
_PIXELS = "fn(x) = if x.dtype == u8 { x } else { u8(clamp(f32(x), 0.0, 1.0) * 255.0 + 0.5) }"
_MATRIX = "fn(x, rows, columns) = reshape(x, [-1, rows, columns])[0]"
_SAVE = "fn(path, x) = save(path, x)"
_IS_PLOT = 'fn(x) = type(x) == "record" and has(x, "drawing")'


class Viewer:
    def __init__(self, engine):
        self._preview, self._range, self._pixels = map(engine.run, (_PREVIEW, _RANGE, _PIXELS))
        self._matrix, self._save, self._is_plot = map(engine.run, (_MATRIX, _SAVE, _IS_PLOT))

    def data_of(self, value):
        """Returns the forms of a tsl.Value by media type; nothing for nil."""
        text = value.display()
        if text == "nil":
            return {}
        data = {"text/plain": text}
        if isinstance(value, tsl.Tensor):
            data.update(self._of_tensor(value))
        elif self._is_plot(value):
            data["image/svg+xml"] = self._saved(value, ".svg").decode()
        return data

    def _of_tensor(self, tensor):
        if not tensor.shape or 0 in tensor.shape:
            return {}
        least, most, has_nan = (None, None, False) if tensor.dtype in _UNORDERED else self._range(tensor)
        if not has_nan and _is_picture(tensor, least, most):
            return {"image/png": self._saved(self._pixels(tensor), ".png")}
        return {"text/html": self._table(tensor, least, most, has_nan)}

    def _table(self, tensor, least, most, has_nan):
        rows, columns = (1, *tensor.shape)[-2:]
        matrices = math.prod(tensor.shape[:-2])
        shown_rows, shown_columns = _ends(rows), _ends(columns)
        cells = iter(self._preview(self._matrix(tensor, rows, columns), _indices(shown_rows), _indices(shown_columns)))
        lines = [_line("th", "", ("…" if column is None else column for column in shown_columns))]
        for row in shown_rows:
            if row is None:
                lines.append(_line("td", "…", ["…"] * len(shown_columns)))
                continue
            values = map(_number, next(cells))
            lines.append(_line("td", row, ("…" if column is None else next(values) for column in shown_columns)))
        caption = f"{tensor.dtype}{list(tensor.shape)} on {tensor.device}"
        if least is not None:
            caption += f", {_number(least)} to {_number(most)}" + (" and nan" if has_nan else "")
        if matrices > 1:
            caption += f"; the first of {matrices} matrices"
        return f"<table>{''.join(lines)}</table><div>{html.escape(caption)}</div>"

    def _saved(self, value, ending):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a" + ending)
            self._save(path, value)
            with open(path, "rb") as file:
                return file.read()


def _is_picture(tensor, least, most):
    shape, is_bytes = tensor.shape, tensor.dtype == "u8"
    is_color = len(shape) == 3 and shape[2] in (1, 3, 4)
    if not is_color and not (is_bytes and len(shape) == 2):
        return False
    in_range = is_bytes or (tensor.dtype in ("f16", "bf16", "f32", "f64") and least >= 0 and most <= 1)
    return in_range and min(shape[:2]) >= _LEAST_SIDE and shape[0] * shape[1] <= _LARGEST_PICTURE


def _line(tag, head, texts):
    return f"<tr><th>{head}</th>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"


def _ends(extent):
    """Returns the indices that are shown, with None for those between."""
    if extent <= 2 * _EDGE + 1:
        return list(range(extent))
    return [*range(_EDGE), None, *range(extent - _EDGE, extent)]


def _indices(shown):
    return [index for index in shown if index is not None]


def _number(value):
    if isinstance(value, complex):
        return f"{value.real:.4g}{value.imag:+.4g}i"
    return f"{value:.4g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
