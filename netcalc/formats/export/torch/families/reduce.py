"""PyTorch code of the operations of :mod:`netcalc.ops.reduce`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.rules import Call, Emitted, rule


def _axes(call: Call) -> str:
    """Return the axes of a reduction: one number, a tuple, or nothing for all."""
    axis: Any = call.op.axis
    if axis is None:
        return ""
    values = axis if isinstance(axis, tuple) else (axis,)
    return str(values[0]) if len(values) == 1 else str(tuple(values))


def _options(call: Call) -> str:
    keep = "keepdim=True" if call.op.keepdim else ""
    dtype = getattr(call.op, "dtype", None)
    return ", ".join(part for part in (_axes(call), keep, f"dtype=torch.{dtype}" if dtype else "") if part)


@rule("mean", "sum")
def mean(call: Call) -> Emitted | str:
    """Write ``mean`` or ``sum``."""
    if call.op.axis is None and call.op.keepdim:
        return f"{call.x}.{call.op.name}({tuple(range(call.type().rank))}, keepdim=True)"
    return f"{call.x}.{call.op.name}({_options(call)})"


@rule("prod")
def prod(call: Call) -> Emitted | str:
    """Write ``prod``, once for each axis."""
    axes = range(call.type().rank) if call.op.axis is None else [a % call.type().rank for a in call.op.axis]
    text = call.x
    for axis in sorted(axes, reverse=True):
        text = f"{text}.prod({axis}{', keepdim=True' if call.op.keepdim else ''})"
    return text


@rule("max", "min")
def extreme(call: Call) -> Emitted | str:
    """Write ``amax`` or ``amin``."""
    return f"{call.x}.a{call.op.name}({_options(call)})"


@rule("var")
def var(call: Call) -> Emitted | str:
    """Write ``var``."""
    correction = call.op.correction
    number = int(correction) if correction == int(correction) else correction
    options = [f"dim={_axes(call) or 'None'}", f"correction={number}"]
    if call.op.keepdim:
        options.append("keepdim=True")
    return f"{call.x}.var({', '.join(options)})"


@rule("vector_norm")
def vector_norm(call: Call) -> Emitted | str:
    """Write ``torch.linalg.vector_norm``."""
    order = "" if call.op.ord == 2 else f", {call.value(call.op.ord, 'ord')}"
    dim = f", dim={_axes(call)}" if _axes(call) else ""
    keep = ", keepdim=True" if call.op.keepdim else ""
    return f"torch.linalg.vector_norm({call.x}{order}{dim}{keep})"


@rule("logsumexp")
def logsumexp(call: Call) -> Emitted | str:
    """Write ``logsumexp``."""
    axes = _axes(call) or str(tuple(range(call.type().rank)))
    return f"{call.x}.logsumexp({axes}{', keepdim=True' if call.op.keepdim else ''})"


@rule("cumsum", "cumprod")
def cumulative(call: Call) -> Emitted | str:
    """Write ``cumsum`` or ``cumprod``."""
    dtype = f", dtype=torch.{call.op.dtype}" if call.op.dtype else ""
    return f"{call.x}.{call.op.name}({call.op.axis}{dtype})"
