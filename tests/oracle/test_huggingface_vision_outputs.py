"""Small models of images and sound that transformers saves: the folder is audited, and has the outputs of the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc as api
from netcalc.formats import load_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.oracle.checkpoints.harness import assert_close, complete, randomise  # noqa: E402

Shapes = dict[str, tuple[int, ...]]

SMALL: dict[str, Any] = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2}
VIT = SMALL | {"intermediate_size": 10, "image_size": 32, "patch_size": 8, "num_labels": 3}
IMAGE: Shapes = {"pixel_values": (2, 3, 32, 32)}
OBLONG: Shapes = {"pixel_values": (2, 3, 48, 64)}
OBLONG_DIMS = {"height": 48, "width": 64}
DINO = {name: size for name, size in VIT.items() if name != "intermediate_size"}
SOUND = SMALL | {
    "hidden_size": 16,
    "intermediate_size": 10,
    "conv_dim": [8, 12],
    "conv_kernel": [10, 3],
    "num_labels": 3,
}
SOUND |= {"conv_stride": [5, 2], "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4}
WAVE: Shapes = {"input_values": (2, 400)}
SPECTRUM = SMALL | {"intermediate_size": 10, "patch_size": 8, "max_length": 40, "num_mel_bins": 20, "num_labels": 3}
MASKED = VIT | {"decoder_hidden_size": 8, "decoder_num_hidden_layers": 2, "decoder_num_attention_heads": 2}
MASKED |= {"decoder_intermediate_size": 9, "mask_ratio": 0.6}
NOISY: Shapes = IMAGE | {"noise": (2, 16)}
YOLOS = VIT | {"image_size": [32, 48], "num_detection_tokens": 5, "num_hidden_layers": 3}
RESNET = {"embedding_size": 4, "hidden_sizes": [8, 12], "depths": [1, 2], "num_labels": 3}
SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 2], "num_heads": [1, 2], "window_size": 4}
MOBILE = {"image_size": 64, "hidden_sizes": [8, 12, 16], "neck_hidden_sizes": [4, 6, 8, 8, 10, 12, 16]}
STAGES = {"hidden_sizes": [4, 8, 12], "depths": [1, 2, 1], "num_stages": 3, "num_labels": 3}
SEGFORMER = {"num_encoder_blocks": 2, "depths": [2, 1], "sr_ratios": [4, 1], "hidden_sizes": [8, 12]}
SEGFORMER |= {"patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 3]}
DINOV3 = SMALL | {"hidden_size": 16, "intermediate_size": 10, "patch_size": 8, "num_register_tokens": 3}
DEPTH = {"backbone_config": DINO | {"model_type": "dinov2", "num_hidden_layers": 5, "out_indices": [1, 2, 3, 4]}}
DEPTH["backbone_config"] |= {"reshape_hidden_states": False}
DEPTH |= {"patch_size": 8, "reassemble_hidden_size": 12, "neck_hidden_sizes": [4, 6, 8, 10], "fusion_hidden_size": 6}
CVT = {"embed_dim": [4, 8, 12], "num_heads": [1, 2, 3], "depth": [1, 2, 3], "num_labels": 3}
LEVIT = {"image_size": 80, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 3, 4], "key_dim": [4, 6, 4]}
LEVIT |= {"depths": [1, 2, 1], "num_labels": 3}
PVT = SEGFORMER | {"num_labels": 3}
RTDETR = {"embedding_size": 8, "hidden_sizes": [8, 12, 16, 20], "depths": [1, 2, 1, 1], "out_indices": [2, 3, 4]}
RTDETR = {"backbone_config": RTDETR | {"model_type": "rt_detr_resnet"}, "encoder_in_channels": [12, 16, 20]}
RTDETR |= {
    "encoder_hidden_dim": 16,
    "decoder_in_channels": [16, 16, 16],
    "d_model": 16,
    "num_queries": 7,
    "num_labels": 3,
}
RTDETR |= {"decoder_layers": 2, "decoder_n_points": 2, "hidden_expansion": 0.5}
WIDE: Shapes = {"pixel_values": (2, 3, 64, 96)}
LAYOUT = SMALL | {"intermediate_size": 10, "vocab_size": 30, "max_position_embeddings": 9, "input_size": 32}
LAYOUT |= {"patch_size": 8, "coordinate_size": 2, "shape_size": 2}
DETR = {"backbone_config": RESNET | {"model_type": "resnet", "out_features": ["stage2"]}, "num_queries": 5}
DETR |= {"d_model": 16, "num_labels": 3}
DETR |= {
    f"{side}_{name}": size
    for side in ("encoder", "decoder")
    for name, size in (("layers", 3), ("attention_heads", 2), ("ffn_dim", 10))
}
UPERNET = {
    "backbone_config": {"model_type": "swin", "embed_dim": 8, "depths": [1, 2, 2, 1], "num_heads": [1, 2, 2, 4]}
    | {"window_size": 3, "patch_size": 2, "out_features": [f"stage{number}" for number in range(1, 5)]}
    | {"layer_norm_eps": 1e-3},
    "hidden_size": 10,
    "pool_scales": [1, 2],
    "auxiliary_channels": 6,
    "auxiliary_num_convs": 2,
    "auxiliary_concat_input": True,
}

TEXT = SMALL | {"intermediate_size": 10, "vocab_size": 30, "max_position_embeddings": 9, "eos_token_id": 2}
VISION = SMALL | {"hidden_size": 16, "intermediate_size": 10, "image_size": 32, "patch_size": 8}
TOWERS = {"text_config": TEXT, "vision_config": VISION}
WORDS: Shapes = {"input_ids": (2, 7)}
LENGTH = {"texts": 2, "length": 7}

CASES: list[tuple[str, dict[str, Any], Shapes, dict[str, int]]] = [
    *((f"ViT{head}", VIT, IMAGE, {}) for head in ("Model", "ForImageClassification")),
    *(
        (f"DeiT{head}", VIT, IMAGE, {})
        for head in ("Model", "ForImageClassification", "ForImageClassificationWithTeacher")
    ),
    ("BeitModel", VIT | {"use_relative_position_bias": True}, OBLONG, OBLONG_DIMS),
    (
        "BeitForImageClassification",
        VIT | {"use_shared_relative_position_bias": True, "use_mean_pooling": False},
        IMAGE,
        {},
    ),
    ("BeitForMaskedImageModeling", VIT | {"use_absolute_position_embeddings": True, "use_mask_token": True}, IMAGE, {}),
    ("Dinov2Model", DINO | {"use_swiglu_ffn": True}, OBLONG, OBLONG_DIMS),
    ("Dinov2ForImageClassification", DINO, IMAGE, {}),
    ("DINOv3ViTModel", DINOV3 | {"use_gated_mlp": True, "key_bias": True}, OBLONG, OBLONG_DIMS),
    (
        "DepthAnythingForDepthEstimation",
        DEPTH | {"depth_estimation_type": "metric", "max_depth": 20},
        OBLONG,
        OBLONG_DIMS,
    ),
    *((f"Cvt{head}", CVT, OBLONG, OBLONG_DIMS) for head in ("Model", "ForImageClassification")),
    ("CvtModel", CVT | {"cls_token": [False, False, False]}, OBLONG, OBLONG_DIMS),
    *(
        (f"Levit{head}", LEVIT, {"pixel_values": (2, 3, 80, 80)}, {})
        for head in ("Model", "ForImageClassification", "ForImageClassificationWithTeacher")
    ),
    *((f"RTDetr{head}", RTDETR, WIDE, {"height": 64, "width": 96}) for head in ("Model", "ForObjectDetection")),
    ("LayoutLMv3Model", LAYOUT, IMAGE | WORDS, {"length": 7}),
    *(
        (f"LayoutLMv3For{task}", LAYOUT | {"num_labels": labels}, IMAGE | WORDS, {"length": 7})
        for task, labels in (("SequenceClassification", 3), ("TokenClassification", 12), ("QuestionAnswering", 2))
    ),
    *((f"PvtV2{head}", PVT, OBLONG, OBLONG_DIMS) for head in ("Model", "ForImageClassification")),
    ("PvtV2Model", PVT | {"linear_attention": True}, OBLONG, OBLONG_DIMS),
    *(
        (f"AST{head}", SPECTRUM | {"time_stride": 5}, {"input_values": (2, 40, 20)}, {})
        for head in ("Model", "ForAudioClassification")
    ),
    *((f"ViTMAE{head}", MASKED, NOISY, {}) for head in ("Model", "ForPreTraining")),
    ("YolosModel", YOLOS, OBLONG, OBLONG_DIMS),
    ("YolosForObjectDetection", YOLOS | {"use_mid_position_embeddings": False}, {"pixel_values": (2, 3, 32, 48)}, {}),
    ("HubertModel", SOUND | {"do_stable_layer_norm": True, "feat_proj_layer_norm": False}, WAVE, {"length": 400}),
    ("HubertForCTC", SOUND | {"conv_pos_batch_norm": True}, WAVE, {"length": 400}),
    ("HubertForSequenceClassification", SOUND, WAVE, {"length": 400}),
    ("Wav2Vec2ForSequenceClassification", SOUND | {"classifier_proj_size": 5}, WAVE, {"length": 400}),
    ("Wav2Vec2Model", SOUND, WAVE, {"length": 400}),
    ("Wav2Vec2ForCTC", SOUND | {"feat_extract_norm": "layer"}, WAVE, {"length": 400}),
    *((f"ResNet{head}", RESNET, OBLONG, OBLONG_DIMS) for head in ("Model", "ForImageClassification")),
    *((f"{kind}Model", SWIN, IMAGE, {}) for kind in ("Swin", "Swinv2")),
    *((f"{kind}ForImageClassification", SWIN, IMAGE, {}) for kind in ("Swin", "Swinv2")),
    *((f"ConvNext{head}", STAGES, OBLONG, OBLONG_DIMS) for head in ("Model", "ForImageClassification")),
    *((f"ConvNextV2{head}", STAGES, OBLONG, OBLONG_DIMS) for head in ("Model", "ForImageClassification")),
    ("CLIPModel", TOWERS, IMAGE | WORDS, LENGTH),
    ("SiglipModel", TOWERS | {"text_config": TEXT | {"projection_size": 16}}, IMAGE | WORDS, LENGTH),
    *((f"{kind}ForImageClassification", TOWERS | {"num_labels": 3}, IMAGE, {}) for kind in ("CLIP", "Siglip")),
    *((f"CLIPText{head}", TEXT | {"projection_dim": 5}, WORDS, LENGTH) for head in ("Model", "ModelWithProjection")),
    *((f"CLIPVision{head}", VISION | {"projection_dim": 5}, IMAGE, {}) for head in ("Model", "ModelWithProjection")),
    ("SiglipTextModel", TEXT | {"projection_size": 5}, WORDS, LENGTH),
    ("SiglipVisionModel", VISION, IMAGE, {}),
    *(
        (f"Blip{head}", TOWERS | {"image_text_hidden_size": 5}, IMAGE | WORDS, {"length": 7})
        for head in ("ForConditionalGeneration", "Model", "ForImageTextRetrieval")
    ),
    ("MobileViTModel", MOBILE, {"pixel_values": (2, 3, 64, 64)}, {}),
    *((f"ConditionalDetr{head}", DETR, OBLONG, OBLONG_DIMS) for head in ("Model", "ForObjectDetection")),
    *((f"{kind}DetrModel", DETR | {"auxiliary_loss": True}, OBLONG, OBLONG_DIMS) for kind in ("", "Conditional")),
    ("UperNetForSemanticSegmentation", UPERNET, WIDE, {"height": 64, "width": 96}),
    *((f"Segformer{head}", SEGFORMER, OBLONG, OBLONG_DIMS) for head in ("Model", "ForImageClassification")),
]


@pytest.mark.parametrize(("architecture", "fields", "shapes", "dims"), CASES, ids=[case[0] for case in CASES])
def test_outputs_are_those_of_transformers(
    architecture: str,
    fields: dict[str, Any],
    shapes: Shapes,
    dims: dict[str, int],
    tmp_path: Path,
    netcalc: Callable[..., Any],
) -> None:
    model_class = getattr(transformers, architecture)
    model = complete(randomise(model_class(model_class.config_class(**fields))))
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    rng = np.random.default_rng(1)
    inputs: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        # the token with the greatest number ends a text
        ids = name == "input_ids"
        inputs[name] = rng.integers(3, 30, shape) if ids else rng.normal(size=shape).astype(np.float32)
    with torch.no_grad():
        expected = model(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    ran = netcalc("verify", str(tmp_path))
    assert (ran.code, ran.err) == (0, ""), ran.out
    document = load_model(tmp_path).document
    own, batches = set(document.inputs), {"batch", "images"} & set(document.dims)
    network = api.load(tmp_path, set=dict.fromkeys(batches, 2) | dims)
    given = {name if name in own else "image": array for name, array in inputs.items()}
    for name, array in network.run(given, weights=tmp_path).outputs.items():
        assert_close(array, expected[name].numpy(), name)
