"""The working of the memory of a split, for ``netcalc explain --memory --tp``."""

from __future__ import annotations

from dataclasses import replace

from netcalc.analysis.explain import Explanation
from netcalc.analysis.explain_split import explain_split
from netcalc.analysis.parallel.report import SplitReport, split_report
from netcalc.analysis.parallel.split import SplitFigures
from netcalc.ir import Program
from netcalc.options import MemoryOptions
from netcalc.planning.memory import training_of
from netcalc.planning.phases import phase_of, request_in_phase, require_training
from netcalc.planning.splits import figures_of_split
from netcalc.request import Request


def explained_split(request: Request, options: MemoryOptions) -> Explanation:
    """Return the working of the fullest device of the split that options ask for.

    Raises:
        NetcalcError: as ``memory`` does with the options of a split.
    """
    program, figures, report = _split(request, options)
    return explain_split(program, figures, report)


def explained_stages(request: Request, options: MemoryOptions) -> tuple[Explanation, ...]:
    """Return the working of a device of each pipeline stage of a split.

    Raises:
        NetcalcError: as ``memory`` does with the options of a split.
    """
    program, figures, report = _split(request, options)
    return tuple(explain_split(program, figures, replace(report, fullest=stage)) for stage in report.stages)


def _split(request: Request, options: MemoryOptions) -> tuple[Program, SplitFigures, SplitReport]:
    phase = phase_of(options["phase"], options["training"])
    request, _ = request_in_phase(request, phase, options["logits"])
    training = None
    if phase == "training":
        from netcalc.planning.training import in_micro_batches

        request, passes = in_micro_batches(request, options["micro_batch"], options["accumulate"])
        training = training_of(options)._replace(accumulate=passes)
    else:
        require_training(options)
    figures, split = figures_of_split(request, options, training)
    return request.program, figures, split_report(figures, split)
