"""Counting conventions: the work that each tool counts, and the number of FLOPs that it gives for this work.

One network has many published FLOP counts, because tools count different operations.  Each convention is
declared in a module of its own; the tests compare it with the tool.  Operations whose work a convention does not count
are reported by name.
"""

from netcalc.analysis.conventions.convention import Convention, Counted
from netcalc.analysis.conventions.fvcore import FVCORE
from netcalc.analysis.conventions.netcalc import NETCALC
from netcalc.analysis.conventions.torch import TORCH, TORCHVISION
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean

__all__ = ["CONVENTIONS", "Convention", "Counted", "convention_named", "require_backward"]

#: Every convention by name.
CONVENTIONS: dict[str, Convention] = {
    convention.name: convention for convention in (NETCALC, TORCH, TORCHVISION, FVCORE)
}


def convention_named(name: str) -> Convention:
    """Return a convention; NetcalcError (E701) if there is none of that name."""
    if name not in CONVENTIONS:
        hint = did_you_mean(name, CONVENTIONS) or f"the conventions are {', '.join(CONVENTIONS)}"
        raise NetcalcError(Diagnostic("E701", f"there is no counting convention {name!r}", hint=hint))
    return CONVENTIONS[name]


def require_backward(convention: Convention) -> None:
    """Raise NetcalcError (E701) for a convention whose tool counts no backward passes."""
    if convention.backward is None:
        counting = [name for name, other in CONVENTIONS.items() if other.backward is not None]
        message = f"{convention.name} counts no backward pass"
        raise NetcalcError(Diagnostic("E701", message, hint=f"{' and '.join(counting)} count one"))
