"""Random configurations of encoders and of encoder–decoders: figures are those of transformers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees, ids, images

torch = pytest.importorskip("torch")

HEADS = ["Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]


@st.composite
def bert(draw: st.DrawFn, architecture: str, **more: Any) -> dict[str, Any]:
    """Draw fields that most encoders have."""
    heads = draw(st.integers(1, 4))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * draw(st.integers(1, 8)),
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": heads,
        "intermediate_size": draw(st.integers(1, 40)),
        "hidden_act": draw(st.sampled_from(["gelu", "gelu_new", "relu"])),
        "max_position_embeddings": draw(st.integers(12, 20)),
        "type_vocab_size": draw(st.integers(1, 3)),
        "tie_word_embeddings": draw(st.booleans()),
        "num_labels": 2 if architecture.endswith("QuestionAnswering") else draw(st.integers(1, 5)),
    } | {name: draw(strategy) for name, strategy in more.items()}


def check_encoder(data: st.DataObject, name: str, heads: list[str], **more: Any) -> None:
    """Assert agreement for a drawn architecture and configuration, and drawn sizes of the input."""
    architecture = name + data.draw(st.sampled_from(heads))
    fields = data.draw(bert(architecture, **more))
    batch, length = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(batch, length)}, {"batch": batch, "length": length})


@draws
@given(st.data())
def test_bert(data: st.DataObject) -> None:
    check_encoder(data, "Bert", [*HEADS, "ForPreTraining", "ForNextSentencePrediction"])


@draws
@given(st.data())
def test_roberta(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["Roberta", "Camembert", "XLMRoberta"]))
    check_encoder(data, name, HEADS, pad_token_id=st.integers(0, 2))


@draws
@given(st.data())
def test_multiple_choice(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["Albert", "Bert", "Camembert", "MPNet", "MobileBert", "Roberta", "XLMRoberta"]))
    architecture = f"{name}ForMultipleChoice"
    fields = data.draw(bert(architecture)) | {"pad_token_id": 1}
    if name == "MPNet":
        del fields["type_vocab_size"]
    if name == "MobileBert":
        fields["intra_bottleneck_size"] = fields["num_attention_heads"]
    limits = {"batch": 2, "choices": 3, "length": 9}
    sizes = {size: data.draw(st.integers(1, limit), size) for size, limit in limits.items()}
    assert_agrees(architecture, fields, {"input_ids": ids(*sizes.values())}, sizes)


@draws
@given(st.data())
def test_fnet(data: st.DataObject) -> None:
    architecture = "FNet" + data.draw(st.sampled_from([*HEADS, "ForPreTraining", "ForNextSentencePrediction"]))
    fields = {name: value for name, value in data.draw(bert(architecture)).items() if name != "num_attention_heads"}
    length = data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(2, length)}, {"batch": 2, "length": length})


@draws
@given(st.data())
def test_big_bird(data: st.DataObject) -> None:
    """A short sequence, and long ones, which may have sparse attention; of the size of heads as for Longformer."""
    heads = ["Model", "ForMaskedLM", "ForPreTraining", "ForSequenceClassification", "ForTokenClassification"]
    architecture = "BigBird" + data.draw(st.sampled_from(heads))
    kinds = {"attention_type": st.sampled_from(["original_full", "block_sparse"]), "use_bias": st.booleans()}
    fields = data.draw(bert(architecture, rescale_embeddings=st.booleans(), **kinds))
    fields |= {"block_size": 2, "num_random_blocks": 1, "max_position_embeddings": 20}
    fields["hidden_size"] *= 2
    length = data.draw(st.sampled_from([5, 14, 16, 20]))
    inputs = {"input_ids": torch.full((1, length), 3)}
    assert_agrees(architecture, fields, inputs, {"length": length}, device="cpu")


@draws
@given(st.data())
def test_longformer(data: st.DataObject) -> None:
    """Heads have two features or more: those of one are multiplied without a matrix product, which is not counted."""
    architecture = "Longformer" + data.draw(st.sampled_from(["Model", "ForMaskedLM", "ForTokenClassification"]))
    fields = data.draw(bert(architecture)) | {"max_position_embeddings": 50}
    fields["hidden_size"] *= 2
    window = data.draw(st.sampled_from([4, 8, 16]))
    each = [data.draw(st.sampled_from([size for size in (4, 8, 16) if size <= window])) for _ in range(3)]
    layers = fields["num_hidden_layers"]
    fields["attention_window"] = data.draw(st.sampled_from([window, [window, *each][:layers]]))
    length = data.draw(st.integers(1, 20))
    inputs = {"input_ids": torch.full((2, length), 3)}
    assert_agrees(architecture, fields, inputs, {"batch": 2, "length": length}, device="cpu")


@draws
@given(st.data())
def test_deberta(data: st.DataObject) -> None:
    """Buckets whose logarithms are defined; a norm, as torch counts no module that takes a parameter."""
    kinds = [None, [], ["c2p"], ["p2c", "c2p"], "p2c|c2p"]
    names = ["relative_attention", "share_att_key", "position_biased_input", "legacy"]
    fields: dict[str, Any] = {name: data.draw(st.booleans(), name) for name in names}
    fields |= {
        "pos_att_type": data.draw(st.sampled_from(kinds)),
        "position_buckets": data.draw(st.sampled_from([-1, 4, 6])),
        "max_relative_positions": data.draw(st.sampled_from([-1, 7])),
        "norm_rel_ebd": "layer_norm" if fields["relative_attention"] else "none",
        "conv_kernel_size": data.draw(st.sampled_from([0, 1, 3])),
        "conv_act": "gelu",
        "type_vocab_size": data.draw(st.integers(0, 2)),
    }
    if fields["legacy"]:  # the other head multiplies by the embedding
        fields["embedding_size"] = data.draw(st.integers(1, 8))
    architecture = "DebertaV2" + data.draw(st.sampled_from(HEADS))
    length = data.draw(st.integers(1, 9))
    drawn = data.draw(bert(architecture))
    assert_agrees(architecture, drawn | fields, {"input_ids": ids(2, length)}, {"batch": 2, "length": length})


@draws
@given(st.data())
def test_mpnet(data: st.DataObject) -> None:
    architecture = "MPNet" + data.draw(st.sampled_from(HEADS))
    fields = {name: value for name, value in data.draw(bert(architecture)).items() if name != "type_vocab_size"}
    length = data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(2, length)}, {"batch": 2, "length": length})


@draws
@given(st.data())
def test_mobilebert(data: st.DataObject) -> None:
    names = ["trigram_input", "use_bottleneck", "use_bottleneck_attention", "classifier_activation"]
    sizes = {"embedding_size": st.integers(1, 4), "num_feedforward_networks": st.integers(1, 3)}
    norms = st.sampled_from(["no_norm", "layer_norm"])
    kinds = {"normalization_type": norms, **dict.fromkeys(names, st.booleans())}
    fields = data.draw(st.fixed_dictionaries(kinds | sizes))
    architecture = "MobileBert" + data.draw(st.sampled_from([*HEADS, "ForPreTraining", "ForNextSentencePrediction"]))
    fields = data.draw(bert(architecture)) | fields
    fields["intra_bottleneck_size"] = fields["num_attention_heads"] * data.draw(st.integers(1, 4))
    fields["hidden_size"] *= 4  # no less than the embedding
    length = data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(2, length)}, {"batch": 2, "length": length})


@draws
@given(st.data())
def test_xlnet(data: st.DataObject) -> None:
    """Heads of two features or more, as for BigBird."""
    heads = [
        "Model",
        "LMHeadModel",
        "ForSequenceClassification",
        "ForTokenClassification",
        "ForQuestionAnsweringSimple",
    ]
    architecture = "XLNet" + data.draw(st.sampled_from(heads))
    drawn = data.draw(bert(architecture))
    names = {"num_attention_heads": "n_head", "num_hidden_layers": "n_layer", "intermediate_size": "d_inner"}
    names |= {"hidden_act": "ff_activation", "vocab_size": "vocab_size", "tie_word_embeddings": "tie_word_embeddings"}
    fields = {name: drawn[other] for other, name in names.items()} | {"d_model": 2 * drawn["hidden_size"]}
    fields |= {"summary_type": data.draw(st.sampled_from(["last", "first", "mean"])), "pad_token_id": 0}
    fields |= {"summary_use_proj": data.draw(st.booleans()), "clamp_len": data.draw(st.sampled_from([-1, 3]))}
    fields["num_labels"] = 2 if architecture.endswith("Simple") else data.draw(st.integers(1, 5))
    length = data.draw(st.integers(2, 9))
    inputs = {"input_ids": torch.full((2, length), 3)}
    assert_agrees(architecture, fields, inputs, {"batch": 2, "length": length}, device="cpu")


@draws
@given(st.data())
def test_modernbert(data: st.DataObject) -> None:
    architecture = "ModernBert" + data.draw(st.sampled_from(HEADS))
    layers = data.draw(st.integers(1, 4))
    names = ["norm_bias", "attention_bias", "mlp_bias", "decoder_bias", "classifier_bias"]
    fields = data.draw(bert(architecture, **dict.fromkeys(names, st.booleans())))
    fields |= {"hidden_size": 2 * fields["hidden_size"], "num_hidden_layers": layers, "pad_token_id": 0}
    fields |= {"hidden_activation": fields.pop("hidden_act"), "local_attention": data.draw(st.integers(2, 8))}
    kinds = st.lists(st.sampled_from(["full_attention", "sliding_attention"]), min_size=layers, max_size=layers)
    every = st.just({}) | st.integers(1, 3).map(lambda number: {"global_attn_every_n_layers": number})
    fields |= data.draw(every | kinds.map(lambda names: {"layer_types": names}))
    fields["classifier_pooling"] = data.draw(st.sampled_from(["cls", "mean"]))
    del fields["type_vocab_size"]
    length = data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(2, length)}, {"batch": 2, "length": length})


@draws
@given(st.data())
def test_esm(data: st.DataObject) -> None:
    names = {"hidden_act", "type_vocab_size"}  # which ESM does not have
    architecture = "Esm" + data.draw(st.sampled_from(["Model", *HEADS[1:4]]))
    flags = dict.fromkeys(["emb_layer_norm_before", "token_dropout"], st.booleans())
    drawn = data.draw(bert(architecture, position_embedding_type=st.sampled_from(["absolute", "rotary"]), **flags))
    fields = {name: value for name, value in drawn.items() if name not in names}
    fields |= {"hidden_size": 2 * fields["hidden_size"], "pad_token_id": 1, "mask_token_id": 2}
    length = data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(2, length)}, {"batch": 2, "length": length})


@draws
@given(st.data())
def test_nomic_bert(data: st.DataObject) -> None:
    architecture = "NomicBert" + data.draw(st.sampled_from(["Model", *HEADS[1:4]]))
    drawn = data.draw(bert(architecture, head_dim=st.sampled_from([None, 2, 6])))
    scaled = {"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0}
    fields = drawn | {
        "hidden_size": 2 * drawn["hidden_size"],
        "rope_parameters": data.draw(st.sampled_from([None, scaled])),
    }
    length = data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(2, length)}, {"batch": 2, "length": length})


@draws
@given(st.data())
def test_albert(data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, 3))
    sizes = {"num_hidden_layers": st.integers(groups, 5), "inner_group_num": st.integers(1, 2)}
    sizes |= {"num_hidden_groups": st.just(groups), "embedding_size": st.integers(1, 8)}
    check_encoder(data, "Albert", [*HEADS, "ForPreTraining"], **sizes)


@draws
@given(st.data())
def test_electra(data: st.DataObject) -> None:
    check_encoder(data, "Electra", [*HEADS, "ForPreTraining"], embedding_size=st.sampled_from([4, 8]))


@draws
@given(st.data())
def test_distilbert(data: st.DataObject) -> None:
    architecture = "DistilBert" + data.draw(st.sampled_from(HEADS))
    drawn = data.draw(bert(architecture, sinusoidal_pos_embds=st.booleans()))
    renamed = {"intermediate_size": "hidden_dim", "hidden_act": "activation"}
    fields = {renamed.get(name, name): value for name, value in drawn.items() if name != "type_vocab_size"}
    length = data.draw(st.integers(1, 9))
    assert_agrees(architecture, fields, {"input_ids": ids(1, length)}, {"length": length})


@st.composite
def bart(draw: st.DrawFn, **more: Any) -> dict[str, Any]:
    """Draw fields that encoder–decoders with BART's layers have."""
    heads, decoder_heads = draw(st.sampled_from([(1, 1), (2, 1), (2, 4), (3, 2)]))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "pad_token_id": 1,
        "d_model": heads * decoder_heads * draw(st.sampled_from([2, 4])),
        "encoder_layers": draw(st.integers(1, 3)),
        "encoder_attention_heads": heads,
        "encoder_ffn_dim": draw(st.integers(1, 40)),
        "decoder_layers": draw(st.integers(1, 3)),
        "decoder_attention_heads": decoder_heads,
        "decoder_ffn_dim": draw(st.integers(1, 40)),
        "activation_function": draw(st.sampled_from(["gelu", "relu", "swish"])),
        "scale_embedding": draw(st.booleans()),
        "tie_word_embeddings": draw(st.booleans()),
    } | {name: draw(strategy) for name, strategy in more.items()}


