"""Fronts and lists of the best against brute force."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.analysis.sweep_report import Objective
from netcalc.sweep.objectives import Best, Front, contenders, objectives_of


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


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 3), st.integers(0, 2**32), st.sampled_from([30, 10**4, 2**62]))
def test_no_point_of_a_front_is_left_out_of_many(count: int, seed: int, most: int) -> None:
    random = Random(seed)
    objectives = [Objective(name, random.random() < 0.5) for name in "abc"[:count]]
    front, whole = Front(count), Front(count)
    for part in range(2):
        columns: list[list[Any]] = [[random.randrange(most) for _ in range(2_500)] for _ in objectives]
        columns[0][7] = columns[1][9] = None
        keys = [
            None if None in values else tuple(map(Objective.key, objectives, values))
            for values in zip(*columns, strict=True)
        ]
        left = [*contenders(columns, objectives, front)]
        assert left == sorted(set(left))
        for kept, places in ((front, left), (whole, range(2_500))):
            for place in places:
                if (key := keys[place]) is not None and kept.takes(key):
                    kept.add(key, (part, place))
    assert list(front.points) == list(whole.points)


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_the_best_are_the_first_of_all_in_order(keys: list[int], count: int) -> None:
    best = Best(count)
    for place, key in enumerate(keys):
        if best.takes(key):
            best.add(key, place)
    assert best.candidates(keys, Objective("a")) == [place for place, key in enumerate(keys) if best.takes(key)]
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
