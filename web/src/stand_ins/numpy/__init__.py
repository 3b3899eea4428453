"""Names of NumPy's element types, for the page alone: the readers of headers name types, and compute nothing.

There is no NumPy for the platform of the page.  Whatever is not here is asked of NumPy by what executes networks, and
the page says that it needs an installation.
"""

from __future__ import annotations

from typing import Any

_BITS = {"bool": 8, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e8m0fnu": 8}
_KINDS = {"int": "i", "uint": "u", "float": "f", "complex": "c", "bool": "b"}


class dtype:  # noqa: N801 - the name in NumPy
    """An element type: its name, bytes and kind."""

    def __init__(self, name: Any) -> None:
        self.name = name if isinstance(name, str) else str(name)
        stem = self.name.rstrip("0123456789")
        if self.name not in _BITS and (stem not in _KINDS or stem == self.name):
            raise TypeError(f"data type {self.name!r} not understood")
        self.itemsize = _BITS.get(self.name, int(self.name.removeprefix(stem) or 0)) // 8
        self.kind = _KINDS.get(stem, "V")

    def __class_getitem__(cls, _: Any) -> type[dtype]:
        return cls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dtype) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class ndarray:  # noqa: N801 - the name in NumPy
    """An array; there is none."""

    def __class_getitem__(cls, _: Any) -> type[ndarray]:
        return cls


class generic:  # noqa: N801 - the name in NumPy
    """A scalar; there is none."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"numpy.{name} needs an installation of netcalc: there is no NumPy for this page")
