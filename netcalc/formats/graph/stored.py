"""Tensors of the source's checkpoint as parameters of lines: ties, and places under other names."""

from __future__ import annotations

from netcalc.formats.graph.builder import declaration
from netcalc.formats.graph.items import Entry, Sequence, Step, free_name, spec_name
from netcalc.formats.graph.model import Graph, Line, Stored, StoredTensor, operation_named
from netcalc.opdef import Context


def place_tensors(graph: Graph, root: Sequence) -> list[str]:
    """Name the lines that hold tensors, note which are tied or stored elsewhere, and declare those without use.

    Returns the paths of copies of tied tensors that are the paths of no parameter.
    """
    used: set[str] = set()
    tied: set[str] = set()
    _place(graph, root, "", graph.places, used, tied)
    _share(root, {})
    unused = [
        (path, tensor)
        for path, tensor in graph.tensors.items()
        if path not in used and (tensor.persistent or not tensor.buffer)
    ]
    for path, tensor in reversed(unused):
        _declare(root, path, tensor)
    return [path for path in graph.aliases if path not in tied]


def _place(
    graph: Graph, sequence: Sequence, path: str, owners: dict[Stored, str], used: set[str], tied: set[str]
) -> None:
    taken = {item.name for item in sequence.items if item.name}
    for item in sequence.items:
        if isinstance(item, Sequence):
            item.place = _joined_path(path, item.name)
            _place(graph, item, item.place, owners, used, tied)
            continue
        if not isinstance(item, Step) or not item.line.parameters:
            continue
        if not item.name:
            item.name = free_name(_holder_name(item.line), taken)
            taken.add(item.name)
        own = _joined_path(path, item.name)
        used |= {f"{own}.{name}" for name in _all_names(item.line)}
        for name, stored in item.line.parameters.items():
            natural = f"{own}.{name}" if name else own
            used.add(stored.path)
            if owners.setdefault(stored, natural) != natural:
                item.ties[name] = owners[stored]
                tied.add(natural)
            also = tuple(alias for alias, first in graph.aliases.items() if first == stored.path)
            if stored != Stored(owners[stored]) or also:
                item.entries[name] = _entry(stored, graph.tensors[stored.path])._replace(also=also)
        held = [graph.tensors[stored.path] for stored in item.line.parameters.values()]
        held = [tensor for tensor in held if not tensor.buffer]
        item.frozen = bool(held) and item.line.operation != "parameter" and not any(t.trainable for t in held)


def _share(sequence: Sequence, places: dict[str, str]) -> None:
    """Find further calls of modules, which use the tensors of the first call; ``places`` has the place of this one."""
    for item in sequence.items:
        if isinstance(item, Sequence):
            first = places.setdefault(item.path, item.place)
            if first != item.place and _is_tied(item, item.place, first):
                item.shares = first
            _share(item, places)


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
                if item.ties.get(name) != first + target:
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
    line = Line("buffer" if tensor.buffer else "parameter", declaration(tensor), (), (), (), {"": Stored(path)})
    name = spec_name(rest)
    sequence.items.insert(0, Step(line, name, True, entries={} if name == rest else {"": Entry(path)}))
