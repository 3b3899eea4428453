"""Encoders of text and sound of transformers beside those in ``text``, with the inputs and outputs of their specs."""

from __future__ import annotations

from torch import Tensor
from transformers import (
    AlbertConfig,
    AlbertModel,
    ElectraConfig,
    ElectraModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    Wav2Vec2Config,
    Wav2Vec2Model,
)

__all__ = ["Albert", "Electra", "MPNet", "ModernBert", "Wav2Vec2"]


class Albert(AlbertModel):
    """The base model, with the pooler."""

    def __init__(self) -> None:
        sizes = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
        super().__init__(AlbertConfig(**sizes))

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        found = super().forward(input_ids, attention_mask, token_type_ids, return_dict=True)
        return found.last_hidden_state, found.pooler_output


class Electra(ElectraModel):
    def __init__(self) -> None:
        super().__init__(ElectraConfig())  # whose defaults are those of the small model

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return super().forward(input_ids, attention_mask, token_type_ids, return_dict=False)[0]


class ModernBert(ModernBertModel):
    def __init__(self) -> None:
        super().__init__(ModernBertConfig())

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return super().forward(input_ids, attention_mask, return_dict=False)[0]


class MPNet(MPNetModel):
    """With the pooler."""

    def __init__(self) -> None:
        super().__init__(MPNetConfig(max_position_embeddings=514, layer_norm_eps=1e-5))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        found = super().forward(input_ids, attention_mask, return_dict=True)
        return found.last_hidden_state, found.pooler_output


class Wav2Vec2(Wav2Vec2Model):
    def __init__(self) -> None:
        super().__init__(Wav2Vec2Config())

    def forward(self, input_values: Tensor) -> tuple[Tensor, ...]:
        found = super().forward(input_values, return_dict=True)
        return found.last_hidden_state, found.extract_features
