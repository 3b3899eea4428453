"""The request of a phase: prefill and decoding as a server runs them, or training."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import LogitsOf, Phase
from netcalc.request import Request

_LAST = "logits of the last position alone, as servers compute them; --logits all counts all"


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


def request_in_phase(request: Request, phase: Phase | None, logits: LogitsOf | None) -> tuple[Request, tuple[str, ...]]:
    """Return the request of a phase, with the logits that it computes, and a remark on these.

    Raises:
        NetcalcError: E502 for a phase of decoding of a network that does not decode, or logits that it cannot choose.
    """
    if phase == "training":
        if logits == "last":
            raise NetcalcError(Diagnostic("E502", "--logits last: training needs the logits of all positions"))
        return request, ()
    request = request.with_caches()
    if phase is not None:
        request = request.at_phase(phase)
    if logits is not None and not request.has_logits_of(logits):
        hint = "causal language models have a var logits"
        raise NetcalcError(
            Diagnostic("E502", f"--logits {logits}: {request.program.name} has no such choice", hint=hint)
        )
    chosen = logits or ("last" if phase is not None else None)
    changed = request if chosen is None else request.with_logits(chosen)
    is_less = changed is not request and chosen == "last" and phase != "decode"
    return changed, (_LAST,) if is_less else ()
