"""Dropout and stochastic depth of a graph in training mode that are written out with random masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.formats.graph.model import Value
from netcalc.formats.graph.simplify.pattern import Found, Named, anything, idiom, named, op, optional
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule


def dropped(work: Rewriter, match: Found) -> Value | None:
    """Return x·mask/(1 − p) as the operation that has such a mask; None for a mask of other axes."""
    x, mask, kept = match.values["x"], match.values["mask"].type.shape, match.number("kept")
    sizes = x.type.shape
    if not work.graph.training or len(mask) != len(sizes) or not 0 < kept < 1:
        return None
    forms: Mapping[tuple[Any, ...], tuple[str, dict[str, Any]]] = {
        (*(1 for _ in sizes),): ("stochastic_depth", {"mode": "batch"}),
        (*sizes[:1], *(1 for _ in sizes[1:])): ("stochastic_depth", {}),
        (*sizes[:2], *(1 for _ in sizes[2:])): ("dropout", {"channelwise": True}),
        sizes: ("dropout", {}),
    }
    operation, attributes = forms.get(mask, ("", {}))
    return work.build.line(operation, [x], {"p": _complement(kept), **attributes}) if operation else None


def _complement(kept: float) -> float:
    """Return the number p in the fewest digits for which 1 − p is the given one."""
    return next((p for digits in range(17) if 1 - (p := round(1 - kept, digits)) == kept), 1 - kept)


_MASK = op("bernoulli", named("mask", op("constant", value=Named("kept"), shape=anything)))

IDIOMS: tuple[Mapping[str, Rule], ...] = (
    idiom(op("mul", "x", op("div", optional("cast", _MASK, dtype=anything), value=Named("kept"))), dropped),
)
