"""Figures and execution of the worked examples; tests/oracle compares their outputs with the references."""

from __future__ import annotations

from typing import Any

import pytest

from tests.examples import EXAMPLES, SMALL, example

#: Settings, parameters and torch's FLOPs (torch.utils.flop_counter, torch 2.13.0) of torchvision 0.28.0's
#: deeplabv3_resnet50 with auxiliary head, transformers 5.23.0's Wav2Vec2Model of wav2vec2-base, and its
#: PerceiverForImageClassificationLearned with the configuration of deepmind/vision-perceiver-learned.
FIGURES: list[tuple[str, dict[str, Any], int, int]] = [
    ("deeplabv3", {}, 42_004_074, 357_443_890_176),
    ("wav2vec2", {}, 94_371_712, 13_822_748_672),
    ("wav2vec2", {"samples": 160_000}, 94_371_712, 148_133_046_272),
    ("perceiver", {}, 62_255_848, 478_038_933_504),
]


@pytest.mark.parametrize(("name", "settings", "params", "flops"), FIGURES)
def test_figures_are_those_of_the_reference_implementation(
    name: str, settings: dict[str, Any], params: int, flops: int
) -> None:
    network = example(name, **settings)
    assert network.params == params
    assert network.summary("torch").totals.flops == flops


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_at_most_60_lines(name: str) -> None:
    assert len(EXAMPLES[name].splitlines()) <= 60


@pytest.mark.parametrize("name", EXAMPLES)
def test_execution_agrees_with_every_prediction(name: str) -> None:
    assert example(name, **SMALL[name]).verify().ok


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_in_an_example_is_unused(name: str) -> None:
    assert example(name).warnings == ()
