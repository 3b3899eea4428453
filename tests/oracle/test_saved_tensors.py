"""Saved tensors of arithmetic, functions of each element and masks, against those of torch's autograd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from netcalc import ops
from tests.ops.backward import BackwardPass

torch = pytest.importorskip("torch")
F = torch.nn.functional

SHAPE = (4, 6)
#: Not among them: logsigmoid, of which torch keeps exp(−|x|) on CPUs only, and softsign, a quotient there.
SAME: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(F, name)
        for name in ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish")
    },
    **{name: getattr(F, name) for name in ("hardswish", "hardsigmoid", "hardtanh", "hardshrink", "softshrink")},
    **{name: getattr(F, name) for name in ("softplus", "tanhshrink", "glu")},
    **{
        name: getattr(torch, name)
        for name in ("sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "reciprocal", "square")
    },
    **{name: getattr(torch, name) for name in ("abs", "neg", "sign", "sin", "cos", "expm1", "exp2", "log1p", "log2")},
    **{
        name: getattr(torch, name)
        for name in ("log10", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh")
    },
    **{name: getattr(torch, name) for name in ("atanh", "erf", "erfc", "erfinv", "floor", "ceil", "round", "trunc")},
    "identity": torch.nn.Identity(),
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "reglu": lambda x: F.relu(x[:, :3]) * x[:, 3:],
    "geglu": lambda x: F.gelu(x[:, :3]) * x[:, 3:],
    "swiglu": lambda x: F.silu(x[:, :3]) * x[:, 3:],
}


def distinct(tensors: Sequence[Any]) -> Counter[tuple[tuple[int, ...], str]]:
    """Return shapes and element types of the storages of tensors."""
    bases = {
        t.data_ptr() if t._base is None else t._base.data_ptr(): t if t._base is None else t._base for t in tensors
    }
    return Counter((tuple(t.shape), str(t.dtype).removeprefix("torch.")) for t in bases.values())


def agree_on_saved(
    name: str,
    attrs: dict[str, Any],
    arrays: list[np.ndarray],
    reference: Callable[..., Any],
    wanted: set[int] | None = None,
    training: bool = False,
) -> None:
    declared = ops.find(name)
    assert declared is not None
    passed = BackwardPass(declared(**attrs), arrays, {}, training=training)
    call = passed.call if wanted is None else replace(passed.call, wanted=frozenset(wanted))
    ours = Counter((s.type.shape, s.type.dtype) for s in passed.declared.saves(passed.op, call))
    tensors = [torch.from_numpy(a.copy()) for a in arrays]
    for source in call.wanted:
        tensors[source].requires_grad_()
    saved: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        result = reference(*tensors)
    del result
    assert ours == distinct(saved), f"{name} {attrs} for {sorted(call.wanted)}"


def positive(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.1, 0.9, shape).astype(np.float32)


@pytest.mark.parametrize("name", SAME)
def test_functions(name: str) -> None:
    agree_on_saved(name, {}, [positive(*SHAPE)], SAME[name])


@pytest.mark.parametrize("wanted", [{0}, {1}, {0, 1}])
@pytest.mark.parametrize(
    ("name", "attrs", "reference"),
    [
        ("add", {}, torch.add),
        ("sub", {}, torch.sub),
        ("mul", {}, torch.mul),
        ("div", {}, torch.div),
        ("pow", {}, torch.pow),
        ("minimum", {}, torch.minimum),
        ("maximum", {}, torch.maximum),
        ("remainder", {}, torch.remainder),
        ("fmod", {}, torch.fmod),
        ("atan2", {}, torch.atan2),
    ],
)
def test_pairs(name: str, attrs: dict[str, Any], reference: Callable[..., Any], wanted: set[int]) -> None:
    agree_on_saved(name, attrs, [positive(2, 3), positive(3)], reference, wanted)


@pytest.mark.parametrize("wanted", [{0}, {1}, {2}, {0, 2}, {0, 1, 2}])
@pytest.mark.parametrize(("name", "function"), [("mul", torch.mul), ("maximum", torch.maximum), ("add", torch.add)])
def test_three_operands(name: str, function: Callable[..., Any], wanted: set[int]) -> None:
    arrays = [positive(3), positive(2, 1), positive(2, 3)]
    agree_on_saved(name, {}, arrays, lambda a, b, c: function(function(a, b), c), wanted)


@pytest.mark.parametrize("wanted", [{1}, {2}, {1, 2}])
def test_where(wanted: set[int]) -> None:
    arrays = [np.array([[True], [False]]), positive(2, 3), positive(3)]
    agree_on_saved("where", {}, arrays, torch.where, wanted)


@pytest.mark.parametrize(
    ("name", "attrs", "reference"),
    [
        ("mul", {"value": 2.5}, lambda x: x * 2.5),
        ("div", {"value": 2.5}, lambda x: x / 2.5),
        ("pow", {"value": 3}, lambda x: x**3),
        ("pow", {"value": 3, "reverse": True}, lambda x: 3**x),
        ("clamp", {"min": 0.2}, lambda x: x.clamp(min=0.2)),
        ("threshold", {"threshold": 0.5, "value": 2.0}, lambda x: F.threshold(x, 0.5, 2.0)),
        ("cast", {"dtype": "float64"}, lambda x: x.double()),
        ("dropout", {"p": 0.5}, lambda x: torch.native_dropout(x, 0.5, True)[0]),
        ("dropout", {"p": 0.5, "channelwise": True}, lambda x: F.dropout2d(x, 0.5, True)),
    ],
)
def test_numbers_and_masks(name: str, attrs: dict[str, Any], reference: Callable[..., Any]) -> None:
    agree_on_saved(name, attrs, [positive(2, 3, 2, 2)], reference, training=True)


def test_masked_fill() -> None:
    arrays = [positive(2, 3), np.array([True, False, True])]
    agree_on_saved("masked_fill", {"value": 0.0}, arrays, lambda x, m: x.masked_fill(m, 0.0))
