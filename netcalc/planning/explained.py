"""The working of ``time``, of ``fit``, of memory, of splits and of complexity, for ``netcalc explain``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from netcalc.analysis.explain import Explanation
from netcalc.arguments import options_of, texts
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.fit_options import FitOptions
from netcalc.formats.counted_files import CountedFiles
from netcalc.options import BytesFrom, FormulaOptions, HeldOptions, MemoryOptions, TimeOptions
from netcalc.planning.split_options import is_split
from netcalc.request import Request

if TYPE_CHECKING:
    from netcalc.analysis.memory_report import MemoryReport

#: Options of plans that say nothing without one.
_PLANS = ("phase", "logits", "recompute", "precision", "mixed", "micro_batch", "accumulate", "attention")
#: Options of memory, and of a bound of time, that say nothing without it.
_OF_MEMORY = ("tokens_in", "engine", "gpu_layers", "experts_on", "companion", "draft", "cache", "cache_dtype", "depth")
_OF_ONE_DEVICE = ("tokens_in", "engine", "gpu_layers", "experts_on", "companion", "draft", "depth")
_OF_TIME = ("efficiency", "tokens", "arithmetic", "convolution", "unfused")
#: Options of the counts, which plans do not take.
_COUNTS = ("backward", "loss", "input_gradients", "complexity", "convention", "window", "exclude")
#: Options of everything but complexity.
_OTHERS = ("memory", "fit", "device", "training", "backward", "loss", "input_gradients", "window", "exclude", *_PLANS)
AnyOptions = TypeVar("AnyOptions")


def is_planned(options: FormulaOptions) -> bool:
    """Return True if options ask for the working of a time, an answer of ``fit``, a split, or complexity.

    Raises:
        NetcalcError: E502 for options of a plan without one.
    """
    _require(options)
    if options["device"] is not None or options["fit"] or options["complexity"] or is_split(options):
        return True
    counted = options["backward"] or options["training"] is not None
    option = _given(options, [name for name in _PLANS if not (counted and name == "attention")])
    if option is not None and not options["memory"]:
        hint = "--device h100, with --fit for what fits, or --memory --tp 2"
        raise NetcalcError(Diagnostic("E502", f"{option} explains a time, a fit or a split", hint=hint))
    return False


def _require(options: FormulaOptions) -> None:
    """Raise NetcalcError (E502) for an option of memory or of time with what does not depend on it."""
    of_fit = options_of(FitOptions) if options["fit"] else {}
    option = _given(options, tuple(name for name in _OF_MEMORY if name not in of_fit))
    if option is not None and not options["memory"]:
        raise NetcalcError(Diagnostic("E502", f"{option} explains memory", hint="--memory"))
    option = _given(options, _OF_ONE_DEVICE)
    if option is not None and options["memory"] and is_split(options):
        raise NetcalcError(Diagnostic("E502", f"{option} explains one device, not a split", hint="leave out --tp"))
    option = _given(options, tuple(name for name in _OF_TIME if name not in of_fit))
    if option is not None and (options["device"] is None or options["fit"]):
        raise NetcalcError(Diagnostic("E502", f"{option} explains a time", hint="--device h100"))


def explained(request: Request, path: str | None, options: FormulaOptions) -> Explanation:
    """Return the working of a plan, or of complexity.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.explain` does.
    """
    if options["complexity"]:
        if path or is_split(options) or _given(options, _OTHERS):
            raise NetcalcError(Diagnostic("E502", "--complexity explains the layers of a whole forward pass"))
        from netcalc.analysis.conventions import convention_named
        from netcalc.planning.complexity import complexity_of

        return complexity_of(request, convention_named(options["convention"]))
    option = _given(options, _COUNTS)
    if option is not None:
        raise NetcalcError(Diagnostic("E502", f"{option} explains counts, not a time, a fit or a split"))
    if options["device"] is None and not options["memory"]:
        hint = "--device h100, or --memory for a split"
        raise NetcalcError(Diagnostic("E502", "a time and a fit are those of a device", hint=hint))
    if options["fit"] and is_split(options):
        raise NetcalcError(Diagnostic("E502", "--fit chooses the split itself", hint="--memory for a given one"))
    if options["fit"] + options["memory"] + (path is not None) > 1:
        raise NetcalcError(Diagnostic("E502", "--fit, --memory and a path explain one thing each"))
    if options["memory"]:
        if options["device"] is not None:
            raise NetcalcError(Diagnostic("E502", "--memory explains a split, or one device, not the time on --device"))
        from netcalc.planning.explained_split import explained_split

        return explained_split(request, _as(MemoryOptions, options))
    if options["fit"]:
        from netcalc.planning.explained_fit import explained_fit

        return explained_fit(request, _of_fit(options))
    from netcalc.planning.explained_time import explained_time

    return explained_time(request, path, _as(TimeOptions, options))


def explained_memory(
    request: Request, options: FormulaOptions, counted_files: Callable[[BytesFrom], CountedFiles]
) -> Explanation:
    """Return the working of the memory of a pass or of a step of training, on one device.

    Args:
        request: the source and its settings.
        options: the options of ``explain``.
        counted_files: the bytes of the weights in the model's files, by where they are read.

    Raises:
        NetcalcError: as ``memory`` does.
    """
    from netcalc.planning.memory import memory_of

    memory_options = _as(MemoryOptions, options)
    return memory_working(request, memory_of(request, memory_options, counted_files), memory_options)


def memory_working(request: Request, report: MemoryReport, options: HeldOptions) -> Explanation:
    """Return the working of the memory that a report of a request has.

    Args:
        request: the source and its settings.
        report: its memory.
        options: the options of the report, each with a value.
    """
    from netcalc.analysis.explain_memory import explain_memory
    from netcalc.analysis.precisions import precision_named
    from netcalc.planning.phases import request_in_phase

    counted = request.with_caches()
    if report.phase is not None:
        counted = request_in_phase(request, report.phase, options["logits"])[0]
    if report.training is not None:
        dtype = precision_named(options["precision"], options["mixed"], options["attention"]).dtype
        counted = counted if dtype is None else counted.with_dtype(dtype)
    return explain_memory(counted.with_open_storage().program, report)


def _of_fit(options: FormulaOptions) -> FitOptions:
    """Return the options of ``fit``, which takes one convention of caches; NetcalcError (E502) for several."""
    names = texts(options["cache"])
    if len(names) > 1:
        raise NetcalcError(Diagnostic("E502", "--fit explains one --cache", hint=f"--cache {names[0]}"))
    cache: str = names[0] if names else options_of(FitOptions)["cache"].default
    return FitOptions(**{**_as(FitOptions, options), "cache": cache})


def _as(kind: Callable[..., AnyOptions], options: FormulaOptions) -> AnyOptions:
    """Return options of another verb: those that are given, and the defaults of the others."""
    given: dict[str, Any] = {name: option.default for name, option in options_of(cast("type", kind)).items()}
    return kind(**{**given, **{name: value for name, value in options.items() if name in given}})


def _given(options: FormulaOptions, names: Iterable[str]) -> str | None:
    """Return the first of options that is given, as it is written."""
    values: dict[str, Any] = {**options}
    for name in names:
        option = options_of(FormulaOptions)[name]
        if values[name] != option.default:
            return f"--{name.replace('_', '-')}"
    return None
