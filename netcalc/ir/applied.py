"""Results of the rules of an operation for inputs of certain types."""

from __future__ import annotations

from typing import Any

from netcalc.opdef import Operation, Param
from netcalc.tensor_type import TensorType


class Applied:
    """An operation on inputs of certain types: output types and parameters, shared by all nodes that apply it so.

    ``costs`` are the costs of such a node, by the settings of the analysis.
    """

    __slots__ = ("costs", "op", "params", "results")

    def __init__(self, op: Operation, results: tuple[TensorType, ...], params: tuple[Param, ...]) -> None:
        self.op = op
        self.results = results
        self.params = params
        self.costs: dict[Any, Any] = {}
