"""Places of parameters in the checkpoint of a reference implementation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from netcalc.characters import NAME
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.expressions import ExpressionError, parse
from netcalc.limits import MAX_PATTERN_WORK

#: A captured number in a pattern of parameter paths, and any text.
_CAPTURE = re.compile(rf"\{{({NAME})\}}|\*")
#: An expression in a name of a checkpoint, and the text that the pattern's ``*`` matched.
_INSERTED = re.compile(r"\$\{([^}]*)\}|\*")
#: Characters by whose comparison the fixed cost of looking at a path or a pattern is counted.
_OVERHEAD = 20


class CheckpointLocation(NamedTuple):
    """Tensors of a checkpoint that make up a parameter.

    The ``sources``, names or locations themselves, are joined along ``axis``, or stacked along a new axis if
    ``stacked``. Then a ``chunk`` (its index and the number of chunks) or a ``slice`` (start and stop) along
    ``axis`` is taken.  Of each of so many equal parts along ``axis`` as ``interleaved`` says, the elements of even
    places are then put before the others; the last two axes are swapped if ``transpose``, and the axis ``flatten`` and
    the next one become one. With ``numbers`` all this is done for each of so many numbers from 0 in place of ``{}`` in
    the names, and the results are stacked along a new first axis.
    """

    sources: tuple[str | CheckpointLocation, ...]
    axis: int = 0
    stacked: bool = False
    chunk: tuple[int, int] | None = None
    slice: tuple[int, int] | None = None
    transpose: bool = False
    numbers: int | None = None
    flatten: int | None = None
    interleaved: int | None = None

    @classmethod
    def of(cls, name: str) -> CheckpointLocation:
        """Return the location of a parameter that is stored as it is."""
        return cls((name,))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tensors."""
        if self.numbers is None:
            return tuple(n for s in self.sources for n in ((s,) if isinstance(s, str) else s.names))
        if self.nested_numbers:
            return tuple(name for number in range(self.numbers) for name in self.numbered(number).names)
        stems = self._replace(numbers=None).names
        return tuple(stem.replace("{}", number) for number in map(str, range(self.numbers)) for stem in stems)

    @property
    def nested_numbers(self) -> bool:
        """True if a location within has numbers of its own."""
        inner = (source for source in self.sources if not isinstance(source, str))
        return any(source.numbers is not None or source.nested_numbers for source in inner)

    @property
    def name_count(self) -> int:
        """Number of all names, found without making them."""
        return (self.numbers or 1) * sum(1 if isinstance(s, str) else s.name_count for s in self.sources)

    def numbered(self, number: int) -> CheckpointLocation:
        """Return one of the ``numbers`` locations that are stacked."""
        return self._replace(numbers=None).renamed(lambda name: name.replace("{}", str(number)))

    def renamed(self, rename: Callable[[str], str]) -> CheckpointLocation:
        """Return the location with other names."""
        return self._replace(
            sources=tuple(rename(s) if isinstance(s, str) else s.renamed(rename) for s in self.sources)
        )


class CheckpointEntry(NamedTuple):
    """Places of the parameters whose path matches ``path``, in order of preference.

    In ``path`` ``*`` is any text, as short as possible, and ``{i}`` a number with all its digits.  In names ``*``
    stands for the text of the pattern's ``*``, and expressions may use the numbers and the names in ``scope``.  An
    ``optional`` parameter may be absent.  A name that starts with ``/`` is relative to the top of the spec, any other
    to the block.  ``reference`` is True if the reference implementation has the parameter at the first place.
    """

    path: str
    alternatives: tuple[CheckpointLocation, ...]
    optional: bool = False
    scope: Mapping[str, Any] = {}
    reference: bool = False

    def matches(self, path: str) -> bool:
        """Return True if the entry is for the parameter at ``path``."""
        return _pattern(self.path).fullmatch(path) is not None

    def at(self, path: str) -> CheckpointEntry | None:
        """Return the entry with the names for the parameter at ``path``; None if the pattern does not match."""
        match = _pattern(self.path).fullmatch(path)
        if match is None:
            return None
        numbers = {name: int(text) for name, text in match.groupdict().items()}
        named = set(match.re.groupindex.values())
        texts = [text for index, text in enumerate(match.groups(), 1) if index not in named]
        scope = {**self.scope, **numbers}
        alternatives = tuple(a.renamed(lambda name: self._name(name, texts, scope)) for a in self.alternatives)
        return CheckpointEntry(path, alternatives, self.optional, reference=self.reference)

    def _name(self, name: str, texts: list[str], scope: Mapping[str, Any]) -> str:
        remaining = iter(texts)

        def inserted(match: re.Match[str]) -> str:
            return next(remaining) if match[1] is None else str(parse(match[1]).evaluate(scope))

        try:
            return _INSERTED.sub(inserted, name)
        except ExpressionError as error:
            message = f"checkpoint: the name {name!r} of {self.path!r}: {error.message}"
            raise NetcalcError(Diagnostic(error.code, message)) from None


