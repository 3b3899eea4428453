"""Fourier transforms."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast, single
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator

#: Numbers of PyTorch's norms in ``_fft_r2c`` and others: none, by the root of the size, and by the size.
_NORMS = ("backward", "ortho", "forward")


def _transform(
    operation: str, build: Builder, input: Value, norm: str | None, dim: Any = None, n: Any = None, s: Any = None
) -> Value:
    sizes = [n] if n is not None else s
    if dim is None:
        count = input.type.rank if sizes is None else len(sizes)
        dim = list(range(-count, 0))
    axes = [dim] if isinstance(dim, int) else list(dim)
    return _line(build, operation, input, axes, sizes, norm or "backward")


def _line(build: Builder, operation: str, input: Value, axes: list[int], sizes: Any, norm: str) -> Value:
    if input.type.dtype in ("float16", "bfloat16"):
        raise RuleError(f"netcalc has no complex numbers with parts of {input.type.dtype}")
    if not input.type.is_inexact:
        input = cast(build, input, "float32")
    if not axes:
        raise RuleError("a Fourier transform over no axis is not expressible")
    attributes = {
        "axis": single(axes),
        "n": None if sizes is None or all(size == -1 for size in sizes) else single(sizes),
        "norm": None if norm == "backward" else norm,
    }
    return build.line(operation, [input], attributes)


for _operation in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    operator(*(f"aten.fft_{_operation}{axes}.default" for axes in ("", "2", "n")))(partial(_transform, _operation))


@operator("aten._fft_r2c.default")
def of_real_numbers(build: Builder, input: Value, dim: list[int], normalization: int, onesided: bool) -> Value:
    return _line(build, "rfft" if onesided else "fft", input, dim, None, _NORMS[normalization])


@operator("aten._fft_c2c.default")
def of_complex_numbers(build: Builder, input: Value, dim: list[int], normalization: int, forward: bool) -> Value:
    if not dim:
        return input
    return _line(build, "fft" if forward else "ifft", input, dim, None, _norm(normalization, inverse=not forward))


@operator("aten._fft_c2r.default")
def to_real_numbers(build: Builder, input: Value, dim: list[int], normalization: int, last_dim_size: Any) -> Value:
    sizes = [*[-1] * (len(dim) - 1), last_dim_size]
    return _line(build, "irfft", input, dim, sizes, _norm(normalization, inverse=True))


def _norm(number: int, *, inverse: bool) -> str:
    """Return the norm of a transform that divides by nothing, by the root of its sizes, or by the sizes."""
    norm = _NORMS[number]
    return {"backward": "forward", "forward": "backward"}.get(norm, norm) if inverse else norm


def _shifted(inverse: bool, build: Builder, input: Value, dim: Any = None) -> Value:
    axes = list(range(input.type.rank)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    sizes = [input.type.shape[axis] for axis in axes]
    shifts = [(size + 1) // 2 if inverse else size // 2 for size in sizes]
    return build.line("roll", [input], {"shifts": single(shifts), "axis": single(axes)})


operator("aten.fft_fftshift.default")(partial(_shifted, False))
operator("aten.fft_ifftshift.default")(partial(_shifted, True))
