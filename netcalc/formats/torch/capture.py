"""Capture of PyTorch modules by ``torch.export``, without weights and without a change to the module."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr
from functools import partial
from io import StringIO
from math import nan
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.formats.torch.calls import with_constants
from netcalc.formats.torch.constants import unchanged
from netcalc.formats.torch.conversion import converted, converted_tensor
from netcalc.formats.torch.devices import one_device
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.dynamic import export_sizes, found_dims, requested_axes
from netcalc.formats.torch.known_numbers import reading
from netcalc.formats.torch.library import torch_library
from netcalc.formats.torch.names import input_names, leaf_names
from netcalc.formats.torch.packed import packing
from netcalc.formats.torch.structures import taken_apart
from netcalc.formats.torch.trial import depends_on_values


class Captured(NamedTuple):
    """An exported program with its dims as a spec declares them, and the sizes that its symbols stand for.

    ``by_values`` are names of inputs on whose values it depends: it is that of a call with ones.
    """

    exported: Any
    dims: dict[str, Any]
    symbols: Mapping[str, Dim]
    by_values: tuple[str, ...] = ()


def capture(
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic: Any = None,
    *,
    training: bool = False,
    dtype: str | None = None,
    may_fix: bool = False,
    constants: Mapping[str, Any] = MappingProxyType({}),
    by_values: bool = False,
) -> Captured:
    """Return the program that ``torch.export`` makes of a module for the arguments of a call.

    Args:
        module: a ``torch.nn.Module``, in inference or training mode, on any device; or an exported program, which is
            returned.
        args, kwargs: arguments of ``forward``; of tensors only shapes and types count.
        dynamic: see :func:`~netcalc.formats.torch.dynamic.requested_axes`.
        training: True for the program of the module in training mode, False for that in inference.
        dtype: element type of floating-point parameters, buffers and arguments; None for their own.
        may_fix: True if sizes that ``torch.export`` fixes are no dims, False if that is an error.
        constants: further arguments of ``forward``: tensors whose values count, which are no inputs.
        by_values: True to take numbers, sizes and choices that depend on values of arguments for those of a call with
            ones, where the module cannot be exported otherwise.

    Raises:
        NetcalcError: E009 if PyTorch refuses the module; E502 for arguments that are not of the form.
    """
    torch = torch_library()
    if is_exported(module):
        if args or kwargs:
            raise NetcalcError(Diagnostic("E502", "an exported program has its arguments already"))
        if dtype is not None:
            raise NetcalcError(Diagnostic("E502", "an exported program has its element types already"))
        return _with_dims(module, {}, {}, may_fix)
    if not isinstance(module, torch.nn.Module):
        message = f"a torch.nn.Module or an ExportedProgram is needed, not {type(module).__name__}"
        raise NetcalcError(Diagnostic("E502", message))
    if isinstance(module, torch.jit.ScriptModule):
        raise _without_code("the module")
    with (
        with_constants(module, constants),
        unchanged(module),
        taken_apart(module, args, dict(kwargs)) as (args, kwargs),
        converted(module, dtype),
    ):
        args, kwargs = torch.utils._pytree.tree_map(partial(converted_tensor, dtype=dtype), (args, kwargs))
        export = partial(_captured, module, args, kwargs, dynamic, training, may_fix)
        attempts: list[_Attempt] = [] if constants else [((), nullcontext())]
        attempts.append(((), reading(module)))
        return _first(export, [*attempts, *(_by_values(module, args, kwargs) if by_values else ())])


#: Names of inputs whose values count, and a context of an export.
_Attempt: TypeAlias = tuple[tuple[str, ...], AbstractContextManager[None]]


def _by_values(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[_Attempt]:
    """Yield attempts in which masks are ones, all arguments of integers and booleans, and all arguments."""
    torch = torch_library()
    leaves, structure = torch.utils._pytree.tree_flatten((args, dict(kwargs)))
    named = dict(zip(argument_names(module, structure, len(leaves)), leaves, strict=True))
    tensors = [name for name, leaf in named.items() if isinstance(leaf, torch.Tensor)]
    whole = [name for name in tensors if not named[name].is_floating_point()]
    masks = [name for name in whole if "mask" in name]
    for names in dict.fromkeys(map(tuple, (masks, whole, tensors))):
        if names:
            ones = [torch.ones_like(leaf, device="cpu") if name in names else None for name, leaf in named.items()]
            yield names, reading(module, ones)


def _first(export: Callable[[], Captured], attempts: Sequence[_Attempt]) -> Captured:
    """Return the program of the first attempt in which nothing depends on other values, or else the last program."""
    found = error = None
    for names, context in attempts:
        try:
            with context:
                found = export()._replace(by_values=names)
        except NetcalcError as raised:
            if error is None or depends_on_values(raised.__cause__):
                error = raised
            if not (names or depends_on_values(raised.__cause__)):
                break
        else:
            if not any(node.meta.get("unbacked_bindings") for node in found.exported.graph.nodes):
                break
    if found is not None:
        return found
    assert error is not None
    raise error


def _captured(
    module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic: Any, training: bool, may_fix: bool
) -> Captured:
    """Return the program of a module, for arguments and results that pytree takes apart."""
    torch = torch_library()
    pytree = torch.utils._pytree
    leaves, structure = pytree.tree_flatten((args, kwargs))
    names = argument_names(module, structure, len(leaves))
    shapes = {n: tuple(leaf.shape) for n, leaf in zip(names, leaves, strict=True) if isinstance(leaf, torch.Tensor)}
    axes = requested_axes(dynamic, shapes)
    defaults, sizes = export_sizes(axes, shapes)
    with one_device(module, leaves) as leaves, in_mode(module, training), _averages(torch, module):
        collection = torch.export.ShapesCollection()
        for index, name in enumerate(names):
            if isinstance(leaves[index], torch.Tensor) and any(leaves[index] is leaf for leaf in leaves[:index]):
                leaves[index] = torch.empty_like(leaves[index])  # the same tensor twice would be one input
            if axes.get(name):
                new = [sizes[axes[name][a]] if a in axes[name] else size for a, size in enumerate(shapes[name])]
                leaves[index] = leaves[index].new_empty(new)
                collection[leaves[index]] = dict.fromkeys(axes[name], torch.export.Dim.AUTO)
        call_args, call_kwargs = pytree.tree_unflatten(leaves, structure)
        exported = _export(torch, module, call_args, call_kwargs, collection if axes else None)
    return _with_dims(exported, axes, defaults, may_fix)


def is_exported(module: Any) -> bool:
    """Return True for an exported program of PyTorch."""
    return isinstance(module, torch_library().export.ExportedProgram)


def _export(torch: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> Any:
    try:
        with (
            _unfused(torch),
            packing(module),
            redirect_stderr(StringIO()),
        ):  # PyTorch prints the graph of a program that it refuses
            try:
                return torch.export.export(module, args, kwargs, strict=False, dynamic_shapes=shapes)
            except RuntimeError as error:  # of a module that may only be called without gradients
                if "automatic differentiation" not in str(error):
                    raise
            with torch.no_grad():
                return torch.export.export(module, args, kwargs, strict=False, dynamic_shapes=shapes)
    except NetcalcError:
        raise
    except Exception as error:  # of PyTorch or of the user's code
        compiled = [path for path, part in module.named_modules() if isinstance(part, torch.jit.RecursiveScriptModule)]
        if compiled:
            raise _without_code(compiled[0]) from error
        failed = refused("torch.export refuses the module", error)
        advice = _advice(args, kwargs)
        raise NetcalcError(d._replace(hint=advice or d.hint) for d in failed.diagnostics) from error


def _without_code(part: str) -> NetcalcError:
    message = f"{part} is of TorchScript, which torch.export cannot follow"
    return NetcalcError(Diagnostic("E009", message, hint="give the module that it was compiled of"))


def _advice(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """Return how to say what the module takes, for arguments that are none of ``forward``, such as a shape."""
    shape = next((arg for arg in args if isinstance(arg, tuple) and all(isinstance(size, int) for size in arg)), None)
    if "input_data" in kwargs:
        return "give its tensors as arguments of the module: netcalc.summary(module, image)"
    if (args and shape is None) or kwargs:
        return None
    sizes = shape or (1, 3, 224, 224)
    return f"give an example of each input, or shapes: netcalc.summary(module, input_size={sizes})"


def _with_dims(
    exported: Any, axes: Mapping[str, Mapping[int, str]], defaults: Mapping[str, int], may_fix: bool
) -> Captured:
    if any(getattr(node.target, "__name__", "") == "_vmap_increment_nesting" for node in exported.graph.nodes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported = exported.run_decompositions({})  # operators on batches in place of torch.vmap
    nodes = [node for node in exported.graph.nodes if node.op == "placeholder"]
    arguments = [
        node
        for node, spec in zip(nodes, exported.graph_signature.input_specs, strict=True)
        if spec.kind.name == "USER_INPUT"
    ]
    tensors = [getattr(node.meta.get("val"), "shape", None) for node in arguments]
    shapes = {
        name: tuple(shape) for name, shape in zip(input_names(exported), tensors, strict=True) if shape is not None
    }
    dims, symbols = found_dims(exported, shapes, axes, defaults, may_fix=may_fix)
    return Captured(exported, dims, symbols)


def argument_names(module: Any, structure: Any, count: int) -> list[str]:
    """Return the names of the leaves of a call's arguments, by the signature of ``forward``."""
    from inspect import Parameter, signature

    args, kwargs = structure.unflatten(list(range(count)))
    declared = list(signature(module.forward).parameters.values())
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    named: dict[str, Any] = {}
    names = [parameter.name for parameter in declared if parameter.kind in positional]
    rest = next((parameter.name for parameter in declared if parameter.kind is Parameter.VAR_POSITIONAL), "input")
    for number, value in enumerate(args):
        named[names[number] if number < len(names) else f"{rest}_{number - len(names)}"] = value
    return leaf_names({**named, **kwargs}, count, "input")


