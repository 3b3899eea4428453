"""Work of operators without a rule: as users register it here, or by formulas of PyTorch's counter.

A formula is called as ``torch.utils.flop_counter`` calls those that are registered with it: with the arguments of the
operator, in which tensors are their shapes, and with ``out_shape``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import NoneType
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim, assumptions, differences
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.library import torch_library
from netcalc.formats.torch.operators import rule_of
from netcalc.formats.torch.shape_functions import register_shape
from netcalc.opdef import whole_number

#: Figures that a formula may return, which are attributes of a line ``unknown``.
FIGURES = ("macs", "flops", "parameters")
_NAME = re.compile(r"(\w+)(?:::|\.)(\w+)(?:\.(\w+))?")
#: Origin of the figures, for lines without a better one.
_REGISTERED = "netcalc.register_torch"
_COUNTER = "torch.utils.flop_counter"


class _Work(NamedTuple):
    cost: Callable[..., Any]
    source: str


#: What is registered, by names such as ``mylib.mix.default`` and ``mylib.mix``, which is for all overloads.
_WORK: dict[str, _Work] = {}


class Registration:
    """The registration of an operator's work, which ``remove`` ends, and the end of a ``with`` block too."""

    def __init__(self, name: str, work: _Work) -> None:
        self.name = name
        self._work = work

    def remove(self) -> None:
        """Forget the registration, unless another one took its place."""
        if _WORK.get(self.name) is self._work:
            del _WORK[self.name]

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def register(
    op: Any, cost: Callable[..., Any], shape: Callable[..., Any] | None = None, source: str | None = None
) -> Registration:
    """Register the work of an operator; see :func:`netcalc.register_torch`."""
    for name, function in (("cost", cost), *([] if shape is None else [("shape", shape)])):
        if not callable(function):
            raise NetcalcError(Diagnostic("E502", f"{name!r} should be a function, not {function!r}"))
    if not isinstance(source, (str, NoneType)):
        raise NetcalcError(Diagnostic("E502", f"'source' should be a text, not {source!r}"))
    overloads, name = _overloads(op)
    with_rule = [str(overload) for overload in overloads if rule_of(str(overload)) is not None]
    if with_rule:
        raise NetcalcError(Diagnostic("E502", f"netcalc has a rule for the operator {with_rule[0]}, which counts it"))
    before = _WORK.get(name)
    if before is not None and getattr(before.cost, "__module__", None) != getattr(cost, "__module__", None):
        message = f"{name} is registered already, by {getattr(before.cost, '__module__', 'another module')}"
        raise NetcalcError(Diagnostic("E502", message, hint="end that registration by its remove()"))
    if shape is not None:
        for overload in overloads:
            register_shape(overload, shape)
    work = _WORK[name] = _Work(cost, _REGISTERED if source is None else source)
    return Registration(name, work)


def _overloads(op: Any) -> tuple[list[Any], str]:
    """Return the overloads that an operator, or its name, stands for, and its name with points."""
    torch = torch_library()
    if isinstance(op, torch.library.CustomOpDef):
        op = op._opoverload.overloadpacket
    elif isinstance(op, str):
        op = _named(torch, op)
    if isinstance(op, torch._ops.OpOverload):
        return [op], str(op)
    if isinstance(op, torch._ops.OpOverloadPacket):
        return [getattr(op, overload) for overload in op.overloads()], str(op)
    message = f"'op' should be an operator of PyTorch or its name, not {op!r}"
    raise NetcalcError(Diagnostic("E502", message, hint='such as torch.ops.mylib.mix or "mylib::mix"'))


