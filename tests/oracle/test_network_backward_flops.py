"""FLOPs of both passes of small versions of the shipped networks against those of their references in torch.

The counts of models of full size are recorded in ``tests/zoo``; these are of networks whose references do not run on
the meta device or have no recorded configuration, and of all others too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("torchvision")
pytest.importorskip("timm")

from netcalc.spec.shipped import shipped  # noqa: E402
from tests.oracle.checkpoints.harness import drawn_inputs, randomise, transformers_model  # noqa: E402
from tests.oracle.checkpoints.model import Model  # noqa: E402
from tests.oracle.checkpoints.torch_models import IMAGE, TORCH_MODELS  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402
from tests.oracle.network_flops import DETECTORS, LECTURE_NETWORKS, assert_same_flops  # noqa: E402
from tests.oracle.test_training import CASES, LSTM, MLP, SMALL_TRANSFORMER, SeedCNN, Transformer  # noqa: E402
from tests.zoo import harness  # noqa: E402
from tests.zoo.harness import built  # noqa: E402

nn = torch.nn

#: Networks whose backward pass torch does not run, and why.
NOT_COUNTED = {"rwkv-4-169m": "transformers changes its states in place, which autograd refuses"}
#: Networks written in torch in other modules, which compare these counts too.
ELSEWHERE = {"gcn", "rnnsearch-50", "seq2seq-attention", "unet", "unet-padded", "vilt-b32-pretraining"}
ELSEWHERE |= LECTURE_NETWORKS | DETECTORS

#: Configuration and settings at which a sparse network does exactly its declared work.
SIZES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # with global tokens transformers computes more: overlapping chunks, which are the declared work without them
    "longformer-base-4096": ({}, {"global_tokens": 0}),
    "led-base-16384": ({}, {"global_tokens": 0}),
    # every place of an expert has a token
    "switch-base-8": ({"expert_capacity": 3}, {"capacity": 3, "source": 9, "target": 9}),
    # transformers freezes every stage of its own ResNet, whose names it compares wrongly
    "detr-resnet-50": ({}, {"frozen_stages": 4}),
    "conditional-detr-resnet-50": ({}, {"frozen_stages": 4}),
}


def small_model(spec: str) -> Model:
    """Return the small model of a spec, at sizes at which its work and that of its reference can be compared."""
    case = TRANSFORMERS_MODELS[spec]
    config, settings = SIZES.get(spec, ({}, {}))
    arguments = {} if settings.get("global_tokens") == 0 else case.arguments
    return replace(case, config=case.config | config, settings=case.settings | settings, arguments=arguments)


def evenly(scores: Any, dim: int) -> Any:
    """Choose each expert equally often in a sequence."""
    return (torch.arange(scores.shape[1]) % scores.shape[2]).expand(scores.shape[:2])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spec", [spec for spec in TRANSFORMERS_MODELS if spec not in NOT_COUNTED])
def test_transformers(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = small_model(spec)
    model, program = transformers_model(case), built(spec, **case.settings)
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("batched_mm")  # the counter has no formula for grouped products
    if spec == "switch-base-8":
        monkeypatch.setattr(torch, "argmax", evenly)
    inputs = drawn_inputs(program) | {name: np.array(value) for name, value in case.values.items()}
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    tensors |= {name: torch.tensor(value) for name, value in case.arguments.items()}

    def outputs() -> dict[str, Any]:
        found = model(**tensors)
        return {name: found[name] for name in program.output_names}

    assert_same_flops(program, outputs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spec", TORCH_MODELS)
def test_torchvision_and_timm(spec: str) -> None:
    module, settings = TORCH_MODELS[spec]()
    compare(spec, settings, randomise(module))


class Plain(nn.Module):  # type: ignore[misc, name-defined]
    """A block of two convolutions without a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int = 1, *_: Any, **others: Any) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x: Any) -> Any:
        return self.bn2(self.conv2(self.bn1(self.conv1(x)).relu())).relu()


class Residual(nn.Module):  # type: ignore[misc, name-defined]
    """Linear layers with a residual connection around each."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x).tanh()
        return x


def grouped_alexnet() -> Any:
    """Return AlexNet whose two towers are groups; they see all channels in the third convolution alone."""
    norm = nn.LocalResponseNorm(5, 5e-4, 0.75, 2.0)
    return nn.Sequential(
        *(nn.Conv2d(3, 96, 11, 4), nn.ReLU(), norm, nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(), norm, nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(256, 384, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU()),
        *(nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten()),
        *(nn.Linear(1024, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 10)),
    )


def plain_network() -> Any:
    from torchvision.models.resnet import ResNet

    return ResNet(Plain, [2, 1, 1, 1], num_classes=10)


CHAIN = {"batch": 2, "width": 6, "layers": 3}
TRANSFORMER, LSTM_SIZES = SMALL_TRANSFORMER | {"vocab": 50}, CASES["lstm"].settings | {"vocab": 50}
PLAIN = IMAGE | {"depths": [2, 1, 1, 1]}
#: Settings and references of the networks that no library has.
WRITTEN: dict[str, tuple[dict[str, Any], Any]] = {
    "mlp": (CASES["mlp"].settings, lambda: MLP(12, [16, 8], 10)),
    "seed_cnn": (CASES["seed_cnn"].settings, lambda: SeedCNN(16, 32)),
    "transformer": (TRANSFORMER, lambda: Transformer(50, 16, 24, 2)),
    "transformer-big": (TRANSFORMER, lambda: Transformer(50, 16, 24, 2)),
    **{f"lstm-lm-ptb-{size}": (LSTM_SIZES, lambda: LSTM(50, 8)) for size in ("small", "medium", "large")},
    "plain18": (PLAIN, plain_network),
    "plain34": (PLAIN, plain_network),
    "alexnet-original": ({"batch": 2, "height": 99, "width": 99, "hidden": 24, "classes": 10}, grouped_alexnet),
    "tutorial-chain": (CHAIN, lambda: nn.Sequential(*(nn.Sequential(nn.Linear(6, 6), nn.Sigmoid()) for _ in "123"))),
    "tutorial-residual": (CHAIN, lambda: Residual(6, 3)),
}


@pytest.mark.parametrize("spec", WRITTEN)
def test_written_in_torch(spec: str) -> None:
    settings, module = WRITTEN[spec]
    compare(spec, settings, module().float().eval())


def compare(spec: str, settings: dict[str, Any], module: Any) -> None:
    """Compare a network of one output with a module that takes its inputs in order."""
    program = built(spec, **settings)
    given = [torch.from_numpy(array) for array in drawn_inputs(program).values()]
    assert_same_flops(program, lambda: {program.output_names[0]: module(*given)})


def test_every_shipped_network_is_compared() -> None:
    here = {*TRANSFORMERS_MODELS, *TORCH_MODELS, *WRITTEN}
    assert set(shipped()) - here - harness.SIZES - ELSEWHERE == {
        "tutorial-layer-norm",
        "tutorial-saturation",
    }  # no matrix products
