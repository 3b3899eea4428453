"""Fixed attention patterns: the number of query–key pairs that they keep, in closed form for any lengths."""

import random
from typing import Annotated, Any, NamedTuple, Self

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, maximum, minimum
from netcalc.models import BeforeValidator, ConfigDict, Model, WithJsonSchema, model_validator
from netcalc.opdef import Size, Spatial, attr


class PairCounts(NamedTuple):
    """Number of pairs that a pattern keeps, and number of queries that keep at least one key."""

    pairs: Dim
    rows: Dim


def band(queries: Dim, keys: Dim, shift: Dim, left: Dim | None, right: Dim | None) -> PairCounts:
    """Count the pairs (i, j) in the band −left ≤ j − i − shift ≤ right; None is no bound."""
    upper = 2 * queries * keys if right is None else _twice_below(queries, keys, shift + right)
    lower = 0 if left is None else _twice_below(queries, keys, shift - left - 1)
    first = 0 if right is None else maximum(0, -shift - right)
    end = queries if left is None else minimum(queries, keys + left - shift)
    return PairCounts((upper - lower) // 2, maximum(end - first, 0))


def banded_with_globals(
    queries: Dim, keys: Dim, shift: Dim, window: tuple[Any, Any], tokens: Dim, *, causal: bool
) -> PairCounts:
    """Count the pairs of a window and of the first ``tokens`` positions, without future keys if ``causal``."""
    left, right = window
    everything = band(queries, keys, shift, None, 0 if causal else None)
    rows, columns = minimum(queries, maximum(queries + shift - tokens, 0)), keys - minimum(tokens, keys)
    inner = shift + columns - keys + queries - rows
    ordinary = band(rows, columns, inner, None, 0 if causal else None)
    local = band(rows, columns, inner, left, 0 if causal else right)
    return PairCounts(everything.pairs - ordinary.pairs + local.pairs, everything.rows)


def tiled_band(queries: Dim, keys: Dim, shift: Dim, left: Dim | None, right: Dim | None, size: int) -> Dim:
    """Count the pairs in tiles of ``size`` queries and keys that have a pair of the band; tiles end at the edges."""
    lowest = shift - (queries + keys + shift if left is None else left)
    highest = shift + (queries + keys - shift if right is None else right)
    rows, columns = queries // size, keys // size
    last_row, last_column = queries - rows * size, keys - columns * size
    # a tile has all differences j − i from its lower left corner to its upper right one
    whole = band(rows, columns, 0, (size - 1 - lowest) // size, (highest + size - 1) // size).pairs
    first, last = -((size - 1 - lowest - rows * size) // size), (highest + queries - 1) // size
    below = _common(first, last, columns)
    first, last = -((highest - (columns - 1) * size - 1) // size), (keys - 1 - lowest) // size
    beside = _common(first, last, rows)
    corner = _common(lowest - keys + 1 + rows * size, 0, 1) * _common(columns * size - queries + 1 - highest, 0, 1)
    return whole * size * size + below * size * last_row + beside * size * last_column + corner * last_row * last_column


def tiled_with_globals(
    queries: Dim, keys: Dim, shift: Dim, window: tuple[Any, Any], tokens: Dim, *, causal: bool, size: int
) -> Dim:
    """Count the pairs in tiles that have a pair of a window or of the first ``tokens`` positions."""
    left, right = window
    columns = minimum(keys, -(-tokens // size) * size)
    if causal:  # a global query sees global keys only
        rows: Dim = 0
        everywhere = tiled_band(queries, columns, shift, None, 0, size)
    else:
        rows = minimum(queries, -(-maximum(tokens - shift, 0) // size) * size)
        everywhere = rows * keys + (queries - rows) * columns
    inner = shift + rows - columns
    return everywhere + tiled_band(queries - rows, keys - columns, inner, left, 0 if causal else right, size)


def _common(first: Dim, last: Dim, count: Dim) -> Dim:
    """Return how many of 0 … count − 1 are from ``first`` to ``last``."""
    return maximum(minimum(last, count - 1) - maximum(first, 0) + 1, 0)


def _twice_below(queries: Dim, keys: Dim, diagonal: Dim) -> Dim:
    """Twice the number of pairs with j − i ≤ diagonal: row i has i + diagonal + 1 of them, limited to 0 … keys."""

    def twice(n: Dim) -> Dim:  # twice the n-th triangular number
        size = maximum(n, 0)
        return size * (size + 1)

    return twice(queries + diagonal) - twice(diagonal) - twice(queries + diagonal - keys) + twice(diagonal - keys)


def _read_pairs(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError("should be a list of [query block, key block]")
    for pair in value:
        is_pair = isinstance(pair, (list, tuple)) and all(type(n) is int and n >= 0 for n in pair)
        if not is_pair or len(pair) != 2:
            raise ValueError("should be a list of [query block, key block]")
    return tuple(sorted({tuple(pair) for pair in value}))


_PAIR = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
_Pairs = Annotated[
    tuple[tuple[int, int], ...],
    BeforeValidator(_read_pairs),
    WithJsonSchema({"type": "array", "items": _PAIR, "minItems": 1}),
]


class Blocks(Model):
    """Block-sparse pattern: pairs of blocks of ``size`` queries and ``size`` keys, listed or described."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True)

    size: Size = attr("positions per block")
    pairs: _Pairs | None = attr("the [query block, key block] pairs that are kept", default=None)
    band: Spatial(2, least=0) | None = attr(  # type: ignore[valid-type]
        "visible blocks to the left and to the right of the query block", default=None
    )
    global_blocks: Spatial(2, least=0) = attr(  # type: ignore[valid-type]
        "number of blocks at the start and at the end that are always visible and see all blocks", default=0
    )
    random: int = attr("additional visible blocks per query block, drawn at random", default=0, ge=0)
    seed: int = attr("seed of the random blocks", default=0)

    @model_validator(mode="after")
    def _one_description(self) -> Self:
        described = self.band is not None or any(self.global_blocks) or self.random > 0
        if described == (self.pairs is not None):
            raise ValueError("takes either pairs, or some of band, global_blocks and random")
        return self

    def kept(self, queries: Dim, keys: Dim, *, lower_right: bool) -> PairCounts:
        """Count the pairs and queries in kept blocks; RuleError if the blocks do not fit the lengths."""
        for length, what in ((queries, "queries"), (keys, "keys")):
            if length % self.size > 0:
                raise RuleError(
                    f"blocks of {self.size} do not divide {length} {what}",
                    hint=f"pad the length to a multiple of {self.size}",
                )
        rows, columns = queries // self.size, keys // self.size
        blocks = self._count_listed(rows, columns) if self.pairs else self._count_described(rows, columns, lower_right)
        return PairCounts(blocks.pairs * self.size * self.size, blocks.rows * self.size)

    def chosen(self, rows: int, columns: int, *, lower_right: bool) -> list[tuple[int, int]]:
        """Return the kept pairs of blocks."""
        if self.pairs:
            return list(self.pairs)
        draw = random.Random(self.seed)
        shift = columns - rows if lower_right else 0
        first, last = self.global_blocks
        inner = range(first, columns - last)
        pairs: list[tuple[int, int]] = []
        for row in range(rows):
            if not first <= row < rows - last:
                pairs += [(row, column) for column in range(columns)]
                continue
            near = {c for c in inner if self.band and -self.band[0] <= c - row - shift <= self.band[1]}
            near |= set(draw.sample([c for c in inner if c not in near], self.random))
            pairs += [(row, column) for column in range(columns) if column in near or column not in inner]
        return pairs

    def _count_listed(self, rows: Dim, columns: Dim) -> PairCounts:
        assert self.pairs
        last_row, last_column = (max(places) for places in zip(*self.pairs, strict=True))
        if last_row >= rows or last_column >= columns:
            raise RuleError(f"pairs go up to block ({last_row}, {last_column}), and there are {rows}×{columns} blocks")
        return PairCounts(len(self.pairs), len({row for row, _ in self.pairs}))

    def _count_described(self, rows: Dim, columns: Dim, lower_right: bool) -> PairCounts:
        everywhere = sum(self.global_blocks)
        inner_rows, inner_columns = rows - everywhere, columns - everywhere
        near = 0 if self.band is None else sum(self.band) + 1
        if inner_rows < 0 or inner_columns < 0 or self.random > maximum(inner_columns - near, 0):
            needed = f"{everywhere} global blocks" + (f" and {self.random} random ones" if self.random else "")
            raise RuleError(f"{needed} do not fit into {rows}×{columns} blocks of {self.size}")
        shift = columns - rows if lower_right else 0
        local = PairCounts(0, 0) if self.band is None else band(inner_rows, inner_columns, shift, *self.band)
        blocks = rows * columns - inner_rows * inner_columns + local.pairs + inner_rows * self.random
        return PairCounts(blocks, rows if everywhere or self.random else local.rows)
