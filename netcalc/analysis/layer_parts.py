"""Memory of a network by its repeating layers, and by what precedes and follows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.activations.records import Activations
from netcalc.analysis.caches.conventions import CacheConvention
from netcalc.analysis.caches.layers import LayerCache
from netcalc.analysis.walk import Instance, instances
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.dtypes import FLOATS
from netcalc.ir import OpNode, Program, join, stored_bytes

#: Part of a network: what is computed from images and sounds, what precedes the layers, a layer, what follows them.
Slot: TypeAlias = Literal["projector", "input", "output"] | int

#: The operation whose parameters are those of routed experts.
_EXPERTS = "experts"
_LAYER = re.compile(r"(.+?)\.(\d+)\.")


class LayerMemory(NamedTuple):
    """Bytes of a layer, or of what precedes or follows all layers."""

    weights: int = 0
    """Parameters and buffers, without those of routed experts."""
    experts: int = 0
    """Parameters of routed experts."""
    caches: Mapping[str, int] = {}
    """Caches and states, by convention."""
    activations: int = 0
    """The most bytes that are live while it runs."""
    expert_activations: int = 0
    """The most bytes that are live while its experts run."""


@dataclass(frozen=True, slots=True)
class LayerParts:
    """Memory of a network by layer.

    Attributes:
        list: path of the layers, such as ``model.layers``.
        input: what precedes the layers, such as embeddings.
        layers: the repeating layers.
        output: what follows them, such as the last norm and the logits.
        projector: what is computed from images and sounds before the layers.
        copied: bytes of parameters of the output that are tied to the input: copied where the two are apart.
        conventions: names of the conventions of caches.
    """

    list: str
    input: LayerMemory
    layers: Sequence[LayerMemory]
    output: LayerMemory
    projector: LayerMemory
    copied: int
    conventions: tuple[str, ...]


@dataclass(slots=True)
class _Sums:
    weights: int = 0
    experts: int = 0
    caches: dict[str, int] = field(default_factory=dict)
    activations: int = 0
    expert_activations: int = 0

    @property
    def memory(self) -> LayerMemory:
        return LayerMemory(self.weights, self.experts, self.caches, self.activations, self.expert_activations)


def layer_parts(
    program: Program,
    kept: Sequence[LayerCache],
    conventions: Sequence[CacheConvention],
    peaks: Activations,
    held: Mapping[str, int] | None = None,
) -> LayerParts:
    """Return the memory of a program by layer.

    Args:
        program: the program, whose sizes are numbers.
        kept: its caches and states.
        conventions: the conventions of their memory, applied to the program.
        peaks: the ideal activations beside the caches.
        held: bytes of parameters by path, by the headers of files; those of the program by default.

    Raises:
        NetcalcError: E502 for a network without repeating layers that keep caches, or with several stacks of them;
            E603 for one with too many operations to go through one by one.
    """
    if not kept:
        raise _refused(program, "keeps no caches, so that it has no layers that decode")
    if any(cache.kind == "cross" for cache in kept):
        raise _refused(program, "has an encoder and a decoder")
    every = list(instances(program))
    name, count = _list_of(program, every, held)
    slots = list(_slots(program, every, name))
    sums: dict[Slot, _Sums] = {slot: _Sums() for slot in ("projector", "input", *range(count), "output")}
    copied = 0
    owner_slots: dict[str, Slot] = {}
    for instance, slot in zip(every, slots, strict=True):
        for param in instance.node.params:
            path = join(instance.path, param.name)
            owner = instance.owners[param.name]
            if owner in owner_slots:
                size = _size(program, instance, owner, param.name, held)
                copied += size if slot == "output" and owner_slots[owner] == "input" else 0
                continue
            owner_slots[owner] = slot
            size = _size(program, instance, path, param.name, held)
            if instance.node.op.name == _EXPERTS:
                sums[slot].experts += size
            else:
                sums[slot].weights += size
    for cache in kept:
        if cache.layer is None or cache.layer >= count:
            raise _refused(program, f"keeps {cache.name}, which belongs to no layer of {name}")
        own = sums[cache.layer].caches
        for rule in conventions:
            own[rule.name] = own.get(rule.name, 0) + integer(cache.bytes(rule))
    _add_activations(sums, dict(zip((one.path for one in every), slots, strict=True)), peaks)
    return LayerParts(
        name,
        sums["input"].memory,
        tuple(sums[index].memory for index in range(count)),
        sums["output"].memory,
        sums["projector"].memory,
        copied,
        tuple(rule.name for rule in conventions),
    )


def _size(program: Program, instance: Instance, path: str, name: str, held: Mapping[str, int] | None) -> int:
    if held is not None and path in held:
        return held[path]
    param = next(param for param in instance.node.params if param.name == name)
    return integer(stored_bytes(param, instance.node, program.dtype))


def _list_of(program: Program, every: Sequence[Instance], held: Mapping[str, int] | None) -> tuple[str, int]:
    """Return the path and the number of the repeating layers: of all numbered lists the one with the most bytes."""
    sizes: dict[str, int] = {}
    numbers: dict[str, set[int]] = {}
    for instance in every:
        match = _LAYER.match(f"{instance.path}.")
        if match is not None:
            own = (param for param in instance.node.params if param.name not in instance.node.ties)
            size = sum(_size(program, instance, join(instance.path, p.name), p.name, held) for p in own)
            sizes[match[1]] = sizes.get(match[1], 0) + size
            numbers.setdefault(match[1], set()).add(int(match[2]))
    if not sizes:
        raise _refused(program, "has no repeating layers")
    name = max(sizes, key=lambda path: sizes[path])
    if numbers[name] != set(range(len(numbers[name]))):
        raise _refused(program, f"has layers in {name} that are not numbered from 0")
    return name, len(numbers[name])


def _slots(program: Program, every: Sequence[Instance], name: str) -> Iterator[Slot]:
    """Yield the slot of each operation, in order of execution; what stands between layers belongs to the earlier."""
    media = _computed_from_media(program)
    last = max(index for index, one in enumerate(every) if one.path.startswith(f"{name}."))
    current: Slot = "input"
    for index, instance in enumerate(every):
        match = _LAYER.match(f"{instance.path}.")
        if match is not None and match[1] == name:
            current = int(match[2])
        if index > last:
            yield "output"
        elif current == "input" and f"{instance.path}.".startswith(media):
            yield "projector"
        else:
            yield current


def _computed_from_media(program: Program) -> tuple[str, ...]:
    """Return the beginnings of paths of operations that depend on images or sounds: on inputs of numbers."""
    caches = {entry.input for entry in program.caches.entries}
    depends = {
        value
        for value, spec in zip(program.main.inputs, program.inputs, strict=True)
        if value is not None and spec.name not in caches and spec.type.dtype in FLOATS
    }
    found = []
    for node in program.main.nodes:
        if depends.intersection(node.inputs):
            depends.update(node.outputs)
            found.append(f"{node.name}." if isinstance(node, OpNode) or node.start is None else node.stem)
    return tuple(found)


def _add_activations(sums: Mapping[Slot, _Sums], slots: Mapping[str, Slot], peaks: Activations) -> None:
    """Add the bytes that are live while each slot runs, and while its experts run."""
    for point in peaks.points():
        slot = slots[point.path]
        run = range(slot, slot + point.repeat) if isinstance(slot, int) else (slot,)
        for each in run:
            if each in sums:
                sums[each].activations = max(sums[each].activations, point.bytes)
                if point.op == _EXPERTS:
                    sums[each].expert_activations = max(sums[each].expert_activations, point.bytes)


def _refused(program: Program, why: str) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", f"--gpu-layers: {program.name} {why}"))
