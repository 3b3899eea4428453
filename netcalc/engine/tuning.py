"""Sizes at which the engine cuts work into tiles and chooses among algorithms, and switches for the algorithms."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Constants of a plan.  The defaults were measured on x86-64 with OpenBLAS.

    Results are the same for every choice of them, apart from rounding.
    """

    # -- Sharing among workers ----------------------------------------------------------------------

    #: Elements of a pass over memory that justify one more worker.
    pass_elements_per_worker: int = 1 << 12
    #: Multiply-adds of a product that justify one more worker.
    product_macs_per_worker: int = 1 << 16
    #: Elements and multiply-adds that justify one more job for a worker process, and the most jobs that it has: what it
    #: has not begun others can take over, and what it has begun takes a small part of a slice of the scheduler.
    pass_elements_per_job: int = 1 << 18
    product_macs_per_job: int = 1 << 24
    jobs_of_worker: int = 2
    #: Elements of the result of a step from which on threads share it.  Waking a thread takes tens of microseconds;
    #: worker processes share every step.
    threaded_step_elements: int = 1 << 19

    # -- Passes over memory -------------------------------------------------------------------------

    #: Elements of a strip of an elementwise pass or a pooling.  The strip, a second one like
    #: it and its input fit the second-level cache.
    strip_elements: int = 1 << 16
    #: Elements of a strip on which all operations of an epilogue are done, one after the other.  It fits the
    #: second-level cache with two scratch buffers and another operand; shorter ones take more calls.
    epilogue_strip_elements: int = 1 << 16
    #: Nodes from the one that computes a part of a concatenation in its place to the concatenation, at most.
    join_distance: int = 64
    #: Elements to which a row vector is repeated, so that the inner loops of a broadcast are long.
    broadcast_elements: int = 1 << 12

    # -- Products -----------------------------------------------------------------------------------

    #: Elements of a tile of a product that has an epilogue: it fits the last-level cache.
    gemm_tile_elements: int = 1 << 20
    #: Rows of a tile of a product, at least: with fewer, reading the other matrix takes most of the time.
    gemm_tile_rows: int = 64
    #: Rows or columns of a worker's share of a product are a multiple of this.
    gemm_share_unit: int = 16
    #: Elements that BLAS packs in the time that an operation of an epilogue takes for a gap between two rows.
    gemm_gap_elements: int = 1500
    #: Multiply-adds of a block that OpenBLAS multiplies without packing its operands.
    small_gemm_macs: int = 1_000_000
    #: Columns of such a block, at least: with fewer, the calls take most of the time.
    small_gemm_columns: int = 32
    #: Rows of such a block, at least; and the most rows of a product that is cut along its depth.
    small_gemm_rows: int = 64
    #: Rows of a product up to which such blocks are faster than several BLAS threads.
    small_gemm_threaded_rows: int = 32
    #: Rows of a product from which on its other matrix is packed for the kernel in C, if it is constant.
    packed_rows: int = 2
    #: Channels up to which such a product takes the taps of a row together, in a padded copy of the images.
    packed_run: int = 16

    # -- Convolutions -------------------------------------------------------------------------------

    #: Ratio of the largest share of rows to the mean from which on workers share output channels instead.
    uneven_share_ratio: float = 1.15
    #: Output channels of such a share, at least.
    share_channels: int = 32
    #: Elements of the copied windows of a tile: half a megabyte of float32.
    im2col_elements: int = 1 << 17
    #: Rows (pixels) of a tile of windows, at least.
    im2col_least_rows: int = 64
    #: Rows (pixels) of a tile of windows, at most.
    im2col_most_rows: int = 1024
    #: Channels of a group up to which the compiled kernel for grouped convolutions is faster than copied windows.
    grouped_channels: int = 48
    #: Elements of a tile of a depthwise convolution and of the padded input under it: they fit the second-level cache.
    depthwise_elements: int = 1 << 18
    #: Elements of an inner loop of a depthwise convolution; the loop itself costs as much as a hundred of them.
    depthwise_run: int = 1536
    #: Elements of the weights of a depthwise convolution, repeated for such a loop.
    depthwise_weights: int = 40_000
    #: Channels for each tap from which on the inner loop takes a single pixel if the stride is not 1.  With fewer,
    #: pixels that are a stride apart are copied to lie together.
    depthwise_channels_per_tap: int = 16
    #: Elements of the product of a tile of a transposed convolution, before they are spread over their windows.
    transposed_elements: int = 1 << 18
    #: Rows (pixels of the input) of such a product, at least.
    transposed_rows: int = 256
    #: Elements of the transformed 4×4 tiles of a strip, before and after the product.
    winograd_elements: int = 1 << 18
    #: 4×4 tiles of a strip, at least.
    winograd_least_tiles: int = 64
    #: Pixels on a side of the tiles of the result that the compiled kernels may take.
    winograd_sides: tuple[int, ...] = (2, 4)
    #: Filters of one channel that are transformed at a time, when parameters are loaded.
    winograd_filters: int = 1 << 12
    #: Time to read and pack a matrix element, in multiply-adds of a product.
    winograd_packing_cost: float = 16
    #: Time of an element of a transformed tile in the compiled kernels, in multiply-adds of a product.
    winograd_transform_cost: float = 10
    #: The same with vectors of fewer elements than 16, measured against products with packed filters.
    winograd_transform_cost_narrow: float = 70

    # -- Attention and recurrent layers ---------------------------------------------------------------

    #: Attention scores that a worker holds at a time, beyond which blocks have fewer queries: two megabytes of float32.
    attention_scores: int = 1 << 19
    #: Queries of a block of attention scores, at least unless those are too many; a product of fewer is slower.
    attention_queries: int = 256
    #: Queries of such a block, at least.
    attention_least_queries: int = 16
    #: Attention scores of several heads or samples that are computed together, to save calls.
    attention_group_scores: int = 1 << 17
    #: Bytes of the numbers that a boolean mask becomes once for all layers, at most; a larger one is applied as it is.
    attention_mask_bytes: int = 1 << 24
    #: Queries from which on the kernel in C computes attention: with fewer, packing the keys takes most of the time.
    compiled_attention_queries: int = 8
    #: Scores that the kernel holds at a time: a part of the second-level cache.
    compiled_attention_scores: int = 3 << 15
    #: Elements of the input products that a recurrent layer holds at a time.
    recurrent_elements: int = 1 << 20

    # -- Memory -------------------------------------------------------------------------------------

    #: Bytes by which the arena of worker processes may grow so that each keeps to its own half of it.
    centered_bytes: int = 1 << 22
    #: Bytes that transformed parameters may take beyond the parameters as declared, as a fraction of all parameters.
    transformed_fraction: float = 1 / 4
    #: Bytes that they may take in any case.
    transformed_bytes: int = 1 << 20
    #: Bytes of the results of a node that are computed once and kept, at most.
    constant_bytes: int = 1 << 24

    # -- Switches -----------------------------------------------------------------------------------

    #: Kernels in C, if they were compiled when netcalc was installed; otherwise NumPy alone.
    compiled: bool = True
    #: Winograd's algorithm for 3×3 convolutions by the kernels in C; otherwise products with their windows.
    winograd: bool = True
    #: Sums over shifted images for depthwise convolutions; otherwise im2col, group by group.
    depthwise: bool = True
    #: Products with packed filters by the kernel in C; otherwise by BLAS or the kernel that reads weights as stored.
    packed: bool = True
    #: Cutting products into blocks that BLAS does not pack; otherwise one call for each product.
    small_gemm: bool = True
    #: Elementwise operations done on each tile of the operation before them; otherwise steps of their own.
    fuse_epilogues: bool = True
    #: Names of operations that run by their reference kernels although they have a lowering.
    disabled_lowerings: frozenset[str] = frozenset()
