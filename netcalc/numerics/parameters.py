"""Parameters of a program, from a checkpoint that is checked name by name, or from initializers.

Tensors are fetched one at a time, when the node that uses them runs.  A network whose weights do not fit into memory
together therefore still runs if each layer fits by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from netcalc.analysis.file_weights import FileWeights
from netcalc.analysis.walk import Instance, parameters
from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.ir import CheckpointLocation, Program, dtype_of, join, parameter_at
from netcalc.numerics.computed import computed_buffer
from netcalc.numerics.initializers import Initializers
from netcalc.numerics.rounding import is_rounded, rounded
from netcalc.opdef import Param
from netcalc.weights.assembly import expected_shape, load, write
from netcalc.weights.checkpoint_files import Joined, Weights, open_weights
from netcalc.weights.header_bytes import header_bytes
from netcalc.weights.inventory import index_mismatches, inventory
from netcalc.weights.matching import match
from netcalc.weights.naming import in_checkpoint, in_reference
from netcalc.weights.packing.quantization import quantization_beside
from netcalc.weights.packing.unpacked import UnpackedTensors, unpacked
from netcalc.weights.pieces import Part, seeks_parts
from netcalc.weights.report import WeightsReport
from netcalc.weights.tensor_files import Tensors

__all__ = ["Parameters", "Weights", "check_weights", "counted_weights"]


def check_weights(program: Program, weights: Weights, *, cast: bool = False) -> WeightsReport:
    """Compare the names, shapes and element types of a checkpoint with the program; only headers are read.

    A tied tensor may be stored under any of its names.  Copies under several names are compared only when they are
    loaded.  Buffers that are computed or not persistent, and integer counters such as ``num_batches_tracked``, may be
    absent.
    With ``cast`` any floating-point type fits another.

    Raises:
        NetcalcError: E605 if the file cannot be read.
    """
    tensors = opened_unpacked(weights)
    report, _, params, used, ignored = match(program, tensors, Initializers.of(program).is_drawn, cast=cast)
    contents = inventory(tensors, used, ignored)
    stored = tensors.stored if isinstance(tensors, UnpackedTensors) else tensors
    wrong = index_mismatches(stored.index, contents, params) if isinstance(stored, Joined) and stored.index else ()
    return replace(report, mismatches=(*report.mismatches, *wrong), inventory=contents)


def counted_weights(program: Program, weights: Weights, *, configured: bool) -> FileWeights:
    """Return the bytes of a program's parameters by the headers of its files, of which no data are read.

    Args:
        program: the program, whose sizes are numbers.
        weights: the weights of its model.
        configured: True if a configuration gives bytes too, with which those of the headers are compared.

    Raises:
        NetcalcError: E605 if a file cannot be read; E007 with everything by which the headers contradict the program.
    """
    tensors = opened_unpacked(weights)
    matched = match(program, tensors, Initializers.of(program).is_drawn, cast=True)
    return header_bytes(program, tensors, matched, configured=configured)


def opened_unpacked(weights: Weights) -> Tensors:
    """Open a checkpoint as the tensors that its packed ones stand for, by the configuration beside it, if any.

    Raises:
        NetcalcError: E605 if a file cannot be read; E007 if the quantization is not known.
    """
    tensors = open_weights(weights)
    first = next(iter(weights), None) if isinstance(weights, (list, tuple)) else weights
    if not isinstance(first, (str, Path)):  # tensors that were opened before
        return tensors
    return unpacked(tensors, quantization_beside(Path(first)))


class Parameters:
    """Access to the parameters and buffers of a program, one at a time.

    Args:
        weights: files, a folder or arrays to load; None to draw all parameters from initializers.
        init: ``--init`` options, see :meth:`~netcalc.numerics.initializers.Initializers.of`.
        seed: seed of drawn parameters; each tensor depends only on the seed and its path.
        cast: True to convert weights of another floating-point type.

    Raises:
        NetcalcError: E601 with every mismatch of the weights, E605 if they cannot be read, E502 for ``init``.
    """

    def __init__(
        self,
        program: Program,
        weights: Weights | None = None,
        *,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        cast: bool = False,
    ) -> None:
        self._program = program
        self.seed = seed
        self._tensors: Tensors | None = None
        self._locations: Mapping[str, CheckpointLocation] = {}
        self._initializers = Initializers.of(program, init)
        if weights is not None:
            self._tensors = opened_unpacked(weights)
            _settle_shapes(program, self._tensors, self._initializers)
            matched = match(program, self._tensors, self._initializers.is_drawn, values=True, cast=cast)
            report, self._locations = matched.report, matched.locations
            if not report.ok:
                raise NetcalcError(report.diagnostics)
            if isinstance(self._tensors, UnpackedTensors):
                self._tensors.require_decoders(matched.used)
        else:
            _require_matches(program, self._initializers)

    def named_as_stored(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return arrays by path of the parameter as tensors of the checkpoint, or else of the reference."""
        if self._tensors is None:
            return in_reference(self._program, arrays)
        return in_checkpoint(arrays, self._locations, self._tensors.headers)

    def fetch(self, instance: Instance, param: Param) -> Array:
        """Return the tensor that an operation uses, rounded and pruned to the form in which it is stored.

        It may be a view of a given array and must not be modified.
        """
        array = self._full(instance, param)
        return (
            rounded(array, param.storage) if param.storage is not None and self._is_rounded(instance, param) else array
        )

    def _full(self, instance: Instance, param: Param) -> Array:
        owner, dtype = instance.owners[param.name], self._dtype(instance, param)
        if self._tensors is not None and owner in self._locations:
            return load(self._tensors, self._locations[owner], dtype)
        out = np.empty(tuple(integer(size) for size in param.shape), dtype)
        self._initialize(instance, param, out)
        return out

    def is_transposed(self, instance: Instance, param: Param) -> bool:
        """Return True if a file has the columns of a matrix as rows, some of which can be read at a time."""
        if not seeks_parts(self._tensors) or self._is_rounded(instance, param):
            return False
        location = self._locations.get(instance.owners[param.name])
        if location is None or not location.transpose or len(param.shape) != 2:
            return False
        return location.numbers is None and location.flatten is None and location.interleaved is None

    def write_columns(self, instance: Instance, param: Param, out: Array, start: int) -> None:
        """Write the columns from ``start`` on of a matrix that :meth:`is_transposed` to ``out``, as many as it has."""
        assert self._tensors is not None
        ranges = (0, len(out)), (start, start + out.shape[1])
        part = Part(out, ranges, self._dtype(instance, param))
        write(self._tensors, self._locations[instance.owners[param.name]], part)

    def write(self, instance: Instance, param: Param, out: Array) -> None:
        """Write the tensor that :meth:`fetch` returns to ``out``, piece by piece.

        ``out`` may have any strides, and a type that holds every number of the tensor's type.
        """
        owner = instance.owners[param.name]
        if self._is_rounded(instance, param):
            out[...] = self.fetch(instance, param)
        elif self._tensors is not None and owner in self._locations:
            write(self._tensors, self._locations[owner], Part.whole(out, self._dtype(instance, param)))
        else:
            self._initialize(instance, param, out)

    def _is_rounded(self, instance: Instance, param: Param) -> bool:
        return is_rounded(param.storage, dtype_of(param, instance.node, self._program.dtype))

    def _dtype(self, instance: Instance, param: Param) -> np.dtype[Any]:
        return numpy_dtype(dtype_of(param, instance.node, self._program.dtype))

    def _initialize(self, instance: Instance, param: Param, out: Array) -> None:
        """Write the initial value of a parameter or a computed buffer to ``out``."""
        path, owner = join(instance.path, param.name), instance.owners[param.name]
        node, declaration = instance.node, param
        if owner != path:  # the owner of a tied tensor initializes it
            owning = parameter_at(self._program.main.nodes, owner)
            if owning is None:
                raise LookupError(owner)
            node, declaration = owning
        dtype = dtype_of(param, instance.node, self._program.dtype)
        if owner in self._program.constants:
            out[...] = self._program.constants[owner].astype(numpy_dtype(dtype), copy=False)
        elif node.computed is not None:
            out[...] = computed_buffer(node.computed, owner).astype(numpy_dtype(dtype), copy=False)
        else:
            self._initializers.write(node.op, owner, declaration, dtype, self.seed, out)


