"""Allowance for what the reference kernel of an operation allocates besides its results.

A kernel is a few calls of NumPy, each of which makes an array.  Most hold up to three arrays as large as the largest
operand or result at once: a centered input, its square, an exponential.  Kernels that hold more have a number of their
own, measured on all shipped specs.  The allowance is an upper bound, and tests hold it to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE, DType
from netcalc.ir import OpNode, dtype_of
from netcalc.opdef import Term
from netcalc.tensor_type import TensorType

#: Arrays that most kernels hold at once, and in half precision, whose operands and results are widened.
_ARRAYS, _HALF_ARRAYS = 3, 4
#: The same of kernels that hold more arrays.
_MORE = {
    "einsum": 5,
    "experts": 6,
    **dict.fromkeys(("fourier", "fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), 12),
    "gelu": 4,
    "scaled_dot_product_attention": 6,
    "ssd_scan": 16,
    "top_k_router": 5,
}
#: Bytes of windows that a convolution copies at a time.
_SLAB = 1 << 24
_HALF = frozenset({"float16", "bfloat16"})


def kernel_temporaries(node: OpNode, terms: Sequence[Term], default_dtype: DType) -> int:
    """Return the most bytes that a node's kernel allocates besides its results.

    Args:
        node: the operation with its tensors, whose sizes must be numbers.
        terms: its work, see :meth:`~netcalc.analysis.cost.Analysis.terms`.
        default_dtype: element type of parameters that have none of their own.
    """
    if node.op.view:
        return 0
    types = [type_ for type_ in (*node.input_types, *node.output_types) if type_ is not None]
    sizes = [integer(type_.elements) for type_ in types]
    is_half = any(type_.dtype in _HALF for type_ in types)
    width = max((4 if type_.dtype in _HALF else ITEMSIZE[type_.dtype] for type_ in types), default=0)
    # every exponential or root is an element of a temporary, for example of the scores of attention
    largest = max([*sizes, *(integer(term.count) for term in terms if term.kind == "transcendental")], default=0)
    arrays = _MORE.get(node.op.name, _ARRAYS) + (_HALF_ARRAYS - _ARRAYS if is_half else 0)
    return arrays * largest * width + _windows(node, terms, width) + _parameters(node, default_dtype)


def _parameters(node: OpNode, default_dtype: DType) -> int:
    """Return the bytes of parameters in half precision once they are widened."""
    if node.op.looks_up:  # the rows alone are widened
        return 0
    widened = [p for p in node.params if dtype_of(p, node, default_dtype) in _HALF]
    return sum(4 * integer(param.elements) for param in widened)


def _windows(node: OpNode, terms: Sequence[Term], width: int) -> int:
    """Return the bytes of windows that a convolution copies into the rows of a matrix."""
    macs = sum(integer(term.count) for term in terms if term.kind == "mac")
    if not node.op.windowed or not macs:
        return 0
    filters = next((param.shape for param in node.params if param.name == "weight"), None)
    if filters is None:
        weight = node.input_types[1] if len(node.input_types) > 1 else None
        filters = None if weight is None else weight.shape
    if filters is None:  # the same filter for every channel
        return width * min(macs, _SLAB // width)
    leading, share, *kernel = map(integer, filters)
    transposed = node.op.name.startswith("conv_transpose")
    tensor = node.output_types[0] if transposed else node.input_types[0]
    assert tensor is not None
    elements = macs * _channels(tensor, len(kernel)) // max(1, leading * share)
    if transposed:
        return width * elements
    row = elements // max(1, integer(node.output_types[0].shape[-len(kernel)]))  # one row of an image at least
    return min(width * elements, max(_SLAB, width * row))


def _channels(tensor: TensorType, axes: int) -> int:
    return prod(map(integer, tensor.shape[-axes - 1 : -axes]))
