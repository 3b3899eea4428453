"""The operation library, one family a module; a family is imported when one of its operations is first used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from netcalc.opdef import Operation
from netcalc.registry import Registry


def _over_axes(name: str) -> tuple[str, ...]:
    """Return the names of an operation over one, two and three spatial axes."""
    return tuple(f"{name}{axes}d" for axes in (1, 2, 3))


#: The operations that each family declares.  A test compares the table with the declarations.
FAMILIES: dict[str, tuple[str, ...]] = {
    "linear": ("linear", "bilinear"),
    "conv": _over_axes("conv"),
    "conv_transpose": _over_axes("conv_transpose"),
    "fold": ("unfold", "fold"),
    "max_pool": _over_axes("max_pool"),
    "avg_pool": _over_axes("avg_pool"),
    "lp_pool": _over_axes("lp_pool"),
    "adaptive_pool": (*_over_axes("adaptive_avg_pool"), *_over_axes("adaptive_max_pool")),
    "global_pool": (*_over_axes("global_avg_pool"), *_over_axes("global_max_pool")),
    "blur_pool": ("blur_pool2d",),
    "batch_norm": ("batch_norm", "frozen_batch_norm", "instance_norm"),
    "norm": ("layer_norm", "group_norm", "rms_norm", "local_response_norm", "normalize"),
    "rectifier": ("relu", "relu6", "leaky_relu", "prelu", "squared_relu"),
    "activation": (
        "elu",
        "selu",
        "celu",
        "gelu",
        "quick_gelu",
        "silu",
        "mish",
        "hardswish",
        "hardsigmoid",
        "hardtanh",
        "sigmoid",
        "logsigmoid",
        "tanh",
        "tanhshrink",
        "hardshrink",
        "softshrink",
        "threshold",
        "softplus",
        "softsign",
        "identity",
        "detach",
    ),
    "softmax": ("softmax", "log_softmax"),
    "gated_units": ("glu", "reglu", "geglu", "swiglu"),
    "dropout": ("dropout", "stochastic_depth"),
    "loss": ("mse_loss", "l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"),
    "class_loss": ("cross_entropy", "nll_loss"),
    "attention": ("scaled_dot_product_attention",),
    "position": ("sinusoidal_positions", "learned_positions"),
    "rotary": ("rotary_embedding",),
    "position_bias": (
        "relative_position_bias",
        "relative_position_lookup",
        "relative_coordinates",
        "t5_position_bias",
        "alibi_bias",
    ),
    "cache": ("key_value_cache",),
    "embed": ("embedding", "embedding_bag", "one_hot"),
    "arithmetic": ("add", "sub", "mul", "div", "pow", "minimum", "maximum"),
    "compare": (
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "logical_and",
        "logical_or",
        "logical_not",
        "where",
        "masked_fill",
    ),
    "elementwise": (
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "square",
        "abs",
        "neg",
        "sign",
        "sin",
        "cos",
        "clamp",
        "cast",
    ),
    "transcendental": (
        "expm1",
        "exp2",
        "log1p",
        "log2",
        "log10",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
        "erfinv",
        "atan2",
    ),
    "rounding": ("floor", "ceil", "round", "trunc", "remainder", "fmod"),
    "bits": (
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_not",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "bitcast",
    ),
    "matmul": ("matmul", "einsum"),
    "linalg": ("inv", "det", "slogdet", "cholesky", "solve", "solve_triangular"),
    "decomposition": ("qr", "svd", "svdvals", "eigh", "eigvalsh", "pinv"),
    "reduce": ("mean", "sum", "max", "min", "prod", "var", "vector_norm", "logsumexp", "cumsum", "cumprod"),
    "sorting": ("argmax", "argmin", "topk", "sort", "cummax", "cummin"),
    "assignment": ("linear_sum_assignment",),
    "complex_numbers": ("real", "imag", "view_as_real", "view_as_complex", "complex", "polar", "conj", "angle"),
    "fourier": ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fourier"),
    "routing": ("top_k_router", "experts"),
    "shape": ("reshape", "flatten", "unflatten"),
    "axes": ("squeeze", "unsqueeze", "permute", "transpose"),
    "expand": ("expand", "tile", "repeat_interleave"),
    "concat": ("concat", "stack", "split", "chunk"),
    "slicing": ("slice", "select", "gather", "index_select", "roll", "flip"),
    "indexing": ("index", "index_put", "scatter", "masked_scatter"),
    "pad": ("pad",),
    "resize": ("interpolate",),
    "grid_sample": ("grid_sample",),
    "roi_align": ("roi_align",),
    "shuffle": ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"),
    "unknown": ("unknown",),
    "creation": ("parameter", "linear_weight", "buffer", "constant", "arange"),
    "random": (
        "normal",
        "uniform",
        "exponential",
        "randint",
        "randperm",
        "bernoulli",
        "poisson",
        "gamma",
        "binomial",
        "multinomial",
    ),
    "mask": ("tril", "triu", "causal_mask"),
    "recurrent": ("rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell"),
    "scan": ("selective_scan", "wkv"),
    "chunked_scan": ("ssd_scan", "gated_delta_rule"),
}

_family_of = {name: family for family, names in FAMILIES.items() for name in names}


def modules(package: str, families: Iterable[str] = tuple(FAMILIES)) -> dict[str, str]:
    """Return the module of each operation in a package that has one module a family, or for some families only."""
    return {name: f"{package}.{family}" for family in families for name in FAMILIES[family]}


OPERATIONS: Registry[type[Operation]] = Registry("operation", modules("netcalc.ops"))

_Declared = TypeVar("_Declared", bound=type[Operation])


def operation(declared: _Declared) -> _Declared:
    """Register an operation under its ``name``."""
    OPERATIONS.register(declared.name)(declared)
    return declared


def names() -> tuple[str, ...]:
    """Return the name of every operation, by family; imports nothing."""
    return OPERATIONS.names()


def family(name: str) -> str:
    """Return the family that declares the operation."""
    return _family_of[name]


def find(name: str) -> type[Operation] | None:
    """Return the operation's declaration, importing its family; None if there is no such operation."""
    return OPERATIONS.get(name)


def every() -> dict[str, type[Operation]]:
    """Return all operations by name; imports every family."""
    declarations = {name: find(name) for name in names()}
    return {name: declared for name, declared in declarations.items() if declared}
