"""Places of the layers of a request, and of the models beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import convention_named, element_type
from netcalc.analysis.caches.layers import applied_to, kept_by, reserved
from netcalc.analysis.layer_parts import LayerParts, layer_parts
from netcalc.analysis.memory_report import MemoryReport
from netcalc.analysis.placement import BesideModel, Placement, placed
from netcalc.analysis.stored_weights import StoredWeights, stored_weights
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.formats import load_model
from netcalc.formats.counted_files import counted_files
from netcalc.options import MemoryOptions
from netcalc.planning.phases import request_in_phase
from netcalc.request import Request

if TYPE_CHECKING:
    from netcalc.weights.gguf.header import GgufTensor

_OPTIONS = ("gpu_layers", "experts_on", "companion", "draft")


def asks_for_places(options: MemoryOptions) -> bool:
    """Return True if an option speaks of places.

    Raises:
        NetcalcError: E502 for such an option with one that speaks of a whole device.
    """
    asked = [name for name in _OPTIONS if options.get(name) not in (None, (), [])]
    if asked:
        option = f"--{asked[0].replace('_', '-')}"
        for other in ("training", "tokens_in"):
            if options.get(other) is not None:
                raise NetcalcError(Diagnostic("E502", f"{option} with --{other.replace('_', '-')}: no such split"))
        if options.get("phase") == "training":
            raise NetcalcError(Diagnostic("E502", f"{option} with --phase training: no such split"))
    return bool(asked)


def parts_of(request: Request, report: MemoryReport) -> LayerParts:
    """Return the memory of a request by layer, from which every split follows.

    Args:
        request: the request in its phase.
        report: its memory.

    Raises:
        NetcalcError: E404 for a symbolic size; as :func:`~netcalc.analysis.layer_parts.layer_parts` does.
    """
    if report.ideal is None:
        raise NetcalcError(Diagnostic("E404", f"--gpu-layers: {report.symbolic[0]} is a symbol", hint="set it"))
    held = None if report.files is None else report.files.held
    return layer_parts(request.program, report.kept, report.conventions, report.ideal, held)


def placement_of(request: Request, report: MemoryReport, options: MemoryOptions) -> Placement:
    """Return the bytes by place that options ask for.

    Args:
        request: the request in its phase.
        report: its memory.
        options: the options of ``memory``, each with a value.

    Raises:
        NetcalcError: E502 for more layers than there are, experts that there are not, and networks that have no
            layers to place; as the loading of companions and the draft model does.
    """
    parts = parts_of(request, report)
    most = len(parts.layers) + 1
    count = options["gpu_layers"]
    if count is not None and count > most:
        message = f"--gpu-layers {count:,}: {report.spec} has {most - 1:,} layers and the output, {most:,} in all"
        raise NetcalcError(Diagnostic("E502", message, hint=f"--gpu-layers {most}"))
    beside = [_companion(name, options) for name in options["companion"]]
    if options["draft"] is not None:
        beside.append(_draft(options["draft"], request, report, options))
    experts = _host_experts(options["experts_on"], parts, report.spec)
    return placed(parts, most if count is None else count, experts, beside)


def _host_experts(text: str | None, parts: LayerParts, spec: str) -> int:
    """Return the number of layers whose experts are on the host."""
    if text is None:
        return 0
    place, colon, number = text.partition(":")
    layers = len(parts.layers)
    if place != "cpu" or (colon and not (number.isascii() and number.isdigit() and len(number) < 10)):
        raise NetcalcError(Diagnostic("E502", f"--experts-on {text}: should be cpu, or cpu:N for the first N layers"))
    if not any(layer.experts for layer in parts.layers):
        raise NetcalcError(Diagnostic("E502", f"--experts-on {text}: {spec} has no routed experts"))
    if colon and int(number) > layers:
        message = f"--experts-on {text}: {spec} has {layers:,} layers"
        raise NetcalcError(Diagnostic("E502", message, hint=f"--experts-on cpu:{layers}"))
    return int(number) if colon else layers


def _companion(name: str, options: MemoryOptions) -> BesideModel:
    """Return the memory of a companion; of a file in GGUF whose architecture is not known the bytes of its tensors."""
    try:
        request = Request(load_model(name), model=name).with_open_storage()
        program = request.program
    except NetcalcError as error:
        if not name.lower().endswith(".gguf") or any(problem.code != "E007" for problem in error.diagnostics):
            raise
        from netcalc.weights.gguf.tensors import open_gguf

        tensors = sorted(open_gguf(Path(name)).tensors.values(), key=attrgetter("type"))
        stored = tuple(_of_type(kind, list(alike)) for kind, alike in groupby(tensors, key=attrgetter("type")))
        return BesideModel("companion", name, _bytes(stored), stored=stored)
    stored, live = _stored(request, options), beside_caches(program)
    return BesideModel("companion", name, _bytes(stored), activations=live.peak, stored=stored, live=live)


def _draft(name: str, main: Request, report: MemoryReport, options: MemoryOptions) -> BesideModel:
    """Return the memory of a draft model at the sizes of the main one."""
    request = Request(load_model(name), model=name)
    dims = main.program.dims
    shared = {dim: size for dim, size in dims.items() if dim in request.source.document.dims}
    request, _ = request_in_phase(request.with_settings(shared), report.phase, options["logits"])
    request = request.with_open_storage()
    program = request.program
    if not program.caches.entries:
        raise NetcalcError(Diagnostic("E502", f"--draft {name}: it keeps no caches, so that it does not decode"))
    element = None if options["cache_dtype"] is None else element_type(options["cache_dtype"])
    rules = applied_to(program, [convention_named(rule.name) for rule in report.conventions])
    kept = kept_by(program, element, rules)
    caches = {rule.name: integer(reserved(kept, rule)) for rule in rules}
    stored, live = _stored(request, options), beside_caches(program)
    return BesideModel("draft", name, _bytes(stored), caches, live.peak, stored, kept, live)


def _of_type(kind: str, tensors: Sequence[GgufTensor]) -> StoredWeights:
    """Return the tensors of a type in a file in GGUF."""
    elements = sum(prod(tensor.shape) for tensor in tensors)
    return StoredWeights("weights", kind.lower(), elements, sum(tensor.size for tensor in tensors))


def _stored(request: Request, options: MemoryOptions) -> tuple[StoredWeights, ...]:
    """Return weights and buffers by scheme, by the headers of files where there are any."""
    files, _ = counted_files(request, configuration=options["bytes_from"] == "configuration")
    return stored_weights(request.program) if files is None else tuple(files.stored)


def _bytes(stored: Iterable[StoredWeights]) -> int:
    return sum(integer(group.bytes) for group in stored)
