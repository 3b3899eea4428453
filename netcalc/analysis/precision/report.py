"""The storage of a network's parameters: bytes and bits by scheme, and the reasons for what is not quantised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.dims import Dim
from netcalc.ir import Body, CallNode, OpNode, Program, dtype_of, stored_bytes
from netcalc.opdef import Param

__all__ = ["StorageReport", "StoredGroup", "bits_of", "storage_report"]


class StoredGroup(NamedTuple):
    """Parameters that are stored alike: their number (``tensors``), elements and bytes.

    ``scheme`` is the name of a scheme or of an element type, ``sparsity`` is that of ``--prune`` or empty, and
    ``reason`` tells why a parameter is not stored as assigned.  ``parts`` are the bytes by the role of stored tensors:
    values, scales, zero points …
    """

    scheme: str
    sparsity: str
    reason: str
    tensors: int
    params: Dim
    bytes: Dim
    parts: dict[str, Dim]

    @property
    def bits(self) -> float | None:
        """Bits for each parameter; None if a size is symbolic, or if there are no parameters."""
        return bits_of(self.bytes, self.params)


class StorageReport(NamedTuple):
    """The storage of a network's parameters, each tied one once; ``groups`` have the most bytes first."""

    params: Dim
    bytes: Dim
    groups: tuple[StoredGroup, ...]

    @property
    def bits(self) -> float | None:
        """Bits for each parameter; None if a size is symbolic, or if there are no parameters."""
        return bits_of(self.bytes, self.params)


def bits_of(size: Dim, params: Dim) -> float | None:
    """Return the bits for each parameter; None if a size is symbolic, or if there are no parameters."""
    return 8 * size / params if isinstance(size, int) and isinstance(params, int) and params else None


def storage_report(program: Program) -> StorageReport:
    """Return how the parameters of a program are stored."""
    groups: dict[tuple[str, str, str], StoredGroup] = {}
    for param, node, times in _owned(program.main, 1):
        storage = param.storage
        scheme = dtype_of(param, node, program.dtype) if storage is None else storage.scheme
        sparsity = "" if storage is None or storage.sparsity is None else str(storage.sparsity)
        key = scheme, sparsity, "" if storage is None else storage.kept
        size = stored_bytes(param, node, program.dtype)
        parts: dict[str, Dim] = {"values": size}
        if storage is not None:
            parts = {tensor.role: tensor.bytes for tensor in storage.tensors}
        before = groups.get(key) or StoredGroup(*key, 0, 0, 0, {})
        groups[key] = before._replace(
            tensors=before.tensors + times,
            params=before.params + param.elements * times,
            bytes=before.bytes + size * times,
            parts=before.parts | {role: before.parts.get(role, 0) + part * times for role, part in parts.items()},
        )
    found = sorted(groups.values(), key=_rank)
    params, size = sum((group.params for group in found), start=0), sum((group.bytes for group in found), start=0)
    return StorageReport(params, size, tuple(found))


def _rank(group: StoredGroup) -> tuple[int, str]:
    return -group.bytes if isinstance(group.bytes, int) else 0, group.scheme


def _owned(body: Body, times: int) -> Iterator[tuple[Param, OpNode, int]]:
    """Yield each parameter that is not tied, with its operation and the number of its instances."""
    for node in body.nodes:
        if isinstance(node, CallNode):
            if node.shares is None:
                yield from _owned(node.body, times * node.times)
            continue
        yield from ((p, node, times) for p in node.params if not p.is_buffer and p.name not in node.ties)
