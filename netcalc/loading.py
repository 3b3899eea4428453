"""The functions of the Python API: networks are loaded from specs, compared and described."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from netcalc.arguments import checked_argument, plain, texts
from netcalc.diagnostics import NetcalcError
from netcalc.formats import load_model, pending_downloads
from netcalc.network import Network
from netcalc.options import CompareOptions, ImportOptions, ModelOptions, accepts
from netcalc.request import Request
from netcalc.spec import library
from netcalc.spec.library import Loaded

if TYPE_CHECKING:
    from netcalc.analysis.compare import Comparison
    from netcalc.checkpoint import Checkpoint
    from netcalc.reference.specs import SpecReference

__all__ = ["compare", "describe", "import_spec", "load", "load_data", "loads", "pending_downloads", "read_checkpoint"]


@accepts
def load(spec: str | Path, **options: Unpack[ModelOptions]) -> Network:
    """Load a network from a spec file, a shipped spec, standard input (``-``), or a foreign format.

    Args:
        spec: ``"resnet34"``, ``"my/net.yaml"`` or ``"-"``; or a ``config.json`` of Hugging Face, its folder, a
            ``.gguf`` file, or ``"hf:org/name"`` for a model on the Hub, of which the configuration is downloaded.

    Raises:
        NetcalcError: with every error in the spec and the settings; E502 if an argument is of a wrong type.
    """
    return _network(load_model(spec, options["max_spec_size"]), options, spec)


@accepts
def loads(text: str, *, folder: str | Path | None = None, **options: Unpack[ModelOptions]) -> Network:
    """Load a network from a spec in a string.

    Args:
        text: the YAML text of the spec.
        folder: folder that paths in its ``extends`` and ``import`` are relative to; the current one by default.

    Raises:
        NetcalcError: with every error in the spec and the settings.
    """
    place = None if folder is None else Path(folder)
    return _network(library.load_text(text, folder=place, max_size=options["max_spec_size"]), options)


@accepts
def load_data(data: Mapping[str, Any], *, folder: str | Path | None = None, **options: Unpack[ModelOptions]) -> Network:
    """Load a network from a spec given as Python data.

    Args:
        data: mapping with the structure of a YAML spec: string keys, lists or tuples, strings, numbers, booleans, None.
        folder: folder that paths in its ``extends`` and ``import`` are relative to; the current one by default.

    Raises:
        NetcalcError: with every error in the spec and the settings; its places are paths such as ``layers[0].linear``.

    >>> import netcalc
    >>> netcalc.load_data({"netcalc": 1, "inputs": {"x": [1, 8]}, "layers": [{"linear": 2}]}).params
    18
    """
    place = None if folder is None else Path(folder)
    return _network(library.load_data(data, folder=place, max_size=options["max_spec_size"]), options)


@accepts
def import_spec(model: str | Path, **options: Unpack[ImportOptions]) -> str:
    """Return the YAML text of the spec that is equivalent to a model in a foreign format.

    Args:
        model: a ``config.json``, the folder that has it, a ``.gguf`` file, or ``"hf:org/name"``.

    Raises:
        NetcalcError: E007 with everything in the configuration that netcalc does not know; E008 if the Hub cannot be
            read.
    """
    from netcalc.formats import import_model

    return import_model(model, _settings(options["set"]), options["max_spec_size"])


def read_checkpoint(checkpoint: str | Path) -> Checkpoint:
    """Read the headers of a checkpoint: names, shapes, types and bytes of its tensors, without a spec.

    Args:
        checkpoint: a ``.safetensors``, ``.npz`` or ``.npy`` file, an ``index.json``, or a folder with such files.

    Raises:
        NetcalcError: E605 if a file cannot be read.
    """
    from netcalc.checkpoint import Checkpoint

    return Checkpoint.read(checked_argument("checkpoint", checkpoint))


@accepts
def compare(
    first: Network | str | Path,
    second: Network | str | Path,
    *more: Network | str | Path,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare networks: totals, operations, and layers with matching paths.

    Args:
        first, second, more: networks, or specs by name or path.

    Raises:
        NetcalcError: if a spec cannot be loaded, or the convention is unknown.

    >>> import netcalc
    >>> [row.path for row in netcalc.compare("resnet34", "resnet18").rows()]
    ['layer1.2', 'layer2.2', 'layer3.2', 'layer4.2']
    """
    from netcalc.analysis.compare import compare as compare_analyses

    networks = [
        spec if isinstance(spec, Network) else load(spec, max_spec_size=options["max_spec_size"])
        for spec in (first, second, *more)
    ]
    return compare_analyses([network.analysis(options["convention"]) for network in networks])


@accepts
def describe(spec: str | Path, **options: Unpack[CompareOptions]) -> SpecReference:
    """Describe a spec: its dims and vars, inputs and outputs at the default sizes, and published figures.

    Args:
        spec: as for :func:`load`.

    Raises:
        NetcalcError: with every error in the spec, or if the convention is unknown.

    >>> import netcalc
    >>> [(var.name, var.default) for var in netcalc.describe("mlp").vars]
    [('features', 784), ('hidden', [512, 256]), ('classes', 10)]
    """
    from netcalc.reference.specs import describe as describe_loaded

    return describe_loaded(load_model(spec, options["max_spec_size"]), options["convention"])


def _network(source: Loaded, options: ModelOptions, model: str | Path | None = None) -> Network:
    """Return the network of a source and the options of a model."""
    return Network(
        Request(
            source,
            _settings(options["set"]),
            tuple(options["symbolic"]),
            options["mode"],
            options["dtype"],
            options["lora"],
            texts(options["quantize"]),
            texts(options["prune"]),
            model=model,
        )
    )


def _settings(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``set`` with every value as plain data."""
    return {name: _setting(name, value) for name, value in (settings or {}).items()}


def _setting(name: str, value: Any) -> Any:
    """Return a value of ``set`` as plain data; NetcalcError (E501) if it holds anything that YAML could not hold."""
    value = plain(value)
    if not isinstance(value, (list, tuple, Mapping)):
        return value
    from netcalc.spec.plain_data import read_data

    try:
        return read_data(value, f"set[{name!r}]").data
    except NetcalcError as error:
        raise NetcalcError(problem._replace(code="E501") for problem in error.diagnostics) from None
