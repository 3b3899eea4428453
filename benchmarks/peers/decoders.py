"""Decoders of text of transformers, with the logits at every position, as their specs."""

from __future__ import annotations

from torch import Tensor
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

__all__ = ["OPT", "GPTNeo", "Gemma3", "Pythia", "Qwen3"]


class Pythia(GPTNeoXForCausalLM):
    """With attention and feed-forward network side by side, and rotary positions on a quarter of each head."""

    def __init__(self) -> None:
        sizes = {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048}
        positions = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}
        super().__init__(GPTNeoXConfig(**sizes, vocab_size=50304, rope_parameters=positions))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class OPT(OPTForCausalLM):
    def __init__(self) -> None:
        super().__init__(OPTConfig())  # whose defaults are those of opt-125m

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class GPTNeo(GPTNeoForCausalLM):
    """With attention in a local window in every second layer."""

    def __init__(self) -> None:
        sizes = {"hidden_size": 768, "num_layers": 12, "num_heads": 12, "intermediate_size": 3072}
        super().__init__(GPTNeoConfig(**sizes, attention_types=[[["global", "local"], 6]]))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class Qwen3(Qwen3ForCausalLM):
    """With the first eight layers of the 0.6 B model."""

    def __init__(self) -> None:
        sizes = {"hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 3072}
        positions = {"rope_type": "default", "rope_theta": 1e6}
        sizes |= {"num_hidden_layers": 8, "head_dim": 128}
        super().__init__(Qwen3Config(**sizes, rope_parameters=positions, tie_word_embeddings=True))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class Gemma3(Gemma3ForCausalLM):
    """With the first six layers of the 1 B model, the last of which attends to all positions."""

    def __init__(self) -> None:
        sizes = {"hidden_size": 1152, "num_attention_heads": 4, "num_key_value_heads": 1, "intermediate_size": 6912}
        sizes |= {"num_hidden_layers": 6, "head_dim": 256, "sliding_window": 512, "vocab_size": 262144}
        super().__init__(Gemma3TextConfig(**sizes, query_pre_attn_scalar=256))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]
