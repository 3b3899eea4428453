"""FLOPs as tools count them, by the shapes of arrays and the multiply-adds that kernels executed.

The formulas are those of the tools' sources: ``torch.utils.flop_counter`` (matrix products, convolutions, attention and
what is made of them), torchvision (the same work, one for each multiply-add) and ``fvcore.nn.flop_count``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from netcalc.verification.references import Attributes, Shape


class Executed(NamedTuple):
    """An executed operation: attributes, shapes of inputs, parameters and outputs, and the work that was tallied."""

    op: Attributes
    inputs: Sequence[Shape | None]
    params: Mapping[str, Shape]
    outputs: Sequence[Shape]
    work: Mapping[str, int]

    def input(self, index: int = 0) -> Shape:
        """Return the shape of an input that is present."""
        shape = self.inputs[index]
        assert shape is not None
        return shape

    def present(self, index: int) -> bool:
        """Return True if there is an input at this position."""
        return index < len(self.inputs) and self.inputs[index] is not None

    @property
    def weight(self) -> Shape:
        """The shape of the weight, a parameter or the second input."""
        return self.params["weight"] if "weight" in self.params else self.input(1)

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.op.name


class Count(NamedTuple):
    """Multiply-adds and FLOPs."""

    macs: int
    flops: int


#: Conventions that are counted here.
COUNTED = ("netcalc", "torch", "torchvision", "fvcore")


def count(convention: str, run: Executed, wanted: Collection[Any] = ()) -> Count | None:
    """Return the work of an operation as a tool counts it; None for a convention that is not known.

    ``wanted`` are the inputs and parameters whose gradients are computed afterwards.
    """
    if convention == "netcalc":
        return _by_kind(run.work)
    if convention in ("torch", "torchvision"):
        macs = _torch_macs(run, wanted)
        return Count(macs, macs * (2 if convention == "torch" else 1))
    return _fvcore(run) if convention == "fvcore" else None


def count_backward(convention: str, run: Executed, work: Mapping[str, int], wanted: Collection[Any]) -> Count | None:
    """Return the work of a product, of which ``work`` was tallied, as a tool counts it."""
    if convention == "netcalc":
        return _by_kind(work)
    if convention != "torch":
        return None
    macs = work.get("mac", 0)
    if run.name == "bilinear":
        macs = 0
    elif run.name.startswith("conv"):
        of_weight = "weight" if "weight" in run.params else 1
        once = _convolution_macs(run)
        macs = once * (0 in wanted) + once * run.op.groups * (of_weight in wanted)
    elif run.name == "matmul" and _is_row(run) and 0 not in wanted:
        macs = run.input(0)[0] * prod(run.outputs[0])  # the outer product, as a matrix of one row
    return Count(macs, 2 * macs)


def _by_kind(work: Mapping[str, int]) -> Count:
    macs = work.get("mac", 0)
    return Count(macs, 2 * macs + sum(times for kind, times in work.items() if kind != "mac"))


# -- torch.utils.flop_counter ---------------------------------------------------------------------------


def _torch_macs(run: Executed, wanted: Collection[Any]) -> int:
    """Return the multiply-adds of mm, bmm, convolution and attention, which other operators are made of."""
    if run.name == "linear":
        return prod(run.outputs[0]) * run.input()[-1]
    if run.name.startswith("conv"):
        return _convolution_macs(run)
    if run.name == "matmul":
        second = run.input(1)
        runs_mv = len(second) == 1 or (_is_row(run) and 0 in wanted)
        return 0 if runs_mv else prod(run.outputs[0]) * second[-2]
    return 0 if run.name == "bilinear" else run.work.get("mac", 0)


def _convolution_macs(run: Executed) -> int:
    """Return the multiply-adds of ``conv_flop_count``: those of each output, or input if it is transposed."""
    each = run.input() if "transpose" in run.name else run.outputs[0]
    return prod(each) * prod(run.weight[1:])


def _is_row(run: Executed) -> bool:
    """Return True for the product of a vector and several matrices."""
    return len(run.input(0)) == 1 and len(run.input(1)) > 2


# -- fvcore ---------------------------------------------------------------------------------------------


def _fvcore(run: Executed) -> Count:
    rule = _FVCORE.get(run.name)
    if rule is None:
        macs = run.work.get("mac", 0)
        return Count(macs, macs)
    return rule(run)


def _nothing(run: Executed) -> Count:
    return Count(0, 0)


def _macs(macs: int, others: int = 0) -> Count:
    return Count(macs, macs + others)


def _fvcore_matmul(run: Executed) -> Count:
    """Return the count of ``matmul_flop_jit``, where the second operand is a matrix."""
    second = run.input(1)
    return _macs(prod(run.input(0)) * second[-1]) if len(second) > 1 else _macs(0)


def _fvcore_convolution(run: Executed) -> Count:
    """Return the count of ``_convolution``, which a padding by name is not; a standardized weight is normalized."""
    if isinstance(run.op.padding, str) and run.op.padding_mode == "zeros":
        return _macs(0)
    return _macs(_convolution_macs(run), 4 * prod(run.weight) if run.op.weight_standardization else 0)


def _fvcore_norm(run: Executed) -> Count:
    """Return the count of ``norm_flop_counter``: four for each element, five with scale and shift."""
    return _macs(0, (5 if _scales(run) else 4) * prod(run.input()))


def _fvcore_batch_norm(run: Executed) -> Count:
    """Return the count of ``batchnorm_flop_jit``: that of a norm, or one or two where statistics are given."""
    if not run.op.track_running_stats or (run.op.training and not run.present(3)):
        return _fvcore_norm(run)
    return _macs(0, (2 if _scales(run) else 1) * prod(run.input()))


def _scales(run: Executed) -> bool:
    return "weight" in run.params or run.present(1)


def _each_input(run: Executed) -> Count:
    return _macs(0, prod(run.input()))


def _fvcore_interpolate(run: Executed) -> Count:
    """Return the count of ``upsample_nearest2d`` and ``upsample_bilinear2d``; an area is adaptive pooling."""
    if len(run.input()) != 4 or run.op.antialias:
        return _macs(0)
    if run.op.mode == "area":
        return _each_input(run)
    return _macs(0, {"nearest": 1, "bilinear": 4}.get(run.op.mode, 0) * prod(run.outputs[0]))


_FVCORE: Mapping[str, Callable[[Executed], Count]] = {
    **dict.fromkeys(("bilinear", "rnn", "lstm", "gru"), _nothing),
    "scaled_dot_product_attention": lambda run: _macs(run.work.get("mac", 0) if run.op.composed else 0),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _fvcore_convolution),
    **dict.fromkeys(("layer_norm", "group_norm", "instance_norm"), _fvcore_norm),
    **dict.fromkeys(("adaptive_avg_pool2d", "global_avg_pool2d"), _each_input),
    "linear": lambda run: _macs(prod(run.outputs[0]) * run.input()[-1]),
    "batch_norm": _fvcore_batch_norm,
    "matmul": _fvcore_matmul,
    "interpolate": _fvcore_interpolate,
    "grid_sample": lambda run: _macs(0, 4 * prod(run.outputs[0])),
}
