"""Optimal assignment against SciPy, and the losses of DETR and YOLOS against transformers, which calls it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.engine.gradients import gradients
from netcalc.engine.run import RunResult, forward
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


@draws
@given(st.floats(0, 1), st.sampled_from([0.0, 0.5, 2.0]), st.integers(0, 99))
def test_sigmoid_focal_loss(alpha: float, gamma: float, seed: int) -> None:
    torch = pytest.importorskip("torch")
    reference = pytest.importorskip("torchvision.ops").sigmoid_focal_loss
    rng = np.random.default_rng(seed)
    logits, targets = 3 * rng.normal(size=(3, 4)), rng.integers(0, 2, (3, 4)).astype(float)
    block = {"alpha": alpha, "gamma": gamma}
    inputs = {"x": [3, 4], "y": [3, 4]}
    line = {"from": [*inputs], "sigmoid_focal_loss": block}
    net = netcalc.load_data({"netcalc": 1, "dtype": "float64", "inputs": inputs, "layers": [line]})
    found = net.run({"x": logits, "y": targets}).outputs["output"]
    expected = reference(torch.from_numpy(logits), torch.from_numpy(targets), alpha, gamma).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


#: Changed fields of a configuration and the settings that stand for them, by the case.
WEIGHTS: dict[str, float] = {
    "class_cost": 2,
    "bbox_cost": 3,
    "giou_cost": 1,
    "bbox_loss_coefficient": 4,
    "giou_loss_coefficient": 3,
}
WEIGHTS |= {"eos_coefficient": 0.2}
OWN_WEIGHTS = {"class_cost": 2.0, "box_cost": 3.0, "iou_cost": 1.0, "box_loss": 4.0, "iou_loss": 3.0, "no_object": 0.2}
FOCAL = {name: value for name, value in WEIGHTS.items() if name != "eos_coefficient"} | {"focal_alpha": 0.4}
OWN_FOCAL = {name: value for name, value in OWN_WEIGHTS.items() if name != "no_object"} | {"alpha": 0.4}
LAYERS = {"auxiliary_loss": True, "decoder_layers": 3}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "detr": ("detr-resnet-50", {}, {}),
    "detr, weights": ("detr-resnet-50", WEIGHTS, OWN_WEIGHTS),
    "detr, all layers": ("detr-resnet-50", LAYERS, LAYERS),
    "detr, all layers, weights": ("detr-resnet-50", LAYERS | WEIGHTS, LAYERS | OWN_WEIGHTS),
    "detr, the only layer": ("detr-resnet-50", LAYERS | {"decoder_layers": 1}, LAYERS | {"decoder_layers": 1}),
    "conditional": ("conditional-detr-resnet-50", {}, {}),
    "conditional, all layers, weights": ("conditional-detr-resnet-50", LAYERS | FOCAL, LAYERS | OWN_FOCAL),
    "yolos": ("yolos-small", {}, {}),
    "yolos, weights": ("yolos-small", WEIGHTS, OWN_WEIGHTS),
}
#: Parts of a loss by the layer that gives them, and their names in transformers.
PARTS = {"of_classes": "loss_ce", "of_boxes": "loss_bbox", "of_overlap": "loss_giou"}


@pytest.mark.parametrize("name", CASES)
def test_losses_of_detection(name: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.oracle.checkpoints.harness import drawn_inputs, transformers_model
    from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS
    from tests.oracle.network_gradients import by_owner
    from tests.zoo.harness import requested

    spec, fields, settings = CASES[name]
    case = TRANSFORMERS_MODELS[spec]
    case = replace(case, config=case.config | fields, settings=case.settings | settings)
    model = transformers_model(case)
    batch = case.settings["batch"]
    rng, objects = np.random.default_rng(4), 3
    # transformers freezes every stage of its own ResNet, whose names it compares wrongly
    frozen = {"frozen_stages": 4} if "detr" in spec else {}
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
    theirs = model(**tensors, labels=annotations)
    given = inputs | {"labels": labels, "boxes": boxes}
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    program = request.program_with_loss
    patterns = [f"loss*.{part}" for part in PARTS]
    result = forward(program, given, weights=state, trace=patterns, keep=True)
    assert float(result.outputs["loss"]) == pytest.approx(float(theirs.loss.detach()), rel=2e-5)
    others = {name: float(part.detach()) for name, part in theirs.loss_dict.items() if "error" not in name}
    assert parts(result) == pytest.approx(others, rel=2e-5)
    theirs.loss.backward()
    found = gradients(program, given, loss="loss", weights=state).parameters
    expected = {n: np.zeros_like(state[n]) if p.grad is None else p.grad.numpy() for n, p in model.named_parameters()}
    expected = by_owner(program, {**state, **expected})
    largest = max(float(np.abs(gradient).max()) for gradient in found.values())
    assert largest > 0
    for path, gradient in found.items():
        np.testing.assert_allclose(gradient, expected[path], rtol=2e-3, atol=1e-5 * largest, err_msg=path)


def parts(result: RunResult) -> dict[str, float]:
    """Return the parts of a loss under their names in transformers, those of earlier layers with their numbers."""
    named = {}
    for traced in result.trace:
        *around, part = traced.path.split(".")
        number = f"_{around[-1]}" if around[-1].isdecimal() else ""
        assert traced.array is not None
        named[PARTS[part] + number] = float(traced.array)
    return named
