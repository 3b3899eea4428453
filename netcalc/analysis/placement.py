"""Bytes by place: layers, experts and further models on a device and in the memory of its host, as llama.cpp puts them.

The embeddings stay on the host.  The output counts as one layer behind all others, and the last ones go to the device
first; their caches go with them.  Routed experts stay on the host in the first layers, if that is asked for.  Images
and sounds are computed on the device.  See ``llama_model::load_tensors`` in ``src/llama-model.cpp`` of llama.cpp, and
``--n-gpu-layers``, ``--n-cpu-moe`` and ``--cpu-moe`` in its ``common/arg.cpp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netcalc.analysis.activations.records import Activations
from netcalc.analysis.caches.layers import LayerCache
from netcalc.analysis.layer_parts import LayerMemory, LayerParts
from netcalc.analysis.stored_weights import StoredWeights
from netcalc.results import recorded


@recorded("name", "weights", "caches", "activations", "beside", "totals")
class PlaceMemory(NamedTuple):
    """Memory of a place, in bytes."""

    name: str
    """device or host."""
    weights: int
    caches: Mapping[str, int]
    """Caches and states, by convention."""
    activations: int
    """The most bytes that are live while a part of the network runs here."""
    beside: Mapping[str, int] = {}
    """Companions and the draft model, with caches and activations, by convention."""
    parts: tuple[tuple[str, int], ...] = ()
    """Bytes of weights by part of the network."""

    @property
    def totals(self) -> Mapping[str, int]:
        """Bytes in all, by convention."""
        own = self.weights + self.activations
        return {name: own + size + self.beside.get(name, 0) for name, size in self.caches.items()}


@recorded("role", "name", "weights", "caches", "activations")
class BesideModel(NamedTuple):
    """A model that is loaded beside the network, on the device."""

    role: str
    """companion or draft."""
    name: str
    weights: int
    caches: Mapping[str, int] = {}
    """Caches and states, by convention; none for a companion."""
    activations: int | None = None
    """Peak of its ideal activations; null if its architecture is not known, so that they are not counted."""
    stored: tuple[StoredWeights, ...] = ()
    """Weights and buffers by scheme."""
    kept: tuple[LayerCache, ...] = ()
    """Caches and states of its layers."""
    live: Activations | None = None
    """The ideal activations."""

    def total(self, convention: str) -> int:
        """Return the bytes in all under a convention."""
        return self.weights + self.caches.get(convention, 0) + (self.activations or 0)


class Placement(NamedTuple):
    """Bytes by place."""

    list: str
    """Path of the layers that are placed."""
    layers: int
    """Number of the layers and of the output, which counts as one."""
    gpu_layers: int
    """Layers on the device, the output first, then the last ones."""
    host_experts: int
    """Layers whose routed experts are on the host, the first ones."""
    copied: int
    """Bytes of embeddings that are the output too, and therefore on both places; part of the weights of the device."""
    device: PlaceMemory
    host: PlaceMemory
    beside: tuple[BesideModel, ...] = ()
    """Companions and the draft model."""


def placed(parts: LayerParts, gpu_layers: int, host_experts: int = 0, beside: Sequence[BesideModel] = ()) -> Placement:
    """Return the bytes by place, from sums by layer alone.

    Args:
        parts: the memory of the network by layer.
        gpu_layers: layers on the device, from 0 to the number of layers and one for the output.
        host_experts: layers whose routed experts stay on the host, the first ones.
        beside: further models, on the device.
    """
    first = len(parts.layers) + 1 - gpu_layers
    device, host = _Place(), _Place()
    host.add("before the layers", parts.input)
    device.add("images and sounds", parts.projector)
    for number, layer in enumerate(parts.layers):
        place = device if number >= first else host
        apart = number < host_experts and place is device
        place.add("layers", layer, with_experts=not apart)
        if apart:
            host.add_weights("experts of layers", layer.experts)
            host.activations = max(host.activations, layer.expert_activations)
    (device if gpu_layers else host).add("behind the layers", parts.output)
    copied = parts.copied if gpu_layers else 0
    device.add_weights("copied embeddings", copied)
    more = {name: sum(model.total(name) for model in beside) for name in parts.conventions if beside}
    return Placement(
        parts.list,
        len(parts.layers) + 1,
        gpu_layers,
        min(host_experts, len(parts.layers)),
        copied,
        device.memory("device", parts.conventions, more),
        host.memory("host", parts.conventions, {}),
        tuple(beside),
    )


def most_gpu_layers(
    parts: LayerParts, budget: int, convention: str, host_experts: int = 0, beside: Sequence[BesideModel] = ()
) -> int | None:
    """Return the most layers whose memory on the device is within a budget; None if even no layer fits."""
    for count in range(len(parts.layers) + 1, -1, -1):
        if placed(parts, count, host_experts, beside).device.totals[convention] <= budget:
            return count
    return None


class _Place:
    """Sums of a place."""

    def __init__(self) -> None:
        self.activations = 0
        self._weights: dict[str, int] = {}
        self._caches: dict[str, int] = {}

    def add_weights(self, name: str, size: int) -> None:
        """Add bytes of weights of a part of the network."""
        self._weights[name] = self._weights.get(name, 0) + size

    def add(self, name: str, part: LayerMemory, *, with_experts: bool = True) -> None:
        """Add a part of the network."""
        self.add_weights(name, part.weights + (part.experts if with_experts else 0))
        self.activations = max(self.activations, part.activations)
        for name, size in part.caches.items():
            self._caches[name] = self._caches.get(name, 0) + size

    def memory(self, name: str, conventions: Sequence[str], beside: Mapping[str, int]) -> PlaceMemory:
        """Return the memory of the place, with all conventions."""
        caches = {rule: self._caches.get(rule, 0) for rule in conventions}
        parts = tuple((part, size) for part, size in self._weights.items() if size)
        return PlaceMemory(name, sum(self._weights.values()), caches, self.activations, beside, parts)