def _settle_shapes(program: Program, tensors: Tensors, initializers: Initializers) -> None:
    """Settle the shapes of packed tensors of which headers tell only the number of elements.

    Raises:
        NetcalcError: E605 if the data that hold them cannot be read.
    """
    if not isinstance(tensors, UnpackedTensors) or not tensors.has_open_shapes:
        return
    tensors.read_shapes()
    locations = match(program, tensors, initializers.is_drawn, cast=True).locations
    for parameter in parameters(program):
        location = locations.get(parameter.owner)
        if location is not None and not parameter.tied:
            shape = expected_shape(location, tuple(integer(size) for size in parameter.param.shape))
            if shape is not None:
                tensors.take_shapes(dict.fromkeys(location.names, shape))


def _require_matches(program: Program, initializers: Initializers) -> None:
    """Raise NetcalcError (E502) if the pattern of an option matches no parameter."""
    unmatched = [rule for rule in initializers.rules if rule.is_option and rule.pattern is not None]
    remaining = parameters(program) if unmatched else iter(())
    while unmatched and (parameter := next(remaining, None)) is not None:
        if not parameter.param.is_buffer:
            unmatched = [rule for rule in unmatched if not rule.applies(parameter.owner, parameter.param)]
    if unmatched:
        raise NetcalcError(
            Diagnostic("E502", f"{rule.text}: no parameter matches {rule.pattern!r}") for rule in unmatched
        )
