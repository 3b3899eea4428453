"""Random numbers of a call of a module, drawn by netcalc's operations in place of PyTorch's generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from math import log1p, pi
from typing import Any, TypeAlias

from netcalc.formats.torch.arrays import array_of, tensor_of

#: Draws by an operation of netcalc: its name, the tensors that it takes, and its attributes.
Draw: TypeAlias = Callable[..., Any]
#: Random numbers of an operator, given the source, its arguments by name, and shape and type of the result.
Numbers: TypeAlias = Callable[[Draw, Mapping[str, Any], list[int], Any], Any]


def drawing(torch: Any, seed: int, drawn: dict[str, int]) -> AbstractContextManager[Any]:
    """Return a context in which operators of PyTorch draw as a network does whose operations have this seed.

    Args:
        torch: the library.
        seed: seed of all draws, which do not depend on their order.
        drawn: number of calls by operator, which the context adds to.
    """

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = function._schema.name.removeprefix("aten::")
            numbers = _NUMBERS.get(name.removesuffix("_"))
            if numbers is None:
                return function(*args, **kwargs)
            given = {a.name: a.default_value for a in function._schema.arguments if a.has_default_value()}
            given |= dict(zip((a.name for a in function._schema.arguments), args, strict=False)) | kwargs
            if given.get("training", given.get("train")) is False:
                return function(*args, **kwargs)
            drawn[f"aten.{name}"] = drawn.get(f"aten.{name}", 0) + 1
            shape, dtype = _type_of_result(torch, given)
            result = numbers(draw, given, shape, dtype)
            if isinstance(result, tuple):
                return result
            result = result.to(dtype)
            target = given.get("self") if name.endswith("_") else given.get("out")
            return result if target is None else target.copy_(result)

    def draw(operation: str, *tensors: Any, **attributes: Any) -> Any:
        from netcalc.formats.graph.model import operation_named
        from netcalc.numerics.kernels import Run, apply

        if "dtype" in attributes:
            attributes["dtype"] = str(attributes["dtype"]).removeprefix("torch.")
        op = operation_named(operation)(**attributes, seed=seed)
        return tensor_of(apply(op, Run(), tuple(map(array_of, tensors)), {})[0])

    return Mode()


def _type_of_result(torch: Any, given: Mapping[str, Any]) -> tuple[list[int], Any]:
    """Return shape and element type of what an operator draws."""
    named = [given.get(name) for name in ("self", "input", "mean", "std", "count")]
    tensors = [tensor for tensor in named if isinstance(tensor, torch.Tensor)]
    if tensors:
        shape = list(torch.broadcast_shapes(*(tensor.shape for tensor in tensors)))
        if "num_samples" in given:
            return [*shape[:-1], given["num_samples"]], torch.int64
        return shape, given.get("dtype") or tensors[0].dtype
    shape = list(given["size"]) if "size" in given else [given["n"]]
    dtype = given.get("dtype")
    whole = "high" in given or "n" in given
    if dtype is None or isinstance(dtype, int):  # the default of a schema is a number, for int64
        dtype = torch.int64 if whole else torch.get_default_dtype()
    return shape, dtype


def _normal(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return draw("normal", shape=shape, dtype=dtype) * given.get("std", 1.0) + given.get("mean", 0.0)


def _uniform(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    low, high = given.get("from", 0.0), given.get("to", 1.0)
    return low + (high - low) * draw("uniform", shape=shape, dtype=dtype)


def _exponential(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return draw("exponential", shape=shape, dtype=dtype) / given["lambd"]


def _geometric(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    exact = dtype if dtype.is_floating_point else "float64"
    return (draw("exponential", shape=shape, dtype=exact) / -log1p(-given["p"])).ceil() if given["p"] < 1 else 1


def _cauchy(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    angles = pi * (draw("uniform", shape=shape, dtype="float64") - 0.5)
    return given["median"] + given["sigma"] * angles.tan()


def _log_normal(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return _normal(draw, given, shape, dtype).exp()


def _integers(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    low = given.get("low", given.get("from", 0))
    high = given.get("high", given.get("to"))
    if high is None:  # of random_, without an end
        bits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "bool": 1, "uint8": 8}
        name = str(dtype).removeprefix("torch.")
        power = bits.get(name, 8 * dtype.itemsize - 1)
        high = 2**power + (1 if dtype.is_floating_point else 0)
    return draw("randint", shape=shape, low=int(low), high=int(high))


def _permutation(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return draw("randperm", n=given["n"])


def _bernoulli(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    p = given.get("p")
    if p is None:
        return draw("bernoulli", given["self"])
    tensor = p if hasattr(p, "expand") else given["self"].float().new_full((), p)
    return draw("bernoulli", tensor.expand(shape))


def _poisson(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return draw("poisson", given["self"])


def _gamma(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return draw("gamma", given["self"])


def _dirichlet(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    drawn = draw("gamma", given["self"])
    return drawn / drawn.sum(-1, keepdim=True)


def _binomial(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return draw("binomial", given["count"], given["prob"].expand(shape).to(dtype))


def _multinomial(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    return draw("multinomial", given["self"], samples=given["num_samples"], replacement=given["replacement"])


def _rectified(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    x, low, high = given["self"], given["lower"], given["upper"]
    return x.where(x > 0, x * (low + (high - low) * draw("uniform", shape=shape, dtype=dtype)))


def _dropout(draw: Draw, given: Mapping[str, Any], shape: list[int], dtype: Any) -> Any:
    x, p = given["input"], given["p"]
    kept = draw("bernoulli", x.float().new_full(x.shape, 1 - p))
    return x * (kept / (1 - p) if p < 1 else 0.0), kept.bool()


#: Operators by their names in PyTorch, without the underscore of those that change a tensor in place.
_NUMBERS: dict[str, Numbers] = {
    **dict.fromkeys(("randn", "randn_like", "normal", "normal_functional"), _normal),
    **dict.fromkeys(("rand", "rand_like", "uniform"), _uniform),
    "exponential": _exponential,
    "geometric": _geometric,
    "cauchy": _cauchy,
    "log_normal": _log_normal,
    **dict.fromkeys(("randint", "randint_like", "random"), _integers),
    "randperm": _permutation,
    "bernoulli": _bernoulli,
    "poisson": _poisson,
    "_standard_gamma": _gamma,
    "_sample_dirichlet": _dirichlet,
    "binomial": _binomial,
    "multinomial": _multinomial,
    "rrelu_with_noise": _rectified,
    "native_dropout": _dropout,
}
