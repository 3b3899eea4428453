"""One operation as a program of its own, run by the planner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netcalc.engine.plan import Plan
from netcalc.engine.runtime.session import Session
from netcalc.ir import Body, InputSpec, OpNode, Program, Value
from netcalc.opdef import Operation, Param
from netcalc.tensor_type import TensorType

__all__ = ["alone", "planned"]


class _Given:
    """Parameters that are in memory, by their name in the operation."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._weights = weights

    def fetch(self, instance: Any, param: Param) -> np.ndarray:
        return self._weights[param.name]


def alone(
    op: Operation, types: Sequence[TensorType | None], predicted: Sequence[TensorType], params: Sequence[Param]
) -> Program:
    """The program of one operation, its absent inputs left out."""
    values = tuple(None if type_ is None else Value(type_, f"x{n}") for n, type_ in enumerate(types))
    given = tuple(value for value in values if value is not None)
    results = tuple(Value(type_, f"y{n}") for n, type_ in enumerate(predicted))
    node = OpNode("op", op, values, results, tuple(params))
    inputs = tuple(InputSpec(value.name, value.type) for value in given if value.type is not None)
    return Program("op", Body("main", given, (node,), results), inputs, tuple(value.name for value in results))


def planned(
    program: Program, arrays: Sequence[np.ndarray | None], weights: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """The outputs of that operation on two threads."""
    parameters: Any = _Given(weights)
    return Session(Plan(program, 2), parameters)([array for array in arrays if array is not None])
