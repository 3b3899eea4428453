"""netcalc: exact shapes, parameters, operation counts and memory of neural-network architectures.

>>> import netcalc
>>> net = netcalc.load("resnet34", set={"batch": 8})
>>> net.params, net.macs
(21797672, 29310091264)

Networks:
    load(spec)                    network of a shipped spec, a file, config.json, .gguf, .keras, .onnx or "hf:org/name"
    loads(text)                   network of a spec in a string
    load_data(data)               network of a spec as Python data
    from_torch(module, *args)     network of a module of PyTorch
    summary(module, input_size)   summary of a module of PyTorch
    register_torch(op, cost=...)  work of an operator of your own
    import_spec(model)            spec of a model in a foreign format, as YAML

Without a network:
    compare(first, second, ...)   layers and totals of networks, and their differences
    compare_training(first, ...)  losses by step of networks on the same data
    compare_signals(first, ...)   signals and gradients of networks on the same data
    check(spec, ...)              shapes, requirements and published figures of specs
    reconcile_networks(a, b)      layers whose parameters or work make the difference of two networks
    report(first, second)         page of one network, or of two side by side, for a browser
    compute_optimal(flops)        parameters and tokens for a budget of training, by scaling laws
    reproduce(name, ...)          figures of papers and specs, computed anew
    describe(spec)                dims, vars, inputs and outputs of a spec
    list_specs(*words)            shipped specs
    list_operations(word)         operations and blocks
    describe_operation(name)      attributes, rules and source of an operation or block
    read_checkpoint(checkpoint)   tensors of a file, from its headers
    summarize_pipeline(pipeline)  parts of a pipeline of diffusers, with their figures and totals

A Network has the figures (params, macs, flops, shapes), its parts (inputs, outputs, layers, dims, vars), and a method
for each command: summary, explain, memory, run, verify, signal, train.  More methods are analysis, cost, gradients,
rounding_errors, compile, quantized, pruned, at_step and specialize.

Results print as their commands do.  as_dict(result) gives the JSON record, result.to_dict() the columns of a data
frame.  Bad input raises NetcalcError, with Diagnostic objects that have a code, a place and a hint.

help(netcalc.load) and help(netcalc.Network) describe arguments, and docs/python-api.md everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netcalc.version import __version__ as __version__

if TYPE_CHECKING:
    from netcalc.analysis.budget import BudgetReport as BudgetReport
    from netcalc.analysis.budget import BudgetRow as BudgetRow
    from netcalc.analysis.budget import HeavyPart as HeavyPart
    from netcalc.analysis.checks import CheckReport as CheckReport
    from netcalc.analysis.checks import CheckRow as CheckRow
    from netcalc.analysis.closed_forms import ClosedForm as ClosedForm
    from netcalc.analysis.closed_forms import Formulas as Formulas
    from netcalc.analysis.closed_forms import FormulaTerm as FormulaTerm
    from netcalc.analysis.closed_forms import TermSource as TermSource
    from netcalc.analysis.compare import Comparison as Comparison
    from netcalc.analysis.compare import Match as Match
    from netcalc.analysis.compare import OperationMatch as OperationMatch
    from netcalc.analysis.cost import Analysis as Analysis
    from netcalc.analysis.devices import Device as Device
    from netcalc.analysis.differences import Difference as Difference
    from netcalc.analysis.differences import DifferentLayer as DifferentLayer
    from netcalc.analysis.differences import DifferentOperation as DifferentOperation
    from netcalc.analysis.differences import EqualLayers as EqualLayers
    from netcalc.analysis.differences import NetworkReconciliation as NetworkReconciliation
    from netcalc.analysis.explain import Explanation as Explanation
    from netcalc.analysis.explain import Section as Section
    from netcalc.analysis.exported import Exported as Exported
    from netcalc.analysis.figures import Cost as Cost
    from netcalc.analysis.file_weights import FileWeights as FileWeights
    from netcalc.analysis.fit.edge import Edge as Edge
    from netcalc.analysis.fit.report import DeviceFit as DeviceFit
    from netcalc.analysis.fit.report import FitReport as FitReport
    from netcalc.analysis.fit.report import PlacementFit as PlacementFit
    from netcalc.analysis.fit.report import SchemeFit as SchemeFit
    from netcalc.analysis.fit.report import SplitFit as SplitFit
    from netcalc.analysis.graph import GraphEdge as GraphEdge
    from netcalc.analysis.graph import GraphGroup as GraphGroup
    from netcalc.analysis.graph import GraphNode as GraphNode
    from netcalc.analysis.graph import GraphReport as GraphReport
    from netcalc.analysis.laws import ComputeOptimal as ComputeOptimal
    from netcalc.analysis.laws import CurvePoint as CurvePoint
    from netcalc.analysis.laws import Optimum as Optimum
    from netcalc.analysis.memory import Memory as Memory
    from netcalc.analysis.memory_report import EngineMemory as EngineMemory
    from netcalc.analysis.memory_report import MemoryReport as MemoryReport
    from netcalc.analysis.memory_report import TokensIn as TokensIn
    from netcalc.analysis.memory_table import MemoryPoint as MemoryPoint
    from netcalc.analysis.memory_table import MemoryTable as MemoryTable
    from netcalc.analysis.page import NetworkPage as NetworkPage
    from netcalc.analysis.page import ReportPage as ReportPage
    from netcalc.analysis.page import Workings as Workings
    from netcalc.analysis.parallel.report import SplitReport as SplitReport
    from netcalc.analysis.parallel.split import Split as Split
    from netcalc.analysis.parallel.split import StageMemory as StageMemory
    from netcalc.analysis.parallel.traffic import Traffic as Traffic
    from netcalc.analysis.pipeline import PartFigures as PartFigures
    from netcalc.analysis.pipeline import PipelinePart as PipelinePart
    from netcalc.analysis.pipeline import PipelineSummary as PipelineSummary
    from netcalc.analysis.placement import BesideModel as BesideModel
    from netcalc.analysis.placement import PlaceMemory as PlaceMemory
    from netcalc.analysis.placement import Placement as Placement
    from netcalc.analysis.precision.report import StorageReport as StorageReport
    from netcalc.analysis.precision.report import StoredGroup as StoredGroup
    from netcalc.analysis.reconciliation import ReconciledGroup as ReconciledGroup
    from netcalc.analysis.reconciliation import ReconciledLayer as ReconciledLayer
    from netcalc.analysis.reconciliation import ReconciledTotal as ReconciledTotal
    from netcalc.analysis.reconciliation import Reconciliation as Reconciliation
    from netcalc.analysis.reported import Diagnosis as Diagnosis
    from netcalc.analysis.reported import Explained as Explained
    from netcalc.analysis.roofline import LayerBound as LayerBound
    from netcalc.analysis.scaling import FigureScaling as FigureScaling
    from netcalc.analysis.scaling import PartCrossing as PartCrossing
    from netcalc.analysis.scaling import PartScaling as PartScaling
    from netcalc.analysis.scaling import ScalingPoint as ScalingPoint
    from netcalc.analysis.scaling import ScalingReport as ScalingReport
    from netcalc.analysis.signal.report import Finding as Finding
    from netcalc.analysis.signal.report import Reach as Reach
    from netcalc.analysis.signal.report import SignalComparison as SignalComparison
    from netcalc.analysis.signal.report import SignalReport as SignalReport
    from netcalc.analysis.signal.report import SignalRow as SignalRow
    from netcalc.analysis.signal.report import Stage as Stage
    from netcalc.analysis.solution import Aimed as Aimed
    from netcalc.analysis.solution import Conflict as Conflict
    from netcalc.analysis.solution import LawAnswer as LawAnswer
    from netcalc.analysis.solution import Met as Met
    from netcalc.analysis.solution import Solution as Solution
    from netcalc.analysis.solution import Step as Step
    from netcalc.analysis.solution import Unknown as Unknown
    from netcalc.analysis.summary import Layer as Layer
    from netcalc.analysis.summary import Summary as Summary
    from netcalc.analysis.summary import Totals as Totals
    from netcalc.analysis.sweep_report import Objective as Objective
    from netcalc.analysis.sweep_report import Refusal as Refusal
    from netcalc.analysis.sweep_report import Sweep as Sweep
    from netcalc.analysis.sweep_report import SweepPoint as SweepPoint
    from netcalc.analysis.time_report import TimeReport as TimeReport
    from netcalc.analysis.time_report import TrainingRun as TrainingRun
    from netcalc.diagnostics import Diagnostic as Diagnostic
    from netcalc.diagnostics import NetcalcError as NetcalcError
    from netcalc.dims import Dim as Dim
    from netcalc.engine.compiled import Compiled as Compiled
    from netcalc.engine.gradients import GradientResult as GradientResult
    from netcalc.engine.layer_errors import KeptParameters as KeptParameters
    from netcalc.engine.layer_errors import LayerError as LayerError
    from netcalc.engine.layer_errors import StoredParameter as StoredParameter
    from netcalc.engine.layer_gradients import LayerGradient as LayerGradient
    from netcalc.engine.plan import PlanMemory as PlanMemory
    from netcalc.engine.profile import LayerTime as LayerTime
    from netcalc.engine.profile import OperationTime as OperationTime
    from netcalc.engine.profile import Profile as Profile
    from netcalc.engine.rounding import OutputError as OutputError
    from netcalc.engine.rounding import RoundingResult as RoundingResult
    from netcalc.engine.run import RunResult as RunResult
    from netcalc.laws import compute_optimal as compute_optimal
    from netcalc.loading import check as check
    from netcalc.loading import compare as compare
    from netcalc.loading import compare_signals as compare_signals
    from netcalc.loading import compare_training as compare_training
    from netcalc.loading import describe as describe
    from netcalc.loading import describe_operation as describe_operation
    from netcalc.loading import import_spec as import_spec
    from netcalc.loading import list_operations as list_operations
    from netcalc.loading import list_specs as list_specs
    from netcalc.loading import load as load
    from netcalc.loading import load_data as load_data
    from netcalc.loading import loads as loads
    from netcalc.loading import read_checkpoint as read_checkpoint
    from netcalc.loading import reproduce as reproduce
    from netcalc.loading import summarize_pipeline as summarize_pipeline
    from netcalc.network import LayerShapes as LayerShapes
    from netcalc.network import Network as Network
    from netcalc.numerics.rounding.deviation import Deviation as Deviation
    from netcalc.numerics.trace import Histogram as Histogram
    from netcalc.numerics.trace import TraceRow as TraceRow
    from netcalc.pages import report as report
    from netcalc.reconciling import reconcile_networks as reconcile_networks
    from netcalc.records import as_dict as as_dict
    from netcalc.reference.blocks import BlockReference as BlockReference
    from netcalc.reference.operation_list import OperationList as OperationList
    from netcalc.reference.operation_list import OperationPage as OperationPage
    from netcalc.reference.operations import Listed as Listed
    from netcalc.reference.operations import OperationReference as OperationReference
    from netcalc.reference.spec_list import ListedSpec as ListedSpec
    from netcalc.reference.spec_list import SpecList as SpecList
    from netcalc.reference.specs import LossReference as LossReference
    from netcalc.reference.specs import SettingReference as SettingReference
    from netcalc.reference.specs import SpecReference as SpecReference
    from netcalc.reference.specs import TensorReference as TensorReference
    from netcalc.reproduction.report import PublishedFigure as PublishedFigure
    from netcalc.reproduction.report import Reproduction as Reproduction
    from netcalc.tensor_type import TensorType as TensorType
    from netcalc.torch_modules import from_torch as from_torch
    from netcalc.torch_modules import register_torch as register_torch
    from netcalc.torch_modules import summary as summary
    from netcalc.training.comparison import TrainingComparison as TrainingComparison
    from netcalc.training.result import ParameterNorm as ParameterNorm
    from netcalc.training.result import TrainingResult as TrainingResult
    from netcalc.training.result import TrainingStep as TrainingStep
    from netcalc.training.result import WatchedLayer as WatchedLayer
    from netcalc.verification.agreement import Agreement as Agreement
    from netcalc.verification.agreement import FlopsAgreement as FlopsAgreement
    from netcalc.verification.agreement import OutputAgreement as OutputAgreement
    from netcalc.verification.reference_outputs import ReferenceOutput as ReferenceOutput
    from netcalc.verification.reference_outputs import ReferenceReport as ReferenceReport
    from netcalc.verification.report import Check as Check
    from netcalc.verification.report import Gap as Gap
    from netcalc.verification.report import ValueCount as ValueCount
    from netcalc.verification.report import VerifyReport as VerifyReport
    from netcalc.weights.content import Checkpoint as Checkpoint
    from netcalc.weights.content import CheckpointFile as CheckpointFile
    from netcalc.weights.content import CheckpointTensor as CheckpointTensor
    from netcalc.weights.content import Copies as Copies
    from netcalc.weights.content import Duplicate as Duplicate
    from netcalc.weights.content import TypeTotals as TypeTotals
    from netcalc.weights.packing.unpacked import Packed as Packed
    from netcalc.weights.report import WeightsReport as WeightsReport


#: Public names by the module that defines them.  A name is imported on first use, so that importing netcalc is quick.
_EXPORTS = {
    "netcalc.analysis.budget": ("BudgetReport", "BudgetRow", "HeavyPart"),
    "netcalc.analysis.checks": ("CheckReport", "CheckRow"),
    "netcalc.analysis.closed_forms": ("ClosedForm", "FormulaTerm", "Formulas", "TermSource"),
    "netcalc.analysis.compare": ("Comparison", "Match", "OperationMatch"),
    "netcalc.analysis.cost": ("Analysis",),
    "netcalc.analysis.differences": (
        "Difference",
        "DifferentLayer",
        "DifferentOperation",
        "EqualLayers",
        "NetworkReconciliation",
    ),
    "netcalc.analysis.explain": ("Explanation", "Section"),
    "netcalc.analysis.exported": ("Exported",),
    "netcalc.analysis.figures": ("Cost",),
    "netcalc.analysis.memory": ("Memory",),
    "netcalc.analysis.devices": ("Device",),
    "netcalc.analysis.fit.edge": ("Edge",),
    "netcalc.analysis.fit.report": ("DeviceFit", "FitReport", "PlacementFit", "SchemeFit", "SplitFit"),
    "netcalc.analysis.reported": ("Diagnosis", "Explained"),
    "netcalc.analysis.roofline": ("LayerBound",),
    "netcalc.analysis.time_report": ("TimeReport", "TrainingRun"),
    "netcalc.analysis.pipeline": ("PartFigures", "PipelinePart", "PipelineSummary"),
    "netcalc.analysis.parallel.report": ("SplitReport",),
    "netcalc.analysis.parallel.split": ("Split", "StageMemory"),
    "netcalc.analysis.parallel.traffic": ("Traffic",),
    "netcalc.analysis.precision.report": ("StorageReport", "StoredGroup"),
    "netcalc.analysis.file_weights": ("FileWeights",),
    "netcalc.analysis.graph": ("GraphEdge", "GraphGroup", "GraphNode", "GraphReport"),
    "netcalc.analysis.memory_report": ("EngineMemory", "MemoryReport", "TokensIn"),
    "netcalc.analysis.page": ("NetworkPage", "ReportPage", "Workings"),
    "netcalc.analysis.memory_table": ("MemoryPoint", "MemoryTable"),
    "netcalc.analysis.placement": ("BesideModel", "PlaceMemory", "Placement"),
    "netcalc.analysis.reconciliation": ("ReconciledGroup", "ReconciledLayer", "ReconciledTotal", "Reconciliation"),
    "netcalc.analysis.sweep_report": ("Objective", "Refusal", "Sweep", "SweepPoint"),
    "netcalc.analysis.scaling": ("FigureScaling", "PartCrossing", "PartScaling", "ScalingPoint", "ScalingReport"),
    "netcalc.analysis.signal.report": ("Finding", "Reach", "SignalComparison", "SignalReport", "SignalRow", "Stage"),
    "netcalc.analysis.solution": ("Aimed", "Conflict", "LawAnswer", "Met", "Solution", "Step", "Unknown"),
    "netcalc.reconciling": ("reconcile_networks",),
    "netcalc.laws": ("compute_optimal",),
    "netcalc.analysis.laws": ("ComputeOptimal", "CurvePoint", "Optimum"),
    "netcalc.reference.blocks": ("BlockReference",),
    "netcalc.reference.operation_list": ("OperationList", "OperationPage"),
    "netcalc.reference.operations": ("Listed", "OperationReference"),
    "netcalc.reference.spec_list": ("ListedSpec", "SpecList"),
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
    "netcalc.loading": (
        "check",
        "compare",
        "compare_signals",
        "compare_training",
        "describe",
        "describe_operation",
        "import_spec",
        "list_operations",
        "list_specs",
        "load",
        "load_data",
        "loads",
        "read_checkpoint",
        "reproduce",
        "summarize_pipeline",
    ),
    "netcalc.network": ("LayerShapes", "Network"),
    "netcalc.pages": ("report",),
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
    "netcalc.numerics.trace": ("Histogram", "TraceRow"),
    "netcalc.records": ("as_dict",),
    "netcalc.reproduction.report": ("PublishedFigure", "Reproduction"),
    "netcalc.tensor_type": ("TensorType",),
    "netcalc.torch_modules": ("from_torch", "register_torch", "summary"),
    "netcalc.verification.agreement": ("Agreement", "FlopsAgreement", "OutputAgreement"),
    "netcalc.verification.reference_outputs": ("ReferenceOutput", "ReferenceReport"),
    "netcalc.verification.report": ("Check", "Gap", "ValueCount", "VerifyReport"),
    "netcalc.training.comparison": ("TrainingComparison",),
    "netcalc.training.result": ("ParameterNorm", "TrainingResult", "TrainingStep", "WatchedLayer"),
}


def __getattr__(name: str) -> Any:
    for module, names in _EXPORTS.items():
        if name in names:
            from importlib import import_module

            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *(name for names in _EXPORTS.values() for name in names)})
