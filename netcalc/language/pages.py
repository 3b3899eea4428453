"""Texts about operations, blocks, attributes and keys, in Markdown, from their declarations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from netcalc import ops
from netcalc.diagnostics import written
from netcalc.dtypes import DTYPES
from netcalc.language.syntax import Grammar, Role
from netcalc.models import Model
from netcalc.reference.blocks import block_reference
from netcalc.reference.operations import AttributeReference, OperationReference, about, reference
from netcalc.spec.document import (
    BlockDecl,
    Budget,
    CheckpointsDecl,
    DimDecl,
    Document,
    InputDecl,
    LossDecl,
    Note,
    PatchDecl,
    Published,
    Requirement,
)
from netcalc.spec.library import Block
from netcalc.spec.line_syntax import MODIFIERS
from netcalc.spec.shipped import shipped_blocks

#: Attributes of the type of a tensor in expressions.
TENSOR_ATTRIBUTES = {
    "shape": "list of all sizes",
    "rank": "number of axes",
    "dtype": "element type",
    "elements": "number of elements",
    "batch": "size of axis 0",
    "channels": "size of axis 1",
    "length": "size of axis 1",
    "features": "size of the last axis",
    "width": "size of the last axis",
    "height": "size of the axis before the last",
    "depth": "size of the third axis from the end",
}
#: Keys of the declaration of a var or an argument.
DECLARATION_KEYS = {
    "default": "value unless another is set",
    "type": "int, float, bool, str, op, list, list[int], list[float], list[str] or any",
    "min": "least value",
    "max": "greatest value",
    "choices": "values that it may have",
    "about": "description in one line",
    "formerly": "earlier names",
}
#: Keys under ``repeat``.
REPEAT_KEYS = {
    "times": "number of iterations",
    "each": "list that iterations go over",
    "as": "name of the item of the list",
    "index": "name of the number of the iteration",
    "start": "first number",
    "take": "values of their own for each iteration, by input",
    "collect": "outputs of all iterations, by name: list, or {stack: axis}",
}


class Choice(NamedTuple):
    """A name that may stand at a place, with what it means."""

    name: str
    about: str
    detail: str = ""


@cache
def operations() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return name, description and required attributes of all operations; their modules are imported."""
    every = ((name, ops.find(name)) for name in ops.names())
    return tuple(
        (name, about(declared), tuple(key for key, field in declared.model_fields.items() if field.is_required()))
        for name, declared in every
        if declared is not None
    )


def block_summary(name: str, grammar: Grammar) -> tuple[str, tuple[str, ...]]:
    """Return description and required arguments of a block."""
    own = grammar.own_blocks.get(name)
    if isinstance(own, dict):
        args = own.get("args")
        about_block, stated = str(own.get("about", "")), args if isinstance(args, dict) else {}
    else:
        block = grammar.block(name)
        if block is None:
            return "", ()
        about_block, stated = block.decl.about, block.decl.args
    return about_block, tuple(key for key, item in stated.items() if _stated(key, item).required)


@cache
def operation_reference(name: str) -> OperationReference | None:
    """Return the reference of an operation; None if there is none of that name."""
    declared = ops.find(name)
    return None if declared is None else reference(declared)


def operation_page(page: OperationReference) -> Iterator[str]:
    """Yield the lines of the page of an operation."""
    yield f"**{page.name}** — {page.about}"
    if page.details:
        yield ""
        yield page.details
    yield ""
    for title, rule in (("shape", page.shape_rule), ("parameters", page.param_rule), ("work", page.cost_rule)):
        if rule:
            yield f"- {title}: {rule}"
    if page.attributes:
        yield ""
        yield from map(attribute_line, page.attributes)
    if page.source:
        yield ""
        yield f"Source: {page.source}"


def attribute_line(attribute: AttributeReference) -> str:
    """Return an attribute as an item of a list."""
    return f"- `{attribute.name}`: {attribute_text(attribute)}"


