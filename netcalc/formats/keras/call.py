"""Calls of layers that are translated: their operands, settings and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Stored, StoredTensor, Value
from netcalc.formats.keras.configuration import Layer
from netcalc.formats.keras.held import Form, Held, Variable, Weights, shaped
from netcalc.formats.keras.operand import Layouts, Operand
from netcalc.formats.keras.problems import clipped
from netcalc.tensor_type import TensorType

#: Settings that do not change what a layer computes in inference, or how many weights it has.
_WITHOUT_EFFECT = frozenset(
    (
        "name",
        "trainable",
        "dtype",
        "seed",
        "autocast",
        "synchronized",
        "batch_input_shape",
        "batch_shape",
        "build_config",
    )
)
_ENDINGS = ("_initializer", "_regularizer", "_constraint")
#: Arguments of calls that say nothing where they have these values.
_DEFAULTS: Mapping[str, tuple[Any, ...]] = {"training": (None, False), "mask": (None,)}


#: Place of arguments that are given by name.
_AS_KEYWORD = 99


class Surroundings(NamedTuple):
    """The model around a layer.

    Attributes:
        build: adds lines to the graph.
        layouts: conversions of layouts.
        weights: weights of the model.
        path: the path of the layer in the graph.
        group: the path of its weights in the file.
        trainable: False in a model that is frozen.
        inner: translates a layer inside of this one, by its place in the file.
    """

    build: Builder
    layouts: Layouts
    weights: Weights
    path: str
    group: str
    trainable: bool
    inner: Callable[..., Any]


class Call:
    """A call of a layer.

    Attributes:
        layer: the layer.
        around: the model around it.
        build: adds lines to the graph.
        args, kwargs: its arguments, with operands in place of tensors.
    """

    def __init__(self, layer: Layer, around: Surroundings, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.layer = layer
        self.around = around
        self.build = around.build
        self.args = list(args)
        self.kwargs = dict(kwargs)
        self._read: set[str] = set()
        self._given: set[str] = set()

    # -- arguments ---------------------------------------------------------------------------------

    def argument(self, place: int, name: str, default: Any = None) -> Any:
        """Return an argument by its place or its name; the default if neither is given."""
        if place < len(self.args):
            return self.args[place]
        self._given.add(name)
        value = self.kwargs.get(name)
        return default if value is None else value

    def operand(self, place: int = 0, name: str = "inputs") -> Operand:
        """Return an argument that is a tensor; RuleError if it is none."""
        value = self.argument(place, name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, Operand):
            raise RuleError(f"its argument {name!r} should be a tensor")
        return value

    def operands(self, place: int = 0, name: str = "inputs", least: int = 1) -> list[Operand]:
        """Return an argument that is a list of tensors; RuleError if it is none."""
        value = self.argument(place, name)
        listed = value if isinstance(value, list) else [value]
        if len(listed) < least or not all(isinstance(item, Operand) for item in listed):
            raise RuleError(f"its argument {name!r} should be {least} or more tensors")
        return listed

    def mask(self, operand: Operand | None = None, name: str = "mask") -> Value | None:
        """Return the mask of an operand, by default the input, true at the steps that count; None if all do.

        It is the argument of this name where the file has it, as files of newer versions do.
        """
        own = self.argument(_AS_KEYWORD, name)
        if own is None:
            return (self.operand() if operand is None else operand).mask
        if not isinstance(own, Operand):
            raise RuleError(f"its argument {name!r} should be a tensor")
        return cast(self.build, self.last(own), "bool")

    def last(self, operand: Operand | None = None) -> Value:
        """Return an operand, by default the input, with its axes in the order of Keras."""
        return self.around.layouts.last(self.operand() if operand is None else operand)

    def first(self, operand: Operand | None = None) -> Value:
        """Return an operand, by default the input, with channels as axis 1."""
        return self.around.layouts.first(self.operand() if operand is None else operand)

    # -- settings ----------------------------------------------------------------------------------

    def get(self, name: str, default: Any = None) -> Any:
        """Return a setting of the layer, or the default."""
        self._read.add(name)
        value = self.layer.config.get(name)
        return default if value is None else value

    def integer(self, name: str, least: int = 1) -> int:
        """Return a setting that is a whole number; RuleError if it is none."""
        value = self.get(name)
        if type(value) is not int or value < least:
            raise RuleError(f"{name} should be a whole number from {least} on, and it is {clipped(value)}")
        return value

    def number(self, name: str, default: float | None = None) -> Any:
        """Return a setting that is a number; RuleError if it is none."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise RuleError(f"{name} should be a number, and it is {clipped(value)}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a setting that is true or false; RuleError if it is neither."""
        value = self.get(name, default)
        if not isinstance(value, bool):
            raise RuleError(f"{name} should be true or false, and it is {clipped(value)}")
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        """Return a setting that is one of some texts; RuleError if it is none of them."""
        value = self.get(name, default)
        if value not in allowed:
            raise RuleError(f"{name} {clipped(value)} is not known")
        return str(value)

    def sizes(self, name: str, count: int, default: int | None = None, least: int = 1) -> list[int]:
        """Return a setting of a whole number for each of some axes; RuleError if it is none."""
        value = self.get(name, default)
        listed = [value] * count if type(value) is int else value
        right = isinstance(listed, list) and len(listed) == count
        if not right or not all(type(size) is int and size >= least for size in listed):
            raise RuleError(f"{name} should be {count} whole numbers from {least} on, and it is {clipped(value)}")
        return list(listed)

    def without(self, name: str, *values: Any) -> None:
        """Check that a setting is absent or one of some values; RuleError if it asks for more."""
        value = self.get(name)
        if value is not None and not any(type(value) is type(other) and value == other for other in values):
            raise RuleError(f"{name} {clipped(value)} is not supported")

    def channels_last(self) -> None:
        """Check that the last axis has the channels; RuleError if not."""
        self.without("data_format", "channels_last")

    def require_read(self) -> None:
        """Check that nothing was passed over that might change the result; RuleError with its name."""
        rest = [
            name
            for name, value in self.layer.config.items()
            if name not in self._read
            and name not in _WITHOUT_EFFECT
            and not name.endswith(_ENDINGS)
            and value is not None
        ]
        if rest:
            raise RuleError(f"setting {', '.join(map(clipped, rest))} is not known")
        for name, value in self.kwargs.items():
            if name in self._given or value is None:
                continue
            if value not in _DEFAULTS.get(name, ()):
                raise RuleError(f"argument {clipped(name)} of its call is not supported")

    # -- lines and weights -------------------------------------------------------------------------

    def line(self, operation: str, inputs: Sequence[Value | None], attributes: dict[str, Any] | None = None) -> Value:
        """Add an operation with one output."""
        return self.build.line(operation, inputs, attributes)

    def weight(
        self,
        name: str,
        variable: str,
        shape: Sequence[Dim],
        form: Form = Form(),  # noqa: B008 - a tuple
        *,
        trainable: bool = True,
        buffer: bool = False,
        inner: str = "",
        path: str | None = None,
        dtype: DType = "float32",
    ) -> Value:
        """Return a parameter of the layer.

        Args:
            name: its name in the operation.
            variable, shape: name and shape of the variable of Keras.
            form: what makes the parameter of it.
            trainable: False for statistics, which are buffers.
            buffer: True for a weight that is a buffer of the operation.
            inner: place of a layer inside of this one that has it: ``cell``.
            path: path of the line that holds it, by default the path of the layer.
            dtype: its element type.
        """
        around = self.around
        if not all(isinstance(size, int) for size in shape):
            raise RuleError("the shape of its weights depends on a size that is not known")
        sizes = tuple(int(size) for size in shape)
        group = "/".join(part for part in (around.group, inner) if part)
        stored = around.weights.variables.setdefault((group, variable), Variable(group, variable, sizes, trainable))
        if stored.shape != sizes:
            shapes = " and ".join("×".join(map(str, one)) for one in (stored.shape, sizes))
            raise RuleError(f"its calls need {variable} of different shapes, {shapes}")
        owner = around.path if path is None else path
        place = f"{owner}.{name}" if name else owner
        type_ = TensorType(shaped_sizes(form, sizes), dtype)
        around.weights.held[place] = Held(stored, form)
        is_buffer = buffer or not trainable
        self.build.graph.tensors[place] = StoredTensor(type_, is_buffer, is_buffer or self.is_trained)
        return Value(type_, "", Stored(place))

    @property
    def is_trained(self) -> bool:
        """False if the layer, or a model around it, is frozen."""
        return self.around.trainable and self.layer.is_trainable

    def note(self, text: str) -> None:
        """Add a remark to the spec, once."""
        if text not in self.build.graph.notes:
            self.build.graph.notes.append(text)


def shaped_sizes(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a parameter; RuleError if its form does not fit."""
    try:
        return shaped(form, shape)
    except IndexError:
        raise RuleError("the shape of its weights does not fit its input") from None
