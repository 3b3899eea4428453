"""Numbers of FP-Quant: floats in 4 bits after a Hadamard transform of the inputs, which is taken back here."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.scales import scale_values, times_groups


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], mxfp4: bool) -> Array:
    """Return the numbers of ``.qweight`` (rows, bytes) and ``.scales`` (rows, groups), over ``.weight_global_scale``.

    The scales are bytes: powers of two, or numbers in e4m3.  Inputs and weights are multiplied by
    ``.forward_hadamard_matrix``, part by part; the numbers are those for inputs that are not.

    Source: fp_quant 0.3.2, module/linear.py and linear_fns.py (forward_quantize, forward_gemm).
    """
    stored = tensors[".scales"]
    scales = scale_values(stored) if mxfp4 else stored.view(numpy_dtype("float8_e4m3fn"))
    numbers = times_groups(e2m1_unpacked(tensors[".qweight"]), scales)
    numbers /= tensors[".weight_global_scale"].astype(np.float32)
    return _rotated_back(numbers, tensors[".forward_hadamard_matrix"].astype(np.float32))


def _rotated_back(numbers: Array, matrix: Array) -> Array:
    """Return numbers for inputs that are not multiplied by a matrix."""
    if numbers.shape[-1] % len(matrix):
        raise ValueError(f"{numbers.shape[-1]} columns are no parts of {len(matrix)}, for which the transform is")
    return (numbers.reshape(len(numbers), -1, len(matrix)) @ matrix.T).reshape(numbers.shape)
