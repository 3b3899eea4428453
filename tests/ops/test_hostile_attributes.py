"""Values that no operation expects, as every attribute of every operation: each is a result or a diagnostic."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

import netcalc
from netcalc import ops
from netcalc.analysis.explain import explain
from netcalc.opdef import Operation
from netcalc.records import as_dict
from netcalc.reference.operations import _plain

BIG = 10**30
VALUES: tuple[Any, ...] = (
    *(0, -1, 2**63, BIG, 10**400, float("nan"), float("inf"), True, None, "", "${[10**30] * 4999}"),
    *([], [[]], [-1], [BIG], [BIG, BIG], [BIG, BIG, BIG], [0, 10**9], [[0, BIG], [BIG, 0]]),
)
#: Processor time of one attempt, which takes some milliseconds.
SECONDS = 5.0


def spec(declared: type[Operation], attrs: dict[str, Any]) -> str:
    """Return the spec of the operation's example with other attributes."""
    types = declared.example.types()
    inputs = {f"x{i}": {"shape": list(t.shape), "dtype": t.dtype} for i, t in enumerate(types)}
    line: dict[str, Any] = {declared.name: attrs} | ({"from": list(inputs)} if inputs else {})
    return (
        json.dumps({"netcalc": 1, "inputs": inputs, "layers": [line]})
        .replace("NaN", ".nan")
        .replace("Infinity", ".inf")
    )


def hostile(declared: type[Operation]) -> Iterator[dict[str, Any]]:
    """Yield the attributes of the example, one of them replaced by a hostile value."""
    example = _plain(declared.example.attrs)
    for name in declared.model_fields:
        for value in VALUES:
            yield {**example, name: value}
    large = {name: BIG for name, value in example.items() if type(value) is int}
    if large:
        yield {**example, **large}


def use(text: str) -> None:
    """Show the network in every report."""
    net = netcalc.loads(text)
    for view in ("shapes", "params", "flops", "summary"):
        summary = net.summary(view=view)
        json.dumps(as_dict(summary))
        str(summary)
    explanation = explain(net.program, net.summary().layers[0].path, net.analysis().convention)
    json.dumps(as_dict(explanation))
    str(explanation)


@pytest.mark.parametrize("name", ops.names())
def test_each_value_is_taken_or_refused_with_a_place(name: str) -> None:
    declared = ops.every()[name]
    for attrs in hostile(declared):
        text = spec(declared, attrs)
        started = time.process_time()
        try:
            use(text)
        except netcalc.NetcalcError as error:
            assert all(found.span is not None for found in error.diagnostics), text
            assert len(str(error)) < 20_000, text
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {str(error)[:200]}: {text[:400]}")
        assert time.process_time() - started < SECONDS, text
