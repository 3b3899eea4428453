"""Tables of indices for biases of attention, as lines that compute them: distances in an image, and borders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Border(NamedTuple):
    """The numbers of a first row and column, each all equal, and of the corner between them."""

    row: int
    column: int
    corner: int

    def lines(self, inner: list[dict[str, Any]], shape: tuple[int, int]) -> Iterator[dict[str, Any]]:
        """Yield the lines of a table that ``inner`` computes without its border."""
        yield from inner
        yield {"name": "rows", "pad": {"padding": [[1, 0]], "value": self.column}}
        yield {"constant": {"value": self.row, "shape": [1, shape[1] - 1], "dtype": "int64"}}
        yield {"name": "border", "pad": {"padding": [[1, 0]], "value": self.corner}}
        yield {"concat": {"axis": 0}, "from": ["border", "rows"]}


def border_of(array: Any) -> Border | None:
    """Return the border of a table of numbers; None if it has none."""
    if array.ndim != 2 or min(array.shape) < 3:
        return None
    row, column = array[0, 1:], array[1:, 0]
    if (row != row[0]).any() or (column != column[0]).any():
        return None
    return Border(int(row[0]), int(column[0]), int(array[0, 0]))


def distance_lines(array: Any, dtype: str) -> list[dict[str, Any]] | None:
    """Return the lines of a table of weighted distances of the places of an image along its axes; None for others.

    The number for two places is a·|y1 − y2| + b·|x1 − x2|.
    """
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] < 2 or array[0, 0]:
        return None
    places, first = len(array), array[0]
    index = (array == array).cumsum(1)[0] - 1  # 0, 1, …
    for width in (width for width in range(2, places + 1) if places % width == 0):
        across = int(first[1])
        down = int(first[width]) if width < places else 0
        rows, columns = index // width, index % width
        far = down * abs(rows[:, None] - rows) + across * abs(columns[:, None] - columns)
        if (far == array).all():
            return list(_distances((places // width, width), (down, across), dtype))
    return None


def _distances(sizes: tuple[int, int], steps: tuple[int, int], dtype: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of distances along the axes, and of their sum."""
    counted = [axis for axis in (0, 1) if steps[axis]]
    for axis in counted:
        name = ("row", "column")[axis]
        yield {"arange": sizes[axis]} if dtype == "int64" else {"arange": {"stop": sizes[axis], "dtype": dtype}}
        yield {
            "name": f"{name}_1",
            "reshape": [size if other == axis else 1 for other, size in enumerate(sizes)] + [1, 1],
        }
        yield {"name": f"{name}_2", "permute": [2, 3, 0, 1]}
        yield {"sub": None, "from": [f"{name}_1", f"{name}_2"]}
        yield {"abs": None}
        yield {"name": f"{name}s", "mul": steps[axis]}
    if len(counted) == 2:
        yield {"add": None, "from": ["rows", "columns"]}
    yield {"expand": [*sizes, *sizes]}
    yield {"reshape": [sizes[0] * sizes[1]] * 2}
