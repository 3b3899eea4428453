"""Tensors of the source's checkpoint as parameters of lines: ties, and places under other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from netcalc.formats.graph.builder import declaration
from netcalc.formats.graph.items import Entry, Sequence, Step, free_name, spec_name
from netcalc.formats.graph.model import Graph, Line, Stored, StoredTensor, operation_named
from netcalc.opdef import Context


class Placed(NamedTuple):
    """The paths of copies of tied tensors that are those of no parameter, and of sequences and lines with tensors."""

    copies: list[str]
    paths: set[str]


def place_tensors(graph: Graph, root: Sequence) -> Placed:
    """Name the lines that hold tensors, note which are tied or stored elsewhere, and declare those without use."""
    placing = _Placing(graph)
    placing.place(root, "", ())
    placing.name_others(root, "")
    _share(root, (), {})
    unused = [
        (path, tensor) for path, tensor in graph.tensors.items() if path not in placing.used and not tensor.constant
    ]
    for path, tensor in reversed(unused):
        _declare(root, path, tensor)
    return Placed([path for path in graph.aliases if path not in placing.tied], placing.paths - placing.passing)


class _Owner(NamedTuple):
    """The line that holds a tensor first: its parameter's path in the network, and the sequences around it."""

    line: Step
    path: str
    around: tuple[Sequence, ...]


