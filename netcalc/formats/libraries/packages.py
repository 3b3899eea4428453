"""Packages that build models, and their versions, without an import of them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

#: Requirements of each library that builds models, which are an extra of the same name.
LIBRARIES = {
    "transformers": ("transformers>=5.0", "torch>=2.9"),
    "diffusers": ("diffusers>=0.35", "torch>=2.9"),
    "timm": ("timm>=1.0", "torch>=2.9", "torchvision>=0.24"),
    "torchvision": ("torchvision>=0.24", "torch>=2.9"),
}


def versions(library: str) -> dict[str, str | None]:
    """Return the version of each package that a library needs, itself included; None for one not installed."""
    return {package: _version(package) for package in (text.partition(">")[0] for text in LIBRARIES[library])}


def missing(library: str) -> list[str]:
    """Return the packages of a library that are not installed."""
    return [package for package, found in versions(library).items() if found is None]


def installation(library: str) -> str:
    """Return the command that installs the packages of a library."""
    return " ".join(["pip install", *(f'"{text}"' for text in LIBRARIES[library])])


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
