"""Optimizers: work and states of their data file, whose numbers the live oracle compares with torch.optim."""

from __future__ import annotations

from collections import Counter

import pytest

from netcalc.analysis.optimizers import optimizer_named, optimizer_names
from netcalc.diagnostics import NetcalcError

#: Work for each element by torch's operators without fusion: mul_, lerp_, mul_, addcmul_, sqrt, div, add_, addcdiv_.
ADAMW = {"mul": 6, "add": 5, "div": 2, "transcendental": 1}


def _work(name: str, **settings: float) -> dict[str, int]:
    found: Counter[str] = Counter()
    for term in optimizer_named(name).terms([(1,)], **settings):
        assert isinstance(term.count, int)
        found[term.kind] += term.count
    return dict(found)


def test_work_of_an_update() -> None:
    assert _work("adamw") == ADAMW
    assert _work("adamw", weight_decay=0) == _work("adam") == {**ADAMW, "mul": 5}
    assert _work("sgd") == {"mul": 1, "add": 1}
    assert _work("momentum") == {"mul": 2, "add": 2}
    assert _work("nesterov", weight_decay=0.1) == {"mul": 4, "add": 4}


def test_states() -> None:
    optimizers = [optimizer_named(name) for name in optimizer_names(updates=True)]
    kept = {one.name: [(s.name, s.dtype, s.per) for s in one.states] for one in optimizers}
    assert kept["sgd"] == []
    assert kept["momentum"] == kept["nesterov"] == [("momentum_buffer", None, "element")]
    assert kept["adam"] == kept["adamw"]
    assert kept["adam"] == [
        ("exp_avg", None, "element"),
        ("exp_avg_sq", None, "element"),
        ("step", "float32", "tensor"),
    ]


def test_unknown_optimizer_is_named() -> None:
    with pytest.raises(NetcalcError) as caught:
        optimizer_named("adamv")
    assert caught.value.diagnostics[0].code == "E502"
    assert "adam" in (caught.value.diagnostics[0].hint or "")
