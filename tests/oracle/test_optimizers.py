"""Optimizers against torch.optim: defaults, states, and the operators that one update runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")
timm_optimizers = pytest.importorskip("timm.optim")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from netcalc.analysis.optimizers import optimizer_named, optimizer_names  # noqa: E402

CLASSES: dict[str, Any] = {
    "sgd": torch.optim.SGD,
    "momentum": lambda params, **kwargs: torch.optim.SGD(params, momentum=0.9, **kwargs),
    "nesterov": lambda params, **kwargs: torch.optim.SGD(params, momentum=0.9, nesterov=True, **kwargs),
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "lion": timm_optimizers.Lion,
    "adafactor": torch.optim.Adafactor,
    "muon": torch.optim.Muon,
}
#: Optimizers that compute with rows, columns and products of matrices.
OF_MATRICES = ("adafactor", "muon")
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


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in OF_MATRICES])
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
    for term in ours.terms([(6,)], weight_decay=decay):
        assert isinstance(term.count, int)
        work[term.kind] += term.count // 6
    assert work == counted.work
    states = theirs.state[parameter]
    assert {s.name for s in ours.states} == set(states)
    for state in ours.states:
        tensor = states[state.name]
        assert tensor.numel() == (6 if state.per == "element" else 1)
        assert str(tensor.dtype) == f"torch.{state.dtype or 'float64'}"


@pytest.mark.parametrize(
    ("name", "shape"),
    [("adafactor", (3, 4)), ("adafactor", (2, 3, 4)), ("adafactor", (5,)), ("muon", (3, 5)), ("muon", (7, 4))],
)
def test_updates_of_matrices_run_torchs_operators(name: str, shape: tuple[int, ...]) -> None:
    parameter = torch.nn.Parameter(torch.ones(shape))
    theirs = CLASSES[name]([parameter], weight_decay=0.1)
    parameter.grad = torch.ones(shape)
    theirs.step()
    with _WorkOfMatrices() as counted:
        theirs.step()
    work: Counter[str] = Counter()
    for term in optimizer_named(name).terms([shape], weight_decay=0.1):
        assert isinstance(term.count, int)
        work[term.kind] += term.count
    assert work == counted.work
    states = theirs.state[parameter]
    kept = {state.name: state.shape(shape) for state in optimizer_named(name).kept(shape)}
    assert kept == {key: tuple(tensor.shape) for key, tensor in states.items()}


class _WorkOfMatrices(TorchDispatchMode):  # type: ignore[misc]
    """Sum of the work of operators, by the sizes of their results; numbers that are not kept for rows are free."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.rstrip("_")
        if isinstance(result, torch.Tensor) and result.dim() + args[0].dim():
            self._add(name, args, kwargs or {}, result)
        return result

    def _add(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        size, first = result.numel(), args[0].numel()
        if name in ("norm", "linalg_vector_norm"):
            self.work.update(mul=first, add=first - size)
            self.work["transcendental"] += size if result.dim() else 0
        elif name == "mean":
            self.work.update(add=first - size, div=size)
        elif name in ("mm", "bmm"):
            inner = args[0].shape[-1]  # a product of a column and a row has no sums
            self.work["mul" if inner == 1 else "mac"] += size * inner
        elif name == "addmm":
            self.work.update(mac=size * args[1].shape[-1], add=size, mul=size)
            self.work["mul"] += size * (kwargs.get("alpha", 1) != 1)
        elif name == "clamp":
            self.work["compare"] += size if result.dim() else 0
        elif name in ("rsqrt", "pow"):  # a square
            self.work.update({"mul": size} if name == "pow" else {"transcendental": size, "div": size})
        elif name not in ("detach", "clone", "t", "_to_copy", "item", "expand", "view", "_unsafe_view", "permute"):
            self.work.update({kind: times * size for kind, times in WORK[name].items()})
            self.work["mul"] += size * (kwargs.get("alpha", kwargs.get("value", 1)) != 1)


@pytest.mark.parametrize("name", CLASSES)
def test_defaults_are_torchs(name: str) -> None:
    defaults = CLASSES[name]([torch.nn.Parameter(torch.ones(1, 1))]).defaults
    theirs = {**defaults, **dict(zip(("beta1", "beta2"), defaults.get("betas", ()), strict=False))}
    if name == "adafactor":
        theirs["eps2"] = defaults["eps"][1]
    if name == "muon":  # the settings of AdamW belong to the other parameters
        own = optimizer_named("adamw").settings
        theirs |= {"match_rms": 0, "beta1": own["beta1"], "beta2": own["beta2"]}
        theirs |= {"adamw_eps": own["eps"], "adamw_weight_decay": own["weight_decay"]}
    settings = optimizer_named(name).settings
    assert {key: theirs[key] for key in settings} == dict(settings)
    assert set(CLASSES) == set(optimizer_names(updates=True))
