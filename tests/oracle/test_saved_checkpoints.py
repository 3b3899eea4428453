"""Files of transformers, torchvision and timm, loaded as they are: the network has the outputs of the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("torchvision")
pytest.importorskip("timm")

from safetensors.torch import save_file  # noqa: E402

from netcalc.engine.run import forward  # noqa: E402
from netcalc.spec.library import shipped  # noqa: E402
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
from tests.oracle.network_flops import DETECTORS, LECTURE_NETWORKS  # noqa: E402
from tests.zoo.harness import SIZES, built, in_double  # noqa: E402

#: Shipped specs whose networks none of these libraries has, so that there is no file to load.
WITHOUT_FILES = {"mlp", "seed_cnn", "gcn", "unet", "unet-padded", "transformer", "transformer-big"}
WITHOUT_FILES |= {f"tutorial-{name}" for name in ("chain", "layer-norm", "residual", "saturation")}
WITHOUT_FILES |= {"alexnet-original", "plain18", "plain34", "rnnsearch-50", "seq2seq-attention"}
WITHOUT_FILES |= LECTURE_NETWORKS | {"vilt-b32-pretraining"}  # transformers has no class with both heads
WITHOUT_FILES |= DETECTORS  # test_faster_rcnn loads their files, with proposals
WITHOUT_FILES |= {f"lstm-lm-ptb-{size}" for size in ("small", "medium", "large")}
#: Networks whose outputs torch itself computes in float32 with errors of half the tolerance and more.
IN_DOUBLE = {"mobilebert", "gemma-3n-e4b-multimodal", "qwen3.5-9b-vision"}


def test_every_shipped_spec_is_covered() -> None:
    covered = [*TRANSFORMERS_MODELS, *TORCH_MODELS, *WITHOUT_FILES, *SIZES]
    assert sorted(covered) == sorted(shipped())


@pytest.fixture(autouse=True)
def _patches_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """ViLT draws the order of its patches, and its outputs have the same order."""
    monkeypatch.setattr(torch, "multinomial", lambda weights, count, **_: torch.arange(count))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spec", TRANSFORMERS_MODELS)
def test_saved_by_transformers(spec: str, tmp_path: Path) -> None:
    """A folder with a file, one with shards and an index, and the names that the tensors have in memory."""
    case = TRANSFORMERS_MODELS[spec]
    model, program = transformers_model(case), built(spec, **case.settings)
    if spec in IN_DOUBLE:
        model, program = model.double(), in_double(spec, **case.settings)
    inputs = drawn_inputs(program) | {name: np.array(value) for name, value in case.values.items()}
    expected = reference_outputs(model, inputs, **case.arguments)
    model.save_pretrained(tmp_path / "file")
    model.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    assert (tmp_path / "shards" / "model.safetensors.index.json").is_file()
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for weights in (tmp_path / "file", tmp_path / "shards", state):
        assert_same_outputs(program, inputs, weights, expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spec", TORCH_MODELS)
def test_state_dicts_of_torchvision_and_timm(spec: str, tmp_path: Path) -> None:
    module, settings = TORCH_MODELS[spec]()
    program = built(spec, **settings)
    inputs = drawn_inputs(program)
    (array,) = inputs.values()
    with torch.no_grad():
        expected = randomise(module)(torch.from_numpy(array)).numpy()
    save_file(module.state_dict(), tmp_path / "model.safetensors")
    actual = forward(program, inputs, weights=tmp_path / "model.safetensors").outputs
    assert_close(next(iter(actual.values())), expected)


@pytest.mark.parametrize("spec", ["mixtral-8x7b", "opus-mt-en-de"])
def test_the_command(spec: str, tmp_path: Path, netcalc: Callable[..., Any]) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model, program = transformers_model(case), built(spec, **case.settings)
    inputs = drawn_inputs(program)
    expected = reference_outputs(model, inputs)
    model.save_pretrained(tmp_path / "model", max_shard_size="20KB")
    arguments = ["run", spec, "--weights", str(tmp_path / "model"), "-o", str(tmp_path / "out.npz")]
    # one process: torch has threads already, beside which no process should be forked
    arguments += ["--plan", "reference", *(f"--set={name}={value}" for name, value in case.settings.items())]
    for name, array in inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    result = netcalc(*arguments)
    assert result.code == 0, result.err
    assert_close(np.load(tmp_path / "out.npz")["logits"], expected["logits"].numpy())