SEQUENCES = {"input_ids": "source", "decoder_input_ids": "target"}


def check_pair(data: st.DataObject, architecture: str, fields: dict[str, Any]) -> None:
    """Assert agreement for sequences of drawn lengths."""
    dims = {
        name: data.draw(st.integers(1, limit), name) for name, limit in [("batch", 2), ("source", 9), ("target", 9)]
    }
    batch, source, target = dims.values()
    inputs = {"input_ids": ids(batch, source), "decoder_input_ids": ids(batch, target)}
    assert_agrees(architecture, fields, inputs, dims)


@draws
@given(st.data())
def test_bart(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["Bart", "MBart"]))
    architecture = name + data.draw(st.sampled_from(["Model", "ForConditionalGeneration", "ForQuestionAnswering"]))
    fields = data.draw(bart(max_position_embeddings=st.integers(9, 20)))
    check_pair(data, architecture, fields)


@draws
@given(st.data())
def test_texts_classified_by_bart(data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(["BartForSequenceClassification", "MBartForSequenceClassification"]))
    fields = data.draw(bart(num_labels=st.integers(1, 5), eos_token_id=st.integers(2, 7)))
    batch, length = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 9))
    inputs = dict.fromkeys(["input_ids", "decoder_input_ids"], torch.full((batch, length), fields["eos_token_id"]))
    assert_agrees(architecture, fields, inputs, {"batch": batch, "source": length, "target": length}, device="cpu")


