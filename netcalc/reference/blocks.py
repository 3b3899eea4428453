"""The reference of the shipped blocks as typed data, read from their declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from netcalc.opdef import Port, ports
from netcalc.reference.examples import ExampleReference, example_of
from netcalc.reference.operations import AttributeReference, Listed, OperationReference
from netcalc.reference.specs import limits_text
from netcalc.results import recorded
from netcalc.spec.arguments import declared_arguments
from netcalc.spec.library import Block, find_block, load_text

#: Family under which blocks are listed beside operations.
BLOCKS = "blocks"


class BlockReference(NamedTuple):
    """The page of one block."""

    name: str
    about: str
    source: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    arguments: tuple[AttributeReference, ...]
    requirements: tuple[str, ...]
    """Conditions on arguments and inputs."""
    file: str
    """Place among the files of netcalc."""
    example: ExampleReference


@recorded(name="ops")
class ReferenceList(NamedTuple):
    """All operations and shipped blocks, or those that were selected."""

    operations: tuple[OperationReference, ...]
    blocks: tuple[BlockReference, ...]


def listed_block(name: str) -> Listed:
    """Return a shipped block as an entry of a list."""
    decl = _shipped_block(name).decl
    return Listed(name, BLOCKS, decl.about, decl.source)


def block_reference(name: str) -> BlockReference:
    """Return the reference of a shipped block."""
    block = _shipped_block(name)
    decl = block.decl
    return BlockReference(
        name,
        decl.about,
        decl.source,
        ports(*decl.inputs),
        ports(*(output.rpartition(".")[2] for output in decl.outputs or ["output"])),
        tuple(_arguments(block)),
        tuple(str(requirement.that) for requirement in decl.require),
        f"specs/blocks/{name}.yaml",
        example_of(decl.example),
    )


def _shipped_block(name: str) -> Block:
    block = find_block(name, load_text("netcalc: 1"))
    assert block is not None, f"{name} ships"
    return block


def _arguments(block: Block) -> Iterator[AttributeReference]:
    for name, declared in declared_arguments(block).items():
        stated: Any = block.decl.args[name]
        type_ = declared.type + ("?" if declared.nullable and declared.type != "any" else "")
        limits = limits_text(stated) if isinstance(stated, dict) else ""
        description = "; ".join(filter(None, (declared.about, limits)))
        default = None if declared.required else declared.default
        yield AttributeReference(name, type_, declared.required, default, description)
