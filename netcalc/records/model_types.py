"""Record of the model types that can be imported."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import TypedDict

from netcalc.records import schema_id

__all__ = ["ModelTypesRecord", "model_types_record"]


class ModelTypeRecord(TypedDict):
    """A ``model_type`` of Hugging Face configurations."""

    model_type: str
    family: str
    """Family of the shipped specs that its models extend."""
    architectures: list[str]
    """Classes of transformers that are known."""


class GgufRecord(TypedDict):
    """An architecture of models in GGUF."""

    architecture: str
    """``general.architecture`` of the metadata."""
    family: str
    """Family of the shipped specs that its models extend."""


class ModelTypesRecord(TypedDict):
    """The model types that can be imported."""

    schema: str
    model_types: list[ModelTypeRecord]
    gguf: list[GgufRecord]


def model_types_record(
    listed: Iterable[tuple[str, str, list[str]]], gguf: Iterable[tuple[str, str]]
) -> ModelTypesRecord:
    """Return the record of model types, each with its family and architectures, and of architectures in GGUF."""
    return {
        "schema": schema_id("model-types"),
        "model_types": [
            {"model_type": name, "family": family, "architectures": models} for name, family, models in listed
        ],
        "gguf": [{"architecture": name, "family": family} for name, family in gguf],
    }
