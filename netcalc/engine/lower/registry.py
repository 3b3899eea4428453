"""Lowerings by operation: found by the operation's name, or by its traits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.elementwise import lower_elementwise
from netcalc.opdef import Operation
from netcalc.registry import Registry

#: Emits the steps of a node and returns True, or declines it, emits nothing that computes it, and returns False.
Lowering: TypeAlias = Callable[[LoweringContext, GraphNode], bool]

# fmt: off
#: Operations by the module under ``netcalc.engine.lower`` that lowers them, where it does not follow from a trait.
_MODULES: Mapping[str, str] = {
    "attention": "scaled_dot_product_attention",
    "conv.dispatch": "conv1d conv2d conv3d",
    "conv.transposed": "conv_transpose1d conv_transpose2d conv_transpose3d",
    "copies": "channel_shuffle concat pad roll stack",
    "embedding": "embedding",
    "global_pool":
        "global_avg_pool1d global_avg_pool2d global_avg_pool3d global_max_pool1d global_max_pool2d global_max_pool3d",
    "group_norm": "group_norm instance_norm",
    "linear": "linear",
    "norm": "layer_norm rms_norm",
    "pool":
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
        "adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d",
    "recurrent": "gru lstm rnn",
    "resample": "interpolate",
}
# fmt: on

#: The module with the lowerings of views.
_VIEWS = "netcalc.engine.lower.views"

#: Lowerings of single operations, by name.
LOWERINGS: Registry[Lowering] = Registry(
    "lowering", {name: f"netcalc.engine.lower.{module}" for module, names in _MODULES.items() for name in names.split()}
)

#: Registers the lowering of operations.
lowering = LOWERINGS.register


def find_lowering(op: Operation | type[Operation]) -> Lowering | None:
    """Return the lowering of an operation, or None if its kernel suffices or it is a no-op in inference.

    Elementwise operations and normalizations of channels have a common lowering, unless they register one of their own.
    """
    if op.no_op_in_inference:
        return None
    lowering = LOWERINGS.get(op.name, _VIEWS if op.view else None)
    if lowering is None and (op.elementwise or op.combines or op.normalizes_channels):
        return lower_elementwise
    return lowering
