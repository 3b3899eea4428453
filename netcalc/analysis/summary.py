"""The summary of a network as typed data; :mod:`netcalc.records.summary` writes it as JSON.

A layer's figures are those of one instance, and ``repeat`` is the number of instances, so that the sum of figure ×
``repeat`` over the layers is the total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from netcalc.analysis.cost import Analysis, Ranges, Row
from netcalc.analysis.figures import FIGURES, FORWARD, Cost, Figures, Phase, View
from netcalc.analysis.folding import folded
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Assumption, Dim
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value
from netcalc.ir.sketch import Sketch, SketchedBody
from netcalc.results import Result
from netcalc.tensor_type import TensorType

if TYPE_CHECKING:
    from netcalc.analysis.precision.report import StorageReport
    from netcalc.analysis.receptive_field import Fields

__all__ = ["Layer", "Summary", "Totals", "layer_fields", "summarise"]


class _LayerFields(NamedTuple):
    path: str
    op: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    values: tuple[Dim, ...]
    repeat: int = 1
    title: str = ""
    ranges: Ranges = ()
    receptive_field: Fields | None = None


class Layer(_LayerFields, Figures):
    """A row of a report: an operation, or with a depth the part of the network at a path.

    The figures (``params``, ``macs``, …) are those of one instance; ``repeat`` is the number of instances.  ``path`` is
    the path of the first one, ``title`` the path with the numbers of all, and ``ranges`` these numbers level by level.
    ``receptive_field`` is None unless it was asked for.
    """

    __slots__ = ()

    @classmethod
    def of(cls, row: Row, receptive_field: Fields | None = None) -> Layer:
        """Return the layer of a row of an analysis."""
        inputs, outputs = _types(row.inputs), _types(row.outputs)
        values, repeat = row.cost.values, row.repeat
        return cls(row.path, row.op, inputs, outputs, values, repeat, row.title, row.ranges, receptive_field)


class Totals(Cost):
    """The figures of the whole network."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Summary(Result):
    """A network's inputs, outputs, totals and layers under a counting convention.

    ``uncounted`` are the operations whose work the convention leaves out; ``counted_as`` is the implementation whose
    work is counted, for each operation whose implementations differ in their work.  ``unknown`` are operators without
    a rule, whose work is not known: with any, the totals are at least what they are.  ``phases`` are the parts of a
    step of training that are counted, ``optimizer`` the one whose update is counted, and ``remarks`` name faults of
    the tool that the convention reproduces.  ``storage`` is how parameters are stored, if schemes were assigned.
    ``view`` names the figures that are printed and recorded.
    """

    spec: str
    convention: str
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    totals: Totals
    layers: tuple[Layer, ...]
    assumptions: tuple[Assumption, ...] = ()
    uncounted: tuple[str, ...] = ()
    counted_as: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    phases: frozenset[Phase] = FORWARD
    optimizer: str | None = None
    remarks: tuple[str, ...] = ()
    storage: StorageReport | None = None
    view: View = "summary"
    depth: int | None = None
    unroll: bool = False
    analysis: Analysis | None = field(default=None, repr=False, compare=False)
    receptive: Mapping[str, Fields] | None = field(default=None, repr=False, compare=False)


def summarise(
    analysis: Analysis,
    view: View = "summary",
    *,
    depth: int | None = None,
    unroll: bool = False,
    receptive: Mapping[str, Fields] | None = None,
) -> Summary:
    """Return the summary of an analysed program; its layers are the operations unless a depth is given.

    ``receptive`` are the receptive fields by path; layers are unrolled with them.
    """
    program, unroll = analysis.program, unroll or receptive is not None
    inputs = {spec.name: spec.type for spec in program.inputs}
    outputs = dict(zip(program.output_names, program.main.output_types, strict=True))
    if depth is None and not unroll:
        layers = _main_layers(analysis, program.main)
    else:
        rows = analysis.rows(depth=depth, unroll=unroll)
        layers = tuple(Layer.of(row, None if receptive is None else _fields_of(row, receptive)) for row in rows)
    totals = Totals(analysis.total.values)
    return Summary(
        program.name,
        analysis.convention.name,
        inputs,
        outputs,
        totals,
        layers,
        program.assumptions,
        analysis.uncounted,
        analysis.counted_as,
        analysis.unknown,
        analysis.phases,
        analysis.optimizer,
        analysis.remarks,
        storage_of(program),
        view,
        depth,
        unroll,
        analysis,
        receptive,
    )


def _layers(analysis: Analysis, body: Body) -> Iterator[Layer]:
    """Yield the layers of a body, with paths relative to it."""
    return _all_layers(body.nodes, partial(_layer_of, analysis), partial(_layers_inside, analysis))


def _layer_of(analysis: Analysis, node: OpNode) -> Layer:
    name, values = node.name, analysis.node(node).values
    return Layer(name, node.op.name, _types(_given(node)), node.output_types, values, 1, name)


def _all_layers(
    nodes: Sequence[Node], layer_of: Callable[[OpNode], Layer], inside: Callable[[Body], Iterable[Layer]]
) -> Iterator[Layer]:
    """Yield the layers of nodes from those of each operation and each body that is called."""
    for found in folded(nodes):
        node = found.node
        if isinstance(node, OpNode):
            yield layer_of(node)
            continue
        path, title, times, shared = found.name, found.label, found.times, node.shares is not None
        around: Ranges = ((found.named(""), found.numbers),) if found.numbers is not None and times > 1 else ()
        start, heading = (path and path + "."), (title and title + ".")
        for name, op, inputs, outputs, values, repeat, label, inner, _ in inside(node.body):
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
    found = body.derived.get(key)
    if found is None or found[0] is not analysis.convention:
        found = body.derived[key] = analysis.convention, tuple(_layers(analysis, body))
    return found[1]


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


def _given(node: OpNode) -> tuple[Value, ...]:
    return tuple([value for value in node.inputs if value is not None])


#: A layer from all its fields: its constructor takes twice as long.
_layer = partial(tuple.__new__, Layer)


def storage_of(program: Program) -> StorageReport | None:
    """Return how the parameters of a program are stored, if schemes were assigned to them."""
    if not program.assigned:
        return None
    from netcalc.analysis.precision.report import storage_report

    return storage_report(program)


def _fields_of(row: Row, receptive: Mapping[str, Fields]) -> Fields:
    from netcalc.analysis.receptive_field import fields_of

    return fields_of(row, receptive)


def layer_fields(view: View, phases: frozenset[Phase] = FORWARD) -> tuple[str, ...]:
    """Return the fields of a layer in the JSON and CSV of a view, with the figures of some parts of a step."""
    shapes = () if view == "params" else ("inputs", "outputs")
    figures = (name for name, figure in FIGURES.items() if view in figure.fields and figure.phase in phases)
    return ("path", "op", *shapes, *figures, "repeat", "instances")


def _types(values: Iterable[Value]) -> tuple[TensorType, ...]:
    return tuple(value.known_type for value in values)
