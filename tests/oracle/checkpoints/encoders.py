"""Encoders, pairs of an encoder and a decoder, and models of images and text of transformers, small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.oracle.checkpoints.model import Model, models
from tests.zoo.harness import FAMILIES

__all__ = ["encoder_decoders", "encoders", "image_models"]

BERT = {"vocab_size": 50, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 0}
BERT |= {"intermediate_size": 24, "max_position_embeddings": 16}
BERT_SIZES = {"batch": 2, "length": 11, "vocab": 50, "d_model": 32, "heads": 4, "layers": 2, "d_ff": 24}
BERT_SIZES |= {"max_length": 16}
#: of tokens that these classes otherwise give greater numbers
IDS = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
BART = {"vocab_size": 50, "d_model": 32, "pad_token_id": 1, "eos_token_id": 2}
for _part in ("encoder", "decoder"):
    BART |= {f"{_part}_layers": 2, f"{_part}_attention_heads": 4, f"{_part}_ffn_dim": 24}
BART_SIZES = {"batch": 2, "source": 9, "target": 7, "vocab": 50, "d_model": 32, "heads": 4, "d_ff": 24}
T5 = {"vocab_size": 50, "d_model": 32, "num_heads": 4, "d_kv": 6, "d_ff": 24, "decoder_start_token_id": 0}
T5_SIZES = BART_SIZES | {"head_dim": 6}


def encoders() -> Iterator[Model]:
    bert: dict[str, Any] = {"config": BERT, "settings": BERT_SIZES}
    names = ("base", "base-cased", "large", "tiny", "mini", "small")
    yield from models("BertModel", *(f"bert-{name}" for name in names), **bert)
    yield from models("BertForMaskedLM", "bert-base-mlm", "bert-large-mlm", **bert)
    yield from models("BertForPreTraining", "bert-base-pretraining", "bert-large-pretraining", **bert)
    config = BERT | {"layer_norm_eps": 1e-5, "type_vocab_size": 1, "pad_token_id": 1, "max_position_embeddings": 18}
    roberta: dict[str, Any] = {"config": config, "settings": BERT_SIZES | {"max_length": 18}}
    yield from models("RobertaModel", "roberta-base", "roberta-large", **roberta)
    yield from models("RobertaForMaskedLM", "roberta-base-mlm", **roberta)
    yield from models("CamembertModel", "camembert-base", **roberta)
    yield from models("XLMRobertaModel", "xlm-roberta-base", **roberta)
    yield from models("MPNetModel", "mpnet-base", **roberta)
    protein = BERT | {"layer_norm_eps": 1e-5, "pad_token_id": 1, "position_embedding_type": "rotary"}
    rotary = {name: size for name, size in BERT_SIZES.items() if name != "max_length"}
    yield from models("EsmModel", "esm2-650m", config=protein, settings=rotary, token_dropout=True, mask_token_id=32)
    yield from models("NomicBertModel", "nomic-embed-text-v1", config=BERT, settings=rotary)
    yield from models("DistilBertModel", "distilbert-base", config=BERT | {"hidden_dim": 24}, settings=BERT_SIZES)
    narrow: dict[str, Any] = {"config": BERT | {"embedding_size": 16}, "settings": BERT_SIZES | {"d_embed": 16}}
    yield from models("AlbertModel", "albert-base", **narrow, hidden_act="gelu_new")
    yield from models("ElectraModel", "electra-small", **narrow)
    yield from models("ElectraForPreTraining", "electra-small-discriminator", **narrow)
    relative = {"relative_attention": True, "position_buckets": 4, "pos_att_type": "p2c|c2p", "share_att_key": True}
    relative |= {"norm_rel_ebd": "layer_norm", "position_biased_input": False}
    deberta = BERT_SIZES | {"buckets": 4}
    yield from models("DebertaV2Model", "deberta-v3-base", config=BERT, settings=deberta, **relative)
    modern = BERT_SIZES | {"window": 2}
    del modern["max_length"]
    yield from models("ModernBertModel", "modernbert-base", config=BERT | IDS, settings=modern, local_attention=4)
    mobile = BERT | {"embedding_size": 10, "intra_bottleneck_size": 16}
    yield Model("mobilebert", "MobileBertModel", mobile, BERT_SIZES | {"d_embed": 10, "d_inner": 16})
    xlnet = {"vocab_size": 50, "d_model": 32, "n_head": 4, "n_layer": 2, "d_inner": 24}
    sizes = {name: size for name, size in BERT_SIZES.items() if name != "max_length"}
    yield Model("xlnet-base-cased", "XLNetModel", xlnet, sizes)
    mixing = {name: size for name, size in BERT_SIZES.items() if name != "heads"}
    fields = {name: value for name, value in BERT.items() if name != "num_attention_heads"}
    yield from models("FNetModel", "fnet-base", config=fields, settings=mixing, hidden_act="gelu_new")
    # attention in blocks draws some of them at random
    full: dict[str, Any] = {"attention_type": "original_full"}
    yield from models("BigBirdModel", "bigbird-roberta-base", config=BERT | full, settings=BERT_SIZES | full)
    yield Model(
        "longformer-base-4096",
        "LongformerModel",
        config | {"attention_window": 4},
        roberta["settings"] | {"window": 4, "global_tokens": 2, "length": 12},
        {"global_attention_mask": [[1] * 2 + [0] * 10] * 2},
    )


def encoder_decoders() -> Iterator[Model]:
    two_layers = {"encoder_layers": 2, "decoder_layers": 2, "max_length": 16}
    bart: dict[str, Any] = {"config": BART | {"max_position_embeddings": 16}, "settings": BART_SIZES | two_layers}
    yield from models("BartForConditionalGeneration", "bart-base", **bart)
    yield from models("MarianMTModel", "opus-mt-en-de", **bart, activation_function="swish", scale_embedding=True)
    released = {"activation_function": "relu", "scale_embedding": True}
    yield from models("MBartForConditionalGeneration", "mbart-large-cc25", **bart, scale_embedding=True)
    yield from models("PegasusForConditionalGeneration", "pegasus-large", **bart, **released)
    yield from models("M2M100ForConditionalGeneration", "m2m100-418m", **bart, **released)
    places = {"max_encoder_position_embeddings": 16, "max_decoder_position_embeddings": 16}
    yield Model(
        "led-base-16384",
        "LEDForConditionalGeneration",
        BART | places | {"attention_window": 4},
        bart["settings"] | {"source": 12, "decoder_max_length": 16, "window": 4, "global_tokens": 2},
        {"global_attention_mask": [[1] * 2 + [0] * 10] * 2},
    )
    t5, sizes = T5 | {"num_layers": 2, "num_decoder_layers": 2}, T5_SIZES | {"encoder_layers": 2}
    kind = "T5ForConditionalGeneration"
    yield from models(kind, "t5-small", "t5-base", "t5-large", config=t5, settings=sizes)
    gated = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    yield Model("t5-v1_1-small", kind, t5 | gated, sizes, untied="lm_head")
    yield Model("mt5-small", "MT5ForConditionalGeneration", t5 | gated, sizes, untied="lm_head")
    switch = T5 | {"num_layers": 4, "num_decoder_layers": 4, "num_experts": 3, "expert_capacity": 4}
    yield from models(
        "SwitchTransformersForConditionalGeneration",
        "switch-base-8",
        config=switch | {"num_sparse_encoder_layers": 2, "num_sparse_decoder_layers": 2},
        settings=T5_SIZES | {"encoder_layers": 4, "experts": 3, "capacity": 4},
    )
    yield from models(
        "WhisperForConditionalGeneration",
        *("whisper-tiny", "whisper-base", "whisper-small"),
        config=BART | {"num_mel_bins": 9, "max_source_positions": 7, "max_target_positions": 8},
        settings={"batch": 2, "frames": 14, "target": 5, "vocab": 50, "mel_bins": 9, "d_model": 32, "heads": 4}
        | {"d_ff": 24, "encoder_layers": 2, "max_length": 8},
    )


def image_models() -> Iterator[Model]:
    # as in the released files, the end of a text is the token with the greatest number
    text = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2}
    text |= {"intermediate_size": 96, "max_position_embeddings": 9, "eos_token_id": 2}
    vision = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 128}
    vision |= {"image_size": 32, "patch_size": 16}
    yield from models(
        "CLIPModel",
        *("clip-vit-base-patch32", "clip-vit-large-patch14"),
        config={"text_config": text, "vision_config": vision, "projection_dim": 16},
        settings={"images": 3, "texts": 2, "height": 32, "width": 32, "patch": 16, "length": 7, "max_length": 9}
        | {
            "vocab": 50,
            "vision_d_model": 32,
            "vision_heads": 4,
            "vision_layers": 2,
            "text_d_model": 24,
            "text_heads": 3,
        }
        | {"text_layers": 2, "d_embed": 16},
    )
    vilt: dict[str, Any] = {"config": BERT | {"max_position_embeddings": 9, "image_size": 64, "patch_size": 16}}
    sizes = {"height": 64, "width": 64, "patch": 16, "grid": 4, "length": 7, "max_length": 9}
    vilt["settings"] = BERT_SIZES | sizes
    yield from models("ViltModel", "vilt-b32", **vilt)
    yield from models("ViltForMaskedLM", "vilt-b32-mlm", **vilt)
    answers: dict[str, Any] = {"config": vilt["config"] | {"num_labels": 10}}
    answers["settings"] = vilt["settings"] | {"classes": 10}
    yield from models("ViltForQuestionAnswering", "vilt-b32-finetuned-vqa", **answers)
    places = {
        "input_size": 32,
        "patch_size": 8,
        "coordinate_size": 6,
        "shape_size": 4,
        "max_2d_position_embeddings": 40,
    }
    places |= {"rel_pos_bins": 8, "max_rel_pos": 9, "rel_2d_pos_bins": 16, "max_rel_2d_pos": 30, "type_vocab_size": 2}
    layout: dict[str, Any] = {"config": BERT | {"pad_token_id": 1, "max_position_embeddings": 9} | places}
    layout["settings"] = FAMILIES["layoutlm"]["small"]["layoutlmv3-base"]
    yield from models("LayoutLMv3Model", "layoutlmv3-base", **layout)
    segformer = {"num_encoder_blocks": 2, "depths": [2, 1], "sr_ratios": [4, 1], "hidden_sizes": [8, 12]}
    segformer |= {"patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 3]}
    yield from models(
        "SegformerForSemanticSegmentation",
        "segformer-b0",
        config=segformer | {"decoder_hidden_size": 10, "num_labels": 5},
        settings=FAMILIES["segformer"]["small"]["segformer-b0"],
    )
    mobilevit = {"hidden_sizes": [8, 12, 16], "neck_hidden_sizes": [4, 6, 8, 8, 10, 12, 16], "expand_ratio": 2.0}
    yield from models(
        "MobileViTForImageClassification",
        "mobilevit-small",
        config=mobilevit | {"num_labels": 5},
        settings=FAMILIES["mobilevit"]["small"]["mobilevit-small"],
    )
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
    sound: dict[str, Any] = {
        "conv_dim": [8, 12],
        "conv_kernel": [10, 3],
        "conv_stride": [5, 2],
        "intermediate_size": 48,
    }
    sound |= {"num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4}
    for kind, spec in (("Wav2Vec2Model", "wav2vec2-base"), ("HubertModel", "hubert-base")):
        yield from models(kind, spec, config=sizes | sound, settings=FAMILIES["wav2vec2"]["small"][spec])
    backbone = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [16, 24], "depths": [2, 1]}
    detr = {"backbone_config": backbone | {"out_features": ["stage2"]}, "num_queries": 7, "num_labels": 5}
    for kind, spec in (
        ("DetrForObjectDetection", "detr-resnet-50"),
        ("ConditionalDetrForObjectDetection", "conditional-detr-resnet-50"),
    ):
        yield from models(
            kind,
            spec,
            config={name: size for name, size in BART.items() if name != "vocab_size"} | detr,
            settings=FAMILIES["detr"]["small"][spec] | {"d_ff": 24},
        )
    stages = {
        "model_type": "rt_detr_resnet",
        "embedding_size": 8,
        "hidden_sizes": [8, 12, 16, 20],
        "depths": [1, 2, 1, 1],
    }
    real = {
        "backbone_config": stages | {"out_indices": [2, 3, 4]},
        "encoder_in_channels": [12, 16, 20],
        "num_labels": 5,
    }
    real |= {"encoder_hidden_dim": 16, "decoder_in_channels": [16, 16, 16], "d_model": 16, "num_queries": 7}
    real |= {"encoder_ffn_dim": 12, "decoder_ffn_dim": 10, "decoder_layers": 2, "decoder_n_points": 2}
    real |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    yield from models(
        "RTDetrForObjectDetection", "rtdetr-r50vd", config=real, settings=FAMILIES["detr"]["small"]["rtdetr-r50vd"]
    )
