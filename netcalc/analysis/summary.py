"""The summary of a network as typed data.

A layer's figures count one instance, and ``repeat`` is the number of instances, so that the sum of figure ×
``repeat`` over the layers is the total.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.closed_forms import ClosedForm, closed_forms
from netcalc.analysis.cost import Analysis, Ranges, Row
from netcalc.analysis.counting import require_unrolled
from netcalc.analysis.figures import Cost, Figures, Phase, View, layer_fields, shown_totals
from netcalc.analysis.folding import NumberedInstances, folded
from netcalc.analysis.leading_terms import LeadingTerm, leading_terms
from netcalc.analysis.masked_attention import MaskedAttention, masked_attention
from netcalc.analysis.modules import every_row
from netcalc.analysis.notes import notes_in
from netcalc.analysis.own_figures import CountedFigure, own_figures
from netcalc.analysis.rows import present
from netcalc.analysis.sizes import Sizes, sizes_of
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Assumption, Dim, claimed
from netcalc.dtypes import DType
from netcalc.ir import Body, CallNode, Node, OpNode, Value
from netcalc.ir.sketch import Sketch, SketchedBody
from netcalc.results import Entry, Result, recorded
from netcalc.tensor_type import TensorType

if TYPE_CHECKING:
    from netcalc.analysis.exclusion import Exclusion
    from netcalc.analysis.precision.report import StorageReport
    from netcalc.analysis.receptive_field import Fields

#: Fields of a record that count work, and those that a view leaves out.
_WORK = ("convention", "masked_attention", "unknown", "uncounted", "counted_as", "backward", "training", "remarks")
_LEFT_OUT: Mapping[str, Collection[str]] = {
    "shapes": (*_WORK, "excluded", "figures", "declared", "storage", "sizes", "closed_forms", "growth"),
    "params": (*_WORK[1:], "sizes"),  # the convention is that of the count of parameters
    "flops": ("storage", "sizes"),
}


class _LayerFields(NamedTuple):
    path: str
    """Path of the first instance."""
    op: str
    """Name of the operation or block."""
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    values: tuple[Dim, ...]
    repeat: Dim = 1
    """Number of instances; figure times repeat, summed over the layers, is the total."""
    title: str = ""
    """The path with the numbers of all instances."""
    ranges: Ranges = ()
    """The numbers of the instances level by level."""
    receptive_field: Fields | None = None
    """With `--receptive-field`: one for each spatial axis of the input; none if the layer does not depend on it."""
    calls: int = 1
    """With `--depth`, of a module that is called several times: number of its calls, whose figures are summed."""
    excluded: int = 0
    """With `--exclude`: number of instances that the totals leave out; of a part with `--depth`, as a whole."""


@recorded(
    *("path", "op", Entry("inputs", "input_shapes"), Entry("outputs", "output_shapes"), "repeat", "instances"),
    *(Entry("receptive_field", optional=True), Entry("calls", optional=True), Entry("excluded", optional=True)),
)
class Layer(_LayerFields, Figures):
    """An operation, or with `--depth` a part of the network; figures count one instance."""

    __slots__ = ()

    @property
    def input_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """Shapes of the inputs."""
        return tuple(type_.shape for type_ in self.inputs)

    @property
    def output_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """Shapes of the outputs."""
        return tuple(type_.shape for type_ in self.outputs)

    @property
    def instances(self) -> tuple[NumberedInstances, ...]:
        """Numbers of the instances, for each numbered part of the path with several of them; the outermost first."""
        return tuple(NumberedInstances(prefix, *numbers) for prefix, numbers in self.ranges)

    def record(self, fields: Iterable[str]) -> dict[str, Any]:
        """Return the object of some fields and figures."""
        shapes = {"inputs": "input_shapes", "outputs": "output_shapes"}
        return {name: getattr(self, shapes.get(name, name)) for name in fields}

    def further_fields(self) -> dict[str, Any]:
        """Return the fields that only some layers have."""
        fields: dict[str, Any] = {} if self.receptive_field is None else {"receptive_field": self.receptive_field}
        fields |= {} if self.calls == 1 else {"calls": self.calls}
        return fields if self.excluded == 0 else {**fields, "excluded": self.excluded}

    @classmethod
    def of(cls, row: Row, receptive_field: Fields | None = None, excluded: int = 0) -> Layer:
        """Return the layer of a row of an analysis."""
        inputs, outputs = _types(row.inputs), _types(row.outputs)
        values, repeat = row.cost.values, row.repeat
        return cls(
            *(row.path, row.op, inputs, outputs, values, repeat, row.title, row.ranges, receptive_field, row.calls),
            excluded,
        )


class Totals(Cost):
    """The figures of the whole network."""

    __slots__ = ()


@recorded(
    *("spec", "dtype", "checkpoint_dtype", "stored_as", Entry("convention", optional=True), "inputs", "outputs"),
    *(Entry("totals", "shown_totals", optional=True), Entry("excluded", optional=True)),
    *(Entry("figures", optional=True), "layers", Entry("masked_attention", optional=True)),
    *(Entry("unknown", optional=True), Entry("declared", optional=True), Entry("uncounted", optional=True)),
    Entry("counted_as", optional=True),
    *(Entry("backward", optional=True), Entry("training", "optimizer", optional=True), Entry("remarks", optional=True)),
    *(Entry("storage", optional=True), Entry("sizes", optional=True), Entry("notes", optional=True)),
    *(Entry("closed_forms", optional=True), Entry("growth", optional=True)),
    Entry("assumptions", "claims", optional=True),
)
class Summary(Result):
    """A network's inputs, outputs, totals and layers.

    Args:
        analysis: the counted network.
        view: name of the figures that are printed and recorded.
        depth: number of parts of a path to which deeper layers are summed up; None for the operations.
        unroll: True for a layer for every instance of a repeated block.
        receptive: receptive fields by path, with which layers are unrolled; None to leave them out.

    Raises:
        NetcalcError: E502 if there are too many instances.
    """

    def __init__(
        self,
        analysis: Analysis,
        view: View = "summary",
        *,
        depth: int | None = None,
        unroll: bool = False,
        receptive: Mapping[str, Fields] | None = None,
    ) -> None:
        self.analysis, self.view, self.receptive = analysis, view, receptive
        self.depth, self.unroll = depth, unroll or receptive is not None
        if self.unroll:
            require_unrolled(analysis.program)

    @property
    def spec(self) -> str:
        """Name of the spec."""
        return self.analysis.program.name

    @property
    def dtype(self) -> DType:
        """Element type of floating-point tensors, in which bytes are counted."""
        return self.analysis.program.dtype

    @property
    def checkpoint_dtype(self) -> DType | None:
        """Element type of the published checkpoint; null if the spec names none."""
        return self.analysis.program.checkpoint_dtype

    @property
    def stored_as(self) -> str:
        """Schemes in which the checkpoint of the model stores parameters, in words; empty for the type alone."""
        return self.analysis.program.stored_as

    @property
    def convention(self) -> str:
        """Counting convention of the work."""
        return self.analysis.convention.name

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        """Inputs by name."""
        return self.analysis.program.input_types

    @property
    def outputs(self) -> Mapping[str, TensorType]:
        """Outputs by name."""
        return self.analysis.program.output_types

    @property
    def totals(self) -> Totals:
        """Figures of the whole network, without layers that are excluded."""
        return Totals(self.analysis.total.values)

    @cached_property
    def figures(self) -> tuple[CountedFigure, ...]:
        """Figures that the convention defines itself beside work: parameters, activations, sizes."""
        return own_figures(self.analysis, self.view)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Layers in order of execution."""
        analysis = self.analysis
        if self.depth is None and not self.unroll and analysis.exclusions is None:
            return _main_layers(analysis, analysis.program.main)
        rows = analysis.rows(depth=self.depth, unroll=self.unroll)
        return tuple(Layer.of(row, field_of_row(row, self.receptive), self.excluded_of(row)) for row in rows)

    @property
    def excluded(self) -> tuple[Exclusion, ...]:
        """With `--exclude`: the layers that the totals leave out, by pattern; their rows are in the list of layers."""
        exclusions = self.analysis.exclusions
        return () if exclusions is None else exclusions.shown(self.view, self.totals, self.phases)

    def excluded_of(self, row: Row) -> int:
        """Return the number of instances of a row that the totals leave out; of a part of the network, as a whole."""
        exclusions = self.analysis.exclusions
        return 0 if exclusions is None else exclusions.executions(row) if self.depth is None else exclusions.whole(row)

    @cached_property
    def modules(self) -> Mapping[str, Layer]:
        """Every module and operation by its path, with the sums of its parts and of all its calls.

        The whole network has the empty path.  Parameters count where they are first used.

        Raises:
            NetcalcError: E502 if there are too many instances of repeated blocks.
        """
        program = self.analysis.program
        outputs = program.main.output_types
        inputs = tuple(spec.type for spec in program.inputs)
        modules = {"": Layer("", "network", inputs, outputs, self.totals.values)}
        for row in every_row(self.analysis.modules(unroll=True)):
            modules.setdefault(row.path, Layer.of(row))
        return modules

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Assumptions about symbolic sizes."""
        return self.analysis.program.assumptions

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Operations whose work the convention leaves out, if there are any."""
        return self.analysis.uncounted

    @property
    def counted_as(self) -> Mapping[str, str]:
        """Implementation whose work is counted, by operations whose implementations differ in their work."""
        return self.analysis.counted_as

    @property
    def unknown(self) -> tuple[str, ...]:
        """Work that is not known: operators, or `MACs of` and `backward pass of` one; with any, the totals are at least
        what they are.
        """
        return self.analysis.unknown

    @property
    def declared(self) -> Mapping[str, str]:
        """Operators whose figures are declared and not computed, with the origin of these; empty if not given."""
        return self.analysis.declared

    @property
    def masked_attention(self) -> MaskedAttention | None:
        """In `flops` and `summary`, if masks of attention hide pairs: its MACs in three ways, and as counted."""
        return masked_attention(self.analysis)

    @property
    def phases(self) -> frozenset[Phase]:
        """Parts of a step of training that are counted."""
        return self.analysis.phases

    @property
    def optimizer(self) -> str | None:
        """With `--training`: the optimizer whose update is counted."""
        return self.analysis.optimizer

    @property
    def remarks(self) -> tuple[str, ...]:
        """Faults of the tool that the convention reproduces, where they change a figure."""
        return self.analysis.remarks

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what is counted: in `params` on the form in which parameters are stored, in `shapes` none."""
        return notes_in(self.analysis.program, self.view)

    @property
    def storage(self) -> StorageReport | None:
        """In `params` and `summary`, with `--quantize` or `--prune`."""
        if not self.analysis.program.assigned:
            return None
        from netcalc.analysis.precision.report import storage_report

        return storage_report(self.analysis.program)

    @property
    def sizes(self) -> Sizes:
        """In `summary`: bytes of inputs, parameters, buffers and activations."""
        return sizes_of(self.analysis)

    @property
    def closed_forms(self) -> tuple[ClosedForm, ...]:
        """Totals in symbolic sizes, with the layers that give each term."""
        return closed_forms(self.analysis, self.view, self.analysis.program.symbolic)

    @property
    def growth(self) -> tuple[LeadingTerm, ...]:
        """Leading terms of the totals of parameters and work for each symbolic size."""
        return tuple(leading_terms(self.totals, self.view))

    @property
    def record_name(self) -> str:
        """Name of the record, which is the name of the view."""
        return self.view

    @property
    def backward(self) -> bool:
        """With `--backward` and `--training`: true, since the figures include a backward pass."""
        return "backward" in self.phases

    @property
    def claims(self) -> tuple[str, ...]:
        """Claims that the results for symbolic sizes rely on, if any."""
        return tuple(map(claimed, self.assumptions))

    @property
    def shown_totals(self) -> Mapping[str, Dim]:
        """Figures of the whole network; a part such as `params_active` only if it differs from the whole."""
        figures = shown_totals(self.view, [self.totals], self.phases)
        return {figure.name: figure.of(self.totals) for figure in figures}

    def record_values(self) -> dict[str, Any]:
        """Return the layers with the figures of the view, and None for optional fields that it leaves out."""
        left_out = _LEFT_OUT.get(self.view, ())
        values = {
            "convention": self.convention if self.view != "params" or self.convention != "netcalc" else None,
            "totals": self.shown_totals,
            "excluded": self.excluded,
            "figures": self.figures,
            "masked_attention": self.masked_attention if "masked_attention" not in left_out else None,
            "unknown": self.unknown,
            "declared": self.declared if self.view != "params" or self.analysis.declared_cost.params != 0 else None,
            "uncounted": self.uncounted,
            "counted_as": self.counted_as,
            "backward": self.backward,
            "training": self.optimizer,
            "remarks": self.remarks,
            "storage": self.storage,
            "sizes": self.sizes if self.view == "summary" else None,
            "notes": self.notes,
            "closed_forms": self.closed_forms,
            "growth": self.growth,
            "assumptions": self.claims,
        }
        optional = {name: None if name in left_out else value or None for name, value in values.items()}
        return {"layers": self.record_layers(self.layers)} | optional

    def record_layers(self, layers: Iterable[Layer]) -> list[dict[str, Any]]:
        """Return some layers with the figures of the view."""
        fields = layer_fields(self.view, self.phases)
        return [layer.record(fields) | layer.further_fields() for layer in layers]


def _layers(analysis: Analysis, body: Body) -> Iterator[Layer]:
    """Yield the layers of a body, with paths relative to it."""
    return _all_layers(body.nodes, partial(_layer_of, analysis), partial(_layers_inside, analysis))


def _layer_of(analysis: Analysis, node: OpNode) -> Layer:
    name, values = node.name, analysis.node(node).values
    return Layer(name, node.op.name, _types(present(node.inputs)), node.output_types, values, 1, name)


def _all_layers(
    nodes: Sequence[Node], layer_of: Callable[[OpNode], Layer], inside: Callable[[Body], Iterable[Layer]]
) -> Iterator[Layer]:
    """Yield the layers of nodes from the layers of each operation and each body that is called."""
    for copies in folded(nodes):
        node = copies.node
        if isinstance(node, OpNode):
            yield layer_of(node)
            continue
        path, title, times, shared = copies.name, copies.label, copies.times, node.shares is not None
        around: Ranges = ((copies.named(""), copies.numbers),) if copies.numbers is not None and times > 1 else ()
        start, heading = (path and path + "."), (title and title + ".")
        for name, op, inputs, outputs, values, repeat, label, inner, *_ in inside(node.body):
            ranges = around + tuple([(start + stem if stem else path, numbers) for stem, numbers in inner])
            yield _layer(
                (
                    start + name if name else path,
                    op,
                    inputs,
                    outputs,
                    Cost(values).with_tied_weights().values if shared else values,
                    repeat * times,
                    heading + label if label else title,
                    ranges,
                    None,
                    1,
                    0,
                )
            )


def _main_layers(analysis: Analysis, main: Body) -> tuple[Layer, ...]:
    """Return the layers of a main body, which are not kept."""
    if isinstance(main, SketchedBody) and analysis.settings is not None:
        return _sketched(analysis, main)
    return tuple(_layers(analysis, main))


def _layers_inside(analysis: Analysis, body: Body) -> tuple[Layer, ...]:
    """Return the layers of a body that is called, which are kept with it unless they are computed from a sketch."""
    if analysis.settings is None:
        return tuple(_layers(analysis, body))
    if isinstance(body, SketchedBody):
        return _sketched(analysis, body)
    key = Layer, analysis.settings
    layers = body.derived.get(key)
    if layers is None or layers[0] is not analysis.convention:
        layers = body.derived[key] = analysis.convention, tuple(_layers(analysis, body))
    return layers[1]


def _sketched(analysis: Analysis, body: SketchedBody) -> tuple[Layer, ...]:
    """Return the layers of a body, computed from its sketch if that is possible."""
    derived, key = body.sketch.derived, (Layer, analysis.settings)
    if key not in derived or derived[key][0] is not analysis.convention:
        derived[key] = analysis.convention, _function(analysis, body.sketch)
    function = derived[key][1]
    return tuple(_layers(analysis, body)) if function is None else function(*body.sizes)


def _function(analysis: Analysis, sketch: Sketch) -> Callable[..., tuple[Layer, ...]] | None:
    """Return the function from sizes to the layers of a sketch, None if it fails for the example of the sketch."""
    sizes, example = sketch.example
    try:
        function = (
            _counted(analysis, sketch) if sketch.counted else sketch.function(tuple(_layers(analysis, sketch.body)))
        )
        return function if function(*sizes) == tuple(_layers(analysis, example)) else None
    except (NetcalcError, ValueError):
        return None
    finally:
        _forget(analysis, sketch.body)
        _forget(analysis, example)


def _forget(analysis: Analysis, body: Body) -> None:
    """Drop the layers that are kept with a body and those inside it."""
    body.derived.pop((Layer, analysis.settings), None)
    if not isinstance(body, SketchedBody):
        for inner in {node.body: None for node in body.nodes if isinstance(node, CallNode)}:
            _forget(analysis, inner)


def _counted(analysis: Analysis, sketch: Sketch) -> Callable[..., tuple[Layer, ...]]:
    """Return the function from sizes to the layers of a sketch with symbolic numbers of iterations.

    The layers of each operation and each body that is called follow from the sizes; the iterations have numbers.
    """
    operations = [node for node in sketch.body.nodes if isinstance(node, OpNode)]
    bodies = list({node.body: None for node in sketch.body.nodes if isinstance(node, CallNode)})
    own = sketch.function(tuple([_layer_of(analysis, node) for node in operations]))
    inner = sketch.function(tuple([_layers_inside(analysis, body) for body in bodies]))

    def layers(*sizes: int) -> tuple[Layer, ...]:
        layer_of = dict(zip(map(id, operations), own(*sizes), strict=True))
        inside = dict(zip(map(id, bodies), inner(*sizes), strict=True))
        nodes = sketch.nodes(sketch.times(*sizes))
        return tuple(_all_layers(nodes, lambda node: layer_of[id(node)], lambda body: inside[id(body)]))

    return layers


#: A layer from all its fields: its constructor takes twice as long.
_layer = partial(tuple.__new__, Layer)


def field_of_row(row: Row, receptive: Mapping[str, Fields] | None) -> Fields | None:
    """Return the receptive field of a row; None if receptive fields are not known."""
    if receptive is None:
        return None
    from netcalc.analysis.receptive_field import fields_of

    return fields_of(row, receptive)


def _types(values: Iterable[Value]) -> tuple[TensorType, ...]:
    return tuple(value.known_type for value in values)
