"""Vars of encoders, and of encoders with decoders, at other values than their defaults, against transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from netcalc.engine.run import forward  # noqa: E402
from netcalc.numerics.parameters import check_weights  # noqa: E402
from tests.zoo.harness import built, in_double, torch_total  # noqa: E402

Change = tuple[dict[str, Any], dict[str, Any]]

RELU = {"activation": "relu"}
ENCODER = {"batch": 2, "length": 9, "vocab": 40, "d_model": 32, "heads": 4, "layers": 2, "d_ff": 48, "max_length": 16}
BERT: dict[str, Any] = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
BERT |= {"intermediate_size": 48, "max_position_embeddings": 16}
ROBERTA = BERT | {"pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
ALBERT = BERT | {"embedding_size": 16, "num_hidden_layers": 5}
DISENTANGLED: dict[str, Any] = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 4}
DISENTANGLED |= {"position_biased_input": False}
BOTH: dict[str, Any] = {"batch": 2, "source": 9, "target": 6, "vocab": 40, "d_model": 32, "heads": 4, "d_ff": 48}
LAYERS = {"encoder_layers": 2, "decoder_layers": 1}
BART: dict[str, Any] = {"vocab_size": 40, "d_model": 32, "pad_token_id": 1, "decoder_start_token_id": 2, **LAYERS}
BART |= {
    f"{part}_{what}": n for part in ("encoder", "decoder") for what, n in (("ffn_dim", 48), ("attention_heads", 4))
}
DECODER: dict[str, Change] = {
    "activation": ({"activation_function": "relu"}, RELU),
    "decoder": ({"decoder_attention_heads": 2, "decoder_ffn_dim": 20}, {"decoder_heads": 2, "decoder_d_ff": 20}),
    "padding": ({}, {"padding_mask": True}),
}
T5: dict[str, Any] = {"vocab_size": 40, "d_model": 32, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 1}
T5 |= {"num_heads": 4, "decoder_start_token_id": 0}
EPS: Change = ({"layer_norm_eps": 0.1}, {"eps": 0.1})
ACTIVATION: Change = ({"hidden_act": "relu"}, RELU)

FAMILIES: dict[str, tuple[str, Change, dict[str, Change]]] = {
    "bert-base": ("BertModel", (BERT, ENCODER), {"activation": ACTIVATION, "eps": EPS, "padding": ({}, {})}),
    "bert-base-mlm": ("BertForMaskedLM", (BERT, ENCODER), {"activation": ACTIVATION, "eps": EPS}),
    "roberta-base": (
        "RobertaModel",
        (ROBERTA, ENCODER),
        {"activation": ACTIVATION, "eps": EPS, "segments": ({"type_vocab_size": 3}, {"segments": 3})},
    ),
    "distilbert-base": (
        "DistilBertModel",
        (
            {"vocab_size": 40, "dim": 32, "n_layers": 1, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 16},
            ENCODER | {"layers": 1},
        ),
        {"activation": ({"activation": "relu"}, RELU)},
    ),
    "albert-base": (
        "AlbertModel",
        (ALBERT, ENCODER | {"d_embed": 16, "layers": 5}),
        {"activation": ACTIVATION, "eps": EPS, "groups": ({"num_hidden_groups": 2}, {"groups": 2})},
    ),
    "electra-small": (
        "ElectraModel",
        (BERT | {"embedding_size": 16}, ENCODER | {"d_embed": 16}),
        {"activation": ACTIVATION, "eps": EPS},
    ),
    "deberta-v3-base": (
        "DebertaV2Model",
        (BERT | DISENTANGLED, ENCODER | {"buckets": 4, "position_norm": False, "share_projections": False}),
        {
            "activation": ACTIVATION,
            "eps": EPS,
            "padding": ({"conv_kernel_size": 3, "conv_groups": 2}, {"conv_kernel": 3, "conv_groups": 2}),
        },
    ),
    "bigbird-roberta-base": (
        "BigBirdModel",
        (BERT | {"attention_type": "original_full"}, ENCODER | {"attention_type": "original_full"}),
        {"activation": ACTIVATION, "eps": EPS, "biases": ({"use_bias": False}, {"attention_bias": False})},
    ),
    "bart-base": (
        "BartForConditionalGeneration",
        (BART | {"max_position_embeddings": 16}, BOTH | LAYERS | {"max_length": 16}),
        {**DECODER, "scaled": ({"scale_embedding": True}, {"scaled": True})},
    ),
    "opus-mt-en-de": (
        "MarianMTModel",
        (
            BART | {"max_position_embeddings": 16, "scale_embedding": True, "activation_function": "silu"},
            BOTH | LAYERS | {"max_length": 16},
        ),
        {**DECODER, "unscaled": ({"scale_embedding": False}, {"scaled": False})},
    ),
    "whisper-tiny": (
        "WhisperForConditionalGeneration",
        (
            BART | {"num_mel_bins": 8, "max_source_positions": 7, "max_target_positions": 16},
            {key: value for key, value in (BOTH | LAYERS).items() if key != "source"}
            | {"frames": 14, "mel_bins": 8, "max_length": 16},
        ),
        {
            **DECODER,
            "untied": ({"tie_word_embeddings": False}, {"tied": False}),
        },
    ),
    "t5-small": (
        "T5ForConditionalGeneration",
        (T5, BOTH | LAYERS | {"head_dim": 6, "d_ff": 24}),
        {
            "gated": (
                {"feed_forward_proj": "gated-silu"},
                {"gated": True, "activation": "silu"},
            ),
            "eps": ({"layer_norm_epsilon": 0.1}, {"eps": 0.1}),
            "padding": ({}, {"padding_mask": True}),
        },
    ),
    "switch-base-8": (
        "SwitchTransformersForConditionalGeneration",
        (
            T5
            | {"num_layers": 4, "num_decoder_layers": 2, "num_sparse_encoder_layers": 2, "num_sparse_decoder_layers": 1}
            | {"num_experts": 3, "expert_capacity": 4, "pad_token_id": 0},
            BOTH | {"encoder_layers": 4, "decoder_layers": 2, "head_dim": 6, "d_ff": 24, "experts": 3, "capacity": 4},
        ),
        {
            "activation": ({"dense_act_fn": "gelu"}, {"activation": "gelu"}),
            "eps": ({"layer_norm_epsilon": 0.1}, {"eps": 0.1}),
        },
    ),
    "vilt-b32": (
        "ViltModel",
        (
            BERT | {"image_size": 32, "patch_size": 16},
            {key: value for key, value in ENCODER.items() if key != "length"}
            | {"length": 9, "height": 32, "width": 32, "patch": 16, "grid": 2},
        ),
        {"activation": ACTIVATION, "eps": EPS, "biases": ({"qkv_bias": False}, {"attention_bias": False})},
    ),
    "mamba-130m": (
        "MambaForCausalLM",
        (
            {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
            {"batch": 2, "length": 9, "vocab": 40, "d_model": 32, "layers": 2, "state": 4},
        ),
        {
            "sizes": ({"expand": 3, "conv_kernel": 3}, {"expand": 3, "kernel": 3}),
            "biases": ({"use_bias": True, "use_conv_bias": False}, {"bias": True, "conv_bias": False}),
            "eps": ({"layer_norm_epsilon": 0.1}, {"eps": 0.1}),
            "untied": ({"tie_word_embeddings": False}, {"tied": False}),
        },
    ),
}
#: Networks whose outputs torch itself computes in float32 with larger errors than the tolerance.
IN_DOUBLE = {"distilbert-base"}
CASES = [(spec, change) for spec, (_, _, changes) in FAMILIES.items() for change in changes]


@pytest.mark.parametrize(("spec", "change"), CASES)
def test_outputs_equal_transformers(spec: str, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if spec == "vilt-b32":  # patches keep their order
        monkeypatch.setattr(torch, "multinomial", lambda weights, count, **_: torch.arange(count))
    kind, base, changes = FAMILIES[spec]
    config, settings = ({**one, **other} for one, other in zip(base, changes[change], strict=True))
    cls = getattr(transformers, kind)
    model = cls(
        cls.config_class(**config, attn_implementation="eager") if "Mamba" not in kind else cls.config_class(**config)
    )
    model, program = model.eval(), built(spec, **settings)
    if spec in IN_DOUBLE:
        model, program = model.double(), in_double(spec, **settings)
    rng = np.random.default_rng(0)
    state = {k: v for k, v in [*model.named_parameters(), *model.named_buffers()] if k in model.state_dict()}
    with torch.no_grad():
        for name, tensor in state.items():
            if tensor.is_floating_point():
                spread = torch.from_numpy(rng.normal(size=tuple(tensor.shape)).astype(np.float32))
                tensor.copy_(1 + spread / 4 if "orm" in name and name.endswith("weight") else spread / 4)
    assert torch_total(program)[0] == sum(p.numel() for p in model.parameters())
    weights = {name: tensor.detach().numpy() for name, tensor in state.items()}
    report = check_weights(program, weights)
    assert report.ok, report.mismatches
    inputs = {declared.name: _drawn(declared, change, rng) for declared in program.inputs}
    seen = inputs.get("decoder_attention_mask", inputs.get("attention_mask"))
    outputs = forward(program, inputs, weights=weights).outputs
    with torch.no_grad():
        expected = model(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    for name, actual in outputs.items():
        array = expected[name].numpy()
        if change == "padding" and actual.ndim == 3 and seen is not None:
            actual, array = actual[seen == 1], array[seen == 1]
        np.testing.assert_allclose(actual, array, rtol=0, atol=1e-5 * np.abs(array).max(), err_msg=name)


def _drawn(declared: Any, change: str, rng: np.random.Generator) -> np.ndarray:
    shape, name = declared.type.shape, declared.name
    if name.endswith("mask"):
        array = np.ones(shape, np.int64)
        if change == "padding":
            array[0, :2] = 0
            array[1, 4:] = 0
        return array
    if declared.type.is_float:
        return rng.normal(size=shape).astype(declared.type.dtype)
    # ids above those of padding and of the start
    return rng.integers(3 if declared.high > 3 else 0, int(declared.high), shape)


@pytest.mark.parametrize("global_tokens", [1, 3])
def test_longformer_with_padding(global_tokens: int) -> None:
    """Rows of padding are equal too; 21 tokens are no multiple of the window."""
    config = transformers.LongformerConfig(
        **BERT | {"max_position_embeddings": 34, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        attention_window=8,
        pad_token_id=1,
    )
    model = transformers.LongformerModel(config).eval()
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            spread = torch.from_numpy(rng.normal(size=tuple(tensor.shape)).astype(np.float32))
            tensor.copy_(1 + spread / 4 if "orm" in name and name.endswith("weight") else spread / 4)
    ids, seen = rng.integers(3, 40, (2, 21)), np.ones((2, 21), np.int64)
    ids[1, 13:], seen[1, 13:] = 1, 0
    inputs = {"input_ids": ids, "attention_mask": seen}
    far = torch.zeros(2, 21, dtype=torch.int64)
    far[:, :global_tokens] = 1
    with torch.no_grad():
        expected = model(**{name: torch.from_numpy(a) for name, a in inputs.items()}, global_attention_mask=far)
    settings = ENCODER | {"length": 21, "max_length": 34, "window": 8, "global_tokens": global_tokens}
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for name, actual in forward(built("longformer-base-4096", **settings), inputs, weights=weights).outputs.items():
        array = expected[name].numpy()
        np.testing.assert_allclose(actual, array, rtol=0, atol=1e-5 * np.abs(array).max(), err_msg=name)
