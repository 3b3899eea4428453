"""Dense decoders of transformers, small."""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.checkpoints.decoders import GROUPED, GROUPED_SIZES, LLAMA3, WIDE, WIDE_SIZES, rope
from tests.oracle.checkpoints.model import Model, models

__all__ = ["dense_decoders"]

FOUR = GROUPED | {"num_hidden_layers": 4}
FOUR_SIZES = GROUPED_SIZES | {"layers": 4}


def dense_decoders() -> Iterator[Model]:
    yield from models("SmolLM3ForCausalLM", "smollm3-3b", config=FOUR, settings=FOUR_SIZES, rope_parameters=rope(5e6))
    yield from models("OlmoForCausalLM", "olmo-7b", config=GROUPED, settings=GROUPED_SIZES, rope_parameters=rope(1e4))
    scaled = rope(5e5) | {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192}
    scaled |= {"attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0}
    yield from models(
        "Olmo3ForCausalLM",
        "olmo-3-7b",
        config=FOUR | {"sliding_window": 4},
        settings=FOUR_SIZES | {"window": 4},
        rms_norm_eps=1e-6,
        rope_parameters={"sliding_attention": rope(5e5), "full_attention": scaled},
    )
    yield from models(
        "Exaone4ForCausalLM",
        "exaone-4.0-32b",
        config=FOUR | {"sliding_window": 4},
        settings=FOUR_SIZES | {"window": 4, "head_dim": 8},
        rms_norm_eps=1e-5,
        rope_parameters=rope(1e6, factor=16.0, **LLAMA3),
    )
    yield from models("SeedOssForCausalLM", "seed-oss-36b", config=WIDE, settings=WIDE_SIZES, rope_parameters=rope(1e7))
    yield from models(
        "Ernie4_5ForCausalLM", "ernie-4.5-0.3b", config=WIDE, settings=WIDE_SIZES, rope_parameters=rope(5e5)
    )
    yield from models(
        "NemotronForCausalLM",
        "minitron-4b",
        config=WIDE | {"head_dim": 8},
        settings=WIDE_SIZES | {"head_dim": 8},
        rope_parameters=rope(1e4, partial_rotary_factor=0.5),
    )
    yield from models(
        "CohereForCausalLM", "command-r-35b", config=GROUPED, settings=GROUPED_SIZES, rope_parameters=rope(8e6)
    )
    yield from models(
        "CohereForCausalLM",
        "palm-540b",
        config=GROUPED | {"num_key_value_heads": 1, "logit_scale": 1.0},
        settings=GROUPED_SIZES | {"kv_heads": 1, "head_dim": 8},
        rope_parameters=rope(1e4),
    )
    stretched = {"rope_type": "dynamic", "alpha": 1000.0, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
    yield from models(
        "HunYuanDenseV1ForCausalLM",
        "hunyuan-7b",
        config=WIDE,
        settings=WIDE_SIZES,
        rope_parameters=rope(1e4) | stretched,
        tie_word_embeddings=True,
    )
    yield from models(
        "HeliumForCausalLM",
        "helium-1-2b",
        config=GROUPED | {"head_dim": 8},
        settings=GROUPED_SIZES,
        rms_norm_eps=1e-8,
        rope_parameters=rope(1e5),
    )
    longer = {"rope_type": "yarn", "factor": 20.0, "original_max_position_embeddings": 4096, "mscale": 1.0}
    yield from models(
        "ArceeForCausalLM", "afm-4.5b", config=GROUPED, settings=GROUPED_SIZES, rope_parameters=rope(1e4) | longer
    )
    yield from models(
        "GlmForCausalLM",
        "glm-4-9b-chat",
        config=WIDE | {"head_dim": 8},
        settings=WIDE_SIZES | {"head_dim": 8},
        rms_norm_eps=1.5625e-7,
        rope_parameters=rope(1e4, partial_rotary_factor=0.5),
    )
    scaled = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16384}
    scaled |= {"beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}
    yield from models(
        "Ministral3ForCausalLM", "ministral-3-8b", config=WIDE, settings=WIDE_SIZES, rope_parameters=rope(1e6) | scaled
    )
    yield from models(
        "ApertusForCausalLM",
        "apertus-8b",
        config=GROUPED,
        settings=GROUPED_SIZES,
        rms_norm_eps=1e-5,
        rope_parameters=rope(1.2e7, factor=8.0, **LLAMA3),
    )
