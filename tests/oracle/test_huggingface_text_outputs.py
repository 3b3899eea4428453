"""Small encoders, and encoders with decoders, that transformers saves: the folder fits and has the model's outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from netcalc.numerics.parameters import check_weights  # noqa: E402
from tests.oracle.checkpoints.harness import assert_close, randomise  # noqa: E402

PAIR = {"vocab_size": 50, "d_model": 24, "max_position_embeddings": 32, "pad_token_id": 7, "num_labels": 3}
for part in ("encoder", "decoder"):
    PAIR |= {f"{part}_layers": 2, f"{part}_attention_heads": 4, f"{part}_ffn_dim": 20}
LED = {name: value for name, value in PAIR.items() if name != "max_position_embeddings"} | {"attention_window": [8, 4]}
ENCODER = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 7}
ENCODER |= {"intermediate_size": 20, "max_position_embeddings": 16}
LABELS = {"num_labels": 3}
TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
DEBERTA = ENCODER | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
BUCKETS = DEBERTA | {"position_buckets": 4, "max_relative_positions": 7}
MOBILE = ENCODER | LABELS | {"embedding_size": 10, "intra_bottleneck_size": 12}
XLNET = {"vocab_size": 50, "d_model": 24, "n_head": 4, "n_layer": 2, "d_inner": 20, "pad_token_id": 7} | LABELS
DISTIL = {
    "max_position_embeddings": 16,
    "vocab_size": 50,
    "dim": 24,
    "n_heads": 4,
    "n_layers": 2,
    "hidden_dim": 20,
    "pad_token_id": 7,
}
MPNET = ENCODER | LABELS | {"pad_token_id": 1}
MODERN = ENCODER | LABELS | {"global_attn_every_n_layers": 2, "local_attention": 4} | TOKENS
ESM = ENCODER | LABELS | {"max_position_embeddings": 20}
NOMIC = ENCODER | LABELS | {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}}

CASES: list[tuple[str, dict[str, Any]]] = [
    ("BartForSequenceClassification", PAIR | {"eos_token_id": 6}),
    ("MBartModel", PAIR | {"scale_embedding": True}),
    ("MBartForSequenceClassification", PAIR | {"eos_token_id": 6}),
    ("PegasusModel", PAIR | {"scale_embedding": True}),
    ("PegasusForConditionalGeneration", PAIR),
    ("M2M100Model", PAIR),
    ("M2M100ForConditionalGeneration", PAIR | {"scale_embedding": False, "tie_word_embeddings": False}),
    *((f"LED{head}", LED) for head in ("Model", "ForConditionalGeneration", "ForQuestionAnswering")),
    ("DebertaV2Model", DEBERTA | {"max_relative_positions": 5, "norm_rel_ebd": "layer_norm"}),
    ("DebertaV2Model", BUCKETS | {"conv_kernel_size": 3, "share_att_key": True}),
    ("DebertaV2Model", ENCODER | {"type_vocab_size": 2}),
    ("DebertaV2ForMaskedLM", BUCKETS | {"legacy": False, "position_biased_input": False}),
    ("DebertaV2ForMaskedLM", BUCKETS | {"embedding_size": 12, "pos_att_type": "c2p"}),
    ("DebertaV2ForSequenceClassification", BUCKETS | LABELS | {"pos_att_type": ["p2c"]}),
    *((f"MobileBert{head}", MOBILE) for head in ("Model", "ForMaskedLM", "ForTokenClassification")),
    ("MobileBertForPreTraining", MOBILE | {"normalization_type": "layer_norm", "use_bottleneck_attention": True}),
    ("MobileBertForSequenceClassification", MOBILE | {"use_bottleneck": False, "trigram_input": False}),
    *((f"XLNet{head}", XLNET) for head in ("Model", "LMHeadModel", "ForTokenClassification")),
    ("XLNetForSequenceClassification", XLNET | {"clamp_len": 3, "summary_type": "mean"}),
    *((f"{name}ForMultipleChoice", MPNET) for name in ("Bert", "Camembert", "MPNet", "Roberta", "XLMRoberta")),
    ("DistilBertForMultipleChoice", DISTIL),
    ("AlbertForMultipleChoice", ENCODER | {"embedding_size": 10}),
    ("MobileBertForMultipleChoice", MOBILE),
    *((f"MPNet{head}", MPNET) for head in ("Model", "ForMaskedLM", "ForSequenceClassification")),
    *((f"ModernBert{head}", MODERN) for head in ("Model", "ForMaskedLM", "ForTokenClassification")),
    ("ModernBertModel", MODERN | {"layer_types": ["sliding_attention"] * 2, "attention_bias": True, "mlp_bias": True}),
    ("ModernBertForQuestionAnswering", MODERN | {"num_labels": 2, "norm_bias": True}),
    ("ModernBertForSequenceClassification", MODERN | {"classifier_pooling": "mean", "classifier_bias": True}),
    *((f"NomicBert{head}", NOMIC) for head in ("Model", "ForMaskedLM")),
    *((f"NomicBertFor{head}Classification", NOMIC | {"head_dim": 4}) for head in ("Sequence", "Token")),
    ("EsmModel", ESM),
    ("EsmForMaskedLM", ESM | {"position_embedding_type": "rotary", "emb_layer_norm_before": True}),
    *(
        (f"EsmFor{head}Classification", ESM | {"token_dropout": True, "mask_token_id": 6})
        for head in ("Sequence", "Token")
    ),
    *((f"DebertaV2For{head}", BUCKETS) for head in ("TokenClassification", "QuestionAnswering")),
]


@pytest.mark.parametrize(("architecture", "fields"), CASES, ids=[name for name, _ in CASES])
def test_outputs_are_those_of_transformers(architecture: str, fields: dict[str, Any], tmp_path: Path) -> None:
    model_class = getattr(transformers, architecture)
    model = randomise(model_class(model_class.config_class(**fields)))
    model.save_pretrained(tmp_path)
    ids = np.random.default_rng(1).integers(8, 50, (2, 9))
    ids[1, 6:] = 7  # padding
    ids[:, 4] = 6  # the end of a text
    inputs, dims = {"input_ids": ids}, {"batch": 2, "length": 9}
    if model.config.is_encoder_decoder:
        inputs, dims = inputs | {"decoder_input_ids": ids[::-1].copy()}, {"batch": 2, "source": 9, "target": 9}
    if architecture.endswith("MultipleChoice"):
        inputs, dims = {"input_ids": ids.reshape(1, 2, 9)}, {"batch": 1, "choices": 2, "length": 9}
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    with torch.no_grad():
        expected = model(**tensors, attention_mask=torch.ones_like(tensors["input_ids"]))
    network = netcalc.load(tmp_path, set=dims)
    report = check_weights(network.program, tmp_path)
    assert report.ok, report.mismatches
    for name, array in network.run(inputs, weights=tmp_path).outputs.items():
        assert_close(array, expected[name].numpy(), name)
