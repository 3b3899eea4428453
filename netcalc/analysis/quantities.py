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
    ``activations`` are None under a convention that does not count them.
    """

    node: OpNode
    executed: Counted
    expected: Counted
    backward: Counted = Counted(0, 0)
    update: Counted = Counted(0, 0)
    activations: Dim | None = None


#: Operations whose outputs ``fvcore.nn.ActivationCountAnalysis`` counts.
_PRODUCTS = {"linear", "matmul", "einsum"} | {f"conv{kind}{rank}d" for kind in ("", "_transpose") for rank in (1, 2, 3)}


def outputs_of_products(node: OpNode) -> Dim:
    """Return the elements that convolutions and matrix products of an operation put out; attention has two products."""
    if node.op.name == "scaled_dot_product_attention":
        query, key = node.input_types[:2]
        assert query is not None and key is not None
        output = node.output_types[0]
        return output.elements // output.shape[-1] * key.shape[-2] + output.elements
    return node.output_types[0].elements if node.op.name in _PRODUCTS else 0
