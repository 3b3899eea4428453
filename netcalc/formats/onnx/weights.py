"""Weights of models in ONNX, under the paths that their specs load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import RuleError
from netcalc.formats.onnx.declared import Declared
from netcalc.formats.onnx.document import weights_of
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.file import OnnxFile
from netcalc.formats.onnx.messages import TensorProto
from netcalc.formats.onnx.paths import Held, Place
from netcalc.formats.sources import Source
from netcalc.weights.pieces import Part
from netcalc.weights.report import WeightsReport
from netcalc.weights.stored import DamagedError, Header, Stored, file_error, opened, reading


def own_weights(source: Source) -> OnnxWeights:
    """Return the weights of a model.

    Raises:
        NetcalcError: E007 if it cannot be translated; E605 if the file cannot be read.
    """
    return opened_weights(source.path)


def opened_weights(path: Path) -> OnnxWeights:
    """Return the weights in a file; NetcalcError as for :func:`own_weights`."""
    file, model = weights_of(path)
    return OnnxWeights(file, model.tensors, model.declared)


class OnnxWeights:
    """Tensors of a model by the paths that its spec loads, those that an exporter transposed as they were before."""

    def __init__(self, file: OnnxFile, tensors: Mapping[str, tuple[Held, Place]], declared: Declared) -> None:
        self.name = str(file.path)
        self._file = file
        self._tensors = {path: found for path, found in tensors.items() if not found[0].tensor.absent}
        self.headers = {path: _header(held, place) for path, (held, place) in self._tensors.items()}
        self._declared = declared

    def audited(self, report: WeightsReport) -> WeightsReport:
        """Return an audit of the tensors with the values whose types the file declares."""
        mismatches = (*report.mismatches, *self._declared.differing)
        return replace(report, values=self._declared.compared, mismatches=mismatches)

    def load(self, name: str) -> Array:
        """Return the data of one tensor.

        Raises:
            NetcalcError: E605 if they cannot be read.
        """
        import numpy as np

        held, place = self._tensors[name]
        array = self._array(held.tensor)
        if held.rows is not None:
            index, starts, count = held.rows
            array = np.concatenate([array[index, start : start + count] for start in starts])
        return np.ascontiguousarray(array.swapaxes(-1, -2)) if place.transpose else array

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor to its place; NetcalcError (E605) if the data cannot be read."""
        part.put(part.out, self.load(name)[part.slices])

    def _array(self, tensor: TensorProto) -> Array:
        import numpy as np

        from netcalc.weights.stored_data import load_stored

        try:
            with reading(self.name):
                place = self._file.place(tensor)
        except RuleError as error:
            raise file_error(f"{self.name}: {error}") from None
        dtype = dtype_named(tensor.kind)
        if place is None:
            return np.array(self._file.elements(tensor)).astype(numpy_dtype(dtype)).reshape(tensor.shape)
        with reading(str(place.path)), opened(place.path, max(place.size, 1)) as (file, length):
            if place.start + place.size > length:
                raise DamagedError(f"the data of {tensor.name[:80]!r} end behind the file")
            file.seek(place.start)
            return load_stored(file, Stored(Header(tensor.shape, dtype), dtype, 0))


def _header(held: Held, place: Place) -> Header:
    shape = held.tensor.shape
    if held.rows is not None:
        shape = (len(held.rows.starts) * held.rows.length, *shape[2:])
    if place.transpose:
        shape = (*shape[:-2], shape[-1], shape[-2])
    return Header(shape, dtype_named(held.tensor.kind))
