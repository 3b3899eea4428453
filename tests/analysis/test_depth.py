"""Reports on deep stacks have the rows of one layer."""

from __future__ import annotations

from pathlib import Path

import pytest

import netcalc
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.spec import elaborate, load_document

FIXTURES = Path(__file__).parent.parent / "fixtures"
PUBLISHED = Path(netcalc.__file__).parent / "data" / "published" / "specs"


def analysis(name: str, layers: int | None = None) -> Analysis:
    settings = {} if layers is None else {"layers": layers}
    folder = PUBLISHED if name == "gpt3_stack" else FIXTURES
    return Analysis(elaborate(load_document(folder / f"{name}.yaml"), settings), CONVENTIONS["netcalc"])


@pytest.mark.parametrize(("name", "layers"), [("gpt3_stack", 96), ("deep", 1_000_000)])
def test_a_deep_stack_has_the_rows_of_one_layer(name: str, layers: int) -> None:
    deep, one = analysis(name), analysis(name, 1)
    assert len(list(deep.leaves())) == len(list(one.leaves()))
    assert deep.total == one.total.times(layers)


def test_the_stack_is_of_gpt3s_size() -> None:
    """174.6e9 parameters (arXiv:2005.14165, Table D.1) without embeddings of 50,257 tokens and 2,048 positions."""
    embeddings = (50_257 + 2_048) * 12_288
    assert analysis("gpt3_stack").total.params == pytest.approx(174.6e9 - embeddings, rel=1e-3)