@draws
@given(st.data())
def test_pegasus_and_m2m_100(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["Pegasus", "M2M100"]))
    architecture = name + data.draw(st.sampled_from(["Model", "ForConditionalGeneration"]))
    fields = data.draw(bart(max_position_embeddings=st.integers(9, 20)))
    check_pair(data, architecture, fields | {"d_model": 2 * fields["d_model"]})


@draws
@given(st.data())
def test_marian(data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(["MarianModel", "MarianMTModel"]))
    fields = data.draw(bart(max_position_embeddings=st.integers(9, 20)))
    if data.draw(st.booleans(), "separate embeddings"):
        fields |= {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": data.draw(st.integers(8, 40))}
    check_pair(data, architecture, fields)


@draws
@given(st.data())
def test_led(data: st.DataObject) -> None:
    """Windows as in Longformer; a position for each token with which the source is padded."""
    architecture = "LED" + data.draw(st.sampled_from(["Model", "ForConditionalGeneration", "ForQuestionAnswering"]))
    fields = {name: value for name, value in data.draw(bart()).items() if name != "scale_embedding"}
    fields["max_encoder_position_embeddings"] = 48
    window = data.draw(st.sampled_from([4, 8, 16]))
    fields["attention_window"] = data.draw(st.sampled_from([window, [window, 4, 4][: fields["encoder_layers"]]]))
    dims = {"batch": data.draw(st.integers(1, 2)), "source": data.draw(st.integers(1, 20)), "target": 5}
    inputs = {name: torch.full((dims["batch"], dims[size]), 3) for name, size in SEQUENCES.items()}
    assert_agrees(architecture, fields, inputs, dims, device="cpu")


@draws
@given(st.data())
def test_t5(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["T5", "MT5"]))
    architecture = name + data.draw(st.sampled_from(["Model", "ForConditionalGeneration", "EncoderModel"]))
    forms = ["relu", "gelu", "gelu_new", "silu", "gated-gelu", "gated-silu", "gated-relu"]
    fields = {
        "vocab_size": data.draw(st.integers(8, 40)),
        "d_model": data.draw(st.integers(1, 16)),
        "d_kv": data.draw(st.integers(1, 8)),
        "d_ff": data.draw(st.integers(1, 40)),
        "num_layers": data.draw(st.integers(1, 3)),
        "num_decoder_layers": data.draw(st.sampled_from([None, 1, 2])),
        "num_heads": data.draw(st.integers(1, 4)),
        "relative_attention_num_buckets": data.draw(st.sampled_from([4, 8])),
        "relative_attention_max_distance": data.draw(st.integers(8, 20)),
        "feed_forward_proj": data.draw(st.sampled_from(forms)),
        "tie_word_embeddings": data.draw(st.booleans()),
    }
    if architecture.endswith("EncoderModel"):
        length = data.draw(st.integers(1, 9))
        assert_agrees(architecture, fields, {"input_ids": ids(2, length)}, {"batch": 2, "source": length})
    else:
        check_pair(data, architecture, fields)


@draws
@given(st.data())
def test_whisper(data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(["WhisperModel", "WhisperForConditionalGeneration"]))
    fields = data.draw(bart(num_mel_bins=st.integers(1, 8), max_source_positions=st.integers(1, 9)))
    fields |= {"max_target_positions": 9, "eos_token_id": 1, "bos_token_id": 1, "decoder_start_token_id": 1}
    frames, target = 2 * fields["max_source_positions"], data.draw(st.integers(1, 9))
    inputs = {"input_features": images(2, fields["num_mel_bins"], frames), "decoder_input_ids": ids(2, target)}
    assert_agrees(architecture, fields, inputs, {"batch": 2, "frames": frames, "target": target})
