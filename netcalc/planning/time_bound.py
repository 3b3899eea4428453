"""Parts of bounds of time that one device and splits share: the bound, and passes of training."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.analysis.cost import Analysis
from netcalc.analysis.devices import Device
from netcalc.analysis.parallel.time import SplitTime
from netcalc.analysis.roofline import LayerBound, Roofs
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Poly
from netcalc.ir import Program
from netcalc.options import TimeOptions
from netcalc.planning.devices import THIS
from netcalc.request import Request


class Bound(NamedTuple):
    """Layers of a bound, and what it is of."""

    program: Program
    analysis: Analysis
    roofs: Roofs
    """Roofs of all devices."""
    layers: tuple[LayerBound, ...]
    seconds: float
    """Least time of the step."""
    times: int = 1
    """Passes of all replicas."""
    split: SplitTime | None = None
    remarks: tuple[str, ...] = ()
    """Assumptions of a split."""


def is_winograd(device: Device, options: TimeOptions) -> bool:
    """Return True if 3×3 convolutions are computed by Winograd's algorithm."""
    return (options["convolution"] or ("winograd" if device.name == THIS else "direct")) == "winograd"


def micro_batches(request: Request, options: TimeOptions) -> tuple[Request, int]:
    """Return the request of one pass of training, and the number of passes before an update.

    Raises:
        NetcalcError: E502 for passes that do not divide the batch, and for a precision beside an element type.
    """
    if options["precision"] is not None and request.dtype is not None:
        raise NetcalcError(
            Diagnostic("E502", f"--precision {options['precision']} sets the types", hint="leave out --dtype")
        )
    request = request if request.mode is not None else request.with_mode("train")
    if options["micro_batch"] is None and options["accumulate"] == 1:
        return request, 1
    from netcalc.planning.training import in_micro_batches

    return in_micro_batches(request, options["micro_batch"], options["accumulate"])


def require_numbers(program: Program) -> None:
    """Raise NetcalcError (E404) for a program with a symbolic size."""
    symbol = next((name for name, size in program.dims.items() if isinstance(size, Poly)), None)
    if symbol is not None:
        hint = f"leave out --symbolic {symbol}, or --set {symbol}=NUMBER"
        raise NetcalcError(Diagnostic("E404", f"a time needs numbers, and {symbol} is a symbol", hint=hint))
