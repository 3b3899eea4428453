"""Models of timm, built without weights by a name or by a ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.formats.libraries.building import Built, without_weights
from netcalc.formats.libraries.torchvision_import import import_torchvision
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.examples import Example


def built(model: Mapping[str, Any], settings: Mapping[str, Any]) -> Built:
    """Return the model of an architecture.

    Args:
        model: the content of a ``config.json`` that timm writes, or its ``architecture`` alone.
        settings: arguments of ``timm.create_model``.

    Raises:
        NetcalcError: E009 if timm has no such architecture, or does not take the arguments.
    """
    import_torchvision()
    timm: Any = import_module("timm")
    name, arguments = str(model["architecture"]), _arguments(model, settings)
    if not timm.is_model(name):
        hint = did_you_mean(name.partition(".")[0], timm.list_models())
        raise NetcalcError(Diagnostic("E009", f"timm {timm.__version__} has no architecture {name!r}", hint=hint))
    with without_weights():
        try:
            module = timm.create_model(name, pretrained=False, **arguments)
        except NetcalcError:
            raise
        except Exception as error:  # of the library's checks
            raise refused(f"timm builds no {name} with these arguments", error) from error
    published = {**module.pretrained_cfg, **(model.get("pretrained_cfg") or {})}
    sizes = (1, *timm.data.resolve_data_config({}, published, model=module)["input_size"])
    sizes = _chosen(sizes, arguments)
    dims = {0: "batch", 2: "height", 3: "width"}
    example = Example(next(iter(signature(module.forward).parameters)), "float32", sizes, dims)
    return Built(module.eval(), name, f"{name} of timm {timm.__version__}", "float32", [[example]])


def _arguments(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``create_model`` in a configuration, as timm reads it, with settings in their place."""
    published = config.get("pretrained_cfg") or {}
    arguments = {name: config[name] for name in ("num_classes", "global_pool") if config.get(name) is not None}
    if "num_classes" not in arguments and "num_classes" in published:
        arguments["num_classes"] = published["num_classes"]
    return {**arguments, **(config.get("model_args") or {}), **settings}


def _chosen(sizes: tuple[int, ...], arguments: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the sizes of images as arguments of the model change them."""
    side = arguments.get("img_size")
    sides = (side, side) if isinstance(side, int) else tuple(side or sizes[2:])
    return sizes[0], arguments.get("in_chans", sizes[1]), *sides
