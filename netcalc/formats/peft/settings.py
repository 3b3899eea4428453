"""Fields of an ``adapter_config.json`` for low-rank adapters (LoRA)."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.spec.cursor import Cursor

#: Fields that neither shapes nor work depend on: initialization, bookkeeping, the storage of the base model.
_WITHOUT_EFFECT = frozenset(
    {
        *("auto_mapping", "base_model_name_or_path", "corda_config", "eva_config", "fan_in_fan_out", "inference_mode"),
        *("init_lora_weights", "loftq_config", "lora_ga_config", "megatron_config", "megatron_core", "peft_type"),
        *("peft_version", "qalora_group_size", "revision", "runtime_config", "task_type"),
    }
)
#: Fields that change an adapter in a way that netcalc does not know, with the values that are harmless.
_REFUSED: dict[str, tuple[Any, ...]] = {
    "alora_invocation_tokens": (None,),
    "arrow_config": (None,),
    "bias": ("none",),
    "ensure_weight_tying": (False,),
    "kasa_config": (None,),
    "layer_replication": (None,),
    "lora_bias": (False,),
    "modules_to_save": (None, []),
    "monteclora_config": (None,),
    "target_parameters": (None, []),
    "trainable_token_indices": (None,),
    "use_bdlora": (None, False),
    "use_dora": (False,),
    "use_qalora": (False,),
    "velora_config": (None,),
}
#: The least number that is no rank: sides of matrices are smaller.
_RANKS = 1 << 31
#: Characters of a regular expression, and repetitions in it.
_LONGEST, _REPETITIONS = 2_000, 6


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """The settings of PEFT's LoraConfig that say which modules have an adapter, and of what rank and scale."""

    rank: int
    alpha: float
    dropout: float
    rank_stabilized: bool
    targets: Sequence[str] | str
    excluded: Sequence[str] | str
    layers: Sequence[int] | None
    layers_pattern: Sequence[str]
    ranks: Mapping[str, int]
    alphas: Mapping[str, float]

    @classmethod
    def of(cls, config: Cursor) -> Self:
        """Return the settings in a configuration.

        Raises:
            NetcalcError: E007 with every field and value that is not known.
        """
        return cls(**_Reader(config).settings())


class _Reader:
    def __init__(self, config: Cursor) -> None:
        self.config = config
        self.problems: list[Diagnostic] = []
        self.read: set[str] = set()

    def settings(self) -> dict[str, Any]:
        """Return the values of the fields that are used; NetcalcError (E007) with every problem."""
        if self.config.data["peft_type"] != "LORA":
            message = f"adapters of the kind {written(self.config.data['peft_type'], quoted=True)} are not known"
            raise NetcalcError(Diagnostic("E007", message, self.config["peft_type"].span, hint="LORA is known"))
        layers = self.value("layers_to_transform", None, lambda v: v is None or _is_int(v) or _is_list_of(v, _is_int))
        layers_pattern = self.value("layers_pattern", None, lambda v: v is None or _expressions(v))
        values = {
            "rank": self.value("r", 8, _is_rank),
            "alpha": self.value("lora_alpha", 8, _is_number),
            "dropout": self.value("lora_dropout", 0.0, lambda v: _is_number(v) and 0 <= v < 1),
            "rank_stabilized": self.value("use_rslora", False, lambda v: isinstance(v, bool)),
            "targets": self.value("target_modules", None, _is_pattern),
            "excluded": self.value("exclude_modules", None, lambda v: v is None or _is_pattern(v)) or [],
            "layers": [layers] if _is_int(layers) else layers,
            "layers_pattern": [layers_pattern] if _is_text(layers_pattern) else layers_pattern or [],
            "ranks": self.value("rank_pattern", {}, lambda v: v is None or _maps(v, _is_rank)) or {},
            "alphas": self.value("alpha_pattern", {}, lambda v: v is None or _maps(v, _is_number)) or {},
        }
        for key, place in self.config.items():
            if key in _REFUSED:
                if place.data not in _REFUSED[key]:
                    self.problem(f"{key} = {written(place.data, quoted=True)} of an adapter is not known", place)
            elif key not in self.read and key not in _WITHOUT_EFFECT:
                hint = did_you_mean(key, [*self.read, *_WITHOUT_EFFECT])
                self.problem(f"the field {key!r} of an adapter is not known; it is {written(place.data)}", place, hint)
        if self.problems:
            raise NetcalcError(self.problems)
        return values

    def value(self, key: str, default: Any, valid: Any) -> Any:
        """Return the value of a field; one that is not valid is a problem."""
        self.read.add(key)
        value = self.config.data.get(key, default)
        if not valid(value):
            self.problem(f"{key} = {written(value, quoted=True)} is not known", self.config.at((key,)))
        return value

    def problem(self, message: str, place: Cursor, hint: str | None = None) -> None:
        self.problems.append(Diagnostic("E007", message, place.key_span or place.span, hint=hint))


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_rank(value: Any) -> bool:
    return _is_int(value) and 0 < value < _RANKS


def _is_number(value: Any) -> bool:
    """Return True for a number that a float holds, and no infinity or NaN."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_pattern(value: Any) -> bool:
    """Return True for names of modules, or one regular expression."""
    return _is_expression(value) or (bool(value) and _is_list_of(value, _is_text))


def _is_expression(value: Any) -> bool:
    """Return True for a regular expression whose search is fast, and that others may contain."""
    if not isinstance(value, str) or re.search(r"\(\?[^:]", value):
        return False
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    return _is_fast(value)


def _expressions(value: Any) -> bool:
    return _is_expression(value) or _is_list_of(value, _is_expression)


def _is_fast(expression: str) -> bool:
    """Return True if no name makes the search for a match take long: repetitions are few, and not nested."""
    if len(expression) > _LONGEST:
        return False
    rest = re.sub(r"\\.|\[[^\]]*\]", "x", expression)
    if len(re.findall(r"[*+{]", rest)) > _REPETITIONS:
        return False
    while (group := re.search(r"\(([^()]*)\)([*+{]?)", rest)) is not None:
        if group[2] and re.search(r"[*+{|]", group[1]):
            return False
        rest = rest[: group.start()] + group[1] + rest[group.end(1) + 1 :]
    return True


def _is_list_of(values: Any, valid: Any) -> bool:
    return isinstance(values, list) and all(map(valid, values))


def _maps(values: Any, valid: Any) -> bool:
    return isinstance(values, dict) and all(map(valid, values.values())) and all(map(_is_expression, values))
