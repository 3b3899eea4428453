"""netcalc: exact shapes, parameters, operation counts and memory of neural-network architectures.

>>> import netcalc
>>> netcalc.load("resnet34").params
21797672
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.analysis.summary import Summary
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.network import Network, compare, load, loads


__all__ = ["Diagnostic", "NetcalcError", "Network", "Summary", "__version__", "compare", "load", "loads"]

#: Where each name is found when it is first asked for, so that importing netcalc costs nothing.
_HOMES = {
    "Diagnostic": "netcalc.diagnostics",
    "NetcalcError": "netcalc.diagnostics",
    "Network": "netcalc.network",
    "Summary": "netcalc.analysis.summary",
    "compare": "netcalc.network",
    "load": "netcalc.network",
    "loads": "netcalc.network",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
