"""Random configurations of models of images and sound: figures are those of transformers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc import NetcalcError
from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees, ids, images

torch = pytest.importorskip("torch")

BATCHES = st.integers(1, 2)


@st.composite
def encoder(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a Transformer encoder that most configurations name alike."""
    heads = draw(st.integers(1, 3))
    return {
        "hidden_size": heads * draw(st.integers(1, 6)),
        "num_attention_heads": heads,
        "num_hidden_layers": draw(st.integers(1, 3)),
        "intermediate_size": draw(st.integers(1, 40)),
        "hidden_act": draw(st.sampled_from(["gelu", "quick_gelu", "relu"])),
    }


@st.composite
def clip(draw: st.DrawFn) -> dict[str, Any]:
    patch = draw(st.integers(1, 4))
    return {
        "text_config": draw(encoder()) | {"vocab_size": draw(st.integers(8, 40)), "max_position_embeddings": 9},
        "vision_config": draw(encoder())
        | {"patch_size": patch, "image_size": patch * draw(st.integers(1, 3)), "num_channels": draw(st.integers(1, 3))},
        "projection_dim": draw(st.integers(1, 9)),
    }


@draws
@given(clip(), BATCHES, st.integers(1, 2), st.integers(1, 9))
def test_clip(fields: dict[str, Any], batch: int, texts: int, length: int) -> None:
    vision = fields["vision_config"]
    size = vision["image_size"]
    inputs = {"pixel_values": images(batch, vision["num_channels"], size, size), "input_ids": ids(texts, length)}
    assert_agrees("CLIPModel", fields, inputs, {"images": batch, "texts": texts, "length": length})


TOWERS = ["CLIPTextModel", "CLIPTextModelWithProjection", "CLIPVisionModel", "CLIPVisionModelWithProjection"]
TOWERS += ["SiglipTextModel", "SiglipVisionModel"]
IMAGES = ["CLIPForImageClassification", "SiglipForImageClassification"]


@draws
@given(clip(), st.data(), BATCHES, st.integers(1, 9), st.sampled_from(["SiglipModel", *IMAGES, *TOWERS]))
def test_encoders_of_clip_and_siglip(
    fields: dict[str, Any], data: st.DataObject, batch: int, length: int, architecture: str
) -> None:
    vision, text, width = fields["vision_config"], fields["text_config"], fields.pop("projection_dim")
    size = vision["image_size"]
    inputs = {"pixel_values": images(batch, vision["num_channels"], size, size), "input_ids": ids(2, length)}
    dims = {"images": batch, "texts": 2, "length": length}
    if architecture == "SiglipModel":
        text["projection_size"] = vision["hidden_size"]
    if architecture in TOWERS:
        fields = text if "Text" in architecture else vision
        fields |= {"projection_dim": width} if "CLIP" in architecture else {}
        if architecture == "SiglipVisionModel":
            fields |= {"vision_use_head": data.draw(st.booleans())}
    if "Text" in architecture:
        del inputs["pixel_values"]
    elif architecture != "SiglipModel":
        del inputs["input_ids"]
    assert_agrees(architecture, fields, inputs, dims)


SIGLIPS = ["Siglip2Model", "Siglip2ForImageClassification", "Siglip2TextModel", "Siglip2VisionModel"]


@draws
@given(clip(), st.data(), BATCHES, st.sampled_from(SIGLIPS))
def test_siglip2(fields: dict[str, Any], data: st.DataObject, batch: int, architecture: str) -> None:
    """Patches of images of a drawn shape, with padding, on the CPU for the positions to be interpolated."""
    draw, sides = data.draw, st.integers(1, 3)
    text, vision = fields["text_config"], fields["vision_config"]
    del vision["image_size"], fields["projection_dim"]
    vision |= {
        "num_patches": draw(sides) ** 2,
        "vision_use_head": architecture != "Siglip2VisionModel" or draw(st.booleans()),
    }
    text["projection_size"] = (
        vision["hidden_size"] if architecture == "Siglip2Model" else draw(st.sampled_from([None, 5]))
    )
    rows, columns, padding = draw(sides), draw(sides), draw(st.integers(0, 2))
    patches = torch.zeros(batch, rows * columns + padding, vision["num_channels"] * vision["patch_size"] ** 2)
    inputs = {"pixel_values": patches, "pixel_attention_mask": torch.ones(patches.shape[:2], dtype=torch.int64)}
    inputs |= {
        "spatial_shapes": torch.tensor([[rows, columns]] * batch),
        "input_ids": torch.zeros(2, 7, dtype=torch.int64),
    }
    dims = {"images": batch, "rows": rows, "columns": columns, "padding": padding, "texts": 2, "length": 7}
    if "Text" in architecture:
        fields, inputs = text, {"input_ids": inputs["input_ids"]}
        dims = {"texts": 2, "length": 7}
    elif architecture != "Siglip2Model":
        fields = vision if "Vision" in architecture else fields
        del inputs["input_ids"]
    assert_agrees(architecture, fields, inputs, dims, device="cpu")


