"""Vision Transformers of transformers, small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.oracle.checkpoints.model import Model, models
from tests.zoo.harness import FAMILIES

__all__ = ["vision_models"]

SIZES: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 128}
IMAGE: dict[str, Any] = SIZES | {"image_size": 32, "patch_size": 8, "num_labels": 10}


def _like(kind: str, spec: str, family: str, config: dict[str, Any]) -> Iterator[Model]:
    """Yield the model of a spec at its small sizes."""
    yield from models(kind, spec, config=config, settings=FAMILIES[family]["small"][spec])


def vision_models() -> Iterator[Model]:
    yield from _like("DeiTForImageClassificationWithTeacher", "deit-base-distilled", "vit", IMAGE)
    yield from _like("BeitForImageClassification", "beit-base", "vit", IMAGE | {"use_relative_position_bias": True})
    sound = {"patch_size": 8, "max_length": 40, "num_mel_bins": 20, "frequency_stride": 4, "time_stride": 5}
    yield from _like("ASTForAudioClassification", "ast-base", "vit", SIZES | sound | {"num_labels": 10})
    decoder = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 64}
    masked = {f"decoder_{name}": size for name, size in decoder.items()} | {"mask_ratio": 0.6}
    yield from _like("ViTMAEForPreTraining", "vit-mae-base", "vit", IMAGE | masked)
    detection = {"image_size": [32, 40], "num_detection_tokens": 7}
    yield from _like("YolosForObjectDetection", "yolos-small", "vit", IMAGE | detection)
    stages = {"hidden_sizes": [8, 12, 16], "depths": [1, 2, 1], "num_stages": 3, "num_labels": 10}
    yield from _like("ConvNextV2ForImageClassification", "convnextv2-tiny", "convnext", stages)
    text = SIZES | {"vocab_size": 50, "max_position_embeddings": 9}
    towers = {"text_config": text, "vision_config": SIZES | {"image_size": 32, "patch_size": 16}}
    yield from _like("SiglipModel", "siglip-base-patch16-224", "clip", towers)
    naflex = {"text_config": text, "vision_config": SIZES | {"patch_size": 4, "num_patches": 16}}
    yield Model(
        "siglip2-base-patch16-naflex",
        "Siglip2Model",
        naflex,
        FAMILIES["clip"]["small"]["siglip2-base-patch16-naflex"],
        {"spatial_shapes": [[3, 2]] * 3},
        values={"pixel_attention_mask": [[1] * 6 + [0]] * 3},
    )
    rotary = {"patch_size": 8, "num_register_tokens": 2}
    yield from _like("DINOv3ViTModel", "dinov3-vits16", "vit", SIZES | rotary)
    pyramid = {
        "num_encoder_blocks": 2,
        "depths": [2, 1],
        "sr_ratios": [4, 1],
        "hidden_sizes": [8, 12],
        "num_labels": 10,
    }
    pyramid |= {"patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 3]}
    yield from _like("PvtV2ForImageClassification", "pvt_v2_b0", "pvt", pyramid)
    two = {"embed_dim": [8, 12], "depth": [1, 2], "num_heads": [1, 2], "mlp_ratio": [2.0, 3.0], "num_labels": 10}
    two |= {"patch_sizes": [7, 3], "patch_stride": [4, 2], "patch_padding": [2, 1], "cls_token": [False, True]}
    two |= {name: [0.0] * 2 for name in ("attention_drop_rate", "drop_rate", "drop_path_rate")}
    yield from _like("CvtForImageClassification", "cvt-13", "cvt", two)
    three = {"image_size": 80, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 3, 4], "num_labels": 10}
    three |= {"key_dim": [4, 4, 4], "depths": [1, 2, 1]}
    yield from _like("LevitForImageClassificationWithTeacher", "levit-256", "levit", three)
    taken = {"num_hidden_layers": 4, "out_indices": [1, 2, 3, 4], "reshape_hidden_states": False}
    backbone = {"model_type": "dinov2", "hidden_size": 32, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}
    depth = {"backbone_config": backbone | taken, "patch_size": 8, "reassemble_hidden_size": 32, "head_hidden_size": 4}
    depth |= {"neck_hidden_sizes": [4, 6, 8, 10], "fusion_hidden_size": 8}
    four = {"embed_dim": 8, "depths": [1, 2, 2, 1], "num_heads": [1, 2, 2, 4], "window_size": 2, "model_type": "swin"}
    four |= {"out_features": [f"stage{number}" for number in range(1, 5)]}
    segmentation = {"backbone_config": four, "hidden_size": 10, "auxiliary_channels": 6, "num_labels": 5}
    yield from _like("UperNetForSemanticSegmentation", "upernet-swin-tiny", "swin", segmentation)
    yield from _like("DepthAnythingForDepthEstimation", "depth-anything-small", "vit", depth)
