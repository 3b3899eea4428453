"""The peak of the activations in PyTorch's eager mode: computed, against tensors that PyTorch allocates."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("transformers")

import transformers  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402
from torchvision import models  # noqa: E402

from netcalc.analysis.activations import activations  # noqa: E402
from netcalc.loading import load  # noqa: E402


class Allocated(TorchDispatchMode):
    """Bytes of the storages that operators return, as long as they are referenced; ``given`` tensors do not count."""

    def __init__(self, given: list[Any]) -> None:
        super().__init__()
        self.given = given
        self.live: dict[int, int] = {tensor.untyped_storage()._cdata: 0 for tensor in given}
        self.now = self.peak = 0

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        outputs = function(*arguments, **(options or {}))
        for tensor in tree_leaves(outputs):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage()._cdata not in self.live:
                storage = tensor.untyped_storage()
                self.live[storage._cdata] = storage.nbytes()
                self.now += storage.nbytes()
                weakref.finalize(storage, self._released, storage._cdata)
                del storage
        self.peak = max(self.peak, self.now)
        return outputs

    def _released(self, key: int) -> None:
        self.now -= self.live.pop(key, 0)


def allocated(model: Any, inputs: dict[str, Any]) -> int:
    """Return the peak bytes of a forward pass in inference, the inputs included."""
    model.eval()
    mode = Allocated([*model.parameters(), *model.buffers(), *inputs.values()])
    with torch.no_grad(), mode:
        model(**inputs)
    return mode.peak + sum(tensor.untyped_storage().nbytes() for tensor in inputs.values())


class Case(NamedTuple):
    """A network and its reference; ``difference`` are the bytes that PyTorch allocates beside what the spec has."""

    build: Callable[[], Any]
    inputs: Callable[[], dict[str, Any]]
    settings: Mapping[str, Any] = {}
    difference: int = 0


LENGTH = 64


def image(size: int = 224) -> dict[str, Any]:
    return {"x": torch.randn(1, 3, size, size)}


def tokens(vocab: int, *names: str) -> dict[str, Any]:
    return {name: torch.randint(0, vocab, (1, LENGTH)) for name in names}


def padded() -> dict[str, Any]:
    mask = torch.ones(1, LENGTH, dtype=torch.int64)
    mask[0, -3:] = 0
    return {"attention_mask": mask}


def bert() -> Any:
    return transformers.BertModel(transformers.BertConfig(num_hidden_layers=3, vocab_size=1000))


def gpt2() -> Any:
    # the kernel of the spec's activation, where the released configuration names a formula of several
    config = transformers.GPT2Config(n_layer=2, activation_function="gelu_pytorch_tanh", use_cache=False)
    return transformers.GPT2LMHeadModel(config)


def llama() -> Any:
    config = transformers.LlamaConfig(
        num_hidden_layers=3,
        vocab_size=1000,
        hidden_size=512,
        intermediate_size=1376,
        num_attention_heads=16,
        num_key_value_heads=4,
        use_cache=False,
    )
    return transformers.LlamaForCausalLM(config)


def t5() -> Any:
    return transformers.T5ForConditionalGeneration(transformers.T5Config(num_layers=2, use_cache=False))


def torchvision_case(name: str) -> Case:
    return Case(lambda: getattr(models, name)(), image)


CASES = {
    **{
        name: torchvision_case(name)
        for name in (
            "alexnet",
            "vgg16",
            "resnet18",
            "resnet50",
            "squeezenet1_0",
            "mobilenet_v2",
            "mobilenet_v3_large",
            "mnasnet1_0",
            "shufflenet_v2_x1_0",
            "efficientnet_b0",
            "regnet_y_400mf",
            "convnext_tiny",
            "vit_b_16",
        )
    },
    "gpt2": Case(gpt2, lambda: tokens(50257, "input_ids"), {"layers": 2, "length": LENGTH}),
    "t5-small": Case(
        t5,
        lambda: {**tokens(32128, "input_ids", "decoder_input_ids"), **padded()},
        {"encoder_layers": 2, "source": LENGTH, "target": LENGTH},
    ),
    "bert-base": Case(
        bert,
        lambda: {**tokens(2, "input_ids", "token_type_ids"), **padded()},
        {"layers": 3, "length": LENGTH, "vocab": 1000},
        # transformers makes a mask of queries and keys of the mask of keys
        LENGTH * LENGTH - LENGTH,
    ),
    "llama-3-8b": Case(
        llama,
        lambda: tokens(1000, "input_ids"),
        {"layers": 3, "length": LENGTH, "vocab": 1000, "d_model": 512, "d_ff": 1376, "heads": 16, "kv_heads": 4},
        # transformers computes positions, cosines and sines once for all layers
        LENGTH * 8 + 2 * LENGTH * (512 // 16) * 4,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_what_torch_allocates(name: str) -> None:
    case = CASES[name]
    predicted = activations(load(name, set=case.settings, dtype="float32").program, "eager")
    torch.manual_seed(0)
    found = allocated(case.build(), case.inputs())
    assert predicted.peak + case.difference == found
    assert case.difference < 0.02 * found


def test_at_least_eight_networks_agree_exactly() -> None:
    assert sum(not case.difference for case in CASES.values()) >= 8
