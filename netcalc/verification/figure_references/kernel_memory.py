"""Kernels as PyTorch runs them in eager mode on the CPU: the tensors that its functions make and release, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from netcalc import ops
from netcalc.verification.figure_references.allocation import Meter, Tensor, broadcast, reshaped
from netcalc.verification.references import Attributes, Shape

__all__ = ["KERNELS", "Kernel", "ran"]


class Kernel:
    """Run of an operation: its inputs, the shapes of its parameters, and the tensors that it makes."""

    def __init__(
        self,
        meter: Meter,
        op: Attributes,
        inputs: Sequence[Tensor | None],
        params: Mapping[str, Shape],
        outputs: Sequence[tuple[Shape, Any]],
    ) -> None:
        self.meter, self.op, self.inputs, self.params, self.outputs = meter, op, inputs, params, outputs

    @property
    def x(self) -> Tensor:
        """The first input."""
        return self.input(0)

    def input(self, index: int) -> Tensor:
        """Return an input that is present."""
        tensor = self.inputs[index]
        assert tensor is not None
        return tensor

    def present(self, index: int) -> bool:
        """Return True if there is an input at this position."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def new(self, *shape: int, dtype: Any = None) -> Tensor:
        """Return a tensor that the kernel makes, of the first output's type."""
        return self.meter.new(shape, self.outputs[0][1] if dtype is None else dtype)

    def like(self, x: Tensor | None = None) -> Tensor:
        """Return a tensor of the size of another, or of the first output."""
        return self.new(*(self.outputs[0][0] if x is None else x.shape))

    def result(self) -> list[Tensor]:
        """Return the outputs, as one kernel allocates them."""
        return [
            self.meter.new(shape, dtype, order=self._order(shape) if number == 0 else ())
            for number, (shape, dtype) in enumerate(self.outputs)
        ]

    def _order(self, shape: Shape) -> tuple[int, ...]:
        """Return the order of memory that the result takes over from an input; empty for the order of its axes."""
        present = [x for x in self.inputs if x is not None]
        if self.op.name in _ELEMENTWISE:
            alike = next((x for x in present if x.shape == shape), None)
            return alike.order if alike is not None and alike.is_dense else ()
        last = bool(present) and len(present[0].shape) == len(shape) and present[0].is_channels_last
        if self.op.name.startswith(_ON_IMAGES) and last:
            return (0, *range(2, len(shape)), 1)
        if self.op.name in ("rnn", "lstm", "gru") and self.op.batch_first and len(shape) == 3:
            return (1, 0, 2)
        if self.op.name == "rms_norm" or (self.op.name == "rotary_embedding" and _turning(self) == shape[-1]):
            return self.x.order
        if self.op.name == "scaled_dot_product_attention" and _is_fused(self):
            return self.x.order
        return ()


_ELEMENTWISE = frozenset(
    name
    for family in ("rectifier", "activation", "elementwise", "transcendental", "rounding", "arithmetic")
    for name in ops.FAMILIES[family]
    if name not in ("prelu", "pow", "cast")
)
_ON_IMAGES = (
    *("conv", "unfold", "fold", "max_pool", "avg_pool", "lp_pool", "blur_pool"),
    *("batch_norm", "frozen_batch_norm", "instance_norm"),
)


def ran(run: Kernel) -> list[Tensor]:
    """Run a kernel on the meter and return its outputs."""
    kernel = KERNELS.get(run.op.name)
    return run.result() if kernel is None else kernel(run)


def _one_more(run: Kernel) -> list[Tensor]:
    """Run a kernel that holds a tensor like its output to the end."""
    return _with(run, run.like())


def _softsign(run: Kernel) -> list[Tensor]:
    magnitude = run.like()
    divisor = run.like()
    del magnitude
    return _with(run, divisor)


def _quick_gelu(run: Kernel) -> list[Tensor]:
    scaled = run.like()
    gate = run.like()
    del scaled
    return _with(run, gate)


def _with(run: Kernel, *held: Tensor) -> list[Tensor]:
    """Return the outputs, made while these tensors are held."""
    return run.result()


def _gelu(run: Kernel) -> list[Tensor]:
    """Run one kernel, or half the input times one more than a function of it."""
    if not run.op.composed:
        return run.result()
    half = run.like()
    inner = run.like()
    outer = run.like()
    del inner
    return _with(run, half, outer)


def _convolution(run: Kernel) -> list[Tensor]:
    """Run a convolution that pads with zeros evenly by itself, and takes a copy with all other padding."""
    sides = _padding(run)
    zeros = run.op.padding_mode == "zeros"
    if all(before == after and (zeros or not before) for before, after in sides):
        return run.result()
    spatial = run.x.shape[-len(sides) :]
    copied = [
        size + (abs(before - after) if zeros else before + after)
        for size, (before, after) in zip(spatial, sides, strict=True)
    ]
    return _with(run, run.new(*run.x.shape[: -len(sides)], *copied))


