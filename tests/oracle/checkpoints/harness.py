"""Random weights for a reference network, its outputs, and their comparison with those of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from netcalc.engine.run import forward
from netcalc.ir import Program
from tests.oracle.checkpoints.model import Model

#: Largest difference, relative to the largest element of an output.
TOLERANCE = 1e-5


def transformers_model(model: Model) -> Any:
    """Return the model of transformers in evaluation mode, with random weights."""
    kind = getattr(transformers, model.kind)
    # eager attention masks the same pairs in every version of torch
    made = kind(kind.config_class(**model.config, attn_implementation="eager"))
    if model.untied:
        # transformers unties these tensors when it reads a file that has both
        made.get_submodule(model.untied).weight = torch.nn.Parameter(made.get_submodule(model.untied).weight.clone())
        made.all_tied_weights_keys.pop(f"{model.untied}.weight")
    return complete(randomise(made))


def complete(model: Any) -> Any:
    """Let UPerNet return the logits of its auxiliary head too, which it computes for its loss alone."""
    head, logits = getattr(model, "auxiliary_head", None), list[Any]()
    if head is not None:

        def add(_: Any, __: Any, outputs: Any) -> None:
            size = outputs.logits.shape[2:]
            outputs["auxiliary_logits"] = torch.nn.functional.interpolate(logits.pop(), size=size, mode="bilinear")

        head.register_forward_hook(lambda _, __, output: logits.append(output))
        model.register_forward_hook(add)
    return model


def randomise(module: Any) -> Any:
    """Fill the parameters and stored buffers of a module with random numbers; tables that are not trained stay."""
    rng = np.random.default_rng(0)
    stored = module.state_dict()
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        fixed = isinstance(tensor, torch.nn.Parameter) and not tensor.requires_grad
        fixed |= name.endswith("inv_freq")  # follows from the configuration
        if name not in stored or fixed or not tensor.is_floating_point():
            continue
        drawn = rng.normal(size=tuple(tensor.shape))
        if tensor.dim() > 1:  # the width of a convolution varies more than that of a linear layer
            drawn = drawn / (np.sqrt(np.prod(tensor.shape[1:])) if tensor.dim() == 4 else 4)
        else:  # scales and variances are positive
            drawn = drawn / 8 if name.endswith(("bias", "mean")) else np.abs(1 + drawn / 8)
        tensor.detach().copy_(torch.from_numpy(np.asarray(drawn)))
    return module.eval()


def drawn_inputs(program: Program) -> dict[str, np.ndarray]:
    """Return random arrays for the inputs that have no default."""
    rng = np.random.default_rng(1)
    inputs = {}
    for spec in program.inputs:
        if spec.default is None:
            shape = tuple(int(str(size)) for size in spec.type.shape)
            # special tokens have the first numbers
            integers = rng.integers(3, 50, shape) if spec.type.dtype == "int64" else None
            inputs[spec.name] = rng.normal(size=shape).astype(program.dtype) if integers is None else integers
    return inputs


def reference_outputs(model: Any, inputs: Mapping[str, np.ndarray], **arguments: Any) -> Any:
    """Return the outputs of a model of transformers by name."""
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    with torch.no_grad():
        return model(**tensors, **{name: torch.tensor(value) for name, value in arguments.items()})


def assert_same_outputs(
    program: Program, inputs: Mapping[str, np.ndarray], weights: Path | Mapping[str, np.ndarray], expected: Any
) -> None:
    """Run a spec, and compare its outputs with tensors by name."""
    for name, array in forward(program, inputs, weights=weights).outputs.items():
        assert_close(array, expected[name].numpy(), name)


def assert_close(actual: np.ndarray, expected: np.ndarray, name: str = "") -> None:
    """Compare two arrays relative to the largest element."""
    assert actual.shape == expected.shape, name
    assert float(np.abs(actual - expected).max()) <= TOLERANCE * float(np.abs(expected).max()), name
