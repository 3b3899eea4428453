"""Schemes by their names: the tensors that they store, and the codec that rounds to them.

A scheme has these keys::

    about, source: text
    short: text                             # in a line of reports, with the names in braces; by default the name
    names: {NAME: [least, most] or texts}   # what the braces in the scheme's name stand for
    settings: {NAME: value}                 # further names in formulas: a number, or a formula of the names before it;
                                            # X_dtype makes X_bits and X_bytes too
    casts: true                             # a change of element type, for parameters of any rank
    dtype, bits                             # of such a scheme
    quantizes: [KIND]                       # the kinds of parameters that it quantizes without a pattern
    sizes: {NAME: formula}                  # further names of sizes, each of those before it
    remainders: [formula]                   # unless they are 0, a parameter stays in full precision
    block: [rows, columns]                  # elements that share a scale
    flat: true                              # blocks lie along the flattened tensor
    sparse: true                            # it can be combined with pruning
    codec: MODULE.CLASS                     # of netcalc/codecs; or {MODULE.CLASS: {ARGUMENT: value}}, in
                                            # which the name of a setting stands for it
    tensors: {ROLE: {dtype, bits, bytes}}

Formulas have the names ``n`` (elements), ``matrices``, ``rows`` and ``columns``, and the names of the scheme.  The type
of a tensor may have names of the scheme in braces, and ``{dtype}`` for the type that the parameter has without the
scheme; formulas of bytes have it as the text ``dtype``, and the bytes of one element as ``size``.

A type of blocks of ggml, which lie along the last axis, has ``elements``, ``bytes``, ``holds`` (in words), ``codec``,
and ``fallback``, the type for rows that it does not divide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dtypes import ITEMSIZE
from netcalc.expressions import Expression, parse
from netcalc.schemes.files import entries, families

#: Kinds of parameters that a block type of ggml quantizes without a recipe: all with rows.
_ALL_KINDS = ("linear", "head", "router", "expert", "embedding", "convolution", "recurrent", "other")
_LONGEST_NUMBER = 9
#: Numbers in examples of names; others are the least.
_EXAMPLES = {"bits": 4, "group": 128, "block": 128, "height": 128, "width": 64}
#: Settings of a scheme in place of its own, by name.
Settings: TypeAlias = tuple[tuple[str, Any], ...]
#: The name in assignments for parameters that stay as they are.
PLAIN = "plain"
#: The type of tensors of a scheme that have the type of the parameter without it.
OWN_DTYPE = "{dtype}"


class TensorRule(NamedTuple):
    """A tensor of a scheme; ``bytes`` is the formula of its size.

    ``dtype`` is :data:`OWN_DTYPE` and ``bits`` 0 if its elements are of the type that the parameter has otherwise.
    """

    role: str
    dtype: str
    bits: int
    bytes: Expression


class CodecRule(NamedTuple):
    """The class of ``netcalc/codecs`` that encodes and decodes a scheme, ``module.Class``, with its arguments."""

    place: str
    arguments: Mapping[str, Any]


class Scheme(NamedTuple):
    """A scheme with the numbers of its name; ``settings`` are the names that its formulas may use."""

    name: str
    about: str
    short: str
    source: str
    settings: Mapping[str, Any]
    casts: bool
    quantizes: frozenset[str]
    sizes: tuple[tuple[str, Expression], ...]
    remainders: tuple[Expression, ...]
    block: tuple[Expression, ...]
    flat: bool
    sparse: bool
    along_last: bool
    fallback: tuple[str, ...]
    codec: CodecRule | None
    tensors: tuple[TensorRule, ...]


def is_scheme(name: str) -> bool:
    """Return True if there is a scheme of that name."""
    return _find(name) is not None


def scheme_named(name: str, others: Iterable[str] = (), settings: Settings = ()) -> Scheme:
    """Return a scheme, with those of ``settings`` that it has in place of its own.

    Raises:
        NetcalcError: E502 if there is none of that name, nor among ``others``, names beside it.
    """
    scheme = _find(name, settings)
    if scheme is None:
        names = list(dict.fromkeys((*scheme_names(), *others)))
        hint = did_you_mean(name, names) or f"known are {', '.join(names)}"
        raise NetcalcError(Diagnostic("E502", f"--quantize: there is no scheme {name!r}", hint=hint))
    return scheme


def scheme_names() -> list[str]:
    """Return the names of all schemes, with an example for those whose names have numbers."""
    names: list[str] = []
    for template, entry in entries("schemes").items():
        possible = entry.get("names", {})
        example = {name: _EXAMPLES.get(name, allowed[0]) for name, allowed in possible.items()}
        text = next((name for name, allowed in possible.items() if isinstance(allowed[0], str)), "")
        names += (template.format(**example | {text: each}) for each in possible.get(text, [""]))
    return [*names, *entries("blocks")]


@cache
def kinds() -> Mapping[str, str]:
    """Return the kind of the parameters of each operation that has one, by its name."""
    return {operation: kind for kind, operations in entries("kinds").items() for operation in operations}


@cache
def index_named(name: str) -> tuple[str, tuple[TensorRule, ...]]:
    """Return source and tensors of an index of the elements that are kept; NetcalcError (E502) if there is none."""
    indices = entries("indices")
    if name not in indices:
        raise NetcalcError(Diagnostic("E502", f"there is no index {name!r}", hint=did_you_mean(name, indices)))
    return indices[name]["source"], _tensors(indices[name]["tensors"], {})


@cache
def _find(name: str, others: Settings = ()) -> Scheme | None:
    for family in families().values():
        if name in family.get("blocks", ()):
            return _block_type(name, family["blocks"][name], family["source"])
    for template in entries("schemes"):
        if not _may_name(template, name):
            continue
        entry = entries("schemes")[template]
        settings = _settings(template, entry.get("names", {}), name)
        if settings is not None:
            own = entry.get("settings", {})
            for key, value in own.items():
                settings[key] = parse(value).evaluate(settings) if isinstance(value, str) else value
            return _scheme(name, entry, {**settings, **{key: value for key, value in others if key in own}})
    return None


def _may_name(template: str, name: str) -> bool:
    """Return True if a name begins and ends as a template does, which is faster than a regular expression of it."""
    return name.startswith(template.partition("{")[0]) and name.endswith(template.rpartition("}")[2])


def _settings(template: str, names: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return what the braces of a template stand for in a name; None if the name is not of this form."""
    if not names:
        return {} if template == name else None
    pattern = re.escape(template)
    for key, values in names.items():
        part = "|".join(map(re.escape, values)) if isinstance(values[0], str) else r"0|[1-9][0-9]*"
        pattern = pattern.replace(rf"\{{{key}\}}", f"(?P<{key}>{part})")
    match = re.fullmatch(pattern, name)
    if match is None:
        return None
    settings: dict[str, Any] = {}
    for key, values in names.items():
        text = match[key]
        settings[key] = text if isinstance(values[0], str) else int(text[:_LONGEST_NUMBER])
        if isinstance(values[0], int) and not _allowed(settings[key], values):
            return None
    return settings