@contextmanager
def in_mode(module: Any, training: bool) -> Iterator[None]:
    """Put a module in training mode or in inference for a while."""
    modes = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


@contextmanager
def _averages(torch: Any, module: Any) -> Iterator[None]:
    """Let norms with cumulative averages, whose weight is computed of a number of batches, have the weight NaN."""
    norms = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._NormBase)]
    cumulative = [norm for norm in norms if norm.momentum is None]
    try:
        for norm in cumulative:
            norm.momentum = nan
        yield
    finally:
        for norm in cumulative:
            norm.momentum = None


@contextmanager
def _unfused(torch: Any) -> Iterator[None]:
    """Leave out fused paths that would hide the operators of a layer, and the warnings of an export.

    Distributions do not check their arguments, whose values an export does not have.
    """
    fused = torch.backends.mha.get_fastpath_enabled()
    checked = torch.distributions.Distribution._validate_args
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.backends.mha.set_fastpath_enabled(False)
        torch.distributions.Distribution.set_default_validate_args(False)
        level = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(level)
            torch.backends.mha.set_fastpath_enabled(fused)
            torch.distributions.Distribution.set_default_validate_args(checked)


@contextmanager
def without_parameters() -> Iterator[None]:
    """Put the parameters of modules that are made on the meta device, where they have no data.

    A parameter that several modules share stays one.  Buffers stay, since their values may be constants of the network,
    and so do parameters of lazy modules, which have no shape yet.
    """
    torch = torch_library()
    register = torch.nn.Module.register_parameter
    # by identity, and weakly, so that the data of a parameter that nothing else holds are freed
    without_data = torch.utils.weak.WeakTensorKeyDictionary()

    def registered(module: Any, name: str, parameter: Any) -> None:
        register(module, name, parameter)
        held = module._parameters.get(name)
        if held is None or held.is_meta or torch.nn.parameter.is_lazy(held):
            return
        if held not in without_data:
            without_data[held] = torch.nn.Parameter(held.to("meta"), held.requires_grad)
        module._parameters[name] = without_data[held]

    torch.nn.Module.register_parameter = registered
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register
