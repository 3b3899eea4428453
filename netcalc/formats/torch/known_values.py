"""Elements of small tensors during an export, where they follow from constants of the module."""

from __future__ import annotations

from typing import Any, NamedTuple

from netcalc.formats.torch.library import torch_library


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
            whole = isinstance(made, self._torch.Tensor) and made.dim() < 2 and not made.is_floating_point()
            if whole and all(made is not arg for arg in args):
                self._made[made] = Made(function, args, kwargs, place if several else None)
        name = str(getattr(function, "__name__", ""))
        if name.endswith("_") and not name.endswith("__") and args and isinstance(args[0], self._torch.Tensor):
            self._made[args[0]] = None

    def elements(self, tensor: Any) -> list[int] | None:
        """Return the elements of a vector of integers; None if they are not known."""
        without_modes = self._torch.utils._python_dispatch._disable_current_modes
        try:
            with without_modes(), self._torch._C.DisableTorchFunction():
                found: list[int] = self._value(tensor).tolist()
                return found
        except Exception:  # of an input, or of a function that cannot be repeated
            return None

    def _value(self, tensor: Any) -> Any:
        """Return a tensor with the elements of one in the export; LookupError for an input of the module."""
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
