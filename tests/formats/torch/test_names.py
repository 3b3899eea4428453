"""Names of the leaves of nested arguments and results."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

from netcalc.formats.torch.names import leaf_names


@dataclass
class Output:
    logits: Any
    states: Any = None


Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    ("tree", "names"),
    [
        (0, ["output"]),
        ([0], ["output_0"]),
        ((0, 1), ["output_0", "output_1"]),
        ({"logits": 0, "states": [1, 2]}, ["logits", "states_0", "states_1"]),
        (Output(0, (1, 2)), ["logits", "states_0", "states_1"]),
        (Output(0), ["logits"]),
        (Pair(0, {"a b": 1}), ["first", "second_a_b"]),
        ({"a": {"b": 0}, "a_b": 1}, ["a_b", "a_b_"]),
        ({3: 0}, ["output_3"]),
    ],
)
def test_names_are_the_keys_on_the_way(tree: Any, names: list[str]) -> None:
    assert leaf_names(tree, len(names), "output") == names
