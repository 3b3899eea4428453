"""GPT, GPT-2 and GPT-3."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.spec.library import load_document
from tests.zoo.harness import built, check_case, torch_total

GPT1 = {"batch": 2, "length": 12, "vocab": 120, "max_length": 32, "d_model": 32, "layers": 2, "heads": 4}
GPT2 = {"batch": 2, "length": 17, "vocab": 500, "max_length": 64, "d_model": 64, "layers": 2, "heads": 4}


@pytest.mark.parametrize(("case", "spec", "settings"), [("gpt1_l2_d32", "gpt1", GPT1), ("gpt2_l2_d64", "gpt2", GPT2)])
def test_a_forward_pass_equals_transformers(case: str, spec: str, settings: dict[str, Any]) -> None:
    check_case(case, spec, settings)


@pytest.mark.parametrize("name", ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"])
def test_the_gpt2_paper_counts_the_vocabulary_of_gpt(name: str) -> None:
    _, miscounted = load_document(name).document.published
    params, _ = torch_total(built(name, vocab=40478))
    assert miscounted.agrees(params)


def test_the_13b_row_of_the_gpt3_table_uses_its_printed_width() -> None:
    printed, _ = load_document("gpt3-13b").document.published
    params, _ = torch_total(built("gpt3-13b", d_model=5140, heads=20))  # heads change no parameter
    assert printed.agrees(params)
