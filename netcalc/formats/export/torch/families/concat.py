"""PyTorch code of the operations of :mod:`netcalc.ops.concat`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("concat", "stack")
def concat(call: Call) -> Emitted | str:
    """Write ``torch.cat`` or ``torch.stack``."""
    inputs = ", ".join(call.input(i) for i in range(call.count))
    comma = "," if call.count == 1 else ""
    name = "cat" if call.op.name == "concat" else "stack"
    return f"torch.{name}(({inputs}{comma}), dim={call.op.axis})"


@rule("split")
def split(call: Call) -> Emitted | str:
    """Write ``split``."""
    sizes = call.op.sizes
    if not isinstance(sizes, tuple):
        return f"{call.x}.split({call.value(sizes, 'size')}, dim={call.op.axis})"
    return f"{call.x}.split([{', '.join(call.value(size, 'size') for size in sizes)}], dim={call.op.axis})"


@rule("chunk")
def chunk(call: Call) -> Emitted | str:
    """Write ``chunk``."""
    return f"{call.x}.chunk({call.value(call.op.chunks, 'chunks')}, dim={call.op.axis})"
