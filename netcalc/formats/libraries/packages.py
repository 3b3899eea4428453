"""Packages that build models, and their versions, without an import of them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple


class Library(NamedTuple):
    """A library that builds models: its package, and those that it needs for that."""

    package: str
    needs: tuple[str, ...] = ("torch",)

    def versions(self) -> dict[str, str | None]:
        """Return the version of each package; None for one that is not installed."""
        return {name: _version(name) for name in (self.package, *self.needs)}

    def missing(self) -> list[str]:
        """Return the packages that are not installed."""
        return [name for name, found in self.versions().items() if found is None]

    @property
    def extra(self) -> str:
        """Command that installs the packages."""
        return f'pip install "netcalc-nn[{self.package}]"'


LIBRARIES = {
    "transformers": Library("transformers"),
    "timm": Library("timm", ("torch", "torchvision")),
    "torchvision": Library("torchvision"),
    "diffusers": Library("diffusers"),
}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
