"""Bodies of which only sizes are known: a block elaborated once at symbolic sizes stands for many.

A :class:`Sketch` is a body with symbols for some sizes, and the conditions under which it is the body of other sizes
too.  A :class:`SketchedBody` is such a body at certain sizes: its types and figures are computed from the sketch, and
its nodes are made when they are first read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from netcalc.dims import Assumption, Poly
from netcalc.dims.source import certain, claim_source, source
from netcalc.ir.program import Body, CallNode, Node, types_of
from netcalc.tensor_type import TensorType


class Sketch:
    """A body with symbolic sizes; ``derived`` is what analyses have computed from it, by their own keys.

    ``example`` is the body at the sizes from which the sketch was made, to compare results with.

    Raises:
        ValueError: a size has no form as a Python expression.
    """

    def __init__(
        self,
        names: Sequence[str],
        body: Body,
        claims: Sequence[Assumption],
        example: tuple[tuple[int, ...], Body],
        equal: Sequence[str] = (),
    ) -> None:
        self.names = tuple(names)
        self.body = body
        self.example = example
        self.derived: dict[Any, Any] = {}
        open_claims = [claim for claim in dict.fromkeys(claims) if not certain(claim)]
        trivial = {f"{name} == {name}" for name in names}
        conditions = " and ".join([*(set(equal) - trivial), *map(claim_source, open_claims)]) or "True"
        self.holds: Callable[..., bool] = eval(f"lambda {', '.join(self.names)}: {conditions}", {})
        self.types = self.function(types_of(body.outputs))
        #: Calls of the body itself whose number of iterations is symbolic.
        calls = [node for node in body.nodes if isinstance(node, CallNode)]
        self.counted = [node for node in calls if isinstance(node.times, Poly)]
        self.times = self.function(tuple([node.times for node in self.counted]))

    def nodes(self, times: Sequence[int]) -> Sequence[Node]:
        """Return the nodes with numbers of iterations in place of the symbolic ones, without calls that have none."""
        if not self.counted:
            return self.body.nodes
        number_of = {id(node): number for node, number in zip(self.counted, times, strict=True)}
        return [
            node if id(node) not in number_of else _call_of(node, number_of[id(node)])
            for node in self.body.nodes
            if number_of.get(id(node)) != 0
        ]

    def function(self, value: Any) -> Callable[..., Any]:
        """Return a function from sizes to a value, with numbers in place of symbolic sizes in tuples and types.

        Raises:
            ValueError: a size has no form as a Python expression.
        """
        writer = _Writer()
        result = writer.text(value)
        body = "".join(f"    {line}\n" for line in writer.lines)
        text = f"def function({', '.join(self.names)}):\n{body}    return {result}\n"
        scope = {"constants": writer.constants, "TensorType": TensorType, "make": tuple.__new__}
        exec(text, scope)
        return scope["function"]  # type: ignore[return-value]


def _call_of(node: Any, times: int) -> CallNode:
    call = CallNode(node.name, node.body, node.inputs, node.outputs, times, node.start, node.shares, node.span)
    call.module = node.module
    return call


class _Writer:
    """Writer of the lines that compute parts of a value, each once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: list[Any] = []
        self._known: dict[Any, str] = {}

    def text(self, value: Any) -> str:
        """Return the Python expression of a value."""
        if not _is_symbolic(value):
            self.constants.append(value)
            return f"constants[{len(self.constants) - 1}]"
        if isinstance(value, Poly):
            return self._once(value, source(value))
        if isinstance(value, TensorType):
            return self._once(value, f"TensorType({self.text(value.shape)}, {value.dtype!r})")
        items = "(" + "".join(f"{self.text(item)}, " for item in value) + ")"
        if type(value) is tuple:
            return items
        self.constants.append(type(value))
        return f"make(constants[{len(self.constants) - 1}], {items})"

    def _once(self, value: Any, text: str) -> str:
        if value not in self._known:
            self._known[value] = f"v{len(self._known)}"
            self.lines.append(f"{self._known[value]} = {text}")
        return self._known[value]


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, TensorType):
        return value.is_symbolic
    return isinstance(value, Poly) or (isinstance(value, tuple) and any(map(_is_symbolic, value)))


class SketchedBody(Body):
    """A body at certain sizes of a sketch, whose nodes ``make`` elaborates when they are first read."""

    __slots__ = ("_lock", "_made", "_make", "_types", "sizes", "sketch")
    _made: Body | None
    _types: tuple[tuple[TensorType | None, ...], tuple[TensorType, ...]]

    def __init__(
        self, sketch: Sketch, sizes: tuple[int, ...], types: tuple[TensorType | None, ...], make: Callable[[], Body]
    ) -> None:
        self.sketch = sketch
        self.sizes = sizes
        self.block, self.ports, self.exposed = sketch.body.block, sketch.body.ports, 0
        self.derived = {}
        self._types = types, sketch.types(*sizes)
        self._make, self._made = make, None
        self._lock = Lock()

    @property
    def made(self) -> Body:
        """The body with its nodes."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made

    # a copy by `dataclasses.replace` is an ordinary body, and so is what is read back from a pickle
    __class__ = property(lambda self: Body)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.made.__reduce_ex__(protocol)

    inputs = property(lambda self: self.made.inputs)
    nodes = property(lambda self: self.made.nodes)
    outputs = property(lambda self: self.made.outputs)
    checkpoint = property(lambda self: self.made.checkpoint)

    @property
    def input_types(self) -> tuple[TensorType | None, ...]:
        """The input types."""
        return self._types[0]

    @property
    def result_types(self) -> tuple[TensorType | None, ...]:
        """The output types."""
        return self._types[1]

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """The output types."""
        return self._types[1]

    @property
    def repeatable(self) -> bool:
        """True if the outputs have the types of the first inputs."""
        return self._types[1] == self._types[0][: len(self._types[1])]
