"""Programs whose parameters are stored in other forms than the element type of the network.

Shapes, work and values of the program stay as they are: only :attr:`netcalc.opdef.Param.storage` changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic
from netcalc.ir.places import split_call
from netcalc.ir.program import Body, CallNode, Node, OpNode, Program, Tie, join
from netcalc.opdef import Param, Storage

#: The key of the assignments in ``Program.assigned`` that say how the checkpoint of a model stores its parameters.
OWN = "checkpoint"


class Site(NamedTuple):
    """A parameter at its path.  ``owner`` is the path of the tensor that is used, another one if it is tied."""

    path: str
    owner: str
    param: Param
    node: OpNode


class OwnStorage(NamedTuple):
    """Storage of the parameters of a model in its checkpoint.

    Attributes:
        rules: what counts for a parameter, see :mod:`netcalc.schemes.rules`, or assignments ``PATTERN=SCHEME``.
        text: the schemes in words.
        assumed: True if nothing names the element type of the model.
        of_file: True if the headers of a file say so, and not a configuration, in whose place an element type may come.
        unsettled: errors that say why the bytes do not follow, unless options say how parameters are stored.
    """

    rules: tuple[Any, ...] = ()
    text: str = ""
    assumed: bool = False
    of_file: bool = False
    unsettled: tuple[Diagnostic, ...] = ()


#: Return the form in which a parameter is stored; None leaves it as it is.
Choose: TypeAlias = Callable[[Site], Storage | None]


def with_storage(program: Program, choose: Choose, *, by_iteration: bool) -> Program:
    """Return the program with parameters stored as ``choose`` says; a tied parameter is stored as its owner.

    A repeat is split where iterations differ.  Bodies whose parameters are stored alike stay one object.  Unless
    ``by_iteration``, the choice does not depend on the numbers in paths, and is made for the first iteration only.
    """
    return replace(program, main=_Storing(choose, by_iteration).body(program.main, "", ""))


def as_executed(program: Program) -> Program:
    """Return the program as a run has it: parameters that only its checkpoint stores otherwise have their own types."""
    if OWN not in program.assigned:
        return program

    def choose(site: Site) -> Storage | None:
        storage = site.param.storage
        return None if storage is not None and storage.is_own else storage

    return with_storage(program, choose, by_iteration=False)


class _Storing:
    """State of the transformation: the bodies that were made, and the choice for each owner."""

    def __init__(self, choose: Choose, by_iteration: bool) -> None:
        self._choose = choose
        self._by_iteration = by_iteration
        self._made: dict[tuple[Body, tuple[object, ...]], Body] = {}
        self._chosen: dict[str, Storage | None] = {}
        self._owners: dict[str, str] = {}  # of tied paths

    def body(self, body: Body, prefix: str, owner: str) -> Body:
        """Return the body as it is at a path; ``owner`` is the path below which its parameters are found."""
        parts: list[object] = []
        for node in body.nodes:
            if isinstance(node, OpNode):
                parts.append(tuple(self._storage(site) for site in self._sites(node, prefix, owner)))
            else:
                parts.append(tuple(self._iterations(node, prefix, owner)))
        key = body, tuple(parts)
        if key not in self._made:
            nodes = tuple(
                made
                for node, part in zip(body.nodes, parts, strict=True)
                for made in (_with_storages(node, part) if isinstance(node, OpNode) else _split_by_runs(node, part))  # type: ignore[arg-type]
            )
            same = len(nodes) == len(body.nodes) and all(a is b for a, b in zip(nodes, body.nodes, strict=True))
            self._made[key] = body if same else replace(body, nodes=nodes)
        return self._made[key]

    def _iterations(self, node: CallNode, prefix: str, owner: str) -> Iterator[tuple[Body, int]]:
        """Yield the bodies of the iterations, each with the number of iterations in a row that have it."""
        single = node.start is None or not self._by_iteration
        bodies = []
        for index in range(1 if single else node.times):
            name = node.instance(index)
            inside = join(owner, name) if node.shares is None else _path_of_target(node.shares, owner)
            bodies.append(self.body(node.body, join(prefix, name), inside))
        if single:
            yield bodies[0], node.times
            return
        for _, run in groupby(bodies, key=id):
            same = list(run)
            yield same[0], len(same)

    def _sites(self, node: OpNode, prefix: str, owner: str) -> Iterator[Site]:
        for param in node.params:
            path = join(join(prefix, node.name), param.name)
            tie = node.ties.get(param.name)
            target = join(join(owner, node.name), param.name) if tie is None else _path_of_target(tie, owner)
            own = self._owners.get(target, target)
            if own != path:
                self._owners[path] = own
            yield Site(path, own, param, node)

    def _storage(self, site: Site) -> Storage | None:
        if site.owner not in self._chosen:
            self._chosen[site.owner] = self._choose(site)
        return self._chosen[site.owner]


def _path_of_target(tie: Tie, owner: str) -> str:
    return tie.target if tie.absolute else join(owner, tie.target)


def _with_storages(node: OpNode, storages: tuple[Storage | None, ...]) -> Iterator[Node]:
    """Yield the operation with its parameters stored in these forms."""
    if all(param.storage is storage for param, storage in zip(node.params, storages, strict=True)):
        yield node
        return
    params = zip(node.params, storages, strict=True)
    yield replace(node, params=tuple(replace(param, storage=storage) for param, storage in params))


def _split_by_runs(call: CallNode, runs: tuple[tuple[Body, int], ...]) -> Iterator[Node]:
    """Yield calls that together are ``call``, one for each run of iterations with one body."""
    if len(runs) == 1:
        yield call if runs[0][0] is call.body else replace(call, body=runs[0][0])
        return
    yield from split_call(call, runs)
