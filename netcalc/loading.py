"""The functions of the Python API: networks are loaded from specs, compared and described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from netcalc.arguments import NAME, accepts, checked_argument, texts
from netcalc.diagnostics import Diagnostic, NetcalcError, pairs_of
from netcalc.formats import check_found, load_model, pending_downloads
from netcalc.formats.reading import Reading
from netcalc.network import Network
from netcalc.options import (
    ComparisonOptions,
    DescribeOptions,
    ImportOptions,
    LayerOptions,
    ModelOptions,
    OperationListOptions,
    PipelineOptions,
    SettingsArgument,
    SpecListOptions,
)
from netcalc.request import Request
from netcalc.several import assignments_of_each, own_settings, repeated, settings_of_each
from netcalc.spec import library
from netcalc.spec.library import Loaded
from netcalc.spec.plain_data import read_setting
from netcalc.spec.settings import parse_assignment

if TYPE_CHECKING:
    from netcalc.analysis.checks import CheckReport
    from netcalc.analysis.compare import Comparison
    from netcalc.analysis.pipeline import PipelineSummary
    from netcalc.analysis.signal.report import SignalComparison
    from netcalc.reference.model_types import ModelTypes
    from netcalc.reference.operation_list import OperationList, OperationPage
    from netcalc.reference.spec_list import SpecList
    from netcalc.reference.specs import SpecReference
    from netcalc.reproduction.report import Reproduction
    from netcalc.run_options import (
        CheckOptions,
        ReproductionOptions,
        SignalComparisonOptions,
        TrainingComparisonOptions,
    )
    from netcalc.training.comparison import TrainingComparison
    from netcalc.weights.content import Checkpoint

__all__ = [
    "check",
    "compare",
    "compare_signals",
    "compare_training",
    "describe",
    "describe_operation",
    "import_spec",
    "list_operations",
    "list_specs",
    "load",
    "load_data",
    "loads",
    "model_types",
    "pending_downloads",
    "read_checkpoint",
    "reproduce",
    "summarize_pipeline",
]


@accepts
def load(spec: str | Path, **options: Unpack[ModelOptions]) -> Network:
    """Load a network from a spec file, a shipped spec, standard input (``-``), or a foreign format.

    Args:
        spec: ``"resnet34"``, ``"my/net.yaml"`` or ``"-"``; or a ``config.json`` of Hugging Face, its folder, a
            ``.gguf`` file, or ``"hf:org/name"`` for a model on the Hub, of which the configuration is downloaded.
            Text of several lines is the spec, or the configuration, itself.

    Raises:
        NetcalcError: with every error in the spec and the settings; E502 if an argument is of a wrong type.
    """
    (source,) = _loaded([spec], options)
    return _network(source, options, spec)


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

    return import_model(model, _reading(options, read_settings(options["set"])))


def model_types() -> ModelTypes:
    """Return the model types of Hugging Face and the architectures in GGUF that can be loaded and imported."""
    from netcalc.formats.gguf import tables as gguf
    from netcalc.formats.huggingface import tables as huggingface
    from netcalc.reference.model_types import GgufArchitecture, ModelType, ModelTypes

    types = [table for name in huggingface.model_types() if (table := huggingface.read_table(name)) is not None]
    architectures = {name: gguf.read_table(name) for name in gguf.architectures()}
    return ModelTypes(
        tuple(ModelType(table.model_type, table.family, tuple(table.part("models"))) for table in types),
        tuple(GgufArchitecture(name, table.family) for name, table in architectures.items() if table is not None),
    )


@accepts
def read_checkpoint(checkpoint: str | Path, **options: Unpack[LayerOptions]) -> Checkpoint:
    """Read the headers of a checkpoint: names, shapes, types and bytes of its tensors, without a spec.

    Args:
        checkpoint: a ``.safetensors``, ``.npz``, ``.npy`` or ``.gguf`` file, an ``index.json``, a folder with such
            files, or ``"hf:org/name"``.

    Raises:
        NetcalcError: E605 if a file cannot be read; E008 if the Hub cannot be read.
    """
    from netcalc.formats.checkpoints import opened_checkpoint
    from netcalc.weights.content import read_content

    return read_content(*opened_checkpoint(checkpoint), **options)


@accepts
def compare(*models: Network | str | Path, **options: Unpack[ComparisonOptions]) -> Comparison:
    """Compare networks, or conventions by which one is counted: totals, operations, and layers with matching paths.

    Settings apply to the models that are given by name or path: to each that has the dim or var, or to one with its
    number, ``{"batch": 8, "2:layers": 3}``; schemes and shares likewise, ``"2:int8"``.  A single model with any for a
    second one is compared with itself.

    Args:
        models: networks, or specs by name or path.

    Raises:
        NetcalcError: if a spec cannot be loaded, or a convention is unknown; E502 for one network under one
            convention, or several under several.

    >>> import netcalc
    >>> [row.path for row in netcalc.compare("resnet34", "resnet18").rows()]
    ['layer1.2', 'layer2.2', 'layer3.2', 'layer4.2']
    >>> [totals.flops for totals in netcalc.compare("resnet18", convention=["torch", "fvcore"]).totals]
    [3628146688, 1819065856]
    """
    from netcalc.analysis.compare import compare as compare_analyses

    models = several_models(models, options)
    conventions = tuple(dict.fromkeys(texts(options["convention"])))
    if not models or not conventions or (len(models) > 1) == (len(conventions) > 1):
        hint = "or one spec and two conventions or more: --convention torch --convention fvcore"
        raise NetcalcError(Diagnostic("E502", "a comparison takes two specs or more and one convention", hint=hint))
    analyses = [network.analysis(convention) for network in networks_of(models, options) for convention in conventions]
    return compare_analyses(analyses, depth=options["depth"], all=options["all"])


@accepts
def compare_training(
    *models: Network | str | Path, steps: int = 20, **options: Unpack[TrainingComparisonOptions]
) -> TrainingComparison:
    """Run steps of training of several networks, or at several learning rates, on the same data with the same seed.

    Settings apply as in :func:`compare`; a single model with settings for several, as ``{"2:activation": "relu"}``, is
    trained with each.

    Args:
        models: networks, or specs by name or path.
        steps: number of steps.

    Raises:
        NetcalcError: as :meth:`Network.train` does; E502 also for one model at one rate, for inputs or losses that
            differ, and for checkpoints.

    >>> import netcalc
    >>> comparison = netcalc.compare_training("mlp", steps=2, lr=[0.001, 0.1])
    >>> comparison.names, comparison.runs[0].losses[0] == comparison.runs[1].losses[0]
    (('lr 0.001', 'lr 0.1'), True)
    """
    from netcalc.trials import compared_training

    networks = networks_of(several_models(models, options), options)
    return compared_training(networks, steps, options)


@accepts
def compare_signals(
    *models: Network | str | Path,
    inputs: Mapping[str, Any] | None = None,
    **options: Unpack[SignalComparisonOptions],
) -> SignalComparison:
    """Measure signals and gradients of several networks at initialization, on the same data with the same seeds.

    Settings apply as in :func:`compare_training`.

    Args:
        models: networks, or specs by name or path.
        inputs: arrays or files by name; others are drawn at random.

    Raises:
        NetcalcError: as :meth:`Network.signal` does; E502 also for one model, and for inputs that differ.

    >>> import netcalc
    >>> comparison = netcalc.compare_signals("tutorial-chain", set={"2:activation": "relu"}, seeds=1)
    >>> comparison.names
    ('activation=sigmoid', 'activation=relu')
    """
    from netcalc.trials import compared_signals

    networks = networks_of(several_models(models, options), options)
    return compared_signals(networks, inputs, options)


@accepts
def summarize_pipeline(pipeline: str | Path, **options: Unpack[PipelineOptions]) -> PipelineSummary:
    """List the parts of a pipeline of diffusers with parameters, work and bytes of each, and with the totals.

    Settings apply to each part that has the dim or var, or to one with its name, ``{"batch": 2, "unet:height": 96}``;
    schemes and shares likewise, ``"unet:int8"``.

    Args:
        pipeline: a folder or ``"hf:org/name"`` with a ``model_index.json``.  The errors of a part that cannot be
            counted are part of the summary.

    Raises:
        NetcalcError: E502 for anything else, and if an argument is of a wrong type; E501 for a setting that no part
            has; E004 for a pipeline that lacks a part; E008 if the Hub cannot be read; E701 if the convention is
            unknown.
    """
    from netcalc.pipelines import summarized

    return summarized(str(pipeline), options, _reading(options, read_settings(options["set"])))


@accepts
def describe(spec: str | Path, **options: Unpack[DescribeOptions]) -> SpecReference:
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

    (source,) = _loaded([spec], options)
    return describe_loaded(source, options["convention"])


@accepts
def list_specs(*words: str, **options: Unpack[SpecListOptions]) -> SpecList:
    """List the specs that ship with netcalc, by family and name.

    Args:
        words: words that a spec mentions, each in its name, aliases, family, description or source.

    Raises:
        NetcalcError: E502 if no spec does, or there is no such family; E701 if the convention is unknown.

    >>> import netcalc
    >>> [spec.name for spec in netcalc.list_specs("wide", family="resnet").specs]
    ['wide_resnet101_2', 'wide_resnet50_2']
    """
    from netcalc.reference.spec_list import listed_specs

    return listed_specs(words, options["family"], options["convention"])


@accepts
def list_operations(**options: Unpack[OperationListOptions]) -> OperationList:
    """List operations and shipped blocks.

    Raises:
        NetcalcError: E102 if none mentions the word.

    >>> import netcalc
    >>> [entry.name for entry in netcalc.list_operations(search="shuffle").entries]
    ['pixel_shuffle', 'pixel_unshuffle', 'channel_shuffle', 'shuffle_unit']
    """
    from netcalc.reference.operation_list import listed_operations

    return listed_operations(options["search"])


def describe_operation(name: str) -> OperationPage:
    """Describe an operation or a shipped block: its attributes or arguments, rules and source.

    Raises:
        NetcalcError: E102 if there is none of that name.

    >>> import netcalc
    >>> [attribute.name for attribute in netcalc.describe_operation("relu").page.attributes]
    []
    """
    from netcalc.reference.operation_list import operation_page

    return operation_page(checked_argument("name", name, NAME))


@accepts
def check(*specs: str | Path, **options: Unpack[CheckOptions]) -> CheckReport:
    """Check specs at their default sizes: schema, shapes, requirements, published figures and budgets.

    Args:
        specs: as for :func:`load`, folders of specs, patterns such as ``nets/**/*.yaml``, and files of counting
            conventions.  The errors of a spec that cannot be loaded are part of the report.

    >>> import netcalc
    >>> report = netcalc.check("resnet34")
    >>> report.ok, [row.expected for row in report.rows if row.check == "published macs"]
    (True, ['3.6 G', '3.664 G'])
    """
    from netcalc.checking import checked

    progress = options.pop("progress")
    return checked(specs, options["max_spec_size"], lambda spec: _loaded([spec], options)[0], progress)


@accepts
def reproduce(*names: str | Path, **options: Unpack[ReproductionOptions]) -> Reproduction:
    """Compute published figures anew: those of papers that ship as data, and those that specs carry.

    Args:
        names: specs, papers, figures such as ``"gpt2/params"``, patterns of these, YAML files; all if there are none.

    Raises:
        NetcalcError: E502 for a name without published figures; every error in a file, at its place.

    >>> import netcalc
    >>> report = netcalc.reproduce("resnet34/macs*")
    >>> [(figure.printed, figure.computed, figure.verdict) for figure in report.figures]
    [('3.6 G', '3.644 G', 'reproduced'), ('3.664 G', '3.66376 G', 'reproduced')]
    """
    from netcalc.reproduction.figures import reproduced

    return reproduced([str(checked_argument("spec", name)) for name in names], load, options["progress"])


def several_models(
    models: Sequence[Network | str | Path], options: Mapping[str, Any]
) -> tuple[Network | str | Path, ...]:
    """Return models to compare, a single one as often as options with numbers of models need it.

    Raises:
        NetcalcError: E502 for what is no model.
    """
    named = tuple(model if isinstance(model, Network) else checked_argument("spec", model) for model in models)
    assignments = (text for name in ("quantize", "prune") for text in texts(options.get(name) or ()))
    return repeated(named, read_settings(options.get("set")), assignments)


def networks_of(models: Sequence[Network | str | Path], options: Mapping[str, Any]) -> list[Network]:
    """Return the networks of several models, each with the settings, schemes and shares for all and for it alone.

    Raises:
        NetcalcError: if a spec cannot be loaded; E502 if several are standard input.
    """
    if sum(model == "-" for model in models) > 1:
        raise NetcalcError(Diagnostic("E502", "only one of the specs can be standard input"))
    values = read_settings(options["set"])
    labels = [str(number) for number in range(1, len(models) + 1)]
    sources = dict(zip(labels, _loaded(models, options, values), strict=True))
    settings = settings_of_each(values, sources, labels, "spec")
    quantize, prune = (
        assignments_of_each(texts(options[name]), labels, "spec number") for name in ("quantize", "prune")
    )
    return [
        model
        if isinstance(model, Network)
        else Network(
            Request(
                sources[label],
                settings[label],
                tuple(options.get("symbolic", ())),
                options["mode"],
                options["dtype"],
                options.get("lora"),
                quantize[label],
                prune[label],
                model=model,
            )
        )
        for label, model in zip(labels, models, strict=True)
    ]


def _loaded(
    models: Sequence[Network | str | Path], options: Mapping[str, Any], settings: Mapping[str, Any] | None = None
) -> list[Loaded]:
    """Return models by their names; NetcalcError (E502) for a field to ignore that none of them has.

    Args:
        models: names of models, and networks, whose sources are returned.
        options: options of the call.
        settings: settings of several models, of which each is built with those that have its number.
    """
    loaded: list[Loaded] = []
    for place, model in enumerate(models, 1):
        if isinstance(model, Network):
            loaded.append(model.request.source)
        elif settings is None:
            loaded.append(load_model(model, _reading(options, read_settings(options.get("set")))))
        else:
            loaded.append(load_model(model, _reading(options, own_settings(settings, str(place)))))
    check_found(options["ignore"], (field for source in loaded for field in source.ignored))
    return loaded


def _reading(options: Mapping[str, Any], settings: Mapping[str, Any]) -> Reading:
    """Return what options ask of the reading of a model with settings."""
    return Reading(
        options["max_spec_size"],
        options["via"],
        options["timeout"],
        tuple(options["example"]),
        tuple(options["ignore"]),
        settings,
    )


def _network(source: Loaded, options: ModelOptions, model: str | Path | None = None) -> Network:
    """Return the network of a source and the options of a model."""
    settings = read_settings(options["set"])
    return Network(
        Request(
            source,
            {name: value for name, value in settings.items() if name not in source.used},
            tuple(options["symbolic"]),
            options["mode"],
            options["dtype"],
            options["lora"],
            texts(options["quantize"]),
            texts(options["prune"]),
            model=model,
        )
    )


def read_settings(settings: SettingsArgument | None) -> dict[str, Any]:
    """Return settings with every value as plain data; NetcalcError (E501) for malformed ones and several of a name."""

    def pair(item: Any) -> tuple[str, Any]:
        return parse_assignment(item) if isinstance(item, str) else (item[0], read_setting(*item))

    return pairs_of(settings.items() if isinstance(settings, Mapping) else settings or (), pair, "--set", "E501")
