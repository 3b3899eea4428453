"""Pieces of tensors: how a value or a parameter is split over ranks, and which data ranks exchange."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal, NamedTuple, TypeAlias

from netcalc.ir import CallNode, OpNode, Program, Value
from netcalc.opdef import Operation

#: How a parameter is split, as specs say it under ``tensor_parallel``.
Kind: TypeAlias = Literal["columns", "rows", "heads", "experts", "vocabulary", "replicated"]
#: Exchange of data: the gradient of a copy is summed over ranks (``copy``), partial sums are added (``reduce``), pieces
#: become a whole tensor (``gather``), a rank takes its piece of one (``scatter``), partial sums become pieces of their
#: sum (``reduce_scatter``).
MoveKind: TypeAlias = Literal["copy", "reduce", "gather", "scatter", "reduce_scatter"]


class Piece(NamedTuple):
    """The piece of a value that a rank holds: along ``axis``, of each of the ``parts`` one of ``shards`` equal shares.

    ``parts`` are the sizes of the whole axis, of which several follow each other in a fused projection.  With fewer
    shards than ranks several ranks hold the same.  ``sources`` are the parameters that the split stems from.
    """

    axis: int
    parts: tuple[int, ...]
    shards: int
    sources: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """The size of the whole axis."""
        return sum(self.parts)

    def at(self, axis: int, *parts: int) -> Piece:
        """Return a piece of another value along an axis, of parts of these sizes."""
        return self._replace(axis=axis, parts=parts or self.parts)

    def same_as(self, other: Piece | None) -> bool:
        """Return True if ranks hold the same elements, wherever the split stems from."""
        return other is not None and self[:3] == other[:3]


class Cut(NamedTuple):
    """The piece of a parameter that a rank holds; ``experts`` is the axis of experts, if it has one.

    ``once`` is True for a bias behind a sum over ranks, which one rank adds, ``partial`` if a rank computes a part of
    the gradient only, so that ranks that hold the same sum theirs.
    """

    piece: Piece | None = None
    experts: int | None = None
    once: bool = False
    partial: bool = False


class Move(NamedTuple):
    """Exchange of data at a node that stands for it; ``partial`` if ranks compute a part of its gradient each.

    ``piece`` says how the value is split before or after it, ``sums`` the bytes that are summed where these are not the
    value itself: those of a loss of pieces of the vocabulary.
    """

    kind: MoveKind
    piece: Piece | None = None
    partial: bool = False
    sequence: bool = False
    sums: int = 0


@dataclass(frozen=True, slots=True)
class RankProgram:
    """The program of one rank; moves and cuts by the identity of operations, the latter by parameter too.

    ``inputs`` and ``outputs`` are the pieces of the program's inputs and outputs, None for a whole tensor.
    """

    program: Program
    ranks: int
    moves: dict[int, Move]
    cuts: dict[tuple[int, str], Cut]
    kept: tuple[Operation, ...]
    inputs: tuple[Piece | None, ...]
    outputs: tuple[Piece | None, ...]

    def move(self, node: OpNode) -> Move | None:
        """Return the exchange that a node stands for, None for an operation of the network."""
        return self.moves.get(id(node.op))

    def cut(self, node: OpNode, name: str) -> Cut:
        """Return how a parameter of an operation is split."""
        return self.cuts.get((id(node.op), name), Cut())


class RefusalError(Exception):
    """A split that is not possible: the reason, and the numbers of ranks that would be."""

    def __init__(self, reason: str, divisors: tuple[int, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.divisors = divisors


class RefinedError(Exception):
    """A parameter that has to be cut otherwise: in other parts, or in fewer shards than there are ranks."""

    def __init__(self, source: str, parts: tuple[int, ...] = (), shards: int = 0) -> None:
        super().__init__(source)
        self.source = source
        self.parts = parts
        self.shards = shards


def divisors(*sizes: int) -> tuple[int, ...]:
    """Return the numbers that divide all sizes, at most the 24 smallest and the largest.

    >>> divisors(12, 8)
    (1, 2, 4)
    """
    common = gcd(*sizes)
    small = [n for n in range(1, int(common**0.5) + 1) if common % n == 0]
    both = sorted({*small, *(common // n for n in small)})
    return tuple(both if len(both) <= 25 else [*both[:24], both[-1]])


#: A value of the rank's program, and its piece.
Held: TypeAlias = tuple[Value, Piece | None]
#: A node of a program.
AnyNode: TypeAlias = OpNode | CallNode
