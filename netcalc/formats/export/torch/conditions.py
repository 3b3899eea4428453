"""Conditions on the sizes of a network that its constructor checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from netcalc.dims import Poly
from netcalc.dims.atoms import Atom, Call, Symbol
from netcalc.dims.order import Assumption
from netcalc.dims.polynomial import as_dim
from netcalc.formats.export.torch.expressions import identifier, literal

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def checks(assumptions: Collection[Assumption], names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the negated conditions on sizes with these names, each with what is said where it is true."""
    written: set[str] = set()
    for assumption in assumptions:
        if not assumption.names() or not assumption.names() <= {*names}:
            continue
        found = _multiple(assumption) or _comparison(assumption)
        if found is not None and found[0] not in written:
            written.add(found[0])
            yield found


def _multiple(assumption: Assumption) -> tuple[str, str] | None:
    """Return the check of a size that has to be a multiple of another one."""
    left = assumption.left
    if assumption.relation != "==" or not isinstance(left, Poly) or assumption.right != 0:
        return None
    for atom in _atoms(left):
        if not isinstance(atom, Call) or atom.function != "//":
            continue
        size, divisor = (as_dim(operand) for operand in atom.operands)
        remainder = size - size // divisor * divisor
        if remainder in (left, -left):
            texts = [literal(part, identifier) for part in (size, divisor)]
            first, second = (text if text.isidentifier() or text.isdigit() else f"({text})" for text in texts)
            return f"{first} % {second} != 0", f"{texts[0]} must be a multiple of {texts[1]}"
    return None


def _comparison(assumption: Assumption) -> tuple[str, str] | None:
    """Return the check of a comparison of names and numbers."""
    sides = [assumption.left, assumption.right]
    if not all(isinstance(side, int) or _is_name(side) for side in sides):
        return None
    left, right = (literal(side, identifier) for side in sides)
    return f"{left} {_OPPOSITE[assumption.relation]} {right}", f"{left} must be {assumption.relation} {right}"


def _is_name(side: object) -> bool:
    return (
        isinstance(side, Poly) and all(isinstance(atom, Symbol) for atom in _atoms(side)) and str(side).isidentifier()
    )


def _atoms(size: Poly) -> Iterator[Atom]:
    """Yield the factors of the terms of a size."""
    for monomial, _ in size.monomials():
        yield from (atom for atom, _ in monomial)
