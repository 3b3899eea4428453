"""Networks: what is counted, explained, planned, run and verified of a request, one method for each verb."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

from netcalc.arguments import accepts, checked, checked_argument, options_of, plain, texts
from netcalc.budget_options import BudgetOptions
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.fit_options import FitOptions
from netcalc.graph_options import GraphOptions
from netcalc.ir import Program, Value
from netcalc.notation_options import FormOptions, MemoryFormOptions
from netcalc.options import (
    BytesFrom,
    CountOptions,
    MemoryOptions,
    Mode,
    ReportName,
    SummaryOptions,
    TimeOptions,
    WorkOptions,
)
from netcalc.page_options import ReportOptions
from netcalc.reconcile_options import ReconcileOptions, ReportedOptions
from netcalc.request import Request
from netcalc.scaling_options import ScalingOptions
from netcalc.solve_options import SolveOptions
from netcalc.sweep_options import SweepOptions

if TYPE_CHECKING:
    from netcalc.analysis.budget import BudgetReport
    from netcalc.analysis.closed_forms import Formulas
    from netcalc.analysis.cost import Analysis
    from netcalc.analysis.explain import Explanation
    from netcalc.analysis.exported import Exported
    from netcalc.analysis.figures import Cost
    from netcalc.analysis.fit.report import FitReport
    from netcalc.analysis.graph import GraphReport
    from netcalc.analysis.memory_report import MemoryReport
    from netcalc.analysis.memory_table import MemoryTable
    from netcalc.analysis.page import ReportPage
    from netcalc.analysis.precision.report import StorageReport
    from netcalc.analysis.receptive_field import Fields
    from netcalc.analysis.reconciliation import Reconciliation
    from netcalc.analysis.reported import Diagnosis
    from netcalc.analysis.scaling import ScalingReport
    from netcalc.analysis.signal.report import SignalComparison, SignalReport
    from netcalc.analysis.solution import Solution
    from netcalc.analysis.summary import Layer, Summary
    from netcalc.analysis.sweep_report import Sweep
    from netcalc.analysis.time_report import TimeReport
    from netcalc.engine.compiled import Compiled
    from netcalc.engine.gradients import GradientResult
    from netcalc.engine.rounding import RoundingResult
    from netcalc.engine.run import RunResult
    from netcalc.export_options import ExportOptions
    from netcalc.formats.counted_files import CountedFiles
    from netcalc.numerics.given import Given
    from netcalc.ranges import RangesArgument
    from netcalc.reproduction.report import Reproduction
    from netcalc.run_options import (
        CompileOptions,
        ExplainOptions,
        GradientOptions,
        ReferenceOptions,
        RoundingOptions,
        RunOptions,
        SignalOptions,
        TrainOptions,
        VerifyOptions,
        WeightsOptions,
    )
    from netcalc.tensor_type import TensorType
    from netcalc.training.result import TrainingResult
    from netcalc.verification.agreement import Agreement
    from netcalc.verification.reference_outputs import ReferenceReport
    from netcalc.verification.report import VerifyReport
    from netcalc.weights.checkpoint_files import Weights
    from netcalc.weights.report import WeightsReport

#: Options of ``explain`` that say what is executed.
_EXECUTED = ("weights", "cast", "init", "seed", "max_work")
#: Name of the loss of a spec among outputs and losses.
_LOSS = "loss"


class LayerShapes(NamedTuple):
    """Shapes of the inputs and outputs of an operation."""

    inputs: tuple[tuple[Dim, ...], ...]
    outputs: tuple[tuple[Dim, ...], ...]


class Network:
    """A network with all shapes computed, created by :func:`netcalc.load` and its siblings.

    ``request`` is the source with everything that was asked of it.

    >>> import netcalc
    >>> net = netcalc.load("resnet34")
    >>> net.params
    21797672
    >>> net.shapes["conv1"].outputs
    ((1, 64, 112, 112),)
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        told_by_files = request.source.storage.unsettled and self.own_weights is not None
        #: The intermediate representation, see :mod:`netcalc.ir`.
        self.program: Program = (request.with_open_storage() if told_by_files else request).program
        self._analyses: dict[tuple[Any, ...], Analysis] = {}
        self._files: dict[BytesFrom, CountedFiles] = {}

    @property
    def name(self) -> str:
        """Name of the spec."""
        return self.program.name

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the spec and its settings, which commands print on standard error."""
        return self.program.warnings

    # -- derived networks ---------------------------------------------------------------------------

    @checked
    def at_step(self, past: int, new: int) -> Network:
        """Return the network at a step of decoding, with its caches as outputs, and as inputs if there is a past.

        Args:
            past: number of positions that earlier steps have seen.
            new: number of positions of this step.

        Raises:
            NetcalcError: E502 for a network whose spec has no caches.

        >>> import netcalc
        >>> step = netcalc.load("gpt2").at_step(past=1023, new=1)
        >>> len(step.program.caches.entries), step.program.inputs[1].name
        (24, 'past_key_values.0.key')
        """
        return Network(self.request.at_step(past, new))

    def specialize(self, **sizes: int) -> Network:
        """Return the network with symbolic dims replaced by sizes; see :func:`netcalc.ir.specialize.specialize`.

        >>> import netcalc
        >>> net = netcalc.load("resnet34", symbolic=["batch"])
        >>> net.specialize(batch=8).macs == 8 * netcalc.load("resnet34").macs
        True
        """
        return Network(self.request.with_sizes({name: plain(size) for name, size in sizes.items()}))

    def quantized(self, assignments: str | Collection[str], /) -> Network:
        """Return the network with its parameters stored by schemes too; shapes and work are the same.

        Args:
            assignments: ``[PATTERN=]SCHEME``, of which the first that matches the path of a parameter counts.

        Raises:
            NetcalcError: E502 for a scheme that does not exist, E503 for a pattern that matches no parameter.

        >>> import netcalc
        >>> net = netcalc.load("llama-3.1-8b")
        >>> net.quantized("q4_k_m").cost().weight_bytes
        4912898048
        >>> net.quantized(["*.mlp.*=int4-g128", "bfloat16"]).cost().weight_bytes
        7692886016
        """
        return Network(self.request.stored(quantize=texts(assignments)))

    def pruned(self, assignments: str | Collection[str], /) -> Network:
        """Return the network with elements of its parameters removed too; shapes and work are the same.

        Args:
            assignments: ``[PATTERN=]SHARE``: ``"0.5"``, ``"0.5-csr"`` or ``"2:4"``; the first that matches counts.

        Raises:
            NetcalcError: E502 for a share that is none, or for a scheme without a layout for it; E503 for a pattern
                that matches no parameter.

        >>> import netcalc
        >>> net = netcalc.load("resnet34", dtype="float16")
        >>> net.cost().weight_bytes, net.pruned("2:4").cost().weight_bytes
        (43595344, 24994384)
        """
        return Network(self.request.stored(prune=texts(assignments)))

    def to_yaml(self) -> str:
        """Return the text of the spec, complete in itself: with its settings, and with what it extends and imports.

        >>> import netcalc
        >>> text = netcalc.load("resnet34", set={"classes": 10}).to_yaml()
        >>> netcalc.loads(text).params
        21289802
        """
        from netcalc.formats.spec_text import spec_text

        return spec_text(self.request.document())

    # -- count --------------------------------------------------------------------------------------

    @accepts
    def analysis(self, convention: str = "netcalc", **options: Unpack[WorkOptions]) -> Analysis:
        """Return the costs by layer and by operation under a counting convention.

        Raises:
            NetcalcError: E701 if the convention is unknown, or counts no backward pass; E502 if an argument is of a
                wrong type, as in all methods, or names no optimizer, input or output; E503 if a pattern of ``exclude``
                matches no layer.

        >>> import netcalc
        >>> total = netcalc.load("resnet18").analysis("torch", backward=True, input_gradients=["image"]).total
        >>> total.flops, total.flops_backward, total.flops_total
        (3628146688, 7256293376, 10884440064)
        """
        from netcalc.analysis.cost import analyze

        backward, training, loss = options["backward"], options["training"], options["loss"]
        input_gradients, exclude = tuple(options["input_gradients"]), tuple(options["exclude"])
        request = self.request.counted(training)
        fused = options["attention"] == "flash"
        if fused and not backward and training is None:
            message = "--attention flash counts the backward pass of its kernel"
            raise NetcalcError(Diagnostic("E502", message, hint="add --backward or --training OPTIMIZER"))
        key = convention, backward, training, input_gradients, loss, exclude, fused
        if key not in self._analyses:
            starts_from_loss = loss == _LOSS or (loss is None and training is not None)
            self._analyses[key] = analyze(
                request.program,
                convention,
                backward=backward,
                optimizer=training,
                inputs=input_gradients,
                loss=loss,
                with_loss=request.program_with_loss if starts_from_loss and request.loss else None,
                exclude=exclude,
                fused=fused,
            )
        return self._analyses[key]

    @accepts
    def cost(self, convention: str = "netcalc", **options: Unpack[WorkOptions]) -> Cost:
        """Return the total cost: parameters, bytes, MACs and FLOPs."""
        return self.analysis(convention, **options).total

    @accepts
    def summary(
        self, convention: str = "netcalc", *, view: ReportName = "summary", **options: Unpack[SummaryOptions]
    ) -> Summary:
        """Return the totals and layers that ``netcalc summary`` prints.

        Args:
            view: ``"shapes"``, ``"params"``, ``"flops"`` or ``"summary"``: the figures that are shown and recorded.

        Raises:
            NetcalcError: as :meth:`analysis` does; E502 for receptive fields without a spatial input; E701 for the view
                ``"params"`` under a convention without a count of parameters.
        """
        from netcalc.analysis.own_figures import require_parameters
        from netcalc.analysis.summary import Summary

        fields = self.receptive_fields() if options["receptive_field"] else None
        analysis = self.analysis(convention, **_work(options))
        if view == "params":
            require_parameters(analysis.convention)
        return Summary(analysis, view, depth=options["depth"], unroll=options["unroll"], receptive=fields)

    @accepts
    def formulas(
        self, convention: str = "netcalc", *, view: ReportName = "summary", **options: Unpack[FormOptions]
    ) -> Formulas:
        """Return the totals of a report as formulas of the symbolic sizes.

        Args:
            view: ``"params"``, ``"flops"`` or ``"summary"``: the report whose totals are written.

        Raises:
            NetcalcError: as :meth:`analysis` does; E404 if no total has symbols, or if a total has a function of sizes
                that the notation lacks.

        >>> import netcalc
        >>> net = netcalc.load("gpt2", symbolic=["layers", "d_model"])
        >>> net.formulas(view="params").formulas[0].formula
        '12·layers·d_model² + 13·layers·d_model + 51,283·d_model'
        """
        from netcalc.analysis.closed_forms import formulas_of

        analysis = self.analysis(convention, **_work(options))
        return formulas_of(analysis, view, options["formula"] or "text", self.program.symbolic)

    @accepts
    def scaling(self, **options: Unpack[ScalingOptions]) -> ScalingReport:
        """Return how parameters and work grow with sizes, and the sizes at which parts overtake each other.

        Each size grows alone, and the others stay as they are.

        Raises:
            NetcalcError: as :meth:`analysis` does; E404 where a size cannot stay symbolic; E502 for a name or a size
                that the spec does not have, and for an empty range.

        >>> import netcalc
        >>> crossing = netcalc.load("llama-3-8b").scaling(over="length").crossings[0]
        >>> crossing.first, crossing.second, crossing.size
        ('model.layers.*.self_attn', 'model.layers.*.mlp', 16384)
        """
        from netcalc.analysis.scaling import scaling_report
        from netcalc.planning.scaling import scaled_request

        request, sizes, defaults = scaled_request(self.request, options["over"])
        analysis = Network(request).analysis(options["convention"], **_work(options))
        return scaling_report(analysis, sizes, defaults)

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        """Types of the inputs by name."""
        return self.summary().inputs

    @property
    def outputs(self) -> Mapping[str, TensorType]:
        """Types of the outputs by name."""
        return self.summary().outputs

    @property
    def dims(self) -> Mapping[str, Dim]:
        """Sizes of the dims by name."""
        return dict(self.program.dims)

    @property
    def vars(self) -> Mapping[str, Any]:
        """Values of the vars by name."""
        return dict(self.program.vars)

    @property
    def layers(self) -> Sequence[Layer]:
        """The operations with their figures; equal instances of a repeat are one of them."""
        return self.summary().layers

    @property
    def params(self) -> Dim:
        """Number of parameters, trainable and frozen; a tied parameter counts once."""
        return self.cost().params

    @property
    def macs(self) -> Dim:
        """Number of multiply-adds of a forward pass."""
        return self.cost().macs

    @property
    def flops(self) -> Dim:
        """Number of arithmetic operations of a forward pass; a multiply-add counts as two."""
        return self.cost().flops

    @cached_property
    def shapes(self) -> Mapping[str, LayerShapes]:
        """Shapes of every operation by its full path, repeats unrolled; NetcalcError (E502) if there are too many."""
        from netcalc.analysis.counting import require_unrolled
        from netcalc.analysis.walk import instances

        require_unrolled(self.program)
        return {
            instance.path: LayerShapes(_shapes(instance.node.inputs), _shapes(instance.node.outputs))
            for instance in instances(self.program)
        }

    def receptive_fields(self) -> Mapping[str, Fields]:
        """Return the receptive field of every operation by its full path, repeats unrolled.

        A field has an item for each spatial axis of the input (N, C, L…): size, stride and offset in elements of the
        input; it is empty if the layer does not depend on the input.

        Raises:
            NetcalcError: E502 if no input is floating point with spatial axes.

        >>> import netcalc
        >>> height, width = netcalc.load("resnet18").receptive_fields()["layer4.1.conv2"]
        >>> height.size, height.stride == 32
        (435, True)
        """
        from netcalc.analysis.receptive_field import receptive_fields

        return receptive_fields(self.program)

    @accepts
    def explain(
        self, path: str | None = None, inputs: Mapping[str, Any] | None = None, **options: Unpack[ExplainOptions]
    ) -> Explanation:
        """Return the formulas and numbers behind a layer, or behind the whole network.

        They are those of the counts, or with ``device`` of :meth:`time`, with ``fit`` of :meth:`fit`, and with
        ``memory`` of :meth:`memory`.

        Args:
            path: path of the layer or block, or None.
            inputs: as for :meth:`run`; with them, or with ``values``, the explanation has the working of the layer in
                numbers.

        Raises:
            NetcalcError: E502 for options of what is not explained, and for what only a working in numbers has; E503 if
                there is no such path; as the explained method does, and :meth:`run` for a working in numbers.

        >>> import netcalc
        >>> found = netcalc.load("tutorial-layer-norm").explain("norm", {"x": [10, 2, -5, 25]}).sections[-1]
        >>> [step.value for step in found.steps if step.label == "variance"]
        [124.5]
        """
        executed = {name: options.pop(name) for name in (*_EXECUTED, "values", "at")}  # type: ignore[misc]
        in_numbers = inputs or executed["values"] or any(executed[name] is not None for name in ("weights", "init"))
        from netcalc.planning.explained import explained, is_planned

        if is_planned(options):
            if in_numbers or executed["at"]:
                raise NetcalcError(Diagnostic("E502", "only a layer has a working in numbers"))
            return explained(self.request, path, options)
        if in_numbers:
            return self._explained_in_numbers(path, inputs, options, executed)
        if executed["at"]:
            raise NetcalcError(Diagnostic("E502", "--at is of a working in numbers", hint="add --values or --input"))
        return self._explained(path, options)

    def _explained(self, path: str | None, options: Any) -> Explanation:
        """Return the explanation by formulas."""
        bytes_from, window = options["bytes_from"], options["window"]
        if options["memory"]:
            if path or any(options[name] for name in ("backward", "loss", "input_gradients", "exclude")):
                message = "--memory explains the memory of a whole forward pass, or of a step of training"
                raise NetcalcError(Diagnostic("E502", message))
            from netcalc.planning.explained import explained_memory

            return explained_memory(self.request, options, self._counted_files)
        if bytes_from != "headers":
            raise NetcalcError(Diagnostic("E502", "--bytes-from goes with --memory"))
        from netcalc.analysis.explain import explain

        counted = CountOptions(**{name: options[name] for name in options_of(CountOptions)})  # type: ignore
        analysis = self.analysis(**counted)  # its program may end in the loss, which is no output of the network
        program = self.request.counted(options["training"]).program
        if path and options["exclude"]:
            raise NetcalcError(Diagnostic("E502", "--exclude is of the totals of a whole network", hint="leave it out"))
        return explain(program, path, analysis.convention, analysis.backward, window, options["exclude"])

    def _explained_in_numbers(
        self, path: str | None, inputs: Mapping[str, Any] | None, options: Any, executed: Any
    ) -> Explanation:
        """Return the explanation of a layer with its working in numbers, or with its initial values."""
        from netcalc.engine.working import initial_sections, working_sections

        if path is None or options["memory"]:
            hint = "for example netcalc explain tutorial-layer-norm norm --input 'x=[10, 2, -5, 25]'"
            raise NetcalcError(Diagnostic("E502", "only a layer has a working in numbers", hint=hint))
        request, given = self._given(inputs)
        values, at, init = executed.pop("values"), executed.pop("at"), executed["init"]
        executed["init"] = "default" if init is None else init
        program, loss = self._with_loss(options["loss"], request) if options["backward"] else (request.program, None)
        if isinstance(loss, Mapping):
            options["loss"] = next(iter(loss))
        explained = Network(request)._explained(path, {**options})
        (program, arrays), opened = self._pass(executed, request, given, program)
        sections = list(explained.sections)
        shows_values = inputs or values or executed["weights"] is not None
        if init is not None:
            initial = tuple(initial_sections(program, path, executed["init"], opened["seed"]))
            if not initial and not shows_values:
                hint = "name a layer with parameters"
                raise NetcalcError(Diagnostic("E502", f"nothing is initialized at {path!r}", hint=hint))
            sections += initial
        if shows_values:
            sections += working_sections(
                program, path, arrays, at=at or (), backward=options["backward"], loss=loss, **opened
            )
        return replace(explained, sections=tuple(sections))

    # -- plan ---------------------------------------------------------------------------------------

    @accepts
    def memory(self, **options: Unpack[MemoryOptions]) -> MemoryReport:
        """Return weights, caches and states after the step, and the peak of the activations, in bytes.

        Weights of a model in files have the bytes of their headers, as :meth:`audit` reads them.

        Raises:
            NetcalcError: E502 for a bad argument, or a phase of decoding of a network that does not decode; E404 for
                ``phase``, ``training``, ``tokens_in`` or ``engine`` with symbolic sizes; E603 for training with too
                many operations to go through one by one; E007 if the headers contradict the model, E605 if the files
                cannot be read, E008 if the Hub cannot be.

        >>> import netcalc
        >>> report = netcalc.load("gpt2", dtype="float16").memory(tokens_in="1GiB")  # GPT-2 has 1,024 positions
        >>> report.token_bytes, report.tokens_in.tokens["ideal"]
        (36864, 1024)
        """
        from netcalc.planning.memory import memory_of

        return memory_of(self.request, options, self._counted_files)

    @accepts
    def memory_formulas(self, **options: Unpack[MemoryFormOptions]) -> Formulas:
        """Return weights, buffers, caches, activations and totals of :meth:`memory` as formulas, in bytes.

        Raises:
            NetcalcError: as :meth:`memory` does; E404 if nothing has symbols, or if a part has a function of sizes that
                the notation lacks.

        >>> import netcalc
        >>> net = netcalc.load("resnet18", symbolic=["batch"])
        >>> net.memory_formulas().formulas[0].formula
        '6,422,528·batch'
        """
        from netcalc.analysis.memory_forms import memory_formulas
        from netcalc.planning.memory import memory_of

        report = memory_of(self.request, options, self._counted_files)
        return memory_formulas(report, options["formula"] or "text")

    @accepts
    def memory_over(self, over: RangesArgument, **options: Unpack[MemoryOptions]) -> MemoryTable:
        """Return the memory at each combination of values of ranges: the totals that :meth:`memory` has there.

        Args:
            over: texts such as ``"length=2048,8192"``, ``"batch=1:8"`` and ``"length=log:1k:128k:8"``, or values by
                name.  ``cache`` is ``"ideal"`` by default.

        Raises:
            NetcalcError: E502 for a malformed range, or an option of one point alone (``tokens_in``, ``engine``,
                ``depth``); as :meth:`memory` does if the network has none of the sizes.

        >>> import netcalc
        >>> table = netcalc.load("llama-3-8b").memory_over(["length=2k,8k", "batch=1,8"], phase="decode")
        >>> [(point.sizes, round(point.total / 2**30, 1)) for point in table.points][-1]
        ({'length': 8192, 'batch': 8}, 23.0)
        """
        from netcalc.planning.memory_table import memory_over
        from netcalc.ranges import ranges_of

        return memory_over(self.request, ranges_of(over), options)

    @accepts
    def sweep(self, over: RangesArgument, **options: Unpack[SweepOptions]) -> Sweep:
        """Return figures of the network at many values of its dims and vars: each combination, or drawn ones.

        Values that the spec does not take are points with the reason in place of figures.

        Args:
            over: texts such as ``"depth=2,4,8"``, ``"width=0.25:2:0.25"`` and ``"d_model=log:256:4096:9"``, or values
                by name.  Settings of the network such as ``heads="${d_model // 64}"`` follow from them.

        Raises:
            NetcalcError: E502 before any work for a malformed or empty range, a name that the spec does not have, a
                value outside its limits, and figures that do not exist; E004 if the file of ``join`` cannot be read.

        >>> import netcalc
        >>> network = netcalc.load("gpt2", set={"heads": "${d_model // 64}"})
        >>> sweep = network.sweep({"d_model": range(256, 1025, 256)})
        >>> sweep.columns["heads"].tolist(), sweep.columns["params"].tolist()
        ([4, 8, 12, 16], [22605568, 64085504, 124439808, 203668480])
        """
        from netcalc.sweep.sweeping import sweep

        return sweep(self.request, over, options)

    @accepts
    def fit(self, **options: Unpack[FitOptions]) -> FitReport:
        """Return if a workload fits the memory of a device, with the largest batch and length that do, and schemes.

        Without ``device`` the answer is a table over common ones.  ``batch`` and ``length`` are those of the settings
        by default, or else 1, and the smaller of 8,192 and the model's context.

        Raises:
            NetcalcError: E502 for a bad argument, or a batch, length or phase that the network does not have; E404 for
                symbolic sizes; as :meth:`memory` does.

        >>> import netcalc
        >>> report = netcalc.load("llama-3.1-8b").fit(device="80GiB")
        >>> report.fits, report.largest_batch.number, report.largest_length.number
        (True, 37, 310008)
        """
        from netcalc.planning.fit import fit_of

        return fit_of(self.request, options)

    @accepts
    def budget(self, **options: Unpack[BudgetOptions]) -> BudgetReport:
        """Return the figures of a network with their limits: those given, those of its spec, and those of a record.

        Raises:
            NetcalcError: E502 without any limit, for a malformed one, and for a record of another kind or convention;
                E001 or E004 if it cannot be read; E404 for symbolic sizes; E701 for an unknown convention.

        >>> import netcalc
        >>> report = netcalc.load("resnet34").budget(max_params="20M", max_macs="4G")
        >>> [(row.figure, row.ok, row.excess) for row in report.rows]
        [('params', False, 1797672), ('macs', True, -336238592)]
        """
        from netcalc.planning.budget import budget_of

        return budget_of(self.request, options)

    @accepts
    def solve(self, **options: Unpack[SolveOptions]) -> Solution:
        """Return the sizes that meet conditions and make a figure greatest, least, or nearest to an amount.

        Raises:
            NetcalcError: E502 for a name that the spec does not have, a malformed or empty range, values outside the
                limits of the spec, a condition that cannot be read, an unknown figure, and an unknown that nothing
                limits; E404 for symbolic sizes; as :meth:`analysis`, :meth:`memory` and :meth:`time` do.

        >>> import netcalc
        >>> deit = netcalc.load("deit-base", set={"heads": 3})
        >>> answer = deit.solve(unknowns="d_model", under="params <= 5.72M")
        >>> answer.settings, answer.figures["params"], answer.proved
        ({'d_model': 192}, 5717416, True)
        """
        from netcalc.planning.solve.answer import solution_of

        convention, work = options["convention"], _work(options)
        return solution_of(self.request, options, lambda request: Network(request).analysis(convention, **work))

    @accepts
    def graph(self, **options: Unpack[GraphOptions]) -> GraphReport:
        """Return the graph of the network: boxes for operations and blocks, and the tensors between them.

        In a notebook it shows as a picture; ``plot("graph.svg")`` writes one.

        Raises:
            NetcalcError: as :meth:`analysis` does; E502 for unknown figures.

        >>> import netcalc
        >>> graph = netcalc.load("resnet34").graph(depth=1)
        >>> [(node.name, node.times) for node in graph.nodes if node.kind == "block"][:2]
        [('layer1.0–2', 3), ('layer2', 1)]
        """
        from netcalc.analysis.graph_tree import graph_of

        return graph_of(self.analysis(options["convention"]), options)

    @accepts
    def reconcile(self, **options: Unpack[ReconcileOptions]) -> Reconciliation:
        """Return the totals under two conventions, and the groups of terms that make the difference.

        They are totals of a forward pass; with ``backward`` of both passes, and with ``training`` of a step.

        Raises:
            NetcalcError: as :meth:`analysis` does for each convention.

        >>> import netcalc
        >>> found = netcalc.load("vit_b_16").reconcile(before="torchvision", after="fvcore")
        >>> [(group.op, group.term, group.difference) for group in found.groups][-1], found.difference
        (('layer_norm', 'norm', 18912000), -696415488)
        """
        from netcalc.analysis.reconciliation import reconcile

        is_backward = options["backward"] or options["training"] is not None
        first = options["before"] or ("torch" if is_backward else "torchvision")
        before = self.analysis(
            first,
            backward=options["backward"],
            training=options["training"],
            loss=options["loss"],
            input_gradients=options["input_gradients"],
            exclude=options["exclude"],
            attention=options["attention"],
        )
        return reconcile(before, before.under(options["after"] or "netcalc"), depth=options["depth"])

    @accepts
    def reconcile_reported(self, **options: Unpack[ReportedOptions]) -> Diagnosis:
        """Return what explains a reported number: choices of counting that reproduce each of its digits.

        Raises:
            NetcalcError: E502 for a text that is no number, or has no unit, for two numbers, and for a ``convention``
                that is shipped and searched anyway; E404 for symbolic sizes; as :meth:`analysis` does for a file.

        >>> import netcalc
        >>> netcalc.load("vit_b_16").reconcile_reported(reported="11.29G").explanations[0].choices
        ('convention fvcore-no-grad',)
        """
        from netcalc.planning.reported import diagnosed

        return diagnosed(self.request, options)

    @accepts
    def time(self, **options: Unpack[TimeOptions]) -> TimeReport:
        """Return a lower bound of the time of a pass on devices, by layer, as ``netcalc time`` prints it.

        The time of a layer is that of its multiply-adds at the peak of the device, or of its bytes at the bandwidth,
        whichever is longer, in seconds.  See :mod:`netcalc.analysis.roofline` and :mod:`netcalc.analysis.traffic`.
        Options of a split make the layers those of a rank, bound by what it sends too
        (:mod:`netcalc.analysis.parallel.bounds`).

        Raises:
            NetcalcError: E502 for a device that does not exist or has no speed, E605, E001 or E003 for the file of one;
                E502 for options that contradict each other, and for a split that is not possible or of another number
                of devices; E404 for symbolic sizes.

        >>> import netcalc
        >>> net = netcalc.load("llama-3-8b", dtype="bfloat16", set={"length": 4096})
        >>> step = net.time(device="h100", phase="decode")
        >>> f"{step.seconds * 1e3:.2f} ms, {step.limit}"
        '4.64 ms, memory'
        """
        from netcalc.planning.time import time_of

        return time_of(self.request, options)

    def storage(self) -> StorageReport:
        """Return how the parameters are stored: bytes and bits by scheme, and what stays in full precision and why.

        >>> import netcalc
        >>> report = netcalc.load("llama-3.1-8b", dtype="bfloat16").quantized("int4-g128").storage()
        >>> [(group.scheme, group.bits, group.reason) for group in report.groups][:2]
        [('int4-g128', 4.125, ''), ('bfloat16', 16.0, 'an embedding')]
        """
        from netcalc.analysis.precision.report import storage_report

        return storage_report(self.request.program)

    # -- show ---------------------------------------------------------------------------------------

    @accepts
    def report(self, **options: Unpack[ReportOptions]) -> ReportPage:
        """Return the page that ``netcalc report`` writes: totals, layers, memory and their workings, and what is asked.

        ``device`` adds the bound of :meth:`time`, and ``signal`` what :meth:`signal` measures.
        :func:`netcalc.report` has two networks side by side.

        Raises:
            NetcalcError: as :meth:`analysis`, :meth:`memory`, :meth:`time` and :meth:`signal` do.

        >>> import netcalc
        >>> page = netcalc.load("mlp").report()
        >>> page.networks[0].workings.layers["output"].sections[1].title
        'parameters'
        """
        from netcalc.analysis.page import ReportPage
        from netcalc.planning.page import network_page

        return ReportPage((network_page(self, self.name, options),))

    # -- convert ------------------------------------------------------------------------------------

    @accepts
    def export(self, file: str | Path, **options: Unpack[ExportOptions]) -> Exported:
        """Write the network to a file of another format, by its suffix.

        Args:
            file: an ``.onnx`` file, or a ``.py`` file for code of PyTorch.

        Raises:
            NetcalcError: E010 with everything that the format cannot express; E404 for symbolic shapes of parameters;
                E502 for an unknown suffix, for options that contradict each other, in training mode, and for a file
                that cannot be written; E601 if weights do not match the spec, E605 if they cannot be read.

        >>> import netcalc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = netcalc.load("mlp").export(f"{folder}/mlp.onnx", draw=True)
        >>> exported.format, exported.params, exported.nodes
        ('onnx', 535818, 5)
        """
        from netcalc.formats.export import Job, exported

        weights = self.open_weights(options["weights"])
        program = self._for_weights(weights, self.request.program, self.request)
        return exported(Job(self.request, program, str(file), options, weights))

    # -- compare ------------------------------------------------------------------------------------

    def reproduce(self) -> Reproduction:
        """Compute the published figures of the spec anew: its own, and those of papers that follow from it alone.

        They are those at published sizes; settings of the network do not apply.

        >>> import netcalc
        >>> netcalc.load("gpt2").reproduce().ok
        True
        """
        from netcalc.reproduction.figures import reproduced_of
        from netcalc.spec.shipped import shipped

        source = self.request.source

        def load(model: str, **options: Any) -> Network:
            options |= {name: texts(options.get(name, ())) for name in ("quantize", "prune")}
            return Network(Request(source, settings=options.pop("set", {}), model=model, **options))

        path = source.path
        name = self.name if path is None else path.stem
        return reproduced_of(name, source.document, load, ships=path is not None and shipped().get(name) == path)

    # -- run ----------------------------------------------------------------------------------------

    @accepts
    def run(self, inputs: Mapping[str, Any] | None = None, **options: Unpack[RunOptions]) -> RunResult:
        """Run a forward pass in NumPy.

        Args:
            inputs: arrays, numbers or files by name, see :mod:`netcalc.numerics.given`; other inputs are drawn at
                random, or take their default.

        Raises:
            NetcalcError: E404 for symbolic sizes, E502 for bad arguments, E503 if a pattern of ``trace`` matches no
                path, E601 if weights and E602 if inputs do not match the spec, E603 if memory is insufficient, E605 if
                a file cannot be read.
        """
        from netcalc.engine.run import forward

        network, opened = self._pass(options, *self._given(inputs))
        return forward(*network, **opened)

    @accepts
    def rounding_errors(
        self, inputs: Mapping[str, Any] | None = None, **options: Unpack[RoundingOptions]
    ) -> RoundingResult:
        """Run a network of rounded or pruned parameters, and in full precision, and compare outputs and layers.

        :meth:`run` gives the outputs alone.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also if no parameter is rounded or pruned.

        >>> import netcalc
        >>> result = netcalc.load("mlp").quantized("hidden.*=int8").rounding_errors()
        >>> 0.001 < result.errors[0].deviation.relative < 0.02
        True
        """
        from netcalc.engine.rounding import rounding_errors

        network, opened = self._pass(options, *self._given(inputs))
        depth, unroll = opened.pop("depth"), opened.pop("unroll")
        return replace(rounding_errors(*network, **opened), depth=depth, unroll=unroll)

    @accepts
    def gradients(
        self, inputs: Mapping[str, Any] | None = None, *, mode: Mode | None = None, **options: Unpack[GradientOptions]
    ) -> GradientResult:
        """Run forward and backward in NumPy.

        Args:
            inputs: arrays or files by name, with the inputs of the loss; others are drawn at random.
            mode: mode of the operations in place of the mode of the network.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also for a ``loss`` or ``wrt`` that names nothing.

        >>> import netcalc
        >>> result = netcalc.load("mlp").gradients(seed=1)
        >>> result.parameters["hidden.0.0.weight"].shape
        (512, 784)
        """
        from netcalc.engine.gradients import gradients

        request, given = self._given(inputs, mode)
        program, options["loss"] = self._with_loss(options["loss"], request)
        literal = [name for name, value in given.items() if value.is_written]
        network, opened = self._pass(options, request, given, program)
        return gradients(*network, inputs_wanted=literal, **opened)

    @accepts
    def train(self, steps: int = 20, **options: Unpack[TrainOptions]) -> TrainingResult:
        """Run steps of training in NumPy, to prove what is predicted of them; no way to train a model.

        Args:
            steps: number of all steps, steps of a checkpoint from which training goes on included.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also for a spec without loss, and for what no optimizer can do.

        >>> import netcalc
        >>> trained = netcalc.load("mlp").train(3, lr=0.01)
        >>> trained.losses[-1] < trained.losses[0]
        True
        """
        from netcalc.training import Recipe, train

        request, given = self._given(None, "train")
        program, options["loss"] = self._with_loss(options["loss"], request)
        (program, _), values = self._pass(options, request, given, program)
        names = ("lr", "loss", "schedule", "warmup", "least_lr", "step_size", "gamma", "clip", "seed")
        chosen = {name: values.pop(name) for name in names}
        recipe = Recipe(steps, values.pop("training") or "adamw", settings=values.pop("settings") or {}, **chosen)
        return train(program, recipe, **values)

    @accepts
    def compile(self, weights: Weights | None = None, **options: Unpack[CompileOptions]) -> Compiled:
        """Plan the network and load its weights once, for repeated passes.

        Raises:
            NetcalcError: as :meth:`run` does; also E502 in training mode or for too many operations.

        >>> import netcalc, numpy
        >>> session = netcalc.load("mlp").compile(seed=1)
        >>> session(x=numpy.zeros((1, 784), "float32"))["output"].shape
        (1, 10)
        """
        from netcalc.engine.compiled import Compiled

        opened = self.open_weights(weights)
        request = self.request.executed
        return Compiled(self._for_weights(opened, request.program, request), opened, **options)

    @accepts
    def verify(self, inputs: Mapping[str, Any] | None = None, **options: Unpack[VerifyOptions]) -> VerifyReport:
        """Run the network and compare shapes, types, parameters and work with the predictions, and a plan with kernels.

        With ``backward``, the work and the saved tensors of a backward pass are compared with theirs too.

        Args:
            inputs: as for :meth:`run`.

        Raises:
            NetcalcError: as :meth:`run` does; failures of kernels are reported as checks.
        """
        from netcalc.verification.verify import verify

        request, given = self._given(inputs)
        step = request.at_step
        network, opened = self._pass(options, request, given)
        return verify(*network, at_step=lambda past, new: step(past, new).program, **opened)

    @accepts
    def verify_reference(
        self, inputs: Mapping[str, Any] | None = None, **options: Unpack[ReferenceOptions]
    ) -> ReferenceReport:
        """Run a model with the weights of its file, let another library execute the file, and compare the outputs.

        Args:
            inputs: as for :meth:`run`; the library takes the same numbers.

        Raises:
            NetcalcError: E502 for a model whose file no library executes; E009 if the library is not installed or does
                not execute it; as :meth:`run` does.
        """
        from netcalc.engine.run import forward
        from netcalc.formats import executable, executed_by
        from netcalc.numerics.inputs import run_inputs
        from netcalc.verification.reference_outputs import ReferenceReport, compared

        library, seed = options["reference"], options["seed"]
        source = executable(self.request.model, library)
        audit = self.audit(cast=options["cast"])
        if not audit.ok:
            return ReferenceReport(self.name, library, None, seed, (), audit)
        passed = {name: value for name, value in options.items() if name != "reference"}
        (program, given), opened = self._pass({**passed, "weights": "."}, *self._given(inputs))
        names = [spec.name for spec in program.inputs]
        arrays = dict(zip(names, run_inputs(program, given, seed), strict=True))
        version, expected = executed_by(source, library, arrays)
        found = compared(forward(program, arrays, **opened).outputs, expected)
        return ReferenceReport(self.name, library, version, seed, found, audit)

    @accepts
    def audit(self, **options: Unpack[WeightsOptions]) -> WeightsReport:
        """Compare the names, shapes and element types of a checkpoint with the network; only headers are read.

        Without ``weights`` the checkpoint is the model's own.

        Raises:
            NetcalcError: E502 for a model without weights of its own; E605 if a file cannot be read.
        """
        from netcalc.numerics.parameters import check_weights
        from netcalc.weights.report import WithGraph

        weights = self.own_weights if options["weights"] is None else self.open_weights(options["weights"])
        if weights is None:
            raise NetcalcError(Diagnostic("E502", f"{self.name!r} has no weights of its own", hint="name a checkpoint"))
        request = self.request.executed
        program = self._for_weights(weights, request.program, request)
        report = check_weights(program, weights, cast=options["cast"])
        return weights.audited(report) if isinstance(weights, WithGraph) else report

    @accepts
    def signal(
        self, inputs: Mapping[str, Any] | None = None, *, mode: Mode | None = None, **options: Unpack[SignalOptions]
    ) -> SignalReport:
        """Measure signals and gradients at initialization, and predict them from the initializers.

        Args:
            inputs: arrays, numbers or files by name, see :mod:`netcalc.numerics.given`; others are drawn at random.
            mode: mode of the operations in place of the mode of the network.  A network with batch norms is in training
                mode where neither is set, if its sizes allow: otherwise they normalize nothing.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also for a ``loss`` that names no output.

        >>> import netcalc
        >>> report = netcalc.load("mlp", set={"batch": 16}).signal(init="he_normal(nonlinearity=relu)")
        >>> round(report.layers[1].predicted.variance, 2)
        2.0
        """
        from netcalc.verification.signal import measure

        request, given = self._given(inputs, mode)
        if request.mode is None:
            request = request.normalizing
        program = request.program_with_loss if options["loss"] == _LOSS else request.program
        network, opened = self._pass(options, request, given, program)
        depth = opened.pop("depth")
        return measure(*network, **opened).at_depth(depth)

    @accepts
    def compare_signal(
        self,
        inits: Sequence[str],
        inputs: Mapping[str, Any] | None = None,
        *,
        mode: Mode | None = None,
        **options: Unpack[SignalOptions],
    ) -> SignalComparison:
        """Measure signals and gradients with each of several initializers, which follow the initializers of ``init``.

        Args:
            inits: ``[PATTERN=]INITIALIZER``.
            inputs: as for :meth:`signal`.
            mode: as for :meth:`signal`.

        Raises:
            NetcalcError: as :meth:`signal` does.

        >>> import netcalc
        >>> comparison = netcalc.load("mlp").compare_signal(["xavier_normal", "zeros"], seeds=1)
        >>> [round(report.layers[0].predicted.variance, 1) for report in comparison.reports]
        [1.2, 0.0]
        """
        from netcalc.analysis.signal.report import SignalComparison

        first = () if options["init"] == "default" else texts(options["init"])

        def report(init: str) -> SignalReport:
            chosen: SignalOptions = {**options, "init": (*first, init)}
            return self.signal(inputs, mode=mode, **chosen)

        return SignalComparison(tuple(map(report, inits)))

    def verify_against(self, module: Any, *args: Any, seed: int = 0, dtype: Any = None, **kwargs: Any) -> Agreement:
        """Compare the network with the PyTorch module that it was made of, on the same random weights.

        The outputs of both plans are compared with the module's, FLOPs by operator with those that PyTorch's
        ``FlopCounterMode`` counts, and the parameters by name with the state dict.  The module is not changed.

        Args:
            module: the ``torch.nn.Module`` or the exported program.
            args: arguments of its ``forward``.  Floating-point tensors are drawn in their place, and integers for which
                the spec has a range.
            kwargs: arguments by name, likewise.
            seed: seed of all random numbers.
            dtype: element type of the module, as for :func:`~netcalc.from_torch`.

        Raises:
            NetcalcError: E009 if PyTorch is not installed, the module fails, or has buffers without values; as
                :meth:`run` does.
        """
        from netcalc.formats.torch.agreement import compare_module
        from netcalc.formats.torch.conversion import type_name

        return compare_module(self.program, module, args, kwargs, checked_argument("seed", seed), type_name(dtype))

    def open_weights(self, weights: Weights | None) -> Weights | None:
        """Return weights with the headers of files read where several belong together or lie on the Hub.

        A path ``.`` stands for the weights of the model itself, if it has any.

        Raises:
            NetcalcError: E605 if a file cannot be read; E007 if its model is not known; E008 if the Hub cannot be read.
        """
        if weights is None:
            return None
        from netcalc.formats import opened_weights

        if isinstance(weights, (str, Path)):
            own = self.own_weights if str(weights) == "." else None
            return opened_weights(weights) if own is None else own
        if isinstance(weights, (list, tuple)):
            return [self.open_weights(path) for path in weights]  # type: ignore[misc]
        return weights

    @property
    def own_weights(self) -> Weights | None:
        """The weights of the model that the network was loaded from; None if it has none.

        Raises:
            NetcalcError: as :meth:`open_weights` does.
        """
        from netcalc.formats import own_weights

        return None if self.request.model is None else own_weights(self.request.model)

    # -- internals ----------------------------------------------------------------------------------

    def _counted_files(self, bytes_from: BytesFrom) -> CountedFiles:
        """Return the bytes of the weights in the model's files; their headers are read once."""
        from netcalc.formats.counted_files import counted_files

        if bytes_from not in self._files:
            configuration = bytes_from == "configuration"
            self._files[bytes_from] = counted_files(self.request.with_caches(), configuration=configuration)
        return self._files[bytes_from]

    def _given(self, inputs: Mapping[str, Any] | None, mode: Mode | None = None) -> tuple[Request, dict[str, Given]]:
        """Return the request that is executed, with the sizes of inputs that are written, and the inputs."""
        from netcalc.numerics.given import given_inputs, with_given_sizes

        given = given_inputs(inputs or {})
        request = self.request.executed.with_mode(mode)
        return (with_given_sizes(request, given) if given else request), given

    def _pass(
        self, options: Any, request: Request, given: Mapping[str, Given], program: Program | None = None
    ) -> tuple[tuple[Program, dict[str, Any]], dict[str, Any]]:
        """Return the program, by default of the request, and its inputs, and the options with the weights opened."""
        from netcalc.numerics.given import arrays_of

        weights = self.open_weights(options["weights"])
        program = self._for_weights(weights, program or request.program, request)
        return (program, arrays_of(program, given)), {**options, "weights": weights}

    def _for_weights(self, weights: Weights | None, program: Program, request: Request) -> Program:
        """Return the program; at a later step of decoding with the first one, whose parameters weights have too."""
        first = None if weights is None else request.first_step
        return program if first is None else replace(program, first_step=first)

    def _with_loss(self, loss: Any, request: Request) -> tuple[Program, Any]:
        """Return the program from which a backward pass starts, and the name of the output or the loss there."""
        if isinstance(loss, str) and "=" in loss:
            from netcalc.numerics.written import read_literal

            name, _, numbers = loss.partition("=")
            return request.program, {name.strip(): read_literal(f"--loss {name.strip()}", numbers.strip()).numbers}
        if loss in (None, _LOSS) and request.loss is not None:
            return request.program_with_loss, _LOSS
        return request.program, loss

    def __repr__(self) -> str:
        from netcalc.render.numbers import exact

        return f"<Network {self.name!r}: {exact(self.params)} parameters>"

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the summary as text and HTML, for notebooks."""
        return self.summary()._repr_mimebundle_()

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _shapes(values: Iterable[Value | None]) -> tuple[tuple[Dim, ...], ...]:
    return tuple(value.known_type.shape for value in values if value is not None)


def _work(options: Mapping[str, Any]) -> WorkOptions:
    """Return the passes and layers whose work is counted, of the options of a verb."""
    return cast("WorkOptions", {name: options[name] for name in options_of(WorkOptions)})
