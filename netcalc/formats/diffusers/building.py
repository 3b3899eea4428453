"""Models of diffusers, built from a configuration without weights."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.formats.diffusers.classes import diffusers_class
from netcalc.formats.diffusers.inputs import calls_of
from netcalc.formats.libraries.building import Built, without_weights
from netcalc.formats.libraries.torchvision_import import import_torchvision
from netcalc.formats.torch.diagnosis import refused


def built(model: Mapping[str, Any], settings: Mapping[str, Any]) -> Built:
    """Return the model of a configuration.

    Args:
        model: the content of its ``config.json``, with the class in ``_class_name``.
        settings: values of fields in place of its own.

    Raises:
        NetcalcError: E009 if diffusers has no such model, or does not take the configuration; E501 for a setting that
            is no field.
    """
    import_torchvision()
    diffusers: Any = import_module("diffusers")
    name = model["_class_name"]
    kind = _model_class(diffusers, name)
    with without_weights():
        try:
            fields = {**kind.extract_init_dict(dict(model))[0], **_checked(kind, settings)}
            module = kind.from_config(fields)
        except NetcalcError:
            raise
        except Exception as error:  # of the library's checks
            raise refused(f"{name} of diffusers does not take the configuration", error) from error
    about = f"{name} of diffusers {diffusers.__version__}"
    return Built(module.eval(), name, about, "float32", [*calls_of(module)], numbers=())


def _model_class(diffusers: Any, name: Any) -> Any:
    """Return the class of models that a configuration names."""
    kind = diffusers_class(name)
    if kind is None or not issubclass(kind, diffusers.ModelMixin):
        hint = did_you_mean(str(name), [entry for entry in dir(diffusers) if entry.startswith(str(name)[:4])])
        message = f"diffusers {diffusers.__version__} has no model {written(name, quoted=True)}"
        raise NetcalcError(Diagnostic("E009", message, hint=hint))
    return kind


def _checked(kind: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings that are fields of a configuration."""
    known = sorted(kind._get_init_keys(kind) - {"self", "kwargs"})
    for name in settings:
        if name not in known:
            message = f"--set {name}: {kind.__name__} has no such field"
            raise NetcalcError(Diagnostic("E501", message, hint=did_you_mean(name, known)))
    return settings
