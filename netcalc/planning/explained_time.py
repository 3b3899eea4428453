"""The working of ``netcalc time`` of a layer, a block or the whole, for ``netcalc explain``."""

from __future__ import annotations

from netcalc.analysis.explain import Explanation
from netcalc.analysis.explain_time import explain_time, layers_at
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.options import TimeOptions
from netcalc.planning.phases import request_in_phase
from netcalc.planning.time import time_of
from netcalc.request import Request


def explained_time(request: Request, path: str | None, options: TimeOptions) -> Explanation:
    """Return the working of the time of a layer or block, or of the whole.

    Raises:
        NetcalcError: E503 for a path at which nothing takes time; as ``time`` does.
    """
    report = time_of(request, options)
    program = request_in_phase(request, report.phase, options["logits"])[0].program
    if not path:
        return explain_time(program, report, "", report.layers)
    layers = layers_at(report, path)
    if not layers:  # one of several instances
        unrolled: TimeOptions = {**options, "unroll": True}
        layers = layers_at(time_of(request, unrolled), path)
    if not layers:
        names = [layer.title for layer in report.layers]
        hint = did_you_mean(path, names) or "netcalc time lists the layers"
        raise NetcalcError(Diagnostic("E503", f"nothing at {path!r} takes time", hint=hint))
    return explain_time(program, report, path, layers)
