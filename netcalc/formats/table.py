"""The table of foreign formats: one row, and one folder beside it, for each."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from netcalc.formats.hub import PREFIX as HUB_PREFIX

#: File that describes a model of several formats; the first of their rows opens the weights of all of them.
CONFIG = "config.json"
_OF_FOLDER = "folder_weights"


class OnlyImport(NamedTuple):
    """Wording for a format whose models ``import`` makes a spec of, and no other command takes."""

    kind: str
    in_python: str


class Format(NamedTuple):
    """A foreign format: how its models are recognized, and the modules that read them, below ``netcalc.formats``."""

    #: Module with ``describe(source, max_size)``, or for ``only_import`` with ``import_document(model, settings)``.
    #: None for models that only a library describes.
    document: str | None
    #: Beginning, and end in any case, of texts that name a model.
    prefix: str = ""
    suffix: str = ""
    #: File that describes a model in its folder or repository.
    filename: str | None = None
    #: Keys of which its JSON file has at least one, and others that it lacks; without keys the name of the file counts.
    keys: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    #: Module with ``own_weights(source)``; None if models have no weights that can be read.
    weights: str | None = _OF_FOLDER
    #: Module with ``executed(source, library, inputs)``, for a file that other libraries execute; None for others.
    reference: str | None = None
    only_import: OnlyImport | None = None
    #: Key under which the rest of a text with the prefix is the content of a model that has no file.
    key: str | None = None
    #: Library that builds models for which there is no table.
    library: str | None = None
    #: False if the headers of weights say no more about bytes than the description does, and are not read to count.
    counts_headers: bool = True
    #: Phrase that says what ``import`` takes.
    takes: str | None = None

    def names(self, model: str) -> bool:
        """Return True for a text that names a model by its beginning or end."""
        beginning = self.prefix != "" and model.startswith(self.prefix)
        return beginning or (self.suffix != "" and model.lower().endswith(self.suffix))

    def holds(self, filename: str, data: Any) -> bool:
        """Return True for the data of a JSON file that describes a model."""
        if not self.keys:
            return filename == self.filename
        return isinstance(data, dict) and not data.keys().isdisjoint(self.keys) and data.keys().isdisjoint(self.without)

    @property
    def joins_weights(self) -> bool:
        """True if the weights of a model in a folder are more than the files of tensors there."""
        return self.filename is not None and self.weights != _OF_FOLDER


#: Fields of configurations of transformers and PEFT.
_TYPED = ("model_type", "peft_type")
#: Takes every JSON file that no other row holds, and says what is wrong with it.
_OTHERS = Format(
    "huggingface.document",
    filename=CONFIG,
    library="transformers",
    takes="the config.json of a Hugging Face model, its folder",
)
GGUF = Format("gguf.document", suffix=".gguf", weights="gguf.weights", takes="a .gguf file")
KERAS = Format("keras.document", suffix=".keras", weights="keras.weights", counts_headers=False, takes="a .keras file")
ONNX = Format("onnx.document", suffix=".onnx", weights="onnx.weights", reference="onnx.reference", takes="a .onnx file")
TORCH = Format(
    "torch.sources",
    prefix="torch:",
    suffix=".pt2",
    weights=None,
    only_import=OnlyImport("a module of PyTorch", in_python="netcalc.from_torch"),
)
#: The first row that holds a JSON file counts, and of the files in a folder the first that is there.
FORMATS = (
    Format("sentence_transformers.document", filename="modules.json", weights="sentence_transformers.weights"),
    Format("timm.document", filename=CONFIG, keys=("architecture",), without=_TYPED, library="timm"),
    Format("timm.document", prefix="timm:", key="architecture", weights=None, library="timm", takes="timm:NAME"),
    Format(None, prefix="torchvision:", key="name", weights=None, library="torchvision", takes="torchvision:NAME"),
    Format("peft.document", filename="adapter_config.json", keys=("peft_type",), weights="peft.weights"),
    Format("diffusers.document", filename="model_index.json", weights=None),
    Format(
        "diffusers.document",
        filename=CONFIG,
        keys=("_class_name", "_diffusers_version"),
        without=("model_type", "weight_map"),
        library="diffusers",
        takes="the config.json of a model of diffusers, its folder",
    ),
    Format(
        "keras.document",
        filename=CONFIG,
        keys=("registered_name", "build_config", "compile_config", "class_name"),
        without=("model_type", "architectures", "_class_name", "weight_map"),
        takes="the JSON of a model of Keras",
    ),
    _OTHERS,
    GGUF,
    KERAS,
    ONNX,
    TORCH,
)
#: Files of a folder or repository that describe its model.
FOLDER_FILES = tuple(dict.fromkeys(row.filename for row in FORMATS if row.filename is not None))


def named_format(model: str) -> Format | None:
    """Return the format that a text names by its beginning or end; None for any other text, and for the Hub."""
    if model.startswith(HUB_PREFIX):
        return None
    return next((row for row in FORMATS if row.names(model)), None)


def json_format(filename: str, data: Any) -> Format:
    """Return the format of a JSON file with its data."""
    return next((row for row in FORMATS if row.holds(filename, data)), _OTHERS)


def implementation(module: str) -> Any:
    """Return a module that a row names, which is imported when it is first used."""
    return import_module(f"netcalc.formats.{module}")
