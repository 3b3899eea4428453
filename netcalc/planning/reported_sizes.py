"""Sizes at which a reported number is looked for: of images, sequences, batches, and any other dim of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple, Self

from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.request import Request

#: Sizes of batches, and of other small dims, such as images and texts.
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
_RESOLUTIONS = (160, 192, 224, 256, 288, 299, 320, 384, 448, 512)
#: Sizes of sequences, and of all other dims.
LENGTHS = (1, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
#: Further sizes of work, which are formulas in the sizes.
_FURTHER = (32, 384, 16384, 32768, 131072)
#: Size up to which a dim is a number of things, as a batch is.
_SMALL = 16
_BATCH = "batch"
#: Dims of an encoder and a decoder, which often have the same size.
_BOTH = ("source", "target")


class Sizes(NamedTuple):
    """Sizes other than those of the model: a choice is one of them, or several that go together."""

    choices: tuple[tuple[tuple[str, int], ...], ...] = ()

    @classmethod
    def of(cls, *choices: Mapping[str, int]) -> Self:
        """Return the sizes of some choices."""
        return cls(tuple(tuple(choice.items()) for choice in choices))

    @property
    def settings(self) -> tuple[tuple[str, int], ...]:
        """The sizes of all choices."""
        return tuple(size for choice in self.choices for size in choice)

    @property
    def words(self) -> tuple[str, ...]:
        """The choices as text."""
        return tuple(", ".join(f"{name}={size}" for name, size in choice) for choice in self.choices)

    @property
    def rank(self) -> tuple[int, int]:
        """Order among sizes of as many choices: those without a batch, and of fewer dims, come first."""
        names = {name for name, _ in self.settings}
        return int(_BATCH in names), len(names - {"width"})


def free_dims(request: Request) -> dict[str, int]:
    """Return the sizes of the dims that are not set, by name."""
    dims = request.program.dims
    return {name: integer(size) for name, size in dims.items() if name not in request.settings}


def free_batch(request: Request) -> int | None:
    """Return the size of the batch if there is one and it is not set."""
    return free_dims(request).get(_BATCH)


def image_sizes(request: Request) -> Iterator[dict[str, int]]:
    """Yield other sizes of images."""
    free = free_dims(request)
    if {"height", "width"} <= free.keys():
        yield from ({"height": n, "width": n} for n in _RESOLUTIONS if (n, n) != (free["height"], free["width"]))


def lengths(request: Request, further: tuple[int, ...] = ()) -> Iterator[dict[str, int]]:
    """Yield other sizes of all dims but the batch and images, those that go together as one choice.

    These are the source and the target of the same length, and the step of decoding of one position after others.
    """
    free = free_dims(request)
    past, new = request.program.caches.past, request.program.caches.new
    if past in free and new in free and past is not None and new is not None:
        for n in _values(new, max(free[new], 2), further):
            yield {past: n - 1, new: 1}
            yield {past: n, new: 1}
    if free.keys() >= {*_BOTH}:
        for n in _values(_BOTH[0], 0, further):
            if any(free[name] != n for name in _BOTH):
                yield dict.fromkeys(_BOTH, n)
    for name in _alone(free):
        yield from ({name: n} for n in _values(name, free[name], further) if n != free[name])


def size_choices(request: Request) -> Iterator[Sizes]:
    """Yield the sizes of the model, and others of one or two choices, without those of images."""
    yield Sizes()
    free = free_dims(request)
    batches = [{_BATCH: n} for n in BATCHES if n != free[_BATCH]] if _BATCH in free else []
    others = [*lengths(request, _FURTHER)]
    yield from (Sizes.of(sizes) for sizes in (*batches, *others))
    yield from (Sizes.of(sizes, batch) for batch in batches for sizes in others)
    names = [name for name in _alone(free) if name != request.program.caches.past]
    for first, second in combinations(names, 2):
        for n in _values(first, free[first], ()):
            for m in _values(second, free[second], ()):
                if n != free[first] and m != free[second] and not ((first, second) == _BOTH and n == m):
                    yield Sizes.of({first: n}, {second: m})


def _alone(free: Mapping[str, int]) -> list[str]:
    """Return the dims that are neither the batch nor the sizes of an image."""
    images = {"height", "width"} if {"height", "width"} <= free.keys() else set()
    return [name for name in free if name != _BATCH and name not in images]


def _values(name: str, size: int, further: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of a dim that are looked at; around one that is not among them, halves and multiples of it."""
    if 0 < size <= _SMALL:
        return BATCHES
    around = {size // 4, size // 2, 2 * size, 4 * size} if size > _SMALL and size not in LENGTHS else set[int]()
    return tuple(sorted({*LENGTHS, *further, *around}))


def changed_request(request: Request, sizes: Mapping[str, int]) -> Request | None:
    """Return the request at other sizes; None if the network has none there."""
    if not sizes:
        return request
    changed = replace(request, settings={**request.settings, **sizes})
    try:
        changed.program  # noqa: B018
    except NetcalcError:
        return None
    return changed
