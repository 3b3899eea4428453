"""Scaling: known crossings, brute force, and bad input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Dim, symbol
from netcalc.dims.crossings import crossings

N = symbol("n")


@given(st.lists(st.integers(-40, 40), max_size=5), st.integers(1, 4))
def test_crossings_of_polynomials_are_those_of_brute_force(coefficients: list[int], multiple: int) -> None:
    size: Dim = sum((c * N**power for power, c in enumerate(coefficients)), start=0)
    found = crossings(size, 0, "n", 1, 300, multiple)

    def value(n: int) -> int:
        return sum(c * n**power for power, c in enumerate(coefficients))

    sizes = range(multiple, 300 - multiple + 1, multiple)
    assert [crossing.size for crossing in found] == [n for n in sizes if value(n) <= 0 < value(n + multiple)]
    assert all(crossing.equal == (value(crossing.size) == 0) for crossing in found)


def test_a_crossing_far_away_is_found() -> None:
    # (n − 10⁹)·(n − 10⁹ − 4) is positive below and above
    (crossing,) = crossings((N - 10**9) * (N - 10**9 - 4), 0, "n", 1, None)
    assert crossing.size == 10**9 + 4 and crossing.proved


def test_formulas_with_floors_are_searched() -> None:
    (crossing,) = crossings(N // 3 * (N // 3), 50 * N, "n", 1, 10**6)
    assert not crossing.proved
    assert (crossing.size // 3) ** 2 <= 50 * crossing.size and ((crossing.size + 1) // 3) ** 2 > 50 * (
        crossing.size + 1
    )


def test_attention_of_llama_overtakes_at_16384() -> None:
    report = netcalc.load("llama-3-8b").scaling(over="length=1k,16k")
    (crossing,) = report.crossings
    assert (crossing.first, crossing.second) == ("model.layers.*.self_attn", "model.layers.*.mlp")
    # 2·n²·4096 + (2·4096² + 2·4096·1024)·n = 3·4096·14336·n
    assert crossing.size == (3 * 14336 - 2 * 4096 - 2 * 1024) // 2 == 16384 and crossing.equal and crossing.proved
    macs = report.figures[0]
    assert (macs.figure, macs.degree, macs.coefficient) == ("macs", 2, str(32 * 2 * 4096))
    for point in macs.points:
        counted = netcalc.load("llama-3-8b", set={"length": point.size}).macs
        twice = netcalc.load("llama-3-8b", set={"length": 2 * point.size}).macs
        assert point.value == counted and point.doubling == pytest.approx(twice / counted)
        assert sum(point.shares) == pytest.approx(1)


def test_each_size_grows_alone_and_assumptions_are_told() -> None:
    report = netcalc.load("gpt2").scaling(over="length,d_model")
    assert report.defaults == {"length": 1024, "d_model": 768}
    beyond = [crossing for crossing in report.crossings if crossing.beyond]
    assert [(crossing.size, crossing.beyond) for crossing in beyond] == [(1536, "length <= 1024")]
    params = next(figure for figure in report.figures if (figure.figure, figure.over) == ("params", "d_model"))
    assert params.formula == "144·d_model² + 51,439·d_model"
    assert all(crossing.size % 12 == 0 for crossing in report.crossings if crossing.over == "d_model")


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("lenght", "no dim or var of that name"),
        ("length=", "should be NAME=VALUES"),
        ("length=1:8:0", "the step should be above 0"),
        ("length=0,4", "at least 1"),
        ("d_model=100", "multiple of 12"),
        ("activation", "no whole number"),
    ],
)
def test_bad_input_is_one_error(over: str, said: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load("gpt2").scaling(over=over)
    assert len(caught.value.diagnostics) == 1 and said in caught.value.diagnostics[0].message
