"""Modules of sentence-transformers as lines of a spec."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Self, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, did_you_mean, written
from netcalc.formats.sources import Source
from netcalc.spec.cursor import Cursor

_PACKAGE = "sentence_transformers."
_FOLDER = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_-]*)?")
#: Modes of pooling by the fields of earlier versions, in the order of their vectors.
_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
#: Activations without arguments, by the names of their classes in torch.nn.
_ACTIVATIONS = {
    "ELU": "elu",
    "GELU": "gelu",
    "Hardswish": "hardswish",
    "Identity": "identity",
    "LeakyReLU": "leaky_relu",
    "Mish": "mish",
    "ReLU": "relu",
    "SELU": "selu",
    "SiLU": "silu",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "Tanh": "tanh",
}
_EMBEDDING = "sentence_embedding"


Line: TypeAlias = dict[str, Any]


class Value(NamedTuple):
    """A value of the network with its number of features, which is 0 if it is not known yet."""

    name: str
    features: int


class Module(NamedTuple):
    """A module: the last part of its class, the class as it is written, and its folder."""

    kind: str
    type: str
    folder: str
    source: Source
    span: Span

    @classmethod
    def of(cls, entry: Cursor, source: Source) -> Self:
        """Return the module of an entry in ``modules.json``; NetcalcError (E007) if it is not known."""
        data = entry.data
        if not isinstance(data, dict) or not all(isinstance(data.get(key), str) for key in ("type", "path")):
            raise NetcalcError(Diagnostic("E007", "a module should have a type and a path", entry.span))
        if not data["type"].startswith(_PACKAGE):
            message = f"the module {written(data['type'])} has code of its own, which is not run"
            raise NetcalcError(Diagnostic("E007", message, entry["type"].span))
        folder = data["path"].rstrip("/")
        if not _FOLDER.fullmatch(folder):
            message = f"{written(data['path'], quoted=True)} is no folder beside modules.json"
            raise NetcalcError(Diagnostic("E007", message, entry["path"].span))
        if data.get("kwargs"):
            raise NetcalcError(Diagnostic("E007", "kwargs of a module are not known", entry["kwargs"].key_span))
        place = entry["type"].span
        assert place is not None
        return cls(data["type"].rpartition(".")[2], data["type"], folder, source, place)

    def file(self, name: str, max_size: int) -> Source:
        """Return a file in the folder of the module."""
        source = self.optional_file(name, max_size)
        if source is None:
            message = f"{self.type} has no {self.folder + '/' if self.folder else ''}{name}"
            raise NetcalcError(Diagnostic("E004", message, self.span))
        return source

    def optional_file(self, name: str, max_size: int) -> Source | None:
        """Return a file in the folder of the module, None if there is none."""
        return self.source.beside(f"{self.folder}/{name}" if self.folder else name, max_size)

    def settings(self, max_size: int, allowed: dict[str, Any]) -> Cursor:
        """Return the configuration of the module; NetcalcError (E007) for fields that are not ``allowed``."""
        settings = parsed_object(self.file("config.json", max_size), max_size)
        problems = []
        for key, place in settings.items():
            if key not in allowed:
                message = f"the field {key!r} of {self.kind} is not known; it is {written(place.data)}"
                problems.append(Diagnostic("E007", message, place.key_span, hint=did_you_mean(key, allowed)))
            elif allowed[key] is not None and place.data not in allowed[key]:
                message = f"{key} = {written(place.data, quoted=True)} of {self.kind} is not known"
                problems.append(Diagnostic("E007", message, place.key_span))
        if problems:
            raise NetcalcError(problems)
        return settings


def parsed_object(source: Source, max_size: int) -> Cursor:
    """Return the content of a JSON file; NetcalcError (E007) if it is no object."""
    content = source.parsed(max_size)
    if not isinstance(content.data, dict):
        raise NetcalcError(Diagnostic("E007", f"{source.label} should be an object", content.span))
    return content


def dense_folders(source: Source, max_size: int) -> tuple[str, list[str]]:
    """Return the folder of the transformer, and the folders of the other modules that have weights."""
    transformer, *others = read_modules(source, max_size)
    return transformer.folder, [module.folder for module in others if module.kind == "Dense"]


def read_modules(source: Source, max_size: int) -> list[Module]:
    """Return the modules of a model, of which the first is a transformer and the second its pooling.

    Raises:
        NetcalcError: E007 if a module is not known, or stands where it is not expected.
    """
    listed = source.parsed(max_size)
    if not isinstance(listed.data, list) or not listed.data:
        raise NetcalcError(Diagnostic("E007", f"{source.label} should be a list of modules", listed.span))
    modules = [Module.of(entry, source) for entry in listed.elements()]
    kinds = [module.kind for module in modules]
    for number, module in enumerate(modules):
        expected = ("Transformer",) if number == 0 else ("Pooling",) if number == 1 else ("Dense", "Normalize")
        if module.kind not in expected:
            message = f"{source.label}: the module {module.type} is not known as number {number}"
            hint = "a transformer, its pooling, then any number of Dense and Normalize modules are"
            raise NetcalcError(Diagnostic("E007", message, module.span, hint=hint))
    if len(kinds) < 2:
        raise NetcalcError(Diagnostic("E007", f"{source.label} has no pooling", listed.span))
    return modules


def pooling_lines(module: Module, tokens: Value, mask: str | None, max_size: int) -> tuple[list[Line], Value]:
    """Return the lines of a pooling, whose modes are concatenated, and their value."""
    allowed = {
        "word_embedding_dimension": None,
        "embedding_dimension": None,
        "pooling_mode": None,
        "include_prompt": (True,),
        **dict.fromkeys(_MODES, (True, False)),
    }
    settings = module.settings(max_size, allowed)
    modes = settings.data.get("pooling_mode")
    if modes is None:
        modes = [mode for field, mode in _MODES.items() if settings.data.get(field)] or ["mean"]
    modes = [modes] if isinstance(modes, str) else modes
    unknown = [mode for mode in modes if mode not in _MODES.values()] if isinstance(modes, list) else [modes]
    if unknown or not modes:
        message = f"pooling_mode {written(unknown[0] if unknown else modes, quoted=True)} is not known"
        raise NetcalcError(Diagnostic("E007", message, settings["pooling_mode"].span))
    field = "embedding_dimension" if "embedding_dimension" in settings.data else "word_embedding_dimension"
    features = _number(settings, field)
    inputs = tokens.name if mask is None else [tokens.name, mask]
    name = module.folder or "pooling"
    lines: list[Line] = [
        {"name": f"{name}.{number}", "from": inputs, "sentence_pooling": {"mode": mode, "features": features}}
        for number, mode in enumerate(modes)
    ]
    if len(lines) == 1:
        return [lines[0] | {"name": name}], Value(name, features)
    joined = {"name": name, "from": [line["name"] for line in lines], "concat": {"axis": -1}}
    return [*lines, joined], Value(name, len(lines) * features)


def normalize_lines(module: Module, embedding: Value, mask: str | None, max_size: int) -> tuple[list[Line], Value]:
    """Return the line of a normalization to length 1, which has no configuration in earlier versions."""
    names = dict.fromkeys(("module_input_name", "module_output_name"), (_EMBEDDING,))
    if module.optional_file("config.json", max_size) is not None:
        module.settings(max_size, names)
    name = module.folder or "normalize"
    line = {"name": name, "from": embedding.name, "normalize": {"axis": -1}}
    return [line], Value(name, embedding.features)


def dense_lines(module: Module, embedding: Value, mask: str | None, max_size: int) -> tuple[list[Line], Value]:
    """Return the lines of a linear layer with an activation; its parameters are below the name of its folder."""
    allowed = {
        **dict.fromkeys(("in_features", "out_features", "activation_function")),
        "bias": (True, False),
        "use_residual": (False,),
        **dict.fromkeys(("module_input_name", "module_output_name"), (_EMBEDDING, None)),
    }
    settings = module.settings(max_size, allowed)
    if _number(settings, "in_features") != embedding.features:
        message = (
            f"in_features is {settings.data['in_features']:,}, and the embedding has {embedding.features:,} features"
        )
        raise NetcalcError(Diagnostic("E007", message, settings["in_features"].span))
    named = settings.data.get("activation_function", "torch.nn.modules.activation.Tanh")
    text = named if isinstance(named, str) and named.startswith("torch.nn.") else ""
    activation = _ACTIVATIONS.get(text.rpartition(".")[2])
    if activation is None:
        message = f"activation_function = {written(named, quoted=True)} of Dense is not known"
        raise NetcalcError(Diagnostic("E007", message, settings.at(("activation_function",)).span))
    linear = {"out": _number(settings, "out_features"), "bias": settings.data.get("bias", True)}
    name = module.folder
    lines: list[Line] = [
        {"name": f"{name}.linear", "from": embedding.name, "linear": linear},
        {"name": f"{name}.activation_function", activation: {}},
    ]
    lines = lines if activation != "identity" else lines[:1]
    return lines, Value(lines[-1]["name"], linear["out"])


def _number(settings: Cursor, field: str) -> int:
    value = settings.data.get(field)
    if type(value) is not int or value < 1:
        message = f"{field} should be a number, not {written(value, quoted=True)}"
        raise NetcalcError(Diagnostic("E007", message, settings.at((field,)).span))
    return value
