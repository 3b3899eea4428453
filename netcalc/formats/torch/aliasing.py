"""Tensors that share memory: what an in-place operator changes, and which views see the change.

A node of an exported program stands for a tensor.  Values of a graph never change; so a write gives the node that
owns the memory a new value, computed back through the views between, and a view that is read later is derived again.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Operators that change the shape of their input in place, and not its elements.
_RESHAPES = {*("squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "detach_", "requires_grad_")}
#: Operators whose result is their input, or a view of it, only in some cases, such as where no copy is needed.
_PERHAPS = {
    *("reshape", "reshape_as", "flatten", "ravel", "contiguous", "to", "type_as", "dropout", "feature_dropout"),
    *("alpha_dropout", "feature_alpha_dropout", "atleast_1d", "atleast_2d", "atleast_3d", "einsum", "sum_to_size"),
}
#: Operators whose results are views of the tensors of a list.
_OF_LISTS = {"meshgrid", "broadcast_tensors"}


class Tensors:
    """The values of the nodes of a program, as they are at the present point of the translation.

    Args:
        derive: translates a node again.
        update: returns the value of the input of a view, given the node, the input's value and the view's new one.
    """

    def __init__(self, derive: Callable[[Any], Any], update: Callable[[Any, Any, Any], Any]) -> None:
        self._derive = derive
        self._update = update
        self._values: dict[Any, Any] = {}
        self._same: dict[Any, Any] = {}
        self._bases: dict[Any, Any] = {}
        self._writes: dict[Any, int] = {}
        self._seen: dict[Any, int] = {}

    def __contains__(self, node: Any) -> bool:
        return node in self._values

    def __getitem__(self, node: Any) -> Any:
        """Return the present value of a node."""
        if self._writes and self._seen.get(node, 0) != self._count(node):
            self._values[node] = self[self._same[node]] if node in self._same else self._derive(node)
            self._seen[node] = self._count(node)
        return self._values[node]

    def __setitem__(self, node: Any, value: Any) -> None:
        """Set the value of a node that has just been translated."""
        self._values[node] = value
        if self._writes:
            self._seen[node] = self._count(node)

    def same(self, node: Any, other: Any) -> None:
        """Make a node stand for the tensor of another, as the result of an in-place operator for its input."""
        self._same[node] = other
        self[node] = self[other]

    def owner(self, node: Any) -> Any:
        """Return the node whose tensor a node of the same graph stands for."""
        while node.op != "placeholder" and node in self._same:
            node = self._same[node]
        return node

    def write(self, node: Any, value: Any) -> None:
        """Give the tensor of a node new elements."""
        base = self._base(node)
        if viewed := _viewed(node):  # other results may share memory, and are derived again
            for source, before, after in zip(viewed, self[node], value, strict=True):
                if after is not before:
                    self.write(source, self._update(node, self[source], after))
            return
        if base is None:
            self._writes[node] = self._writes.get(node, 0) + 1
        else:
            self.write(base, value if node in self._same else self._update(node, self[base], value))
        self[node] = value

    def _count(self, node: Any) -> int:
        """Return the number of writes to the memory of a node."""
        while (base := self._base(node)) is not None:
            node = base
        return self._writes.get(node, 0) + sum(map(self._count, _viewed(node)))

    def _base(self, node: Any) -> Any:
        """Return the node of which a node is a view; None if it has memory of its own."""
        if node in self._same:
            return self._same[node]
        if node not in self._bases:
            self._bases[node] = _first(node) if node.op == "call_function" and self._is_view(node) else None
        return self._bases[node]

    def _is_view(self, node: Any) -> bool:
        """Return True if a call shares the memory of its first tensor."""
        schema = getattr(node.target, "_schema", None)
        if schema is None:  # an item of a list of views
            is_item = str(node.target) == "<built-in function getitem>"
            return is_item and (self._base(node.args[0]) is not None or bool(_viewed(node.args[0])))
        name = schema.name.partition("::")[2]
        if name in _PERHAPS:
            return _shares_memory(node)
        returns = schema.returns[0].alias_info if schema.returns else None
        return returns is not None and (not returns.is_write or name in _RESHAPES)


#: Size of what follows from data.
_STAND_IN = 64


def _viewed(node: Any) -> list[Any]:
    """Return the nodes of a list of which the results of a call are views."""
    schema = getattr(node.target, "_schema", None)
    return list(node.args[0]) if schema is not None and schema.name.partition("::")[2] in _OF_LISTS else []


def _first(node: Any) -> Any:
    """Return the node of the first tensor that a call takes."""
    first = next(argument for argument in node.args if not isinstance(argument, str))
    return first[0] if isinstance(first, (list, tuple)) else first


def written(node: Any) -> list[Any]:
    """Return the nodes whose elements a call changes in place."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or schema.name.partition("::")[2] in _RESHAPES:
        return []
    given = dict(zip((argument.name for argument in schema.arguments), node.args, strict=False)) | node.kwargs
    changed = (a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write)
    return [given[name] for name in changed if given.get(name) is not None]


def unreturned(node: Any) -> list[Any]:
    """Return the nodes whose elements a call changes in place, if its results are other tensors."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or any(result.alias_info is not None for result in schema.returns):
        return []
    return [node for item in written(node) for node in (item if isinstance(item, (list, tuple)) else [item])]


def written_to(schema: Any) -> tuple[str, ...]:
    """Return the names of the arguments that an operator only writes its results to, as ``aten.mm.out``."""
    return tuple(a.name for a in schema.arguments if a.is_out)


def _shares_memory(node: Any) -> bool:
    """Return True if an operator gives a view of its first tensor; it runs on tensors without memory."""
    torch = import_module("torch")
    first: list[Any] = []

    def plain(argument: Any) -> Any:
        value = argument.meta.get("val") if hasattr(argument, "meta") else argument
        if isinstance(value, torch.Tensor):
            sizes = _numbers(value.shape), _numbers(value.stride())
            first.append(torch.empty_strided(*sizes, dtype=value.dtype, device="meta"))
            return first[-1]
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return torch.device("meta") if isinstance(value, torch.device) else _numbers([value])[0]

    arguments = [plain(argument) for argument in node.args]
    result = node.target(*arguments, **{name: plain(argument) for name, argument in node.kwargs.items()})
    return bool(result.untyped_storage()._cdata == first[0].untyped_storage()._cdata)


def _numbers(sizes: Any) -> list[Any]:
    """Return sizes as numbers, symbolic ones at their values in the example."""
    return [_number(size.node) if hasattr(size, "node") else size for size in sizes]


def _number(node: Any) -> Any:
    """Return the value of a symbolic size in the example, or one that stands in for sizes that follow from data."""
    if node.hint is not None:
        return node.hint
    return int(node.expr.subs(dict.fromkeys(node.expr.free_symbols, _STAND_IN)))
