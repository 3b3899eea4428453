"""Arguments that losses share."""

from __future__ import annotations

from netcalc.formats.graph.model import Value

#: The reductions by their numbers in ATen; None is the default of netcalc's losses, the mean.
REDUCTIONS = ("none", None, "sum")


def present(*inputs: Value | None) -> list[Value | None]:
    """Return inputs without absent ones at the end."""
    present = list(inputs)
    while present[-1] is None:
        present.pop()
    return present
