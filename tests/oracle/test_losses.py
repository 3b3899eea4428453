"""Losses of small versions of the shipped networks against those that transformers computes from labels."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from netcalc.engine.gradients import gradients  # noqa: E402
from netcalc.engine.run import forward  # noqa: E402
from netcalc.ir import Loss  # noqa: E402
from tests.oracle.checkpoints.harness import drawn_inputs, transformers_model  # noqa: E402
from tests.oracle.checkpoints.model import Model  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402
from tests.oracle.network_gradients import by_owner  # noqa: E402
from tests.zoo.harness import requested  # noqa: E402

#: Inputs of losses under the names of transformers.
_NAMES = {"label": "labels", "start": "start_positions", "end": "end_positions"}
#: Models whose loss transformers does not compute, or not by what the source says, and why.
_NONE = {
    **dict.fromkeys(
        ("detr-resnet-50", "conditional-detr-resnet-50", "yolos-small"), "test_assignment has objects for them"
    ),
    "deit-base-distilled": "the model for training with a teacher returns no loss",
    "levit-256": "the model for training with a teacher returns no loss",
}


def labels_of(loss: Loss | None) -> dict[str, np.ndarray]:
    """Return labels for the inputs of the loss; some positions have none."""
    assert loss is not None
    rng, found = np.random.default_rng(2), dict[str, np.ndarray]()
    for spec in loss.inputs:
        shape = tuple(int(str(size)) for size in spec.type.shape)
        if spec.type.dtype == "int64":
            assert spec.low is not None and spec.high is not None
            found[spec.name] = rng.integers(int(spec.low), int(spec.high), shape)
            if spec.name == "labels" and len(shape) == 2:
                found[spec.name][:, 1] = -100
        else:
            found[spec.name] = rng.integers(0, 2, shape).astype(np.float32)
    return found


def with_a_loss() -> list[str]:
    """Return the names of the specs that have a loss, and a model that takes labels."""
    return [spec for spec in TRANSFORMERS_MODELS if spec not in _NONE and requested(spec, **settings_of(spec)).loss]


def settings_of(spec: str) -> dict[str, Any]:
    """Return the settings of a small spec; the loss of CLIP is of pairs of an image and a text."""
    settings = TRANSFORMERS_MODELS[spec].settings
    return {**settings, "texts": settings["images"]} if spec.startswith("clip") else settings


def their_loss(case: Model, model: Any, inputs: dict[str, np.ndarray], labels: dict[str, np.ndarray]) -> float:
    given = {name: torch.from_numpy(array) for name, array in inputs.items()}
    given |= {name: torch.tensor(value) for name, value in case.arguments.items()}
    given |= {_NAMES.get(name, name): torch.from_numpy(array) for name, array in labels.items()}
    if not labels:
        given["return_loss"] = True
    with torch.no_grad():
        return float(model(**given).loss)


@pytest.mark.parametrize("spec", with_a_loss())
def test_transformers(spec: str) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model, request = transformers_model(case), requested(spec, **settings_of(spec)).executed
    program = request.program
    assert not program.inputs or {"labels", "return_loss"} & {*inspect.signature(model.forward).parameters}
    inputs = drawn_inputs(program) | {name: np.array(value) for name, value in case.values.items()}
    labels = labels_of(request.loss)
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    ours = forward(request.program_with_loss, inputs | labels, weights=state).outputs["loss"]
    assert float(ours) == pytest.approx(their_loss(case, model, inputs, labels), rel=2e-5)


@pytest.mark.parametrize("spec", ["gpt2", "bert-base-mlm", "t5-small", "beit-base"])
def test_gradients_of_the_loss(spec: str) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model, request = transformers_model(case), requested(spec, **case.settings).executed
    program = request.program
    inputs = drawn_inputs(program) | {name: np.array(value) for name, value in case.values.items()}
    labels = labels_of(request.loss)
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    ours = gradients(request.program_with_loss, inputs | labels, loss="loss", weights=state)
    model(**{name: torch.from_numpy(array) for name, array in (inputs | labels).items()}).loss.backward()
    found = {name: p.grad.numpy() for name, p in model.named_parameters(remove_duplicate=False) if p.grad is not None}
    theirs = by_owner(program, {name: found.get(name, np.zeros_like(array)) for name, array in state.items()})
    largest = max(float(np.abs(theirs[name]).max()) for name in ours.parameters)
    for name, gradient in ours.parameters.items():  # biases before a softmax have a gradient of rounding alone
        scale = max(float(np.abs(theirs[name]).max()), 1e-2 * largest)
        np.testing.assert_allclose(gradient, theirs[name], rtol=0, atol=1e-4 * scale, err_msg=name)
    assert len(ours.parameters) > 10