@st.composite
def images_of(draw: st.DrawFn, sides: int = 3) -> dict[str, Any]:
    """Draw the fields of the image and its patches."""
    patch = draw(st.integers(1, 4))
    return {
        "patch_size": patch,
        "image_size": patch * draw(st.integers(1, sides)),
        "num_channels": draw(st.integers(1, 3)),
    }


def drawn(draw: st.DrawFn, *, dropout: str = "hidden_dropout_prob") -> dict[str, Any]:
    """Draw the fields of a Vision Transformer."""
    others = {"qkv_bias": draw(st.booleans()), dropout: 0.1, "num_labels": draw(st.integers(2, 5))}
    return draw(encoder()) | draw(images_of()) | others


def image(fields: dict[str, Any], batch: int) -> dict[str, Any]:
    """Return an image of the size and channels that a configuration has."""
    size = fields["image_size"]
    return {"pixel_values": images(batch, fields.get("num_channels", 3), size, size)}


@draws
@given(st.data(), BATCHES)
def test_vit(data: st.DataObject, batch: int) -> None:
    fields = drawn(data.draw)
    assert_agrees("ViTForImageClassification", fields, image(fields, batch), {"batch": batch})
    fields |= {"pooler_output_size": data.draw(st.sampled_from([None, 3])), "pooler_act": "relu"}
    assert_agrees("ViTModel", fields, image(fields, batch), {"batch": batch})


@st.composite
def resnet(draw: st.DrawFn) -> dict[str, Any]:
    stages = draw(st.integers(1, 3))
    sizes, depths = st.lists(st.integers(4, 24), min_size=stages, max_size=stages), st.integers(1, 2)
    return {
        "num_channels": draw(st.integers(1, 3)),
        "embedding_size": draw(st.integers(1, 8)),
        "hidden_sizes": draw(sizes),
        "depths": draw(st.lists(depths, min_size=stages, max_size=stages)),
        "layer_type": draw(st.sampled_from(["basic", "bottleneck"])),
        "hidden_act": draw(st.sampled_from(["relu", "silu"])),
        "downsample_in_first_stage": draw(st.booleans()),
        "downsample_in_bottleneck": draw(st.booleans()),
        "num_labels": draw(st.integers(2, 5)),
    }


