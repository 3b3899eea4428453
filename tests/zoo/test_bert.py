"""BERT, RoBERTa, DistilBERT, ALBERT and ELECTRA."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.spec.library import load_document
from tests.zoo.harness import built, check_case, torch_total

BERT = {"batch": 2, "length": 18, "vocab": 300, "d_model": 64, "heads": 4, "d_ff": 128, "layers": 2, "max_length": 40}
ROBERTA = {"batch": 2, "length": 12, "vocab": 110, "d_model": 48, "heads": 4, "d_ff": 80, "layers": 2, "max_length": 28}
ALBERT = {"length": 9, "vocab": 70, "d_model": 32, "heads": 2, "d_ff": 48, "layers": 2, "max_length": 32}


@pytest.mark.parametrize(
    ("case", "spec", "settings"),
    [
        ("bert_l2_d64", "bert-base-mlm", BERT),
        ("roberta_l2_d48", "roberta-base-mlm", {**ROBERTA, "eps": 1e-12}),
        ("albert_shared2", "albert-base", {**ALBERT, "d_embed": 12}),
    ],
)
def test_a_forward_pass_equals_transformers(case: str, spec: str, settings: dict[str, Any]) -> None:
    check_case(case, spec, settings)


@pytest.mark.parametrize(
    ("spec", "settings", "params"),
    [
        ("bert-base-pretraining", {}, 110_106_428),
        ("bert-large-pretraining", {}, 336_226_108),
        ("bert-base", {"next_sentence": True}, 109_483_778),
        ("electra-small-discriminator", {}, 13_549_057),
    ],
)
def test_heads_equal_transformers(spec: str, settings: dict[str, Any], params: int) -> None:
    """BertForPreTraining, BertForNextSentencePrediction and ElectraForPreTraining of transformers 5.23.0."""
    assert torch_total(built(spec, **settings))[0] == params


@pytest.mark.parametrize("name", ["bert-tiny", "bert-mini", "bert-small"])
def test_the_compact_models_are_printed_with_their_heads(name: str) -> None:
    (printed,) = load_document(name).document.published
    params, _ = torch_total(built(name, masked_lm=True, next_sentence=True))
    assert printed.agrees(params)


def test_layers_of_albert_cost_no_parameters() -> None:
    params, flops = torch_total(built("albert-base"))
    more, twice = torch_total(built("albert-base", layers=24))
    assert more == params
    assert twice > 1.9 * flops
    assert torch_total(built("albert-base", groups=2))[0] > params
