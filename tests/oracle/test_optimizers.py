"""Optimizers against torch.optim: defaults, states, and the operators that one update runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")
timm_optimizers = pytest.importorskip("timm.optim")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from netcalc.analysis.optimizers import optimizer_named, optimizers  # noqa: E402

CLASSES: dict[str, Any] = {
    "sgd": torch.optim.SGD,
    "momentum": lambda params, **kwargs: torch.optim.SGD(params, momentum=0.9, **kwargs),
    "nesterov": lambda params, **kwargs: torch.optim.SGD(params, momentum=0.9, nesterov=True, **kwargs),
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "lion": timm_optimizers.Lion,
}
#: Work of torch's operators for each element; an ``alpha`` or ``value`` other than 1 is one more multiplication.
WORK = {
    "add": {"add": 1},
    "mul": {"mul": 1},
    "lerp": {"add": 2, "mul": 1},
    "addcmul": {"add": 1, "mul": 1},
    "addcdiv": {"add": 1, "div": 1},
    "sqrt": {"transcendental": 1},
    "div": {"div": 1},
    "sign": {"compare": 1},
}


class _Operators(TorchDispatchMode):  # type: ignore[misc]
    """Sum of the work of the operators on tensors of several elements."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__.rstrip("_")
        first = args[0]
        if isinstance(first, torch.Tensor) and first.numel() > 1 and name not in ("detach", "clone"):
            self.work.update(WORK[name])
            scale = (kwargs or {}).get("alpha", (kwargs or {}).get("value", 1))
            self.work["mul"] += scale != 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_update_runs_torchs_operators_and_keeps_its_states(name: str, decay: float) -> None:
    parameter = torch.nn.Parameter(torch.ones(6, dtype=torch.float64))
    ours = optimizer_named(name)
    theirs = CLASSES[name]([parameter], lr=0.01, weight_decay=decay, foreach=False)
    parameter.grad = torch.ones(6, dtype=torch.float64)
    theirs.step()
    with _Operators() as counted:
        theirs.step()
    work: Counter[str] = Counter()
    for term in ours.terms(6, weight_decay=decay):
        assert isinstance(term.count, int)
        work[term.kind] += term.count // 6
    assert work == counted.work
    states = theirs.state[parameter]
    assert {s.name for s in ours.states} == set(states)
    for state in ours.states:
        tensor = states[state.name]
        assert tensor.numel() == (6 if state.per == "element" else 1)
        assert str(tensor.dtype) == f"torch.{state.dtype or 'float64'}"


@pytest.mark.parametrize("name", CLASSES)
def test_defaults_are_torchs(name: str) -> None:
    defaults = CLASSES[name]([torch.nn.Parameter(torch.ones(1))]).defaults
    theirs = {**defaults, **dict(zip(("beta1", "beta2"), defaults.get("betas", ()), strict=False))}
    settings = optimizer_named(name).settings
    assert {key: theirs[key] for key in settings} == dict(settings)
    assert set(CLASSES) == set(optimizers())
