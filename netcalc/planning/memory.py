"""The report of ``netcalc memory``, of a request and the files of its model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netcalc.analysis.memory_report import EngineMemory, MemoryReport, memory_report, tokens_in
from netcalc.analysis.saved_memory import SavedMemory
from netcalc.analysis.symbolic_step import SymbolicStep
from netcalc.analysis.training_memory import Training, TrainingMemory
from netcalc.arguments import texts
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.counted_files import CountedFiles
from netcalc.options import BytesFrom, MemoryOptions, PlanName
from netcalc.planning.phases import (
    assumed_phase,
    has_all_logits,
    phase_of,
    request_in_phase,
    require_training,
)
from netcalc.planning.placement import asks_for_places, placement_of
from netcalc.planning.split_options import is_split
from netcalc.request import Request


def memory_of(
    request: Request, options: MemoryOptions, counted_files: Callable[[BytesFrom], CountedFiles]
) -> MemoryReport:
    """Return the memory of what is asked for, with complete options.

    Args:
        request: the source and its settings.
        options: the options of ``memory``, each with a value.
        counted_files: the bytes of the weights in the model's files, by where they are read.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.memory` does.
    """
    by_place = asks_for_places(options)
    phase = phase_of(options["phase"], options["training"])
    assumed: tuple[str, ...] = ()
    if phase is None and options["tokens_in"] is not None:
        phase, assumed = assumed_phase(request)
    in_phase, remarks = request_in_phase(request, phase, options["logits"])
    files, others = counted_files(options["bytes_from"])
    if files is not None:
        in_phase = in_phase.with_open_storage()
    saved = training = formed = None
    if phase == "training" and in_phase.program.symbolic:
        formed = _symbolic_step(in_phase, options)
    elif phase == "training":
        in_phase, saved, training = _training(in_phase, options)
    else:
        require_training(options)
    report = memory_report(
        in_phase.program,
        cache=texts(options["cache"]),
        cache_dtype=options["cache_dtype"],
        attention=options["attention"],
        phase=phase,
        saved=saved,
        training=training,
        step=formed,
        engine=_engine(in_phase, options["engine"]),
        depth=options["depth"],
        files=files,
        remarks=(*assumed, *remarks, *others),
    )
    if phase is None and has_all_logits(in_phase):
        report = replace(report, all_logits=True)
    if by_place:
        report = replace(report, placement=placement_of(in_phase, report, options))
    if is_split(options):
        if by_place:
            raise NetcalcError(Diagnostic("E502", "--gpu-layers and the like are of one device, and --tp of several"))
        from netcalc.planning.splits import memory_of_split

        report = replace(report, split=memory_of_split(in_phase, options, _way(options, training)))
    budget = options["tokens_in"]
    if budget is None:
        return report
    step = phase if phase in ("prefill", "decode") else None
    program_at = (lambda positions: in_phase.at_phase(step, positions).program) if step else None
    return replace(report, tokens_in=tokens_in(report, budget, program_at))


def training_of(options: MemoryOptions) -> Training:
    """Return the way to train that options ask for."""
    return Training(
        options["training"],
        options["precision"],
        options["mixed"],
        options["recompute"],
        options["attention"],
        options["accumulate"],
    )


def _training(request: Request, options: MemoryOptions) -> tuple[Request, SavedMemory, TrainingMemory]:
    """Return the request of a pass, what is kept of it, and the memory of a step of training."""
    from netcalc.analysis.training_memory import saved_memory
    from netcalc.planning.training import training_step

    step = training_step(request, training_of(options), options["micro_batch"])
    saved = saved_memory(step.program, step.training, step.loss, step.counted.operations)
    # what is counted beside the step is that of a pass, in the mode that was asked for
    return replace(step.request, mode=request.mode), saved, step.memory


def _symbolic_step(request: Request, options: MemoryOptions) -> SymbolicStep:
    """Return the memory of a step of training as formulas.

    Raises:
        NetcalcError: E404 if there are none, or for options that need numbers.
    """
    from netcalc.planning.training import symbolic_step_of

    if is_split(options) or options["engine"] is not None:
        request.require_numbers("a split" if is_split(options) else "an engine")
    return symbolic_step_of(request, training_of(options), options["micro_batch"])


def _way(options: MemoryOptions, training: TrainingMemory | None) -> Training | None:
    """Return the way to train, with the number of micro-batches that are counted."""
    return None if training is None else training_of(options)._replace(accumulate=training.accumulate)


def _engine(request: Request, plan: PlanName | None) -> EngineMemory | None:
    """Return the memory of NumPy's engine, imported where it is asked for."""
    if plan is None:
        return None
    from netcalc.engine.held import engine_memory

    return engine_memory(request.executed.with_caches().program, plan)
