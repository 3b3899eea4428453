"""Numbers of categories, and numbers of intervals, as vectors."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DType
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._arithmetic import flattened
from netcalc.formats.keras.operand import Operand

_MODES = ("multi_hot", "one_hot", "count")


@layer("CategoryEncoding")
def category_encoding(call: Call) -> Operand:
    """Ones at the places of categories, together for those of a sample, or their counts."""
    call.without("sparse", False)
    if call.argument(1, "count_weights") is not None:
        raise RuleError("weights of counts are not supported")
    numbers = cast(call.build, call.last(), "int64")
    mode = call.choice("output_mode", _MODES, "multi_hot")
    return Operand(_encoded(call, numbers, mode, call.integer("num_tokens")))


@layer("Discretization")
def discretization(call: Call) -> Operand:
    """The number of boundaries that an element has reached."""
    for name in ("num_bins", "epsilon"):
        call.get(name)
    call.without("sparse", False)
    bounds = call.get("bin_boundaries")
    if bounds is None:
        raise RuleError("it has no boundaries: it was not adapted to data")
    shape, numbers = flattened(bounds)
    if len(shape) != 1:
        raise RuleError("boundaries of other than one axis")
    x = call.last()
    listed = call.line("constant", [], {"value": [float(number) for number in numbers]})
    spread = call.line("unsqueeze", [cast(call.build, x, "float32")], {"axis": -1})
    reached = call.line("greater_equal", [spread, listed])
    places = call.line("sum", [cast(call.build, reached, "int64")], {"axis": -1})
    mode = call.choice("output_mode", ("int", *_MODES), "int")
    if mode == "int":
        return Operand(cast(call.build, places, "int64"))
    return Operand(_encoded(call, places, mode, len(numbers) + 1))


def _encoded(call: Call, numbers: Value, mode: str, count: int) -> Value:
    """Return numbers of categories as vectors: one each, or one for all along the last axis."""
    rank = numbers.type.rank
    if mode == "one_hot" and rank > 1 and numbers.type.shape[-1] == 1:
        numbers = call.line("squeeze", [numbers], {"axis": -1})
    dtype: DType = "float32"
    each = call.line("one_hot", [numbers], {"num_classes": count, "dtype": dtype})
    if mode == "one_hot" or rank < 2:
        return each
    reduced: dict[str, Any] = {"axis": 1}
    return call.line("max" if mode == "multi_hot" else "sum", [each], reduced)
