"""Files of models in ONNX: the graph of a network, with its weights, or with its parameters as inputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.exported import Exported
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import product
from netcalc.dtypes import ITEMSIZE
from netcalc.export_options import OPSET
from netcalc.files import write_files
from netcalc.formats.export.job import Job
from netcalc.formats.export.onnx.messages import entry_message, node_message, tensor_message, value_message
from netcalc.formats.export.onnx.translation import Written, translated
from netcalc.formats.export.onnx.wire import Blob, Message
from netcalc.formats.onnx.messages import PARAMETER_KEY
from netcalc.tensor_type import TensorType
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.numerics.parameters import Parameters

#: Versions of the operators that are written, each with the version of the format that has it.
OPSETS = {18: 10, 19: 10, 20: 10, 21: 10, 22: 10, 23: 11, 24: 12}
#: Most bytes of a message; readers refuse one that is longer.
LARGEST = (1 << 31) - (1 << 20)
#: Tensors of fewer bytes stay in the model where others are external.
_SMALL = 1024
#: Multiple of the places of external tensors, so that they can be mapped.
_ALIGNED = 4096


class _Place(NamedTuple):
    """Place of a tensor in the file of external data."""

    offset: int
    blob: Blob


def write(job: Job) -> Exported:
    """Write a network to an .onnx file, and return what was written.

    Raises:
        NetcalcError: E010 with all operations that cannot be expressed; E404 for symbolic shapes of parameters; E502
            for an unknown opset, or for a file that cannot be written; as :class:`Parameters` for weights.
    """
    opset = job.options["opset"] or OPSET
    if opset not in OPSETS:
        known = f"the operators of versions {min(OPSETS)} to {max(OPSETS)} are written"
        raise NetcalcError(Diagnostic("E502", f"--opset {opset}: {known}"))
    written = translated(job.program, opset)
    parameters = _parameters(job)
    blobs = {} if parameters is None else dict(_blobs(written, parameters))
    total = sum(blob.length for blob in blobs.values())
    outside = job.options["external"] or total > LARGEST
    places = _places(blobs) if outside else {}
    data = f"{Path(job.path).name}.data" if places else None
    beside = None if data is None else str(Path(job.path).with_name(data))
    message = _model(job, written, blobs, places, data, opset)
    if message.size >= 1 << 31:
        raise NetcalcError(Diagnostic("E010", f"a graph of {message.size:,} bytes, and ONNX has at most 2 GiB"))
    write_files([(job.path, message.parts()), *([(beside, _data(places))] if beside else [])])
    return Exported(
        job.program.name,
        job.path,
        "onnx",
        message.size,
        _elements(job),
        job.written_weights,
        beside,
        _length(places),
        opset,
        len(written.graph.nodes),
    )


def _elements(job: Job) -> int:
    from netcalc.analysis.walk import parameters

    own = (found.param for found in parameters(job.program) if not found.tied and not found.param.is_buffer)
    return sum(int(product(param.shape)) for param in own)


def _parameters(job: Job) -> Parameters | None:
    """Return the parameters that are written; None for a graph alone."""
    if job.written_weights == "none":
        return None
    from netcalc.numerics.parameters import Parameters

    options: dict[str, Any] = {name: job.options[name] for name in ("init", "seed", "cast")}
    return Parameters(job.program, job.weights, **options)


def _blobs(written: Written, parameters: Parameters) -> Iterator[tuple[str, Blob]]:
    """Yield the bytes of each parameter by its path, read when they are written."""
    for path, type_ in written.graph.parameters.items():
        instance, param = written.places[path]

        def read(instance: Any = instance, param: Any = param) -> bytes:
            array = parameters.fetch(instance, param)
            order = array.dtype.newbyteorder("<") if sys.byteorder == "big" else array.dtype
            return array.astype(order, copy=False).tobytes()

        yield path, Blob(int(type_.elements) * ITEMSIZE[type_.dtype], read)


def _places(blobs: dict[str, Blob]) -> dict[str, _Place]:
    places, end = {}, 0
    for path, blob in blobs.items():
        if blob.length >= _SMALL:
            start = -(-end // _ALIGNED) * _ALIGNED
            places[path] = _Place(start, blob)
            end = start + blob.length
    return places


def _length(places: dict[str, _Place]) -> int:
    return max((place.offset + place.blob.length for place in places.values()), default=0)


def _model(
    job: Job, written: Written, blobs: dict[str, Blob], places: dict[str, _Place], data: str | None, opset: int
) -> Message:
    """Return the message of the model."""
    message, operators = Message(), Message()
    message.integer(1, OPSETS[opset])
    message.text(2, "netcalc")
    message.text(3, __version__)
    message.message(7, _graph(job, written, blobs, places, data))
    operators.text(1, "")
    operators.integer(2, opset)
    message.message(8, operators)
    for key, value in _metadata(job).items():
        message.message(14, entry_message(key, value))
    return message


def _metadata(job: Job) -> dict[str, str]:
    program = job.program
    named = {"netcalc.version": __version__, "netcalc.spec": program.name, "netcalc.source": program.source}
    return {key: value for key, value in named.items() if value}


def _graph(job: Job, written: Written, blobs: dict[str, Blob], places: dict[str, _Place], data: str | None) -> Message:
    graph, message = written.graph, Message()
    for node in graph.nodes:
        message.message(1, node_message(node))
    message.text(2, job.program.name)
    for path, blob in blobs.items():
        stored: Blob | dict[str, str] = blob
        if path in places:
            stored = {"location": str(data), "offset": str(places[path].offset), "length": str(blob.length)}
        message.message(5, tensor_message(path, graph.parameters[path], stored))
    if job.program.about:
        message.text(10, job.program.about)
    for value in written.inputs:
        message.message(11, value_message(value.name, value.type))
    if not blobs:
        for path, type_ in graph.parameters.items():
            kind = "buffer" if written.places[path][1].is_buffer else "parameter"
            message.message(11, value_message(path, type_, {PARAMETER_KEY: kind}))
    for value in written.outputs:
        message.message(12, value_message(value.name, value.type))
    for name, type_ in _inner(written):
        message.message(13, value_message(name, type_))
    return message


def _inner(written: Written) -> Iterator[tuple[str, TensorType]]:
    """Yield the values that are neither inputs nor outputs of the graph, with their types."""
    outputs: set[str] = {value.name for value in written.outputs}
    for name, type_ in written.graph.types.items():
        if name not in outputs:
            yield name, type_


def _data(places: dict[str, _Place]) -> Iterator[bytes]:
    """Yield the bytes of the file of external data."""
    end = 0
    for place in places.values():
        yield bytes(place.offset - end)
        yield place.blob.read()
        end = place.offset + place.blob.length
