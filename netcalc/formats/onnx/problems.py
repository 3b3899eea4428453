"""Everything in a model that cannot be translated, as one error with the names of nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.onnx.messages import Node

#: Most problems that an error lists, and most names of tensors and of nodes in one of them.
_MOST, _NAMES, _NODES = 20, 3, 20


class Problems:
    """The problems of a model, in a file of this name."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._operators: dict[tuple[str, str], list[str]] = {}
        self._others: list[str] = []

    def operator(self, node: Node, reason: str) -> None:
        """Add a node whose operator cannot be translated."""
        kind = f"{node.domain}.{node.op}" if node.domain else node.op
        self._operators.setdefault((kind[:120], reason), []).append(node.label)

    def node(self, node: Node, reason: str) -> None:
        """Add a node that cannot be translated, with the reason."""
        self._others.append(f"{node.label}: {reason}")

    def missing(self, node: Node, names: Sequence[str], later: Collection[str]) -> None:
        """Add a node that reads values that nothing makes, or only nodes after it."""
        for name in names:
            why = "a later node makes: the graph has a cycle, or its nodes are out of order"
            self.node(node, f"it reads {name[:80]!r}, which {why if name in later else 'nothing makes'}")

    def input(self, name: str, reason: str) -> None:
        """Add an input that cannot be declared."""
        self._others.append(f"input {name[:80]!r}: {reason}")

    def output(self, name: str) -> None:
        """Add an output that nothing makes."""
        self._others.append(f"nothing makes the output {name[:80]!r}")

    def add(self, what: str, reason: str, names: Sequence[str]) -> None:
        """Add a problem of things by their names."""
        self._others.append(f"{what} {reason}: {_some(names)}")

    def error(self, message: str) -> NetcalcError:
        """Return an error of the file."""
        return NetcalcError(Diagnostic("E007", f"{self.path}: {message}"))

    def check(self) -> None:
        """Raise NetcalcError (E007) with all problems, if there are any."""
        found = []
        for (operator, reason), nodes in self._operators.items():
            listed = ", ".join(nodes[:_NODES])
            more = f" and {len(nodes) - _NODES} more" if len(nodes) > _NODES else ""
            count = f"{len(nodes)} nodes: {listed}{more}" if len(nodes) > 1 else listed
            what = f"operator {operator} is not known" if reason == "no rule" else f"operator {operator}: {reason}"
            found.append(f"{what} ({count})")
        found += self._others
        if not found:
            return
        rest = [f"{len(found) - _MOST} further problems"] if len(found) > _MOST else []
        raise NetcalcError(Diagnostic("E007", f"{self.path}: {problem}") for problem in [*found[:_MOST], *rest])


def _some(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name[:80]) for name in names[:_NAMES])
    return f"{listed} and {len(names) - _NAMES} more" if len(names) > _NAMES else listed
