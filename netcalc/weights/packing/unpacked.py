"""A checkpoint as the tensors that its packed ones stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.expressions import ExpressionError
from netcalc.schemes.configuration import Quantization
from netcalc.schemes.methods import Method, method_named, method_names
from netcalc.weights.gguf.tensors import GgufWeights
from netcalc.weights.packing.decoding import decoded, stored_shape
from netcalc.weights.packing.layouts import Found, companions_of, logical_shape, sizes_of
from netcalc.weights.pieces import Part, write_part
from netcalc.weights.stored import Header, Unpacking, clipped
from netcalc.weights.tensor_files import Tensors

if TYPE_CHECKING:
    from netcalc.arrays import Array

#: Element types of packed tensors; a file without any, and without a configuration, is read as it is.
_TYPES = frozenset({"uint8", "int8", "int16", "int32", "uint32", "U32", "F8_E4M3", "F8_E5M2"})
#: The reason why a tensor does not unpack that the configuration leaves out of the quantization.
NOT_PACKED = "the configuration says that it is not packed"


#: A layout of a method that tensors are in, and the header of what they stand for.
_Possible: TypeAlias = tuple[Method, Found, Header]


class Role(NamedTuple):
    """Part of a stored tensor: its scheme, the elements that it stands for (None if unknown), and of which tensor."""

    scheme: str
    params: int | None
    logical: str


class _Packing(NamedTuple):
    method: Method
    found: Found


@dataclass(slots=True)
class Packed:
    """Figures of the tensors that a scheme of quantization packs, with their companions (scales, zero points)."""

    scheme: str
    tensors: int = 0
    """Number of packed tensors."""
    companions: int = 0
    params: int = 0
    """Elements that they stand for."""
    elements: int = 0
    """Stored elements, companions included."""
    bytes: int = 0


def unpacked(tensors: Tensors, quantization: Quantization | None) -> Tensors:
    """Return the tensors that a checkpoint's tensors stand for; the same if none is packed, and none should be."""
    if isinstance(tensors, UnpackedTensors):
        return tensors
    if quantization is None and not any(header.dtype in _TYPES for header in tensors.headers.values()):
        return tensors
    view = UnpackedTensors(tensors, quantization)
    return view if view.roles or (quantization is not None and not isinstance(tensors, GgufWeights)) else tensors


class StandingTensors:
    """Tensors that stored ones stand for.

    Attributes:
        stored: the tensors as they are stored.
        headers: the tensors that they stand for.
        roles: stored tensors that are only parts of one, by their names.
    """

    stored: Tensors
    headers: dict[str, Header]
    roles: dict[str, Role]

    @property
    def packed(self) -> tuple[Packed, ...]:
        """Figures by scheme."""
        totals: dict[str, Packed] = {}
        for name, (scheme, params, _) in self.roles.items():
            figures = totals.setdefault(scheme, Packed(scheme))
            header = self.stored.headers[name]
            figures.tensors += params != 0
            figures.companions += params == 0
            figures.params += params or 0
            figures.elements += header.elements
            figures.bytes += header.bytes or 0
        return tuple(totals.values())


