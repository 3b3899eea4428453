"""Fourier transforms."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._complex_numbers import Complex
from netcalc.formats.torch.operators._operands import single


@operator("aten.fft_fft.default", "aten.fft_fft2.default", "aten.fft_fftn.default")
def fourier(build: Builder, input: Value, norm: str | None, dim: Any = None, n: Any = None, s: Any = None) -> Complex:
    if n is not None or s is not None or norm not in (None, "backward"):
        raise RuleError("a Fourier transform of another size or scale cannot be expressed")
    axes = list(range(len(input.type.shape))) if dim is None else dim
    return Complex(build.line("fourier", [input], {"axis": single(axes)}), None)
