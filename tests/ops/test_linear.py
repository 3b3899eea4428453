"""Linear maps against recorded torch results."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict


@pytest.mark.parametrize(("name", "out"), [("linear", 9), ("bilinear", 4)])
def test_equals_torch(name: str, out: int) -> None:
    case = truth_case("op_attn_embed", name)
    case.check(execute(name, {"out": out}, *case.inputs, weights=case.weights).outputs)


def test_linear_as_torch_counts_it() -> None:
    """torch 2.13, nn.Linear(33, 17) on 2×5×33: 578 parameters and 11,220 FLOPs."""
    found = predict("linear", {"out": 17}, (2, 5, 33))
    assert sum(map(prod, found.params.values())) == 578
    assert 2 * found.work["mac"] == 11_220


def test_bilinear_as_torch_counts_it() -> None:
    """torch 2.13, nn.Bilinear(10, 12, 7): 847 parameters."""
    found = predict("bilinear", {"out": 7}, (3, 10), (3, 12))
    assert sum(map(prod, found.params.values())) == 847
    assert found.shapes == [(3, 7)]


def test_symbolic_sizes_agree_with_numbers() -> None:
    agrees_symbolically("linear", {"out": 4}, (2, 5, 8), grown=3)


@pytest.mark.parametrize(
    ("name", "types", "said"),
    [
        ("linear", [TensorType(())], "scalar"),
        ("linear", [TensorType((2, 3), "int64")], "floating-point"),
        ("bilinear", [TensorType((1, 5)), TensorType((3, 6))], "differ only in their last axis"),
        ("bilinear", [TensorType((3, 5)), TensorType(())], "differ only in their last axis"),
        ("bilinear", [TensorType((3, 5)), TensorType((3, 5), "float64")], "of one type"),
    ],
)
def test_invalid_inputs(name: str, types: list[Any], said: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError, match=said):
        declared(out=4).infer(Context(), *types)
