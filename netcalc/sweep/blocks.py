"""Straight-line programs over long columns, computed in place on blocks that stay in the cache of a core.

What the ranges of the columns decide is not computed: claims that hold everywhere, and the steps that they alone need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

#: Points of a block, so that its buffers fit the second cache of a core.
_BLOCK = 1 << 12

_UFUNCS = {"+": "add", "*": "multiply", "//": "floor_divide", "min": "minimum", "max": "maximum"}
_RELATIONS = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}


class Check(NamedTuple):
    """A claim that is computed: the number of steps before it, its relation and its sides."""

    after: int
    relation: str
    left: str
    right: str


class Task(NamedTuple):
    """Outputs of a program that are computed for columns with known ranges.

    Attributes:
        names: places of the columns.
        steps: operator and two operands of each step, whose results have the places ``t0``, ``t1``, ….
        checks: what has to hold, in the order of the steps.
        results: places of the results; any other place is an integer.
    """

    names: Sequence[str]
    steps: Sequence[tuple[str, str, str]]
    checks: Sequence[Check]
    results: Sequence[str]


class Blocks:
    """A task as calls of NumPy that write into buffers, which are used again when their value is read no more."""

    def __init__(self, task: Task) -> None:
        self._count = len(task.results)
        writer = _Writer(task)
        lines = writer.lines()
        source = "def block(columns, held, flag, buffers, outs):\n" + "".join(f"    {line}\n" for line in lines)
        scope = _scope()
        exec(source, scope)
        self._block: Callable[..., None] = scope["block"]
        self._buffers = writer.buffers

    def over(self, columns: Sequence[Any], size: int) -> tuple[Any, list[Any]]:
        """Return a column of truth values, and an array of int64 for each result, which counts where that is True."""
        import numpy as np

        held = np.empty(size, bool)
        results = [np.empty(size, np.int64) for _ in range(self._count)]
        flag, buffers = np.empty(_BLOCK, bool), [np.empty(_BLOCK, np.int64) for _ in range(self._buffers)]
        with np.errstate(divide="ignore"):  # where a divisor is zero, nothing holds
            for start in range(0, size, _BLOCK):
                part = slice(start, start + _BLOCK)
                if size - start < _BLOCK:
                    flag, buffers = flag[: size - start], [buffer[: size - start] for buffer in buffers]
                own, outs = [column[part] for column in columns], [column[part] for column in results]
                self._block(own, held[part], flag, buffers, outs)
        return held, results


class _Writer:
    """Source of a task, with the buffers that are free at each line."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._places = {name: f"columns[{index}]" for index, name in enumerate(task.names)}
        for index, place in enumerate(task.results):
            if place in _steps_of(task):
                self._places.setdefault(place, f"outs[{index}]")
        self._order = _ordered(task)
        self._last = _last_reads(task, self._order)
        self._free: list[str] = []
        self._held: dict[str, str] = {}
        self.buffers = 0

    def lines(self) -> list[str]:
        """Return the statements of a block."""
        lines = ["held.fill(True)"]
        for position, action in enumerate(self._order):
            if isinstance(action, Check):
                sides = self._operands(position, action.left, action.right)
                lines += [f"{_RELATIONS[action.relation]}({sides}, out=flag)", "logical_and(held, flag, out=held)"]
            elif f"t{action}" in self._last:
                operator, left, right = self._task.steps[action]
                operands = self._operands(position, left, right)
                target = self._target(f"t{action}")
                if operator == "log2":
                    lines.append(f"copyto({target}, ceil_log2({operands.partition(', ')[0]}))")
                else:
                    lines.append(f"{_UFUNCS[operator]}({operands}, out={target})")
        for index, place in enumerate(self._task.results):
            if self._read(place) != f"outs[{index}]":
                lines.append(f"copyto(outs[{index}], {self._read(place)})")
        return lines

    def _operands(self, position: int, *places: str) -> str:
        """Return operands as text, after the buffers of those that are read no more have become free."""
        text = ", ".join(map(self._read, places))
        for place in places:
            if place in self._held and self._last[place] == position:
                self._free.append(self._held.pop(place))
        return text

    def _target(self, place: str) -> str:
        if place in self._places:
            return self._places[place]
        if not self._free:
            self._free.append(f"buffers[{self.buffers}]")
            self.buffers += 1
        self._held[place] = self._free.pop()
        return self._held[place]

    def _read(self, place: str) -> str:
        return self._held.get(place) or self._places.get(place, place)


def _steps_of(task: Task) -> frozenset[str]:
    return frozenset(f"t{number}" for number in range(len(task.steps)))


def _ordered(task: Task) -> list[Check | int]:
    """Return the checks and the numbers of the steps in the order in which they are computed."""
    order: list[Check | int] = []
    checks = sorted(task.checks, key=lambda check: check.after)
    for number in range(len(task.steps) + 1):
        while checks and checks[0].after <= number:
            order.append(checks.pop(0))
        order.append(number)
    return order[:-1]


def _last_reads(task: Task, order: Sequence[Check | int]) -> dict[str, int]:
    """Return the places that are needed, each with the position of what reads it last."""
    last = dict.fromkeys(task.results, len(order))
    for position in range(len(order) - 1, -1, -1):
        action = order[position]
        if isinstance(action, Check):
            read = action[2:]
        elif f"t{action}" in last:
            read = task.steps[action][1:]
        else:
            continue
        for place in read:
            last.setdefault(place, position)
    return last


def _scope() -> dict[str, Any]:
    import numpy as np

    names = (*_UFUNCS.values(), *_RELATIONS.values(), "logical_and", "copyto")
    return {name: getattr(np, name) for name in names} | {"ceil_log2": ceil_log2}


def ceil_log2(size: Any) -> Any:
    """Return ⌈log₂ n⌉ of the positive numbers of an array, and ``(n - 1).bit_length()`` of others."""
    import numpy as np

    rest = np.abs(size - 1)
    most = int(np.max(rest)).bit_length()
    result = np.zeros_like(rest)
    for bit in range(most):
        result = result + (rest >= 1 << bit)
    return result
