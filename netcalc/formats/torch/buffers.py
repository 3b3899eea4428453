"""Values of buffers of PyTorch modules, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from typing import Any

from netcalc.formats.graph.model import StoredTensor
from netcalc.formats.graph.recipes import content_of
from netcalc.tensor_type import TensorType

__all__ = ["rebuilt_buffers", "stored_buffer"]

#: A number that is no index, in place of integers that are not known, so that a run fails where it uses them.
_NO_INDEX = {"int64": -(1 << 63), "int32": -(1 << 31), "int16": -(1 << 15), "int8": -128, "uint8": 255}

#: Most elements of a tensor whose content is looked at.
_LARGEST = 1 << 22


def stored_buffer(tensor_type: TensorType, tensor: Any, *, persistent: bool) -> StoredTensor:
    """Return a buffer with its value where it is known and short.

    A floating-point value that is not known is NaN, so that results that depend on it show it.
    """
    torch: Any = import_module("torch")

    content = None
    if has_data(tensor) and tensor.numel() <= _LARGEST and not tensor.is_complex():
        wide = tensor.detach().cpu()
        if tensor.dtype in (torch.bfloat16, torch.float16):
            wide = wide.float()
        content = content_of(wide.numpy(), tensor_type.dtype)
    if content is None:
        unknown = _NO_INDEX.get(tensor_type.dtype, True if tensor_type.dtype == "bool" else float("nan"))
        return StoredTensor(tensor_type, buffer=True, persistent=persistent, value=unknown, unknown=True)
    return StoredTensor(tensor_type, buffer=True, persistent=persistent, value=content.value, computed=content.computed)


def has_data(tensor: Any) -> bool:
    """Return False for a tensor on the meta device, and for one that an export made without data."""
    torch: Any = import_module("torch")

    return (
        isinstance(tensor, torch.Tensor) and not tensor.is_meta and not isinstance(tensor, torch._subclasses.FakeTensor)
    )


def rebuilt_buffers(module: Any) -> Mapping[str, Any]:
    """Return the buffers that a module on the meta device would have elsewhere, by path, as far as they can be told.

    A submodule that is made of a ``config``, as those of transformers are, is made once more, without memory for its
    parameters; only buffers that checkpoints omit are taken from it.
    """
    found: dict[str, Any] = {}
    configs: dict[str, Any] = {}
    for path, part in module.named_modules():
        configs[path] = getattr(part, "config", None) or configs.get(path.rpartition(".")[0])
        names = [name for name in part._non_persistent_buffers_set if not has_data(part._buffers.get(name))]
        arguments = _arguments(part, configs[path]) if names and configs[path] is not None else None
        if arguments is None:
            continue
        try:
            with _parameters_without_data():
                again = type(part)(**arguments)
        except Exception:  # of the user's class: the values stay unknown
            continue
        for name in names:
            old: Any = part._buffers[name]
            new: Any = getattr(again, name, None)
            if has_data(new) and old is not None and (new.shape, new.dtype) == (old.shape, old.dtype):
                found[f"{path}.{name}".lstrip(".")] = new
    return found


def _arguments(part: Any, config: Any) -> dict[str, Any] | None:
    """Return the arguments to make a submodule of its configuration; None if others are not known."""
    arguments: dict[str, Any] = {}
    for name in list(signature(type(part).__init__).parameters)[1:]:
        if name == "config":
            arguments[name] = config
        elif name != "device":
            if not hasattr(part, name):
                return None
            arguments[name] = getattr(part, name)
    return arguments if "config" in arguments else None


@contextmanager
def _parameters_without_data() -> Iterator[None]:
    """Leave memory of tensors that are made empty, as parameters are, on the meta device."""
    torch: Any = import_module("torch")

    class Empty(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if function is torch.empty:
                kwargs["device"] = "meta"
            return function(*args, **kwargs)

    with torch.device("cpu"), Empty():
        yield
