"""Methods of quantization: the fields of their configurations, and the layouts of the tensors in their checkpoints.

``configuration`` has these keys::

    quant_method: its name in configurations
    unnamed: [[FIELD]]              # without a name it is the method if all fields of a list are set
    source: the code that writes or reads such files
    dtype: TYPE                     # of everything else where a configuration names none, as the library has it
    fields: {FIELD: default}        # or {type, default, choices, min}
    required: [FIELD]               # fields without which nothing follows
    without_effect: [FIELD]         # on the layout of files
    nested: {PATH: {fields, required, without_effect}}   # mappings within, * for any key; or the PATH of another with
                                    # the same
    variants: PATH                  # mappings within of which each tensor follows one
    targets: {fields: [FIELD], match: RULE}   # modules that are quantized; of each variant, if there are variants
    plain: {fields: [FIELD], match: RULE, output: always or unlisted}   # modules that are stored as they are
    by_module: true                 # other keys name modules, each with a flag or fields of its own
    modules:                        # entries for modules, with fields of their own, or null for those that stay plain
      in: [PATH]                    # the mappings of them, of which the first that is not empty counts
      match: RULE                   # of their names
      fields: PATH                  # within an entry, beside those on the way
      inherits: true                # for what an entry leaves out, and for other modules, the fields of all count
      default: NAME                 # the entry of other modules; without one and ``inherits`` they stay plain
      ending: TEXT                  # names are those of a module and a field, and this text
      prefix, plain: TEXT           # what may begin a name, and what begins those of modules that stay plain
    storage:
      let: {NAME: expression}       # further names; expressions have the fields, and the element type as ``dtype``
      that: [{condition: text}]     # and what is wrong unless it holds
      told_by: text                 # files that tell where the configuration does not, by default the headers
      settings: {NAME: expression}  # in place of the settings of schemes that have them
      schemes: [{when: condition, name: SCHEME, kinds: [KIND]}]

Names of modules are matched by a rule of :mod:`netcalc.schemes.module_lists`.  Without one of ``targets`` the method
quantizes modules by kind.  ``plain.output`` says that the last linear layer stays as it is always, or unless a list of
modules is given.

By ``storage`` parameters are stored in the first scheme whose condition of the fields holds, with the values of the
expressions in the braces of its name (``plain`` is full precision); one with ``kinds`` is for these only, and the next
ones are for others.  If one of ``that`` does not hold, or no scheme, the bytes do not follow from the configuration,
which is an error.

``checkpoint`` has these keys::

    layouts: [LAYOUT]
    others: [SUFFIX]                # further tensors that are no parameters
    mixed: true                     # a module is packed if the file has its tensors so, whatever the configuration says

A layout says what a packed tensor and its companions, which have the same name with other endings, stand for::

    when: condition                 # of fields; a file in this layout does not fit others
    packed: {SUFFIX: {types: [TYPE], axes: [NAME]}}
    with: {SUFFIX: [NAME]}          # SUFFIX? if it may be absent; several lists of axes, or null for any
    sizes: {NAME: expression}       # of axes and fields
    that: [condition]
    gives: {SUFFIX: [expression]}
    flat: true                      # only the number of elements is known; one may be padding
    padded: [expression]            # multiples to which the axes that it gives are padded
    shape: MODULE.FUNCTION          # the shape in the data of companions, where headers leave it open, or null
    decode: MODULE.FUNCTION         # the numbers; or {MODULE.FUNCTION: {ARGUMENT: expression}}, of axes and fields

Functions are those of ``netcalc/weights/packing/decoders``.

An axis is a name, which stands for the same size everywhere, a number, or ``_`` for any size; ``...`` are any leading
axes.  A condition of axes that no tensor has holds.

In place of its axes a companion may have these keys::

    axes: [NAME]                    # as above
    types: [TYPE]                   # those that it may have; ``floats`` are all of IEEE 754 and bfloat16
    when: condition                 # it may be absent unless the condition holds
    unless: [SUFFIX]                # and is, where one of these companions is there in its place

Conditions ``when`` are of fields, all that a configuration has, and of ``types``, the element types of the packed
tensor and its companions by their suffixes.  One that cannot be evaluated, as the configuration does not say, does not
hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, did_you_mean, written
from netcalc.dtypes import FLOATS, DType
from netcalc.expressions import Expression, parse
from netcalc.schemes.files import families
from netcalc.schemes.modules import ModuleFields

Axes = tuple["str | int", ...]

#: Names that stand for several types of companions.
_TYPES = {"floats": FLOATS}


class Companion(NamedTuple):
    """A tensor beside a packed one.

    Attributes:
        suffix: the end of its name.
        required: False if it may be absent whatever the configuration says.
        axes: the possible axes, none for any.
        types: the possible types, none for any.
        when: the condition under which it is required; None for always.
        unless: companions that may be there in its place.
    """

    suffix: str
    required: bool
    axes: tuple[Axes, ...]
    types: frozenset[str] = frozenset()
    when: Expression | None = None
    unless: tuple[str, ...] = ()

    @property
    def always(self) -> bool:
        """True if it is required whatever the configuration says, and whatever other companions there are."""
        return self.required and self.when is None and not self.unless


class Decoder(NamedTuple):
    """A function of ``weights/packing/decoders``, ``module.function``, with the expressions of its arguments."""

    place: str
    arguments: Mapping[str, Expression]


class Layout(NamedTuple):
    """A packed tensor with its companions, and what they stand for; ``when`` is the condition of it, None for none."""

    suffix: str
    types: frozenset[str]
    axes: Axes
    companions: tuple[Companion, ...]
    sizes: tuple[tuple[str, Expression], ...]
    conditions: tuple[Expression, ...]
    gives: str
    shape: tuple[Expression | None, ...]  # None for any leading axes
    flat: bool
    padded: tuple[Expression, ...]
    shape_reader: str
    decoder: Decoder | None
    when: Expression | None = None


class Fields(NamedTuple):
    """The fields of a mapping with their declarations, those that have no effect, and those that must be there."""

    declared: Mapping[str, Any]
    without_effect: frozenset[str]
    required: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Return True for a field of the mapping."""
        return name in self.declared or name in self.without_effect

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the fields."""
        return {
            name: value["default"] if isinstance(value, Mapping) and "default" in value else value
            for name, value in self.declared.items()
        }


class SchemeRule(NamedTuple):
    """A scheme by fields of a configuration; ``kinds`` are those of its parameters, None for the scheme's own."""

    when: Expression
    name: str
    kinds: frozenset[str] | None


