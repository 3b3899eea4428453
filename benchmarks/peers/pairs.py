"""Pairs of an encoder and a decoder of transformers, with the inputs and outputs of their specs."""

from __future__ import annotations

from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    DetrConfig,
    DetrForObjectDetection,
    T5Config,
    T5ForConditionalGeneration,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

__all__ = ["T5", "Bart", "Detr", "Whisper"]


class T5(T5ForConditionalGeneration):
    def __init__(self) -> None:
        super().__init__(T5Config(decoder_start_token_id=0, use_cache=False))

    def forward(self, input_ids: Tensor, decoder_input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return super().forward(
            input_ids, attention_mask, decoder_input_ids=decoder_input_ids, use_cache=False, return_dict=False
        )[0]


class Bart(BartForConditionalGeneration):
    """The base model."""

    def __init__(self) -> None:
        sizes = {"d_model": 768, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}
        for part in ("encoder", "decoder"):
            sizes |= {f"{part}_layers": 6, f"{part}_attention_heads": 12}
        super().__init__(BartConfig(**sizes, use_cache=False))

    def forward(self, input_ids: Tensor, decoder_input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return super().forward(
            input_ids, attention_mask, decoder_input_ids=decoder_input_ids, use_cache=False, return_dict=False
        )[0]


class Whisper(WhisperForConditionalGeneration):
    def __init__(self) -> None:
        sizes = {"d_model": 384, "encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536}
        for part in ("encoder", "decoder"):
            sizes |= {f"{part}_layers": 4, f"{part}_attention_heads": 6}
        super().__init__(WhisperConfig(**sizes, use_cache=False))

    def forward(self, input_features: Tensor, decoder_input_ids: Tensor) -> Tensor:
        return super().forward(input_features, decoder_input_ids=decoder_input_ids, use_cache=False, return_dict=False)[
            0
        ]


class Detr(DetrForObjectDetection):
    """With transformers' own ResNet-50."""

    def __init__(self) -> None:
        backbone = {"model_type": "resnet", "out_features": ["stage4"]}
        super().__init__(DetrConfig(backbone_config=backbone, num_labels=91))

    def forward(self, pixel_values: Tensor, pixel_mask: Tensor) -> tuple[Tensor, ...]:
        found = super().forward(pixel_values, pixel_mask, return_dict=True)
        return found.logits, found.pred_boxes, found.last_hidden_state, found.encoder_last_hidden_state
