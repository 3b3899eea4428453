"""Scalars beside vectors, where PyTorch takes them as vectors of one element."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, cast

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import RuleT


def with_scalars(like: str, *others: str) -> Callable[[RuleT], RuleT]:
    """Return a decorator of a rule for tensors with axes: where one of some arguments is a scalar, it is a vector.

    The result is a scalar again if the argument ``like`` is one.
    """

    def register(rule: RuleT) -> RuleT:
        parameters = signature(rule)

        def with_vectors(*arguments: Any, **keywords: Any) -> Value:
            call = parameters.bind(*arguments, **keywords)
            given = call.arguments
            build: Builder = given["build"]
            is_scalar = not given[like].type.shape
            for name in (like, *others):
                if (value := given.get(name)) is not None and not value.type.shape:
                    given[name] = build.line("unsqueeze", [value], {"axis": 0})
            result: Value = rule(*call.args, **call.kwargs)
            return build.line("squeeze", [result], {"axis": 0}) if is_scalar else result

        return cast("RuleT", with_vectors)

    return register
