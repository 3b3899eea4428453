"""Adapters of PEFT, read as specs: the base model with low-rank adapters beside some of its linear lines.

The base model is frozen, and the adapters are trained.
"""

from __future__ import annotations

from pathlib import Path

from netcalc.adapters import freezing_patches
from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.files import exists
from netcalc.formats.documents import Description
from netcalc.formats.hub import PREFIX
from netcalc.formats.hub.names import HubName
from netcalc.formats.hub.repository import Repository
from netcalc.formats.peft.settings import LoraSettings
from netcalc.formats.peft.targets import lora_patches
from netcalc.formats.reading import Reading
from netcalc.formats.sources import Source, described, repository_source
from netcalc.formats.table import CONFIG
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.schemes.module_lists import ModuleList
from netcalc.schemes.rules import StorageRule
from netcalc.schemes.scheme import PLAIN
from netcalc.spec import elaborate
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import load_cursor, load_document
from netcalc.spec.shipped import shipped_file, unaliased
from netcalc.spec.yaml_document import parse_yaml

#: What the names of the modules of adapters have in them, which are in full precision beside a quantized model.
_ADAPTERS = (".lora_",)


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of an adapter beside its base model.

    Raises:
        NetcalcError: E007 for a kind of adapter, a field, a value or a target that netcalc does not know; E008 if the
            Hub cannot be read.
    """
    config = source.parsed(max_size)
    base_source = base_of(config, source)
    base_model = _shipped(base_source) if base_source.is_shipped else described(base_source, Reading(max_size))
    base = base_model.document
    settings = LoraSettings.of(config)
    program = elaborate(load_cursor(base, source.label), {})
    patches = [*base.data.get("patch", ()), *freezing_patches(program)]
    spans, number = dict(base.spans), len(patches)
    for patch, place in lora_patches(program, settings, config):
        patches.append(patch)
        spans["patch", number] = place.spans[place.path]
        number += 1
    about = f"{base.data['about']} with an adapter of PEFT"
    document = {**base.data, "name": source.name, "about": about, "patch": patches}
    storage = base_model.storage
    if storage.rules:
        storage = storage._replace(rules=(StorageRule(PLAIN, ModuleList(_ADAPTERS, "parts")), *storage.rules))
    return base_model._replace(document=Cursor(document, (), spans), storage=storage)


def _shipped(source: Source) -> Description:
    """Return a document that extends the shipped spec of the base model."""
    document = load_document(source.name).document
    base = parse_yaml(f"netcalc: 1\nextends: {source.name}\n", source.label)
    head = {"about": document.about, "family": document.family, "dims": {}, "vars": {}}
    return Description(Cursor({**base.data, **head}, (), base.spans), set())


def base_of(config: Cursor, source: Source) -> Source:
    """Return the configuration of the base model of an adapter.

    It is in a folder, from the adapter or the current one on, or else the shipped spec of this name; for an adapter on
    the Hub it is on the Hub too.

    Raises:
        NetcalcError: E007 if there is none, E008 if the Hub cannot be read.
    """
    name = config.data.get("base_model_name_or_path")
    place = config.at(("base_model_name_or_path",))
    if not isinstance(name, str) or not name:
        message = f"base_model_name_or_path should name the base model, not {written(name, quoted=True)}"
        raise NetcalcError(Diagnostic("E007", message, place.span))
    if source.repository is None and not name.startswith(PREFIX):
        folders = (source.path.parent / name, Path(name))
        base = next((folder for folder in folders if exists(folder / CONFIG)), None)
        if base is not None:
            return Source(base / CONFIG, str(base / CONFIG), base.resolve().name, ignored=source.ignored)
        spec = unaliased(name) or name
        if (file := shipped_file(spec)) is not None:
            return Source(file, name, spec)
        message = f"the base model {written(name, quoted=True)} is no folder of a model here, and no shipped spec"
        hint = "base_model_name_or_path may be the path of its folder, or hf:org/name for a model on the Hub"
        raise NetcalcError(Diagnostic("E007", message, place.span, hint=hint))
    named = name if name.startswith(PREFIX) else PREFIX + name
    revision = config.data.get("revision")
    repository = Repository(HubName.of(f"{named}@{revision}" if isinstance(revision, str) else named))
    return repository_source(repository, MAX_SPEC_SIZE, (CONFIG,))._replace(ignored=source.ignored)
