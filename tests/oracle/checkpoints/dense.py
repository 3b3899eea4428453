"""Dense decoders of transformers, small."""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.checkpoints.decoders import GROUPED, GROUPED_SIZES, rope
from tests.oracle.checkpoints.model import Model, models

__all__ = ["dense_decoders"]

FOUR = GROUPED | {"num_hidden_layers": 4}
FOUR_SIZES = GROUPED_SIZES | {"layers": 4}


def dense_decoders() -> Iterator[Model]:
    yield from models("SmolLM3ForCausalLM", "smollm3-3b", config=FOUR, settings=FOUR_SIZES, rope_parameters=rope(5e6))
    yield from models("OlmoForCausalLM", "olmo-7b", config=GROUPED, settings=GROUPED_SIZES, rope_parameters=rope(1e4))
