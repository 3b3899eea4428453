"""Elements of small tensors during an export, where they follow from constants of the module or from arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from typing import Any

from netcalc.formats.torch.library import torch_library

#: Most elements of a tensor that is followed.
_MOST = 1 << 20
#: Names of functions whose results are no constants.
_NOT_CONSTANT = re.compile("rand|empty|multinomial|normal|bernoulli|dropout|exponential|cauchy|geometric|uniform")
#: Names of functions that change their first argument in place.
_IN_PLACE = re.compile(r"(?!__).*[^_]_|__setitem__|__i\w+__")


class KnownValues:
    """Tensors of an export whose elements follow from what is known, each with a tensor that has data.

    Known are the constants of a module, and what :meth:`give` says.

    A call whose tensors are all known is made once more with these, outside of the export.  So views and changes in
    place are those of PyTorch; a change by what is not known makes everything that shares the memory unknown.
    """

    def __init__(self, module: Any) -> None:
        self._torch = torch_library()
        self._module = module
        self._buffers = {path: buffer for path, buffer in module.named_buffers() if not buffer.is_meta}
        self._known = self._torch.utils.weak.WeakIdKeyDictionary()
        self._changed: dict[int, Any] = {}  # memory with elements that are not known, by its identity

    def give(self, tensor: Any, value: Any) -> None:
        """Say that a tensor of the export has the elements of one with data, if they are few."""
        if self._is_small(tensor) and tensor.shape == value.shape:
            self._known[tensor] = value

    def follow(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Note what is known of the result of a call, and of what it changed in place."""
        name = str(getattr(function, "__name__", ""))
        changes = _IN_PLACE.fullmatch(name) is not None or kwargs.get("out") is not None
        results = result if isinstance(result, (list, tuple)) else [result]
        if not changes and not any(map(self._is_small, results)):
            return
        with self.outside():
            try:
                if _NOT_CONSTANT.search(name):
                    raise LookupError("not constant")
                values = function(*self._with_data(args), **self._with_data(kwargs))
            except Exception:  # of an input, or of a function that cannot be repeated
                for target in (args[:1] if kwargs.get("out") is None else [kwargs["out"]]) if changes else ():
                    self._forget(target)
                return
        for made, value in zip(results, values if isinstance(values, (list, tuple)) else [values], strict=True):
            if self._is_small(made):
                self._known[made] = value

    def elements(self, tensor: Any) -> Any:
        """Return the elements of a tensor, nested in lists, or the one of a scalar; None if they are not known."""
        data = self.data(tensor)
        return None if data is None else data.tolist()

    def data(self, tensor: Any) -> Any:
        """Return a tensor with data that has the elements of one in the export; None if they are not known."""
        with self.outside():
            try:
                return self._value(tensor)
            except LookupError:
                return None

    def result(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call whose tensors are all known, as a tensor with data; None for any other."""
        with self.outside():
            try:
                return function(*self._with_data(args), **self._with_data(kwargs))
            except Exception:  # of an input, or of a function that cannot be repeated
                return None

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave the modes of the export for a while."""
        with self._torch.utils._python_dispatch._disable_current_modes(), self._torch._C.DisableTorchFunction():
            yield

    def _is_small(self, made: Any) -> bool:
        if not isinstance(made, self._torch.Tensor):
            return False
        return all(isinstance(size, int) for size in made.shape) and prod(made.shape) <= _MOST

    def _with_data(self, arguments: Any) -> Any:
        """Return arguments with tensors that have data; LookupError if one is not known."""
        return self._torch.utils._pytree.tree_map_only(self._torch.Tensor, self._value, arguments)

    def _value(self, tensor: Any) -> Any:
        """Return the tensor with data of one in the export; LookupError for one that is not known."""
        if tensor not in self._known:
            self._known[tensor] = self._constant(tensor)
        value = self._known[tensor]
        if value.untyped_storage()._cdata in self._changed:
            raise LookupError("changed by what is not known")
        return value

    def _constant(self, tensor: Any) -> Any:
        """Return a copy of a constant; LookupError for another tensor."""
        for path, buffer in self._module.named_buffers():
            if buffer is tensor and path in self._buffers:
                return self._buffers[path].clone()
        subclasses = self._torch._subclasses
        if isinstance(tensor, (subclasses.FakeTensor, subclasses.functional_tensor.FunctionalTensor)):
            raise LookupError("an input")
        return tensor.clone()

    def _forget(self, target: Any) -> None:
        """Make all tensors that share the memory of one unknown."""
        with suppress(LookupError):
            storage = self._value(target).untyped_storage()
            self._changed[storage._cdata] = storage
