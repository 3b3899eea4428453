"""Quantities of one operation, from which figures are read: its parameters and its work."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.conventions import Counted
from netcalc.dims import Dim
from netcalc.ir import OpNode
from netcalc.opdef import Param

#: Use of a tensor by an operation: a parameter or buffer of its own, or a parameter that is counted elsewhere.
Use: TypeAlias = Literal["parameter", "buffer", "tied"]


class Weight(NamedTuple):
    """A parameter or buffer in an operation, from which weight figures are read."""

    node: OpNode
    param: Param
    elements: Dim
    bytes: Dim


class Work(NamedTuple):
    """The work of an operation as a convention counts it, from which work figures are read.

    ``executed`` is all work, which does not depend on the data.  ``expected`` is its useful part if tokens are
    distributed evenly among experts.  ``backward`` is the backward pass, ``update`` the update of the parameters.
    """

    node: OpNode
    executed: Counted
    expected: Counted
    backward: Counted = Counted(0, 0)
    update: Counted = Counted(0, 0)
