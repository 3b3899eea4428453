"""PyTorch code of the operations of :mod:`netcalc.ops.indexing`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported


def _index(call: Call, first: int) -> str:
    index = [":"] * call.type().rank
    for number, axis in enumerate(call.op.axis):
        index[axis % call.type().rank] = call.input(first + number)
    while index[-1] == ":":
        index.pop()
    return ", ".join(index)


@rule("index")
def index(call: Call) -> Emitted | str:
    """Write an index of tensors."""
    return f"{call.x}[{_index(call, 1)}]"


@rule("index_put")
def index_put(call: Call) -> Emitted | str:
    """Write ``index_put``."""
    axes = [axis % call.type().rank for axis in call.op.axis]
    if axes != [*range(len(axes))]:
        raise unsupported("replaces elements by positions along axes that are not the first ones")
    indices = ", ".join(call.input(2 + number) for number in range(len(axes)))
    accumulate = ", accumulate=True" if call.op.accumulate else ""
    return f"{call.x}.index_put(({indices}{',' * (len(axes) == 1)}), {call.input(1)}{accumulate})"


@rule("scatter")
def scatter(call: Call) -> Emitted | str:
    """Write ``scatter`` or ``scatter_reduce``."""
    op = call.op
    if op.reduce is None:
        return f"{call.x}.scatter({op.axis}, {call.input(1)}, {call.input(2)})"
    return f'{call.x}.scatter_reduce({op.axis}, {call.input(1)}, {call.input(2)}, reduce="{op.reduce}")'


@rule("masked_scatter")
def masked_scatter(call: Call) -> Emitted | str:
    """Write ``masked_scatter``."""
    return f"{call.x}.masked_scatter({call.input(1)}, {call.input(2)})"