def attribute_text(attribute: AttributeReference) -> str:
    """Return type, default and description of an attribute."""
    default = "required" if attribute.required else f"default `{written(attribute.default, quoted=True)}`"
    return "; ".join(filter(None, (attribute.type, default, attribute.description)))


def attributes_of(target: str, grammar: Grammar) -> tuple[AttributeReference, ...]:
    """Return the attributes of an operation or arguments of a block; none if there is none of that name."""
    page = operation_reference(target)
    if page is not None:
        return page.attributes
    own = grammar.own_blocks.get(target)
    if isinstance(own, dict):
        args = own.get("args")
        return tuple(_stated(name, item) for name, item in args.items()) if isinstance(args, dict) else ()
    block = grammar.block(target)
    if block is None:
        return ()
    if target in shipped_blocks() and block.home.label.startswith("specs/"):
        return block_reference(target).arguments
    return tuple(_stated(name, item) for name, item in block.decl.args.items())


def _stated(name: str, stated: Any) -> AttributeReference:
    """Return an argument as a block declares it."""
    if isinstance(stated, Mapping):
        kind = stated.get("type", "any")
        description = str(stated.get("about", ""))
        return AttributeReference(name, str(kind), "default" not in stated, stated.get("default"), description)
    is_type = isinstance(stated, str) and stated.rstrip("?") in _TYPES
    return AttributeReference(name, str(stated) if is_type else "any", is_type, None if is_type else stated, "")


_TYPES = ("int", "float", "bool", "str", "op", "list", "list[int]", "list[float]", "list[str]", "any")


def block_page(target: str, grammar: Grammar) -> Iterator[str]:
    """Yield the lines of the page of a block; nothing if there is none of that name."""
    own = grammar.own_blocks.get(target)
    block: Block | None = None if isinstance(own, dict) else grammar.block(target)
    if not isinstance(own, dict) and block is None:
        return
    summary, _ = block_summary(target, grammar)
    yield f"**{target}** — {summary}" if summary else f"**{target}**: a block"
    attributes = attributes_of(target, grammar)
    if attributes:
        yield ""
        yield from map(attribute_line, attributes)
    if block is not None and block.decl.source:
        yield ""
        yield f"Source: {block.decl.source}"


def _fields(model: type[Model]) -> Mapping[str, str]:
    fields = model.model_fields.items()
    return {field.alias or name: field.description or _ABOUT.get(name, "") for name, field in fields}


_ABOUT = {
    "name": "name of the network",
    "about": "description in one line",
    "inputs": "inputs of the network, each a shape or `{shape, dtype, range, …}`",
    "blocks": "named groups of lines with arguments",
    "layers": "the network, one line for each operation or block",
    "outputs": "names of values, or `{name: value}`; by default the output of the last line",
    "checkpoint": "element type of the published checkpoint, and places of its tensors",
    "source": "paper or reference implementation",
}
_MODELS: dict[str, type[Model]] = {
    "": Document,
    "dims": DimDecl,
    "inputs": InputDecl,
    "blocks": BlockDecl,
    "loss": LossDecl,
    "patch": PatchDecl,
    "published": Published,
    "budget": Budget,
    "require": Requirement,
    "notes": Note,
    "checkpoint": CheckpointsDecl,
}


def keys_at(role: Role) -> Mapping[str, str]:
    """Return the keys that a mapping with a role may have, each with its meaning; none if any may stand there."""
    if role.kind == "document":
        return _fields(Document)
    if role.kind == "section" and role.name in ("loss", "budget", "checkpoint"):
        return _fields(_MODELS[role.name])
    if role.kind == "entry" and role.owner in ("vars", "args"):
        return DECLARATION_KEYS
    if role.kind == "entry" and role.owner in _MODELS:
        return _fields(_MODELS[role.owner])
    if role.kind == "line":
        return MODIFIERS
    if role.kind == "modifier" and role.name == "repeat" and not role.rest:
        return REPEAT_KEYS
    return {}


def element_types() -> Iterable[str]:
    """Return the names of element types."""
    return DTYPES
