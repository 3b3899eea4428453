"""Lists of modules in configurations, matched with the names of modules as the library of a method does it.

The rules of matching, by the names that ``data/schemes`` gives them:

- ``transformers``: ``should_convert_module`` of transformers 5.23.0.  An entry stands for a module and all within it,
  and for every module whose name ends with it; an entry with other characters than those of a name is a regular
  expression, which must match up to the end of a part of the name.
- ``compressed-tensors``: ``is_match`` of compressed-tensors 0.20.0.  The name of a module; after ``re:`` a regular
  expression that matches the beginning of one; or the class of modules, see ``data/schemes/kinds.yaml``.
- ``names``: the name of a module, or the last parts of one.
- ``exact``: the name of a module or of its weight.
- ``tag``: the name without ``model``, ``layers`` and numbers, as in hqq 0.2.8.
- ``search``: a regular expression that some part of a name matches.
- ``path``: the name of a module, or a regular expression that some part of a name matches, as in auto-round 0.9.
- ``fqn``: the name of a module or of its weight, or after ``re:`` a regular expression of all of it (torchao 0.18).
- ``parts``: a text that the name of a module has in it, as in AutoAWQ 0.2.9.
- ``globs``: patterns of ``fnmatch``, as in NVIDIA ModelOpt 0.47.0.
- ``regular``: regular expressions that match the beginning of a name, as in GPTQModel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from functools import cache
from typing import Any

from netcalc.diagnostics import clipped
from netcalc.schemes.files import entries

_NAME = re.compile(r"[\w.-]+")
_REGULAR = "re:"
#: Parts of the name of a module that HQQ leaves out of its tag.
_NOT_IN_TAGS = ("model", "layers")
#: The end of a part of a name, at which transformers lets a pattern end.
_BOUNDARY = r"(?:(?<=\.)|(?=\.|$))"
#: Characters of a pattern, and parts of one that repeat anything: more of them may take unbounded time.
_MOST_CHARACTERS, _MOST_REPEATS = 2_000, 4
#: Characters of a pattern that a message repeats.
_SHOWN = 80


class ModuleList:
    """A list of modules, matched by one of the rules.

    Attributes:
        entries: the entries as they are written.
        classes: the entries that are classes of modules, which match no name.
        used: the entries that some name matched.
    """

    def __init__(self, listed: Iterable[str], rule: str) -> None:
        """Read entries.

        Raises:
            ValueError: if a regular expression is damaged, or might take too long.
        """
        self.entries = tuple(dict.fromkeys(listed))
        self._rule = rule
        self.classes: set[str] = set()
        self.used: set[str] = set()
        self._names: set[str] = set()
        self._outer: set[str] = set()
        self._tails: set[str] = set()
        self._tags: set[str] = set()
        self._ends: dict[int, set[str]] = {}
        self._parts: list[str] = []
        self._patterns: list[tuple[str, re.Pattern[str]]] = []
        self._known: dict[tuple[str, ...], bool] = {}
        for entry in self.entries:
            _RULES[rule](self, entry)

    @property
    def tells_numbers_apart(self) -> bool:
        """True if an entry may match one of several numbered modules and not another."""
        return any(c.isdecimal() or c in "?[" for entry in self.entries for c in entry)

    @property
    def is_used_up(self) -> bool:
        """True if each entry has matched a name, or is a class."""
        return len(self.used) + len(self.classes) == len(self.entries)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The entries that are patterns."""
        return tuple(entry for entry, _ in self._patterns)

    @property
    def order(self) -> tuple[int, tuple[str, ...]]:
        """The order in which lists are tried: names, then patterns by their texts."""
        return (1 if self._patterns else 0), self.patterns

    def split(self) -> Iterator[ModuleList]:
        """Yield lists of the names and of each pattern, which have places of their own in the order."""
        rest = [entry for entry in self.entries if entry not in self.patterns]
        yield from (
            ModuleList(listed, self._rule) for listed in (rest, *([entry] for entry in self.patterns)) if listed
        )

    def matches(self, module: str) -> bool:
        """Return True if an entry matches the name of a module."""
        return self.matches_any((module,))

    def matches_any(self, modules: Iterable[str]) -> bool:
        """Return True if an entry matches one of the names of a module."""
        names = tuple(modules)
        if names not in self._known:
            found = {entry for module in names for entry in self._matching(module)}
            self.used |= found
            self._known[names] = bool(found)
        return self._known[names]

    def _matching(self, module: str) -> Iterator[str]:
        yield from (name for name in (module, f"{module}.weight") if name in self._names)
        if self._outer:
            yield from self._outer.intersection(_beginnings(module))
        if self._tails:
            yield from self._tails.intersection(_tails(module))
        if self._tags:
            yield from self._tags.intersection((_tag(module),))
        yield from (module[-size:] for size, ends in self._ends.items() if module[-size:] in ends)
        yield from (part for part in self._parts if part in module)
        yield from (entry for entry, pattern in self._patterns if pattern.match(module))

    def add_as_transformers(self, entry: str) -> None:
        """Add an entry of transformers."""
        if _NAME.fullmatch(entry) and not entry.endswith("."):
            self._outer.add(entry)
            self._ends.setdefault(len(entry), set()).add(entry)
        else:
            self._patterns.append((entry, regular(rf"(?:{entry}){_BOUNDARY}")))

    def add_as_compressed_tensors(self, entry: str) -> None:
        """Add an entry of compressed-tensors."""
        if entry.startswith(_REGULAR):
            self._patterns.append((entry, regular(entry.removeprefix(_REGULAR))))
        elif entry in entries("classes"):
            self.classes.add(entry)
        else:
            self._names.add(entry)

    def add_name(self, entry: str) -> None:
        """Add the name of a module, or its last parts."""
        self._tails.add(entry)

    def add_exact(self, entry: str) -> None:
        """Add the name of a module or of its weight."""
        self._names.add(entry)

    def add_tag(self, entry: str) -> None:
        """Add a name without numbers."""
        self._tags.add(entry)

    def add_search(self, entry: str) -> None:
        """Add a regular expression of a part of a name."""
        self._patterns.append((entry, regular(entry if entry.startswith(("^", ".*")) else f".*{entry}")))

    def add_path(self, entry: str) -> None:
        """Add the name of a module, or a regular expression of a part of one."""
        if _NAME.fullmatch(entry):
            self.add_exact(entry)
        else:
            self.add_search(entry)

    def add_fqn(self, entry: str) -> None:
        """Add an entry of torchao."""
        if entry.startswith(_REGULAR):
            self._patterns.append((entry, regular(f"(?:{entry.removeprefix(_REGULAR)})$")))
        else:
            self.add_exact(entry)

    def add_part(self, entry: str) -> None:
        """Add a text within names."""
        self._parts.append(entry)

    def add_glob(self, entry: str) -> None:
        """Add a pattern of fnmatch."""
        if any(c in "*?[" for c in entry):
            self._patterns.append((entry, re.compile(translate(entry))))
        else:
            self._names.add(entry)

    def add_regular(self, entry: str) -> None:
        """Add a regular expression."""
        self._patterns.append((entry, regular(entry)))