class Condition(NamedTuple):
    """A condition of fields, and what is wrong if it does not hold."""

    holds: Expression
    otherwise: str


class StoredAs(NamedTuple):
    """Schemes of parameters by fields of a configuration, if all of ``that`` hold."""

    names: Mapping[str, Expression]
    that: tuple[Condition, ...]
    told_by: str
    settings: Mapping[str, Expression]
    schemes: tuple[SchemeRule, ...]


class Lists(NamedTuple):
    """Fields with lists of modules, and the rule by which these are matched.

    ``output`` says when the last linear layer is among them though it is not listed: ``always`` or ``unlisted``.
    """

    fields: tuple[str, ...] = ()
    match: str = "names"
    output: str = ""


class Method(NamedTuple):
    """A method of quantization."""

    name: str
    source: str
    dtype: DType
    fields: Fields
    nested: Mapping[str, Fields]
    variants: str
    targets: Lists
    plain: Lists
    by_module: bool
    modules: ModuleFields | None
    storage: StoredAs
    layouts: tuple[Layout, ...]
    others: tuple[str, ...]
    mixed: bool = False

    @property
    def unknown(self) -> dict[str, Any]:
        """All fields, null for each, where nothing is known of them."""
        groups = (self.fields, *self.nested.values())
        return {name: None for fields in groups for name in (*fields.declared, *sorted(fields.without_effect))}


@cache
def method_names() -> tuple[str, ...]:
    """Return the names of the known methods."""
    return tuple(sorted(_configurations()))


@cache
def method_named(name: str) -> Method | None:
    """Return the method of a name; None if it is not known."""
    if name not in _configurations():
        return None
    family = _configurations()[name]
    data, checkpoint = family["configuration"], family["checkpoint"]
    nested = data.get("nested", {})
    return Method(
        name,
        data["source"],
        data["dtype"],
        _fields(data),
        {place: _fields(nested[fields] if isinstance(fields, str) else fields) for place, fields in nested.items()},
        data.get("variants", ""),
        _lists(data.get("targets", {})),
        _lists(data.get("plain", {})),
        data.get("by_module", False),
        _modules(data, nested),
        _storage(data.get("storage", {})),
        tuple(map(_layout, checkpoint["layouts"])),
        tuple(checkpoint.get("others", ())),
        checkpoint.get("mixed", False),
    )


