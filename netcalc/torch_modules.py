"""PyTorch modules as networks: the functions of the Python API that take a module in place of a spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcalc.analysis.summary import Summary
from netcalc.arguments import FLAG, checked_argument
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.network import Network
from netcalc.options import Mode
from netcalc.request import Request
from netcalc.spec import library

if TYPE_CHECKING:
    from netcalc.formats.torch.registered import Registration


def from_torch(
    module: Any,
    *args: Any,
    dynamic: Any = None,
    training: bool = False,
    dtype: Any = None,
    allow_unknown: bool = False,
    drop_dead_code: bool = False,
    **kwargs: Any,
) -> Network:
    """Return the network that a PyTorch module is, for the arguments of a call.

    The module is captured by ``torch.export``, whatever mode it is in: in inference, or with ``training`` in training
    mode.  Its weights are neither needed nor copied: module and arguments may be on the meta device.

    Args:
        module: a ``torch.nn.Module``, or what ``torch.export`` made of one.
        args: arguments of its ``forward``.  Tensors stand for their shapes and types, also within dicts, lists and
            dataclasses; everything else is a constant of the network.
        kwargs: arguments by name, likewise.
        dynamic: sizes that stay symbolic: names of axes for all inputs, such as ``["batch", "length"]``, or for each by
            its name, such as ``{"image": {0: "batch", 2: "height"}}``.
        training: True for what the module computes in training mode, such as auxiliary heads, as a network of mode
            ``"train"``, whose dropout drops and whose norms take the statistics of the batch.
        dtype: floating-point type of parameters, buffers and arguments, as ``"bfloat16"`` or ``torch.bfloat16``, which
            ``module.to(dtype)`` would give them; the module is not changed.
        allow_unknown: True for lines of unknown work in place of operators that have no rule, which are errors else.
        drop_dead_code: True to leave out what the module computes and no output needs; it counts by default.

    Raises:
        NetcalcError: E009 if PyTorch is not installed, ``torch.export`` refuses the module, or an operator has no rule;
            E502 for bad arguments.
    """
    from netcalc.formats.torch.conversion import type_name
    from netcalc.formats.torch.importing import module_spec

    _require_module(module)
    spec = module_spec(
        module,
        args,
        kwargs,
        dynamic=dynamic,
        training=checked_argument("training", training, FLAG),
        dtype=type_name(dtype),
        allow_unknown=allow_unknown,
        drop_dead_code=drop_dead_code,
    )
    return network_of(*spec, mode="train" if training else None)


def register_torch(
    op: Any, *, cost: Callable[..., Any], shape: Callable[..., Any] | None = None, source: str | None = None
) -> Registration:
    """Register the work of an operator of your own, so that modules that call it are imported.

    Its calls become lines ``unknown`` with the figures that ``cost`` returns, which reports name as declared.  Formulas
    that are registered with PyTorch by ``torch.utils.flop_counter.register_flop_formula`` need no registration here:
    their FLOPs count, and the multiply-adds are not known.

    Args:
        op: the operator, such as ``torch.ops.mylib.mix``, the result of ``torch.library.custom_op``, or the name
            ``"mylib::mix"``; an overload, or all of an operator.
        cost: function that takes the arguments of a call, with the shape of each tensor in its place, and
            ``out_shape``, the shape of the result or a list of those of several.  It returns figures by name: ``macs``
            (multiply-adds), ``flops`` (floating-point operations, 2 for each multiply-add), ``parameters`` (those that
            the operator holds itself).  Sizes are ints, or :class:`~netcalc.Dim` where they stay symbolic.
        shape: for an operator that has no fake implementation (``torch.library.register_fake``): function of the
            arguments with shapes in place of tensors, which returns the shape of the result, or a list of shapes.
            It is registered with PyTorch, for results of the element type of the first tensor.
        source: origin of the figures, which reports show.

    Returns:
        The registration.  Its ``remove()`` ends it, and so does leaving ``with netcalc.register_torch(…):``.  A module
        that registers an operator again replaces its own registration.

    Raises:
        NetcalcError: E502 if there is no such operator, netcalc has a rule for it, or another module registered it;
            E009 if PyTorch is not installed.
    """
    from netcalc.formats.torch.registered import register

    return register(op, cost, shape, source)


def network_of(document: Mapping[str, Any], constants: Mapping[str, Any], mode: Mode | None = None) -> Network:
    """Return the network of a document that was imported from a PyTorch module, with values that it does not hold."""
    source = library.load_data(document, f"<{document['name']}>")
    return Network(Request(source, symbolic=tuple(document.get("dims", ())), mode=mode, constants=constants))


def summary(
    module: Any,
    *args: Any,
    input_size: Sequence[Any] | Mapping[str, Sequence[int]] | None = None,
    dtypes: Sequence[Any] | None = None,
    depth: int | None = None,
    convention: str = "netcalc",
    dynamic: Any = None,
    training: bool = False,
    dtype: Any = None,
    drop_dead_code: bool = False,
    **kwargs: Any,
) -> Summary:
    """Return the summary of a PyTorch module, which prints as a table of its layers.

    Args:
        module: as for :func:`from_torch`.
        args: as for :func:`from_torch`.
        input_size: shape of the input, a list of the shapes of several, or their shapes by name, in place of arguments.
        dtypes: element types of these inputs in order, such as ``[torch.long]``; float32 by default.
        depth: number of parts of a path; layers with longer paths are summed up.  None for single operations.
        dynamic: as for :func:`from_torch`.
        training: as for :func:`from_torch`.
        dtype: as for :func:`from_torch`.
        drop_dead_code: as for :func:`from_torch`.
        kwargs: as for :func:`from_torch`.
        convention: counting convention of MACs and FLOPs.

    Raises:
        NetcalcError: as :func:`from_torch`; E701 if the convention is unknown.
    """
    depth, convention = checked_argument("depth", depth), checked_argument("convention", convention)
    _require_module(module)
    if input_size is not None and isinstance(input_size, Mapping):
        kwargs |= zip(input_size, _empty([*input_size.values()], dtypes, input_size), strict=True)
    elif input_size is not None:
        shapes = [input_size] if all(isinstance(size, int) for size in input_size) else [*input_size]
        args = (*args, *_empty(shapes, dtypes, input_size))
    chosen = {"dynamic": dynamic, "training": training, "dtype": dtype, "drop_dead_code": drop_dead_code}
    network = from_torch(module, *args, **chosen, **kwargs)
    return network.summary(convention, depth=depth)


def _require_module(module: Any) -> None:
    """Check that a module is no name; NetcalcError (E502) with the function that takes one."""
    if isinstance(module, (str, Path)):
        hint = f"netcalc.load({str(module)!r}) is the network of a spec, and has summary()"
        raise NetcalcError(Diagnostic("E502", "'module' should be a module of PyTorch, not a name", hint=hint))


def _empty(shapes: Sequence[Any], dtypes: Sequence[Any] | None, input_size: Any) -> list[Any]:
    """Return tensors without data of these shapes and types; NetcalcError (E502) if one of them is none."""
    from netcalc.formats.torch.library import torch_library

    torch = torch_library()
    if not all(isinstance(shape, Sequence) and all(isinstance(size, int) for size in shape) for shape in shapes):
        message = f"'input_size' should be a shape, a list of shapes, or shapes by name, not {input_size!r}"
        raise NetcalcError(Diagnostic("E502", message))
    types = [torch.float32] * len(shapes) if dtypes is None else [*dtypes]
    if len(types) != len(shapes) or not all(isinstance(type_, torch.dtype) for type_ in types):
        message = f"'dtypes' should be a list of the {len(shapes)} types of torch of the inputs, not {dtypes!r}"
        raise NetcalcError(Diagnostic("E502", message, hint="write [torch.long]"))
    return [torch.empty(tuple(shape), dtype=type_, device="meta") for shape, type_ in zip(shapes, types, strict=True)]
