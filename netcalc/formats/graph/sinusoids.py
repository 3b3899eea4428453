"""Tables of sines and cosines of positions, as lines that compute them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

#: Rounding of an angle in float32, relative to the position.
_ROUNDING = 5e-7


def sinusoid_lines(array: Any, dtype: str) -> list[dict[str, Any]] | None:
    """Return the lines of a table with a row for each position; None if it is none, but for rounding of the angles.

    Its angles are p/base^(i/n) for position p and i from 0 to n, or to n − 1.  The sines stand before the cosines, or
    they alternate.  A row among the first may be zeros, for padding.
    """
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 4 or array.shape[1] % 2 or dtype != "float32":
        return None
    half = array.shape[1] // 2
    for alternate in (False, True):
        sines, cosines = (array[:, ::2], array[:, 1::2]) if alternate else (array[:, :half], array[:, half:])
        padding = next((row for row in (0, 1, 2) if row < len(array) - 1 and not array[row].any()), None)
        row = 2 if padding == 1 else 1
        second = math.atan2(sines[row, 1], cosines[row, 1]) / row
        if not 0 < second < 1:
            continue
        for divisor in (half, half - 1):
            step = -math.log(max(round(second**-divisor), 1)) / divisor
            if _same_waves(sines, cosines, [math.exp(step * index) for index in range(half)], padding):
                rows = [] if padding is None else _without_padding(len(array), padding)
                return [*_table_lines(tuple(array.shape), step, alternate=alternate), *rows]
    return None


def _without_padding(rows: int, padding: int) -> list[dict[str, Any]]:
    """Return the lines that put zeros in the row of the padding."""
    lines: list[dict[str, Any]] = [{"arange": rows}, {"not_equal": padding}, {"cast": "float32"}]
    return [*lines, {"name": "kept", "unsqueeze": -1}, {"mul": None, "from": ["table", "kept"]}]


def _same_waves(sines: Any, cosines: Any, frequencies: list[float], padding: int | None) -> bool:
    """Return True if these are the sines and cosines of the multiples of the frequencies."""
    for position, (sine, cosine) in enumerate(zip(sines.tolist(), cosines.tolist(), strict=True)):
        if position == padding:
            continue
        near = _ROUNDING * (position + 1)
        for frequency, first, other in zip(frequencies, sine, cosine, strict=True):
            angle = position * frequency
            if abs(math.sin(angle) - first) > near or abs(math.cos(angle) - other) > near:
                return False
    return True


def _table_lines(shape: tuple[int, int], step: float, *, alternate: bool) -> Iterator[dict[str, Any]]:
    yield {"arange": {"stop": shape[0], "dtype": "float32"}}
    yield {"name": "positions", "unsqueeze": -1}
    yield {"arange": {"stop": shape[1] // 2, "dtype": "float32"}}
    yield {"mul": step}
    yield {"name": "frequencies", "exp": None}
    yield {"name": "angles", "mul": None, "from": ["positions", "frequencies"]}
    yield {"name": "sines", "sin": None}
    yield {"name": "cosines", "cos": None, "from": ["angles"]}
    if alternate:
        yield {"stack": {"axis": -1}, "from": ["sines", "cosines"]}
        yield {"name": "table", "flatten": 1}
    else:
        yield {"name": "table", "concat": {"axis": -1}, "from": ["sines", "cosines"]}