def _padding(run: Kernel) -> list[tuple[int, int]]:
    op, axes = run.op, int(run.op.name[-2])
    if isinstance(op.padding, str):
        return [
            _named_padding(op.padding, size, kernel, stride, dilation)
            for size, kernel, stride, dilation in zip(
                run.x.shape[-axes:], op.kernel, op.stride, op.dilation, strict=True
            )
        ]
    return [(int(before), int(after)) for before, after in op.padding]


def _named_padding(name: str, size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding on both sides of ``valid``, ``same``, or as in TensorFlow, by the number of outputs."""
    if name == "valid":
        return 0, 0
    reach = dilation * (kernel - 1)
    total = reach if name == "same" else max((-(-size // stride) - 1) * stride + reach + 1 - size, 0)
    small = total // 2
    return (total - small, small) if name == "same_lower" else (small, total - small)


def _frozen_batch_norm(run: Kernel) -> list[Tensor]:
    scale, shift = run.new(run.x.shape[1]), run.new(run.x.shape[1])
    return _with(run, scale, shift, run.like())


def _batch_norm(run: Kernel) -> list[Tensor]:
    """Run the kernel, which returns the statistics if they are of the batch."""
    if not _has_own_statistics(run):
        return run.result()
    return _with(run, run.new(run.x.shape[1]), run.new(run.x.shape[1]))


def _instance_norm(run: Kernel) -> list[Tensor]:
    """Run a batch norm of all instances as channels, for which vectors of channels are repeated."""
    batch, channels = run.x.shape[:2]
    vectors = sum(shape == (channels,) for shape in run.params.values())
    vectors += sum(run.present(index) for index in range(1, len(run.inputs)))
    statistics = 2 if _has_own_statistics(run) else 0
    return _with(run, *(run.new(batch * channels) for _ in range(vectors + statistics)))


def _has_own_statistics(run: Kernel) -> bool:
    return not run.op.track_running_stats or (run.op.training and not run.present(3))


def _glu(run: Kernel) -> list[Tensor]:
    return run.result() if run.op.name == "glu" and run.op.gate == "second" else _with(run, run.like())


def _linear(run: Kernel) -> list[Tensor]:
    """Run a matrix product, of a copy if rows of several axes have gaps; the bias is then added on its own."""
    if len(run.x.shape) < 3 or run.x.is_contiguous:
        return run.result()
    rows = run.like(run.x)
    if "bias" not in run.params and not run.present(2):
        return _with(run, rows)
    product = run.like()
    del rows
    return _with(run, product)


def _lp_pool(run: Kernel) -> list[Tensor]:
    powers = run.like(run.x)
    mean = run.like()
    del powers
    sign, magnitude = run.like(), run.like()
    rectified = run.like()
    del magnitude, rectified
    return _with(run, mean, sign)


def _matmul(run: Kernel) -> list[Tensor]:
    """Run a product of matrices; in batches, of copies where the leading axes of an operand are not one in memory."""
    operands = run.input(0), run.input(1)
    if min(len(x.shape) for x in operands) < 3:
        return run.result()
    leading = run.outputs[0][0][:-2]
    copies = []
    for x in operands:
        full = (*leading, *x.shape[-2:])
        if reshaped(broadcast(x, full), (prod(leading), *x.shape[-2:])) is None:
            copies.append(run.new(*full))
    return _with(run, *copies)


def _max_pool(run: Kernel) -> list[Tensor]:
    return run.result() if run.op.return_indices else _with(run, run.new(*run.outputs[0][0], dtype=np.int64))


def _rows(run: Kernel) -> Shape:
    """Return the leading axes that are not normalized."""
    op = run.op
    count = op.axes or 1 if op.normalized_shape is None else len(op.normalized_shape)
    return run.x.shape[: len(run.x.shape) - count]


def _layer_norm(run: Kernel) -> list[Tensor]:
    return _with(run, run.new(*_rows(run)), run.new(*_rows(run)))


def _group_norm(run: Kernel) -> list[Tensor]:
    return _with(run, *(run.new(run.x.shape[0], run.op.groups) for _ in range(2)))


def _rms_norm(run: Kernel) -> list[Tensor]:
    squares = run.like()
    mean = run.new(*_rows(run))
    root = run.new(*_rows(run))
    del squares, mean
    if "weight" in run.params or run.present(1):
        return _with(run, root, run.like())
    return _with(run, root)


def _local_response_norm(run: Kernel) -> list[Tensor]:
    batch, channels, *spatial = run.x.shape
    squares = run.like()
    padded = run.new(batch, channels + run.op.size - 1, *spatial)
    del squares
    mean = run.like()
    del padded
    scaled, shifted = run.like(), run.like()
    del mean, scaled
    return _with(run, shifted)


def _normalize(run: Kernel) -> list[Tensor]:
    reduced = {axis % len(run.x.shape) for axis in run.op.axis}
    shape = [1 if axis in reduced else size for axis, size in enumerate(run.x.shape)]
    norm = run.new(*shape)
    divisor = run.new(*shape)
    del norm
    return _with(run, divisor)


def _learned_positions(run: Kernel) -> list[Tensor]:
    length, features = run.x.shape[-2:]
    positions = run.new(length, dtype=np.int64)
    return _with(run, positions, *([run.new(length, features)] if run.op.add else []))


def _turning(run: Kernel) -> int:
    """Return the number of features that turn; pairs of a stated number are whole unless they are interleaved."""
    stated: int | None = run.op.rotary_dim
    if stated is None:
        return run.x.shape[-1]
    return stated if run.op.interleaved else stated + stated % 2


def _rotary_embedding(run: Kernel) -> list[Tensor]:
    """Run x·cos + rotate(x)·sin on the features that turn, and join them with the others."""
    *leading, features = run.x.shape
    turning = _turning(run)
    part = (*leading, turning)
    cos, sin = (run.new(leading[-1], turning) for _ in range(2))
    scaled = run.new(*part)
    half = run.new(*leading, turning // 2 or 1)
    rotated = run.new(*part)
    del half
    product = run.new(*part)
    del rotated
    if turning == features:
        return _with(run, cos, sin, scaled, product)
    turned = run.new(*part)
    del scaled, product
    return _with(run, cos, sin, turned)


def _is_fused(run: Kernel) -> bool:
    """Return True for queries, keys and values that the fused kernel for the CPU takes."""
    op, (query, key, value) = run.op, (run.input(index).shape for index in range(3))
    fits = len(query) == len(key) == len(value) == 4 and query[0] == key[0] and query[3] == key[3] == value[3]
    plain = op.softcap is None and not op.return_weights and not run.present(5)
    drops = op.training and op.dropout > 0
    return fits and plain and not drops and (op.enable_gqa or query[1] == key[1])


def _attention(run: Kernel) -> list[Tensor]:
    """Run the fused kernel, which returns logarithms of sums too, or products that store all scores."""
    op, query, key = run.op, run.input(0), run.input(1)
    fused = _is_fused(run)
    scores = (*run.outputs[0][0][:-1], key.shape[-2])
    masks = _masks(run, fused)
    if fused:
        precision = np.float64 if run.x.dtype == np.float64 else np.float32
        return _with(run, *masks, run.new(*query.shape[:-1], dtype=precision))
    held = [*masks]
    if op.enable_gqa and query.shape[-3] != key.shape[-3]:
        held += [run.new(*x.shape[:-3], query.shape[-3], *x.shape[-2:]) for x in (key, run.input(2))]
    held.append(run.like(query))
    scaled = run.like(key)
    products = run.new(*scores)
    del scaled
    if masks or run.present(3) or op.softcap is not None:
        masked = run.new(*scores)
        products = masked
        del masked
    weights = run.new(*scores)
    del products
    if op.return_weights:
        del weights  # they are an output
        return _with(run, *held)
    return _with(run, *held, weights)


def _masks(run: Kernel, fused: bool) -> list[Tensor]:
    """Return the masks that are made: numbers in place of booleans, and one mask of several and of patterns."""
    op, pairs = run.op, (run.input(0).shape[-2], run.input(1).shape[-2])
    pattern = op.window is not None or op.blocks is not None or (op.causal and op.alignment == "lower_right")
    if run.present(4) or pattern or (run.present(3) and op.causal):
        leading = run.input(3).shape[:-2] if run.present(3) else (run.input(4).shape[0], 1) if run.present(4) else ()
        return [run.new(*leading, *pairs, dtype=np.bool_), run.new(*leading, *pairs)]
    if run.present(3):
        mask = run.input(3)
        return [run.like(mask)] if mask.dtype == np.bool_ else []
    return [run.new(*pairs)] if op.causal and not fused else []


KERNELS: Mapping[str, Callable[[Kernel], list[Tensor]]] = {
    **{f"conv{axes}d": _convolution for axes in (1, 2, 3)},
    **{f"lp_pool{axes}d": _lp_pool for axes in (1, 2, 3)},
    **{f"{kind}max_pool{axes}d": _max_pool for kind in ("", "adaptive_") for axes in (1, 2, 3)},
    **dict.fromkeys(("logsigmoid", "tanhshrink", "squared_relu"), _one_more),
    **dict.fromkeys(("glu", "reglu", "geglu", "swiglu"), _glu),
    "scaled_dot_product_attention": _attention,
    "gelu": _gelu,
    "softsign": _softsign,
    "quick_gelu": _quick_gelu,
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "frozen_batch_norm": _frozen_batch_norm,
    "linear": _linear,
    "matmul": _matmul,
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "rms_norm": _rms_norm,
    "local_response_norm": _local_response_norm,
    "normalize": _normalize,
    "learned_positions": _learned_positions,
    "rotary_embedding": _rotary_embedding,
}
