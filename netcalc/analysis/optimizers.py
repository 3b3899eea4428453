"""Optimizers: the states that they keep and the work of an update, read from ``data/optimizers``, a file for each.

Updates are those of torch.optim without fusion, in the order of the formulas: p is a parameter, g its gradient, t the
number of the step.  Work is given for each element, or as an expression of settings and sizes: ``elements``;
``matrices``, the sizes of all axes but the last two multiplied; ``rows`` and ``columns`` of all of them together;
``least``, the smaller of the last two sizes.  Numbers that are the same for all elements (1 − lr·λ, corrections of the
bias) are computed once for a step and are not counted.  ``when`` names the setting that a part depends on, which is
left out at 0, and ``others`` the optimizer of the parameters that are no hidden matrices of two axes, such as tables of
embeddings, biases and kernels of convolutions, with its settings by the names that they have here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim, integer, minimum, product
from netcalc.dtypes import DType
from netcalc.expressions import parse
from netcalc.ir import OpNode
from netcalc.opdef import Kind, Term

_FOLDER = Path(__file__).parent.parent / "data" / "optimizers"

#: Parameters that a part of an update or a state is for: those of two or more axes, the others, or all.
Of: TypeAlias = Literal["matrix", "vector", ""]
#: Sizes of the axes of a parameter.
Shape: TypeAlias = Sequence[Dim]


class State(NamedTuple):
    """A tensor that an optimizer keeps for each parameter, with a number for each element, row, column, or for all.

    ``dtype`` is None for the type of the parameter.
    """

    name: str
    dtype: DType | None
    per: Literal["element", "row", "column", "tensor", "block"]
    of: Of = ""
    block: int = 1
    """Elements of a block."""
    least: int = 0
    """The fewest elements of a parameter that has the state."""
    below: int | None = None
    """Elements from which on a parameter does not have it."""

    def shape(self, parameter: Shape) -> tuple[Dim, ...]:
        """Return the shape of the state of a parameter."""
        if self.per == "tensor":
            return ()
        if self.per == "block":
            return (-(-integer(product(parameter)) // self.block),)
        sizes = list(parameter)
        if self.per != "element":
            sizes[-1 if self.per == "row" else -2] = 1
        return tuple(sizes)


class Part(NamedTuple):
    """A part of an update: its formula, and the work for each element or, as an expression, for a parameter.

    ``when`` is the setting without which the part is left out; empty for a part of every update.
    """

    role: str
    formula: str
    work: Mapping[Kind, int | str]
    when: str = ""
    of: Of = ""


class Others(NamedTuple):
    """The optimizer of the parameters that are no hidden matrices, and the names that its settings have."""

    optimizer: str
    settings: Mapping[str, str]


class Optimizer(NamedTuple):
    """An optimizer; ``settings`` are the defaults by name, ``source`` is the code that the formulas follow."""

    name: str
    about: str
    source: str
    settings: Mapping[str, float]
    states: tuple[State, ...]
    update: tuple[Part, ...]
    others: Others | None = None
    temporaries: int = 0
    """Tensors of the size of a parameter that its update allocates at a time."""

    def of(self, parameter: Shape, table: bool = False) -> Optimizer:
        """Return the optimizer of a parameter, which ``table`` says is a table of embeddings: this one or another.

        An optimizer of hidden matrices leaves parameters of one axis or of more than two, and tables, to another one.
        """
        is_hidden_matrix = len(parameter) == 2 and not table
        return self if self.others is None or is_hidden_matrix else optimizer_named(self.others.optimizer)

    def settings_of(self, optimizer: Optimizer, settings: Mapping[str, float]) -> Mapping[str, float]:
        """Return the settings of the optimizer of a parameter, of those of this one."""
        if self.others is None or optimizer is self:
            return settings
        names = self.others.settings.items()
        return {**optimizer.settings, "lr": settings["lr"], **{name: settings[ours] for name, ours in names}}

    def kept(self, parameter: Shape, table: bool = False) -> tuple[State, ...]:
        """Return the states that are kept for a parameter."""
        kept = (state for state in self.of(parameter, table).states if _is_of(state.of, parameter))
        return tuple(state for state in kept if _is_of_size(state, parameter))

    def parts(self, parameters: Sequence[Shape], table: bool = False, **settings: float) -> tuple[Part, ...]:
        """Return the parts of an update of parameters with these settings, and the defaults for the others."""
        return tuple(
            part
            for one, shapes, values in self._by_optimizer(parameters, table, settings)
            for part, _ in one._parts(shapes, values)
        )

    def terms(self, parameters: Sequence[Shape], table: bool = False, **settings: float) -> tuple[Term, ...]:
        """Return the work of one update of parameters of these shapes, in a step after the first."""
        return tuple(
            _term(kind, part, amount, taken, values)
            for one, shapes, values in self._by_optimizer(parameters, table, settings)
            for part, taken in one._parts(shapes, values)
            for kind, amount in part.work.items()
        )

    def _by_optimizer(
        self, parameters: Sequence[Shape], table: bool, settings: Mapping[str, float]
    ) -> Iterator[tuple[Optimizer, list[Shape], Mapping[str, float]]]:
        values = {**self.settings, **settings}
        by_name: dict[str, list[Shape]] = {}
        for shape in parameters:
            by_name.setdefault(self.of(shape, table).name, []).append(shape)
        for name, shapes in by_name.items():
            one = self if name == self.name else optimizer_named(name)
            yield one, shapes, self.settings_of(one, values)

    def _parts(self, parameters: Sequence[Shape], values: Mapping[str, float]) -> Iterator[tuple[Part, list[Shape]]]:
        for part in self.update:
            taken = [shape for shape in parameters if _is_of(part.of, shape)]
            if taken and (not part.when or values[part.when]):
                yield part, taken


def is_table(node: OpNode) -> bool:
    """Return True for an operation whose matrices are tables of embeddings, and no hidden matrices."""
    return node.op.name == "embedding"


def _is_of(of: Of, parameter: Shape) -> bool:
    return not of or (of == "matrix") == (len(parameter) > 1)


def _is_of_size(state: State, parameter: Shape) -> bool:
    if state.least == 0 and state.below is None:
        return True
    elements = integer(product(parameter))
    return state.least <= elements and (state.below is None or elements < state.below)


def _term(kind: Kind, part: Part, amount: int | str, shapes: Sequence[Shape], settings: Mapping[str, float]) -> Term:
    if isinstance(amount, int):
        elements = sum(product(shape) for shape in shapes)
        return Term.of(kind, part.role, elements=elements, **({"each": amount} if amount > 1 else {}))
    expression = parse(amount)
    return Term.of(kind, part.role, operations=sum(expression.evaluate(_sizes(shape, settings)) for shape in shapes))


def _sizes(shape: Shape, settings: Mapping[str, float]) -> Mapping[str, Dim]:
    """Return the sizes of a parameter by which work is stated, and the settings that are whole numbers."""
    sizes: dict[str, Dim] = {name: int(value) for name, value in settings.items() if value == int(value)}
    sizes["elements"] = product(shape)
    if len(shape) > 1:
        matrices, first, last = product(shape[:-2]), shape[-2], shape[-1]
        sizes |= {"matrices": matrices, "rows": matrices * first, "columns": matrices * last}
        sizes |= {"least": minimum(first, last)}
    return sizes


def optimizer_names(*, updates: bool = False) -> tuple[str, ...]:
    """Return the names of all optimizers whose states are counted, or of those whose updates are counted too."""
    names = sorted(file.stem for file in _FOLDER.glob("*.yaml"))
    return tuple(name for name in names if not updates or _read(name).update)


def optimizer_named(name: str) -> Optimizer:
    """Return an optimizer; NetcalcError (E502) if there is none of that name, or its update is not counted."""
    if name not in optimizer_names():
        raise _unknown(name, optimizer_names(updates=True))
    optimizer = _read(name)
    if not optimizer.update:
        raise NetcalcError(Diagnostic("E502", f"the update of {name} is not counted, only the memory of its states"))
    return optimizer


def optimizer_of_memory(name: str) -> Optimizer:
    """Return an optimizer whose states are counted; NetcalcError (E502) if there is none of that name."""
    if name not in optimizer_names():
        raise _unknown(name, optimizer_names())
    return _read(name)


def _unknown(name: str, known: Sequence[str]) -> NetcalcError:
    hint = did_you_mean(name, known) or f"the optimizers are {', '.join(known)}"
    return NetcalcError(Diagnostic("E502", f"there is no optimizer {name!r}", hint=hint))


@cache
def _read(name: str) -> Optimizer:
    from netcalc.spec.yaml_document import parse_yaml

    file = _FOLDER / f"{name}.yaml"
    return _optimizer(name, parse_yaml(file.read_text(encoding="utf-8"), file.name).data)


def _optimizer(name: str, entry: Mapping[str, Any]) -> Optimizer:
    others = entry.get("others")
    return Optimizer(
        name,
        entry["about"],
        entry["source"],
        entry["settings"],
        tuple(_state(state) for state in entry["states"]),
        tuple(Part(p["role"], p["formula"], p["work"], p.get("when", ""), p.get("of", "")) for p in entry["update"]),
        None if others is None else Others(others["optimizer"], others["settings"]),
        entry.get("temporaries", 0),
    )


def _state(entry: Mapping[str, Any]) -> State:
    dtype = None if entry["dtype"] == "parameter" else entry["dtype"]
    sizes = entry.get("block", 1), entry.get("least", 0), entry.get("below")
    return State(entry["name"], dtype, entry["per"], entry.get("of", ""), *sizes)
