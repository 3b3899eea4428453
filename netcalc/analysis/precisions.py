"""Precisions of training by the names of Lightning, and the ways to keep weights under mixed precision."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dtypes import DType
from netcalc.options import AttentionKernel, Mixed, PeakType, PrecisionName

_FILE = Path(__file__).parent.parent / "data" / "precisions.yaml"


class Autocast(NamedTuple):
    """Operations that run in a narrower type, and those that run in float32, whatever the types of their inputs.

    Results of ``returned`` have the type that the first input had.
    """

    dtype: DType
    narrow: frozenset[str]
    wide: frozenset[str]
    returned: frozenset[str]

    def of(self, op: str) -> DType | None:
        """Return the type that an operation casts its floating-point inputs to; None if it takes them as they are."""
        return self.dtype if op in self.narrow else "float32" if op in self.wide else None


class Precision(NamedTuple):
    """Element types of a step of training.

    ``dtype`` is the type of weights and activations; None for the type that the model is counted in.  Under
    ``autocast`` operations cast their inputs and weights.  With ``scaled`` linear layers keep their operands in 8 bits.
    ``gradients`` and ``states`` are the types of gradients and of an optimizer's states, None for those of the weights;
    ``master`` is the type of another copy of the weights, if there is one.
    """

    name: str
    about: str
    source: str
    dtype: DType | None = None
    autocast: Autocast | None = None
    scaled: bool = False
    gradients: DType | None = None
    master: DType | None = None

    @property
    def computed(self) -> DType | None:
        """Type of the products; None for that of the model."""
        return self.dtype if self.autocast is None else self.autocast.dtype

    @property
    def states(self) -> DType | None:
        """Type of the states of an optimizer, which updates the master weights if there are any."""
        return self.master


def peak_type(
    peaks: Mapping[str, int], arithmetic: PeakType | None, precision: PrecisionName | None
) -> PeakType | None:
    """Return the element type whose peak counts for all products, None for that of each tensor.

    Linear layers that multiply in 8 bits reach the peak of fp8, if it is among the ``peaks`` of a device.
    """
    if (
        arithmetic is None
        and precision is not None
        and "fp8" in peaks
        and _data()["precisions"][precision].get("scaled")
    ):
        return "fp8"
    return arithmetic


#: Everything in the element types of the model.
AS_COUNTED = Precision("", "", "")


def precision_named(name: PrecisionName | None, mixed: Mixed | None, attention: AttentionKernel) -> Precision:
    """Return the element types of a precision.

    Args:
        name: the precision; None for the element types that the model is counted in.
        mixed: the way to keep weights, for a mixed precision; None for autocast, or that of the precision.
        attention: the kernel of attention, which says for which device autocast is.

    Raises:
        NetcalcError: E502 for a way to keep weights under a precision that is not mixed.
    """
    if name is None:
        if mixed is not None:
            raise NetcalcError(Diagnostic("E502", f"--mixed {mixed} goes with --precision 16-mixed or bf16-mixed"))
        return AS_COUNTED
    data = _data()
    entry = data["precisions"][name]
    narrow: DType | None = entry.get("autocast")
    if mixed is not None and not (narrow or entry.get("scaled")):
        hint = "--precision 16-mixed, bf16-mixed or fp8-mixed"
        raise NetcalcError(Diagnostic("E502", f"--mixed {mixed}: {name} is not mixed", hint=hint))
    if mixed is None or mixed == "autocast":
        lists = data["autocast"]["cuda" if attention == "flash" else "cpu"]
        sets = (frozenset(lists["narrow"]), frozenset(lists["wide"]), frozenset(data["autocast"]["returned"]))
        rules = None if narrow is None else Autocast(narrow, *sets)
        about, source = entry["about"], entry["source"]
        return Precision(name, about, source, entry["dtype"], rules, bool(entry.get("scaled")))
    kept = data["mixed"][mixed]
    dtype = narrow or entry["dtype"]
    return Precision(
        f"{name}, {mixed}",
        kept["about"],
        kept["source"],
        dtype,
        None,
        bool(entry.get("scaled")),
        kept.get("gradients"),
        kept["master"],
    )


@cache
def _data() -> Mapping[str, Any]:
    from netcalc.spec.yaml_document import parse_yaml

    data: Mapping[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return data
