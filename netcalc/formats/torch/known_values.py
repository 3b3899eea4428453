"""Elements of small tensors during an export, where they follow from constants of the module."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from netcalc.formats.torch.library import torch_library

#: Most elements of a tensor of several dimensions that is followed.
_MOST = 1 << 16


class Made(NamedTuple):
    """The call that made a tensor, which is its result or that at a place of several."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    place: int | None


class KnownValues:
    """Calls that made vectors and scalars of integers, which are repeated outside of the export on demand."""

    def __init__(self, module: Any) -> None:
        self._torch = torch_library()
        self._module = module
        self._buffers = {path: buffer for path, buffer in module.named_buffers() if not buffer.is_meta}
        self._made = self._torch.utils.weak.WeakIdKeyDictionary()

    def follow(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Remember a call and its result; what it changed in place is no longer known."""
        several = isinstance(result, tuple)
        for place, made in enumerate(result if several else (result,)):
            if self._is_small(made) and all(made is not arg for arg in args):
                self._made[made] = Made(function, args, kwargs, place if several else None)
        name = str(getattr(function, "__name__", ""))
        if name.endswith("_") and not name.endswith("__") and args and isinstance(args[0], self._torch.Tensor):
            self._made[args[0]] = None

    def _is_small(self, made: Any) -> bool:
        """Return True for a tensor of integers that may say sizes: a vector, a scalar, or one with few elements."""
        if not isinstance(made, self._torch.Tensor) or made.is_floating_point() or made.is_complex():
            return False
        return made.dim() < 2 or (all(isinstance(size, int) for size in made.shape) and prod(made.shape) <= _MOST)

    def elements(self, tensor: Any) -> Any:
        """Return the elements of a tensor of integers, nested in lists, or the one of a scalar.

        None if they are not known.
        """
        without_modes = self._torch.utils._python_dispatch._disable_current_modes
        try:
            with without_modes(), self._torch._C.DisableTorchFunction():
                return self._value(tensor).tolist()
        except Exception:  # of an input, or of a function that cannot be repeated
            return None

    def result(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call whose tensors are all known, as a tensor with data; None for any other."""
        without_modes = self._torch.utils._python_dispatch._disable_current_modes
        try:
            with without_modes(), self._torch._C.DisableTorchFunction():
                given = [self._value(arg) for arg in args]
                return function(*given, **{key: self._value(value) for key, value in kwargs.items()})
        except Exception:  # of an input, or of a function that cannot be repeated
            return None

    def _value(self, tensor: Any) -> Any:
        """Return a tensor with the elements of one in the export; LookupError for an input of the module."""
        if isinstance(tensor, (list, tuple)):
            return type(tensor)(map(self._value, tensor)) if type(tensor) in (list, tuple) else tensor
        if not isinstance(tensor, self._torch.Tensor):
            return tensor
        if tensor in self._made:
            made = self._made[tensor]
            if made is None or any(word in made.function.__name__ for word in ("rand", "empty", "multinomial")):
                raise LookupError("not constant")
            given = [self._value(arg) for arg in made.args]
            result = made.function(*given, **{key: self._value(value) for key, value in made.kwargs.items()})
            return result if made.place is None else result[made.place]
        for path, buffer in self._module.named_buffers():
            if buffer is tensor and path in self._buffers:
                return self._buffers[path]
        subclasses = self._torch._subclasses
        if isinstance(tensor, (subclasses.FakeTensor, subclasses.functional_tensor.FunctionalTensor)):
            raise LookupError("an input")
        return tensor
