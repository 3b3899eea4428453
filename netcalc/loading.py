"""The functions of the Python API: networks are loaded from specs, compared and described."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcalc.api_arguments import checked, checked_argument, plain
from netcalc.diagnostics import NetcalcError
from netcalc.formats import import_model, load_model
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.network import Network
from netcalc.spec import elaborate, library
from netcalc.spec.standalone import SpecSource

if TYPE_CHECKING:
    from netcalc.analysis.adapters import LoraArgument
    from netcalc.analysis.compare import Comparison
    from netcalc.analysis.spec_reference import SpecReference
    from netcalc.checkpoint import Checkpoint

__all__ = ["compare", "describe", "import_spec", "load", "load_data", "loads", "read_checkpoint"]


@checked
def load(
    spec: str | Path,
    *,
    set: Mapping[str, Any] | None = None,
    symbolic: Collection[str] = (),
    training: bool = False,
    dtype: str | None = None,
    lora: LoraArgument | None = None,
    max_spec_size: int = MAX_SPEC_SIZE,
) -> Network:
    """Load a network from a spec file, a shipped spec, standard input (``-``), or a foreign format.

    Args:
        spec: ``"resnet34"``, ``"my/net.yaml"`` or ``"-"``; or a ``config.json`` of Hugging Face, its folder, a
            ``.gguf`` file, or ``"hf:org/name"`` for a model on the Hub, of which the configuration is downloaded.
        set: values of dims and vars by name, which replace the spec's own, and of fields of a configuration; NumPy
            scalars count as numbers.
        symbolic: dims that are kept as symbols, so that shapes and counts are formulas.
        training: True for the training mode of every operation.
        dtype: element type of floating-point inputs and parameters, such as ``"bfloat16"``; None for the spec's own.
        lora: ranks of low-rank adapters by pattern of linear layers, ``{"*.q_proj": 16}``, or settings of the modifier
            in place of a rank; a rank for all but the last layers; or texts as ``--lora`` takes them.  All other
            parameters are frozen.
        max_spec_size: largest size in bytes of the spec file, and of each file that it extends or imports.

    Raises:
        NetcalcError: with every error in the spec and the settings; E502 if an argument is of a wrong type.
    """
    return _network(load_model(spec, max_spec_size), set, symbolic, training, dtype, lora)


@checked
def loads(
    text: str,
    *,
    set: Mapping[str, Any] | None = None,
    symbolic: Collection[str] = (),
    training: bool = False,
    dtype: str | None = None,
    lora: LoraArgument | None = None,
    folder: str | Path | None = None,
    max_spec_size: int = MAX_SPEC_SIZE,
) -> Network:
    """Load a network from a spec in a string; arguments as for :func:`load`.

    Args:
        text: the YAML text of the spec.
        folder: folder that paths in its ``extends`` and ``import`` are relative to; the current one by default.

    Raises:
        NetcalcError: with every error in the spec and the settings.
    """
    loaded = library.load_text(text, folder=None if folder is None else Path(folder), max_size=max_spec_size)
    return _network(loaded, set, symbolic, training, dtype, lora)


@checked
def load_data(
    data: Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,
    symbolic: Collection[str] = (),
    training: bool = False,
    dtype: str | None = None,
    lora: LoraArgument | None = None,
    folder: str | Path | None = None,
    max_spec_size: int = MAX_SPEC_SIZE,
) -> Network:
    """Load a network from a spec given as Python data; arguments as for :func:`load`.

    Args:
        data: mapping with the structure of a YAML spec: string keys, lists or tuples, strings, numbers, booleans, None.
        folder: folder that paths in its ``extends`` and ``import`` are relative to; the current one by default.
        max_spec_size: largest size in bytes of each file that it extends or imports.

    Raises:
        NetcalcError: with every error in the spec and the settings; its places are paths such as ``layers[0].linear``.

    >>> import netcalc
    >>> netcalc.load_data({"netcalc": 1, "inputs": {"x": [1, 8]}, "layers": [{"linear": 2}]}).params
    18
    """
    loaded = library.load_data(data, folder=None if folder is None else Path(folder), max_size=max_spec_size)
    return _network(loaded, set, symbolic, training, dtype, lora)


@checked
def import_spec(model: str | Path, *, set: Mapping[str, Any] | None = None, max_spec_size: int = MAX_SPEC_SIZE) -> str:
    """Return the YAML text of the spec that is equivalent to a model in a foreign format.

    Args:
        model: a ``config.json``, the folder that has it, a ``.gguf`` file, or ``"hf:org/name"``.
        set: values of fields, dims and vars by name, in place of those of the configuration.
        max_spec_size: as for :func:`load`.

    Raises:
        NetcalcError: E007 with everything in the configuration that netcalc does not know; E008 if the Hub cannot be
            read.
    """
    return import_model(model, _settings(set), max_spec_size)


def read_checkpoint(checkpoint: str | Path) -> Checkpoint:
    """Read the headers of a checkpoint: names, shapes, types and bytes of its tensors, without a spec.

    Args:
        checkpoint: a ``.safetensors``, ``.npz`` or ``.npy`` file, an ``index.json``, or a folder with such files.

    Raises:
        NetcalcError: E605 if a file cannot be read.
    """
    from netcalc.checkpoint import Checkpoint

    return Checkpoint.read(checked_argument("checkpoint", checkpoint))


def compare(
    first: Network | str | Path,
    second: Network | str | Path,
    *more: Network | str | Path,
    convention: str = "netcalc",
    max_spec_size: int = MAX_SPEC_SIZE,
) -> Comparison:
    """Compare networks: totals, operations, and layers with matching paths.

    Args:
        first, second, more: networks, or specs by name or path.
        convention: counting convention of MACs and FLOPs.
        max_spec_size: as for :func:`load`, of each spec that is not a network.

    Raises:
        NetcalcError: if a spec cannot be loaded, or the convention is unknown.

    >>> import netcalc
    >>> [row.path for row in netcalc.compare("resnet34", "resnet18").rows()]
    ['layer1.2', 'layer2.2', 'layer3.2', 'layer4.2']
    """
    from netcalc.analysis.compare import compare as compare_analyses

    networks = [
        spec if isinstance(spec, Network) else load(spec, max_spec_size=max_spec_size)
        for spec in (first, second, *more)
    ]
    return compare_analyses([network.analysis(convention) for network in networks])


@checked
def describe(spec: str | Path, *, convention: str = "netcalc", max_spec_size: int = MAX_SPEC_SIZE) -> SpecReference:
    """Describe a spec: its dims and vars, inputs and outputs at the default sizes, and published figures.

    Args:
        spec: as for :func:`load`.
        convention: counting convention of the MACs.
        max_spec_size: as for :func:`load`.

    Raises:
        NetcalcError: with every error in the spec, or if the convention is unknown.

    >>> import netcalc
    >>> [(var.name, var.default) for var in netcalc.describe("mlp").vars]
    [('features', 784), ('hidden', [512, 256]), ('classes', 10)]
    """
    from netcalc.analysis.spec_reference import describe as describe_loaded

    return describe_loaded(load_model(spec, max_spec_size), convention)


def _network(
    loaded: library.Loaded,
    settings: Mapping[str, Any] | None,
    symbolic: Collection[str],
    training: bool,
    dtype: str | None,
    lora: LoraArgument | None,
) -> Network:
    values = _settings(settings)
    if lora is not None:
        from netcalc.analysis.adapters import with_adapters

        loaded = with_adapters(loaded, lora, values)
    program = elaborate(loaded, values, symbolic=symbolic, training=training, dtype=dtype)
    if program.assigned:  # by the checkpoint of the model
        from netcalc.analysis.precision import stored

        program = stored(program)
    return Network(program, SpecSource(loaded, values, dtype))


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
