"""Policies of element types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netcalc.formats.keras.problems import clipped

#: Policies whose weights are float32; the mixed ones compute in a narrower type, which the spec does not.
FULL, MIXED = ("float32",), {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


def policy_name(config: Mapping[str, Any]) -> Any:
    """Return the name of the policy of a layer; None if it has none."""
    policy = config.get("dtype")
    if isinstance(policy, dict):
        inner = policy.get("config")
        name = inner.get("name") if isinstance(inner, dict) else None
        return name if policy.get("class_name") in ("DTypePolicy", "FloatDTypePolicy") else policy.get("class_name")
    return policy


def dtype_problem(config: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the policy of a layer; None if its weights are float32."""
    name = policy_name(config)
    if name is None or (
        isinstance(name, str) and (name in FULL or name in MIXED or name in ("int32", "int64", "bool"))
    ):
        return None
    return f"the type {clipped(name)} of its weights is not supported"


class Mixed:
    """The policies of mixed precision that the layers of a model have."""

    def __init__(self) -> None:
        self._layers: dict[str, set[str]] = {}

    def add(self, name: str, config: Mapping[str, Any]) -> None:
        """Add a layer, by its path, if its policy is mixed."""
        policy = policy_name(config)
        if isinstance(policy, str) and policy in MIXED:
            self._layers.setdefault(policy, set()).add(name)

    def remarks(self) -> Iterator[str]:
        """Yield a remark for each policy, with the number of its layers."""
        for policy, names in self._layers.items():
            layers = "1 layer has" if len(names) == 1 else f"{len(names):,} layers have"
            yield f"{layers} the policy {policy}, which computes in {MIXED[policy]} in Keras and in float32 here"
