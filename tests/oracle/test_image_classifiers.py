"""Files of libraries other than the one that a spec takes its names from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
timm = pytest.importorskip("timm")

from safetensors.torch import save_file  # noqa: E402

from tests.oracle.checkpoints.harness import (  # noqa: E402
    assert_same_outputs,
    drawn_inputs,
    randomise,
    reference_outputs,
    transformers_model,
)
from tests.oracle.checkpoints.model import Model  # noqa: E402
from tests.zoo.harness import built  # noqa: E402

SIZES = {"batch": 2, "height": 32, "width": 32, "classes": 10}


def _models() -> Iterator[Model]:
    vit = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    vit |= {"image_size": 32, "patch_size": 8, "num_labels": 10, "layer_norm_eps": 1e-12}
    here = SIZES | {"patch": 8, "d_model": 32, "heads": 4, "layers": 2}
    for spec in ("vit_b_16", "deit-base"):
        yield Model(spec, "ViTForImageClassification", vit, here | {"eps": 1e-12})
    swin = {"embed_dim": 8, "depths": [2, 2], "num_heads": [1, 2], "image_size": 32, "window_size": 4}
    here = SIZES | {"d_model": 8, "depths": [2, 2], "heads": [1, 2], "window": 4}
    yield Model("swin_t", "SwinForImageClassification", swin | {"num_labels": 10}, here)
    resnet = {"embedding_size": 64, "depths": [1, 2, 1, 1], "num_labels": 10}
    here = SIZES | {"channels": [16, 24, 32, 40], "depths": [1, 2, 1, 1]}
    # those of transformers are the channels of a bottleneck's output
    channels = {"resnet34": ("basic", [16, 24, 32, 40]), "resnet50": ("bottleneck", [64, 96, 128, 160])}
    for spec, (block, sizes) in channels.items():
        config = resnet | {"layer_type": block, "hidden_sizes": sizes}
        yield Model(spec, "ResNetForImageClassification", config, here)


CLASSIFIERS = {model.spec: model for model in _models()}


@pytest.mark.parametrize("spec", CLASSIFIERS)
def test_saved_by_transformers(spec: str, tmp_path: Path) -> None:
    case = CLASSIFIERS[spec]
    model, program = transformers_model(case), built(spec, **case.settings)
    inputs = drawn_inputs(program)
    model.save_pretrained(tmp_path)
    logits = reference_outputs(model, {"pixel_values": inputs["image"]}).logits
    assert_same_outputs(program, inputs, tmp_path, {"logits": logits, "output": logits})


def test_vision_transformers_of_timm(tmp_path: Path) -> None:
    sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 4, "num_classes": 10}
    model = randomise(timm.models.VisionTransformer(**sizes))
    program = built("vit_b_16", **{**CLASSIFIERS["vit_b_16"].settings, "eps": 1e-6})
    inputs = drawn_inputs(program)
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    with torch.no_grad():
        logits = model(torch.from_numpy(inputs["image"]))
    assert_same_outputs(program, inputs, tmp_path / "model.safetensors", {"logits": logits})
