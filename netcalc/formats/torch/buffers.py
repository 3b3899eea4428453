"""Values of buffers of PyTorch modules, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from inspect import signature
from typing import Any

from netcalc.formats.graph.model import StoredTensor
from netcalc.formats.graph.recipes import content_of
from netcalc.formats.torch.arrays import array_of
from netcalc.tensor_type import TensorType

#: A number that is no index, in place of integers that are not known, so that a run fails where it uses them.
_NO_INDEX = {"int64": -(1 << 63), "int32": -(1 << 31), "int16": -(1 << 15), "int8": -128, "uint8": 255}

#: Most elements of a tensor whose content is looked at.
_LARGEST = 1 << 22


def stored_buffer(tensor_type: TensorType, tensor: Any, *, persistent: bool, constant: bool = False) -> StoredTensor:
    """Return a buffer with its value where it is known and short, or with an array of it if no checkpoint holds it.

    A floating-point value that is not known is NaN, so that results that depend on it show it.
    """
    torch: Any = import_module("torch")

    content = array = None
    if has_data(tensor) and tensor.numel() <= _LARGEST:
        wide = tensor.detach().cpu()
        if tensor.dtype in (torch.bfloat16, torch.float16):
            wide = wide.float()
        content = content_of(wide.numpy(), tensor_type.dtype)
    if content is None:
        unknown = _NO_INDEX.get(tensor_type.dtype, True if tensor_type.dtype == "bool" else float("nan"))
        if has_data(tensor) and not persistent:
            array = array_of(tensor).copy()
        stored = StoredTensor(tensor_type, value=unknown, unknown=True, array=array)
    else:
        stored = StoredTensor(tensor_type, value=content.value, computed=content.computed)
    return replace(stored, buffer=True, persistent=persistent, constant=constant)


def has_data(tensor: Any) -> bool:
    """Return False for a tensor on the meta device, and for one that an export made without data."""
    torch: Any = import_module("torch")

    return (
        isinstance(tensor, torch.Tensor) and not tensor.is_meta and not isinstance(tensor, torch._subclasses.FakeTensor)
    )


def rebuilt_buffers(module: Any) -> Mapping[str, Any]:
    """Return the buffers that a module on the meta device would have elsewhere, by path, as far as they can be told.

    A module that is made of a ``config``, as modules of transformers are, is made once more, without memory for its
    parameters: the innermost such module around a buffer.
    """
    buffers: dict[str, Any] = {}
    parts = dict(module.named_modules())
    again: dict[str, Any] = {}
    for path, part in parts.items():
        names = [name for name, tensor in part._buffers.items() if tensor is not None and not has_data(tensor)]
        if type(part).__module__.startswith("torch.nn."):  # statistics, which are weights
            names = []
        for name in names:
            full_path = f"{path}.{name}".lstrip(".")
            new = next((value for value in _rebuilt(full_path, parts, again) if value is not None), None)
            old = part._buffers[name]
            if new is not None and new.shape == old.shape and new.is_floating_point() == old.is_floating_point():
                buffers[full_path] = new.to(old.dtype)
    return buffers


def _rebuilt(path: str, parts: Mapping[str, Any], again: dict[str, Any]) -> Iterator[Any]:
    """Yield a buffer of each module around it that could be made once more, from the inside outwards."""
    owner, _, name = path.rpartition(".")
    below = [name]
    while True:
        if owner not in again:
            again[owner] = _made_again(owner, parts)
        value = again[owner]
        for step in below:
            value = getattr(value, step, None)
        yield value if has_data(value) else None
        if not owner:
            return
        owner, _, name = owner.rpartition(".")
        below.insert(0, name)


def _made_again(path: str, parts: Mapping[str, Any]) -> Any:
    """Return a module made of its own or its parent's configuration; None if it takes other arguments."""
    config, around = None, path
    while config is None:
        config = getattr(parts[around], "config", None)
        if not around:
            break
        around = around.rpartition(".")[0]
    arguments = None if config is None else _arguments(parts[path], config)
    if arguments is None:
        return None
    try:
        with _parameters_without_data():
            return type(parts[path])(**arguments)
    except Exception:  # of the user's class: the values stay unknown
        return None


def _arguments(part: Any, config: Any) -> dict[str, Any] | None:
    """Return the arguments to make a module of its configuration; None if others are not known."""
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