class UnpackedTensors(StandingTensors):
    """The tensors of a checkpoint, of which packed ones are replaced by those that they stand for.

    Attributes:
        stored: the checkpoint as it is stored.
        headers: the tensors that it stands for.
        roles: packed tensors and their companions, by their names in the checkpoint.
        undetermined: schemes of further tensors that look packed, by their names; only a configuration would tell.
        quantization: the quantization by the configuration; None if there is none.
        found: packed tensors with their companions, by the names of those that they stand for.
    """

    def __init__(self, stored: Tensors, quantization: Quantization | None) -> None:
        self.stored = stored
        self.name = stored.name
        self.quantization = quantization
        self.found: dict[str, Found] = {}
        self.roles: dict[str, Role] = {}
        self.undetermined: dict[str, str] = {}
        self.headers: dict[str, Header] = {}
        self._shapes: dict[object, Header] = {}
        self._packed: dict[str, _Packing] = {}
        self._quantization = quantization
        logical: dict[str, Header] = {}
        methods = [quantization.method] if quantization else [m for name in method_names() if (m := method_named(name))]
        types = frozenset(dtype for method in methods for layout in method.layouts for dtype in layout.types)
        for name, header in stored.headers.items():
            if header.dtype not in types:
                continue
            first = self._first_fit(self._in_layouts(name, methods, quantization))
            if first is not None:
                method, packed, meant = first
                self.found[packed.logical] = packed
                params = None if meant.unpacking and meant.unpacking.problem else meant.elements
                self.roles[name] = Role(method.name, params, packed.logical)
                self.roles |= dict.fromkeys(packed.companions.values(), Role(method.name, 0, packed.logical))
                logical[packed.logical] = meant
                self._packed[packed.logical] = _Packing(method, packed)
        if quantization is not None:
            others = quantization.method.others
            for name in stored.headers:
                if others and name.endswith(others) and name not in self.roles:
                    self.roles[name] = Role(quantization.method.name, 0, "")
        self.headers = {name: header for name, header in stored.headers.items() if name not in self.roles} | logical

    def load(self, name: str) -> Array:
        """Return the data of a tensor, those of a packed one decoded, in float32.

        Raises:
            NetcalcError: E605 if the data cannot be read, or the numbers of a packed tensor cannot be computed.
        """
        packing = self._packed.get(name)
        if packing is None:
            return self.stored.load(name)
        header = self.headers[name]
        try:
            settings = self._settings(packing)
            return decoded(packing.found, self.stored, settings, header.shape)
        except (ValueError, ExpressionError) as why:
            raise NetcalcError(Diagnostic("E605", f"{self.name}: {clipped(name)} does not decode: {why}")) from why

    def write(self, name: str, part: Part) -> None:
        """Write a part of a tensor to its place; one that is packed is decoded as a whole.

        Raises:
            NetcalcError: E605 as :meth:`load`.
        """
        if name in self._packed:
            part.put(part.out, self.load(name)[part.slices])
        else:
            write_part(self.stored, name, part)

    def require_decoders(self, names: Iterable[str]) -> None:
        """Raise NetcalcError (E605) if the numbers of tensors cannot be computed from the packed ones."""
        methods = Counter(
            packing.method.name
            for name in names
            if (packing := self._packed.get(name)) is not None and packing.found.layout.decoder is None
        )
        if methods:
            packed = ", ".join(f"{count:,} tensors packed by {method}" for method, count in methods.items())
            hint = "`netcalc verify` compares their headers; run the model without its weights, or with a copy in full"
            text = f"{self.name} has {packed}, which netcalc does not decode"
            raise NetcalcError(Diagnostic("E605", text, hint=hint))

    def read_shapes(self) -> None:
        """Read the shapes that stand in the data of companions.

        Raises:
            NetcalcError: E605 if they cannot be read, or are no shapes.
        """
        for name, (_, packed) in self._packed.items():
            header = self.headers[name]
            if not packed.layout.shape_reader or header.unpacking is None or header.unpacking.problem:
                continue
            try:
                shape = stored_shape(packed, self.stored)
            except ValueError as why:
                raise NetcalcError(Diagnostic("E605", f"{self.name}: {clipped(name)}: {why}")) from why
            if shape is None:
                continue
            if header.unpacking.flat and prod(shape) not in (header.elements, header.elements - 1):
                text = f"{self.name}: {clipped(name)} has {header.elements:,} elements, and its shape is {shape}"
                raise NetcalcError(Diagnostic("E605", text))
            self._settle(name, shape)

    def take_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Take the shapes of a program's parameters for tensors whose shapes are not known, or padded."""
        for name, shape in shapes.items():
            header = self.headers[name]
            if header.unpacking is not None and not header.unpacking.settled:
                self._settle(name, shape)

    @property
    def has_open_shapes(self) -> bool:
        """True if the shape of some tensor does not follow from headers alone, or is padded."""
        if any(packing.found.layout.shape_reader for packing in self._packed.values()):
            return True
        return any(header.unpacking is not None and not header.unpacking.settled for header in self.headers.values())

    def _settle(self, name: str, shape: tuple[int, ...]) -> None:
        header = self.headers[name]
        assert header.unpacking is not None
        self.headers[name] = header._replace(shape=shape, unpacking=header.unpacking._replace(flat=False, padded=()))

    def _settings(self, packing: _Packing) -> dict[str, Any]:
        """Return the sizes of packed tensors, with the fields of the configuration that fit them.

        Raises:
            ValueError, ExpressionError: none fit.
        """
        problem: Exception = ValueError("the configuration has no settings for it")
        for settings in self._variants(*packing):
            try:
                return sizes_of(packing.found, self.stored.headers, settings)[0]
            except (ValueError, ExpressionError) as why:
                problem = why
        raise problem

    def _in_layouts(self, name: str, methods: list[Method], quantization: Quantization | None) -> Iterator[_Possible]:
        """Yield the layouts that a packed tensor is in, with what it stands for; of several schemes those that fit."""
        headers = self.stored.headers
        for method in methods:
            for layout in method.layouts:
                packed = companions_of(layout, name, headers)
                if packed is None or (quantization is None and not packed.companions):
                    continue
                shapes = tuple((suffix, headers[other].shape) for suffix, other in packed.companions.items())
                plain = quantization is not None and quantization.stores_plainly(packed.base)
                own = quantization.settings.get(packed.base) if quantization and method.by_module else None
                key = (id(layout), headers[name][:2], shapes, str(own), plain)
                meant = self._shapes.get(key)
                if meant is None:
                    meant = self._shapes[key] = self._meant_header(method, packed, quantization)
                unpacking = meant.unpacking
                if quantization is not None or unpacking is None or not unpacking.problem:
                    yield method, packed, meant
                elif unpacking.open:
                    self.undetermined[name] = method.name

    @staticmethod
    def _first_fit(possible: Iterator[_Possible]) -> _Possible | None:
        """Return the first layout that packed tensors fit, else the first; None if there is none."""
        first = next(possible, None)
        if first is None or not _has_problem(first[2]):
            return first
        return next((each for each in possible if not _has_problem(each[2])), first)

    def _meant_header(self, method: Method, packed: Found, quantization: Quantization | None) -> Header:
        """Return the header of what packed tensors stand for, by the settings that fit."""
        if quantization is not None and quantization.stores_plainly(packed.base):
            return Header((), method.name, None, True, Unpacking("", NOT_PACKED))
        problem, is_open = "the configuration has no settings for it", False
        for settings in self._variants(method, packed):
            try:
                shape, unpacking = logical_shape(packed, self.stored.headers, settings)
            except (ValueError, ExpressionError) as why:
                problem, is_open = str(why), isinstance(why, ExpressionError)
                continue
            return Header(shape, method.name, None, True, unpacking)
        return Header((), method.name, None, True, Unpacking("", problem, open=is_open))

    def _variants(self, method: Method, packed: Found) -> Iterable[dict[str, Any]]:
        """Return the fields that may apply to packed tensors; without a configuration none has a value."""
        if self._quantization is None:
            return [method.unknown]
        return self._quantization.variants(packed.base)


def _has_problem(header: Header) -> bool:
    return header.unpacking is not None and bool(header.unpacking.problem)