@draws
@given(resnet(), BATCHES, st.sampled_from(["ResNetModel", "ResNetForImageClassification"]))
def test_resnet(fields: dict[str, Any], batch: int, architecture: str) -> None:
    inputs = {"pixel_values": images(batch, fields["num_channels"], 45, 64)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": 45, "width": 64})


@st.composite
def swin(draw: st.DrawFn, smallest: int) -> dict[str, Any]:
    """Draw the fields of a Swin Transformer, whose last feature map is at least ``smallest`` windows wide."""
    stages, patch, window = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    heads, width = draw(st.lists(st.integers(1, 2), min_size=stages, max_size=stages)), draw(st.integers(1, 4))
    side = draw(st.integers(max(smallest * window, 1), 2 * window + 1))
    return {
        "image_size": patch * side * 2 ** (stages - 1),
        "patch_size": patch,
        "num_channels": draw(st.integers(1, 3)),
        "embed_dim": 2 * width,
        "depths": draw(st.lists(st.integers(1, 3), min_size=stages, max_size=stages)),
        "num_heads": heads,
        "window_size": window,
        "mlp_ratio": draw(st.sampled_from([1.0, 2.5, 4.0])),
        "qkv_bias": draw(st.booleans()),
        "hidden_act": draw(st.sampled_from(["gelu", "relu"])),
        "num_labels": draw(st.integers(2, 5)),
    }


@draws
@given(swin(1), BATCHES, st.sampled_from(["SwinModel", "SwinForImageClassification"]))
def test_swin(fields: dict[str, Any], batch: int, architecture: str) -> None:
    assert_agrees(architecture, fields, image(fields, batch), {"batch": batch})


@draws
@given(swin(0), BATCHES, st.sampled_from(["Swinv2Model", "Swinv2ForImageClassification"]), st.sampled_from([0, 6]))
def test_swinv2(fields: dict[str, Any], batch: int, architecture: str, earlier: int) -> None:
    fields |= {"pretrained_window_sizes": [earlier] * len(fields["depths"])}
    assert_agrees(architecture, fields, image(fields, batch), {"batch": batch})


@draws
@given(swin(1), st.data(), BATCHES)
def test_upernet(backbone: dict[str, Any], data: st.DataObject, batch: int) -> None:
    draw, stages = data.draw, [f"stage{number}" for number in range(1, 5)]
    del backbone["num_labels"], backbone["image_size"]
    for field, items in (("depths", st.integers(1, 2)), ("num_heads", st.sampled_from([1, 2]))):
        backbone[field] = draw(st.lists(items, min_size=4, max_size=4))
    fields = {
        "backbone_config": backbone | {"model_type": "swin", "out_features": stages},
        "hidden_size": draw(st.integers(1, 8)),
        "pool_scales": draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)),
        "use_auxiliary_head": draw(st.booleans()),
        "auxiliary_channels": draw(st.integers(1, 8)),
        "auxiliary_num_convs": draw(st.integers(1, 3)),
        "auxiliary_concat_input": draw(st.booleans()),
        "num_labels": draw(st.integers(2, 5)),
    }
    height, width = (
        backbone["patch_size"] * (8 * backbone["window_size"] + draw(st.integers(1, 20))) for _ in range(2)
    )
    inputs = {"pixel_values": images(batch, backbone["num_channels"], height, width)}
    dims = {"batch": batch, "height": height, "width": width}
    assert_agrees("UperNetForSemanticSegmentation", fields, inputs, dims)


DETECTORS = [f"{kind}{head}" for kind in ("Detr", "ConditionalDetr") for head in ("Model", "ForObjectDetection")]


@draws
@given(resnet(), st.data(), BATCHES, st.sampled_from(DETECTORS))
def test_detr(backbone: dict[str, Any], data: st.DataObject, batch: int, architecture: str) -> None:
    draw, heads = data.draw, st.sampled_from([1, 2, 4])
    del backbone["num_labels"]
    backbone |= {"layer_type": "bottleneck", "hidden_act": "relu", "downsample_in_first_stage": False}
    backbone |= {"model_type": "resnet", "downsample_in_bottleneck": False}
    fields = {
        "backbone_config": backbone | {"out_features": [f"stage{len(backbone['depths'])}"]},
        "num_channels": backbone["num_channels"],
        "num_queries": draw(st.integers(1, 5)),
        "d_model": 4 * draw(st.integers(1, 4)),
        "encoder_attention_heads": draw(heads),
        "decoder_attention_heads": draw(heads),
        "num_labels": draw(st.integers(2, 5)),
        "auxiliary_loss": draw(st.booleans()),
    }
    fields |= {
        f"{part}_{name}": draw(st.integers(1, limit))
        for part in ("encoder", "decoder")
        for name, limit in (("layers", 2), ("ffn_dim", 20))
    }
    if draw(st.integers(0, 9)) == 9:  # ResNet-50 of timm
        fields |= {"backbone_config": None, "num_channels": 3}
    inputs = {
        "pixel_values": torch.zeros(batch, fields["num_channels"], 64, 45),
        "pixel_mask": torch.ones(batch, 64, 45),
    }
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": 64, "width": 45}, device="cpu")


@draws
@given(st.data(), BATCHES, st.sampled_from(["Dinov2Model", "Dinov2ForImageClassification"]))
def test_dinov2(data: st.DataObject, batch: int, architecture: str) -> None:
    fields = drawn(data.draw) | {"mlp_ratio": data.draw(st.integers(1, 5))}
    fields |= {name: data.draw(st.booleans()) for name in ("use_swiglu_ffn", "use_mask_token")}
    del fields["intermediate_size"]
    other = data.draw(st.integers(1, 3)) * fields["patch_size"]
    inputs = {"pixel_values": images(batch, fields["num_channels"], fields["image_size"], other)}
    if fields["use_swiglu_ffn"] and fields["hidden_size"] * fields["mlp_ratio"] == 1:
        # two thirds of a feature are none, of which torch warns
        with pytest.raises(NetcalcError, match="should be at least 1"), pytest.warns(UserWarning, match="zero-element"):
            assert_agrees(architecture, fields, inputs, {"batch": batch, "width": other})
        return
    assert_agrees(architecture, fields, inputs, {"batch": batch, "width": other})


