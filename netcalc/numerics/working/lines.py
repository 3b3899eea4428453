"""The working of any operation: by its rule, or of a function of single elements."""

from __future__ import annotations

from netcalc.numerics.working import WORKINGS, Call
from netcalc.numerics.working.elementwise import elementwise
from netcalc.opdef import WorkingLine


def lines_of(call: Call) -> tuple[WorkingLine, ...]:
    """Return the working of an operation: by its rule, or of an elementwise function element by element.

    Raises:
        NetcalcError: E502 for a place that the output does not have.
    """
    rule = WORKINGS.get(call.op.name)
    if rule is None and call.op.elementwise and len([x for x in call.inputs if x is not None]) == 1:
        rule = elementwise
    if rule is None:
        call.place(call.outputs[0].shape)
        return ()
    return tuple(rule(call))
