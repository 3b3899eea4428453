"""Networks on which tools that count are compared with conventions, as their reference implementations build them.

Each has the inputs of the shipped spec at the settings here, in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Reference(NamedTuple):
    """A network in PyTorch: the shipped spec, its settings, and functions that return module and inputs by name."""

    spec: str
    settings: Mapping[str, Any]
    module: Callable[[], Any]
    inputs: Callable[[], Mapping[str, Any]]


def _image(size: int, name: str = "x") -> Mapping[str, Any]:
    import torch

    return {name: torch.zeros(1, 3, size, size)}


def _tokens(*names: str, length: int = 128) -> Mapping[str, Any]:
    import torch

    return {name: torch.zeros(1, length, dtype=torch.int64) for name in names}


def _torchvision(name: str) -> Any:
    from torchvision.models import get_model

    return get_model(name)


def _transformers(cls: str, config: str, **fields: Any) -> Any:
    import transformers

    return getattr(transformers, cls)(getattr(transformers, config)(**fields))


def _unet() -> Any:
    from tests.oracle.test_convolutional_networks import UNet

    return UNet(3, 2, 64)


def _lstm() -> Any:
    from torch import nn

    return nn.LSTM(128, 256, batch_first=True)


def _sequence() -> Mapping[str, Any]:
    import torch

    return {"input": torch.zeros(1, 50, 128)}


_MIXTURE = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
}
#: Networks by name.
NETWORKS: Mapping[str, Reference] = {
    **{
        name: Reference(name, {}, lambda name=name: _torchvision(name), lambda: _image(224))  # type: ignore[misc]
        for name in ("resnet18", "mobilenet_v3_large", "vit_b_16", "swin_t")
    },
    "unet-padded": Reference("unet-padded", {}, _unet, lambda: _image(512)),
    "bert-base": Reference(
        "bert-base", {"length": 128}, lambda: _transformers("BertModel", "BertConfig"), lambda: _tokens("input_ids")
    ),
    "gpt2": Reference(
        "gpt2",
        {"length": 128},
        lambda: _transformers("GPT2LMHeadModel", "GPT2Config", use_cache=False),
        lambda: _tokens("input_ids"),
    ),
    "t5-small": Reference(
        "t5-small",
        {"source": 128, "target": 128},
        lambda: _transformers(
            *("T5ForConditionalGeneration", "T5Config"), d_kv=64, d_ff=2048, num_layers=6, num_heads=8, use_cache=False
        ),
        lambda: _tokens("input_ids", "decoder_input_ids"),
    ),
    "lstm": Reference("lstm", {}, _lstm, _sequence),
    "mixture of experts": Reference(
        "mixtral-8x7b",
        {"length": 128, "vocab": 1000, "d_model": 256, "heads": 8, "kv_heads": 2, "d_ff": 512, "layers": 2},
        lambda: _transformers("MixtralForCausalLM", "MixtralConfig", use_cache=False, **_MIXTURE),
        lambda: _tokens("input_ids"),
    ),
}
