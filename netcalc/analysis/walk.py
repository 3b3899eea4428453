"""Traversal of a program with repeats unrolled: full paths, parameters and their owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from netcalc.analysis.counting import require_visits
from netcalc.dtypes import DType
from netcalc.ir import Body, CheckpointEntry, CheckpointMap, OpNode, Program, Tie, dtype_of, join
from netcalc.opdef import Param

__all__ = ["Instance", "ParameterInstance", "dtype_of", "instances", "parameters"]

#: The checkpoint entries of the spec and of the blocks around an operation, outermost first, with the paths of these.
_Maps: TypeAlias = tuple[tuple[str, CheckpointMap], ...]


class Instance(NamedTuple):
    """An operation of the unrolled program.

    ``owners`` maps the name of each parameter to the path of the tensor that is used, which is another path if the
    parameter is tied or its layer shares weights.
    """

    path: str
    node: OpNode
    owners: Mapping[str, str]
    checkpoints: _Maps


class ParameterInstance(NamedTuple):
    """A parameter or buffer of the unrolled program; tied if ``owner`` is another path.

    ``checkpoints`` are the maps that may have an entry for it.
    """

    path: str
    param: Param
    dtype: DType
    owner: str
    frozen: bool
    op: str
    checkpoints: _Maps

    @property
    def tied(self) -> bool:
        """True if the tensor belongs to another path."""
        return self.owner != self.path

    @property
    def entries(self) -> tuple[CheckpointEntry, ...]:
        """Declared places in the reference's checkpoint, under full names; places of the spec precede its blocks'."""
        places = ((prefix, checkpoint.find(_path_below(self.path, prefix))) for prefix, checkpoint in self.checkpoints)
        return tuple(_absolute(entry, prefix) for prefix, entry in places if entry is not None)


class _Place(NamedTuple):
    """Position of the traversal: the prefixes of paths and of parameter paths, and the checkpoint mappings in force."""

    prefix: str
    owner: str
    checkpoints: _Maps


def instances(program: Program, *, with_parameters: bool = False) -> Iterator[Instance]:
    """Yield every operation, or those with parameters, in order of execution with repeats unrolled.

    Raises:
        NetcalcError: E603 if there are too many.
    """
    require_visits(program)
    owners: dict[str, str] = {}  # tied paths only
    yield from _walk(program.main, _Place("", "", _add_map(program.main, "", ())), owners, with_parameters)


def parameters(program: Program) -> Iterator[ParameterInstance]:
    """Yield every parameter and buffer once for each of its paths, in order of first use."""
    visited: set[str] = set()
    for instance in instances(program, with_parameters=True):
        for param in instance.node.params:
            path = join(instance.path, param.name)
            if path in visited:
                continue  # a further iteration of a repeat that shares its weights
            visited.add(path)
            yield ParameterInstance(
                path,
                param,
                dtype_of(param, instance.node, program.dtype),
                instance.owners[param.name],
                instance.node.frozen,
                instance.node.op.name,
                instance.checkpoints,
            )


def _walk(body: Body, place: _Place, owners: dict[str, str], with_parameters: bool) -> Iterator[Instance]:
    for node in body.nodes:
        if isinstance(node, OpNode):
            if node.params or not with_parameters:
                yield _instance(node, place, owners)
            continue
        for index in range(node.times):
            name = node.instance(index)
            prefix = join(place.prefix, name)
            owner = join(place.owner, name) if node.shares is None else _target(node.shares, place)
            inner = _Place(prefix, owner, _add_map(node.body, prefix, place.checkpoints))
            yield from _walk(node.body, inner, owners, with_parameters)


def _instance(node: OpNode, place: _Place, owners: dict[str, str]) -> Instance:
    used: dict[str, str] = {}
    for param in node.params:
        path = join(join(place.prefix, node.name), param.name)
        tie = node.ties.get(param.name)
        target = join(join(place.owner, node.name), param.name) if tie is None else _target(tie, place)
        owner = owners.get(target, target)
        if owner != path:
            owners[path] = owner
        used[param.name] = owner
    return Instance(join(place.prefix, node.name), node, used, place.checkpoints)


def _target(tie: Tie, place: _Place) -> str:
    return tie.target if tie.absolute else join(place.owner, tie.target)


def _add_map(body: Body, prefix: str, outer: _Maps) -> _Maps:
    return (*outer, (prefix, body.checkpoint)) if body.checkpoint else outer


def _path_below(path: str, prefix: str) -> str:
    return path.removeprefix(prefix + ".") if prefix else path


def _absolute(entry: CheckpointEntry, prefix: str) -> CheckpointEntry:
    def full(name: str) -> str:
        return name[1:] if name.startswith("/") else join(prefix, name)

    return entry._replace(
        path=join(prefix, entry.path), alternatives=tuple(a.renamed(full) for a in entry.alternatives)
    )
