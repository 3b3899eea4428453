"""Networks of all kinds with their references, and what PyTorch keeps of a forward pass for the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import transformers
from torchvision.models.swin_transformer import SwinTransformer

from netcalc.analysis.saved import saved_bytes, saved_tensors
from netcalc.loading import load
from netcalc.options import AttentionKernel, Mode
from tests.oracle.checkpoints.harness import drawn_inputs
from tests.oracle.checkpoints.torch_models import TORCH_MODELS
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS
from tests.oracle.test_convolutional_networks import UNet
from tests.oracle.test_training import LSTM, MLP

#: Positions at the end of a text that are padding.
_PADDED = 2

OF_TORCH = ("resnet18", "mobilenet_v2", "efficientnet_b0", "densenet121", "convnext_tiny", "vit_b_16", "mixer_b16")
RECURRENT = ("rnn", "gru", "lstm")
OF_TRANSFORMERS = (
    *("bert-base", "roberta-base", "distilbert-base", "gpt2", "opt-125m", "llama-3-8b", "qwen2-7b", "qwen3-8b"),
    *("mistral-7b", "gemma-2b", "t5-small", "bart-base", "mixtral-8x7b"),
)
#: The attention of transformers by kernel.
IMPLEMENTATIONS: Mapping[AttentionKernel, str] = {"eager": "eager", "sdpa-cpu": "sdpa"}


@dataclass(frozen=True)
class Case:
    """A spec at small sizes, its reference, and inputs of the reference that the spec does not draw."""

    spec: str
    settings: Mapping[str, Any]
    reference: Callable[[], Any]
    mode: Mode = "train"
    attention: AttentionKernel = "sdpa-cpu"
    further: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.spec}, {self.mode}, {self.attention}"


def cases() -> Iterator[Case]:
    for spec in (*OF_TORCH, *RECURRENT):
        yield Case(spec, TORCH_MODELS[spec]()[1], lambda spec=spec: TORCH_MODELS[spec]()[0])
    yield _swin()
    yield Case(
        "unet-padded",
        {"channels": 4, "batch": 2, "height": 48, "width": 64},
        lambda: UNet(3, 2, 4).requires_grad_(True),
    )
    yield Case("mlp", {"batch": 4, "features": 12, "hidden": [16, 8]}, lambda: MLP(12, [16, 8], 10))
    words = {"vocab": 60, "hidden": 16, "batch": 3, "length": 9}
    yield Case("lstm-lm-ptb-small", words, lambda: LSTM(60, 16))
    for spec in OF_TRANSFORMERS:
        for mode in ("eval", "train"):
            for attention in IMPLEMENTATIONS:
                yield _of_transformers(spec, mode, attention)
    yield _of_transformers("mamba-130m", "eval", "eager")


def _swin() -> Case:
    sizes = {"batch": 2, "height": 40, "width": 28, "d_model": 16, "depths": [2, 2], "heads": [2, 4]}
    return Case(
        "swin_t",
        sizes | {"window": 3, "classes": 10},
        lambda: SwinTransformer([4, 4], 16, [2, 2], [2, 4], [3, 3], num_classes=10, stochastic_depth_prob=0.0),
    )


def _of_transformers(spec: str, mode: Mode, attention: AttentionKernel) -> Case:
    model = TRANSFORMERS_MODELS[spec]
    kind = getattr(transformers, model.kind)

    def reference() -> Any:
        config = kind.config_class(**model.config, attn_implementation=IMPLEMENTATIONS[attention])
        config.use_cache = False
        return kind(config)

    return Case(spec, model.settings, reference, mode, attention, model.arguments)


CASES = {case.name: case for case in cases()}


def kept_by_netcalc(case: Case) -> int:
    """Return the same by the spec, without its loss."""
    program = load(case.spec, set=case.settings, dtype="float32", mode=case.mode).program
    return saved_bytes(saved_tensors(program, "eager", case.attention))


def kept_by_torch(case: Case, precision: AbstractContextManager[Any] | None = None) -> int:
    """Return the bytes of the distinct storages that autograd keeps, those of parameters and buffers left out.

    ``precision`` is the context of the forward pass, such as ``torch.autocast``.
    """
    torch.manual_seed(0)
    module = case.reference().train(case.mode == "train")
    inputs = reference_inputs(case)
    given = {tensor.untyped_storage().data_ptr() for tensor in (*module.parameters(), *module.buffers())}
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in given:
            kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), precision or nullcontext():
        output = called(case, module, inputs)
    del output
    return sum(storage.nbytes() for storage in kept.values())


def called(case: Case, module: Any, inputs: dict[str, Any]) -> Any:
    """Return the output of the reference."""
    of_transformers = case.spec in TRANSFORMERS_MODELS
    return module(**inputs, **case.further) if of_transformers else module(*inputs.values())


def reference_inputs(case: Case) -> dict[str, Any]:
    """Return inputs of the reference."""
    return {name: torch.from_numpy(array) for name, array in _inputs(case).items()}


def _inputs(case: Case) -> dict[str, Any]:
    program = load(case.spec, set=case.settings, dtype="float32").program
    inputs = drawn_inputs(program)
    if "attention_mask" in (spec.name for spec in program.inputs):
        mask = torch.ones_like(torch.from_numpy(inputs["input_ids"]))
        mask[0, -_PADDED:] = 0
        inputs["attention_mask"] = mask.numpy()
    if "token_type_ids" in (spec.name for spec in program.inputs):
        inputs["token_type_ids"] = np.zeros_like(inputs["input_ids"])
    return inputs
