"""Tensors of a checkpoint by the prefixes of their names, equal numbered parts together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netcalc.analysis.folding import Numbers, patterns, runs
from netcalc.weights.content import CheckpointTensor, CheckpointTotals, Group

__all__ = ["FIGURES", "Group", "checkpoint_rows", "checkpoint_tree", "tensor_group"]

#: Names of the figures of a group.
FIGURES = CheckpointTotals._fields
#: Levels of a tree; the rest of a longer name is one level.
_LEVELS = 40
#: Digits of the greatest number of a part.
_DIGITS = 9


def checkpoint_tree(tensors: Iterable[CheckpointTensor], *, unroll: bool = False) -> tuple[Group, ...]:
    """Return tensors by prefix; equal parts whose numbers follow a pattern are one group unless ``unroll``."""
    root = _Node()
    for tensor in tensors:
        node = root
        for part in tensor.name.split(".", _LEVELS):
            node = node.children.setdefault(part, _Node())
        node.tensor = tensor
    if not unroll:
        root.sign({})
    return tuple(_groups(root, "", "", unroll))


def checkpoint_rows(groups: Sequence[Group], depth: int | None = None, repeat: int = 1) -> Iterator[Group]:
    """Yield the tensors of a tree, or the groups at a depth, each with the number of all its instances."""
    for group in groups:
        if group.children and (depth is None or depth > 1):
            yield from checkpoint_rows(group.children, depth and depth - 1, group.repeat * repeat)
        else:
            yield group._replace(repeat=group.repeat * repeat)


def tensor_group(tensor: CheckpointTensor) -> Group:
    """Return a tensor as a group of its own."""
    figures = CheckpointTotals(1, tensor.params, tensor.elements, tensor.bytes)
    return Group(tensor.name, tensor.name, 1, tensor.shape, figures, (tensor.dtype,), (tensor.file,))


class _Node:
    """A part of a name: the tensor of this name, and the parts that follow it."""

    __slots__ = ("children", "kind", "tensor")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.tensor: CheckpointTensor | None = None
        self.kind = 0

    def sign(self, kinds: dict[object, int]) -> int:
        """Give equal numbers to nodes with equal tensors below them."""
        below = tuple(sorted((part, child.sign(kinds)) for part, child in self.children.items()))
        own = None if self.tensor is None else (*self.tensor[1:6], self.tensor.scheme)  # all but name and file
        self.kind = kinds.setdefault((own, below), len(kinds))
        return self.kind


def _groups(node: _Node, name: str, title: str, unroll: bool) -> Iterator[Group]:
    """Yield the groups below a node, whose numbered parts stand where the first of them does."""
    numbered = {part: child for part, child in node.children.items() if _is_number(part)}
    placed = False
    for part, child in node.children.items():
        if part not in numbered:
            only = _only_tensor(child)  # shown on one line
            path = part if only is None else f"{part}.{only}"
            child = child if only is None else child.children[only]
            yield _group(child, name + path, title + path, 1, unroll)
        elif not placed:
            placed = True
            children = sorted((int(part), child) for part, child in numbered.items())
            for numbers in [Numbers(number) for number, _ in children] if unroll else _folded(children):
                first = str(numbers.first)
                yield _group(numbered[first], name + first, title + str(numbers), numbers.size, unroll)


def _only_tensor(node: _Node) -> str | None:
    """Return the name of a tensor that is all there is below a node; None if there is more."""
    if node.tensor is not None or len(node.children) != 1:
        return None
    ((part, child),) = node.children.items()
    return None if child.children or _is_number(part) else part


def _folded(children: Sequence[tuple[int, _Node]]) -> list[Numbers]:
    """Return the patterns of numbers of equal nodes, in the order of their first numbers."""
    alike: dict[int, list[int]] = {}
    for number, node in children:
        alike.setdefault(node.kind, []).append(number)
    return sorted(numbers for same in alike.values() for numbers in patterns(list(runs(same))))


def _group(node: _Node, name: str, title: str, repeat: int, unroll: bool) -> Group:
    """Return the group of a node; a tensor that has others below it is the first of them."""
    own = []
    if (tensor := node.tensor) is not None:
        leaf = tensor_group(tensor)._replace(title=title)
        if not node.children:
            return leaf._replace(repeat=repeat)
        own = [leaf]
    children = (*own, *_groups(node, f"{name}.", f"{title}.", unroll))
    sums = CheckpointTotals(*(sum(child.figure(name) * child.repeat for child in children) for name in FIGURES))
    dtypes = dict.fromkeys(dtype for child in children for dtype in child.dtypes)
    files = dict.fromkeys(file for child in children for file in child.files)
    return Group(name, title, repeat, None, sums, tuple(dtypes), tuple(files), children)


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _DIGITS and (part[0] != "0" or part == "0")
