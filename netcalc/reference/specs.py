"""The reference page of a spec as typed data: its dims and vars, inputs and outputs, and published figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from netcalc.analysis.cost import analyze
from netcalc.analysis.published import PublishedCounts
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.ir import InputSpec, OpNode, Program
from netcalc.reference.spec_list import ListedSpec
from netcalc.reference.tags import tags_of
from netcalc.results import Entry, Real, Result, recorded
from netcalc.spec import elaborate
from netcalc.spec.common_vars import COMMON_VARS
from netcalc.spec.document import InputDecl
from netcalc.spec.library import Loaded
from netcalc.spec.loss import elaborated_loss
from netcalc.spec.settings import Settings, resolve_settings
from netcalc.spec.shipped import specs_dir
from netcalc.tensor_type import TensorType

__all__ = [
    "ListedSpec",
    "LossReference",
    "PublishedReference",
    "SettingReference",
    "SpecReference",
    "TensorReference",
    "describe",
    "limits_text",
]


@recorded("type", "default", "expression", "limits", "about")
class SettingReference(NamedTuple):
    """A dim or var."""

    name: str
    type: str
    default: Any
    """Evaluated default; null or a formula if the dim is symbolic."""
    expression: str | None
    """Text of a default that is computed from other settings."""
    limits: str
    """A phrase such as `from 1 to 8`, or empty."""
    about: str


@recorded(Entry("shape", "type.shape"), Entry("dtype", "type.dtype"), "about", "default")
class TensorReference(NamedTuple):
    """An input or output at the default sizes."""

    name: str
    type: TensorType
    about: str = ""
    default: Real | None = None
    """Value of all elements of an input that is not given; null if it is required."""


@recorded("operations", "sources", Entry("inputs", by="name"))
class LossReference(NamedTuple):
    """The loss of a spec at the default sizes."""

    operations: tuple[str, ...]
    """Operations and blocks that compute it."""
    sources: tuple[str, ...]
    """Outputs and inputs that it takes."""
    inputs: tuple[TensorReference, ...]
    """Inputs that only the loss has."""


@recorded("figure", "value", "quoted", "counted", "where", "note", "miscounted", "set", "exclude")
class PublishedReference(NamedTuple):
    """A figure that a source prints for the network."""

    figure: str
    """params, params_active, macs or flops; or the name of a quoted result."""
    value: str | int
    """The figure as printed."""
    quoted: bool
    """True for a result that netcalc quotes and cannot count."""
    counted: int | None
    """The figure as it is counted, without biases, norms and activations; null for a quoted result."""
    where: str
    """Table or page of the source."""
    note: str
    """Reason why the counted figure differs, or a remark on a quoted result."""
    miscounted: str
    """Reason why the printed figure is not that of the network."""
    set: Mapping[str, Any] = MappingProxyType({})
    """Settings at which it is counted."""
    exclude: tuple[str, ...] = ()
    """Patterns of the layers that it leaves out."""


@recorded(
    *("convention", "checkpoint_dtype", *ListedSpec._fields, "file", "extends"),
    *(
        Entry("dims", by="name"),
        Entry("vars", by="name"),
        Entry("inputs", by="name"),
        Entry("outputs", by="name"),
        "loss",
        "published",
        "requirements",
    ),
    name="spec-page",
)
@dataclass(frozen=True, slots=True)
class SpecReference(Result):
    """The page of one spec."""

    name: str
    about: str
    family: str
    source: str
    file: str | None
    """Path of the spec's file; null for standard input."""
    extends: str | None
    """The spec from which it inherits."""
    aliases: tuple[str, ...]
    """Other names under which the spec is found."""
    tags: tuple[str, ...]
    """Words by which the list of specs is searched."""
    checkpoint_dtype: DType | None
    """Element type of the published checkpoint; null if the spec names none."""
    convention: str
    """Counting convention of the MACs."""
    params: Dim
    """Elements of parameters."""
    macs: Dim
    """Multiply-adds of one forward pass."""
    dims: tuple[SettingReference, ...]
    vars: tuple[SettingReference, ...]
    inputs: tuple[TensorReference, ...]
    outputs: tuple[TensorReference, ...]
    loss: LossReference | None
    """Null for a spec without a loss, and where an inherited one does not fit the spec."""
    published: tuple[PublishedReference, ...]
    requirements: tuple[str, ...]
    """Conditions on dims and vars."""


