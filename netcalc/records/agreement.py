"""Record of ``import --verify``: a network and the PyTorch module that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.records.weights import WeightsRecord, weights_record
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.verification.agreement import Agreement

__all__ = ["AgreementRecord", "agreement_record"]


class OutputAgreementRecord(TypedDict):
    """An output of the network by a plan, compared with that of the module."""

    name: str
    plan: str
    """reference or fast."""
    difference: float | None
    """Largest difference, relative to the largest element; null if shapes, types or infinities differ."""
    tolerance: float
    ok: bool


class FlopsAgreementRecord(TypedDict):
    """FLOPs of one kind of operations."""

    kind: str
    operations: list[str]
    """Operations of netcalc."""
    operators: list[str]
    """Operators of PyTorch that its counter has formulas for."""
    netcalc: int
    torch: int
    ok: bool


class AgreementRecord(TypedDict):
    """The comparison of a network with a PyTorch module."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    ok: bool
    """True if outputs, FLOPs and parameters agree."""
    outputs: list[OutputAgreementRecord]
    flops: list[FlopsAgreementRecord]
    weights: WeightsRecord
    """The audit of the module's state dict."""


def agreement_record(report: Agreement) -> AgreementRecord:
    """Return the record of a comparison with a module."""
    return {
        "schema": schema_id("verify-module"),
        "netcalc": __version__,
        "spec": report.spec,
        "ok": report.ok,
        "outputs": [
            {
                "name": output.name,
                "plan": output.plan,
                "difference": None if output.difference == float("inf") else output.difference,
                "tolerance": output.tolerance,
                "ok": output.ok,
            }
            for output in report.outputs
        ],
        "flops": [
            {
                "kind": flops.kind,
                "operations": list(flops.operations),
                "operators": list(flops.operators),
                "netcalc": flops.netcalc,
                "torch": flops.torch,
                "ok": flops.ok,
            }
            for flops in report.flops
        ],
        "weights": weights_record(report.weights),
    }
