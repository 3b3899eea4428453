"""Table of lowerings by operation, and the operations that have none on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import LoweringContext
from netcalc.registry import Registry

__all__ = ["ELEMENTWISE", "LOWERINGS", "NO_LOWERING", "Lowering", "lowering"]

#: Emits the steps of a node and returns True, or declines it, emits nothing that computes it, and returns False.
Lowering: TypeAlias = Callable[[LoweringContext, Node], bool]

# fmt: off
#: Operations by the module under ``netcalc.engine.lower`` that lowers them.
_MODULES: Mapping[str, str] = {
    "attention": "scaled_dot_product_attention",
    "conv.dispatch": "conv1d conv2d conv3d",
    "copies": "channel_shuffle concat pad roll stack",
    "elementwise":
        "abs add batch_norm celu clamp cos div elu exp frozen_batch_norm gelu hardsigmoid hardswish hardtanh "
        "leaky_relu log maximum minimum mish mul neg quick_gelu reciprocal relu relu6 rsqrt selu sigmoid sign silu sin "
        "softplus softsign sqrt square squared_relu sub tanh",
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
    "rotary": "rotary_embedding",
    "softmax": "log_softmax softmax",
    "views":
        "buffer chunk expand flatten parameter permute reshape select slice split squeeze transpose unflatten "
        "unsqueeze",
}

#: Operations without a lowering, by the reason for which the reference kernel runs them.
_REASONS: Mapping[str, str] = {
    "no-op in inference: removed from the graph before lowering":
        "dropout identity stochastic_depth",
    "loss: runs once at the end, on the logits":
        "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div l1_loss mse_loss nll_loss",
    "built from sizes or a small table: little work, done once if no input is involved":
        "alibi_bias arange causal_mask constant relative_coordinates relative_position_bias relative_position_lookup "
        "t5_position_bias",
    "adds rows of a table: two NumPy calls":
        "learned_positions sinusoidal_positions",
    "integer or boolean operands or result: on masks, ids and positions, which are small":
        "argmax argmin equal greater greater_equal less less_equal logical_and logical_not logical_or not_equal "
        "one_hot",
    "changes the type of a tensor: a single NumPy call":
        "cast",
    "moves elements unchanged: one or two NumPy calls":
        "flip gather index_select key_value_cache pixel_shuffle pixel_unshuffle repeat_interleave tile",
    "selects elements by a mask: a single NumPy call":
        "masked_fill tril triu where",
    "rearranges windows: used outside the time-critical layers of the shipped specs":
        "fold unfold",
    "sorts: NumPy's sort gains nothing from tiles":
        "sort top_k_router topk",
    "a reduction: a single NumPy call on a tensor that is reduced to few elements":
        "cumsum logsumexp max mean min prod sum var vector_norm",
    "elementwise with a shape or parameter rule of its own: a few NumPy calls":
        "normalize pow prelu",
    "halves combined after an activation: a few NumPy calls":
        "geglu glu reglu swiglu",
    "a product of two computed tensors: a single call of BLAS or einsum":
        "bilinear einsum matmul",
    "a cell of a single position: its products are calls of BLAS":
        "gru_cell lstm_cell rnn_cell",
    "a recurrence over positions that depends on the data: the kernel loops in Python":
        "selective_scan",
    "the rows of each expert depend on the router's choice: known only at run time":
        "experts",
    "bags of ids differ in length: known only at run time":
        "embedding_bag",
    "windows of powers, squares or fixed filters: rare in the shipped specs":
        "blur_pool2d local_response_norm lp_pool1d lp_pool2d lp_pool3d",
    "a product and a sum over overlapping windows: no tile can be computed alone":
        "conv_transpose1d conv_transpose2d conv_transpose3d",
    "resampling: a few NumPy calls for each axis":
        "interpolate",
}
# fmt: on

#: Reason for each operation without a lowering.
NO_LOWERING: dict[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}

LOWERINGS: Registry[Lowering] = Registry(
    "lowering",
    {name: f"netcalc.engine.lower.{module}" for module, names in _MODULES.items() for name in names.split()},
    NO_LOWERING,
)

#: Operations with the common lowering of elementwise arithmetic.
ELEMENTWISE = tuple(_MODULES["elementwise"].split())

#: Registers the lowering of operations.
lowering = LOWERINGS.register
