"""Parameters and FLOPs of the shipped specs against torch and against the figures printed in papers."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.published import PublishedCounts
from netcalc.spec.library import load_document
from netcalc.spec.shipped import shipped
from tests.zoo.harness import FAMILIES, built, torch_total

TRUTH = [pytest.param(record, id=record["id"]) for family in FAMILIES.values() for record in family["truth"]]


@pytest.mark.parametrize("record", TRUTH)
def test_parameters_and_flops_equal_torch(record: dict[str, Any]) -> None:
    program = built(record["spec"], **record["settings"])
    assert torch_total(program) == (record["params"], record["flops_torch"])
    if "buffers" in record:
        assert Analysis(program, CONVENTIONS["torch"]).total.buffers == record["buffers"]


@pytest.mark.parametrize("record", TRUTH)
def test_active_parameters_are_all_but_the_experts_that_a_token_does_not_use(record: dict[str, Any]) -> None:
    total = Analysis(built(record["spec"], **record["settings"]), CONVENTIONS["torch"]).total
    assert total.params_active == record.get("params_active", record["params"])


@pytest.mark.parametrize("name", shipped())
def test_published_figures_agree_or_have_a_reason(name: str) -> None:
    """Multiply-adds and FLOPs without biases, norms and activations, as papers count them."""
    loaded = load_document(name)
    counts = PublishedCounts(loaded, built(name))
    for published in loaded.document.published:
        count = counts.of(published)
        assert count is None or published.stands(count), published
