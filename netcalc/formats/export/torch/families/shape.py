"""PyTorch code of the operations of :mod:`netcalc.ops.shape`."""

from __future__ import annotations

from netcalc.dims import Poly
from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("reshape")
def reshape(call: Call) -> Emitted | str:
    """Write ``reshape``."""
    sizes = ", ".join(call.value(size, "size") for size in call.op.shape)
    return f"{call.x}.reshape({sizes})" if len(call.op.shape) else f"{call.x}.reshape(())"


@rule("flatten")
def flatten(call: Call) -> Emitted | str:
    """Write ``flatten``."""
    op = call.op
    axes = ", ".join(
        map(str, [op.start_axis] if op.end_axis in (-1, call.type().rank - 1) else [op.start_axis, op.end_axis])
    )
    return Emitted(f"{call.x}.flatten({axes})", layer=f"nn.Flatten({axes})")


@rule("unflatten")
def unflatten(call: Call) -> Emitted | str:
    """Write ``unflatten``; one symbolic size that the others decide is −1."""
    op = call.op
    sizes = list(op.sizes)
    symbolic = [place for place, size in enumerate(sizes) if isinstance(size, Poly)]
    if (
        len(symbolic) == 1
        and -1 not in sizes
        and len(sizes) > 1
        and all(isinstance(s, int) for s in sizes if s is not sizes[symbolic[0]])
    ):
        sizes[symbolic[0]] = -1
    inside = ", ".join(call.value(size, "heads") for size in sizes)
    return f"{call.x}.unflatten({op.axis}, ({inside}{',' if len(sizes) == 1 else ''}))"
