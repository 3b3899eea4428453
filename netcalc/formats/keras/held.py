"""Weights of layers: their places in the file, and what makes parameters of netcalc of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple


class Form(NamedTuple):
    """Changes of an array of the file: axes in another order, then parts along the first axis, then a shape.

    ``at`` is one index of the first axis before all that.  ``parts`` are the places of equal parts of the first
    axis of which there are ``among``, in their new order.
    """

    axes: tuple[int, ...] | None = None
    parts: tuple[int, ...] | None = None
    among: int = 0
    shape: tuple[int, ...] | None = None
    at: int | None = None


@dataclass(eq=False, slots=True)
class Variable:
    """A variable of a layer.

    Attributes:
        group: the path of the layer in the file.
        name: its name in the layer.
        shape: its shape as Keras has it.
        trainable: False for statistics.
        place: its number in the group.
    """

    group: str
    name: str
    shape: tuple[int, ...]
    trainable: bool = True
    place: int = -1

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def path(self) -> str:
        """Path of the data in the file."""
        return f"{self.group}/vars/{self.place}" if self.group else f"vars/{self.place}"


class Held(NamedTuple):
    """A parameter: the variable that has its numbers, and what is done to them."""

    variable: Variable
    form: Form


@dataclass(eq=False, slots=True)
class Weights:
    """All parameters and variables of a model, by the paths that its spec has for them."""

    held: dict[str, Held] = field(default_factory=dict)
    variables: dict[tuple[str, str], Variable] = field(default_factory=dict)

    def number(self) -> None:
        """Give every variable its number in its group: those that are trained come first."""
        groups: dict[str, list[Variable]] = {}
        for variable in self.variables.values():
            groups.setdefault(variable.group, []).append(variable)
        for variables in groups.values():
            for place, variable in enumerate(sorted(variables, key=lambda one: not one.trainable)):
                variable.place = place

    @property
    def elements(self) -> int:
        """Number of elements of all variables."""
        return sum(variable.elements for variable in self.variables.values())


def shaped(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an array once a form is applied."""
    if form.at is not None:
        shape = shape[1:]
    if form.axes is not None:
        shape = tuple(shape[axis] for axis in form.axes)
    if form.parts is not None:
        shape = (shape[0] // form.among * len(form.parts), *shape[1:])
    return shape if form.shape is None else form.shape


def formed(form: Form, array: Any) -> Any:
    """Return an array once a form is applied."""
    if form.at is not None:
        array = array[form.at]
    if form.axes is not None:
        array = array.transpose(form.axes)
    if form.parts is not None:
        parts = array.reshape(form.among, array.shape[0] // form.among, *array.shape[1:])
        array = parts[list(form.parts)].reshape(-1, *array.shape[1:])
    return array if form.shape is None else array.reshape(form.shape)
