"""Tunings for tests: small tensors cut into many tiles, and special algorithms disabled."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import strategies as st

from netcalc.engine.tuning import Tuning

__all__ = ["SMALL", "SWITCHES", "TUNINGS", "without"]

#: Cuts tensors of a few dozen elements into several tiles and jobs, and takes Winograd's algorithm wherever it can.
SMALL = Tuning(
    pass_elements_per_worker=2,
    product_macs_per_worker=2,
    threaded_step_elements=8,
    strip_elements=96,
    epilogue_strip_elements=96,
    broadcast_elements=16,
    gemm_tile_elements=48,
    gemm_tile_rows=2,
    gemm_share_unit=2,
    small_gemm_macs=16,
    small_gemm_columns=2,
    small_gemm_rows=2,
    small_gemm_threaded_rows=8,
    share_channels=2,
    im2col_elements=64,
    im2col_least_rows=2,
    im2col_most_rows=16,
    depthwise_elements=300,
    depthwise_run=24,
    depthwise_weights=96,
    depthwise_channels_per_tap=1,
    transposed_elements=64,
    transposed_rows=2,
    winograd_elements=96,
    winograd_least_tiles=2,
    winograd_filters=3,
    winograd_packing_cost=0,
    winograd_transform_cost=0,
    winograd_transform_cost_narrow=0,
    attention_scores=16,
    attention_queries=3,
    attention_least_queries=2,
    attention_group_scores=32,
    attention_mask_bytes=128,
    compiled_attention_queries=1,
    compiled_attention_scores=1,
    recurrent_elements=200,
)

#: Names of the switches of special algorithms.
SWITCHES = tuple(field.name for field in fields(Tuning) if field.default is True)


def without(*switches: str, tuning: Tuning | None = None) -> Tuning:
    """Return a tuning with special algorithms disabled."""
    return replace(tuning or Tuning(), **dict.fromkeys(switches, False))


#: The default and small sizes, each with the kernels in C and without; the small ones also without packed filters.
TUNINGS = st.sampled_from(
    [Tuning(), SMALL, *(without(switch, tuning=SMALL) for switch in ("packed", "compiled")), without("compiled")]
)
