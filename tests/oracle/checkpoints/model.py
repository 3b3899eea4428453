"""A small model of transformers, and the settings that give its spec the same sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Model", "models"]


@dataclass(frozen=True)
class Model:
    """A class of transformers, its configuration, and the spec of the same network.

    ``arguments`` are given to the model in addition to the inputs of the spec, of which ``values`` are not drawn.
    ``untied`` is a layer whose weight the class ties, and which has its own in released files.
    """

    spec: str
    kind: str
    config: dict[str, Any]
    settings: dict[str, Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    untied: str = ""
    values: dict[str, Any] = field(default_factory=dict)


def models(
    kind: str, *specs: str, config: dict[str, Any], settings: dict[str, Any], **released: Any
) -> Iterator[Model]:
    """Yield the models of specs that differ in size only.

    ``released`` is the part of the released configurations that states no size.
    """
    for spec in specs:
        yield Model(spec, kind, config | released, settings)
