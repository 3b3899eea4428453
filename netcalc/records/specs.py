"""Records of ``specs``: the list of shipped specs, and the page of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.values import Count, TensorRecord, count, plain, tensor
from netcalc.reference.specs import LossReference, SettingReference, SpecReference, TensorReference
from netcalc.spec.shipped import CatalogueEntry

__all__ = ["SpecRecord", "SpecsRecord", "spec_record", "specs_record"]


class ListedSpec(TypedDict):
    """A spec with its figures at the default sizes."""

    name: str
    family: str
    params: Count
    """Elements of parameters."""
    macs: Count
    """Multiply-adds of one forward pass."""
    about: str
    source: str
    aliases: list[str]
    """Other names under which the spec is found."""


class SpecsRecord(TypedDict):
    """All shipped specs, or those that were selected."""

    schema: str
    convention: str
    """Counting convention of the MACs."""
    specs: list[ListedSpec]


class SettingRecord(TypedDict):
    """A dim or var."""

    type: str
    default: Any
    """Evaluated default; null or a formula if the dim is symbolic."""
    expression: str | None
    """Text of a default that is computed from other settings."""
    limits: str
    about: str


class DescribedTensor(TensorRecord):
    """An input or output at the default sizes."""

    about: str
    default: float | str | None
    """Value of all elements of an input that is not given; null if it is required."""


class LossRecord(TypedDict):
    """The loss of a spec at the default sizes."""

    operations: list[str]
    """Operations and blocks that compute it."""
    sources: list[str]
    """Outputs and inputs that it takes."""
    inputs: dict[str, DescribedTensor]
    """Inputs that only the loss has."""


class PublishedRecord(TypedDict):
    """A figure that the source of the spec prints."""

    figure: str
    value: str | int
    """The figure as printed."""
    where: str
    note: str


class SpecRecord(ListedSpec):
    """The page of one spec."""

    schema: str
    convention: str
    file: str | None
    """Path of the spec's file; null for standard input."""
    extends: str | None
    """The spec from which it inherits."""
    dims: dict[str, SettingRecord]
    vars: dict[str, SettingRecord]
    inputs: dict[str, DescribedTensor]
    outputs: dict[str, DescribedTensor]
    loss: LossRecord | None
    """Null for a spec without a loss, and where an inherited one does not fit the spec."""
    published: list[PublishedRecord]
    requirements: list[str]
    """Conditions on dims and vars."""


def specs_record(specs: Iterable[CatalogueEntry], convention: str) -> SpecsRecord:
    """Return the record of a list of specs."""
    return {
        "schema": schema_id("specs"),
        "convention": convention,
        "specs": [
            {
                "name": spec.name,
                "family": spec.family,
                "params": spec.params,
                "macs": spec.macs[convention],
                "about": spec.about,
                "source": spec.source,
                "aliases": list(spec.aliases),
            }
            for spec in specs
        ],
    }


def spec_record(spec: SpecReference) -> SpecRecord:
    """Return the record of one spec's page."""
    return {
        "schema": schema_id("spec-page"),
        "convention": spec.convention,
        "name": spec.name,
        "family": spec.family,
        "params": count(spec.params),
        "macs": count(spec.macs),
        "about": spec.about,
        "source": spec.source,
        "aliases": list(spec.aliases),
        "file": spec.file,
        "extends": spec.extends,
        "dims": {setting.name: _setting(setting) for setting in spec.dims},
        "vars": {setting.name: _setting(setting) for setting in spec.vars},
        "inputs": {declared.name: _tensor(declared) for declared in spec.inputs},
        "outputs": {declared.name: _tensor(declared) for declared in spec.outputs},
        "loss": None if spec.loss is None else _loss(spec.loss),
        "published": [{"figure": p.figure, "value": p.value, "where": p.where, "note": p.note} for p in spec.published],
        "requirements": list(spec.requirements),
    }


def _setting(setting: SettingReference) -> SettingRecord:
    return {
        "type": setting.type,
        "default": plain(setting.default),
        "expression": setting.expression or None,
        "limits": setting.limits,
        "about": setting.about,
    }


def _loss(loss: LossReference) -> LossRecord:
    return {
        "operations": list(loss.operations),
        "sources": list(loss.sources),
        "inputs": {declared.name: _tensor(declared) for declared in loss.inputs},
    }


def _tensor(declared: TensorReference) -> DescribedTensor:
    return {**tensor(declared.type), "about": declared.about, "default": plain(declared.default)}
