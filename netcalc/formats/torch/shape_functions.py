"""Shapes that users give for operators of their own, as the fake implementations by which PyTorch captures calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.torch.library import torch_library


def register_shape(overload: Any, shape: Callable[..., Any]) -> None:
    """Register a function of shapes with PyTorch as the fake implementation of an operator.

    Args:
        overload: the operator.
        shape: takes the arguments of a call with shapes in place of tensors, and returns the shape of the result, or a
            list of shapes for several; they have the element type of the first tensor.

    Raises:
        NetcalcError: E502 if PyTorch refuses.
    """
    torch = torch_library()
    tree_map = torch.utils._pytree.tree_map
    returns = overload._schema.returns
    single = len(returns) == 1 and str(returns[0].type) == "Tensor"

    def fake(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Any] = []

        def shape_of(argument: Any) -> Any:
            if not isinstance(argument, torch.Tensor):
                return argument
            tensors.append(argument)
            return argument.shape

        shapes = shape(*tree_map(shape_of, args), **tree_map(shape_of, kwargs))
        if not tensors:
            raise TypeError(f"{overload} takes no tensor, so the element type of its result is not known")
        if single:
            return tensors[0].new_empty(shapes)
        results = [tensors[0].new_empty(sizes) for sizes in shapes]
        return results if len(returns) == 1 else tuple(results) or None

    name = overload._schema.name + (f".{overload._overloadname}" if overload._schema.overload_name else "")
    try:
        torch.library.register_fake(name, fake)
    except RuntimeError as error:
        raise NetcalcError(Diagnostic("E502", f"PyTorch takes no shape of {overload}: {error}")) from error
