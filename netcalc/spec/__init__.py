"""The spec language: documents are loaded, validated and elaborated to a :class:`~netcalc.ir.Program`."""

from netcalc.spec.elaborate import elaborate
from netcalc.spec.library import load_document

__all__ = ["elaborate", "load_document"]
