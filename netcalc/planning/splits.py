"""Networks split over devices: figures of a rank of a request, from which memory and traffic of splits follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.analysis.caches.conventions import convention_named, element_type
from netcalc.analysis.caches.layers import applied_to, kept_by
from netcalc.analysis.parallel.declared import split_over
from netcalc.analysis.parallel.figures import Serving, split_figures
from netcalc.analysis.parallel.pieces import RankProgram, divisors
from netcalc.analysis.parallel.report import SplitReport, split_report
from netcalc.analysis.parallel.split import Split, SplitFigures
from netcalc.analysis.precisions import precision_named
from netcalc.analysis.training_memory import Training
from netcalc.arguments import texts
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.dtypes import DType
from netcalc.ir import Program
from netcalc.request import Request

#: Dim of the positions of networks that do not decode.
_LENGTH = "length"


def split_of(options: Mapping[str, Any], micro_batches: int = 1) -> Split:
    """Return the split that options ask for, of a step with so many micro-batches.

    Raises:
        NetcalcError: E502 for options that contradict each other.
    """
    zero = options["zero"]
    if options["fsdp"] and zero not in (None, "3"):
        raise NetcalcError(Diagnostic("E502", f"--fsdp divides what ZeRO stage 3 does, not stage {zero}"))
    if options["sp"] and options["tp"] == 1:
        raise NetcalcError(Diagnostic("E502", "--sp divides positions among the ranks of --tp, and there is one"))
    numbers = {name: options[name] for name in ("tp", "pp", "dp", "ep", "cp", "sp", "virtual_stages")}
    return Split(**numbers, zero=3 if options["fsdp"] else int(zero or 0), micro_batches=micro_batches)


def require_serving(split: Split) -> None:
    """Raise NetcalcError (E502) for a split of what only training has."""
    if split.zero:
        raise NetcalcError(Diagnostic("E502", "--zero and --fsdp divide what training holds", hint="--training adamw"))
    if split.virtual_stages > 1:
        raise NetcalcError(Diagnostic("E502", "--virtual-stages are of training", hint="--training adamw"))


def training_figures(request: Request, training: Training, split: Split, *, ideal: bool = False) -> SplitFigures:
    """Return the figures of a step of training on a rank, for all splits of so many tensor- and context-parallel ranks.

    Args:
        request: the source at the sizes of one micro-batch of one replica.
        training: the way to train.
        split: numbers of tensor-parallel and context-parallel ranks, and sequence parallelism.
        ideal: count what is kept if every operation were one kernel too.

    Raises:
        NetcalcError: E502 for parameters or positions that cannot be split so.
        UndecidedError: E404 if a size is symbolic.
    """
    if split.cp > 1 and training.attention == "eager":
        hint = "--attention flash"
        raise NetcalcError(Diagnostic("E502", "--cp: context-parallel ranks keep no scores", hint=hint))
    precision = precision_named(training.precision, training.mixed, training.attention)
    rank = _trained_rank(request, split, precision.dtype)
    return split_figures(rank, training, cp=split.cp, sp=split.sp, ideal=ideal)


def products_of(request: Request, training: Training, split: Split) -> RankProgram | None:
    """Return the program of a rank in the type of the products, None if that is the type of all figures.

    Raises:
        NetcalcError: as :func:`training_figures` does.
    """
    precision = precision_named(training.precision, training.mixed, training.attention)
    same = precision.computed in (None, precision.dtype)
    return None if same else _trained_rank(request, split, precision.computed)


def serving_figures(
    request: Request, split: Split, *, cache: str | None = None, cache_dtype: str | None = None
) -> SplitFigures:
    """Return the figures of a pass or a step of decoding on a rank.

    Args:
        request: the source at the sizes of one replica, in its phase.
        split: numbers of tensor-parallel and context-parallel ranks, and sequence parallelism.
        cache: convention of the memory of caches; ideal by default.
        cache_dtype: element type of the caches, in place of their own.

    Raises:
        NetcalcError: E502 for parameters or positions that cannot be split so.
        UndecidedError: E404 if a size is symbolic.
    """
    request = _with_positions(request, split.cp)
    rank = _rank(request, request.program, split)
    (convention,) = applied_to(request.program, [convention_named(cache or "ideal")])
    caches = kept_by(rank.program, None if cache_dtype is None else element_type(cache_dtype), (convention,))
    return split_figures(rank, Serving(caches, convention), cp=split.cp, sp=split.sp)


def memory_of_split(request: Request, options: Mapping[str, Any], training: Training | None) -> SplitReport:
    """Return the report of the split that the options of ``memory`` ask for.

    Raises:
        NetcalcError: E502 for a split that is not possible, or bad options.
        UndecidedError: E404 if a size is symbolic.
    """
    return split_report(*figures_of_split(request, options, training))


def figures_of_split(
    request: Request, options: Mapping[str, Any], training: Training | None
) -> tuple[SplitFigures, Split]:
    """Return the figures of a rank, and the split that the options of ``memory`` ask for.

    Raises:
        NetcalcError: as :func:`memory_of_split` does.
    """
    split = split_of(options, 1 if training is None else training.accumulate)
    if training is not None:
        return training_figures(request, training, split, ideal=True), split
    require_serving(split)
    conventions = texts(options["cache"])
    first = conventions[0] if conventions else None
    return serving_figures(request, split, cache=first, cache_dtype=options["cache_dtype"]), split


def _rank(request: Request, program: Program, split: Split) -> RankProgram:
    if split.tp == 1:
        return RankProgram(program, 1, {}, {}, (), (None,) * len(program.inputs), (None,) * len(program.output_names))
    return split_over(program, request.source, split.tp, sequence=split.sp)


def _trained_rank(request: Request, split: Split, dtype: DType | None) -> RankProgram:
    """Return the program of a rank in training, in an element type or that of the request."""
    if dtype is not None:
        request = request.with_dtype(dtype)
    request = _with_positions(request if request.mode is not None else request.with_mode("train"), split.cp)
    return _rank(request, request.program_with_loss if request.loss is not None else request.program, split)


def _with_positions(request: Request, cp: int) -> Request:
    """Return the request at the positions of one of so many ranks."""
    if cp == 1:
        return request
    dims, caches = request.program.dims, request.program.caches
    name = caches.new or _LENGTH
    if name not in dims or (caches.past is not None and dims[caches.past] != 0):
        what = "a step of decoding" if name in dims else f"{request.program.name}, which has no dim {_LENGTH},"
        raise NetcalcError(Diagnostic("E502", f"--cp {cp}: {what} has no positions to divide"))
    positions = integer(dims[name])
    if positions % cp:
        works = ", ".join(str(n) for n in divisors(positions) if n > 1)
        message = f"--cp {cp}: {positions:,} positions cannot be divided by {cp}"
        raise NetcalcError(Diagnostic("E502", message, hint=f"--cp {works}"))
    return request.with_settings({name: positions // cp})
