"""A foreign graph: operations of netcalc in the order of execution, with the tensors and modules of their source.

Every importer of graphs translates the operators of its format into lines of this model; the other modules of the
package make a readable document of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.opdef import Operation
from netcalc.ops import find
from netcalc.tensor_type import TensorType


class ModuleCall(NamedTuple):
    """A call of a module: its path in the source, the number of the call, and the name of its class."""

    path: str
    number: int = 0
    kind: str = ""


#: The calls around an operation, the outermost first, without the call of the whole model.
Scope = tuple[ModuleCall, ...]


class Stored(NamedTuple):
    """A tensor of the source's checkpoint, or a view of it.

    ``part`` is a range of indices along the first axis; ``transpose`` swaps the last two axes after that.
    """

    path: str
    part: tuple[int, int] | None = None
    transpose: bool = False


@dataclass(eq=False, slots=True)
class Value:
    """A tensor that an operation makes, an input, or a tensor of the checkpoint that no line reads yet (``stored``)."""

    type: TensorType
    hint: str = ""
    stored: Stored | None = None


@dataclass(eq=False, slots=True)
class Line:
    """An operation applied to values; a line of the spec to be.

    Attributes:
        operation: name of the operation.
        attributes: its attributes, as a spec would have them; a symbolic size is a polynomial.
        inputs: a value for each input port, None where an optional one is not given, and one for each tensor of a
            variadic port.
        outputs: a value for each output port.
        scope: the calls of modules around it.
        parameters: the stored tensor of each parameter and buffer of the operation, by its name in the operation;
            the name is empty for the operations ``parameter`` and ``buffer``, which are the tensor.
    """

    operation: str
    attributes: dict[str, Any]
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    scope: Scope = ()
    parameters: dict[str, Stored] = field(default_factory=dict)


def operation_named(name: str) -> type[Operation]:
    """Return an operation that the lines of a graph may name, since the builder found it."""
    declared = find(name)
    assert declared is not None
    return declared


def given(inputs: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """Return the inputs of a line without those at the end that are not given."""
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    return tuple(inputs)


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A parameter or buffer of the source.

    Where the value of a buffer is known, ``value`` is a number for all elements or nested lists, or ``computed`` the
    lines of a spec that compute it.  Where it is ``unknown``, ``value`` is one that shows in the results; ``array`` is
    the value if it is only too long for a spec.  The source does not count a ``constant`` as its own.
    """

    type: TensorType
    buffer: bool = False
    trainable: bool = True
    persistent: bool = True
    value: Any = None
    computed: list[dict[str, Any]] | None = None
    unknown: bool = False
    array: Any = None
    constant: bool = False


@dataclass(eq=False, slots=True)
class Graph:
    """A network of a foreign format.

    Attributes:
        name, source: as in a spec.
        dims: named sizes, with their defaults and limits as in a spec.
        inputs: the inputs by name.
        lines: the operations, each after those that make its inputs.
        outputs: the results by name.
        dead: results of dead code, which the source computes and no output needs; their lines stay.
        tensors: all parameters and buffers of the source by path, each once; also those that no line uses.
        aliases: further paths of tensors that are tied, with the path of each in ``tensors``.
        notes: remarks for the user.
        training: True if the lines compute what the source computes in training mode, in a network of this mode.
        places: the path in the network of each tensor that a line uses, once the document is written.
    """

    name: str
    source: str = ""
    dims: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    inputs: dict[str, Value] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    outputs: dict[str, Value] = field(default_factory=dict)
    dead: list[Value] = field(default_factory=list)
    tensors: dict[str, StoredTensor] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    training: bool = False
    places: dict[Stored, str] = field(default_factory=dict)

    @property
    def results(self) -> tuple[Value, ...]:
        """The outputs, and the results of dead code."""
        return (*self.outputs.values(), *self.dead)

    def replace_results(self, replaced: Mapping[Value, Value]) -> None:
        """Let other values stand for some of the results."""
        self.outputs = {name: replaced.get(value, value) for name, value in self.outputs.items()}
        self.dead = [replaced.get(value, value) for value in self.dead]
