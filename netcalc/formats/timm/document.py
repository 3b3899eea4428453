"""Models of timm: the ``config.json`` that it writes for the Hub, which names an architecture.

The correspondence is data: a table ``specs/<family>/timm/<module>.yaml`` has the architectures of a module of timm.
"""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.formats.documents import Description, Document, typed
from netcalc.formats.sources import Source
from netcalc.formats.table_files import TORCH_HINT, nearest_known
from netcalc.formats.timm.tables import Table, architectures, table_of
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import words_in

#: Keys of the configuration that are for information only.
_INFORMATION = {"label_descriptions", "label_names", "labels", "num_features"}
_READ = {"architecture", "global_pool", "model_args", "num_classes", "pretrained_cfg"}
_PRETRAINED_TEXT = """
    architecture classifier crop_mode crop_pct custom_load description file first_conv fixed_input_size hf_hub_filename
    hf_hub_id interpolation label_descriptions label_names label_offset license mean min_input_size notes origin_url
    paper_ids paper_name pool_size source state_dict std tag test_crop_pct test_input_size test_pool_size url
"""
#: Keys of ``pretrained_cfg`` that say where weights come from, how they are loaded and how images are prepared.
_PRETRAINED = frozenset(_PRETRAINED_TEXT.split())
_IMAGE = ("image_channels", "image_height", "image_width")


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of a configuration.

    Raises:
        NetcalcError: E007 with everything that netcalc does not know.
    """
    config = source.parsed(max_size)
    architecture = config.data["architecture"]
    table = table_of(architecture) if isinstance(architecture, str) else None
    if table is None:
        raise NetcalcError(_unknown(config["architecture"]))
    document = Document([])
    entry = table.cursor["models"][architecture]
    fields = _given_fields(config, table, document)
    document.expressed = {*table.part("vars"), *entry.data.get("vars", ())}
    document.begin(source.name, f"{architecture} of timm", table.family, "float32", config)
    defaults = entry.data.get("fields", {})
    used = words_in([entry.data.get("vars", {}), *(table.part(key) for key in ("vars", "dims", "require"))])
    for field, declared in table.part("fields").items():
        origin = entry["fields"][field] if field in defaults else table.cursor["fields"][field]
        options = typed(declared if isinstance(declared, dict) else {"default": declared})
        options["default"] = defaults.get(field, options["default"])
        value, place = fields.get(field, (options["default"], origin))
        document.declare(field, options, value, place, used=field in used or f"config_{field}" in used)
    document.copy_entries(table.cursor, entry)
    return Description(document.finished(), set(table.part("fields")))


def _given_fields(config: Cursor, table: Table, document: Document) -> dict[str, tuple[Any, Cursor]]:
    """Return the fields that a configuration gives, with their places; arguments of the model come last."""
    fields: dict[str, tuple[Any, Cursor]] = {}
    for key, place in config.items():
        if key not in _READ | _INFORMATION:
            document.problem(f"the field {key!r} of timm is not known; it is {written(place.data)}", place)
    sections = {key: config[key] for key in ("pretrained_cfg", "model_args") if config.data.get(key) is not None}
    for key in [key for key, place in sections.items() if not isinstance(place.data, dict)]:
        document.problem(f"{key} should be an object, not {written(config.data[key])}", sections.pop(key))
    if "pretrained_cfg" in sections:
        fields |= _pretrained(sections["pretrained_cfg"], document)
    for key in ("num_classes", "global_pool"):
        if config.data.get(key) is not None:
            fields[key] = (config.data[key], config[key])
    if "model_args" in sections:
        arguments = {field: field for field in table.part("fields") if field not in _IMAGE}
        arguments["in_chans"] = "image_channels"
        for key, place in sections["model_args"].items():
            if key in arguments:
                fields[arguments[key]] = (place.data, place)
            elif key == table.cursor.data.get("image_size"):
                sides = place.data if isinstance(place.data, list) and len(place.data) == 2 else [place.data] * 2
                fields |= {"image_height": (sides[0], place), "image_width": (sides[1], place)}
            elif key not in table.part("without_effect"):
                message = f"model_args.{key} = {written(place.data, quoted=True)} is not known"
                document.problem(message, place, did_you_mean(key, arguments))
    return fields


def _pretrained(section: Cursor, document: Document) -> dict[str, tuple[Any, Cursor]]:
    """Return the fields in ``pretrained_cfg``: the number of classes, and the size of images."""
    fields: dict[str, tuple[Any, Cursor]] = {}
    for key, place in section.items():
        if key == "num_classes":
            fields[key] = (place.data, place)
        elif key == "input_size":
            if isinstance(place.data, list) and len(place.data) == len(_IMAGE):
                fields |= {field: (place.data[n], place[n]) for n, field in enumerate(_IMAGE)}
            else:
                document.problem(f"input_size should be three numbers, not {written(place.data, quoted=True)}", place)
        elif key not in _PRETRAINED:
            document.problem(f"the field 'pretrained_cfg.{key}' is not known; it is {written(place.data)}", place)
    return fields


def _unknown(place: Cursor) -> Diagnostic:
    """Return the error for an architecture that has no table."""
    message = f"the architecture {written(place.data, quoted=True)} of timm cannot be imported"
    hint = f"{nearest_known(place.data, architectures(), 'one')}; {TORCH_HINT}"
    return Diagnostic("E007", message, place.span, hint=hint)
