"""Interfaces of shipped specs and blocks, which docs/compatibility.md promises to keep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import netcalc
from netcalc.ir import Body, CallNode, join
from netcalc.opdef import ports
from netcalc.spec.arguments import declared_arguments
from netcalc.spec.declarations import earlier_names
from netcalc.spec.library import Block, shipped, shipped_block
from netcalc.spec.shipped import shipped_blocks

#: Names by kind.
Interface: TypeAlias = dict[str, list[str]]
#: Interfaces of specs and of blocks by name.
Interfaces: TypeAlias = dict[str, dict[str, Interface]]


def interfaces() -> Interfaces:
    """Return the interface of every shipped spec and block."""
    blocks = {name: block for name in sorted(shipped_blocks()) if (block := shipped_block(name)) is not None}
    return {
        "specs": {name: spec_interface(name) for name in sorted(shipped())},
        "blocks": {name: block_interface(block) for name, block in blocks.items()},
    }


def spec_interface(name: str) -> Interface:
    """Return the names that a spec takes, former ones too, and the paths of its parameters with * for numbers."""
    network = netcalc.load(name)
    paths = {re.sub(r"\d+", "*", path) for path in _parameter_paths(network.program.main)}
    declared = network.request.source.document.vars
    return {
        "dims": sorted(network.program.dims),
        "vars": sorted({*declared, *_earlier_names(declared)}),
        "paths": sorted(paths),
    }


def block_interface(block: Block) -> Interface:
    """Return the inputs and outputs of a block in order, and its arguments; with ? those that a call may leave out."""
    arguments = {name: declared.required for name, declared in declared_arguments(block).items()}
    arguments = dict.fromkeys(_earlier_names(block.decl.args), False) | arguments
    inputs = {port.name: not port.optional and port.default is None for port in ports(*block.decl.inputs)}
    return {
        "inputs": [name if required else f"{name}?" for name, required in inputs.items()],
        "args": sorted(name if required else f"{name}?" for name, required in arguments.items()),
        "outputs": block.decl.outputs or ["output"],
    }


def breaks(recorded: Interfaces, present: Interfaces) -> Iterator[str]:
    """Yield what specs that rely on the recorded interfaces miss in the present ones."""
    for group, entries in recorded.items():
        for name, old in entries.items():
            new = present[group].get(name)
            if new is None:
                yield f"{group}: {name} is gone"
                continue
            faults = _block_breaks(old, new) if group == "blocks" else _spec_breaks(old, new)
            yield from (f"{name}: {fault}" for fault in faults)


def _spec_breaks(old: Interface, new: Interface) -> Iterator[str]:
    for kind, names in old.items():
        yield from (f"{name} of {kind} is gone" for name in names if name not in new[kind])


def _block_breaks(old: Interface, new: Interface) -> Iterator[str]:
    present = _bare(new["args"])
    yield from (f"argument {name} is gone" for name in _bare(old["args"]) if name not in present)
    for kind in ("inputs", "outputs"):
        names = _bare(old[kind])
        if _bare(new[kind])[: len(names)] != names:
            yield f"the first {kind} are not {', '.join(names)}"
    for kind in ("args", "inputs"):
        yield from (
            f"{name} of {kind} is required" for name in new[kind] if not name.endswith("?") and name not in old[kind]
        )
    yield from (
        f"output {name[:-1]} may be absent"
        for name in new["outputs"]
        if name.endswith("?") and name[:-1] in old["outputs"]
    )


def interfaces_text(found: Interfaces) -> str:
    """Return interfaces as JSON with an entry on a line; one that equals an earlier entry is the name of that one."""
    groups = []
    for group, entries in found.items():
        first: dict[str, str] = {}
        lines = []
        for name, entry in entries.items():
            text = json.dumps(entry)
            same = first.setdefault(text, name)
            lines.append(f"{json.dumps(name)}: {text if same == name else json.dumps(same)}")
        groups.append(f"{json.dumps(group)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(groups) + "\n}\n"


def read_interfaces(text: str) -> Interfaces:
    """Return the interfaces of a text of :func:`interfaces_text`."""
    return {
        group: {name: entries[entry] if isinstance(entry, str) else entry for name, entry in entries.items()}
        for group, entries in json.loads(text).items()
    }


def _bare(names: Iterable[str]) -> list[str]:
    return [name.rstrip("?") for name in names]


def _earlier_names(declared: Mapping[str, Any]) -> set[str]:
    return {name for value in declared.values() for name in earlier_names(value)}


def _parameter_paths(body: Body, prefix: str = "") -> Iterator[str]:
    """Yield the path of every parameter of a body, of the first iteration of each repeat."""
    for node in body.nodes:
        if isinstance(node, CallNode):
            yield from _parameter_paths(node.body, join(prefix, node.instance(0)))
        else:
            yield from (join(join(prefix, node.name), param.name) for param in node.params)
