"""Leading terms of sizes against their values at large numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.dims import Dim, ceil_log2, maximum, minimum, symbol, value_at
from netcalc.dims.growth import Growth, growth
from tests.conftest import CommandResult

LARGE = 10**12
n = symbol("n", 64)

formulas = st.recursive(
    st.just("n") | st.integers(-6, 9),
    lambda inner: (
        st.tuples(st.sampled_from(("+", "-", "*", "min", "max")), inner, inner)
        | st.tuples(st.just("//"), inner, st.integers(2, 7))
    ),
    max_leaves=6,
)


def build(formula: object) -> Dim:
    match formula:
        case "n":
            return n
        case int():
            return formula
        case (op, left, right):
            a, b = build(left), build(right)
            functions: dict[str, Callable[[], Dim]] = {
                "+": lambda: a + b,
                "-": lambda: a - b,
                "*": lambda: a * b,
                "//": lambda: a // b,
                "min": lambda: minimum(a, b),
                "max": lambda: maximum(a, b),
            }
            return functions[op]()
    raise AssertionError(formula)


@given(formulas)
def test_large_values_come_near_to_the_leading_term(formula: object) -> None:
    size = build(formula)
    found = growth(size, "n", {})
    if found is not None:
        leading = found.coefficient * LARGE**found.degree
        # all other terms are smaller by a factor of n; numbers in these formulas are small
        assert abs(value_at(size, {"n": LARGE}) - leading) <= LARGE ** max(found.degree - 1, 0) * 10**8 * found.degree


def test_a_window_makes_a_square_linear() -> None:
    h = symbol("h", 8)
    assert growth(n * n - maximum(0, n - 5) ** 2, "n", {}) == Growth("n", 1, Fraction(10))
    assert growth(symbol("m", multiple=32) * h // 2, "m", {"h": 8}) == Growth("m", 1, Fraction(4))
    assert growth(n * ceil_log2(n), "n", {}) is None  # no power
    assert growth(n // 2 - n // 3 - n // 6, "n", {}) is None  # what rounding leaves is not known
    assert growth(n, "n", {}).kind == "linear in n"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("spec", "dim", "kind"),
    [
        ("longformer-base-4096", "length", "linear in length"),
        ("bert-base", "length", "quadratic in length"),
        ("swin_t", "height", "linear in height"),
        ("bigbird-roberta-base", "length", "linear in length"),
    ],
)
def test_networks_grow_as_their_papers_say(
    spec: str, dim: str, kind: str, netcalc: Callable[..., CommandResult]
) -> None:
    found = json.loads(netcalc("flops", spec, "--symbolic", dim, "--format", "json").out)["growth"]
    assert [(term["figure"], term["kind"]) for term in found] == [("macs", kind), ("flops", kind)]
