"""Lists written as expressions evaluate to themselves."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcalc.formats.repetition import shortened
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate

ITEMS = st.sampled_from(["full_attention", "sliding-attention", "x'y", 0, 1, True, 0.5])


@given(st.lists(ITEMS, max_size=4), st.integers(1, 12), st.lists(ITEMS, max_size=3))
def test_a_shortened_list_is_equal(pattern: list[Any], times: int, rest: list[Any]) -> None:
    values = pattern * times + rest
    short = shortened(values)
    assert len(str(short)) <= len(str(values))
    assert evaluate(Cursor(short, (), {}), {}) == values


def test_patterns_are_found() -> None:
    assert shortened(["full"] * 36) == "${['full'] * 36}"
    assert shortened(["a", "b"] * 9 + ["a"]) == "${['a', 'b'] * 9 + ['a']}"
    assert shortened((["s"] * 5 + ["f"]) * 4 + ["s", "s"]) == "${(['s'] * 5 + ['f']) * 4 + ['s'] * 2}"
    assert shortened(["d"] + ["s"] * 20) == "${['d'] + ['s'] * 20}"
