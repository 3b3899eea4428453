"""Inputs that are given to a run, as arrays, in files, or written as numbers, and the sizes that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import InputSpec, Program
from netcalc.numerics.inputs import accepted, misfit, require_fit, require_sizes, unknown_input
from netcalc.numerics.written import TEXT_FILES, Written, is_literal, read_literal, read_rows
from netcalc.request import Request
from netcalc.spec.document import InputDecl
from netcalc.tensor_type import TensorType
from netcalc.weights.tensor_files import TensorFile, open_tensors

#: Characters of an element type of a file that a message repeats.
_CLIPPED = 40


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of a file, whose data are not read yet."""

    file: TensorFile
    name: str


@dataclass(frozen=True, slots=True)
class Given:
    """An input that is given: numbers that are written, a tensor of a file, or an array as it is."""

    source: Written | _Tensor | Any

    @property
    def is_written(self) -> bool:
        """True for numbers in an argument or a list, which have no element type of their own."""
        return isinstance(self.source, (Written, list, tuple, int, float))

    def shape(self, rank: int) -> tuple[int, ...] | None:
        """Return the shape for an input of this rank; None for an array, whose shape sets no sizes."""
        if isinstance(self.source, Written):
            return self.source.of_rank(rank).shape
        if isinstance(self.source, _Tensor):
            return tuple(self.source.file.headers[self.source.name].shape)
        if not self.is_written:
            return None
        try:
            return tuple(np.shape(self.source))
        except ValueError:  # ragged, which is reported when the array is made
            return None

    def array(self, spec: InputSpec) -> Array:
        """Return the array for an input; shape and type of a tensor are compared before its data are read.

        Raises:
            NetcalcError: E602 for an array that does not fit.
        """
        if isinstance(self.source, _Tensor):
            return _loaded(spec, self.source.file, self.source.name)
        if not isinstance(self.source, Written):
            return accepted(spec, self.source)
        written = self.source.of_rank(spec.type.rank)
        missing = spec.type.rank - len(written.shape)
        try:
            return accepted(spec, written.numbers)
        except NetcalcError as error:
            hint = f"write {missing} more pair{'s' * (missing > 1)} of brackets" if missing > 0 else None
            raise NetcalcError(d._replace(span=written.place, hint=hint or d.hint) for d in error.diagnostics) from None


def given_inputs(inputs: Mapping[str, Any]) -> dict[str, Given]:
    """Return inputs by name: texts are numbers or paths of files, whose headers are read.

    Raises:
        NetcalcError: E602 for what is no list of numbers, E605 for a file that cannot be read, or has several tensors
            and none of the name of the input.
    """
    given: dict[str, Given] = {}
    problems: list[Diagnostic] = []
    for name, value in inputs.items():
        try:
            given[name] = Given(_opened(name, value))
        except NetcalcError as error:
            problems += error.diagnostics
    if problems:
        raise NetcalcError(problems)
    return given


def _opened(name: str, value: Any) -> Any:
    if isinstance(value, str) and is_literal(value):
        return read_literal(f"--input {name}", value)
    if not isinstance(value, (str, Path)):
        return value
    if Path(value).suffix.lower() in TEXT_FILES:
        return read_rows(Path(value))
    file = open_tensors(value)
    return _Tensor(file, file.only(name))


def arrays_of(program: Program, given: Mapping[str, Given]) -> dict[str, Any]:
    """Return the given inputs as arrays by name.

    Raises:
        NetcalcError: E404 symbolic sizes; E602 arrays that do not fit, and inputs that the program lacks.
    """
    if given:
        require_sizes(program)
    specs = {spec.name: spec for spec in program.inputs}
    arrays: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for name, value in given.items():
        try:
            if name not in specs:
                raise NetcalcError(unknown_input(program, name))
            arrays[name] = value.array(specs[name])
        except NetcalcError as error:
            problems += error.diagnostics
    if problems:
        raise NetcalcError(problems)
    return arrays


def read_input(program: Program, name: str, path: str | Path) -> Array:
    """Return the array for an input from a file; see :func:`given_inputs` and :func:`arrays_of` for errors."""
    array: Array = arrays_of(program, given_inputs({name: Path(path)}))[name]
    return array


def _loaded(spec: InputSpec, file: TensorFile, tensor: str) -> Array:
    dtype = file.dtype(tensor)
    if dtype is None:
        raise misfit(spec, f"holds {file.headers[tensor].dtype[:_CLIPPED]}, and the spec has {spec.type.dtype}")
    require_fit(spec, file.headers[tensor].shape, dtype)
    return file.load(tensor)


# -- sizes ------------------------------------------------------------------------------------------


def with_given_sizes(request: Request, given: Mapping[str, Given]) -> Request:
    """Return the request with the dims that shapes of inputs determine: axes that the spec calls by a dim alone.

    Dims that are set, or symbolic, keep their sizes; the first input that has a dim determines it.

    Raises:
        NetcalcError: E602 for a size that the dim or the network cannot have.
    """
    sizes: dict[str, int] = {}
    origins: dict[str, str] = {}
    for name, declared in _declared_inputs(request):
        shape = given[name].shape(len(declared)) if name in given else None
        if shape is None or len(shape) != len(declared):
            continue
        for dim, size in zip(map(_dim_name, declared), shape, strict=True):
            if dim is not None and _is_open(request, dim) and sizes.setdefault(dim, size) == size:
                origins.setdefault(dim, name)
    sizes = {dim: size for dim, size in sizes.items() if request.program.dims.get(dim) != size}
    if not sizes:
        return request
    sized = request.with_settings(sizes)
    try:
        sized.program  # noqa: B018 - elaborated for its errors
    except NetcalcError as error:
        raise _refused(request, sizes, origins, given, error) from None
    return sized


def _declared_inputs(request: Request) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the inputs of the network and of its loss with the sizes that the spec declares."""
    document = request.adapted.document
    for inputs in (document.inputs, document.loss.inputs if document.loss else {}):
        for name, declared in inputs.items():
            yield name, declared.shape if isinstance(declared, InputDecl) else declared


def _dim_name(size: Any) -> str | None:
    """Return the name that a size consists of."""
    if not isinstance(size, str):
        return None
    name = size.strip().removeprefix("${").removesuffix("}").strip()
    return name if name.isidentifier() else None


def _is_open(request: Request, name: str) -> bool:
    return (
        name in request.adapted.document.dims
        and name not in request.settings
        and name not in request.symbolic
        and name not in request.sizes
    )


def _refused(
    request: Request,
    sizes: Mapping[str, int],
    origins: Mapping[str, str],
    given: Mapping[str, Given],
    error: NetcalcError,
) -> NetcalcError:
    """Return the errors of a program with the sizes of inputs, at the argument if they are errors of a size."""
    found: list[Diagnostic] = []
    set_by = ", ".join(f"{dim}={size} follows from --input {origins[dim]}" for dim, size in sizes.items())
    for diagnostic in error.diagnostics:
        dim = next((dim for dim in sizes if diagnostic.message.startswith(f"--set {dim}: ")), None)
        if dim is None:
            found.append(diagnostic if diagnostic.hint else diagnostic._replace(hint=set_by))
            continue
        name = origins[dim]
        source = given[name].source
        wanted = next((TensorType(s.type.shape) for s in request.program.inputs if s.name == name), "")
        message = f"the input {name!r} sets {dim}={sizes[dim]}: {diagnostic.message.removeprefix(f'--set {dim}: ')}"
        place = source.place if isinstance(source, Written) else None
        found.append(Diagnostic("E602", message, place, hint=f"by default the input is {wanted}"))
    return NetcalcError(found)
