"""Traits of operations, compared with what their kernels do.

Each trait is a property that can be observed by running the kernel.  Each test goes both ways where it can: an
operation with the trait has the property, and one with the property has the trait or is in a list with the reason.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.numerics.kernels import Run, apply
from netcalc.opdef import Context, Operation, RuleError, as_tuple
from netcalc.tensor_type import TensorType
from tests.ops.harness import NO_KERNEL

EVERY = {name: declared for name, declared in ops.every().items() if name not in NO_KERNEL}
#: Attributes that avoid the trivial case of an operation, if its example does not.
ATTRS: dict[str, dict[str, Any]] = {"instance_norm": {"affine": True, "track_running_stats": True}}

#: Operations that treat each element independently on their examples, but are not ``elementwise``.
PERMUTABLE = {
    "dropout": "does nothing in inference, but draws a mask in training",
    "stochastic_depth": "does nothing in inference, but draws a mask in training",
    "prelu": "its learned slope may differ by channel",
}
#: Operations that treat each pair of elements of two tensors independently, but do not ``combine``.
PAIRED = {
    "pow": "takes several multiplications an element, or a power",
    "binomial": "takes random numbers besides its inputs",
}
#: Operations whose results share memory with their inputs, but are no ``view``.
SHARING = {"flip": "its strides are negative, which a plan does not allow"}


def drawn(rng: np.random.Generator, x: TensorType) -> np.ndarray:
    """Return random numbers of a type."""
    if x.is_complex:
        return (rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)).astype(x.dtype)
    return (rng.normal(size=x.shape) if x.is_float else rng.integers(0, 2, x.shape)).astype(x.dtype)


class Call:
    """Operation on random inputs of the types of its example, with random parameters."""

    def __init__(self, name: str, shapes: tuple[tuple[int, ...], ...] | None = None) -> None:
        declared = EVERY[name]
        self.op: Operation = declared(**{**declared.example.attrs, **ATTRS.get(name, {})})
        rng = np.random.default_rng(0)
        types = declared.example.types()
        if shapes is not None:  # instead of the example's
            types = tuple(t.with_shape(*shape) for t, shape in zip(types, shapes, strict=True))
        self.types = types
        self.inputs = [drawn(rng, t) for t in types]
        if name == "binary_cross_entropy" or self.op.draws:  # takes probabilities
            self.inputs = [1 / (1 + np.exp(-x)) for x in self.inputs]
        if name == "cholesky":  # takes positive definite matrices
            self.inputs = [x @ x.swapaxes(-1, -2) for x in self.inputs]
        self.outputs = as_tuple(self.op.infer(Context(), *types))
        self.params = {
            p.name: np.abs(rng.normal(size=p.shape)).astype(p.dtype or "float32")
            for p in self.op.params(Context(), *types)
        }

    def run(self, *inputs: np.ndarray, **params: np.ndarray) -> np.ndarray:
        return apply(self.op, Run(), inputs or tuple(self.inputs), self.params | params)[0]

    @property
    def keeps_the_type(self) -> bool:
        """True if there is one output and all tensors have one type."""
        return len(self.outputs) == 1 and all(t == self.outputs[0] and t.is_float for t in self.types)


def commutes_with_permutations(call: Call) -> bool:
    """True if permuting the elements of all inputs alike permutes those of the output."""
    order = np.random.default_rng(1).permutation(call.inputs[0].size)

    def permuted(x: np.ndarray) -> np.ndarray:
        return x.reshape(-1)[order].reshape(x.shape)

    expected = permuted(call.run())
    try:
        return np.allclose(call.run(*map(permuted, call.inputs)), expected, equal_nan=True)
    except RuleError:  # of numbers that it takes in their places only
        return False


@pytest.mark.parametrize("name", EVERY)
def test_elementwise(name: str) -> None:
    call = Call(name)
    one = len(call.inputs) == 1 and not hasattr(call.op, "numbers")
    alone = one and call.keeps_the_type and commutes_with_permutations(call)
    assert alone == (call.op.elementwise or name in PERMUTABLE)
    assert not (call.op.elementwise and call.params)


@pytest.mark.parametrize("name", [name for name, declared in EVERY.items() if declared.elementwise])
def test_partial(name: str) -> None:
    call = Call(name)
    with np.errstate(all="ignore"):
        has_no_result = np.isnan(call.run(np.linspace(-4, 4, 161, dtype="float32"))).any()
    assert has_no_result == call.op.partial


@pytest.mark.parametrize("name", EVERY)
def test_combines(name: str) -> None:
    example = EVERY[name].example
    takes_numbers = hasattr(EVERY[name], "numbers")
    call = Call(name, ((3, 4),) * len(example.inputs) if takes_numbers else None)
    two = takes_numbers or len(call.inputs) == 2
    pairs = two and call.keeps_the_type and commutes_with_permutations(call)
    assert pairs == (call.op.combines or name in PAIRED)
    if call.op.combines:
        (term,) = call.op.cost(Context(), call.types, call.outputs)
        assert term.count == call.inputs[0].size


@pytest.mark.parametrize("name", EVERY)
def test_view(name: str) -> None:
    call = Call(name)
    memory = call.inputs or list(call.params.values())
    shares = any(np.shares_memory(call.run(), x) for x in memory)
    assert shares == (call.op.view or call.op.no_op_in_inference or name in SHARING)


@pytest.mark.parametrize("name", EVERY)
def test_no_op_in_inference(name: str) -> None:
    call = Call(name)
    same = len(call.inputs) == 1 and len(call.outputs) == 1 and call.outputs == call.types
    assert (same and np.array_equal(call.run(), call.inputs[0])) == call.op.no_op_in_inference


@pytest.mark.parametrize("name", [*ops.FAMILIES["batch_norm"], *ops.FAMILIES["norm"], *ops.FAMILIES["softmax"]])
def test_normalizes_channels(name: str) -> None:
    """The difference of two results is the difference of the inputs times a factor per channel."""
    call = Call(name)
    rng = np.random.default_rng(2)
    a, b, c = (rng.normal(size=call.types[0].shape).astype("float32") for _ in range(3))
    x, y, z = map(call.run, (a, b, c))
    axes = (0, *range(2, a.ndim))
    factors = ((x - y) * (a - b)).sum(axes, keepdims=True) / ((a - b) ** 2).sum(axes, keepdims=True)
    affine = np.allclose(x - z, factors * (a - c), atol=1e-4)
    assert affine == call.op.normalizes_channels
    if call.op.normalizes_channels:
        assert not call.op.own_statistics(False)


@pytest.mark.parametrize("name", EVERY)
def test_windowed(name: str) -> None:
    kernels = import_module(f"netcalc.numerics.kernels.{ops.family(name)}")
    windows = {"netcalc.numerics.kernels._windows": {"correlate", "windows", "overlap", "taps"}}
    windows["netcalc.numerics.kernels._pooling"] = {"sums", "pads"}
    used = {
        (value.__module__, value.__name__)
        for value in vars(kernels).values()
        if getattr(value, "__module__", None) in windows
    }
    copies = any(function in windows[module] for module, function in used)
    assert copies == EVERY[name].windowed
    if not EVERY[name].windowed or name == "fold":
        return
    call = Call(name)
    (x,) = call.inputs
    far = x.copy()
    far[(0, 0, *(0,) * (x.ndim - 2))] += 1
    changed = call.run() != call.run(far)
    assert changed.any()
    assert not changed[..., -1].any()


@pytest.mark.parametrize("name", EVERY)
def test_gemm(name: str) -> None:
    call = Call(name)
    weight = call.params.get("weight", np.zeros(()))
    if len(call.inputs) != 1 or not call.types[0].is_float or weight.ndim < 2:
        assert not call.op.gemm
        return
    only = {param: np.zeros_like(value) for param, value in call.params.items() if param != "weight"}
    doubled = np.allclose(call.run(2 * call.inputs[0], **only), 2 * call.run(**only), atol=1e-5)
    first = weight.copy()
    first[1:] = 0  # the first row gives the first channel only
    result = call.run(weight=first, **only)
    channels = np.moveaxis(result, -1 if name == "linear" else 1, 0)
    assert (doubled and channels[0].any() and not channels[1:].any()) == call.op.gemm
