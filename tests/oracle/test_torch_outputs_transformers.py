"""Small models of transformers, imported: outputs, FLOPs and parameters are those of PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.module_outputs import Case, assert_agrees, by_name, image, tokens

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SMALL: dict[str, Any] = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2}
SMALL |= {"pad_token_id": 0, "max_position_embeddings": 32}
TEXT = SMALL | {"intermediate_size": 20, "num_labels": 3}
GROUPED = TEXT | {"num_key_value_heads": 2, "head_dim": 8}
PAIR: dict[str, Any] = {"vocab_size": 50, "d_model": 24, "pad_token_id": 0, "max_position_embeddings": 32}
PAIR |= {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
PAIR |= {"encoder_ffn_dim": 20, "decoder_ffn_dim": 20, "decoder_start_token_id": 2}
T5 = {"vocab_size": 50, "d_model": 24, "d_kv": 6, "d_ff": 20, "num_layers": 2, "num_heads": 4}
VISION: dict[str, Any] = {"image_size": 16, "patch_size": 8, "hidden_size": 24, "num_hidden_layers": 2}
VISION |= {"num_attention_heads": 4, "intermediate_size": 20}
SWIN = {"image_size": 16, "patch_size": 2, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2], "window_size": 4}
SEGFORMER: dict[str, Any] = {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [8, 16]}
SEGFORMER |= {"patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2]}
SEGFORMER |= {"decoder_hidden_size": 16}
WAV2VEC2: dict[str, Any] = {"conv_dim": (8, 8, 8), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 2)}
WAV2VEC2 |= {"num_conv_pos_embeddings": 6, "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 3}
WHISPER = PAIR | {"num_mel_bins": 8, "max_source_positions": 10, "max_target_positions": 16}
CLIP = {"text_config": TEXT | {"eos_token_id": 49}, "vision_config": VISION, "projection_dim": 12}
MOE = {"num_local_experts": 3, "num_experts_per_tok": 2}
PARTS = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 2 / 3}}


def case(name: str, fields: dict[str, Any], args: tuple[Any, ...] = (), **kwargs: Any) -> Case:
    """Return the case of an architecture, whose configuration has these fields."""

    def make() -> Any:
        architecture = getattr(transformers, name)
        config = architecture.config_class(**fields)
        config.use_cache, config.return_dict = False, True
        config._experts_implementation = "batched_mm"
        return architecture(config)

    return Case(name, make, args, kwargs)


def text(name: str, fields: dict[str, Any], *, masked: bool = False, **others: Any) -> Case:
    """Return the case of a model of text; ``masked`` gives the mask of a shorter sequence."""
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 6:] = 0
    return case(name, fields, (), input_ids=tokens(), **({"attention_mask": mask} if masked else {}), **others)


def pair(name: str, fields: dict[str, Any]) -> Case:
    """Return the case of an encoder with a decoder."""
    return text(name, fields, decoder_input_ids=tokens(7))


CASES = [
    text("BertForMaskedLM", TEXT, masked=True),
    text("RobertaForTokenClassification", TEXT, masked=True),
    text("DistilBertForSequenceClassification", {"vocab_size": 50, "dim": 24, "n_heads": 4, "n_layers": 2}),
    text("AlbertModel", TEXT | {"embedding_size": 12}),
    text("ElectraForPreTraining", TEXT | {"embedding_size": 12}),
    text("MPNetModel", TEXT, masked=True),
    text("DebertaModel", TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    text("DebertaV2Model", TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    text("FNetModel", TEXT),
    text("ModernBertModel", TEXT | {"local_attention": 4}),
    text("GPT2LMHeadModel", {"vocab_size": 50, "n_embd": 24, "n_head": 4, "n_layer": 2, "n_positions": 32}),
    text("GPTJForCausalLM", {"vocab_size": 50, "n_embd": 24, "n_head": 4, "n_layer": 2, "rotary_dim": 4}),
    text("GPTNeoXForCausalLM", TEXT | {"rotary_pct": 0.5}),
    text("GPTNeoForCausalLM", SMALL | {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]}),
    text("OPTForCausalLM", SMALL | {"ffn_dim": 20, "word_embed_proj_dim": 12}),
    text("BloomForCausalLM", {"vocab_size": 50, "hidden_size": 24, "n_head": 4, "n_layer": 2}),
    text("FalconForCausalLM", SMALL | {"num_kv_heads": 2, "new_decoder_architecture": True}),
    text("LlamaForCausalLM", GROUPED, masked=True),
    text("MistralForCausalLM", GROUPED | {"sliding_window": 4}),
    text("GemmaForCausalLM", GROUPED),
    text("Gemma2ForCausalLM", GROUPED | {"sliding_window": 4, "query_pre_attn_scalar": 8}),
    text("Gemma3ForCausalLM", GROUPED | {"sliding_window": 4, "query_pre_attn_scalar": 8}),
    text("Qwen2ForCausalLM", GROUPED),
    text("Qwen3ForCausalLM", GROUPED),
    text("Phi3ForCausalLM", TEXT | {"num_key_value_heads": 2}),
    text("PhiForCausalLM", TEXT | PARTS),
    text("StableLmForCausalLM", TEXT | {"num_key_value_heads": 2, "use_qkv_bias": True}),
    text("MixtralForCausalLM", GROUPED | MOE),
    text("MambaForCausalLM", {"vocab_size": 50, "hidden_size": 12, "num_hidden_layers": 2, "state_size": 4}),
    pair("T5ForConditionalGeneration", T5),
    pair("BartForConditionalGeneration", PAIR),
    pair("MarianMTModel", PAIR),
    pair("M2M100ForConditionalGeneration", PAIR),
    case(
        "WhisperForConditionalGeneration",
        WHISPER,
        input_features=torch.zeros(2, 8, 20),
        decoder_input_ids=tokens(7),
    ),
    case("ViTForImageClassification", VISION, image(16)),
    case("SwinModel", SWIN, image(16)),
    case("Dinov2Model", VISION, image(16)),
    case("CLIPModel", CLIP, input_ids=tokens(), pixel_values=image(16)[0]),
    case("SegformerForSemanticSegmentation", SEGFORMER, image(32)),
    case("ConvNextV2Model", {"hidden_sizes": [8, 16], "depths": [1, 2], "num_stages": 2}, image(32)),
    case("Wav2Vec2ForCTC", TEXT | WAV2VEC2, (torch.zeros(2, 400),)),
]


@pytest.mark.sampled(3)
@by_name(CASES)
def test_outputs(case: Case) -> None:
    assert_agrees(case)
