"""Going through a program node by node, holding no value longer than it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from netcalc.analysis.liveness import dying
from netcalc.analysis.walk import Instance, instances
from netcalc.ir import Body, CallNode, Program, Value, join
from netcalc.numerics.kernels import Array

__all__ = ["Evaluate", "Leave", "interpret", "operations"]

#: One operation's outputs from its inputs.
Evaluate: TypeAlias = Callable[[Instance, Sequence[Array | None]], Sequence[Array]]
#: Told of every call that ends: its path, the call, and what it returned.
Leave: TypeAlias = Callable[[str, CallNode, Sequence[Array]], None]


def interpret(
    program: Program, inputs: Sequence[Array | None], evaluate: Evaluate, leave: Leave | None = None
) -> list[Array]:
    """The program's outputs, each operation's work being done by ``evaluate``.

    Repeats run as loops: neither the time before the first operation nor the memory grows with the depth.
    """
    return _Interpreter(program, evaluate, leave).body(program.main, "", list(inputs))


def operations(program: Program) -> int:
    """How many operations one pass executes."""
    known: dict[Body, int] = {}

    def count(body: Body) -> int:
        if body not in known:
            known[body] = sum(n.times * count(n.body) if isinstance(n, CallNode) else 1 for n in body.nodes)
        return known[body]

    return count(program.main)


class _Interpreter:
    """Lists of arrays are handed over: whoever receives one empties it, so that no frame above keeps them alive."""

    def __init__(self, program: Program, evaluate: Evaluate, leave: Leave | None) -> None:
        self._instances: Iterator[Instance] = instances(program)  # in the very order of execution
        self._evaluate = evaluate
        self._leave = leave
        self._dying: dict[Body, list[tuple[Value, ...]]] = {}

    def body(self, body: Body, path: str, arguments: list[Array | None]) -> list[Array]:
        if body not in self._dying:
            self._dying[body] = dying(body)
        values = {v: array for v, array in zip(body.inputs, arguments, strict=True) if v is not None}
        arguments.clear()
        for node, dead in zip(body.nodes, self._dying[body], strict=True):
            inputs = [None if value is None else values[value] for value in node.inputs]
            for value in dead:
                values.pop(value, None)
            if isinstance(node, CallNode):
                outputs = self._call(node, path, inputs)
            else:
                outputs = list(self._evaluate(next(self._instances), inputs))
                inputs.clear()
            values.update(zip(node.outputs, outputs, strict=True))
            outputs.clear()
            for value in dead:
                values.pop(value, None)
        return [array for value in body.outputs if (array := values[value]) is not None]

    def _call(self, node: CallNode, path: str, inputs: list[Array | None]) -> list[Array]:
        fed = len(node.body.outputs)
        for turn in range(node.times - 1):
            arguments = inputs[:]
            inputs[:fed] = [None] * fed
            inputs[:fed] = self._instance(node, path, turn, arguments)
        return self._instance(node, path, node.times - 1, inputs)

    def _instance(self, node: CallNode, path: str, turn: int, arguments: list[Array | None]) -> list[Array]:
        here = join(path, node.instance(turn))
        outputs = self.body(node.body, here, arguments)
        if self._leave is not None:
            self._leave(here, node, outputs)
        return outputs
