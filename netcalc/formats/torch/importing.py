"""The way from a module of PyTorch to a spec document."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypedDict

from netcalc.formats.graph.checked import checked_program
from netcalc.formats.graph.constants import listed
from netcalc.formats.graph.dead_code import dead_paths
from netcalc.formats.graph.document import spec_document, with_note
from netcalc.formats.graph.model import Graph
from netcalc.formats.graph.simplify import simplify
from netcalc.formats.torch.buffers import rebuilt_buffers
from netcalc.formats.torch.capture import capture, is_exported
from netcalc.formats.torch.constants import constant_paths, unregistered
from netcalc.formats.torch.conversion import converted
from netcalc.formats.torch.library import torch_library
from netcalc.formats.torch.translation import Sources, translate

_DEAD_CODE = "no output needs these lines, which count since the module computes them (drop_dead_code leaves them out)"


class ModuleSpec(NamedTuple):
    """The spec document of a module, and values of buffers that are too long for it, by their paths in the network."""

    document: dict[str, Any]
    constants: dict[str, Any]


class SpecOptions(TypedDict, total=False):
    """Options of :func:`module_spec` that the command line has too."""

    training: bool
    dtype: str | None
    allow_unknown: bool
    drop_dead_code: bool


def module_spec(
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    dynamic: Any = None,
    may_fix: bool = False,
    constants: Mapping[str, Any] = MappingProxyType({}),
    by_values: bool = False,
    name: str | None = None,
    training: bool = False,
    dtype: str | None = None,
    allow_unknown: bool = False,
    drop_dead_code: bool = False,
) -> ModuleSpec:
    """Return the spec of a module; arguments as for :func:`~netcalc.formats.torch.capture.capture`.

    Args:
        name: name of the network; by default the name of the module's class.
        training: True for the spec of a network in training mode, False for one in inference.
        dtype: element type of floating-point parameters, buffers and arguments; None for their own.
        allow_unknown: True for lines of unknown work in place of operators that have no rule.
        drop_dead_code: True to leave out what the module computes and no output needs.

    Raises:
        NetcalcError: E009 if the module cannot be captured or translated; E502 for bad arguments.
    """
    options: Any = {"training": training, "dtype": dtype, "may_fix": may_fix, "by_values": by_values}
    captured = capture(module, args, kwargs, dynamic, constants=constants, **options)
    sources = Sources()
    if not is_exported(module):
        with converted(module, dtype):
            sources = Sources(rebuilt_buffers(module), constant_paths(captured.exported, module))
    graph = translate(
        captured.exported,
        name or _class_name(module),
        captured.symbols,
        sources,
        training=training,
        allow_unknown=allow_unknown,
    )
    graph.dims = dict(captured.dims)
    if drop_dead_code:
        graph.dead = []
    if captured.by_values:
        names = listed([*captured.by_values])
        graph.notes.append(f"numbers and sizes that depend on values of {names} are as in a call with ones")
    simplify(graph)
    _note_unregistered(graph, module)
    if training:
        graph.notes.append("captured in training mode: mode train runs and counts it as the module does in training")
    document = spec_document(graph)
    program = checked_program(graph, document, "module", "E009")
    if graph.dead and (paths := [*dead_paths(program)]):
        document = with_note(document, f"{_DEAD_CODE}: {listed(paths)}")
    constants = {place: graph.tensors[stored.path].array for stored, place in graph.places.items()}
    return ModuleSpec(document, {place: array for place, array in constants.items() if array is not None})


def _note_unregistered(graph: Graph, module: Any) -> None:
    """Note the parameters that a module uses and that are none of its own, since a plain list or dict holds them."""
    kind = torch_library().nn.Parameter
    held = [] if is_exported(module) else [path for path, tensor in unregistered(module) if isinstance(tensor, kind)]
    if paths := [path for path in held if path in graph.tensors]:
        graph.notes.append(f"not registered, so that they count as buffers: {listed(paths)}")


def _class_name(module: Any) -> str:
    """Return the name of a module's class; of an exported program the class of the module that it was made of."""
    if is_exported(module):
        for node in module.graph.nodes:
            for _, kind in list((node.meta.get("nn_module_stack") or {}).values())[:1]:
                return (kind if isinstance(kind, str) else kind.__name__).rpartition(".")[2]
    return type(module).__name__