def _allowed(number: int, values: list[int]) -> bool:
    """Return True if a number is one of several, or between two of them."""
    return values[0] <= number <= values[1] if len(values) == 2 else number in values


def _scheme(name: str, entry: Mapping[str, Any], settings: Mapping[str, Any]) -> Scheme:
    casts = entry.get("casts", False)
    settings = {**settings, **dict(_sizes_of_types(settings))}
    tensors = entry.get("tensors") or {
        "values": {"dtype": entry["dtype"], "bits": entry["bits"], "bytes": f"n*{entry['bits'] // 8}"}
    }
    return Scheme(
        name,
        entry["about"],
        entry.get("short", name).format(**settings),
        entry["source"],
        settings,
        casts,
        frozenset(entry.get("quantizes", ())),
        tuple((size, parse(str(formula))) for size, formula in entry.get("sizes", {}).items()),
        tuple(map(parse, entry.get("remainders", ()))),
        tuple(parse(str(size)) for size in entry.get("block", ())),
        entry.get("flat", False),
        casts or entry.get("sparse", False),
        False,
        (),
        _codec(entry, settings),
        _tensors(tensors, settings),
    )


def _block_type(name: str, entry: Mapping[str, Any], source: str) -> Scheme:
    size, length = entry["elements"], entry["bytes"]
    return Scheme(
        name,
        f"blocks of {size} elements along the last axis in {length} bytes: {entry['holds']}",
        name,
        source,
        {},
        False,
        frozenset(_ALL_KINDS),
        (),
        (parse(f"columns % {size}"),),
        (parse("1"), parse(str(size))),
        False,
        False,
        True,
        (*([entry["fallback"]] if "fallback" in entry else []), "float16"),
        _codec(entry, {}),
        (TensorRule("blocks", name, 0, parse(f"n//{size}*{length}")),),
    )


def _sizes_of_types(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the bits and bytes of an element of each type among settings."""
    for name, value in settings.items():
        if name.endswith("_dtype"):
            stem = name.removesuffix("dtype")
            yield from ((f"{stem}bits", 8 * ITEMSIZE[value]), (f"{stem}bytes", ITEMSIZE[value]))


def _codec(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> CodecRule | None:
    if "codec" not in entry:
        return None
    if isinstance(entry["codec"], str):
        return CodecRule(entry["codec"], {})
    ((place, arguments),) = entry["codec"].items()
    values = {key: settings.get(value, value) if isinstance(value, str) else value for key, value in arguments.items()}
    return CodecRule(place, values)


def _tensors(declared: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[TensorRule, ...]:
    return tuple(
        TensorRule(
            role,
            entry["dtype"].format(**settings, dtype=OWN_DTYPE),
            settings[entry["bits"]] if isinstance(entry.get("bits"), str) else entry.get("bits", 0),
            parse(str(entry["bytes"])),
        )
        for role, entry in declared.items()
    )
