"""The model types and architectures that can be imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from netcalc.results import Result, recorded


class ModelType(NamedTuple):
    """A ``model_type`` of Hugging Face configurations."""

    model_type: str
    family: str
    """Family of the shipped specs that its models extend."""
    architectures: tuple[str, ...]
    """Classes of transformers that are known."""


class GgufArchitecture(NamedTuple):
    """An architecture of models in GGUF."""

    architecture: str
    """``general.architecture`` of the metadata."""
    family: str
    """Family of the shipped specs that its models extend."""


@recorded(name="model-types")
@dataclass(frozen=True, slots=True)
class ModelTypes(Result):
    """The model types that can be imported."""

    model_types: tuple[ModelType, ...]
    gguf: tuple[GgufArchitecture, ...]
