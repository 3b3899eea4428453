"""The way from a module of PyTorch to a spec document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.simplify import simplify
from netcalc.formats.torch.buffers import rebuilt_buffers
from netcalc.formats.torch.capture import Captured, capture, is_exported
from netcalc.formats.torch.translation import translate

__all__ = ["module_document", "program_document"]


def module_document(
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    dynamic: Any = None,
    name: str | None = None,
    allow_unknown: bool = False,
) -> dict[str, Any]:
    """Return the spec document of a module; arguments as for :func:`~netcalc.formats.torch.capture.capture`.

    Args:
        name: name of the network; by default that of the module's class.
        allow_unknown: True for lines of unknown work in place of operators that have no rule.

    Raises:
        NetcalcError: E009 if the module cannot be captured or translated; E502 for bad arguments.
    """
    captured = capture(module, args, kwargs, dynamic)
    buffers = {} if is_exported(module) else rebuilt_buffers(module)
    return program_document(captured, name or _class_name(module), buffers, allow_unknown=allow_unknown)


def program_document(
    captured: Captured, name: str, buffers: Mapping[str, Any], *, allow_unknown: bool = False
) -> dict[str, Any]:
    """Return the spec document of a captured program; ``buffers`` are values that it lacks, by path."""
    graph = translate(captured.exported, name, captured.symbols, buffers, allow_unknown=allow_unknown)
    graph.dims = dict(captured.dims)
    simplify(graph)
    return spec_document(graph)


def _class_name(module: Any) -> str:
    """Return the name of a module's class; of an exported program that of the module that it was made of."""
    if is_exported(module):
        for node in module.graph.nodes:
            for _, kind in list((node.meta.get("nn_module_stack") or {}).values())[:1]:
                return (kind if isinstance(kind, str) else kind.__name__).rpartition(".")[2]
    return type(module).__name__
