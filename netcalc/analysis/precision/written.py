"""Assignments of ``--quantize`` for programs whose checkpoint says how parameters are stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from netcalc.analysis.walk import parameters
from netcalc.ir import Program
from netcalc.schemes.scheme import PLAIN

_NUMBER = re.compile(r"(?<=\.)[0-9]+(?=\.)")


def assignments_of(program: Program) -> tuple[str, ...]:
    """Return ``PATTERN=SCHEME`` for the parameters of a program, of which the first that matches counts.

    There are none if all have the element type of the program.  The settings of a scheme that its name does not have
    are left out.
    """
    schemes: dict[str, dict[str, str]] = {}  # by path, and before by path with * for numbers
    for parameter in parameters(program):
        storage = parameter.param.storage
        if not parameter.tied and storage is not None:
            scheme = PLAIN if storage.scheme == parameter.dtype else storage.scheme
            schemes.setdefault(_NUMBER.sub("*", parameter.path), {})[parameter.path] = scheme
    if all(scheme == PLAIN for alike in schemes.values() for scheme in alike.values()):
        return ()
    # a longer pattern is the more special one
    rules = [rule for form in sorted(schemes, key=len, reverse=True) for rule in _rules(form, schemes[form])]
    return tuple(
        f"{rule.pattern}={rule.scheme}" for place, rule in enumerate(rules) if _counts(rule, rules[place + 1 :])
    )


class _Rule(NamedTuple):
    """A pattern with a scheme, and a path that it is for."""

    pattern: str
    scheme: str
    path: str


def _rules(form: str, schemes: Mapping[str, str]) -> Iterator[_Rule]:
    """Yield the assignments of alike paths: those that differ from most, and the form of all."""
    ((most, _),) = Counter(schemes.values()).most_common(1)
    yield from (_Rule(path, scheme, path) for path, scheme in schemes.items() if scheme != most)
    yield _Rule(form, most, next(path for path, scheme in schemes.items() if scheme == most))


def _counts(rule: _Rule, later: Sequence[_Rule]) -> bool:
    """Return False if a parameter would have the scheme without the rule."""
    return rule.scheme != PLAIN or any(
        other.scheme != PLAIN and fnmatchcase(rule.path, other.pattern) for other in later
    )
