"""Seed of the live oracles, and import of torchvision, which transformers and timm import too."""

from __future__ import annotations

import sys

import pytest

from netcalc.formats.libraries.torchvision_import import import_torchvision

import_torchvision()


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Draw the same numbers in each test, whichever ran before it."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
