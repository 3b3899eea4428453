"""Traversal of a program with repeats unrolled: full paths, parameters and their owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netcalc.dtypes import DType
from netcalc.ir import Body, CheckpointLocation, OpNode, Program, Tie, dtype_of, join
from netcalc.opdef import Param

__all__ = ["Instance", "ParameterInstance", "dtype_of", "instances", "parameters"]


class Instance(NamedTuple):
    """An operation of the unrolled program.

    ``owners`` maps the name of each parameter to the path of the tensor that is used, which is another path if the
    parameter is tied or its layer shares weights. ``locations`` maps it to its place in a reference checkpoint.
    """

    path: str
    node: OpNode
    owners: Mapping[str, str]
    locations: Mapping[str, CheckpointLocation]


class ParameterInstance(NamedTuple):
    """A parameter or buffer of the unrolled program; tied if ``owner`` is another path."""

    path: str
    param: Param
    dtype: DType
    owner: str
    frozen: bool
    location: CheckpointLocation | None
    op: str

    @property
    def tied(self) -> bool:
        """True if the tensor belongs to another path."""
        return self.owner != self.path


class _Place(NamedTuple):
    """Position of the traversal: the prefix of paths, that of parameter paths, and the checkpoint mappings in force."""

    prefix: str
    owner: str
    checkpoints: tuple[tuple[str, Mapping[str, CheckpointLocation]], ...]


def instances(program: Program) -> Iterator[Instance]:
    """Yield every operation in order of execution, repeats unrolled."""
    owners: dict[str, str] = {}  # tied paths only
    yield from _walk(program.main, _Place("", "", (("", program.main.checkpoint),)), owners)


def parameters(program: Program) -> Iterator[ParameterInstance]:
    """Yield every parameter and buffer once for each of its paths, in order of first use."""
    visited: set[str] = set()
    for instance in instances(program):
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
                instance.locations.get(param.name),
                instance.node.op.name,
            )


def _walk(body: Body, place: _Place, owners: dict[str, str]) -> Iterator[Instance]:
    for node in body.nodes:
        if isinstance(node, OpNode):
            yield _instance(node, place, owners)
            continue
        for index in range(node.times):
            name = node.instance(index)
            prefix = join(place.prefix, name)
            owner = join(place.owner, name) if node.shares is None else _target(node.shares, place)
            checkpoints = (*place.checkpoints, (prefix, node.body.checkpoint))
            yield from _walk(node.body, _Place(prefix, owner, checkpoints), owners)


def _instance(node: OpNode, place: _Place, owners: dict[str, str]) -> Instance:
    used: dict[str, str] = {}
    locations: dict[str, CheckpointLocation] = {}
    for param in node.params:
        path = join(join(place.prefix, node.name), param.name)
        tie = node.ties.get(param.name)
        target = join(join(place.owner, node.name), param.name) if tie is None else _target(tie, place)
        owner = owners.get(target, target)
        if owner != path:
            owners[path] = owner
        used[param.name] = owner
        location = _location(path, place)
        if location is not None:
            locations[param.name] = location
    return Instance(join(place.prefix, node.name), node, used, locations)


def _target(tie: Tie, place: _Place) -> str:
    return tie.target if tie.absolute else join(place.owner, tie.target)


def _location(path: str, place: _Place) -> CheckpointLocation | None:
    """Return the place of a parameter in the checkpoint, as the innermost block that maps it declares it.

    The name is absolute.
    """
    for prefix, checkpoint in reversed(place.checkpoints):
        relative = path.removeprefix(prefix + ".") if prefix else path
        if relative in checkpoint:
            location = checkpoint[relative]
            name = location.name[1:] if location.name.startswith("/") else join(prefix, location.name)
            return location._replace(name=name)
    return None
