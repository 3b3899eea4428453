"""The figures of a network: parameters, bytes and work, each declared once.

A declaration in the body of :class:`Figures` gives the name, the titles and the unit of a figure, the function that
reads it from an operation, and the views that show it.  Costs, layers, totals, tables, JSON records and their schemas
are derived from these declarations.  To add a figure, declare it there; if it needs data that :class:`Weight` or
:class:`Work` lacks, add the data to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import add
from typing import Literal, Self, TypeAlias, overload

from netcalc.analysis.quantities import Use, Weight, Work, outputs_of_products
from netcalc.dims import Dim

__all__ = [
    "FIGURES",
    "FORWARD",
    "FORWARD_BACKWARD",
    "STEP",
    "Cost",
    "Figure",
    "Figures",
    "Phase",
    "Unit",
    "Use",
    "View",
    "Weight",
    "Work",
    "shown_totals",
]

#: Reports that show figures; ``operations`` is the table of totals by operation within a report.  ``passes`` are the
#: columns of ``flops`` with a backward pass.
View: TypeAlias = Literal["shapes", "params", "flops", "summary", "operations", "compare", "explain", "passes"]
#: Part of a step of training that work belongs to; figures of a part are shown if it is counted.
#: Activations are a part of their own, which some conventions count.
Phase: TypeAlias = Literal["forward", "backward", "update", "activations"]
FORWARD: frozenset[Phase] = frozenset(("forward",))
FORWARD_BACKWARD: frozenset[Phase] = frozenset(("forward", "backward"))
STEP: frozenset[Phase] = frozenset(("forward", "backward", "update"))
Unit: TypeAlias = Literal["elements", "bytes", "macs", "flops"]


class Figure:
    """The declaration of a figure; as an attribute of a :class:`Figures` instance, its value.

    Args:
        title: column heading.
        about: description in JSON Schemas.
        unit: what is counted.
        weight: the figure of one tensor, for tensors of the given ``use``; they are summed over an operation.
        use: the tensors that ``weight`` applies to.
        work: the figure of an operation's work.
        derived: the figure as a function of others, for one that is not stored.
        total: title among the totals; None leaves the figure out of them.
        phase: the part of a step of training that the figure is about.
        part_of: the figure that this one is a part of.  Totals show a part only where it is not the whole.
        fields: views whose JSON and CSV give the figure for each layer; ``explain`` gives it a section.
        columns: views whose tables have a column of it, each with the rank at which a narrow terminal drops the
            column: the highest rank is dropped first, and 0 never.
    """

    def __init__(
        self,
        title: str,
        about: str,
        unit: Unit,
        *,
        weight: Callable[[Weight], Dim] | None = None,
        use: Use = "parameter",
        work: Callable[[Work], Dim] | None = None,
        derived: Callable[[Figures], Dim] | None = None,
        total: str | None = None,
        phase: Phase = "forward",
        part_of: str | None = None,
        fields: Iterable[View] = (),
        columns: Mapping[View, int] | None = None,
    ) -> None:
        self.name = ""
        self.index = -1  # place among the stored values
        self.title = title
        self.about = about
        self.unit = unit
        self.weight = weight
        self.use = use
        self.work = work
        self.derived = derived
        self.total = total
        self.phase: Phase = phase
        self.part_of = part_of
        self.fields = frozenset(fields)
        self.columns: Mapping[View, int] = columns or {}

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Figure: ...

    @overload
    def __get__(self, instance: Figures, owner: type) -> Dim: ...

    def __get__(self, instance: Figures | None, owner: type) -> Figure | Dim:
        return self if instance is None else self.of(instance)

    def of(self, figures: Figures) -> Dim:
        """The value of this figure."""
        return figures.values[self.index] if self.derived is None else self.derived(figures)

    def total_in(self, view: View) -> bool:
        """True if the totals of a view include this figure."""
        if self.total is None or view == "shapes":
            return False
        of_work = self.unit in ("macs", "flops") or self.phase == "activations"
        return view not in ("params", "flops") or view == ("flops" if of_work else "params")


class Figures:
    """Base of everything that has figures: costs, layers and totals.  ``values`` are those that are stored."""

    __slots__ = ()

    @property
    def values(self) -> tuple[Dim, ...]:
        """The stored values, in the order of declaration."""
        raise NotImplementedError

    params = Figure(
        "params",
        "elements of parameters, trainable and frozen; a tied parameter counts where it is first used",
        "elements",
        weight=lambda weight: weight.elements,
        total="parameters",
        fields=("params", "summary", "compare", "explain"),
        columns={"params": 0, "summary": 0, "operations": 0, "compare": 0},
    )
    params_trainable = Figure(
        "trainable",
        "elements of parameters that are trained",
        "elements",
        weight=lambda weight: weight.elements if weight.param.trainable and not weight.node.frozen else 0,
        total="trainable",
        fields=("params",),
    )
    params_frozen = Figure(
        "frozen",
        "elements of parameters that are not trained",
        "elements",
        derived=lambda figures: figures.params - figures.params_trainable,
        columns={"params": 4, "summary": 4},
    )
    params_tied = Figure(
        "tied",
        "elements of parameters that are used here and counted elsewhere",
        "elements",
        weight=lambda weight: weight.elements,
        use="tied",
        fields=("params",),
    )
    buffers = Figure(
        "buffers",
        "elements of buffers",
        "elements",
        weight=lambda weight: weight.elements,
        use="buffer",
        total="buffers",
        fields=("params", "summary", "compare", "explain"),
        columns={"params": 3, "summary": 5, "operations": 3, "compare": 4},
    )
    weight_bytes = Figure(
        "bytes",
        "bytes of parameters",
        "bytes",
        weight=lambda weight: weight.bytes,
        total="bytes of weights",
        fields=("params",),
        columns={"params": 2},
    )
    buffer_bytes = Figure(
        "bytes of buffers", "bytes of buffers", "bytes", weight=lambda weight: weight.bytes, use="buffer"
    )
    macs = Figure(
        "MACs",
        "multiply-adds that the convention counts",
        "macs",
        work=lambda work: work.executed.macs,
        total="MACs",
        fields=("flops", "summary", "compare", "explain"),
        columns={"flops": 0, "summary": 0, "operations": 0, "compare": 0, "passes": 5},
    )
    macs_backward = Figure(
        "backward MACs",
        "multiply-adds of the backward pass",
        "macs",
        work=lambda work: work.backward.macs,
        total="backward MACs",
        phase="backward",
        fields=("flops", "summary", "explain"),
        columns={"passes": 6},
    )
    macs_total = Figure(
        "total MACs",
        "multiply-adds of the forward and the backward pass",
        "macs",
        derived=lambda figures: figures.macs + figures.macs_backward,
        total="total MACs",
        phase="backward",
        fields=("flops", "summary", "explain"),
        columns={"passes": 4},
    )
    flops = Figure(
        "FLOPs",
        "operations that the convention counts",
        "flops",
        work=lambda work: work.executed.flops,
        total="FLOPs",
        fields=("flops", "summary", "compare", "explain"),
        columns={"flops": 1, "summary": 3, "operations": 1, "compare": 3, "passes": 1},
    )
    flops_backward = Figure(
        "backward FLOPs",
        "operations of the backward pass",
        "flops",
        work=lambda work: work.backward.flops,
        total="backward FLOPs",
        phase="backward",
        fields=("flops", "summary", "explain"),
        columns={"passes": 0, "summary": 4, "operations": 2},
    )
    flops_update = Figure(
        "update FLOPs",
        "operations of the update of the parameters",
        "flops",
        work=lambda work: work.update.flops,
        total="update FLOPs",
        phase="update",
        fields=("flops", "summary", "explain"),
        columns={"passes": 1},
    )
    flops_total = Figure(
        "total FLOPs",
        "operations of the forward and the backward pass, and of the update of the parameters if it is counted",
        "flops",
        derived=lambda figures: figures.flops + figures.flops_backward + figures.flops_update,
        total="total FLOPs",
        phase="backward",
        fields=("flops", "summary", "explain"),
        columns={"passes": 0, "summary": 3, "operations": 1},
    )
    params_active = Figure(
        "active",
        "elements of parameters that one token uses: fewer than all where a router chooses among experts",
        "elements",
        weight=lambda weight: weight.node.op.active(weight.param, weight.node.input_types),
        total="active for a token",
        part_of="params",
    )
    macs_expected = Figure(
        "useful MACs",
        "the useful part of the multiply-adds if tokens are distributed evenly among experts",
        "macs",
        work=lambda work: work.expected.macs,
        total="expected useful MACs",
        part_of="macs",
    )
    flops_expected = Figure(
        "useful FLOPs",
        "the useful part of the operations if tokens are distributed evenly among experts",
        "flops",
        work=lambda work: work.expected.flops,
        total="expected useful FLOPs",
        part_of="flops",
    )

    macts = Figure(
        "macts",
        "activations as the convention counts them, elements of the outputs of convolutions and matrix products; as "
        "timm does where it does not",
        "elements",
        work=lambda work: outputs_of_products(work.node) if work.activations is None else work.activations,
        total="activations",
        phase="activations",
        fields=("flops", "summary"),
        columns={"flops": 2, "summary": 4, "operations": 2},
    )


#: Every figure by name, in the order in which reports and records give them.
FIGURES: Mapping[str, Figure] = {name: figure for name, figure in vars(Figures).items() if isinstance(figure, Figure)}

_STORED = [figure for figure in FIGURES.values() if figure.derived is None]
for _index, _figure in enumerate(_STORED):
    _figure.index = _index
_WORK = [(figure.index, figure.work) for figure in _STORED if figure.work is not None]
_WEIGHTS: Mapping[Use, list[tuple[int, Callable[[Weight], Dim]]]] = {
    use: [(figure.index, figure.weight) for figure in _STORED if figure.weight is not None and figure.use == use]
    for use in ("parameter", "buffer", "tied")
}
#: For each stored figure, True if a call that shares the weights of another keeps it: work, and tied parameters.
_KEPT = [figure.work is not None or figure.use == "tied" for figure in _STORED]
_ZEROS: tuple[Dim, ...] = (0,) * len(_STORED)


class Cost(Figures):
    """The figures of an operation, a layer or a network; costs are added and multiplied."""

    __slots__ = ("values",)

    values: tuple[Dim, ...]

    def __init__(self, values: tuple[Dim, ...] = _ZEROS) -> None:
        self.values = values

    @classmethod
    def of(cls, weights: Iterable[tuple[Use, Weight]], work: Work) -> Self:
        """The cost of one operation."""
        values = list(_ZEROS)
        for index, count in _WORK:
            values[index] = count(work)
        return cls(_with_weights(values, weights))

    @classmethod
    def of_weights(cls, weights: Iterable[tuple[Use, Weight]]) -> Self:
        """The cost of weights alone, without work."""
        return cls(_with_weights(list(_ZEROS), weights))

    def __add__(self, other: Cost) -> Cost:
        return Cost(tuple(map(add, self.values, other.values)))

    def times(self, count: int) -> Cost:
        """The cost of ``count`` of these."""
        return self if type(count) is int and count == 1 else Cost(tuple([value * count for value in self.values]))

    def mapped(self, function: Callable[[Dim], Dim]) -> Cost:
        """The cost with a function of each figure, such as one that gives an equal size in another form."""
        return Cost(tuple(map(function, self.values)))

    def with_tied_weights(self) -> Cost:
        """The same cost with all parameters counted as tied, and without buffers."""
        values = [value if is_kept else 0 for value, is_kept in zip(self.values, _KEPT, strict=True)]
        values[Figures.params_tied.index] += self.params
        return Cost(tuple(values))

    def __eq__(self, other: object) -> bool:
        return self.values == other.values if isinstance(other, Cost) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{figure.name}={value}" for figure, value in zip(_STORED, self.values, strict=True) if value)
        return f"Cost({shown})"


def _with_weights(values: list[Dim], weights: Iterable[tuple[Use, Weight]]) -> tuple[Dim, ...]:
    """Return values with the figures of weights added."""
    for use, weight in weights:
        for index, measure in _WEIGHTS[use]:
            values[index] += measure(weight)
    return tuple(values)


def shown_totals(view: View, totals: Iterable[Figures], phases: frozenset[Phase] = FORWARD) -> list[Figure]:
    """Return the figures that a view gives as totals; a part only if it differs from its whole in one of ``totals``."""
    totals = tuple(totals)
    return [
        figure
        for figure in FIGURES.values()
        if figure.total_in(view)
        and figure.phase in phases
        and (figure.part_of is None or any(figure.of(total) != FIGURES[figure.part_of].of(total) for total in totals))
    ]


def layer_fields(view: View, phases: frozenset[Phase] = FORWARD) -> tuple[str, ...]:
    """Return the fields of a layer in the JSON and CSV of a view, with the figures of some parts of a step."""
    shapes = () if view == "params" else ("inputs", "outputs")
    figures = (name for name, figure in FIGURES.items() if view in figure.fields and figure.phase in phases)
    return ("path", "op", *shapes, *figures, "repeat", "instances")
