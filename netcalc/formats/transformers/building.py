"""Models of transformers, built from a configuration without weights and without code of a repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from importlib import import_module
from operator import getitem
from sys import modules
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.dtypes import FLOATS
from netcalc.formats.diffusers.classes import diffusers_class
from netcalc.formats.graph.constants import listed
from netcalc.formats.huggingface.fields import with_infinities
from netcalc.formats.huggingface.reading import class_named
from netcalc.formats.huggingface.tables import spelling
from netcalc.formats.libraries.building import Built, without_weights
from netcalc.formats.libraries.torchvision_import import import_torchvision
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.library import torch_library
from netcalc.formats.transformers.inputs import calls_of, configurations
from netcalc.schemes.configuration import stated_dtype

#: Function by which code of transformers knows that it is exported.
_EXPORTING = "is_torchdynamo_exporting"


def built(model: Mapping[str, Any], settings: Mapping[str, Any]) -> Built:
    """Return the model of a configuration.

    Args:
        model: the content of its ``config.json``.
        settings: values of fields in place of its own; ``text_config.hidden_size`` is one within another.

    Raises:
        NetcalcError: E009 if transformers has no such type or class, or does not take the configuration; E501 for a
            setting that is no field.
    """
    transformers = _library()
    kind = _configuration_class(model)
    try:
        with _without_hub():
            config = kind.from_dict(with_infinities(_with_settings(model, settings, kind)))
    except NetcalcError:
        raise
    except Exception as error:  # of the library's checks
        raise refused(f"{kind.__name__} of transformers does not take the configuration", error) from error
    for part in configurations(config):
        if hasattr(part, "use_cache"):
            part.use_cache = False
        part._experts_implementation = "batched_mm"  # exactly the chosen experts of each token
        part.dtype = torch_library().float32  # of all parts alike, which a part of another type would not fit
    kind = _class_of(model, config)
    config = next((part for part in configurations(config) if isinstance(part, kind.config_class or ())), config)
    with without_weights(), import_module("transformers.initialization").no_init_weights():
        try:
            module = kind(config)
            module.tie_weights(recompute_mapping=False)  # which is part of the initialization that is left out
        except NetcalcError:
            raise
        except Exception as error:
            raise refused(f"{kind.__name__} of transformers does not take the configuration", error) from error
    if hasattr(module, "forward_onnx"):  # that of a checker of diffusers, whose other one decides by values
        module.forward = module.forward_onnx
    path = stated_dtype(model)
    dtype = str(reduce(getitem, path, model)).removeprefix("torch.") if path else "float32"
    return Built(
        module.eval(),
        kind.__name__,
        f"{kind.__name__} of transformers {transformers.__version__}",
        dtype if dtype in FLOATS else "float32",
        [*calls_of(module, config)],
        exporting=partial(_solving, module),
    )


@contextmanager
def _solving(module: Any) -> Iterator[None]:
    """Let the gated delta rule solve its systems for a while as in a call, and not by the loops of an export."""
    files = [modules[name] for name in {type(part).__module__ for part in module.modules()}]
    asked = [vars(file) for file in files if hasattr(file, "torch_chunk_gated_delta_rule")]
    held = [(names, names[_EXPORTING]) for names in asked if _EXPORTING in names]
    try:
        for names, _ in held:
            names[_EXPORTING] = lambda: False
        yield
    finally:
        for names, function in held:
            names[_EXPORTING] = function


def unknown_fields(model: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return those of some fields of a configuration that its class does not have, which say nothing to it."""
    known = _configuration_class(model)()
    return [name for name in names if not hasattr(known, name)]


def _library() -> Any:
    import_torchvision()
    return import_module("transformers")


@contextmanager
def _without_hub() -> Iterator[None]:
    """Take names of backbones for those of timm, as transformers does with a name that the Hub does not have."""
    backbones: Any = import_module("transformers.backbone_utils")
    asked, backbones.hf_api = backbones.hf_api, _Hub
    try:
        yield
    finally:
        backbones.hf_api = asked


class _Hub:
    """The Hub, of which nothing is read: its models have the name of their owner before their own."""

    @staticmethod
    def repo_exists(name: str) -> bool:
        return "/" in name


def _configuration_class(model: Mapping[str, Any]) -> Any:
    """Return the class of a configuration, by its type or else by the class of model that it names."""
    transformers = _library()
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    model_type = model.get("model_type")
    if model_type is None and isinstance(named := class_named(model), str):
        model_type = getattr(getattr(getattr(transformers, named, None), "config_class", None), "model_type", None)
    if not isinstance(model_type, str) or model_type not in known:
        hint = did_you_mean(str(model_type), list(known))
        message = f"transformers {transformers.__version__} has no models of type {written(model_type, quoted=True)}"
        raise NetcalcError(Diagnostic("E009", message, hint=hint))
    return known[model_type]


def _with_settings(fields: Mapping[str, Any], settings: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    """Return the fields of a configuration with values in place of its own."""
    result = dict(fields)
    known = {**kind().to_dict(), **fields} if settings else {}
    for name, value in settings.items():
        first, dot, rest = name.partition(".")
        if first not in known or (dot and not isinstance(known[first], dict)):
            hint = did_you_mean(first, list(known))
            raise NetcalcError(Diagnostic("E501", f"--set {name}: {kind.__name__} has no such field", hint=hint))
        result[first] = {**(result.get(first) or {}), rest: value} if dot else value
    return result


def _exported(name: str) -> Any:
    """Return what transformers has by a name; releases spell some otherwise, such as ``PhiMoEForCausalLM``."""
    transformers = _library()
    found = getattr(transformers, name, None)
    if found is not None:
        return found
    near = next((entry for entry in dir(transformers) if spelling(entry) == spelling(name)), name)
    return getattr(transformers, near, None)


def _class_of(fields: Mapping[str, Any], config: Any) -> Any:
    """Return the class that a configuration names, of transformers or of a pipeline of diffusers; or its base model."""
    transformers = _library()
    base = transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES
    named = fields.get("architectures") or base.get(config.model_type)
    if named is None:
        message = f"transformers {transformers.__version__} has no base model of type {written(config.model_type)}"
        raise NetcalcError(Diagnostic("E009", message, hint="architectures names the class"))
    name = named[0] if isinstance(named, (list, tuple)) else named
    known = (_exported(name) or diffusers_class(name)) if isinstance(name, str) else None
    if needed := vars(known).get("_backends") if isinstance(known, type) else None:  # a stand-in for the class
        message = f"{name} of transformers needs {listed(needed)}, which is not installed"
        raise NetcalcError(Diagnostic("E009", message))
    if not isinstance(known, type) or not issubclass(known, transformers.PreTrainedModel):
        hint = did_you_mean(str(name), [entry for entry in dir(transformers) if entry.startswith(str(name)[:4])])
        message = f"transformers {transformers.__version__} has no model {written(name, quoted=True)}"
        raise NetcalcError(Diagnostic("E009", message, hint=hint))
    return known
