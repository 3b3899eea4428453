"""Fronts and lists of the best against brute force."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.sweep.objectives import Best, Front, objectives_of


@given(st.integers(2, 4), st.data())
def test_a_front_has_the_points_that_no_other_dominates(count: int, data: Any) -> None:
    keys = data.draw(st.lists(st.tuples(*[st.integers(0, 6)] * count), max_size=40))
    front = Front(count)
    for place, key in enumerate(keys):
        if front.takes(key):
            front.add(key, place)

    def dominates(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    best = {key for key in keys if not any(dominates(other, key) for other in keys)}
    # of equal points the first one
    assert sorted(front.points) == sorted(keys.index(key) for key in best)
    assert [keys[place] for place in front.points] == sorted(best)


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_the_best_are_the_first_of_all_in_order(keys: list[int], count: int) -> None:
    best = Best(count)
    for place, key in enumerate(keys):
        if best.takes(key):
            best.add(key, place)
    assert list(best.points) == sorted(range(len(keys)), key=lambda place: keys[place])[:count]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("params,accuracy", "there is no figure 'accuracy' \\(known here: params, macs\\)"),
        ("parms", "there is no figure 'parms' \\(did you mean 'params'"),
        ("params,-macs", "there is no figure '-macs' \\(max:macs for the greatest, macs for the least\\)"),
        ("params,max:params", "params is given twice"),
        ("", "there is no figure ''"),
    ],
)
def test_bad_objectives_are_refused(text: str, message: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=message):
        objectives_of("--pareto", text, ["params", "macs"])
