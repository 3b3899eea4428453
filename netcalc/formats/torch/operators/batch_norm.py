"""Batch and instance normalization."""

from __future__ import annotations

from netcalc.formats.graph.lines.batch_norm import batch_norm, instance_norm
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import with_unused

operator("aten.batch_norm.default")(batch_norm)
operator("aten.instance_norm.default")(instance_norm)
operator(
    *("aten.native_batch_norm.default", "aten._native_batch_norm_legit.default"),
    *("aten._native_batch_norm_legit.no_stats", "aten._native_batch_norm_legit_no_training.default"),
)(with_unused(batch_norm))
