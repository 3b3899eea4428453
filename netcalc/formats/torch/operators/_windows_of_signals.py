"""Windows of signals and frequencies of Fourier transforms, which are written out."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Poly
from netcalc.dtypes import FLOATS
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import dtype_of

#: Longest sequence of numbers that is written out.
_WRITTEN = 4096


def _written(function: str, names: tuple[str, ...], build: Builder, dtype: Any, **arguments: Any) -> Value:
    """Return what a function of PyTorch gives for these of its arguments, as a constant."""
    values = [arguments[name] for name in names if name in arguments]
    type_ = dtype_of(dtype) or "float32"
    if any(isinstance(value, Poly) or (isinstance(value, int) and value > _WRITTEN) for value in values):
        raise RuleError(f"{function} of symbolic or more than {_WRITTEN:,} numbers is not written out")
    if type_ not in FLOATS:
        raise RuleError(f"{function} of {type_}")
    torch: Any = import_module("torch")
    place, _, name = function.rpartition(".")
    numbers = getattr(torch.fft if place else torch, name)(*values, dtype=torch.float64, device="cpu").tolist()
    return build.line("constant", [], {"value": numbers, "dtype": unless_default(type_, "float32")})


for _name, _settings in (
    ("hann_window", ("periodic",)),
    ("hamming_window", ("periodic", "alpha", "beta")),
    ("blackman_window", ("periodic",)),
    ("bartlett_window", ("periodic",)),
    ("kaiser_window", ("periodic", "beta")),
):
    _rule = partial(_written, _name, ("window_length", *_settings))
    operator(f"aten.{_name}.default", f"aten.{_name}.periodic")(_rule)
operator("aten.hamming_window.periodic_alpha", "aten.hamming_window.periodic_alpha_beta")(
    partial(_written, "hamming_window", ("window_length", "periodic", "alpha", "beta"))
)
operator("aten.kaiser_window.beta")(partial(_written, "kaiser_window", ("window_length", "periodic", "beta")))
operator("aten.fft_fftfreq.default")(partial(_written, "fft.fftfreq", ("n", "d")))
operator("aten.fft_rfftfreq.default")(partial(_written, "fft.rfftfreq", ("n", "d")))
