"""PyTorch code of the operations of :mod:`netcalc.ops.arithmetic`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.rules import Call, Emitted, rule


def operands(call: Call) -> list[str]:
    """Return the tensors and the number of an operation in their order."""
    value = getattr(call.op, "value", None)
    every = [call.input(i) for i in range(len(call.types)) if call.has(i)]
    if value is not None:
        every.append(call.value(value, "value"))
    return every[::-1] if getattr(call.op, "reverse", False) else every


def _register(name: str, symbol: str) -> None:
    @rule(name)
    def combination(call: Call) -> Emitted | str:
        return f" {symbol} ".join(operands(call))


for _name, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("pow", "**")):
    _register(_name, _symbol)


@rule("div")
def div(call: Call) -> Emitted | str:
    """Write a division, with ``torch.div`` for one that rounds."""
    first, second = operands(call)
    if call.op.rounding is None:
        return f"{first} / {second}"
    return f'torch.div({first}, {second}, rounding_mode="{call.op.rounding}")'


@rule("minimum", "maximum")
def extreme(call: Call) -> Emitted | str:
    """Write ``torch.minimum`` of tensors, and ``clamp`` for a number."""
    op: Any = call.op
    first, *others = [call.input(i) for i in range(len(call.types))]
    for other in others:
        first = f"torch.{op.name}({first}, {other})"
    if op.value is not None:
        limit = "max" if op.name == "minimum" else "min"
        first = f"{first}.clamp({limit}={call.value(op.value, 'limit')})"
    return first
