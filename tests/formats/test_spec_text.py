"""Documents as text: YAML that reads as the same data."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from netcalc.formats.spec_text import spec_text

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=200)
WORDS = st.sampled_from(
    ["layers", "sequence", "no", "Null", "0", "1e3", "${a + b}", "*norm", "a: b", "a #b", "- a", "x y"]
)
DATA = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(WORDS | st.text(max_size=9), inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(WORDS | st.text(min_size=1, max_size=9), DATA, min_size=1, max_size=4))
def test_text_reads_as_the_same_data(document: dict[str, Any]) -> None:
    assert YAML(typ="safe", pure=True).load(spec_text(document)) == document


def test_lines_have_a_line_of_their_own() -> None:
    layers = ["relu", {"name": "fc", "linear": 4}, {"add": {"shortcut": [], "residual": [{"linear": 4}, "relu"]}}]
    assert spec_text({"layers": layers}) == (
        "layers:\n"
        "  - relu\n"
        "  - {name: fc, linear: 4}\n"
        "  - add:\n"
        "      shortcut: []\n"
        "      residual:\n"
        "        - {linear: 4}\n"
        "        - relu\n"
    )


def test_long_entries_are_broken() -> None:
    document = {"about": "word " * 60 + "end", "numbers": list(range(100)), "vars": {"a" * 30: "b" * 50, "c" * 30: 1}}
    text = spec_text(document)
    assert max(map(len, text.splitlines())) <= 120
    assert YAML(typ="safe", pure=True).load(text) == document
