"""Gradients of all parameters of a network against torch's autograd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from netcalc.analysis.walk import instances
from netcalc.engine.gradients import gradients
from netcalc.ir import Program
from netcalc.numerics.parameters import Parameters

torch = pytest.importorskip("torch")

#: Largest difference by element type, relative to the largest element of a gradient.
TOLERANCE = {"float32": 1e-4, "float64": 1e-7}
#: Share of the largest gradient of the network below which a gradient is rounding: biases before a softmax or a norm.
_NOTHING = {"float32": 1e-6, "float64": 1e-9}


def assert_same_gradients(
    program: Program,
    module: Any,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, Any],
    in_single: bool = False,
) -> None:
    """Assert that the gradients of all parameters are those of torch.

    Args:
        program: the network.
        module: its reference in torch; the gradients are mapped to the network's names as its weights are.
        inputs: the arrays that both were given.
        outputs: the outputs of the reference by name, with their graph.
        in_single: True for a reference that computes a part in single precision, whatever the type of its inputs.
    """
    rng, dtype = np.random.default_rng(5), program.dtype
    allowed = TOLERANCE["float32" if in_single else dtype]
    used = {name: y for name, y in outputs.items() if name in program.output_names and y.requires_grad}
    assert used
    seeds = {name: rng.normal(size=tuple(y.shape)).astype(dtype) for name, y in used.items()}
    parameters = dict(module.named_parameters(remove_duplicate=False))
    trained = {name: p for name, p in parameters.items() if p.requires_grad}
    found = torch.autograd.grad(
        list(used.values()), list(trained.values()), [torch.from_numpy(seeds[name]) for name in used], allow_unused=True
    )
    state = {name: tensor.detach().numpy() for name, tensor in module.state_dict().items()}
    theirs = {name: np.full_like(state[name], np.nan) for name in parameters.keys() & state.keys()}
    for name, gradient in zip(trained, found, strict=True):
        theirs[name] = np.zeros_like(theirs[name]) if gradient is None else gradient.numpy()
    ours = gradients(program, inputs, loss=seeds, weights=state)
    expected = by_owner(program, {**state, **theirs})
    largest = max(float(np.abs(gradient).max(initial=0)) for gradient in ours.parameters.values())
    assert ours.parameters, "no parameter has a gradient"
    for path, gradient in ours.parameters.items():
        truth = expected[path]
        assert gradient.shape == truth.shape, path
        if np.isnan(truth).all():
            continue  # the reference freezes it
        scale = max(float(np.abs(truth).max(initial=0)), _NOTHING[dtype] / TOLERANCE[dtype] * largest)
        assert float(np.abs(gradient - truth).max(initial=0)) <= allowed * scale, path
    assert_same_names(ours.named, ours.parameters, theirs, allowed, _NOTHING[dtype] * largest)
    for path in ours.unreached:
        assert not float(np.abs(expected[path]).max(initial=0)) > _NOTHING[dtype] * largest, path


def assert_same_names(
    named: Mapping[str, np.ndarray],
    paths: Mapping[str, Any],
    theirs: Mapping[str, np.ndarray],
    bound: float,
    least: float,
) -> None:
    """Assert that gradients have the reference's names and shapes, up to parameters that it stores in part only."""
    other = [name for name in named if name not in theirs]
    assert set(other) <= set(paths)
    assert len(other) <= len(named) / 3
    for name in named.keys() & theirs.keys():
        truth = theirs[name]
        assert named[name].shape == truth.shape, name
        if not np.isnan(truth).any():
            scale = max(float(np.abs(truth).max(initial=0)), least / bound)
            assert float(np.abs(named[name] - truth).max(initial=0)) <= bound * scale, name


def by_owner(program: Program, theirs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return torch's gradients under the paths of the network: fused and transposed as the weights are."""
    fetch, found = Parameters(program, theirs).fetch, dict[str, np.ndarray]()
    for instance in instances(program):
        for param in instance.node.params:
            owner = instance.owners[param.name]
            if not param.is_buffer and owner not in found:
                found[owner] = fetch(instance, param)
    return found
