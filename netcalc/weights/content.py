"""Tensors of a checkpoint as typed data, read from headers alone and without a spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from netcalc.diagnostics import NetcalcError
from netcalc.results import Entry, Result, recorded
from netcalc.schemes.configuration import Quantization
from netcalc.weights.checkpoint_files import checkpoint_files
from netcalc.weights.packing.quantization import quantization_beside
from netcalc.weights.packing.unpacked import Packed, Role, UnpackedTensors
from netcalc.weights.stored import BITS, Header
from netcalc.weights.tensor_files import Tensors

if TYPE_CHECKING:
    from netcalc.arrays import Array

#: Parts of a name that are tried as a prefix.
_PREFIXES = 8


@recorded("name", "dtype", "shape", "params", "elements", "bytes", "file", "scheme")
class CheckpointTensor(NamedTuple):
    """A tensor."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """Element type; one that netcalc does not have is named as in the file."""
    params: int
    """Elements that it stands for: of a packed tensor more than `elements`, of its companions none."""
    elements: int
    """Stored elements."""
    bytes: int
    file: str
    scheme: str | None = None
    """Scheme of quantization of a packed tensor and its companions."""


class CheckpointTotals(NamedTuple):
    """Figures of all tensors; a name that several files have counts once."""

    tensors: int
    params: int
    """Elements of the tensors that the checkpoint stands for."""
    elements: int
    """Stored elements."""
    bytes: int


@recorded(
    *(Entry("prefix", "name"), "dtypes", Entry("tensors", "figures.tensors"), Entry("params", "figures.params")),
    *(Entry("elements", "figures.elements"), Entry("bytes", "figures.bytes"), "files"),
)
class Group(NamedTuple):
    """A tensor, or all tensors under a prefix; figures count one of ``repeat`` equal groups."""

    name: str
    """Name of the prefix, or of the only tensor."""
    title: str
    """The name with the numbers of all equal groups."""
    repeat: int
    shape: tuple[int, ...] | None
    """None for a prefix."""
    figures: CheckpointTotals
    dtypes: tuple[str, ...]
    files: tuple[str, ...]
    children: tuple[Group, ...] = ()

    def figure(self, name: str) -> int:
        """Return a figure by its name."""
        value: int = getattr(self.figures, name)
        return value


class CheckpointFile(NamedTuple):
    """A file, with the number and the bytes of its tensors."""

    name: str
    tensors: int
    bytes: int


class Duplicate(NamedTuple):
    """A name that several files have; the first one counts."""

    name: str
    files: tuple[str, ...]
    same: bool
    """True if shape and type are the same everywhere."""
    bytes: int
    """Bytes of all but the first."""


class Copies(NamedTuple):
    """Tensors under a prefix that have the name, shape and type of others without it; data are not compared."""

    prefix: str
    tensors: int
    bytes: int


class TypeTotals(NamedTuple):
    """Figures of the tensors of one element type."""

    dtype: str
    tensors: int
    params: int
    """Elements that they stand for, where packed."""
    elements: int
    """Stored elements."""
    bytes: int


@recorded(
    *(Entry("file", "name"), "files", "totals", "types", "duplicates", "copies", "packed", "notes"),
    *(Entry("tensors", optional=True), Entry("groups", optional=True)),
    name="checkpoint",
)
@dataclass(frozen=True, slots=True)
class Checkpoint(Result):
    """The tensors of a checkpoint, created by :func:`netcalc.read_checkpoint`.

    ``depth`` and ``unroll`` say which rows are printed.
    """

    name: str
    files: tuple[CheckpointFile, ...]
    tensors: tuple[CheckpointTensor, ...]
    """Without `--depth`: the tensors."""
    duplicates: tuple[Duplicate, ...]
    copies: tuple[Copies, ...]
    packed: tuple[Packed, ...] = ()
    """Figures of packed tensors by scheme."""
    notes: tuple[str, ...] = ()
    """Facts of packed tensors that are not known."""
    depth: int | None = None
    unroll: bool = False
    groups: tuple[Group, ...] | None = None
    """With `--depth`: the prefixes at that depth."""

    def __repr__(self) -> str:
        return f"<Checkpoint {self.name!r}: {len(self.tensors):,} tensors>"

    @property
    def totals(self) -> CheckpointTotals:
        """Figures of all tensors."""
        return CheckpointTotals(len(self.tensors), self.params, self.elements, self.bytes)

    @property
    def params(self) -> int:
        """Elements of the tensors that the checkpoint stands for."""
        return sum(tensor.params for tensor in self.tensors)

    @property
    def elements(self) -> int:
        """Elements of all tensors."""
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def in_blocks(self) -> bool:
        """True if elements are stored in blocks, of types that do not say their bytes, as in GGUF."""
        return any(tensor.dtype not in BITS for tensor in self.tensors)

    @property
    def types(self) -> tuple[TypeTotals, ...]:
        """Figures by element type, that with most bytes first."""
        totals: dict[str, list[int]] = {}
        for tensor in self.tensors:
            sums = totals.setdefault(tensor.dtype, [0, 0, 0, 0])
            for position, amount in enumerate((1, tensor.params, tensor.elements, tensor.bytes)):
                sums[position] += amount
        figures = (TypeTotals(dtype, *sums) for dtype, sums in totals.items())
        return tuple(sorted(figures, key=lambda total: -total.bytes))


def read_content(
    path: Path, opened: Tensors | None = None, *, depth: int | None = None, unroll: bool = False
) -> Checkpoint:
    """Return the content of a checkpoint: a file, an index of shards, or a folder.

    Args:
        path: the checkpoint, whose folder may have a configuration.
        opened: the tensors of the checkpoint, if they are opened already.
        depth: levels of names; longer names are summed up when it is printed.
        unroll: True to print equal groups one by one.

    Raises:
        NetcalcError: E605 if a file cannot be read.
    """
    checkpoint = checkpoint_files(path if opened is None else opened)
    stands: dict[str, list[tuple[str, Header]]] = {}
    files = []
    for file in checkpoint.files:
        name, headers = Path(file.name).name, file.headers
        files.append(CheckpointFile(name, len(headers), sum(header.bytes or 0 for header in headers.values())))
        for tensor, header in headers.items():
            stands.setdefault(tensor, []).append((name, header))
    chosen = checkpoint.index.places if checkpoint.index else {}
    duplicates = []
    for tensor, places in stands.items():
        if len(places) > 1:
            places.sort(key=lambda place: place[0] != chosen.get(tensor))
            duplicates.append(_duplicate(tensor, places))
    quantization, notes = _quantization(path)
    headers_by_name = {name: places[0][1] for name, places in stands.items()}
    meant = UnpackedTensors(_Headers(checkpoint.name, headers_by_name), quantization)
    if meant.undetermined:
        names = " or ".join(sorted(set(meant.undetermined.values())))
        notes.append(
            f"{len(meant.undetermined):,} tensors look packed by {names}; a config.json beside them would tell"
        )
    wrong = next((h.unpacking for h in meant.headers.values() if h.unpacking and h.unpacking.problem), None)
    if wrong is not None:
        notes.append(f"tensors that do not unpack are left out of the parameters: {wrong.problem}")
    tensors = tuple(_tensor(name, *places[0], meant.roles.get(name)) for name, places in stands.items())
    return Checkpoint(
        checkpoint.name,
        tuple(files),
        tensors,
        tuple(duplicates),
        tuple(_copies(tensors)),
        meant.packed,
        tuple(notes),
        depth,
        unroll,
    )


class _Headers:
    """Headers without data."""

    def __init__(self, name: str, headers: Mapping[str, Header]) -> None:
        self.name = name
        self.headers = headers

    def load(self, name: str) -> Array:
        raise LookupError(name)


def _quantization(path: Path) -> tuple[Quantization | None, list[str]]:
    """Return what the configuration beside a checkpoint says of its quantization, or why it says nothing."""
    try:
        return quantization_beside(path), []
    except NetcalcError as error:
        return None, [f"{error.diagnostics[0].message}; stored elements are counted"]


def _tensor(name: str, file: str, header: Header, role: Role | None) -> CheckpointTensor:
    elements, size = header.elements, header.bytes or 0
    if role is None:
        return CheckpointTensor(name, header.shape, header.dtype, elements, elements, size, file)
    return CheckpointTensor(name, header.shape, header.dtype, role.params or 0, elements, size, file, role.scheme)


def _duplicate(name: str, places: Sequence[tuple[str, Header]]) -> Duplicate:
    _, first = places[0]
    same = all(header[:2] == first[:2] for _, header in places)
    return Duplicate(name, tuple(file for file, _ in places), same, sum(header.bytes or 0 for _, header in places[1:]))


def _copies(tensors: Iterable[CheckpointTensor]) -> Iterator[Copies]:
    """Yield the prefixes without which tensors have the names of others, those with the most bytes first."""
    kinds = {tensor.name: tensor[1:3] for tensor in tensors}
    numbers: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        name, position = tensor.name, -1
        for _ in range(_PREFIXES):
            position = name.find(".", position + 1)
            if position < 0:
                break
            if kinds.get(name[position + 1 :]) == tensor[1:3]:
                prefix = name[: position + 1]
                numbers[prefix] += 1
                sizes[prefix] += tensor.bytes
                break
    yield from (Copies(prefix, numbers[prefix], size) for prefix, size in sizes.most_common())
