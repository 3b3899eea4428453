"""PyTorch code of the operations of :mod:`netcalc.ops.expand`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("expand")
def expand(call: Call) -> Emitted | str:
    """Write ``expand``; axes that keep their size are −1."""
    own = [None] * (len(call.op.shape) - call.type().rank) + list(call.type().shape)
    sizes = [-1 if size == old else size for size, old in zip(call.op.shape, own, strict=True)]
    return f"{call.x}.expand({', '.join(call.value(size, 'size') for size in sizes)})"


@rule("tile")
def tile(call: Call) -> Emitted | str:
    """Write ``tile``."""
    return f"{call.x}.tile({call.value(tuple(call.op.repeats), 'repeats')})"


@rule("repeat_interleave")
def repeat_interleave(call: Call) -> Emitted | str:
    """Write ``repeat_interleave``."""
    axis = "" if call.op.axis is None else f", dim={call.op.axis}"
    repeats = call.op.repeats
    if isinstance(repeats, (tuple, list)) and len(repeats) == 1:
        repeats = repeats[0]
    value = call.value(repeats, "repeats")
    if isinstance(repeats, (tuple, list)):
        value = f"torch.tensor({value}{call.device})"
    return f"{call.x}.repeat_interleave({value}{axis})"
