"""Names that a command line may hold: of specs, blocks, conventions and optimizers, and of the settings of a spec."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.spec.library import Loaded
from netcalc.spec.shipped import CatalogueEntry, catalogue, shipped_blocks

__all__ = ["CatalogueEntry", "block_names", "conventions", "optimizer_names", "setting_kinds", "specs"]


def specs() -> Mapping[str, CatalogueEntry]:
    """Return the shipped specs by name."""
    return catalogue()


def block_names() -> tuple[str, ...]:
    """Return the names of the shipped blocks."""
    return shipped_blocks()


def conventions() -> dict[str, str]:
    """Return what each counting convention counts, by its name."""
    from netcalc.analysis.conventions import CONVENTIONS

    return {name: convention.about for name, convention in CONVENTIONS.items()}


def optimizer_names() -> tuple[str, ...]:
    """Return the names of the optimizers."""
    from netcalc.analysis.optimizers import optimizer_names

    return optimizer_names()


def setting_kinds(loaded: Loaded) -> dict[str, str]:
    """Return "dim" or "var" for each name that ``--set`` takes."""
    from netcalc.spec.settings import setting_names

    return {name: "dim" if name in loaded.document.dims else "var" for name in setting_names(loaded)}