@st.composite
def segformer(draw: st.DrawFn) -> dict[str, Any]:
    stages = draw(st.integers(1, 3))

    def each(numbers: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(numbers, min_size=stages, max_size=stages))

    heads, widths = each(st.integers(1, 2)), each(st.integers(1, 4))
    return {
        "num_encoder_blocks": stages,
        "num_channels": draw(st.integers(1, 3)),
        "hidden_sizes": [2 * width for width in widths],
        "num_attention_heads": heads,
        "depths": each(st.integers(1, 2)),
        "sr_ratios": each(st.integers(1, 3)),
        "patch_sizes": each(st.integers(2, 5)),
        "strides": each(st.integers(1, 2)),
        "mlp_ratios": each(st.integers(1, 3)),
        "decoder_hidden_size": draw(st.integers(1, 9)),
        "num_labels": draw(st.integers(2, 5)),
    }


SEGFORMERS = ["SegformerModel", "SegformerForImageClassification", "SegformerForSemanticSegmentation"]


@draws
@given(segformer(), BATCHES, st.sampled_from(SEGFORMERS))
def test_segformer(fields: dict[str, Any], batch: int, architecture: str) -> None:
    inputs = {"pixel_values": images(batch, fields["num_channels"], 32, 40)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": 32, "width": 40})


@draws
@given(st.data(), BATCHES, st.sampled_from(["MobileViTModel", "MobileViTForImageClassification"]))
def test_mobilevit(data: st.DataObject, batch: int, architecture: str) -> None:
    draw, heads = data.draw, data.draw(st.integers(1, 2))
    fields = {
        "num_channels": draw(st.integers(1, 3)),
        "patch_size": draw(st.integers(1, 3)),
        "hidden_sizes": [heads * width for width in draw(st.lists(st.integers(1, 6), min_size=3, max_size=3))],
        "neck_hidden_sizes": draw(st.lists(st.integers(2, 12), min_size=7, max_size=7)),
        "num_attention_heads": heads,
        "mlp_ratio": draw(st.sampled_from([1.0, 2.5])),
        "expand_ratio": draw(st.sampled_from([1.5, 4.0])),
        "output_stride": draw(st.sampled_from([8, 16, 32])),
        "conv_kernel_size": draw(st.sampled_from([1, 3])),
        "qkv_bias": draw(st.booleans()),
        "num_labels": draw(st.integers(2, 5)),
    }
    inputs = {"pixel_values": images(batch, fields["num_channels"], 64, 96)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": 64, "width": 96})


@st.composite
def sound(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a Transformer over a waveform."""
    count, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))

    def each(numbers: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(numbers, min_size=count, max_size=count))

    fields = draw(encoder())
    fields["hidden_size"] *= groups
    return fields | {
        "vocab_size": draw(st.integers(4, 20)),
        "conv_dim": each(st.integers(1, 8)),
        "conv_kernel": each(st.integers(1, 5)),
        "conv_stride": each(st.integers(1, 3)),
        "conv_bias": draw(st.booleans()),
        "feat_extract_norm": draw(st.sampled_from(["group", "layer"])),
        "num_conv_pos_embeddings": draw(st.integers(1, 6)),
        "num_conv_pos_embedding_groups": groups,
        "do_stable_layer_norm": draw(st.booleans()),
        "mask_time_prob": draw(st.sampled_from([0.0, 0.05])),
    }


@draws
@given(sound(), BATCHES, st.sampled_from(["Wav2Vec2Model", "Wav2Vec2ForCTC", "Wav2Vec2ForSequenceClassification"]))
def test_wav2vec2(fields: dict[str, Any], batch: int, architecture: str) -> None:
    assert_agrees(architecture, fields, {"input_values": images(batch, 200)}, {"batch": batch, "length": 200})


VILTS = ["ViltModel", "ViltForMaskedLM", "ViltForQuestionAnswering"]
VILTS += ["ViltForImageAndTextRetrieval", "ViltForTokenClassification"]


@draws
@given(st.data(), BATCHES, st.sampled_from(VILTS), st.integers(1, 9))
def test_vilt(data: st.DataObject, batch: int, architecture: str, length: int) -> None:
    fields = drawn(data.draw) | {"vocab_size": 20, "max_position_embeddings": 9, "type_vocab_size": 3}
    fields |= {"modality_type_vocab_size": data.draw(st.integers(2, 3))}
    size = fields["image_size"]
    text = torch.zeros(batch, length, dtype=torch.int64)
    inputs = {"input_ids": text, "token_type_ids": text, "attention_mask": text + 1}
    inputs |= {"pixel_values": torch.zeros(batch, fields["num_channels"], size, size)}
    inputs |= {"pixel_mask": torch.ones(batch, size, size, dtype=torch.int64)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "length": length}, device="cpu")


@draws
@given(st.data(), BATCHES, st.sampled_from(["RTDetrModel", "RTDetrForObjectDetection"]))
def test_rt_detr(data: st.DataObject, batch: int, architecture: str) -> None:
    draw, heads = data.draw, st.sampled_from([1, 2])
    bottleneck, features = draw(st.booleans()), 4 * draw(st.integers(1, 3))
    widths = draw(st.lists(st.sampled_from([4, 8, 12]), min_size=4, max_size=4))
    backbone = {
        "model_type": "rt_detr_resnet",
        "embedding_size": draw(st.sampled_from([4, 8])),
        "out_indices": [2, 3, 4],
    }
    backbone |= {"layer_type": "bottleneck" if bottleneck else "basic", "hidden_sizes": widths}
    backbone |= {"depths": draw(st.lists(st.integers(1, 2), min_size=4, max_size=4))}
    backbone |= {"downsample_in_bottleneck": draw(st.booleans()), "num_channels": draw(st.integers(1, 3))}
    if not bottleneck:  # the class halves the shortcut of a first stage that changes the channels, and nothing else
        backbone["embedding_size"] = widths[0]
    fields = {
        "backbone_config": backbone,
        "freeze_backbone_batch_norms": draw(st.booleans()),
        "encoder_in_channels": backbone["hidden_sizes"][1:],
        "encoder_hidden_dim": features,
        "decoder_in_channels": [features] * 3,
        "hidden_expansion": draw(st.sampled_from([0.5, 1.0])),
        "encoder_attention_heads": draw(heads),
        "decoder_attention_heads": draw(heads),
        "d_model": draw(st.sampled_from([4, 8, 16])),  # the class warns of heads of other sizes
        "decoder_n_points": draw(st.integers(1, 3)),
        "num_queries": draw(st.integers(1, 5)),
        "num_denoising": draw(st.sampled_from([0, 100])),
        "num_labels": draw(st.integers(2, 5)),
    }
    for part in ("encoder", "decoder"):
        fields |= {f"{part}_layers": draw(st.integers(1, 2)), f"{part}_ffn_dim": draw(st.integers(1, 20))}
    inputs = {"pixel_values": torch.zeros(batch, backbone["num_channels"], 64, 96)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": 64, "width": 96}, device="cpu")


LAYOUTS = ["LayoutLMv3Model"]
LAYOUTS += [f"LayoutLMv3For{task}" for task in ("SequenceClassification", "TokenClassification", "QuestionAnswering")]


@draws
@given(st.data(), BATCHES, st.sampled_from(LAYOUTS), st.integers(1, 9))
def test_layoutlmv3(data: st.DataObject, batch: int, architecture: str, length: int) -> None:
    draw = data.draw
    fields = drawn(draw) | {"vocab_size": 20, "max_position_embeddings": 11, "type_vocab_size": 3, "pad_token_id": 1}
    del fields["qkv_bias"]
    fields["input_size"] = size = fields.pop("image_size")
    fields["hidden_size"] = fields["num_attention_heads"] * draw(st.sampled_from([6, 8]))
    features = draw(st.integers(1, (fields["hidden_size"] - 2) // 4))
    fields |= {"coordinate_size": features, "shape_size": (fields["hidden_size"] - 4 * features) // 2}
    relative = draw(st.booleans())
    fields |= {"has_relative_attention_bias": relative, "has_spatial_attention_bias": relative and draw(st.booleans())}
    fields |= {"rel_pos_bins": draw(st.sampled_from([8, 12])), "rel_2d_pos_bins": 16, "max_2d_position_embeddings": 30}
    if architecture == "LayoutLMv3ForTokenClassification":
        fields["num_labels"] = draw(st.sampled_from([3, 10]))
    elif architecture == "LayoutLMv3ForQuestionAnswering":
        fields["num_labels"] = 2
    text = torch.zeros(batch, length, dtype=torch.int64)
    inputs = {"input_ids": text, "token_type_ids": text, "attention_mask": text + 1}
    inputs |= {"bbox": torch.zeros(batch, length, 4, dtype=torch.int64)}
    inputs |= {"pixel_values": torch.zeros(batch, fields["num_channels"], size, size)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "length": length}, device="cpu")


DEITS = ["DeiTModel", "DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"]


@draws
@given(st.data(), BATCHES, st.sampled_from(DEITS))
def test_deit(data: st.DataObject, batch: int, architecture: str) -> None:
    fields = drawn(data.draw) | {"pooler_output_size": data.draw(st.sampled_from([None, 3])), "pooler_act": "relu"}
    assert_agrees(architecture, fields, image(fields, batch), {"batch": batch})


BEITS = ["BeitModel", "BeitForImageClassification", "BeitForMaskedImageModeling"]
BIASES = ["use_relative_position_bias", "use_shared_relative_position_bias", "use_absolute_position_embeddings"]


@draws
@given(st.data(), BATCHES, st.sampled_from(BEITS), st.sampled_from(BIASES))
def test_beit(data: st.DataObject, batch: int, architecture: str, positions: str) -> None:
    fields = drawn(data.draw) | {"vocab_size": 20, positions: True}
    fields |= {name: data.draw(st.booleans()) for name in ("use_mask_token", "use_mean_pooling")}
    fields |= {"layer_scale_init_value": data.draw(st.sampled_from([0.0, 0.1]))}
    del fields["qkv_bias"]
    assert_agrees(architecture, fields, image(fields, batch), {"batch": batch})


@draws
@given(st.data(), BATCHES, st.sampled_from(["ASTModel", "ASTForAudioClassification"]))
def test_audio_spectrogram_transformer(data: st.DataObject, batch: int, architecture: str) -> None:
    fields = data.draw(encoder()) | {
        "patch_size": data.draw(st.integers(1, 6)),
        "num_labels": data.draw(st.integers(2, 5)),
    }
    fields |= {name: data.draw(st.integers(1, 6)) for name in ("frequency_stride", "time_stride")}
    fields |= {name: data.draw(st.integers(6, 30)) for name in ("max_length", "num_mel_bins")}
    fields |= {"qkv_bias": data.draw(st.booleans())}
    inputs = {"input_values": images(batch, fields["max_length"], fields["num_mel_bins"])}
    assert_agrees(architecture, fields, inputs, {"batch": batch})


@draws
@given(st.data(), BATCHES, st.sampled_from(["ViTMAEModel", "ViTMAEForPreTraining"]))
def test_vit_mae(data: st.DataObject, batch: int, architecture: str) -> None:
    fields, heads = drawn(data.draw), data.draw(st.integers(1, 3))
    # the tables of sines and cosines want features in fours
    fields |= {
        "hidden_size": 4 * fields["hidden_size"],
        "decoder_hidden_size": 4 * heads * data.draw(st.integers(1, 3)),
    }
    fields |= {"decoder_num_attention_heads": heads, "decoder_num_hidden_layers": data.draw(st.integers(1, 2))}
    fields |= {"decoder_intermediate_size": data.draw(st.integers(1, 20))}
    fields |= {"image_size": data.draw(st.integers(2, 4)) * fields["patch_size"]}  # at least a patch is kept
    fields |= {"mask_ratio": data.draw(st.sampled_from([0.0, 0.3, 0.75]))}
    assert_agrees(architecture, fields, image(fields, batch), {"batch": batch})


@draws
@given(st.data(), BATCHES, st.sampled_from(["YolosModel", "YolosForObjectDetection"]))
def test_yolos(data: st.DataObject, batch: int, architecture: str) -> None:
    draw = data.draw
    fields, sides = drawn(draw), st.integers(1, 3)
    patch = fields["patch_size"]
    fields |= {
        "image_size": [patch * draw(sides), patch * draw(sides)],
        "num_detection_tokens": draw(st.integers(1, 5)),
    }
    fields |= {"use_mid_position_embeddings": fields["num_hidden_layers"] > 1 and draw(st.booleans())}
    height, width = patch * draw(sides), patch * draw(sides)
    inputs = {"pixel_values": images(batch, fields["num_channels"], height, width)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": height, "width": width})


HUBERTS = ["HubertModel", "HubertForCTC", "HubertForSequenceClassification"]


@draws
@given(sound(), st.data(), BATCHES, st.sampled_from(HUBERTS))
def test_hubert(fields: dict[str, Any], data: st.DataObject, batch: int, architecture: str) -> None:
    fields |= {name: data.draw(st.booleans()) for name in ("conv_pos_batch_norm", "feat_proj_layer_norm")}
    fields |= {"classifier_proj_size": data.draw(st.integers(1, 9)), "num_labels": data.draw(st.integers(2, 5))}
    assert_agrees(architecture, fields, {"input_values": images(batch, 200)}, {"batch": batch, "length": 200})


CONVNEXTS = [f"{kind}{head}" for kind in ("ConvNext", "ConvNextV2") for head in ("Model", "ForImageClassification")]


@draws
@given(st.data(), BATCHES, st.sampled_from(CONVNEXTS))
def test_convnext(data: st.DataObject, batch: int, architecture: str) -> None:
    draw, stages = data.draw, data.draw(st.integers(1, 3))
    fields = {
        "num_channels": draw(st.integers(1, 3)),
        "patch_size": draw(st.integers(1, 4)),
        "num_stages": stages,
        "hidden_sizes": draw(st.lists(st.integers(1, 12), min_size=stages, max_size=stages)),
        "depths": draw(st.lists(st.integers(1, 3), min_size=stages, max_size=stages)),
        "num_labels": draw(st.integers(2, 5)),
    }
    if "V2" not in architecture:
        fields |= {"layer_scale_init_value": draw(st.sampled_from([0.0, 1e-6]))}
    inputs = {"pixel_values": images(batch, fields["num_channels"], 45, 64)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": 45, "width": 64})


@draws
@given(st.data(), BATCHES)
def test_dinov3_vit(data: st.DataObject, batch: int) -> None:
    draw = data.draw
    fields = drawn(draw)
    for name in ("qkv_bias", "hidden_dropout_prob", "num_labels"):
        del fields[name]
    names = ("query_bias", "key_bias", "value_bias", "proj_bias", "mlp_bias", "use_gated_mlp")
    fields |= {name: draw(st.booleans()) for name in names}
    fields |= {"hidden_size": 4 * fields["hidden_size"], "num_register_tokens": draw(st.integers(0, 3))}
    other = draw(st.integers(1, 3)) * fields["patch_size"]
    inputs = {"pixel_values": torch.zeros(batch, fields["num_channels"], fields["image_size"], other, device="meta")}
    assert_agrees("DINOv3ViTModel", fields, inputs, {"batch": batch, "width": other})


@draws
@given(st.data(), BATCHES, st.sampled_from(["PvtV2Model", "PvtV2ForImageClassification"]))
def test_pvt_v2(data: st.DataObject, batch: int, architecture: str) -> None:
    draw, stages = data.draw, data.draw(st.integers(1, 3))

    def each(numbers: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(numbers, min_size=stages, max_size=stages))

    heads = each(st.integers(1, 3))
    fields = {
        "num_channels": draw(st.integers(1, 3)),
        "num_encoder_blocks": stages,
        "depths": each(st.integers(1, 2)),
        "sr_ratios": each(st.sampled_from([1, 2])),
        "hidden_sizes": [number * size for number, size in zip(heads, each(st.integers(2, 6)), strict=True)],
        "patch_sizes": each(st.sampled_from([3, 5])),
        "strides": each(st.integers(1, 3)),
        "num_attention_heads": heads,
        "mlp_ratios": each(st.integers(1, 4)),
        "hidden_act": draw(st.sampled_from(["gelu", "relu"])),
        "qkv_bias": draw(st.booleans()),
        "linear_attention": draw(st.booleans()),
        "image_size": draw(st.sampled_from([64, [64, 96]])),
        "num_labels": draw(st.integers(2, 5)),
    }
    width = 64 if fields["image_size"] == 64 else 96
    inputs = {"pixel_values": images(batch, fields["num_channels"], 64, width)}
    assert_agrees(architecture, fields, inputs, {"batch": batch})


@draws
@given(st.data(), BATCHES, st.sampled_from(["CvtModel", "CvtForImageClassification"]))
def test_cvt(data: st.DataObject, batch: int, architecture: str) -> None:
    """Depths from which the class can take the rate of a stage's branches."""
    draw, stages = data.draw, data.draw(st.integers(1, 3))

    def each(*values: Any) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=stages, max_size=stages))

    heads, kernels = each(1, 2, 3), each(1, 3)
    fields = {
        "num_channels": draw(st.integers(1, 3)),
        "patch_sizes": each(3, 5),
        "patch_stride": each(1, 2, 3),
        "patch_padding": each(0, 1, 2),
        "embed_dim": [number * size for number, size in zip(heads, each(2, 4, 6), strict=True)],
        "num_heads": heads,
        "depth": [index + extra for index, extra in enumerate(each(1, 2))],
        "mlp_ratio": each(1.0, 2.5, 4.0),
        "qkv_bias": each(True, False),
        "cls_token": [False] * (stages - 1) + [architecture != "CvtModel" or draw(st.booleans())],
        "qkv_projection_method": ["dw_bn"] * stages,
        "kernel_qkv": kernels,
        "padding_q": [kernel // 2 for kernel in kernels],
        "padding_kv": each(0, 1),
        "stride_kv": each(1, 2),
        "stride_q": [1] * stages,
        "num_labels": draw(st.integers(2, 5)),
    }
    fields |= {name: each(0.0, 0.1) for name in ("attention_drop_rate", "drop_rate", "drop_path_rate")}
    inputs = {"pixel_values": images(batch, fields["num_channels"], 90, 64)}
    assert_agrees(architecture, fields, inputs, {"batch": batch, "height": 90, "width": 64})


LEVITS = ["LevitModel", "LevitForImageClassification", "LevitForImageClassificationWithTeacher"]


@draws
@given(st.data(), st.sampled_from(LEVITS))
def test_levit(data: st.DataObject, architecture: str) -> None:
    def each(smallest: int, largest: int) -> list[int]:
        return data.draw(st.lists(st.integers(smallest, largest), min_size=3, max_size=3))

    size = 16 * data.draw(st.integers(1, 6))
    fields = {
        "image_size": size,
        "num_channels": data.draw(st.integers(1, 3)),
        "hidden_sizes": [8 * width for width in each(1, 3)],
        "num_attention_heads": each(1, 3),
        "depths": each(1, 2),
        "key_dim": each(1, 8),
        "mlp_ratio": each(1, 3),
        "attention_ratio": each(1, 3),
        "num_labels": data.draw(st.integers(2, 5)),
    }
    if data.draw(st.booleans()):
        fields |= {"kernel_size": 1, "padding": 0}
    inputs = {"pixel_values": torch.zeros(2, fields["num_channels"], size, size)}
    assert_agrees(architecture, fields, inputs, {"batch": 2}, device="cpu")


@draws
@given(st.data(), BATCHES)
def test_depth_anything(data: st.DataObject, batch: int) -> None:
    draw = data.draw
    backbone = drawn(draw) | {"mlp_ratio": draw(st.integers(1, 4)), "use_swiglu_ffn": draw(st.booleans())}
    del backbone["intermediate_size"], backbone["num_labels"]
    places = draw(st.lists(st.integers(1, 6), min_size=4, max_size=4, unique=True))
    layers = {"out_indices": sorted(places), "num_hidden_layers": max(places) + draw(st.integers(0, 1))}
    backbone |= layers | {"model_type": "dinov2", "reshape_hidden_states": False}
    fields = {
        "backbone_config": backbone,
        "patch_size": backbone["patch_size"],
        "reassemble_hidden_size": backbone["hidden_size"],
        "reassemble_factors": draw(st.lists(st.sampled_from([0.25, 0.5, 1, 2, 3]), min_size=4, max_size=4)),
        "neck_hidden_sizes": draw(st.lists(st.integers(1, 8), min_size=4, max_size=4)),
        "fusion_hidden_size": draw(st.integers(2, 9)),
        "head_hidden_size": draw(st.integers(1, 6)),
        "depth_estimation_type": draw(st.sampled_from(["relative", "metric"])),
        "max_depth": draw(st.integers(1, 80)),
    }
    height, width = (backbone["patch_size"] * draw(st.integers(1, 3)) for _ in range(2))
    inputs = {"pixel_values": images(batch, backbone["num_channels"], height, width)}
    dims = {"batch": batch, "height": height, "width": width}
    assert_agrees("DepthAnythingForDepthEstimation", fields, inputs, dims)
