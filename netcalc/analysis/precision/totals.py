"""Bytes of the weights of a program in one scheme after the other, without a program for each of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from netcalc.analysis.precision.assignments import assignments
from netcalc.analysis.precision.choice import Choice
from netcalc.analysis.precision.places import Kinds
from netcalc.analysis.precision.recipes import tensors_of
from netcalc.analysis.walk import instances
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.ir import Program, dtype_of, join, stored_bytes
from netcalc.ir.storage import Site


class _Alike(NamedTuple):
    """Parameters that a scheme stores alike, unless their numbers count."""

    tensor: str
    """Name of ggml for what they are."""
    sites: list[Site]


class StoredTotals:
    """The parameters of a program in full precision, by what their forms depend on.

    Raises:
        NetcalcError: E603 for a program with too many parameters to go through them one by one.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._others = 0  # bytes of what no scheme changes
        self._groups: dict[Hashable, _Alike] = {}
        kinds = Kinds.of(program)
        tensors = tensors_of(program, kinds)
        for instance in instances(program, with_parameters=True):
            node = instance.node
            for param in node.params:
                path = join(instance.path, param.name)
                if instance.owners[param.name] != path:
                    continue
                dtype = dtype_of(param, node, program.dtype)
                if param.is_buffer:
                    self._others += integer(stored_bytes(param, node, program.dtype))
                    continue
                tensor = tensors.get(path, "plain")
                key = kinds.kind(node, param), node.op.name, param.name, param.shape, dtype, tensor
                site = Site(path, path, param, node)
                self._groups.setdefault(key, _Alike(tensor, [])).sites.append(site)

    def bytes(self, scheme: str) -> int:
        """Return the bytes of all parameters and buffers, as those of a program that is stored in the scheme.

        Raises:
            NetcalcError: E502 for a scheme that none of the parameters can be stored in.
        """
        choice = Choice(self._program, assignments("--quantize", [scheme]), [])
        total = self._others
        for tensor, sites in self._groups.values():
            differ = choice.numbers_count(tensor)
            each = sum(self._bytes(choice, site) for site in (sites if differ else sites[:1]))
            total += each if differ else each * len(sites)
        if choice.problems:
            raise NetcalcError(choice.problems)
        return total

    def _bytes(self, choice: Choice, site: Site) -> int:
        storage = choice.choose(site)
        if storage is not None:
            return integer(storage.bytes)
        return integer(stored_bytes(site.param, site.node, self._program.dtype))