def method_of(settings: Mapping[str, Any]) -> str:
    """Return the name of a method of quantization, which some configurations leave out; empty if there is none."""
    method = settings.get("quant_method")
    if isinstance(method, str):
        return method
    for name, family in _configurations().items():
        for fields in family["configuration"].get("unnamed", ()):
            if all(settings.get(field) not in (None, False) for field in fields):
                return name
    return ""


def unknown_method(settings: Mapping[str, Any], name: str) -> Diagnostic:
    """Return the error for a method of quantization that is not known."""
    method = settings.get("quant_method")
    hint = did_you_mean(method, method_names()) if isinstance(method, str) else None
    message = f"{name}: the quant_method {written(method, quoted=True)} is not known"
    return Diagnostic("E007", message, hint=hint or f"known are {', '.join(method_names())}")


@cache
def _configurations() -> Mapping[str, Mapping[str, Any]]:
    """Return the descriptions with a configuration, by the name of its method."""
    return {data["configuration"]["quant_method"]: data for data in families().values() if "configuration" in data}


def _fields(data: Mapping[str, Any]) -> Fields:
    required = tuple(data.get("required", ()))
    return Fields(data["fields"], frozenset(data.get("without_effect", ())), required)


def _lists(data: Mapping[str, Any]) -> Lists:
    return Lists(**{**data, "fields": tuple(data.get("fields", ()))})


def _modules(data: Mapping[str, Any], nested: Mapping[str, Any]) -> ModuleFields | None:
    if "modules" not in data:
        return None
    beside = [nested[place] for place in data["modules"]["in"] if place in nested]
    return ModuleFields.of(data["modules"], (name for at in beside for key in at for name in at[key]))


def _storage(data: Mapping[str, Any]) -> StoredAs:
    names, settings = (
        {name: parse(str(text)) for name, text in data.get(key, {}).items()} for key in ("let", "settings")
    )
    return StoredAs(
        names,
        tuple(Condition(parse(text), reason) for entry in data.get("that", ()) for text, reason in entry.items()),
        data.get("told_by", "the headers of the weights, beside the configuration,"),
        settings,
        tuple(map(_scheme_rule, data.get("schemes", ()))),
    )


def _scheme_rule(data: Mapping[str, Any]) -> SchemeRule:
    return SchemeRule(
        parse(data.get("when", "true")),
        data["name"] or "",
        frozenset(data["kinds"]) if "kinds" in data else None,
    )


def _layout(data: Mapping[str, Any]) -> Layout:
    ((suffix, packed),) = data["packed"].items()
    ((gives, shape),) = data["gives"].items()
    return Layout(
        suffix,
        frozenset(packed["types"]),
        tuple(packed["axes"]),
        tuple(_companion(name, axes) for name, axes in data["with"].items()),
        tuple((name, parse(text)) for name, text in data.get("sizes", {}).items()),
        tuple(map(parse, data.get("that", ()))),
        gives,
        tuple(None if size == "..." else parse(str(size)) for size in shape),
        data.get("flat", False),
        tuple(parse(str(multiple)) for multiple in data.get("padded", ())),
        data.get("shape", ""),
        _decoder(data.get("decode")),
        parse(data["when"]) if "when" in data else None,
    )


def _decoder(data: Any) -> Decoder | None:
    if data is None:
        return None
    if isinstance(data, str):
        return Decoder(data, {})
    ((place, arguments),) = data.items()
    return Decoder(place, {name: parse(str(text)) for name, text in arguments.items()})


def _companion(name: str, data: Any) -> Companion:
    keys = data if isinstance(data, Mapping) else {"axes": data}
    axes = keys.get("axes")
    return Companion(
        name.removesuffix("?"),
        not name.endswith("?"),
        () if axes is None else tuple(map(tuple, axes)) if axes and isinstance(axes[0], list) else (tuple(axes),),
        frozenset(dtype for each in keys.get("types", ()) for dtype in _TYPES.get(each, (each,))),
        parse(str(keys["when"])) if "when" in keys else None,
        tuple(keys.get("unless", ())),
    )
