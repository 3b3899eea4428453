"""Closed forms of memory: weights, buffers, caches, activations and totals in symbolic sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from netcalc.analysis.closed_forms import ClosedForm, Formulas, formulas, terms_of, written
from netcalc.analysis.memory_report import MemoryReport
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, Poly, default_of
from netcalc.notation_options import Notation


def memory_formulas(report: MemoryReport, notation: Notation = "text") -> Formulas:
    """Return the parts of the memory of a network that have symbols as formulas, in bytes.

    Raises:
        NetcalcError: E404 if no part has symbols, or if one has a function of sizes that the notation lacks.
    """
    order = report.symbolic
    sizes = {name: size for name, size in _parts(report) if isinstance(size, Poly)}
    if not sizes:
        hint = "--symbolic NAME keeps a dim or var as a symbol"
        raise NetcalcError(Diagnostic("E404", f"the memory of {report.spec} has no symbols", hint=hint))
    forms = [
        ClosedForm(name, "B", written(size, notation, order), default_of(size), tuple(terms_of(size, order)))
        for name, size in sizes.items()
    ]
    step = () if report.step is None else report.step.claims
    claims = [*report.assumptions, *step, *(claim for peak in report.peaks for claim in peak.claims)]
    distinct = [claim for number, claim in enumerate(claims) if not any(map(claim.is_same, claims[:number]))]
    return formulas(report.spec, notation, order, forms, sizes.values(), distinct)


def _parts(report: MemoryReport) -> Iterator[tuple[str, Dim | None]]:
    """Yield names, as Python writes them, with bytes; None for what is not known."""
    yield "weights", report.weights
    yield "buffers", report.buffers
    names = [rule.name for rule in report.conventions] if report.kept else []
    for name in names:
        yield f"caches_{_identifier(name)}", report.caches(name)
    if report.step is not None:
        yield "gradients", report.step.gradients
        yield "master", report.step.master
        yield "states", report.step.state_bytes
        yield "kept", report.step.kept
        yield "peak_of_step", report.step.peak
        yield "total", report.trained
        return
    yield "activations_ideal", report.peak("ideal")
    yield "activations_eager", report.peak("eager")
    if report.training is None:
        for name in names:
            yield f"total_{_identifier(name)}", report.total(name)
        if not names:
            yield "total", report.total()


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)
