"""Verification of every shipped spec, with small settings for the large ones."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.spec.library import load_document
from netcalc.spec.shipped import shipped
from netcalc.verification.verify import verify
from tests.zoo.harness import SIZES, SMALL, built


def test_the_table_has_every_spec() -> None:
    assert sorted([*SMALL, *SIZES]) == sorted(shipped())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SMALL)
def test_predictions_hold(name: str) -> None:
    settings: dict[str, Any] = SMALL[name]
    report = verify(built(name, **settings), backward=True)
    assert report.ok, report.failures


@pytest.mark.parametrize("name", shipped())
def test_every_spec_has_a_description_and_a_source(name: str) -> None:
    document = load_document(name).document
    assert document.name == name
    assert document.about
    assert document.source
    assert document.family
