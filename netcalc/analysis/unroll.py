"""Evaluation of a program operation by operation, with repeats unrolled, on values of any kind.

The reference executor evaluates arrays, and the planner evaluates the tensors of its graph. The rule that the outputs
of one iteration are the first inputs of the next is implemented here for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from netcalc.analysis.counting import require_visits
from netcalc.analysis.liveness import dying
from netcalc.analysis.walk import Instance, instances
from netcalc.ir import Body, CallNode, Program, join

T = TypeVar("T")
#: Return the outputs of one operation for its inputs; None is an optional input that is absent.
Evaluate: TypeAlias = Callable[[Instance, Sequence[T | None]], Sequence[T]]
#: Receive the path, the call and the outputs of each iteration of a call when it ends.
Leave: TypeAlias = Callable[[str, CallNode, Sequence[T]], None]


def unroll(
    program: Program, inputs: Sequence[T | None], evaluate: Evaluate[T], leave: Leave[T] | None = None
) -> list[T]:
    """Return the program's outputs for its inputs, computing each operation with ``evaluate``.

    No value is referenced after its last use, and the list of inputs that ``evaluate`` receives is emptied when it
    returns. Repeats run as loops: neither the time before the first operation nor the memory grows with the depth.
    """
    require_visits(program)
    return _Unrolling(program, evaluate, leave).body(program.main, "", list(inputs))


class _Unrolling(Generic[T]):
    """State of the evaluation of a program.

    Each method empties the list of values that it receives, so that no calling frame keeps the values alive.
    """

    def __init__(self, program: Program, evaluate: Evaluate[T], leave: Leave[T] | None) -> None:
        self._instances: Iterator[Instance] = instances(program)  # in the order of execution
        self._evaluate = evaluate
        self._leave = leave
        self._dying = cache(dying)

    def body(self, body: Body, path: str, arguments: list[T | None]) -> list[T]:
        values = {v: argument for v, argument in zip(body.inputs, arguments, strict=True) if v is not None}
        arguments.clear()
        for node, dead in zip(body.nodes, self._dying(body), strict=True):
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
        return [output for value in body.outputs if (output := values[value]) is not None]

    def _call(self, node: CallNode, path: str, inputs: list[T | None]) -> list[T]:
        """Evaluate the iterations of a call one after the other."""
        carried = node.carried
        for index in range(node.times - 1):
            arguments = inputs[:]
            inputs[:carried] = [None] * carried
            inputs[:carried] = self._iteration(node, path, index, arguments)
        return self._iteration(node, path, node.times - 1, inputs)

    def _iteration(self, node: CallNode, path: str, index: int, arguments: list[T | None]) -> list[T]:
        instance = join(path, node.instance(index))
        outputs = self.body(node.body, instance, arguments)
        if self._leave is not None:
            self._leave(instance, node, outputs)
        return outputs
