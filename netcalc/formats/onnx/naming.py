"""Paths of layers, by the names that exporters give to nodes and to tensors."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from netcalc.formats.graph.model import ModuleCall, Scope
from netcalc.formats.onnx.messages import Model, Node

_PATH = re.compile(r"[A-Za-z_]\w*(\.\w+)+")
#: Names that exporters number, as they know no other.
_NUMBERED = re.compile(r"(?:onnx::\w+?_)?\d+|(?:val|t|_\w+|node_\w+?)_\d+|.*Constant\w*_output_\d+|const(?:ant)?_?\d*|")
#: Operators of PyTorch by which its exporter names what it has computed.
_COMPUTED = re.compile(
    r"(add|alias|arange|bmm|cat|ceil|clone|cos|cumsum|detach|div|embedding|eq|exp|expand|eye|fill|floor|full|gather|ge|getitem"
    r"|gt|index|index_select|le|lift_fresh_copy|linspace|log|lt|masked_fill|matmul|max|mean|min|mul|ne|neg|ones|permute|pow|reciprocal"
    r"|repeat|reshape|roll|rsub|scalar_tensor|select|sigmoid|sin|slice|split|sqrt|squeeze|stack|sub|sum|t|tanh|to|transpose|tril|triu"
    r"|unsqueeze|view|where|zeros|zeros_like|ones_like|full_like|to_copy|_to_copy)(_\d+)?"
)
#: The operators among these that give the same elements another shape.
_RESHAPED = re.compile(r"(clone|expand|permute|reshape|squeeze|t|transpose|unsqueeze|view)(_\d+)?")
#: Factors of ``addcmul``, which PyTorch's exporter multiplies by 1 and names as the function does that translates it.
_FACTOR = re.compile(r"tmp(_\d+)?")
_SCOPES, _CLASSES = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"


def is_by_pytorch(model: Model) -> bool:
    """Return True for a model of PyTorch's exporter, also if another tool wrote it again, such as a quantizer."""
    nodes = model.graph.nodes if model.graph is not None else []
    return model.producer == "pytorch" or any(_SCOPES in node.metadata for node in nodes)


def is_path(name: str) -> bool:
    """Return True for the name of a tensor that is its path in a module: ``layer1.0.conv1.weight``."""
    return _PATH.fullmatch(name) is not None and not name.startswith(("onnx::",))


def is_numbered(name: str) -> bool:
    """Return True for the name of a tensor that an exporter made up."""
    return _NUMBERED.fullmatch(name) is not None or _COMPUTED.fullmatch(name) is not None


def is_reshaped(name: str) -> bool:
    """Return True for the name of a tensor whose elements its exporter gave another shape, and computed nothing."""
    return _RESHAPED.fullmatch(name) is not None


def is_factor(name: str) -> bool:
    """Return True for the name of a learned factor, which its exporter multiplied by 1."""
    return _FACTOR.fullmatch(name) is not None


def scope_of(node: Node) -> Scope:
    """Return the calls of modules around a node: of its metadata, or of its name."""
    if _SCOPES in node.metadata:
        return _listed_scope(node.metadata[_SCOPES], node.metadata.get(_CLASSES, "[]"))
    if "/" not in node.name:
        return ()
    calls: list[ModuleCall] = []
    path = before = ""
    for part in node.name.strip("/").split("/")[:-1]:
        # a child of a container has the container's name before its own: /layer1/layer1.0/conv1
        own = part.removeprefix(f"{before}.") if before and part.startswith(f"{before}.") else part
        path, before = f"{path}.{own}" if path else own, part
        calls.append(ModuleCall(path))
    return tuple(calls)


def scopes_of(nodes: Sequence[Node]) -> list[Scope]:
    """Return the calls around each of some nodes; around one that says nothing, those of both of its neighbors."""
    own = [scope_of(node) for node in nodes]
    silent = [not scope and _SCOPES not in node.metadata for scope, node in zip(own, nodes, strict=True)]
    if not any(own):
        return own
    after: list[Scope] = [()] * len(own)
    following: Scope = ()
    for place in reversed(range(len(own))):
        following = following if silent[place] else own[place]
        after[place] = following
    before: Scope = ()
    for place, scope in enumerate(own):
        if silent[place]:
            own[place] = _common(before, after[place])
        else:
            before = scope
    return own


def _common(first: Scope, second: Scope) -> Scope:
    """Return the calls at the beginning of two scopes that are the same."""
    shared = 0
    while shared < min(len(first), len(second)) and first[shared] == second[shared]:
        shared += 1
    return first[:shared]


def _listed_scope(scopes: str, classes: str) -> Scope:
    """Return the calls that the metadata of PyTorch's exporter list, without the model and the operator."""
    try:
        paths, kinds = ast.literal_eval(scopes), ast.literal_eval(classes)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ()
    if not all(isinstance(listed, list) and all(isinstance(item, str) for item in listed) for listed in (paths, kinds)):
        return ()
    kinds = [*kinds, *[""] * len(paths)]
    calls = [
        ModuleCall(path, 0, kind.rpartition(".")[2]) for path, kind in zip(paths[1:-1], kinds[1:], strict=False) if path
    ]
    return tuple(dict.fromkeys(calls))


def around(scope: Scope, owner: str) -> Scope:
    """Return the calls around a layer that holds tensors of the module at a path."""
    calls = [call for call in scope if owner == call.path or owner.startswith(f"{call.path}.")]
    if not owner or (calls and calls[-1].path == owner):
        return tuple(calls)
    return (*calls, ModuleCall(owner))


def value_name(name: str) -> str:
    """Return a short name of a value, without the path and the ending that PyTorch's exporter writes."""
    return identifier(re.sub(r"_output_\d+$", "", name.rpartition("/")[2]), "value")


def identifier(name: str, default: str) -> str:
    """Return a name of letters, digits and underscores that does not begin with a digit."""
    word = re.sub(r"\W+", "_", name).strip("_") or default
    return word if not word[0].isdigit() else f"{default}_{word}"
