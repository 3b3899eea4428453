"""Assignments of schemes to parameters, as few as tell those of all paths."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

_NUMBER = re.compile(r"(?<=\.)[0-9]+(?=\.)")


def assignments_of_paths(schemes: Mapping[str, str]) -> tuple[str, ...]:
    """Return ``PATTERN=SCHEME`` for parameters by their paths, of which the first that matches counts."""
    stored: dict[str, dict[str, str]] = defaultdict(dict)  # by path with * for numbers
    for path, scheme in schemes.items():
        stored[_NUMBER.sub("*", path)][path] = scheme
    # a longer pattern is the more special one
    return tuple(rule for form in sorted(stored, key=len, reverse=True) for rule in _rules(form, stored[form]))


def _rules(form: str, schemes: Mapping[str, str]) -> Iterator[str]:
    """Yield the assignments of alike paths: those that differ from most, and the form of all."""
    ((most, _),) = Counter(schemes.values()).most_common(1)
    yield from (f"{path}={scheme}" for path, scheme in schemes.items() if scheme != most)
    yield f"{form}={most}"
