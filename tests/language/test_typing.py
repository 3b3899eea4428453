"""Specs as they are typed: a drawn handful of what ``python -m tests.exhaustive language`` tries."""

from __future__ import annotations

from random import Random

import pytest

from tests.exhaustive.language import ROOT, names, tried

_SHORT = [name for name in names() if len((ROOT / name).read_text(encoding="utf-8")) <= 1500]


@pytest.mark.parametrize("name", Random(38).sample(_SHORT, 4))
def test_a_spec_is_typed_without_an_exception_and_with_the_diagnostics_of_its_file(name: str) -> None:
    count, wrong = tried(name, step=37, edits=6)
    assert (count > 5, wrong) == (True, [])
