"""JSON records of results: the typed dictionaries that ``--format json`` prints, and their JSON Schemas.

A record begins with ``schema``, its name and version (``netcalc/summary/1``).  A new field keeps the version; a field
that is removed or redefined raises it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["VERSIONS", "as_dict", "schema_id"]

#: The version of every record.
VERSIONS: dict[str, int] = {
    "shapes": 1,
    "params": 1,
    "flops": 1,
    "summary": 1,
    "compare": 2,
    "explain": 2,
    "run": 1,
    "gradients": 1,
    "rounding": 1,
    "train": 1,
    "verify": 1,
    "verify-module": 1,
    "weights": 1,
    "checkpoint": 1,
    "specs": 1,
    "spec-page": 1,
    "ops": 1,
    "operation": 1,
    "block": 1,
    "errors": 2,
    "code": 1,
    "model-types": 1,
    "signal": 1,
    "signal-comparison": 1,
    "memory": 1,
}

#: For each type of result, the module of this package and the function that writes its record.
_WRITERS = {
    "Summary": ("summary", "summary_record"),
    "Comparison": ("compare", "comparison_record"),
    "Explanation": ("explain", "explanation_record"),
    "RunResult": ("run", "run_record"),
    "GradientResult": ("gradients", "gradients_record"),
    "RoundingResult": ("rounding", "rounding_record"),
    "TrainingResult": ("train", "training_record"),
    "VerifyReport": ("verify", "verification_record"),
    "Agreement": ("agreement", "agreement_record"),
    "WeightsReport": ("weights", "weights_record"),
    "Checkpoint": ("checkpoint", "checkpoint_record"),
    "SignalReport": ("signal", "signal_record"),
    "SignalComparison": ("signal", "signal_comparison_record"),
    "MemoryReport": ("memory", "memory_record"),
    "SpecReference": ("specs", "spec_record"),
    "NetcalcError": ("errors", "error_record"),
    "CodeReference": ("codes", "code_record"),
}


def schema_id(name: str) -> str:
    """Return the name and version of a record, such as ``netcalc/summary/1``."""
    return f"netcalc/{name}/{VERSIONS[name]}"


def as_dict(result: Any) -> dict[str, Any]:
    """Return the JSON record of a result, as the command of the same name prints it with ``--format json``.

    Args:
        result: a result of :func:`netcalc.compare` or of a method of :class:`~netcalc.network.Network`, or a
            :class:`~netcalc.diagnostics.NetcalcError`.

    Raises:
        TypeError: the result has no record.

    >>> import netcalc
    >>> netcalc.as_dict(netcalc.load("mlp").summary())["totals"]["params"]
    535818
    """
    for base in type(result).__mro__:
        if base.__name__ in _WRITERS and base.__module__.startswith("netcalc."):
            module, function = _WRITERS[base.__name__]
            record: dict[str, Any] = getattr(import_module(f"{__name__}.{module}"), function)(result)
            return record
    raise TypeError(f"no record of {type(result).__name__}")
