"""Tensors without axes in operators along an axis, which PyTorch takes as vectors of one element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import Rule

_AXES = {"dim", "dims", "axis", "dim0", "dim1", "source", "destination", "start_dim"}


def taking_scalars(rule: Rule, arguments: Mapping[str, Any]) -> Rule:
    """Return a rule that takes tensors without axes as vectors where the given one refuses them; else the given one."""
    tensors = [value for value in arguments.values() if isinstance(value, Value)]
    if not _AXES & {*arguments} or not tensors or any(value.type.shape for value in tensors):
        return rule

    def along_one(build: Builder, **arguments: Any) -> Any:
        start = len(build.graph.lines)
        try:
            return rule(build, **arguments)
        except RuleError:
            build.undo(start)
        vectors = {
            name: build.line("unsqueeze", [value], {"axis": 0}) if isinstance(value, Value) else value
            for name, value in arguments.items()
        }
        result = rule(build, **vectors)
        if isinstance(result, (list, tuple)):
            return [_scalar(build, value) for value in result]
        return _scalar(build, result)

    return along_one


def _scalar(build: Builder, value: Any) -> Any:
    """Return the only element of a vector."""
    is_vector = isinstance(value, Value) and value.type.shape == (1,)
    return build.line("squeeze", [value], {"axis": 0}) if is_vector else value
