"""Models as libraries build them, without memory for their weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import prod
from operator import is_
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.torch.capture import without_parameters
from netcalc.formats.torch.examples import Example
from netcalc.formats.torch.library import torch_library
from netcalc.limits import MAX_BUILT

#: Elements from which on a tensor that is made without values has none, and takes no memory.
_LARGE = 1 << 22


class Built(NamedTuple):
    """A module as a library built it.

    Attributes:
        module: the module, in inference.
        name: name of the network.
        about: its class and library.
        dtype: element type of its published parameters.
        calls: arguments of its ``forward``; the first that it takes count.
        numbers: sizes that are numbers in its spec.  As symbols, those of images make the capture of windows and
            positions ten times as long.
        exporting: returns the context in which the module is exported.
    """

    module: Any
    name: str
    about: str
    dtype: str
    calls: Sequence[Sequence[Example]]
    numbers: tuple[str, ...] = ("height", "width")
    exporting: Callable[[], AbstractContextManager[None]] = nullcontext


@contextmanager
def without_weights() -> Iterator[None]:
    """Let modules that are made for a while take no memory for parameters.

    Raises:
        NetcalcError: E009 within the block for more elements than the limit, before there are any.
    """
    torch: Any = torch_library()
    pytree = torch.utils._pytree
    total = 0

    class Bounded(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal total
            kwargs = dict(kwargs or {})
            if function in _makers:
                size = _elements(args, kwargs)
                total += size
                if total > MAX_BUILT:
                    message = f"a model of over {MAX_BUILT:,} parameters is not built"
                    raise NetcalcError(Diagnostic("E009", message))
                if size >= _LARGE:
                    kwargs["device"] = "meta"
            try:
                return function(*args, **kwargs)
            except RuntimeError:
                # a library that computes with values, which large tensors do not have
                leaves, structure = pytree.tree_flatten((args, kwargs))
                if not any(isinstance(leaf, torch.Tensor) and leaf.is_meta for leaf in leaves):
                    raise
                moved = [on_meta(leaf) for leaf in leaves]
                if all(map(is_, moved, leaves)):
                    raise
                args, kwargs = pytree.tree_unflatten(moved, structure)
                return function(*args, **kwargs)

    def on_meta(leaf: Any) -> Any:
        if isinstance(leaf, torch.device):
            return torch.device("meta")
        return leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf

    _makers = {torch.empty, torch.zeros, torch.ones, torch.randn, torch.rand}
    with Bounded(), without_parameters():
        yield


def _elements(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the number of elements that a call makes; 0 if the sizes are no numbers."""
    sizes = args[0] if args and isinstance(args[0], Sequence) else kwargs.get("size", args)
    try:
        return prod(int(size) for size in sizes)  # of numbers and of tensors with one
    except (TypeError, ValueError):
        return 0