def describe(loaded: Loaded, convention: str = "netcalc") -> SpecReference:
    """Return the reference page of a spec, with its figures at the default sizes.

    Raises:
        NetcalcError: the spec has errors, or the convention is unknown (E701).
    """
    document = loaded.document
    program = elaborate(loaded, dtype=document.checkpoint.dtype)
    analysis = analyze(program, convention)
    settings = resolve_settings(loaded, {}, ())
    is_shipped = loaded.path is not None and loaded.path.is_relative_to(specs_dir())
    return SpecReference(
        program.name,
        document.about,
        document.family,
        document.source,
        None if loaded.path is None else str(loaded.path),
        loaded.extends,
        tuple(document.aliases),
        tags_of(analysis, document.tags),
        document.checkpoint.dtype,
        convention,
        analysis.total.params,
        analysis.total.macs,
        tuple(_dim(name, document.dims[name], settings) for name in settings.dims),
        tuple(_var(name, document.vars[name], settings, shipped=is_shipped) for name in settings.vars),
        tuple(_inputs(program.inputs, document.inputs)),
        tuple(TensorReference(*pair) for pair in zip(program.output_names, program.main.output_types, strict=True)),
        _loss(loaded, program),
        tuple(_published(loaded, program)),
        tuple(f"{required.message}: {required.that}" for required in document.require),
    )


def _published(loaded: Loaded, program: Program) -> Iterator[PublishedReference]:
    counts = PublishedCounts(loaded, program)
    for figure in loaded.document.published:
        reasons = (figure.where, figure.note, figure.miscounted)
        named = (figure.figure, figure.value, figure.quoted, counts.of(figure), *reasons)
        yield PublishedReference(*named, dict(figure.set), figure.excluded)


def _dim(name: str, declared: Any, settings: Settings) -> SettingReference:
    stated = declared if isinstance(declared, dict) else {"default": declared}
    about = str(stated.get("about") or "")
    return SettingReference(name, "int", settings[name], _expression(stated.get("default")), limits_text(stated), about)


def _var(name: str, declared: Any, settings: Settings, *, shipped: bool) -> SettingReference:
    """Return a var; in a shipped spec a name that all specs share has a meaning without a description."""
    declaration = settings.declaration(name)
    stated = declared if isinstance(declared, dict) and "default" in declared else {"default": declared}
    type_ = _type_of(settings[name]) if declaration.type == "any" else declaration.type
    type_ += "?" if declaration.nullable and declaration.type != "any" else ""
    expression = _expression(stated["default"])
    about = declaration.about
    if not about and shipped and name in COMMON_VARS:
        about = COMMON_VARS[name][1].replace("`", "")
    return SettingReference(name, type_, settings[name], expression, limits_text(stated), about)


def _type_of(value: Any) -> str:
    """Return the type of a value that is computed or null, for a variable that declares none."""
    return next((name for type_, name in _TYPES.items() if isinstance(value, type_)), "any")


_TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}


def _expression(default: Any) -> str | None:
    return default if isinstance(default, str) and "${" in default else None


def limits_text(stated: Mapping[str, Any]) -> str:
    """Return the limits of a setting as a phrase."""
    low, high = stated.get("min"), stated.get("max")
    parts = []
    if low is not None and high is not None:
        parts.append(f"from {low} to {high}")
    elif low is not None or high is not None:
        parts.append(f"at least {low}" if high is None else f"at most {high}")
    if stated.get("multiple_of"):
        parts.append(f"a multiple of {stated['multiple_of']}")
    if stated.get("choices"):
        parts.append(" | ".join("null" if choice is None else str(choice) for choice in stated["choices"]))
    return ", ".join(parts)


def _inputs(
    inputs: Iterable[InputSpec], declared: Mapping[str, InputDecl | list[int | str]]
) -> Iterator[TensorReference]:
    for spec in inputs:
        stated = declared[spec.name]
        about = stated.about if isinstance(stated, InputDecl) else ""
        yield TensorReference(spec.name, spec.type, about, spec.default)


def _loss(loaded: Loaded, program: Program) -> LossReference | None:
    declared = loaded.document.loss
    try:
        loss = elaborated_loss(loaded, {}, (), program)
    except NetcalcError:  # an inherited one, which is an error where it is used
        return None
    if loss is None or declared is None:
        return None
    names = (node.op.name if isinstance(node, OpNode) else node.body.block for node in loss.body.nodes)
    return LossReference(tuple(dict.fromkeys(names)), loss.sources, tuple(_inputs(loss.inputs, declared.inputs)))
