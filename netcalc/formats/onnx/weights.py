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
from netcalc.formats.onnx.free_names import free_name
from netcalc.formats.onnx.held import Held, Rows, Scaling, is_single
from netcalc.formats.onnx.messages import TensorProto
from netcalc.formats.onnx.paths import Place
from netcalc.formats.onnx.stored_forms import scheme_of
from netcalc.formats.sources import Source
from netcalc.weights.packing.unpacked import Role, StandingTensors
from netcalc.weights.pieces import Part
from netcalc.weights.report import Mismatch, WeightsReport
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


class OnnxStored:
    """Tensors of a model as the file has them: quantized numbers, their scales and zero points apart."""

    def __init__(self, name: str, headers: dict[str, Header]) -> None:
        self.name = name
        self.headers = headers

    def load(self, name: str) -> Array:
        """Refuse to return data, which are read as those of the model; NetcalcError (E605)."""
        raise file_error(f"{self.name}: {name!r} is read as a part of its model", f"give `--weights {self.name}`")


class OnnxWeights(StandingTensors):
    """Tensors of a model by the paths that its spec loads, those that an exporter transposed as they were before.

    Quantized ones are what they mean.
    """

    def __init__(self, file: OnnxFile, tensors: Mapping[str, tuple[Held, Place]], declared: Declared) -> None:
        self.name = str(file.path)
        self._file = file
        self._tensors = {path: found for path, found in tensors.items() if not found[0].tensor.absent}
        self.headers = {path: _header(held, place) for path, (held, place) in self._tensors.items()}
        self._declared = declared
        plain = {path: self.headers[path] for path, (held, _) in self._tensors.items() if held.scaling is None}
        self.roles = {}
        self.stored = OnnxStored(self.name, plain | self._parts(plain))

    def _parts(self, plain: Mapping[str, Header]) -> dict[str, Header]:
        """Return the stored tensors of quantized ones; what several have in common is counted with the first."""
        parts: dict[str, Header] = {}
        seen: set[int] = set()
        for path, (held, place) in self._tensors.items():
            if held.scaling is None:
                continue
            scheme = scheme_of(held, turned=place.transpose)
            others = () if held.scaling.shared else held.scaling.scales
            zeros = () if held.scaling.zero is None else (held.scaling.zero,)
            for tensor in (held.tensor, *others, *zeros):
                is_whole = tensor is held.tensor
                if id(tensor) in seen and (held.rows is None or not is_whole):
                    continue
                seen.add(id(tensor))
                name = free_name(tensor.name or path, {*plain, *parts})
                shape = tensor.shape if held.rows is None or not is_whole else _cut_shape(tensor.shape, held.rows)
                parts[name] = Header(shape, dtype_named(tensor.kind))
                self.roles[name] = Role(scheme, self.headers[path].elements if is_whole else 0, path)
        return parts

    def audited(self, report: WeightsReport) -> WeightsReport:
        """Return an audit of the tensors with the values whose types the file declares, and data in other files."""
        lacking = [
            Mismatch("missing", path, lack)
            for path, (held, _) in self._tensors.items()
            for tensor in (held.tensor, *(held.scaling.tensors if held.scaling else ()))
            if (lack := self._file.lack(tensor)) is not None
        ]
        mismatches = (*report.mismatches, *lacking, *self._declared.differing)
        return replace(report, values=self._declared.compared, mismatches=mismatches)

    def load(self, name: str) -> Array:
        """Return the data of one tensor.

        Raises:
            NetcalcError: E605 if they cannot be read.
        """
        import numpy as np

        held, place = self._tensors[name]
        array = self._array(held.tensor)
        if held.scaling is not None:
            array = self._meant(array, held.scaling)
        if held.rows is not None:
            index, starts, count = held.rows
            array = np.concatenate([array[index, start : start + count] for start in starts])
        return np.ascontiguousarray(array.swapaxes(-1, -2)) if place.transpose else array

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor to its place; NetcalcError (E605) if the data cannot be read."""
        part.put(part.out, self.load(name)[part.slices])

    def _meant(self, numbers: Array, scaling: Scaling) -> Array:
        """Return what quantized numbers mean, computed in 32 bits."""
        import numpy as np

        def spread(tensor: TensorProto) -> Array:
            vector = self._array(tensor)
            if is_single(tensor, scaling):
                return vector.reshape(())
            if scaling.block:
                size = numbers.shape[scaling.axis]
                whole = vector.repeat(scaling.block, axis=scaling.axis)
                return whole.take(np.arange(size), axis=scaling.axis)
            return vector.reshape([-1 if axis == scaling.axis else 1 for axis in range(numbers.ndim)])

        whole = numbers.astype(np.int32)
        if scaling.zero is not None:
            whole = whole - spread(scaling.zero).astype(np.int32)
        factor: Array = np.ones((), np.float32)
        for scale in scaling.scales:
            factor = factor * spread(scale).astype(np.float32)
        meant: Array = (whole.astype(np.float32) * factor).astype(numpy_dtype(scaling.dtype))
        return meant

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
        shape = _cut_shape(shape, held.rows)
    if place.transpose:
        shape = (*shape[:-2], shape[-1], shape[-2])
    return Header(shape, held.dtype)


def _cut_shape(shape: tuple[int, ...], rows: Rows) -> tuple[int, ...]:
    return (len(rows.starts) * rows.length, *shape[2:])
