"""Operators that change no number: copies, aliases, and assertions about tensors."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.alias.default", "aten.clone.default", "aten.contiguous.default", "aten.detach.default")
def same(build: Builder, input: Value, **layout: Any) -> Value:
    return input


@operator("aten._assert_tensor_metadata.default")
def nothing(build: Builder, a: Value, **expected: Any) -> None:
    return None
