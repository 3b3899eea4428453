"""Comparison of models of Keras with the networks that netcalc reads of their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import keras
import numpy as np

import netcalc
from netcalc.analysis.walk import parameters

#: Largest difference of outputs, relative to the largest element.
TOLERANCE = 1e-5
_BATCH = 2


@contextmanager
def not_drawn() -> Iterator[None]:
    """Let initializers give zeros: JAX would compile a function for every shape that they draw."""

    def zeros(shape: Sequence[int], *_: Any, dtype: str | None = None, **__: Any) -> Any:
        return np.zeros(tuple(shape), dtype or "float32")

    backend = import_module(f"keras.src.backend.{keras.backend.backend()}.random")
    with ExitStack() as stack:
        for name in ("normal", "truncated_normal", "uniform"):
            stack.enter_context(patch.object(backend, name, zeros))
        yield


def draw(model: Any) -> None:
    """Draw the weights of a model, so that signals neither vanish nor explode."""
    rng = np.random.default_rng(0)
    for weight in model.weights:
        shape = tuple(weight.shape)
        if weight.dtype.startswith("int"):
            continue
        if "variance" in weight.path or "gamma" in weight.path:
            numbers = rng.uniform(0.5, 1.5, shape)
        elif len(shape) < 2:
            numbers = rng.normal(0, 0.1, shape)
        else:
            numbers = rng.normal(0, 1, shape) / np.sqrt(np.prod(shape[:-1]))
        weight.assign(numbers.astype("float32"))
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):  # statistics that it copied when it was built
            layer.finalize_state()


def counted(net: netcalc.Network) -> tuple[int, int]:
    """Return the weights that are trained and those that are not, as Keras counts them."""
    trained = fixed = 0
    for one in parameters(net.program):
        if one.path.endswith("num_batches_tracked") or one.tied:  # which Keras does not have
            continue
        count = int(one.param.elements)
        if one.param.is_buffer or one.frozen or not one.param.trainable:
            fixed += count
        else:
            trained += count
    return trained, fixed


def compared(model: Any, *, run: bool, sizes: Mapping[str, int] = {}, tokens: int = 0) -> str:
    """Return ``ok``, or what differs: weights, shapes, and with ``run`` the outputs for drawn inputs.

    Args:
        model: a model of Keras.
        run: True to compare outputs.
        sizes: sizes of open axes by the names of the spec's dims.
        tokens: least number that no input reaches, for inputs of whole numbers; 0 for others.
    """
    expected = tuple(
        sum(int(np.prod(weight.shape)) for weight in weights)
        for weights in (model.trainable_weights, model.non_trainable_weights)
    )
    if run:
        draw(model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        if run:
            model.save(path)
        else:
            path = path.with_suffix(".json")
            path.write_text(model.to_json(), encoding="utf-8")
        net = netcalc.load(path, set={"batch": _BATCH, **sizes})
        if counted(net) != expected:
            return f"{counted(net)} weights, and Keras has {expected}"
        shapes = [_sizes(output, sizes) for output in model.outputs]
        found = [tuple(output.shape) for output in net.outputs.values()]
        if not all(sorted(one) == sorted(other) for one, other in zip(found, shapes, strict=True)):
            return f"outputs of {found}, and Keras has {shapes}"
        return _run(model, net, sizes, tokens) if run else "ok"


def _run(model: Any, net: netcalc.Network, sizes: Mapping[str, int], tokens: int) -> str:
    rng = np.random.default_rng(1)
    given, fed = [], {}
    for tensor, value in zip(model.inputs, net.program.inputs, strict=True):
        shape = _sizes(tensor, sizes)
        x = (rng.integers(0, tokens, shape) if tokens else rng.normal(0, 1, shape)).astype(value.type.dtype)
        given.append(x)
        is_turned = _is_turned(net, value.name)
        fed[value.name] = np.ascontiguousarray(np.moveaxis(x, -1, 1)) if is_turned else x
    if not net.audit(weights=net.own_weights).ok:
        return "the audit of the weights has errors"
    wanted = model.predict(given if len(given) > 1 else given[0], batch_size=_BATCH, verbose=0)  # compiled as one
    wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    results = net.run(fed, weights=net.own_weights).outputs
    for (name, result), output in zip(results.items(), wanted, strict=True):
        expected = np.asarray(output)
        own = np.moveaxis(result, 1, -1) if _is_turned(net, name) else result
        worst = float(np.abs(own - expected).max() / max(np.abs(expected).max(), 1e-30))
        if own.shape != expected.shape or not worst < TOLERANCE:
            return f"output {name} differs by {worst:.1e}"
    return "ok, outputs too"


def _is_turned(net: netcalc.Network, name: str) -> bool:
    """Return True if the remark on axes names an input or output."""
    for note in net.summary().notes:
        if note.startswith("channels are axis 1 of "):
            return name in note.removeprefix("channels are axis 1 of ").partition(", and the last")[0].split(", ")
    return False


def _sizes(tensor: Any, sizes: Mapping[str, int]) -> tuple[int, ...]:
    open_sizes = iter(sizes.values())
    return (_BATCH, *(next(open_sizes) if size is None else size for size in tensor.shape[1:]))
