"""Optimizers: the states that they keep and the work of an update, read from ``data/optimizers.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.opdef import Kind, Term

_FILE = Path(__file__).parent.parent / "data" / "optimizers.yaml"


class State(NamedTuple):
    """A tensor that an optimizer keeps for each parameter, with a number for each element or one for all of them.

    ``dtype`` is None for the type of the parameter.
    """

    name: str
    dtype: DType | None
    per: Literal["element", "tensor"]


class Part(NamedTuple):
    """A part of an update: its formula, and the work for each element.

    ``when`` is the setting without which the part is left out; empty for a part of every update.
    """

    role: str
    formula: str
    work: Mapping[Kind, int]
    when: str = ""


class Optimizer(NamedTuple):
    """An optimizer; ``settings`` are the defaults by name, ``source`` is the code that the formulas follow."""

    name: str
    about: str
    source: str
    settings: Mapping[str, float]
    states: tuple[State, ...]
    update: tuple[Part, ...]

    def parts(self, **settings: float) -> tuple[Part, ...]:
        """Return the parts of an update with these settings, and the defaults for the others."""
        values = {**self.settings, **settings}
        return tuple(part for part in self.update if not part.when or values[part.when])

    def terms(self, elements: Dim, **settings: float) -> tuple[Term, ...]:
        """Return the work of one update of ``elements`` elements, in a step after the first."""
        return tuple(
            Term.of(kind, part.role, elements=elements, **({"each": times} if times > 1 else {}))
            for part in self.parts(**settings)
            for kind, times in part.work.items()
        )


@cache
def optimizers() -> Mapping[str, Optimizer]:
    """Return all optimizers by name."""
    from netcalc.spec.yaml_document import parse_yaml

    data = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return {name: _optimizer(name, entry) for name, entry in data.items()}


def optimizer_named(name: str) -> Optimizer:
    """Return an optimizer; NetcalcError (E502) if there is none of that name."""
    if name not in optimizers():
        hint = did_you_mean(name, optimizers()) or f"the optimizers are {', '.join(optimizers())}"
        raise NetcalcError(Diagnostic("E502", f"there is no optimizer {name!r}", hint=hint))
    return optimizers()[name]


def _optimizer(name: str, entry: Mapping[str, Any]) -> Optimizer:
    return Optimizer(
        name,
        entry["about"],
        entry["source"],
        entry["settings"],
        tuple(State(s["name"], None if s["dtype"] == "parameter" else s["dtype"], s["per"]) for s in entry["states"]),
        tuple(Part(p["role"], p["formula"], p["work"], p.get("when", "")) for p in entry["update"]),
    )
