"""Plans of sweeps: grids against products of lists, slices against the whole, and draws without repetition."""

from __future__ import annotations

import itertools
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.ranges import Decimals, ranges_of
from netcalc.sweep.plan import Plan, Undefined
from netcalc.sweep.preparation import plan_of

_VALUES = st.one_of(
    st.builds(lambda first, step, count: range(first, first + count * step, step), st.integers(-9, 9), *[
        st.integers(1, 12)
    ] * 2),
    st.lists(st.integers(0, 99), min_size=1, max_size=9, unique=True).map(tuple),
    st.builds(
        lambda first, step, count: Decimals(Decimal(first) / 8, Decimal(step) / 8, count), *[st.integers(1, 9)] * 3
    ),
)  # fmt: skip
_GRIDS = st.lists(_VALUES, min_size=1, max_size=4).map(lambda ranges: dict(zip("abcd", ranges, strict=False)))


@given(_GRIDS, st.data())
def test_a_slice_of_a_grid_is_that_of_the_product_of_its_lists(ranges: dict[str, Any], data: Any) -> None:
    plan = Plan(ranges, derived={"sum": "${a + 1}"})
    rows = [(*values, values[0] + 1) for values in itertools.product(*map(list, ranges.values()))]
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows) + 2))
    assert len(plan) == len(rows)
    assert list(plan.columns(start, stop)) == [*ranges, "sum"]
    assert list(zip(*plan.columns(start, stop).values(), strict=True)) == rows[start:stop]


@given(_GRIDS, st.integers(0, 2**70), st.data())
def test_drawn_points_are_distinct_and_any_slice_is_reproduced_alone(ranges: Any, seed: int, data: Any) -> None:
    whole = Plan(ranges)
    drawn = Plan(ranges, len(whole), seed)
    rows = list(zip(*drawn.columns(0, len(drawn)).values(), strict=True))
    assert sorted(rows) == sorted(zip(*whole.columns(0, len(whole)).values(), strict=True))
    start = data.draw(st.integers(0, len(rows)))
    again = pickle.loads(pickle.dumps(drawn))
    assert list(zip(*again.columns(start, start + 3).values(), strict=True)) == rows[start : start + 3]


@given(st.integers(1, 2**62), st.integers(0, 2**64), st.data())
def test_many_points_are_drawn_as_single_ones_are(size: int, seed: int, data: Any) -> None:
    start = data.draw(st.integers(0, size - 1))
    count = min(300, size - start)
    plan = Plan({"a": range(size)}, size, seed)
    together = plan.columns(start, start + count)["a"]
    assert together[::7] == [plan.columns(place, place + 1)["a"][0] for place in range(start, start + count, 7)]


def test_draws_of_a_seed_are_spread_evenly_and_differ_from_those_of_another() -> None:
    plan = Plan({"a": range(10), "b": range(1_000_000), "c": range(100)}, 10_000, 1)
    columns = plan.columns(0, len(plan))
    counts = [columns["a"].count(value) for value in range(10)]
    # binomial: 1,000 ± 30 in one standard deviation
    assert all(850 < count < 1150 for count in counts)
    assert 480_000 < sum(columns["b"]) / len(plan) < 520_000
    assert Plan(plan.ranges, 10_000, 2).columns(0, 5) != plan.columns(0, 5)


def test_points_far_into_a_plan_take_no_time() -> None:
    plan = Plan({"a": range(10**6), "b": range(10**6), "c": range(10**3)})
    assert plan.columns(10**14 + 5, 10**14 + 7) == {"a": [100_000] * 2, "b": [0, 0], "c": [5, 6]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1:1:0.1", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("0.25:2:0.25", [n / 4 for n in range(1, 9)]),
        ("1:2:0.4", [1.0, 1.4, 1.8]),
        ("-0.5:0.5:0.5", [-0.5, 0.0, 0.5]),
        ("-2:2:2", [-2, 0, 2]),
        ("1e-3:3e-3:1e-3", [0.001, 0.002, 0.003]),
        ("log:256:4096:9", [256, 362, 512, 724, 1024, 1448, 2048, 2896, 4096]),
        ("log:0.001:1:4", [0.001, 0.01, 0.1, 1.0]),
        ("log:1:8:10", [1, 2, 3, 4, 5, 6, 8]),
    ],
)
def test_ranges_have_the_numbers_that_are_written(text: str, values: list[float]) -> None:
    found = list(ranges_of(f"x={text}").values["x"])
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


