"""Shapes with the axis of channels last, as images are often written: ``112×112×64``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from netcalc.analysis.channels import channel_axes
from netcalc.dims import Dim
from netcalc.ir import Program, Value
from netcalc.render.numbers import Ordered

#: Mark of a tensor whose axes keep their order, and its meaning.
_MARK = "*"
MEANING = f"{_MARK}: axes as they are, since nothing says which of them has channels"
#: Number of axes up to which a tensor has no other order: samples and features.
_PLAIN = 2


class ChannelOrder:
    """Order of the axes of the tensors of a program: channels last, without a batch of one.

    A tensor of three and more axes of which the channels are not known keeps its order, with a mark.
    """

    def __init__(self, program: Program) -> None:
        #: True if a tensor had a mark.
        self.marked = False
        self._axes = channel_axes(program)
        self._program = program

    def of(self, value: Value) -> Ordered:
        """Return the shape of a tensor in this order."""
        type_, axis = value.known_type, self._axes.get(value)
        if axis is None and type_.rank > _PLAIN:
            self.marked = True
            return Ordered(type_.shape, type_.dtype, _MARK)
        return Ordered(_moved(type_.shape, axis), type_.dtype)

    def all(self, values: Iterable[Value | None]) -> list[Ordered]:
        """Return the shapes of tensors."""
        return [self.of(value) for value in values if value is not None]

    @property
    def inputs(self) -> Mapping[str, Ordered]:
        """Inputs of the program by name."""
        sides = zip(self._program.inputs, self._program.main.inputs, strict=True)
        return {spec.name: self.of(value) for spec, value in sides if value is not None}

    @property
    def outputs(self) -> Mapping[str, Ordered]:
        """Outputs of the program by name."""
        return dict(zip(self._program.output_names, map(self.of, self._program.main.outputs), strict=False))

    def notes(self) -> Iterator[str]:
        """Yield the meaning of the mark, if a tensor had it."""
        if self.marked:
            yield MEANING


def _moved(shape: tuple[Dim, ...], axis: int | None) -> tuple[Dim, ...]:
    last = len(shape) - 1 if axis is None else axis
    sizes = (*shape[:last], *shape[last + 1 :], *shape[last : last + 1])
    return sizes[1:] if len(sizes) > 1 and last != 0 and sizes[0] == 1 else sizes
