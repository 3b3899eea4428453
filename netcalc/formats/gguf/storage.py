"""The types in which a file stores the parameters of its model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netcalc.formats.stored_types import assignments_of_paths
from netcalc.schemes.scheme import PLAIN, is_scheme

#: Schemes of types of elements that have other names in files.
_TYPES = {"F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16"}


def stored_types(checkpoint: Mapping[str, Any], types: Mapping[str, str], dtype: str) -> tuple[str, ...]:
    """Return ``PATTERN=SCHEME`` for parameters by their paths, of which the first that matches counts.

    There are none if all have the element type of the program.

    Args:
        checkpoint: the names of tensors by the paths of parameters, as in a spec.
        types: the type of each tensor in the file.
        dtype: the element type of the program.

    Raises:
        ValueError: a type has no scheme.
    """
    schemes = {name: _TYPES.get(kind, kind.lower()) for name, kind in types.items()}
    if set(schemes.values()) == {dtype}:
        return ()
    if unknown := sorted({kind for name, kind in types.items() if not is_scheme(schemes[name])}):
        raise ValueError(f"bytes of parameters of type {' and '.join(unknown)} are not known")
    stored: dict[str, str] = {}
    for path, places in checkpoint.items():
        if path in ("prefix", "ignore", "reference", "dtype", "packed"):
            continue
        for name, scheme in _paths(path, list(_names(places)), schemes):
            stored.setdefault(name, scheme)
    return assignments_of_paths(stored)


def _names(places: Any) -> Iterator[str]:
    """Yield all names of tensors in the place of a parameter."""
    if isinstance(places, str):
        yield places
    elif isinstance(places, list):
        for place in places:
            yield from _names(place)
    elif isinstance(places, dict):
        for key in ("from", "name", "any"):
            yield from _names(places.get(key))


def _paths(path: str, names: Iterable[str], schemes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the paths of a pattern with the scheme of their tensors; joined ones of several schemes have none."""
    paths: dict[str, set[str]] = defaultdict(set)
    for pattern in names:
        form = re.compile(re.escape(pattern).replace(r"\*", r"([\w.-]*?)"))
        for name, scheme in schemes.items():
            match = form.fullmatch(name)
            if match is not None:
                paths[_filled_pattern(path, match.groups())].add(scheme)
    yield from ((name, min(kinds) if len(kinds) == 1 else PLAIN) for name, kinds in paths.items())


def _filled_pattern(path: str, texts: Iterable[str]) -> str:
    """Return a pattern with texts in place of its first ``*``."""
    for text in texts:
        path = path.replace("*", text, 1)
    return path
