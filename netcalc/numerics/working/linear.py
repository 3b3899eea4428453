"""Working of linear layers."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.numerics.working import Call, working
from netcalc.numerics.working.text import indexed, listing, num, products, total
from netcalc.opdef import WorkingLine


@working("linear")
def linear(call: Call) -> Iterator[WorkingLine]:
    """Yield the products of one element of the output."""
    y = call.outputs[0]
    place = call.place(y.shape)
    row, weight, bias = call.x[place[:-1]], call.optional("weight", 1), call.optional("bias", 2)
    assert weight is not None
    own = weight[place[-1]]
    yield WorkingLine(indexed("x", place[:-1]), "", "", listing(row))
    yield WorkingLine(f"weight[{place[-1]}]", "", "", listing(own))
    terms, formula = products(row, own), "x₁·w₁ + … + xₙ·wₙ"
    if bias is not None:
        yield WorkingLine(f"bias[{place[-1]}]", "", "", float(bias[place[-1]]))
        terms, formula = [*terms, num(bias[place[-1]])], f"{formula} + b"
    yield WorkingLine(indexed("y", place), formula, total(terms), float(y[place]))
