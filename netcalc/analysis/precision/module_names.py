"""Names that the modules of parameters have in a checkpoint and in the library that a model comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from netcalc.analysis.walk import ParameterInstance, parameters
from netcalc.ir import CheckpointLocation, Program

_WEIGHT = ".weight"


class Names:
    """Names of the modules of a program's parameters, by the paths of these."""

    def __init__(self, program: Program) -> None:
        self._parameters = {p.path: p for p in parameters(program) if not p.param.is_buffer}
        self._names: dict[str, tuple[str, ...]] = {}
        heads = (re.split(r"[*?\[]", pattern)[0].strip(".") for pattern in program.checkpoint_ignore)
        self._left_out = [head for head in heads if head]

    @property
    def all(self) -> Iterable[tuple[str, ...]]:
        """The names of the modules of all parameters, tied ones too."""
        return map(self.of, self._parameters)

    def is_left_out(self, entry: str) -> bool:
        """Return True if an entry of a list names a part whose tensors are of no use to the model."""
        return any(head in entry for head in self._left_out)

    def of(self, path: str) -> tuple[str, ...]:
        """Return the names of the module of a parameter: in the program, then those in checkpoints."""
        if path not in self._names:
            self._names[path] = tuple(dict.fromkeys(_names(self._parameters[path])))
        return self._names[path]


def _names(parameter: ParameterInstance) -> Iterator[str]:
    yield _module(parameter.path)
    for entry in parameter.entries:
        for location in entry.alternatives:
            yield from map(_module, _first_names(location))


def _first_names(location: CheckpointLocation) -> tuple[str, ...]:
    """Return the names at a location, of numbered ones the first."""
    return location.names if location.numbers is None else location.numbered(0).names


def _module(name: str) -> str:
    """Return the module of a tensor; a tensor of several experts may have the name of their module itself."""
    return name.removesuffix(_WEIGHT) if name.endswith(_WEIGHT) else name.rpartition(".")[0]
