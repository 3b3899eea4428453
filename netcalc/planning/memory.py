"""The report of ``netcalc memory``, of a request and the files of its model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netcalc.analysis.memory_report import EngineMemory, MemoryReport, memory_report, tokens_in
from netcalc.analysis.saved_memory import SavedMemory
from netcalc.analysis.training_memory import TrainingMemory
from netcalc.arguments import texts
from netcalc.formats.counted_files import CountedFiles
from netcalc.options import AttentionKernel, BytesFrom, MemoryOptions, PlanName
from netcalc.planning.phases import assumed_phase, has_all_logits, phase_of, request_in_phase
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
    phase = phase_of(options["phase"], options["training"])
    assumed: tuple[str, ...] = ()
    if phase is None and options["tokens_in"] is not None:
        phase, assumed = assumed_phase(request)
    in_phase, remarks = request_in_phase(request, phase, options["logits"])
    files, others = counted_files(options["bytes_from"])
    if files is not None:
        in_phase = in_phase.with_open_storage()
    saved = training = None
    if phase == "training":
        saved, training = _training(in_phase, options["training"], options["attention"])
    report = memory_report(
        in_phase.program,
        cache=texts(options["cache"]),
        cache_dtype=options["cache_dtype"],
        attention=options["attention"],
        phase=phase,
        saved=saved,
        training=training,
        engine=_engine(in_phase, options["engine"]),
        depth=options["depth"],
        files=files,
        remarks=(*assumed, *remarks, *others),
    )
    if phase is None and has_all_logits(in_phase):
        report = replace(report, all_logits=True)
    budget = options["tokens_in"]
    if budget is None:
        return report
    step = phase if phase in ("prefill", "decode") else None
    program_at = (lambda positions: in_phase.at_phase(step, positions).program) if step else None
    return replace(report, tokens_in=tokens_in(report, budget, program_at))


def _training(
    request: Request, optimizer: str | None, attention: AttentionKernel
) -> tuple[SavedMemory, TrainingMemory]:
    """Return what a step of training keeps and adds, in the mode of training unless another is set."""
    from netcalc.analysis.saved_memory import saved_memory
    from netcalc.analysis.training_memory import training_memory

    trained = request if request.mode is not None else request.with_mode("train")
    has_loss = trained.loss is not None
    program = trained.program_with_loss if has_loss else trained.program
    return saved_memory(program, attention, has_loss), training_memory(program, optimizer, has_loss)


def _engine(request: Request, plan: PlanName | None) -> EngineMemory | None:
    """Return the memory of NumPy's engine, imported where it is asked for."""
    if plan is None:
        return None
    from netcalc.engine.held import engine_memory

    return engine_memory(request.executed.with_caches().program, plan)
