"""The examples of operations and blocks: specs that load and run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from netcalc.opdef import Operation
from netcalc.spec import elaborate
from netcalc.spec.library import load_text
from netcalc.tensor_type import TensorType


class ExampleReference(NamedTuple):
    """An example of an operation or block."""

    spec: str
    """A spec that uses it."""
    shapes: str
    """Shapes of the inputs and outputs of the spec."""


def operation_example(declared: type[Operation]) -> ExampleReference:
    """Return the example of an operation."""
    parts = [part.replace("$op", declared.name) for part in declared.usage]
    count = next(number for number, part in enumerate(parts) if part.startswith("- "))
    sections = {"inputs": parts[:count], "layers": parts[count:]}
    return example_of("".join(_section(key, lines) for key, lines in sections.items() if lines))


def _section(key: str, lines: Iterable[str]) -> str:
    return f"{key}:\n" + "".join(f"  {line}\n" for line in lines)


def example_of(text: str) -> ExampleReference:
    """Return an example by the text of its spec, to which the line ``netcalc: 1`` is added.

    Raises:
        NetcalcError: if the text is no spec.
    """
    spec = "netcalc: 1\n" + text
    program = elaborate(load_text(spec))
    inputs = _types_text(declared.type for declared in program.inputs)
    outputs = _types_text(value.known_type for value in program.main.outputs)
    return ExampleReference(spec, f"{inputs or 'nothing'} → {outputs}")


def _types_text(types: Iterable[TensorType]) -> str:
    groups = [(text, len(list(equal))) for text, equal in groupby(map(str, types))]
    return ", ".join(text if count == 1 else f"{count} of {text}" for text, count in groups)
