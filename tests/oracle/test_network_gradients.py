"""Gradients of small versions of the shipped networks against transformers, torchvision and timm."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("torchvision")
pytest.importorskip("timm")

from tests.oracle.checkpoints.harness import drawn_inputs, randomise, transformers_model  # noqa: E402
from tests.oracle.checkpoints.torch_models import TORCH_MODELS  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402
from tests.oracle.network_gradients import assert_same_gradients  # noqa: E402
from tests.zoo.harness import built, in_double  # noqa: E402

#: Networks that have no gradient in the reference, and why.
WITHOUT_GRADIENT = {"rwkv-4-169m": "transformers changes its states in place, which autograd refuses"}
#: Networks whose gradients torch itself computes in float32 with larger errors than the tolerance.
IN_DOUBLE = {"resnext101_32x8d"}


#: Networks that amplify the rounding of float32 beyond its tolerance.  In double precision they do not, though their
#: references compute norms in float32.
AMPLIFYING = {"gemma-3n-e4b-multimodal", "gemma-4-e2b-multimodal"}


@pytest.fixture(autouse=True)
def _patches_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """ViLT draws the order of its patches, and its outputs have the same order."""
    monkeypatch.setattr(torch, "multinomial", lambda weights, count, **_: torch.arange(count))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spec", [spec for spec in TRANSFORMERS_MODELS if spec not in WITHOUT_GRADIENT])
def test_transformers(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model, program = transformers_model(case), built(spec, **case.settings)
    if spec in AMPLIFYING:
        monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
        model, program = model.double(), in_double(spec, **case.settings)
    inputs = drawn_inputs(program) | {name: np.array(value) for name, value in case.values.items()}
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    outputs = model(**tensors, **{name: torch.tensor(value) for name, value in case.arguments.items()})
    named = {name: outputs[name] for name in program.output_names}
    assert_same_gradients(program, model, inputs, named, in_single=spec in AMPLIFYING)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spec", TORCH_MODELS)
def test_torchvision_and_timm(spec: str) -> None:
    module, settings = TORCH_MODELS[spec]()
    program = in_double(spec, **settings) if spec in IN_DOUBLE else built(spec, **settings)
    inputs = drawn_inputs(program)
    (array,) = inputs.values()
    output = randomise(module.double() if spec in IN_DOUBLE else module)(torch.from_numpy(array))
    assert_same_gradients(program, module, inputs, {program.output_names[0]: output})
