"""Bodies of blocks that are kept from one elaboration to the next.

What a block becomes follows from its declaration, its arguments, the types of its inputs and the mode.  If a spec has
or imports blocks of its own, a name may stand for one of them also in a shipped block, and they see the dims and vars
of the spec: its bodies are kept beside it, by the values of these names too.  The bodies of all other specs are kept
together.  Symbolic sizes leave assumptions behind, and patches and errors belong to their spec: bodies with any of
these are not kept.  The bodies of a spec that is being edited are kept from one text to the next.  The blocks that the
names in a body stand for are noted with it, since a later text may have others.

Limits and warnings come out as if the body had been elaborated: with a body is kept what its elaboration counted and
called, and the bodies inside it, which are the only ones of their structure also in the next elaboration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from netcalc.bounded_cache import BoundedCache
from netcalc.dims import Claims, Poly
from netcalc.ir import Body
from netcalc.spec.cursor import Cursor
from netcalc.spec.patches import Pending
from netcalc.spec.same_body import Structure
from netcalc.tensor_type import TensorType

#: Nodes of the bodies that are kept.
MOST_NODES = 16_000
#: Texts after which a body is dropped that none of them used.
_MOST_TURNS = 20
#: Nodes that a body counts for whose rows are computed from a sketch.
SKETCHED = 8

#: Types of values that are keys as they are.
_PLAIN = frozenset({int, bool, type(None)})

#: The bodies of blocks of specs without blocks of their own.
BODIES: BoundedCache[CachedBody] = BoundedCache(MOST_NODES)


class BodyKey(NamedTuple):
    """Origin of the body of a block, in a mode; ``arguments`` are hashable (see :func:`hashable`)."""

    declaration: Cursor  # of the block
    arguments: Any
    types: tuple[TensorType | None, ...]  # of the inputs
    frozen: bool
    patches: tuple[Pending, ...]
    defaults: frozenset[str]  # inputs that are not given and have defaults


class CachedBody(NamedTuple):
    """An elaborated body, stored for reuse, with the numbers that its elaboration counted.

    ``lines`` and ``tensors`` are the numbers of its own; ``inner`` are the bodies of the blocks that its lines call,
    ``anonymous`` the bodies of repeats and computed buffers, ``called`` the blocks that they name, and
    ``depth`` is the number of calls and iterations nested in it, and ``claims`` are what it relies on where sizes are
    symbolic.  ``found`` are the blocks that their names stand for,
    by name and file, None for the spec's own.  ``notes`` are those of a witness on their lines, and the bodies of
    blocks among them, in order; None if there was no witness.
    """

    key: BodyKey
    body: Body
    structure: Structure
    lines: int
    tensors: int
    inner: tuple[CachedBody, ...]
    anonymous: tuple[tuple[Structure, Body], ...]
    called: frozenset[tuple[str, str]]
    depth: int
    found: Mapping[tuple[str, Any], Cursor | None]
    notes: tuple[Any, ...] | None
    claims: Claims = Claims()


class RecentBodies(BoundedCache[CachedBody]):
    """The bodies of blocks of a spec that is being edited, of which those not used for some time are dropped."""

    __slots__ = ("_turn", "_used")

    def __init__(self) -> None:
        super().__init__(MOST_NODES)
        self._turn = 0
        self._used: dict[Any, int] = {}
        self.get = self._get

    def begin(self) -> None:
        """Begin with another text."""
        self._turn += 1
        for key in [key for key, turn in self._used.items() if turn < self._turn - _MOST_TURNS]:
            self.remove(key)
            del self._used[key]

    def _get(self, key: Any, default: Any = None) -> Any:
        if key in self._used:
            self._used[key] = self._turn
        return self._values.get(key, default)

    def put(self, key: Any, value: CachedBody, weight: int = 1) -> CachedBody:
        """Keep a body in place of an earlier one, whose names stood for other blocks, and return it."""
        self.remove(key)
        self._used[key] = self._turn
        return super().put(key, value, weight)


class Record:
    """Numbers and bodies noted while a body is elaborated; ``lasting`` is False if the body cannot be stored.

    ``lines`` and ``tensors`` are the numbers counted before it and in the bodies inside, which are not its own.
    """

    __slots__ = ("anonymous", "called", "errors", "found", "inner", "lasting", "lines", "notes", "tensors")

    def __init__(self, lines: int, tensors: int, errors: int) -> None:
        self.lines, self.tensors, self.errors = lines, tensors, errors
        self.inner: dict[int, CachedBody] = {}
        self.anonymous: list[tuple[Structure, Body]] = []
        self.called: set[tuple[str, str]] = set()
        self.found: dict[tuple[str, Any], Cursor | None] = {}
        self.notes: list[Any] = []
        self.lasting = True

    def note(self, body: CachedBody | None, lines: int = 0, tensors: int = 0) -> None:
        """Add the body of a block that is called, None for one that is not kept, and the numbers that it counted."""
        self.lines += lines
        self.tensors += tensors
        if body is None:
            self.lasting = False
        else:
            if id(body) not in self.inner:
                self.notes.append(body)
            self.inner[id(body)] = body


def hashable(value: Any) -> Any:
    """Return the value as a hashable key in which 1, 1.0 and true differ, and 0.0 and -0.0."""
    if type(value) in _PLAIN:
        return type(value).__name__, value
    if isinstance(value, str):
        return "str", str(value)
    if isinstance(value, float):
        return "float", repr(value)
    if isinstance(value, (list, tuple)):
        return tuple([hashable(item) for item in value])
    if isinstance(value, Mapping):  # behind what is more usual, since this takes longer to see
        return tuple([(key, hashable(item)) for key, item in value.items()])
    return type(value).__name__, value


def has_symbols(value: Any) -> bool:
    """Return True if a value of an argument, or the type of an input, holds a symbolic size."""
    if type(value) in _PLAIN or isinstance(value, (str, float)):
        return False
    if isinstance(value, TensorType):
        return any(isinstance(size, Poly) for size in value.shape)
    if isinstance(value, (list, tuple)):
        return any(map(has_symbols, value))
    if isinstance(value, Mapping):
        return any(map(has_symbols, value.values()))
    return isinstance(value, Poly)
