"""PyTorch code of the operations of :mod:`netcalc.ops.slicing`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("slice")
def slice_(call: Call) -> Emitted | str:
    """Write an index of ranges."""
    rank = call.type().rank
    index = [":"] * rank
    for axis, start, stop, step in call.op.ranges():
        first = "" if isinstance(start, int) and start == 0 else call.value(start, "start")
        last = "" if stop is None else call.value(stop, "stop")
        text = f"{first}:{last}" + ("" if isinstance(step, int) and step == 1 else f":{call.value(step, 'step')}")
        index[axis % rank] = text
    return f"{call.x}[{_shortened(index)}]"


@rule("select")
def select(call: Call) -> Emitted | str:
    """Write an index."""
    rank = call.type().rank
    index = [":"] * rank
    index[call.op.axis % rank] = call.value(call.op.index, "index")
    return f"{call.x}[{_shortened(index)}]"


def _shortened(index: list[str]) -> str:
    """Return the index without trailing ``:``."""
    while len(index) > 1 and index[-1] == ":":
        index = index[:-1]
    return ", ".join(index)


@rule("gather")
def gather(call: Call) -> Emitted | str:
    """Write ``gather``."""
    return f"{call.x}.gather({call.op.axis}, {call.input(1)})"


@rule("index_select")
def index_select(call: Call) -> Emitted | str:
    """Write ``index_select``, or an index of listed places."""
    if call.has(1):
        index = call.input(1) if call.type(1).rank == 1 else f"{call.input(1)}.flatten()"
        return f"{call.x}.index_select({call.op.axis}, {index})"
    rank = call.type().rank
    places = [":"] * rank
    places[call.op.axis % rank] = f"[{', '.join(call.value(place, 'index') for place in call.op.indices)}]"
    return f"{call.x}[{_shortened(places)}]"


@rule("roll")
def roll(call: Call) -> Emitted | str:
    """Write ``roll``."""
    op: Any = call.op
    axis = "" if op.axis is None else f", {tuple(op.axis)}"
    return f"{call.x}.roll({call.value(tuple(op.shifts), 'shift')}{axis})"


@rule("flip")
def flip(call: Call) -> Emitted | str:
    """Write ``flip``."""
    axis = call.op.axis if isinstance(call.op.axis, tuple) else (call.op.axis,)
    return f"{call.x}.flip({', '.join(map(str, axis))})"
