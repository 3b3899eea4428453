"""Assignments of schemes and sparsity to parameters, ``[PATTERN=]SCHEME`` and ``[PATTERN=]SHARE``.

The first assignment whose pattern matches the path of a parameter counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from fractions import Fraction
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.opdef import Sparsity

_SHARE = re.compile(r"(0?\.[0-9]{1,9}|0|1|1\.0{1,9})(?:-([a-z]+))?")
_PATTERN = re.compile(r"([1-9][0-9]?):([1-9][0-9]?)")
_INDICES = ("bitmap", "csr")


class Assignment(NamedTuple):
    """An assignment: the pattern that paths are matched with, None for all parameters, and what is assigned."""

    option: str
    pattern: str | None
    value: str
    matches: re.Pattern[str]

    @property
    def text(self) -> str:
        """The assignment as written."""
        return self.value if self.pattern is None else f"{self.pattern}={self.value}"


def assignments(option: str, texts: str | Iterable[str]) -> tuple[Assignment, ...]:
    """Return the assignments of an option, in order; NetcalcError (E502) for one without a pattern before ``=``."""
    assigned = []
    for text in (texts,) if isinstance(texts, str) else texts:
        pattern, equals, value = text.rpartition("=")
        path_pattern = pattern.strip() if equals else None
        if path_pattern == "" or not value.strip():
            message = f"{option} {text}: should be a value, or a pattern and a value: PATTERN=VALUE"
            raise NetcalcError(Diagnostic("E502", message))
        assigned.append(Assignment(option, path_pattern, value.strip(), re.compile(translate(path_pattern or "*"))))
    return tuple(assigned)


def first(rules: Sequence[Assignment], path: str) -> Assignment | None:
    """Return the assignment that counts for a path, or None if none matches."""
    return next((rule for rule in rules if rule.pattern is None or rule.matches.match(path)), None)


def parse_sparsity(text: str) -> Sparsity:
    """Return the sparsity that ``0.5``, ``0.5-csr`` or ``2:4`` stands for.

    A number is the share of elements that are removed, with a bitmap as the index unless another is named; n:m keeps n
    of m neighbours.

    Raises:
        NetcalcError: E502 if it is none of these.
    """
    match = _PATTERN.fullmatch(text)
    if match and int(match[1]) < int(match[2]):
        keep, of = int(match[1]), int(match[2])
        if (keep, of) == (2, 4):
            return Sparsity(Fraction(1, 2), "pairs", (2, 4))
        raise _error(f"the pattern {text} has no published layout of its indices", "2:4 is the one of cuSPARSELt")
    match = _SHARE.fullmatch(text)
    if match is None:
        raise _error(f"{text!r} should be the share of elements to remove, or 2:4", "for example 0.5 or 0.5-csr")
    index = match[2] or "bitmap"
    if index not in _INDICES:
        raise _error(f"there is no index {index!r}", did_you_mean(index, _INDICES))
    return Sparsity(Fraction(match[1]), index)


def _error(message: str, hint: str | None) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", f"--prune: {message}", hint=hint))
