"""Names of gradients without a checkpoint: those of the parameters of torchvision, timm and transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

import netcalc

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("timm")
transformers = pytest.importorskip("transformers")

from netcalc.engine.gradients import gradients  # noqa: E402
from tests.exhaustive.initializers import OF_CLASSES  # noqa: E402
from tests.oracle.checkpoints.torch_models import TORCH_MODELS  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402
from tests.zoo.harness import built  # noqa: E402

#: Shipped specs whose paths are not all names of the reference, and others.
OF_TORCHVISION = ["convnext_tiny", "vit_b_16", "swin_t", "swin_v2_t", "resnet18", "deit-tiny"]
OF_TRANSFORMERS = [
    "convnextv2-tiny",
    "siglip-base-patch16-224",
    "gpt2",
    "gpt-oss-20b",
    "bert-base",
    "switch-base-8",
    "rtdetr-r50vd",
]


@pytest.mark.parametrize("spec", OF_TORCHVISION)
def test_torchvision_and_timm(spec: str) -> None:
    module, settings = TORCH_MODELS[spec]()
    _assert_names(module, gradients(built(spec, **settings)).tensors)


@pytest.mark.parametrize("spec", OF_TRANSFORMERS)
def test_transformers(spec: str) -> None:
    case = TRANSFORMERS_MODELS[spec]
    kind = getattr(transformers, case.kind)
    module = kind(kind.config_class(**case.config))
    _assert_names(module, gradients(built(spec, **case.settings), loss="sum").tensors)


@pytest.mark.parametrize("kind", ["ViT", "Dinov2", "Swin", "Swinv2"])
def test_configurations_whose_specs_have_other_names(tmp_path: Path, kind: str) -> None:
    """The spec follows another library, with one tensor for queries, keys and values."""
    kind += "ForImageClassification"
    made = getattr(transformers, kind)
    module = made(made.config_class(**OF_CLASSES[kind]))
    module.save_pretrained(tmp_path)
    saved = {name for file in tmp_path.glob("*.safetensors") for name in load_file(file)}
    found = netcalc.load(tmp_path, via="table").gradients(loss="sum").tensors
    assert set(found) <= saved
    assert len(found) >= 0.8 * len(list(module.parameters()))


def _assert_names(module: Any, found: Any) -> None:
    theirs = {name: tuple(p.shape) for name, p in module.named_parameters() if p.requires_grad}
    ours = {name: gradient.shape for name, gradient in found.items()}
    assert ours.items() <= theirs.items()
    assert len(ours) >= 0.8 * len(theirs)  # some have no gradient in a small network
