"""PyTorch code of the operations of :mod:`netcalc.ops.conv`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported

helper('''
def standardized(weight: Tensor, eps: float) -> Tensor:
    """Return filters with mean 0 and variance 1."""
    axes = tuple(range(1, weight.ndim))
    variance, mean = torch.var_mean(weight, dim=axes, correction=0, keepdim=True)
    return (weight - mean) / torch.sqrt(variance + eps)
''')
for _axes in (1, 2, 3):
    helper(f'''
class StdConv{_axes}d(nn.Conv{_axes}d):
    """Convolution whose filters are standardized before use (arXiv:1903.10520)."""

    standardization_eps = 1e-6

    def forward(self, input: Tensor) -> Tensor:
        weight = standardized(self.weight, self.standardization_eps)
        return self._conv_forward(input, weight, self.bias)
''')


def padding_of(call: Call) -> tuple[Any, str]:
    """Return equal padding of both sides by axis, and the padded input if the sides differ."""
    op: Any = call.op
    pads = op.pads(call.type().shape[-op.axes :])
    if all(before == after for before, after in pads):
        return tuple(before for before, _ in pads), call.x
    flat = [side for pad in reversed(pads) for side in pad]
    mode = {"zeros": "constant"}.get(op.padding_mode, op.padding_mode)
    extra = "" if mode == "constant" else f', mode="{mode}"'
    return (0,) * op.axes, f"F.pad({call.x}, {call.value(tuple(flat), 'padding')}{extra})"


@rule("conv1d", "conv2d", "conv3d")
def convolution(call: Call) -> Emitted | str:
    """Write a module of convolution; padding that differs at the two ends goes before it."""
    op: Any = call.op
    padding, x = padding_of(call)
    mode = op.padding_mode if any(size != 0 for size in padding) else "zeros"
    if call.has(1):
        return _given(call, x, padding)
    channels = call.type().shape[-op.axes - 1]
    options = call.arguments(
        stride=(_short(op.stride), 1),
        padding=(_short(padding), 0),
        dilation=(_short(op.dilation), 1),
        groups=(op.groups, 1),
        bias=(op.bias, True),
        padding_mode=(mode, "zeros"),
    )
    first = f"{call.start(channels, 'in_channels')}, {call.start(op.out, 'out_channels')}"
    kernel = call.sizes(op.kernel, "kernel_size", at_start=True)
    name = f"nn.Conv{op.axes}d"
    if op.weight_standardization:
        call.helper("standardized")
        name = call.helper(f"StdConv{op.axes}d")
        if op.standardization_eps != 1e-6:
            raise unsupported(f"has a standardization_eps of {op.standardization_eps}")
    emitted = call.module(f"{name}({first}, kernel_size={kernel}{options})", x)
    return emitted if x == call.x else Emitted(emitted.text, emitted.module)


def _short(values: Any) -> Any:
    """Return one number for equal ones."""
    return values[0] if all(type(v) is type(values[0]) and v == values[0] for v in values) else values


def _given(call: Call, x: str, padding: Any) -> str:
    op: Any = call.op
    if call.params:
        raise unsupported("has a bias of its own beside a weight that is an input")
    bias = f", {call.input(2)}" if call.has(2) else ""
    options = ""
    for name, value, default in (("stride", op.stride, 1), ("padding", padding, 0), ("dilation", op.dilation, 1)):
        if any(size != default for size in value):
            options += f", {name}={call.sizes(value, name)}"
    if op.groups != 1:
        options += f", groups={call.value(op.groups, 'groups')}"
    if op.weight_standardization or op.padding_mode != "zeros":
        raise unsupported("standardizes a weight that is an input")
    return f"F.conv{op.axes}d({x}, {call.input(1)}{bias}{options})"
