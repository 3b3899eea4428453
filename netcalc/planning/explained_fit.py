"""The working of an answer of ``netcalc fit``, for ``netcalc explain``."""

from __future__ import annotations

from netcalc.analysis.explain import Explanation
from netcalc.analysis.explain_fit import Near, explain_fit
from netcalc.analysis.fit.edge import Edge
from netcalc.analysis.fit.report import Need
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.fit_options import FitOptions
from netcalc.planning.fit import Answer, answer_of
from netcalc.request import Request


def explained_fit(request: Request, options: FitOptions) -> Explanation:
    """Return the working of the answer for a device.

    Raises:
        NetcalcError: E502 without a device; as ``fit`` does.
    """
    if options["device"] is None:
        raise NetcalcError(Diagnostic("E502", "--fit explains the answer for a device", hint="--device h100"))
    answer = answer_of(request, options)
    report, memory = answer.report, answer.report.memory
    assert memory is not None
    found = (
        _near(answer, "batch", report.largest_batch, answer.batch_step or 1),
        _near(answer, "length", report.largest_length, answer.step),
    )
    return explain_fit(answer.program, report, memory, [near for near in found if near is not None])


def _near(answer: Answer, what: str, edge: Edge | None, step: int) -> Near | None:
    """Return the memory on both sides of an edge; None where there is none."""
    if edge is None or edge.number is None:
        return None
    workload, beyond = answer.report.workload, edge.number + step

    def need(number: int) -> Need | None:
        batch, length = (number, workload.length) if what == "batch" else (workload.batch, number)
        try:
            return answer.need(batch, length)
        except NetcalcError:
            return None

    return Near(what, edge.number, beyond, need(edge.number) if edge.number else None, need(beyond), edge.reason)
