"""Bytes of parameters and buffers, by the form in which they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from netcalc.dims import Dim
from netcalc.dims.settled import joined
from netcalc.ir import Body, OpNode, Program, dtype_of, stored_bytes
from netcalc.opdef import Param

#: Last names of the operations of low-rank adapters.
_ADAPTERS = ("lora_A", "lora_B")


class StoredWeights(NamedTuple):
    """Parameters or buffers of one form."""

    role: str
    """weights, adapters or buffers."""
    scheme: str
    """Element type, or name of the scheme of precision and sparsity."""
    elements: Dim
    bytes: Dim


def stored_weights(program: Program) -> tuple[StoredWeights, ...]:
    """Return the parameters and buffers of a program by role and scheme, tied ones counted once."""
    forms = _Forms(program).body(program.main)
    return sorted_by_role(StoredWeights(*form, *figures) for form, figures in forms.items())


def sorted_by_role(groups: Iterable[StoredWeights]) -> tuple[StoredWeights, ...]:
    """Return weights, then adapters, then buffers."""
    order = {"weights": 0, "adapters": 1, "buffers": 2}
    return tuple(sorted(groups, key=lambda group: order[group.role]))


def role_of(param: Param, operation: str) -> str:
    """Return the role of a parameter of an operation of a name: weights, adapters or buffers."""
    if param.is_buffer:
        return "buffers"
    return "adapters" if operation.rpartition(".")[2] in _ADAPTERS else "weights"


class _Forms:
    """Elements and bytes by role and scheme, computed once for each body."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[Body, dict[tuple[str, str], tuple[Dim, Dim]]] = {}

    def body(self, body: Body) -> dict[tuple[str, str], tuple[Dim, Dim]]:
        if body not in self._known:
            total: dict[tuple[str, str], tuple[Dim, Dim]] = {}
            for node in body.nodes:
                if isinstance(node, OpNode):
                    for key, elements, size in self._operation(node):
                        _add(total, key, elements, size)
                    continue
                if node.shares is not None:
                    continue
                for key, (elements, size) in self.body(node.body).items():
                    _add(total, key, elements * node.times, size * node.times)
            self._known[body] = {key: (joined(elements), joined(size)) for key, (elements, size) in total.items()}
        return self._known[body]

    def _operation(self, node: OpNode) -> Iterator[tuple[tuple[str, str], Dim, Dim]]:
        for param in node.params:
            if param.name in node.ties:
                continue
            role = role_of(param, node.name)
            dtype = dtype_of(param, node, self._program.dtype)
            scheme = dtype if param.storage is None else param.storage.scheme
            if param.storage is not None and param.storage.sparsity is not None:
                scheme = f"{scheme}, {param.storage.sparsity}"
            yield (role, scheme), param.elements, stored_bytes(param, node, self._program.dtype)


def _add(total: dict[tuple[str, str], tuple[Dim, Dim]], key: tuple[str, str], elements: Dim, size: Dim) -> None:
    before = total.get(key, (0, 0))
    total[key] = before[0] + elements, before[1] + size
