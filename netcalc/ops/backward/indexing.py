"""Backward passes of :mod:`netcalc.ops.indexing`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim
from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._broadcast import summing
from netcalc.ops.indexing import Index, IndexPut, MaskedScatter, Scatter
from netcalc.tensor_type import TensorType


def _indices(call: BackwardCall, first: int) -> Sequence[Saved]:
    """Return the indices, which PyTorch saves as the list ``indices``."""
    return [call.saved_input(f"indices[{n - first}]", n) for n in range(first, len(call.inputs))]


@backward("index")
class IndexBackward(Backward):
    """A sum into the positions that were read."""

    rule = ("∂L/∂x = Σ g, added to the positions that the indices hold",)

    def saves(self, op: Index, call: BackwardCall) -> Sequence[Saved]:
        return _indices(call, 1)

    def cost(self, op: Index, call: BackwardCall) -> Sequence[Term]:
        return (Term.of("add", "scattered gradient", elements=call.outputs[0].elements),)


@backward("index_put")
class IndexPutBackward(Backward):
    """The gradient of the input, without the positions that were replaced, and of the values, at these positions.

    As in PyTorch, all values of a position that occurs twice have its gradient.
    """

    rule = (
        "∂L/∂x = g, with 0 at the positions; with accumulate g",
        "∂L/∂values = g at the positions, summed over broadcast axes",
    )

    def differs(self, op: IndexPut) -> str:
        return "" if op.accumulate else "values that others replace have gradients too"

    def saves(self, op: IndexPut, call: BackwardCall) -> Sequence[Saved]:
        return _indices(call, 2) if call.wants(1) or not op.accumulate else ()

    def cost(self, op: IndexPut, call: BackwardCall) -> Sequence[Term]:
        if not call.wants(1):
            return ()
        places = op.places(call.input(), [call.input(n) for n in range(2, len(call.inputs))])
        return summing(TensorType(places, call.outputs[0].dtype), call.input(1), "sum of gradient of values")


@backward("scatter")
class ScatterBackward(Backward):
    """Gradients of input and source; extrema share theirs evenly among all elements that are equal to them."""

    def differs(self, op: Scatter) -> str:
        return "values that others replace have gradients too" if op.reduce is None else ""

    def derivatives(self, op: Scatter) -> tuple[str, ...]:
        if op.reduce is None:
            return ("∂L/∂x = g, with 0 at the positions", "∂L/∂source = g at the positions")
        if op.reduce == "sum":
            return ("∂L/∂x = g", "∂L/∂source = g at the positions")
        if op.reduce == "prod":
            return ("∂L/∂x = g · y/x", "∂L/∂source = (g·y) at the positions / source")
        return (
            "s = g / (number of elements of x and source that equal y)",
            "∂L/∂x = s where x = y, 0 elsewhere",
            "∂L/∂source = s at the positions where source = y, 0 elsewhere",
        )

    def saves(self, op: Scatter, call: BackwardCall) -> Sequence[Saved]:
        index = call.saved_input("index", 1)
        if op.reduce is None:
            return (index,)
        if op.reduce == "sum":
            return (index,) if call.wants(2) else ()
        return (call.saved_input("self", 0), index, call.saved_input("src", 2), call.saved_output("result"))

    def cost(self, op: Scatter, call: BackwardCall) -> Sequence[Term]:
        elements, places = call.input().elements, call.input(2).elements
        if op.reduce in (None, "sum"):
            return ()
        if op.reduce == "prod":
            return (*_product_of_input(call, elements, places), *_product_of_source(call, places))
        return (
            Term.of("compare", "elements equal to the result", elements=elements),
            Term.of("compare", "scattered elements equal to the result", scattered=places),
            Term.of("add", "number of equal elements", scattered=places),
            Term.of("div", "share", elements=elements),
        )


def _product_of_input(call: BackwardCall, elements: Dim, places: Dim) -> Sequence[Term]:
    if not call.wants(0):
        return ()
    return (
        Term.of("compare", "zeros of the input", elements=elements),
        Term.of("mul", "product without zeros", scattered=places),
        Term.of("mul", "gradient of input", elements=elements),
        Term.of("div", "gradient of input", elements=elements),
    )


def _product_of_source(call: BackwardCall, places: Dim) -> Sequence[Term]:
    if not call.wants(2):
        return ()
    return (
        Term.of("compare", "single zeros of the source", tests=3, scattered=places),
        Term.of("add", "number of zeros", scattered=places),
        Term.of("mul", "product without single zeros", scattered=places),
        Term.of("mul", "gradient of source", products=2, scattered=places),
        Term.of("div", "gradient of source", scattered=places),
    )


@backward("masked_scatter")
class MaskedScatterBackward(Backward):
    """The gradient of the input where the mask is false, and of the source, in the order of the true elements."""

    rule = (
        "∂L/∂x = g where the mask is false, 0 elsewhere, summed over broadcast axes",
        "∂L/∂source = g where the mask is true, in order; 0 for elements that were not used",
    )

    def saves(self, op: MaskedScatter, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("mask", 1),)

    def cost(self, op: MaskedScatter, call: BackwardCall) -> Sequence[Term]:
        return summing(call.outputs[0], call.input()) if call.wants(0) else ()