class CheckpointMap:
    """Entries of a spec or block.  An entry for a single parameter precedes patterns, which apply in order."""

    __slots__ = ("_exact", "_patterns", "entries", "size")

    def __init__(self, entries: tuple[CheckpointEntry, ...] = ()) -> None:
        self.entries = entries
        self._exact = {entry.path: entry for entry in entries if not _CAPTURE.search(entry.path)}
        self._patterns = [entry for entry in entries if entry.path not in self._exact]
        #: Size of the patterns, for :class:`PatternWork`.
        self.size = size_of(entry.path for entry in self._patterns)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckpointMap) and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def find(self, path: str) -> CheckpointEntry | None:
        """Return the entry of the parameter at ``path``, relative to the spec or block, or None."""
        if path in self._exact:
            return self._exact[path]
        return next((matched for entry in self._patterns if (matched := entry.at(path)) is not None), None)


def size_of(patterns: Iterable[str]) -> int:
    """Return the characters of patterns, and some for each."""
    return sum(len(pattern) + _OVERHEAD for pattern in patterns)


class PatternWork:
    """Bound on comparing names with patterns: the characters of both are multiplied.

    ``place`` locates the patterns in the spec, for the message.
    """

    __slots__ = ("_done", "_place")

    def __init__(self, place: str = "checkpoint") -> None:
        self._done = 0
        self._place = place

    def add(self, name: str, size: int) -> None:
        """Count the comparison of a name with patterns of a :attr:`~CheckpointMap.size`.

        Raises:
            NetcalcError: E603 if it is too much together.
        """
        self._done += (len(name) + _OVERHEAD) * size
        if self._done > MAX_PATTERN_WORK:
            message = f"{self._place}: too many patterns and names to compare"
            message += f" (at most {MAX_PATTERN_WORK:,} pairs of characters)"
            raise NetcalcError(Diagnostic(MAX_PATTERN_WORK.code, message))


def captures_of(path: str) -> tuple[frozenset[str], int]:
    """Return the names of the numbers in a pattern of paths, and how often it has ``*``.

    >>> captures_of("layer{i}.*.conv{k}.weight") == ({"i", "k"}, 1)
    True
    """
    captures = _CAPTURE.findall(path)
    return frozenset(filter(None, captures)), captures.count("")


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return a regular expression that never goes back to try another text for a ``*``, or fewer digits.

    The first place after a ``*`` where the following part fits leaves most of the path to the others.
    """
    texts, seen = [""], set[str]()  # of the parts between the `*`
    end = 0
    for match in _CAPTURE.finditer(path):
        texts[-1] += re.escape(path[end : match.start()])
        end, name = match.end(), match[1]
        if name is None:
            texts.append("")
        else:
            texts[-1] += f"(?P={name})" if name in seen else rf"(?P<{name}>\d++)"
            seen.add(name)
    texts[-1] += re.escape(path[end:])
    first, *others = texts
    last = [f"(.*?){others.pop()}"] if others else []
    return re.compile("".join([first, *(f"(?>(.*?){text})" for text in others), *last]))
