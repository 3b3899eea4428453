"""Counting conventions: the work that each tool or paper counts, and the number of FLOPs that it gives for this work.

One network has many published FLOP counts, because tools count different operations.  Each convention is a file of
``data/conventions``; the tests compare it with the tool.  Operations whose work a convention does not count are
reported by name.  A user's file has the same form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from netcalc.analysis.conventions.convention import ALL, Convention, Counted, Part
from netcalc.analysis.conventions.scope import Place
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean

__all__ = [
    "CONVENTIONS",
    "FIRST",
    "Convention",
    "Counted",
    "Part",
    "Place",
    "convention_named",
    "require_backward",
    "require_kernels",
]

_FOLDER = Path(__file__).parent.parent.parent / "data" / "conventions"
#: Conventions that lists begin with, which count any network.
FIRST = ("netcalc", "torch", "torchvision", "fvcore")
_SUFFIXES = (".yaml", ".yml")


class _Shipped(Mapping[str, Convention]):
    """The shipped conventions by name, each read when it is asked for."""

    def __getitem__(self, name: str) -> Convention:
        if name not in _names():
            raise KeyError(name)
        return _read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())

    def __contains__(self, name: object) -> bool:
        return name in _names()


#: Every shipped convention by name.
CONVENTIONS: Mapping[str, Convention] = _Shipped()


@cache
def _names() -> tuple[str, ...]:
    others = {file.stem for file in _FOLDER.glob("*.yaml")}.difference(FIRST)
    return (*FIRST, *sorted(others))


@cache
def _read(name: str) -> Convention:
    from netcalc.analysis.conventions.table import convention_of
    from netcalc.spec.yaml_document import parse_yaml

    file = _FOLDER / f"{name}.yaml"
    return convention_of(name, parse_yaml(file.read_text(encoding="utf-8"), file.name), _named, trusted=True)


def convention_named(name: str) -> Convention:
    """Return a shipped convention by its name, or that of a user's file by its path.

    Raises:
        NetcalcError: E701 if there is none of that name; E605 for a file that cannot be read, and as
            :func:`~netcalc.analysis.conventions.table.convention_of` for what it says.
    """
    if name.endswith(_SUFFIXES) and name not in CONVENTIONS:
        from netcalc.analysis.conventions.table import read_text

        return _of_text(name, read_text(name))
    return _named(name)


def _named(name: str) -> Convention:
    """Return a shipped convention; NetcalcError (E701) if there is none."""
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    hint = did_you_mean(name, CONVENTIONS) or f"the conventions are {', '.join(CONVENTIONS)}, and YAML files"
    raise NetcalcError(Diagnostic("E701", f"there is no counting convention {name!r}", hint=hint))


@cache
def _of_text(name: str, text: str) -> Convention:
    """Return the convention of a user's file, the same object as long as its text is the same."""
    from netcalc.analysis.conventions.table import convention_of
    from netcalc.spec.yaml_document import parse_yaml

    return convention_of(name, parse_yaml(text, name), _named)


def require_backward(convention: Convention) -> None:
    """Raise NetcalcError (E701) for a convention whose tool counts no backward passes."""
    if convention.backward is None:
        counting = [name for name, other in CONVENTIONS.items() if other.backward is not None]
        message = f"{convention.name} counts no backward pass"
        raise NetcalcError(Diagnostic("E701", message, hint=f"{_and(counting)} count one"))


def require_kernels(convention: Convention) -> None:
    """Raise NetcalcError (E701) for a convention whose backward pass is a formula for all kernels of attention."""
    rules = convention.backward.rules if convention.backward is not None else {}
    if "scaled_dot_product_attention" in rules or ALL in rules:
        message = f"{convention.name} counts the backward pass of attention by a formula, whatever the kernel"
        hint = "leave out --attention flash, or count by netcalc or torch"
        raise NetcalcError(Diagnostic("E701", message, hint=hint))


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