def _named(torch: Any, name: str) -> Any:
    """Return the operator of a name such as ``mylib::mix`` or ``mylib::mix.default``."""
    found = _NAME.fullmatch(name)
    if found is None:
        message = f"{name!r} is no name of an operator"
        raise NetcalcError(Diagnostic("E502", message, hint='write "mylib::mix" or "mylib::mix.default"'))
    namespace, packet, overload = found.groups()
    try:
        op = getattr(getattr(torch.ops, namespace), packet)
        return op if overload is None else getattr(op, overload)
    except (AttributeError, RuntimeError):
        hint = "import the library that defines it first"
        raise NetcalcError(Diagnostic("E502", f"PyTorch has no operator {name!r}", hint=hint)) from None


# -- figures of a call ------------------------------------------------------------------------------


def figures_of(
    target: Any, args: Sequence[Any], keywords: Mapping[str, Any], results: Any
) -> dict[str, Dim | str] | None:
    """Return the figures of a call of an operator as attributes of a line ``unknown``; None if nobody registered any.

    Args:
        target: the overload.
        args, keywords: arguments of the call, with values of the graph in place of tensors.
        results: the shapes of its results in their structure.

    Raises:
        NetcalcError: E009 if a formula fails or returns no figures.
    """
    packet = getattr(target, "overloadpacket", None)
    work = _WORK.get(str(target)) or _WORK.get(str(packet))
    formula, source = (_formula(packet), _COUNTER) if work is None else work
    if formula is None:
        return None
    place = f"the cost of {target}" if work is not None else f"the formula of {target} in {_COUNTER}"
    arguments = [shapes_in(argument) for argument in args]
    given = {name: shapes_in(argument) for name, argument in keywords.items()}
    with assumptions() as assumed, differences() as different:
        try:
            found = formula(*arguments, **given, out_shape=results)
        except Exception as error:  # of the user's code
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise NetcalcError(Diagnostic("E009", f"{place} cannot be computed: {reason}")) from error
        figures = _checked(place, found if work is not None else {"flops": found})
    for relation in (*assumed, *different):
        message = f"{place} depends on whether {relation}"
        raise NetcalcError(Diagnostic("E009", message, hint="leave out dynamic for the sizes of the example"))
    return {**figures, "source": source}


def shapes_in(argument: Any) -> Any:
    """Return an argument with shapes in place of values of the graph; of numbers they are PyTorch's sizes."""
    if isinstance(argument, Value):
        return sizes(argument.type.shape)
    if isinstance(argument, (list, tuple)):
        return [shapes_in(item) for item in argument]
    return argument


def sizes(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Return a shape as the class of PyTorch, which formulas expect, unless a size is symbolic."""
    plain = all(isinstance(size, int) for size in shape)
    return torch_library().Size(shape) if plain else shape


def _formula(packet: Any) -> Callable[..., Any] | None:
    """Return the formula of an operator in PyTorch's counter; None for none, and for one that takes tensors."""
    counter = import_module("torch.utils.flop_counter")
    formula = counter.flop_registry.get(packet)
    takes_shapes = getattr(formula, "__code__", None) is counter.shape_wrapper(print).__code__
    return formula.__wrapped__ if formula is not None and takes_shapes else None


def _checked(place: str, found: Any) -> dict[str, Dim]:
    """Return the figures that a formula gave; NetcalcError (E009) if they are none."""
    if not isinstance(found, Mapping) or not found or not all(isinstance(name, str) for name in found):
        hint = "return {'macs': …} for multiply-adds, or {'flops': …} with 2 for each of them"
        raise NetcalcError(Diagnostic("E009", f"{place} should be figures by name, not {found!r}", hint=hint))
    for name, figure in found.items():
        if name not in FIGURES:
            hint = did_you_mean(name, FIGURES) or f"the figures are {', '.join(FIGURES)}"
            raise NetcalcError(Diagnostic("E009", f"{place} has no figure {name!r}", hint=hint))
        try:
            whole_number(figure, least=0)
        except ValueError as error:
            message = f"{place}: {name} {error}, not {figure!r}"
            raise NetcalcError(Diagnostic("E009", message)) from None
    return dict(found)
