"""netcalc: exact shapes, parameters, operation counts and memory of neural-network architectures.

>>> import netcalc
>>> netcalc.load("resnet34").params
21797672
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.analysis.checks import CheckReport, CheckRow
    from netcalc.analysis.compare import Comparison, Match, OperationMatch
    from netcalc.analysis.cost import Analysis
    from netcalc.analysis.explain import Explanation, Section
    from netcalc.analysis.figures import Cost
    from netcalc.analysis.memory import Memory
    from netcalc.analysis.memory_report import EngineMemory, MemoryReport, TokensIn
    from netcalc.analysis.precision.report import StorageReport, StoredGroup
    from netcalc.analysis.signal.report import Finding, SignalComparison, SignalReport, SignalRow
    from netcalc.analysis.summary import Layer, Summary, Totals
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.dims import Dim
    from netcalc.engine.compiled import Compiled
    from netcalc.engine.gradients import GradientResult
    from netcalc.engine.layer_errors import KeptParameters, LayerError, StoredParameter
    from netcalc.engine.layer_gradients import LayerGradient
    from netcalc.engine.plan import PlanMemory
    from netcalc.engine.profile import LayerTime, OperationTime, Profile
    from netcalc.engine.rounding import OutputError, RoundingResult
    from netcalc.engine.run import RunResult
    from netcalc.loading import check, compare, describe, import_spec, load, load_data, loads, read_checkpoint
    from netcalc.network import LayerShapes, Network
    from netcalc.numerics.rounding.deviation import Deviation
    from netcalc.numerics.trace import TraceRow
    from netcalc.records import as_dict
    from netcalc.reference.specs import LossReference, SettingReference, SpecReference, TensorReference
    from netcalc.tensor_type import TensorType
    from netcalc.torch_modules import from_torch, summary
    from netcalc.training.result import ParameterNorm, TrainingResult, TrainingStep
    from netcalc.verification.agreement import Agreement, FlopsAgreement, OutputAgreement
    from netcalc.verification.report import Check, Gap, ValueCount, VerifyReport
    from netcalc.weights.content import Checkpoint, CheckpointFile, CheckpointTensor, Copies, Duplicate, TypeTotals
    from netcalc.weights.packing.unpacked import Packed
    from netcalc.weights.report import WeightsReport

__all__ = [
    "Agreement",
    "Analysis",
    "Check",
    "CheckReport",
    "CheckRow",
    "Checkpoint",
    "CheckpointFile",
    "CheckpointTensor",
    "Comparison",
    "Compiled",
    "Copies",
    "Cost",
    "Deviation",
    "Diagnostic",
    "Dim",
    "Duplicate",
    "EngineMemory",
    "Explanation",
    "Finding",
    "FlopsAgreement",
    "Gap",
    "GradientResult",
    "KeptParameters",
    "Layer",
    "LayerError",
    "LayerGradient",
    "LayerShapes",
    "LayerTime",
    "LossReference",
    "Match",
    "Memory",
    "MemoryReport",
    "NetcalcError",
    "Network",
    "OperationMatch",
    "OperationTime",
    "OutputAgreement",
    "OutputError",
    "Packed",
    "ParameterNorm",
    "PlanMemory",
    "Profile",
    "RoundingResult",
    "RunResult",
    "Section",
    "SettingReference",
    "SignalComparison",
    "SignalReport",
    "SignalRow",
    "SpecReference",
    "StorageReport",
    "StoredGroup",
    "StoredParameter",
    "Summary",
    "TensorReference",
    "TensorType",
    "TokensIn",
    "Totals",
    "TraceRow",
    "TrainingResult",
    "TrainingStep",
    "TypeTotals",
    "ValueCount",
    "VerifyReport",
    "WeightsReport",
    "__version__",
    "as_dict",
    "check",
    "compare",
    "describe",
    "from_torch",
    "import_spec",
    "load",
    "load_data",
    "loads",
    "read_checkpoint",
    "summary",
]

#: Public names by the module that defines them.  A name is imported on first use, so that importing netcalc is quick.
_EXPORTS = {
    "netcalc.analysis.checks": ("CheckReport", "CheckRow"),
    "netcalc.analysis.compare": ("Comparison", "Match", "OperationMatch"),
    "netcalc.analysis.cost": ("Analysis",),
    "netcalc.analysis.explain": ("Explanation", "Section"),
    "netcalc.analysis.figures": ("Cost",),
    "netcalc.analysis.memory": ("Memory",),
    "netcalc.analysis.precision.report": ("StorageReport", "StoredGroup"),
    "netcalc.analysis.memory_report": ("EngineMemory", "MemoryReport", "TokensIn"),
    "netcalc.analysis.signal.report": ("Finding", "SignalComparison", "SignalReport", "SignalRow"),
    "netcalc.reference.specs": ("LossReference", "SettingReference", "SpecReference", "TensorReference"),
    "netcalc.analysis.summary": ("Layer", "Summary", "Totals"),
    "netcalc.diagnostics": ("Diagnostic", "NetcalcError"),
    "netcalc.dims": ("Dim",),
    "netcalc.engine.compiled": ("Compiled",),
    "netcalc.engine.gradients": ("GradientResult",),
    "netcalc.engine.layer_errors": ("KeptParameters", "LayerError", "StoredParameter"),
    "netcalc.engine.layer_gradients": ("LayerGradient",),
    "netcalc.engine.plan": ("PlanMemory",),
    "netcalc.engine.profile": ("LayerTime", "OperationTime", "Profile"),
    "netcalc.engine.rounding": ("OutputError", "RoundingResult"),
    "netcalc.engine.run": ("RunResult",),
    "netcalc.loading": ("check", "compare", "describe", "import_spec", "load", "load_data", "loads", "read_checkpoint"),
    "netcalc.network": ("LayerShapes", "Network"),
    "netcalc.weights.content": (
        "Checkpoint",
        "CheckpointFile",
        "CheckpointTensor",
        "Copies",
        "Duplicate",
        "TypeTotals",
    ),
    "netcalc.weights.packing.unpacked": ("Packed",),
    "netcalc.weights.report": ("WeightsReport",),
    "netcalc.numerics.rounding.deviation": ("Deviation",),
    "netcalc.numerics.trace": ("TraceRow",),
    "netcalc.records": ("as_dict",),
    "netcalc.tensor_type": ("TensorType",),
    "netcalc.torch_modules": ("from_torch", "summary"),
    "netcalc.verification.agreement": ("Agreement", "FlopsAgreement", "OutputAgreement"),
    "netcalc.verification.report": ("Check", "Gap", "ValueCount", "VerifyReport"),
    "netcalc.training.result": ("ParameterNorm", "TrainingResult", "TrainingStep"),
}


def __getattr__(name: str) -> Any:
    for module, names in _EXPORTS.items():
        if name in names:
            from importlib import import_module

            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