class _Placing:
    """The paths of the lines and sequences of a network, and of the tensors that the lines hold.

    Attributes:
        used: paths of parameters, and of tensors of the source that lines hold.
        tied: paths of parameters that are tied to earlier ones.
        paths: of the sequences and lines, in the order in which they take them.
        sequences: the paths of sequences among them.
        passing: the paths of lines among them that may lose their names.
        owners: the lines that hold a tensor first.
        held: tensors by the paths of the parameters that they are.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.used: set[str] = set()
        self.tied: set[str] = set()
        self.paths: set[str] = set()
        self.sequences: set[str] = set()
        self.passing: set[str] = set()
        self.owners: dict[Stored, _Owner] = {}
        self.held: dict[str, Stored] = {}

    def place(self, sequence: Sequence, path: str, around: tuple[Sequence, ...]) -> None:
        """Give paths to the sequences, and to the lines with tensors, in a sequence."""
        taken = {item.name for item in sequence.items if item.name}
        for item in sequence.items:
            if isinstance(item, Sequence):
                item.name = self._free(item.name, path, taken, {})
                item.place = _joined_path(path, item.name)
                self.sequences.add(item.place)
                self.place(item, item.place, (*around, item))
            elif isinstance(item, Step) and item.line.parameters:
                if not item.name:
                    item.name = free_name(_holder_name(item.line), taken)
                item.name = self._free(item.name, path, taken, item.line.parameters)
                item.place = _joined_path(path, item.name)
                self._hold(item, item.place, around)

    def name_others(self, sequence: Sequence, path: str) -> None:
        """Give lines without tensors other names where their paths are those of others, or lead into a sequence."""
        taken = {item.name for item in sequence.items if item.name}
        for item in sequence.items:
            if isinstance(item, Sequence):
                self.name_others(item, item.place)
            elif isinstance(item, Step) and item.name and not item.line.parameters:
                parts = item.name.split(".")
                leads = (_joined_path(path, ".".join(parts[:depth])) for depth in range(1, len(parts)))
                number = 1 if self.sequences.intersection(leads) else 0
                item.name = self._free(item.name, path, taken, {}, number)
                item.place = _joined_path(path, item.name)
                if not number:
                    self.passing.add(item.place)

    def _free(self, name: str, path: str, taken: set[str], parameters: Mapping[str, Stored], number: int = 0) -> str:
        """Return the name with the first number, from the one given, that is free; 0 stands for no number.

        Neither the path of the item nor those of its parameters are to be the paths of others, tensors included.
        """
        free = f"{name}_{number}" if number else name
        while (free != name and free in taken) or not self._is_free(_joined_path(path, free), parameters):
            number += 1
            free = f"{name}_{number}"
        taken.add(free)
        self.paths.add(_joined_path(path, free))
        return free

    def _is_free(self, own: str, parameters: Mapping[str, Stored]) -> bool:
        for name, stored in parameters.items():
            natural = f"{own}.{name}" if name else own
            if natural in self.graph.tensors and natural != stored.path:
                return False
            if self.held.get(natural, stored) != stored:
                return False
        return own not in self.paths and (own not in self.graph.tensors or "" in parameters)

    def _hold(self, item: Step, own: str, around: tuple[Sequence, ...]) -> None:
        """Note which tensors of a line are tied, and where the checkpoint has the others."""
        graph, places = self.graph, self.graph.places
        self.used |= {f"{own}.{name}" for name in _all_names(item.line)}
        for name, stored in item.line.parameters.items():
            natural = f"{own}.{name}" if name else own
            self.held[natural] = stored
            self.used.add(stored.path)
            owner = self.owners.setdefault(stored, _Owner(item, natural, around))
            places.setdefault(stored, natural)
            if owner.line is not item:
                item.ties[name] = _from_inside(owner.path, owner.around, around)
                self.tied.add(natural)
            also = tuple(alias for alias, first in graph.aliases.items() if first == stored.path)
            if stored != Stored(owner.path) or also:
                item.entries[name] = _entry(stored, graph.tensors[stored.path])._replace(also=also)
        held = [graph.tensors[stored.path] for stored in item.line.parameters.values()]
        held = [tensor for tensor in held if not tensor.buffer]
        item.frozen = bool(held) and item.line.operation != "parameter" and not any(t.trainable for t in held)


def _from_inside(path: str, around: tuple[Sequence, ...], inside: tuple[Sequence, ...]) -> str:
    """Return the path of something in the sequences ``around`` for a line in the sequences ``inside``.

    It has a leading slash if it only seems to lead into one of them, so that it is not taken for a path in there.
    """
    others = [sequence for sequence in inside if sequence not in around]
    return f"/{path}" if any(path.startswith(f"{sequence.place}.") for sequence in others) else path


def _share(
    sequence: Sequence, around: tuple[Sequence, ...], firsts: dict[str, tuple[str, tuple[Sequence, ...]]]
) -> None:
    """Find further calls of modules, which use the tensors of the first call; ``firsts`` has its place by path."""
    for item in sequence.items:
        if isinstance(item, Sequence):
            if not item.path:  # an iteration of a loop, which is no module
                _share(item, (*around, item), firsts)
                continue
            first, others = firsts.setdefault(item.path, (item.place, around))
            if first != item.place and _is_tied(item, item.place, first):
                item.shares = _from_inside(first, others, around)
            _share(item, (*around, item), firsts)


def _is_tied(sequence: Sequence, place: str, first: str) -> bool:
    """Return True if all tensors of a sequence are tied to those below ``first``, as they stand below ``place``."""
    for item in sequence.items:
        if isinstance(item, Sequence):
            if not _is_tied(item, place, first):
                return False
        elif isinstance(item, Step):
            own = _joined_path(sequence.place, item.name)
            for name in item.line.parameters:
                target = (f"{own}.{name}" if name else own).removeprefix(place)
                if item.ties.get(name, "").removeprefix("/") != first + target:
                    return False
    return True


def _entry(stored: Stored, tensor: StoredTensor) -> Entry:
    """Return the place of a stored tensor, as one of equal chunks where it is."""
    if stored.part is None:
        return Entry(stored.path, transpose=stored.transpose)
    start, stop = stored.part
    rows, size = tensor.type.shape[0], stop - start
    if isinstance(rows, int) and rows % size == 0 and start % size == 0:
        return Entry(stored.path, (start // size, rows // size), True, stored.transpose)
    return Entry(stored.path, stored.part, False, stored.transpose)


def _all_names(line: Line) -> list[str]:
    """Return the names of all tensors of an operation, those that the source does not mention included."""
    if line.operation in ("parameter", "buffer"):  # a buffer may be computed by lines that are not elaborated yet
        return [""]
    declared = operation_named(line.operation)
    types = [None if value is None else value.type for value in line.inputs]
    return [param.name for param in declared(**line.attributes).params(Context(), *types)]


def _holder_name(line: Line) -> str:
    """Return a name for a line whose tensors have other names in the source: their common beginning."""
    names = {
        stored.path.rpartition(".")[2].removesuffix(f"_{name}") for name, stored in line.parameters.items() if name
    }
    holder = names.pop() if len(names) == 1 else ""
    return holder if holder.isidentifier() and holder not in line.parameters else line.operation


def _joined_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _declare(root: Sequence, path: str, tensor: StoredTensor) -> None:
    """Add a line for a tensor that no operation uses, at the beginning of the innermost sequence that it belongs to."""
    sequence, rest = root, path
    while True:
        inner = next(
            (i for i in sequence.items if isinstance(i, Sequence) and i.path and rest.startswith(f"{i.name}.")), None
        )
        if inner is None:
            break
        sequence, rest = inner, rest.removeprefix(f"{inner.name}.")
    is_known = tensor.persistent and not tensor.unknown
    declared = declaration(tensor if is_known else replace(tensor, value=None))
    line = Line("buffer" if tensor.buffer else "parameter", declared, (), (), (), {"": Stored(path)})
    name = spec_name(rest)
    sequence.items.insert(0, Step(line, name, True, entries={} if name == rest else {"": Entry(path)}))
