"""Files as they were released, whose names differ from those that the current versions of the libraries write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("torchvision")
pytest.importorskip("timm")

from netcalc.engine.run import forward  # noqa: E402
from tests.oracle.checkpoints.harness import (  # noqa: E402
    assert_close,
    assert_same_outputs,
    drawn_inputs,
    randomise,
    reference_outputs,
    transformers_model,
)
from tests.oracle.checkpoints.torch_models import TORCH_MODELS  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402
from tests.zoo.harness import built  # noqa: E402

Tensors: TypeAlias = dict[str, np.ndarray]
Change: TypeAlias = Callable[[Tensors], Tensors]


def adding(*names: str) -> Change:
    """Tensors that the network does not use."""
    return lambda tensors: tensors | {name: np.zeros((1, 1, 4, 4), np.float32) for name in names}


def inside(prefix: str, *heads: str) -> Change:
    """The file of a larger model, with tensors of its heads."""
    return lambda tensors: adding(*heads)({f"{prefix}.{name}": tensor for name, tensor in tensors.items()})


def outside(prefix: str, *unused: str) -> Change:
    """The file of the base model alone."""
    return lambda tensors: adding(*unused)({n.removeprefix(f"{prefix}."): tensor for n, tensor in tensors.items()})


def renaming(*patterns: tuple[str, str | Callable[[re.Match[str]], str]]) -> Change:
    """Other names, by regular expressions."""

    def renamed(name: str) -> str:
        for pattern, replacement in patterns:
            name = re.sub(pattern, replacement, name)
        return name

    return lambda tensors: {renamed(name): tensor for name, tensor in tensors.items()}


def both(first: Change, second: Change) -> Change:
    return lambda tensors: second(first(tensors))


def without(*names: str) -> Change:
    return lambda tensors: {name: tensor for name, tensor in tensors.items() if name not in names}


#: TensorFlow's names of scale and shift, in which BERT was released
GAMMA = renaming(("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))
TIMM = renaming(
    (r"\.o_proj\.", ".out_proj."),
    (r"\.mlp\.fc", ".fc"),
    (r"backbone\.model\.embedder\.embedder\.convolution", "backbone.conv_encoder.model.conv1"),
    (r"backbone\.model\.embedder\.embedder\.normalization", "backbone.conv_encoder.model.bn1"),
    (r"backbone\.model\.encoder\.stages\.0\.layers", "backbone.conv_encoder.model.layer1"),
    (r"backbone\.model\.encoder\.stages\.1\.layers", "backbone.conv_encoder.model.layer2"),
    (r"shortcut\.convolution", "downsample.0"),
    (r"shortcut\.normalization", "downsample.1"),
    (r"layer\.(\d)\.convolution", lambda match: f"conv{int(match[1]) + 1}"),
    (r"layer\.(\d)\.normalization", lambda match: f"bn{int(match[1]) + 1}"),
)
#: The projections of the attentions of Conditional DETR were parts of the layer.
SIDE_BY_SIDE = renaming(
    *(
        (rf"(decoder\.layers\.\d)\.{module}\.{new}_proj", rf"\1.{short}_{old}_proj")
        for module, short in (("self_attn", "sa"), ("encoder_attn", "ca"))
        for new, old in (
            ("q_content", "qcontent"),
            ("q_pos", "qpos"),
            ("k_content", "kcontent"),
            ("k_pos", "kpos"),
            ("v", "v"),
            ("q_pos_sine", "qpos_sine"),
        )
    )
)

#: spec: what its released file has other than the names that its class has in memory.
TRANSFORMERS: dict[str, Change] = {
    "bert-base": both(GAMMA, inside("bert", "cls.predictions.bias", "bert.embeddings.position_ids")),
    "bert-base-mlm": both(GAMMA, adding("cls.seq_relationship.weight", "bert.pooler.dense.weight")),
    "roberta-base": inside("roberta", "lm_head.bias", "roberta.embeddings.position_ids"),
    "roberta-base-mlm": adding("roberta.pooler.dense.bias", "roberta.embeddings.position_ids"),
    "distilbert-base": inside("distilbert", "vocab_transform.weight"),
    "albert-base": inside("albert", "predictions.bias"),
    "electra-small": inside("electra", "discriminator_predictions.dense.weight"),
    "electra-small-discriminator": adding("electra.embeddings.position_ids"),
    "longformer-base-4096": inside("longformer", "lm_head.bias"),
    "bigbird-roberta-base": inside("bert", "cls.predictions.bias"),
    "vilt-b32": inside("vilt", "rank_output.weight"),
    "vilt-b32-mlm": renaming((r"mlm_score\.decoder\.bias", "mlm_score.bias")),
    "gpt1": outside("transformer", "h.0.attn.bias"),
    "gpt2": outside("transformer", "h.0.attn.bias", "h.1.attn.masked_bias"),
    "gpt-j-6b": adding("transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"),
    "pythia-70m": adding(*(f"gpt_neox.layers.0.attention.{n}" for n in ("bias", "masked_bias", "rotary_emb.inv_freq"))),
    "bloom-560m": outside("transformer"),
    "falcon-7b": adding("transformer.h.0.self_attention.rotary_emb.inv_freq"),
    "opt-125m": outside("model"),
    "llama-2-7b": adding("model.layers.0.self_attn.rotary_emb.inv_freq"),
    "deepseek-v3": adding("model.layers.61.eh_proj.weight"),
    "mamba-130m": renaming((r"backbone\.embeddings", "backbone.embedding")),
    "bart-base": both(without("model.shared.weight", "final_logits_bias"), outside("model")),
    "opus-mt-en-de": without("model.shared.weight"),
    "t5-small": both(
        without("shared.weight"),
        adding("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"),
    ),
    "clip-vit-base-patch32": adding("text_model.embeddings.position_ids", "vision_model.embeddings.position_ids"),
    "detr-resnet-50": TIMM,
    "conditional-detr-resnet-50": both(TIMM, SIDE_BY_SIDE),
}
TORCHVISION: dict[str, Change] = {
    "densenet121": renaming((r"(denselayer\d+)\.(norm|conv)(\d)", r"\1.\2.\3")),
    "vit_b_16": renaming((r"mlp\.0", "mlp.linear_1"), (r"mlp\.3", "mlp.linear_2")),
}


@pytest.fixture(autouse=True)
def _patches_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """ViLT draws the order of its patches, and its outputs have the same order."""
    monkeypatch.setattr(torch, "multinomial", lambda weights, count, **_: torch.arange(count))


@pytest.mark.parametrize("spec", TRANSFORMERS)
def test_names_of_transformers(spec: str) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model, program = transformers_model(case), built(spec, **case.settings)
    inputs = drawn_inputs(program)
    weights = TRANSFORMERS[spec](_state(model))
    if spec == "bart-base":  # zeros, which released files do not have
        model.final_logits_bias.zero_()
    assert_same_outputs(program, inputs, weights, reference_outputs(model, inputs, **case.arguments))


@pytest.mark.parametrize("spec", TORCHVISION)
def test_names_of_torchvision(spec: str) -> None:
    module, settings = TORCH_MODELS[spec]()
    program = built(spec, **settings)
    inputs = drawn_inputs(program)
    with torch.no_grad():
        expected = randomise(module)(torch.from_numpy(inputs["image"])).numpy()
    weights = TORCHVISION[spec](_state(module))
    assert_close(next(iter(forward(program, inputs, weights=weights).outputs.values())), expected)


def _state(module: Any) -> Tensors:
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}
