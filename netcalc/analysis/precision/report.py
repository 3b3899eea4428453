"""The storage of a network's parameters: bytes and bits by scheme, and the reasons for what is not quantized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.dims import Dim
from netcalc.ir import Body, CallNode, OpNode, Program, dtype_of, stored_bytes
from netcalc.opdef import Param
from netcalc.results import recorded


@recorded("scheme", "sparsity", "reason", "tensors", "params", "bytes", "bits", "parts")
class StoredGroup(NamedTuple):
    """Parameters that are stored alike."""

    scheme: str
    """Name of the scheme, or of the element type."""
    sparsity: str
    """The elements that are removed, as in `--prune`; empty if none are."""
    reason: str
    """The reason why parameters are not stored as assigned; empty if they are."""
    tensors: int
    """Number of parameters."""
    params: Dim
    """Elements of them all."""
    bytes: Dim
    parts: dict[str, Dim]
    """Bytes by what they hold: values, scales, zero points …"""

    @property
    def bits(self) -> float | None:
        """Bits for each element; null if a size is symbolic, or if there are no parameters."""
        return bits_of(self.bytes, self.params)


@recorded("bits", "groups")
class StorageReport(NamedTuple):
    """The storage of parameters, with `--quantize` and `--prune`; the groups with the most bytes first."""

    params: Dim
    bytes: Dim
    groups: tuple[StoredGroup, ...]

    @property
    def bits(self) -> float | None:
        """Bits for each parameter of the network; null if a size is symbolic, or if there are no parameters."""
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
    ranked = sorted(groups.values(), key=_rank)
    params, size = sum((group.params for group in ranked), start=0), sum((group.bytes for group in ranked), start=0)
    return StorageReport(params, size, tuple(ranked))


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
