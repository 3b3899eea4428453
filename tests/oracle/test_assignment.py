"""Optimal assignment against SciPy, and the losses of DETR and YOLOS against transformers, which calls it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.gradients import gradients
from netcalc.engine.run import forward
from netcalc.numerics.kernels import Run
from netcalc.numerics.kernels.assignment import linear_sum_assignment
from netcalc.ops.assignment import LinearSumAssignment
from tests.ops.harness import execute
from tests.oracle.harness import draws

optimize = pytest.importorskip("scipy.optimize")


@draws
@given(st.integers(1, 7), st.integers(1, 7), st.booleans(), st.integers(0, 99), st.sampled_from([0.0, 0.3]))
def test_linear_sum_assignment(rows: int, columns: int, maximize: bool, seed: int, excluded: float) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(2, rows, columns))
    # a diagonal is left, so that there is an assignment
    away = (rng.random(costs.shape) < excluded) & ~np.eye(rows, columns, dtype=bool)
    costs[away] = -np.inf if maximize else np.inf
    own, other = execute("linear_sum_assignment", {"maximize": maximize}, costs).outputs
    for number, matrix in enumerate(costs):
        expected = optimize.linear_sum_assignment(matrix, maximize=maximize)
        np.testing.assert_array_equal(own[number], expected[0])
        np.testing.assert_array_equal(other[number], expected[1])


@given(st.integers(0, 20))
def test_equal_costs_have_an_optimum_too(seed: int) -> None:
    costs = np.random.default_rng(seed).integers(0, 3, (6, 9)).astype(np.float64)
    own, other = linear_sum_assignment(LinearSumAssignment(), Run(), costs)
    assert costs[own, other].sum() == costs[optimize.linear_sum_assignment(costs)].sum()


@pytest.mark.parametrize("spec", ["detr-resnet-50", "yolos-small"])
def test_losses_of_detection(spec: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.oracle.checkpoints.harness import drawn_inputs, transformers_model
    from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS
    from tests.oracle.network_gradients import by_owner
    from tests.zoo.harness import requested

    case = TRANSFORMERS_MODELS[spec]
    model = transformers_model(case)
    batch = case.settings["batch"]
    rng, objects = np.random.default_rng(4), 3
    # transformers freezes every stage of its own ResNet, whose names it compares wrongly
    frozen = {"frozen_stages": 4} if spec == "detr-resnet-50" else {}
    request = requested(spec, **case.settings | frozen | {"objects": objects}).executed
    labels = rng.integers(0, model.config.num_labels, (batch, objects))
    labels[0, 1:] = -100
    boxes = rng.uniform(0.1, 0.9, (batch, objects, 4)).astype(np.float32)
    inputs = drawn_inputs(request.program) | {name: np.array(value) for name, value in case.values.items()}
    annotations: list[dict[str, Any]] = [
        {
            "class_labels": torch.from_numpy(labels[n][labels[n] >= 0]),
            "boxes": torch.from_numpy(boxes[n][labels[n] >= 0]),
        }
        for n in range(batch)
    ]
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    loss = model(**tensors, labels=annotations).loss
    given = inputs | {"labels": labels, "boxes": boxes}
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    program = request.program_with_loss
    ours = forward(program, given, weights=state).outputs["loss"]
    assert float(ours) == pytest.approx(float(loss.detach()), rel=2e-5)
    loss.backward()
    found = gradients(program, given, loss="loss", weights=state).parameters
    theirs = {n: np.zeros_like(state[n]) if p.grad is None else p.grad.numpy() for n, p in model.named_parameters()}
    expected = by_owner(program, {**state, **theirs})
    largest = max(float(np.abs(gradient).max()) for gradient in found.values())
    assert largest > 0
    for path, gradient in found.items():
        np.testing.assert_allclose(gradient, expected[path], rtol=2e-3, atol=1e-5 * largest, err_msg=path)
