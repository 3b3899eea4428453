"""Adapters of PEFT, read as specs: the base model with low-rank adapters beside some of its linear lines.

The base model is frozen, and the adapters are trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netcalc.analysis.walk import parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.files import exists, is_folder
from netcalc.formats.peft.settings import LoraSettings
from netcalc.formats.peft.targets import lora_patches
from netcalc.formats.sources import FOLDER_FILES, Source, find_source
from netcalc.ir import Program
from netcalc.spec import elaborate
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import load_cursor

__all__ = ["adapter_document", "base_of"]


def base_of(config: Cursor, source: Source) -> Source:
    """Return the file that describes the base model of an adapter.

    It is a folder, beside the adapter or from the current one on; for an adapter on the Hub it is on the Hub too.

    Raises:
        NetcalcError: E007 if there is none.
    """
    name = config.data.get("base_model_name_or_path")
    if not isinstance(name, str) or not name:
        message = f"base_model_name_or_path should name the base model, not {written(name, quoted=True)}"
        raise NetcalcError(Diagnostic("E007", message, config.at(("base_model_name_or_path",)).span))
    beside = source.path.parent / name
    if source.repository is None and not name.startswith("hf:"):
        found = next((folder for folder in (beside, Path(name)) if _is_model(folder)), None)
        if found is None:
            message = f"the base model {written(name, quoted=True)} is no folder of a model here"
            hint = "base_model_name_or_path may be the path of its folder, or hf:org/name for a model on the Hub"
            raise NetcalcError(Diagnostic("E007", message, config["base_model_name_or_path"].span, hint=hint))
        chosen = find_source(str(found))
    else:
        revision = config.data.get("revision")
        named = name if name.startswith("hf:") else f"hf:{name}"
        chosen = find_source(f"{named}@{revision}" if isinstance(revision, str) else named)
    if chosen is None or chosen.path.name == source.path.name:
        message = f"the base model {written(name, quoted=True)} is no model of Hugging Face"
        raise NetcalcError(Diagnostic("E007", message, config["base_model_name_or_path"].span))
    return chosen


def _is_model(folder: Path) -> bool:
    return is_folder(folder) and any(exists(folder / filename) for filename in FOLDER_FILES)


def adapter_document(config: Cursor, source: Source, base: Cursor) -> Cursor:
    """Return the spec document of an adapter beside its base model, whose document is given.

    Raises:
        NetcalcError: E007 for a kind of adapter, a field, a value or a target that netcalc does not know.
    """
    settings = LoraSettings.of(config)
    program = elaborate(load_cursor(base, source.label), {})
    frozen = [{"at": path, "set": {"freeze": True}} for path in _lines_with_parameters(program)]
    patches = [*base.data.get("patch", ()), *frozen]
    spans, number = dict(base.spans), len(patches)
    for patch, place in lora_patches(program, settings, config):
        patches.append(patch)
        spans["patch", number] = place.spans[place.path]
        number += 1
    about = f"{base.data['about']} with an adapter of PEFT"
    return Cursor({**base.data, "name": source.name, "about": about, "patch": patches}, (), spans)


def _lines_with_parameters(program: Program) -> Iterator[str]:
    """Yield the paths of the lines of a network's own body that have parameters."""
    paths = [instance.path for instance in parameters(program)]
    for node in program.main.nodes:
        stem = node.name + "."
        if any(path.startswith(stem) for path in paths):
            yield node.name
