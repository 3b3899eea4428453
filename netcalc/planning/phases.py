"""The request of a phase: prefill and decoding as a server runs them, or training."""

from __future__ import annotations

from typing import Literal

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import LogitsOf, Phase, StepOptions
from netcalc.request import Request

_LAST = "logits of the last position alone, as servers compute them; --logits all counts all"

#: Remark on a phase that is assumed, with its name and the reason.
_ASSUMED = "--phase {} is assumed for --tokens-in, as the sizes are {}"


def phase_of(phase: Phase | None, optimizer: str | None) -> Phase | None:
    """Return the phase that options ask for: training with an optimizer.

    Raises:
        NetcalcError: E502 for an optimizer in another phase.
    """
    if optimizer is None:
        return phase
    if phase not in (None, "training"):
        raise NetcalcError(Diagnostic("E502", f"--training goes with --phase training, not {phase}"))
    return "training"


def assumed_phase(request: Request) -> tuple[Literal["prefill", "decode"] | None, tuple[str, ...]]:
    """Return the phase that sizes speak of, with a remark on it: a step of one position is one of decoding.

    None for a request that does not decode, or whose positions are symbolic.
    """
    request = request.with_caches()
    caches, dims = request.program.caches, request.program.dims
    if caches.past is None or caches.new is None:
        return None, ()
    if not isinstance(dims[caches.past], int) or not isinstance(dims[caches.new], int):
        return None, ()
    if dims[caches.new] == 1:
        return "decode", (_ASSUMED.format("decode", "a step of one position"),)
    return "prefill", (_ASSUMED.format("prefill", f"{dims[caches.new]:,} positions at once"),)


def request_in_phase(request: Request, phase: Phase | None, logits: LogitsOf | None) -> tuple[Request, tuple[str, ...]]:
    """Return the request of a phase, with the logits that it computes, and a remark on these.

    Raises:
        NetcalcError: E502 for a phase of decoding of a network that does not decode, or logits that it cannot choose.
    """
    if phase == "training":
        if logits == "last":
            raise NetcalcError(Diagnostic("E502", "--logits last: training needs the logits of all positions"))
        return request, ()
    cached, remarks = _with_caches(request)
    found, others = logits_in_phase(cached if phase is None else cached.at_phase(phase), phase, logits)
    return found, (*remarks, *others)


def _with_caches(request: Request) -> tuple[Request, tuple[str, ...]]:
    """Return a request with caches, or without them where their number is symbolic, and a remark on that."""
    cached = request.with_caches()
    has_caches = "use_cache" in request.source.document.vars and "use_cache" not in request.settings
    if cached is request and has_caches:
        return request, ("caches are not counted, as their number is symbolic",)
    return cached, ()


def logits_in_phase(request: Request, phase: Phase | None, logits: LogitsOf | None) -> tuple[Request, tuple[str, ...]]:
    """Return a request that is in a phase of decoding, with the logits that it computes, and a remark on these.

    Raises:
        NetcalcError: E502 for logits that the network cannot choose.
    """
    if logits is not None and not request.has_logits_of(logits):
        hint = "causal language models have a var logits"
        raise NetcalcError(
            Diagnostic("E502", f"--logits {logits}: {request.program.name} has no such choice", hint=hint)
        )
    chosen = logits or ("last" if phase is not None else None)
    changed = request if chosen is None else request.with_logits(chosen)
    is_less = changed is not request and chosen == "last" and phase != "decode"
    return changed, (_LAST,) if is_less else ()


def has_all_logits(request: Request) -> bool:
    """Return True if a network computes the logits of several positions where it could compute those of the last."""
    caches, program = request.program.caches, request.program
    new = None if caches.new is None else program.dims[caches.new]
    return request.has_logits_of("last") and program.vars.get("logits") == "all" and new is not None and new != 1


def require_training(options: StepOptions) -> None:
    """Raise NetcalcError (E502) for an option that says how to train, without training."""
    given = {
        "--precision": options["precision"] is not None,
        "--mixed": options["mixed"] is not None,
        "--recompute": options["recompute"] != "none",
        "--micro-batch": options["micro_batch"] is not None,
        "--accumulate": options["accumulate"] != 1,
    }
    option = next((name for name, is_given in given.items() if is_given), None)
    if option is not None:
        hint = "--training OPTIMIZER, or --phase training"
        raise NetcalcError(Diagnostic("E502", f"{option} says how to train", hint=hint))