_RULES: dict[str, Callable[[ModuleList, str], None]] = {
    "transformers": ModuleList.add_as_transformers,
    "compressed-tensors": ModuleList.add_as_compressed_tensors,
    "names": ModuleList.add_name,
    "exact": ModuleList.add_exact,
    "tag": ModuleList.add_tag,
    "search": ModuleList.add_search,
    "path": ModuleList.add_path,
    "fqn": ModuleList.add_fqn,
    "parts": ModuleList.add_part,
    "globs": ModuleList.add_glob,
    "regular": ModuleList.add_regular,
}


def _tag(module: str) -> str:
    """Return a name without the parts that HQQ leaves out."""
    return ".".join(part for part in module.split(".") if not part.isdigit() and part not in _NOT_IN_TAGS)


def _beginnings(module: str) -> Iterator[str]:
    """Yield a name and those of the modules around it."""
    parts = module.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _tails(module: str) -> Iterator[str]:
    """Yield a name and its last parts."""
    parts = module.split(".")
    yield from (".".join(parts[start:]) for start in range(len(parts)))


@cache
def regular(text: str) -> re.Pattern[str]:
    """Return a regular expression of a configuration.

    Raises:
        ValueError: if it is damaged, or might take too long: if repeats are nested, or too many.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"the pattern {clipped(text, _SHOWN)!r} has more than {_MOST_CHARACTERS:,} characters")
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as why:
        raise ValueError(f"{clipped(text, _SHOWN)!r} is no regular expression: {why}") from None
    if _repeats(re._parser.parse(text), nested=False) > _MOST_REPEATS:  # type: ignore[attr-defined]
        raise ValueError(f"the pattern {clipped(text, _SHOWN)!r} repeats too much to be matched in bounded time")
    return pattern


def _repeats(tree: Any, *, nested: bool) -> int:
    """Return the number of repeats of any text in a parsed expression; nested ones are too many."""
    count = 0
    for operator, argument in tree:
        if str(operator) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, inner = argument
            if most <= 1:
                count += _repeats(inner, nested=nested)
                continue
            within = _repeats(inner, nested=True)
            if nested or within:
                return _MOST_REPEATS + 1
            count += 1
        elif str(operator) == "BRANCH":
            count += max(_repeats(branch, nested=nested) for branch in argument[1])
        elif str(operator) in ("SUBPATTERN", "ATOMIC_GROUP", "ASSERT", "ASSERT_NOT"):
            inner = argument[-1] if isinstance(argument, tuple) else argument
            count += _repeats(inner, nested=nested)
        elif str(operator) in ("GROUPREF", "GROUPREF_EXISTS"):
            return _MOST_REPEATS + 1
    return count
