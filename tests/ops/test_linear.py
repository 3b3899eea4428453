"""Linear against recorded torch results."""

from __future__ import annotations

from tests.ops.harness import execute, truth_case


def test_linear_equals_torch() -> None:
    case = truth_case("op_attn_embed", "linear")
    case.check(execute("linear", {"out": 9}, *case.inputs, weights=case.weights).outputs)
