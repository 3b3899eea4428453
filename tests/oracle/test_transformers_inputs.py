"""Inputs that are made from configurations of transformers, by the classes that take them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

import netcalc
from netcalc.formats.libraries.building import without_weights
from netcalc.formats.libraries.capture import call_taken
from netcalc.formats.table import implementation

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TINY = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
CODEC = {"num_filters": 4, "upsampling_ratios": [2, 2], "head_dim": 8, "num_key_value_heads": 4, "upsample_groups": 32}
KYUTAI = {"num_codebooks": 4, "audio_pad_token_id": 9, "bos_token_id": 1, "max_position_embeddings": 16}
LAYERS, HEADS = [[f"{part}_{what}" for part in ("encoder", "decoder")] for what in ("layers", "attention_heads")]
VIBEVOICE = {"hidden_size": 8, "num_filters": 4, "depths": [1, 1], "downsampling_ratios": [2]}


def shapes(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the shapes of the arguments that a model is called with; the values of those whose values count."""
    call = call_taken(implementation("transformers.building").built(fields, {}), ())
    return {name: tuple(tensor.shape) for name, tensor in call.kwargs.items()} | {
        name: value.tolist() for name, value in call.constants.items()
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"model_type": "blip_2_qformer", **TINY, "encoder_hidden_size": 24},
            {"query_embeds": (1, 32, 32), "encoder_hidden_states": (1, 257, 24)},
        ),
        ({"model_type": "mimi_decoder", **TINY, **CODEC}, {"latents": (1, 32, 16)}),
        ({"model_type": "vibevoice_acoustic_tokenizer_encoder", **VIBEVOICE}, {"hidden_states": (1, 1, 16000)}),
        ({"model_type": "vibevoice_acoustic_tokenizer_decoder", **VIBEVOICE}, {"hidden_states": (1, 8, 16)}),
        (
            {"model_type": "fun_asr_nano_encoder", **TINY, "num_mel_bins": 8, "num_timestamp_prediction_layers": 0},
            {"input_features": (1, 512, 56), "input_features_mask": (1, 512)},
        ),
        ({"model_type": "granite_speech5_encoder", **TINY, "num_mel_bins": 8}, {"input_features": (1, 512, 32)}),
        (
            {"model_type": "kyutai_speech_to_text", **TINY, **KYUTAI},
            {"input_ids": (1, 16, 5)},
        ),
        (
            {"model_type": "minicpmv4_7_vision", **TINY, "patch_size": 4, "image_size": 64, "insert_layer_id": -1},
            {"pixel_values": (1, 3, 4, 1024), "target_sizes": [[16, 16]]},
        ),
        (
            {"model_type": "video_llama_3_vision", **TINY, "patch_size": 4},
            {"pixel_values": (256, 48), "grid_thw": [[1, 16, 16]], "merge_sizes": [1]},
        ),
        (
            {"model_type": "inkling2_vision", **TINY, "patch_size": 4},
            {"pixel_values": (64, 8, 8, 3), "image_grid_thw": [[1, 8, 8]]},
        ),
        (
            {"model_type": "muse_glimmer_assistant", **TINY, "num_key_value_heads": 4, "target_layer_ids": [1, 3, 5]},
            {"noise_embeds": (1, 16, 32), "context_hidden_states": (1, 64, 96), "attention_mask": (1, 80)},
        ),
        (
            {"model_type": "speecht5", "hidden_size": 32, **dict.fromkeys(LAYERS, 1), **dict.fromkeys(HEADS, 4)},
            {"input_values": (1, 64, 32), "decoder_input_values": (1, 64, 32)},
        ),
    ],
    ids=lambda value: value.get("model_type", "") if isinstance(value, dict) else "",
)
def test_inputs_of_a_type(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert shapes(fields) == expected


def test_a_class_of_a_part_takes_the_configuration_of_the_part() -> None:
    decoder = {"hidden_size": 32, "ffn_dim": 48, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 64}
    fields = {"model_type": "musicgen", "architectures": ["MusicgenModel"], "decoder": decoder}
    assert shapes({**fields, "decoder": {**decoder, "num_codebooks": 4, "max_position_embeddings": 16}}) == {
        "input_ids": (4, 16)
    }
    text = {"vocab_size": 64, **TINY}
    fields = {"model_type": "clip", "architectures": ["CLIPTextModel"], "text_config": text}
    built = implementation("transformers.building").built(fields, {})
    with torch.device("meta"):
        expected = transformers.CLIPTextModel(transformers.CLIPTextConfig(**text))
    assert sum(p.numel() for p in built.module.parameters()) == sum(p.numel() for p in expected.parameters())


def test_a_class_that_is_not_called() -> None:
    fields = {"model_type": "glm_image_vqmodel", "embed_dim": 8, "num_embeddings": 8, "latent_channels": 8}
    with pytest.raises(netcalc.NetcalcError, match="E009: GlmImageVQVAE has no forward"):
        shapes(fields)


def test_a_type_without_a_base_model() -> None:
    with pytest.raises(netcalc.NetcalcError, match=r"E009: transformers .* has no base model of type depth_anything"):
        shapes({"model_type": "depth_anything"})


def test_a_class_that_needs_a_package() -> None:
    if find_spec("torchaudio"):
        pytest.skip("the package is installed")
    with pytest.raises(netcalc.NetcalcError, match="HiggsAudioV2TokenizerModel of transformers needs torchaudio"):
        shapes({"model_type": "higgs_audio_v2_tokenizer"})


def test_large_tensors_stay_without_values_on_every_device() -> None:
    with without_weights():
        positions = torch.zeros(1 << 12, 1 << 10)
        assert positions.to(device=torch.zeros(1).device, dtype=torch.float64).is_meta
        with pytest.raises(RuntimeError, match="size"):
            torch.zeros(3).to(torch.device("cpu")) + torch.zeros(4)


def test_sizes_that_are_tensors_count() -> None:
    size = torch.tensor(1 << 12)
    with without_weights():
        assert torch.nn.Linear(size, size).weight.is_meta
    with pytest.raises(netcalc.NetcalcError, match="is not built"), without_weights():
        torch.empty(size * size, size * size)
