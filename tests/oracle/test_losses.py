"""Losses of small versions of the shipped networks against those that transformers computes from labels."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from netcalc.engine.run import forward  # noqa: E402
from netcalc.ir import Program  # noqa: E402
from netcalc.ir.loss import with_loss  # noqa: E402
from tests.oracle.checkpoints.harness import drawn_inputs, transformers_model  # noqa: E402
from tests.oracle.checkpoints.model import Model  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402
from tests.zoo.harness import built  # noqa: E402

#: Inputs of losses under the names of transformers.
_NAMES = {"label": "labels", "start": "start_positions", "end": "end_positions"}
#: Models whose loss transformers does not compute, or not by what the source says, and why.
_NONE = {
    "deit-base-distilled": "the model for training with a teacher returns no loss",
}


def labels_of(program: Program) -> dict[str, np.ndarray]:
    """Return labels for the inputs of the loss; some positions have none."""
    assert program.loss is not None
    rng, found = np.random.default_rng(2), dict[str, np.ndarray]()
    for spec in program.loss().inputs:
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
    return [
        spec for spec, case in TRANSFORMERS_MODELS.items() if spec not in _NONE and built(spec, **case.settings).loss
    ]


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
    model, program = transformers_model(case), built(spec, **case.settings)
    assert not program.inputs or {"labels", "return_loss"} & {*inspect.signature(model.forward).parameters}
    inputs = drawn_inputs(program) | {name: np.array(value) for name, value in case.values.items()}
    labels = labels_of(program)
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    ours = forward(with_loss(program), inputs | labels, weights=state).outputs["loss"]
    assert float(ours) == pytest.approx(their_loss(case, model, inputs, labels), rel=2e-5)
