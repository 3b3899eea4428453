"""Networks of images of transformers and timm, with the inputs and outputs of their specs."""

from __future__ import annotations

from functools import partial

from timm.models.mlp_mixer import MlpMixer
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor
from transformers import (
    CLIPConfig,
    CLIPModel,
    ConvNextV2Config,
    ConvNextV2ForImageClassification,
    MobileViTConfig,
    MobileViTForImageClassification,
    SegformerConfig,
    SegformerForSemanticSegmentation,
)

__all__ = ["Clip", "ConvNextV2", "Dinov2", "Mixer", "MobileViT", "Segformer"]

Mixer = partial(MlpMixer, num_classes=1000, img_size=224, patch_size=16, num_blocks=12, embed_dim=768)


class Clip(CLIPModel):
    """Both encoders and the logits of every pair."""

    def __init__(self) -> None:
        # defaults are those of the base model with patches of 32 pixels; with this id a text ends at its largest one
        super().__init__(CLIPConfig(text_config={"eos_token_id": 2}))

    def forward(self, pixel_values: Tensor, input_ids: Tensor) -> tuple[Tensor, ...]:
        found = super().forward(input_ids, pixel_values, return_dict=True)
        return found.logits_per_image, found.logits_per_text, found.text_embeds, found.image_embeds


class ConvNextV2(ConvNextV2ForImageClassification):
    def __init__(self) -> None:
        super().__init__(ConvNextV2Config(num_labels=1000))

    def forward(self, pixel_values: Tensor) -> Tensor:
        return super().forward(pixel_values).logits


class Dinov2(VisionTransformer):
    def __init__(self) -> None:
        sizes = {"img_size": 518, "patch_size": 14, "embed_dim": 384, "depth": 12, "num_heads": 6}
        super().__init__(**sizes, init_values=1.0, num_classes=0, global_pool="")

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        tokens = super().forward(image)
        return tokens, tokens[:, 0]


class MobileViT(MobileViTForImageClassification):
    def __init__(self) -> None:
        super().__init__(MobileViTConfig(num_labels=1000))

    def forward(self, pixel_values: Tensor) -> Tensor:
        return super().forward(pixel_values).logits


class Segformer(SegformerForSemanticSegmentation):
    def __init__(self) -> None:
        super().__init__(SegformerConfig(num_labels=150))

    def forward(self, pixel_values: Tensor) -> Tensor:
        return super().forward(pixel_values).logits