def test_values_may_be_lists() -> None:
    request = netcalc.load("resnet34").request
    for over in (["depths=[2, 2, 2, 2],[3,4,6,3]"], {"depths": [[2, 2, 2, 2], (3, 4, 6, 3)]}):
        plan = plan_of(request, over)
        assert plan.columns(0, 2) == {"depths": [[2, 2, 2, 2], [3, 4, 6, 3]]}
        assert Plan.from_record(plan.record()).columns(0, 2) == plan.columns(0, 2)


@given(st.integers(0, 10**6), st.integers(1, 10**4), st.integers(1, 6), st.integers(1, 2_000))
def test_decimals_have_no_drift(first: int, step: int, digits: int, count: int) -> None:
    last = first + step * (count - 1)
    text = ":".join(f"{Decimal(number).scaleb(-digits):f}" for number in (first, last, step))
    (values,) = ranges_of(f"x={text}", 10**6).values.values()
    assert list(values) == [float(Fraction(first + n * step, 10**digits)) for n in range(count)]


def test_settings_follow_from_swept_names_settings_and_defaults() -> None:
    settings = {"batch": 3, "heads": "${d_model // 32}", "length": "${batch + d_ff + past}", "d_ff": "${4 * heads}"}
    request = netcalc.load("gpt2", set=settings | {"vocab": "${batch * 7}"}).request
    plan = plan_of(request, ["d_model=128,64", "layers=1"])
    assert plan.derived == {name: settings[name] for name in ("heads", "length", "d_ff")}
    assert {name: plan.columns(0, 2)[name] for name in plan.derived} == {
        "heads": [4, 2],
        "length": [19, 11],
        "d_ff": [16, 8],
    }
    assert Plan.from_record(plan.record()).columns(0, 2) == plan.columns(0, 2)
    assert plan_of(request, "layers=1").derived == {}


def test_an_expression_without_a_value_is_a_reason_at_its_point_alone() -> None:
    request = netcalc.load("gpt2", set={"heads": "${128 // (d_model - 64)}", "d_model": 128}).request
    plan = plan_of(request, {"d_model": [64, 128]})
    undefined, two = plan.columns(0, 2)["heads"]
    assert isinstance(undefined, Undefined) and undefined.startswith("heads: ")
    assert two == 2
    assert plan.shown(0, 2)["heads"] == [None, 2]


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("d_modle=1,2", r"--over d_modle: the spec has no dim or var of that name \(did you mean 'd_model'"),
        ("d_model=512:256", "the range is empty"),
        ("d_model=", "should be NAME=VALUES"),
        ("d_model=1:9:0", "the step should be above 0"),
        ("d_model=1:9:-1", "the step should be above 0"),
        ("batch=0:4", "--over batch: should be a whole number of at least 1, not 0"),
        ("activation=1,2", "--over activation: "),
        (["d_model=1,2", "d_model=3"], "'d_model' is given twice"),
        ("heads=${d_model}", r"an expression has no values of its own \(--set"),
        ([], "no range"),
        (["d_model=1:1000000", "d_ff=1:1000000"], "points, more than 1,000,000,000"),
        ("d_model=1:2:0.00000000001", "values, more than"),
        ("d_model=1:999999999999999G", "values, more than"),
        ({"d_model": range(10**30)}, "more than 1,000,000,000 values"),
        ({"d_model": []}, "the range is empty"),
        ({"d_model": object()}, "should be a list of values"),
        ("d_model=[1,2", "--over d_model: while parsing"),
        ("d_model=[1,2],3", r"--over d_model: should be a whole number, not \[1, 2\]"),
        ("d_model=1,1", "a value is given twice"),
    ],
)
def test_bad_ranges_are_refused_before_any_work(over: Any, message: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=message) as refused:
        plan_of(netcalc.load("gpt2").request, over)
    assert {problem.code for problem in refused.value.diagnostics} == {"E502"}


@pytest.mark.parametrize(("random", "message"), [(0, "no point"), (7, "the ranges have 6 points")])
def test_more_points_than_there_are_cannot_be_drawn(random: int, message: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=message):
        plan_of(netcalc.load("gpt2").request, ["layers=1:3", "batch=1,2"], random)


def test_a_symbol_needs_a_number() -> None:
    with pytest.raises(netcalc.NetcalcError, match="E404: --over: batch is a symbol"):
        plan_of(netcalc.load("gpt2", symbolic=["batch"]).request, "layers=1:3")
    assert len(plan_of(netcalc.load("gpt2", symbolic=["batch"]).request, "batch=1:3")) == 3
