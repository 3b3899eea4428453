"""Arithmetic, comparisons, activations, reductions and products of PyTorch: types and values equal PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from netcalc.formats.torch.operators import rules  # noqa: E402
from tests.oracle.torch_modules import Call, assert_imports, operations  # noqa: E402

F = torch.nn.functional
#: Without shrinking: every example is an export.
drawn = settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]
INTEGERS = ["uint8", "int32", "int64"]
seeds = st.integers(0, 99)

Function = Callable[..., Any]


def tensor(shape: Any, dtype: str = "float32", seed: int = 0, low: float = -3) -> Any:
    """Return small numbers, none of them 0 among the fractions; their halves are exact in every type."""
    random = torch.Generator().manual_seed(seed)
    if dtype == "bool":
        return torch.rand(shape, generator=random) < 0.5
    whole = torch.randint(0 if dtype == "uint8" else int(low), 5, shape, generator=random)
    return whole.to(getattr(torch, dtype)) + (0.25 if dtype.startswith("float") else 0)


def agree(functions: list[Function], *tensors: Any, tolerance: float = 1e-5, **kept: Any) -> list[str]:
    """Compare functions of the same tensors, exported as one module; functions that torch refuses are left out."""
    taken = [function for function in functions if _taken(function, *tensors, *kept.values())]

    def together(*arguments: Any) -> list[Any]:
        return [function(*(argument.clone() for argument in arguments)) for function in taken]

    half = any(x.dtype == torch.float16 for x in tensors)
    return operations(assert_imports(Call(together, **kept), *tensors, tolerance=5e-3 if half else tolerance))


def _taken(function: Function, *tensors: Any) -> bool:
    try:
        function(*(tensor.clone() for tensor in tensors))
    except (RuntimeError, TypeError, NotImplementedError):
        return False
    return True


def test_rules_are_those_of_overloads_that_exist() -> None:
    for overload in rules():
        namespace, name, kind = overload.split(".")
        if namespace == "aten":  # or of its in-place variant, where there is no other
            operators = [getattr(torch.ops.aten, name + end, None) for end in ("", "_")]
            assert any(found is not None and kind in found.overloads() for found in operators), overload


# -- arithmetic ----------------------------------------------------------------------------------------

BITS: list[Function] = [lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y]
PAIRS: list[Function] = [
    *(torch.add, torch.sub, torch.mul, torch.div, torch.minimum, torch.maximum, torch.rsub),
    *(torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge),
    *(torch.logical_and, torch.logical_or, torch.logical_xor),
    lambda x, y: torch.add(x, y, alpha=2),
    lambda x, y: torch.sub(x, y, alpha=3),
    lambda x, y: torch.rsub(x, y, alpha=2),
    lambda x, y: torch.addcmul(x, x, y, value=2),
    lambda x, y: torch.addcdiv(x, x, y, value=0.5),
    lambda x, y: torch.lerp(x, y, 0.25),
    lambda x, y: torch.lerp(x, y, y),
    lambda x, y: torch.float_power(x, y * 1.0),
    *(torch.atan2, *BITS),
    lambda x, y: torch.isclose(x, y + 0.001, atol=0.01),
    lambda x, y: torch.clamp(x, y, y + 2),
    lambda x, y: torch.clamp_min(x, y),
    lambda x, y: torch.clamp_max(x, y),
]
ROUNDED: list[Function] = [
    lambda x, y: torch.div(x, y, rounding_mode="floor"),
    lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    *(torch.floor_divide, torch.remainder, torch.fmod),
    *(lambda x, y: x % 3, lambda x, y: torch.fmod(x, 3), lambda x, y: torch.remainder(7, y)),
]


@drawn
@given(
    shape=st.lists(st.integers(1, 3), max_size=3),
    others=st.sampled_from(DTYPES),
    dtype=st.sampled_from(DTYPES),
    seed=seeds,
)
def test_pairs_of_tensors(shape: list[int], dtype: str, others: str, seed: int) -> None:
    x = tensor(shape, dtype, seed)
    y = tensor(shape[1:] if seed % 2 else shape, others, seed + 1, low=1)
    agree(PAIRS, x, y)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_rounded_quotients(dtype: str) -> None:
    agree(ROUNDED, tensor((3, 4), dtype), tensor((4,), dtype, 1, low=1) + 1)


def test_logic_of_bools() -> None:
    x, y = tensor((3, 4), "bool"), tensor((4,), "bool", 1)
    logic = agree([*BITS, lambda x, y: ~x, lambda x, y: x.logical_not(), lambda x, y: x & True], x, y)
    assert not [operation for operation in logic if operation.startswith("bitwise")]


NUMBERS = [0, 2, -3, 0.5, -1.5, 2.0, True]


@drawn
@given(
    dtype=st.sampled_from(DTYPES),
    number=st.sampled_from(NUMBERS),
    shape=st.sampled_from([(), (3,), (2, 3)]),
    seed=seeds,
)
def test_tensors_and_numbers(dtype: str, number: Any, shape: Any, seed: int) -> None:
    functions: list[Function] = [
        *(lambda x: x + number, lambda x: x - number, lambda x: number - x, lambda x: x * number),
        *(lambda x: x == number, lambda x: x != number, lambda x: x < number, lambda x: number < x),
        *(lambda x: x <= number, lambda x: x >= number, lambda x: x > number),
        lambda x: torch.add(x, number, alpha=2),
        lambda x: x / (number or 1),
        lambda x: torch.rsub(x, number, alpha=2),
        lambda x: torch.maximum(x, torch.tensor(number)),
        lambda x: x + torch.tensor(number),
        lambda x: torch.tensor(number) - x,
        lambda x: torch.tensor(number) < x,
        lambda x: x * torch.scalar_tensor(number),
        lambda x: x.nan_to_num(1.0, 2.0, -2.0),
    ]
    if dtype != "uint8":  # torch wraps -1 around to 255
        functions += [lambda x: torch.clamp(x, min=number), lambda x: torch.clamp(x, -1, number)]
    agree(functions, tensor(shape, dtype, seed, low=1))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_powers(dtype: str) -> None:
    functions = [lambda x, n=n: x**n for n in (0, 1, 2, 3, 0.5, 2.0, -1, -0.5)]
    functions += [lambda x, n=n: n**x for n in (2, 0.5)]
    agree([*functions, lambda x: torch.pow(x, x), lambda x: torch.float_power(x, 1.5)], tensor((2, 3), dtype, low=1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_operators_in_place_keep_the_type(dtype: str) -> None:
    functions: list[Function] = [
        *(torch.Tensor.add_, torch.Tensor.sub_, torch.Tensor.mul_, torch.Tensor.div_),
        lambda x, y: x.clone().clamp_(-1, 2),
        lambda x, y: x.clone().pow_(2),
        lambda x, y: x.clone().add_(2, alpha=3),
        lambda x, y: x.gt_(y),
        lambda x, y: x.neg_().abs_(),
    ]
    agree(functions, tensor((2, 3), dtype), tensor((3,), "float32" if dtype == "float16" else dtype, 1, low=1))


def test_numbers_leave_no_lines_of_their_own() -> None:
    assert agree([lambda x: 1 - x], tensor((2, 3))) == ["sub"]


# -- functions and activations -------------------------------------------------------------------------

FUNCTIONS: list[Function] = [
    *(torch.exp, torch.sqrt, torch.rsqrt, torch.log, torch.reciprocal, torch.square, torch.sin, torch.cos),
    *(torch.abs, torch.neg, torch.sign, torch.sigmoid, torch.tanh, torch.relu),
    *(torch.floor, torch.ceil, torch.round, torch.trunc, torch.frac, torch.expm1, torch.exp2, torch.log1p, torch.log2),
    *(torch.log10, torch.tan, torch.asin, torch.acos, torch.atan, torch.sinh, torch.cosh, torch.asinh, torch.acosh),
    *(torch.atanh, torch.erf, torch.erfc, torch.erfinv, torch.special.expm1, torch.special.erf, torch.bitwise_not),
    lambda x: torch.round(x * 1.01, decimals=1),
    *(torch.isnan, torch.isinf, torch.isfinite, torch.nan_to_num, torch.logit),
    lambda x: torch.logit(x, 0.1),
    lambda x: x.clamp_min(1),
    lambda x: x.clamp_max(2),
    lambda x: torch.nan_to_num(x, 1.0, 2.0, 3.0),
]
ACTIVATIONS: list[Function] = [
    *(F.relu, F.relu6, F.leaky_relu, F.elu, F.selu, F.celu, F.gelu, F.silu, F.mish, F.hardswish, F.hardsigmoid),
    *(F.hardtanh, F.logsigmoid, F.softplus, F.softsign, F.tanhshrink, F.hardshrink, F.softshrink, F.rrelu),
    lambda x: F.gelu(x, approximate="tanh"),
    lambda x: F.leaky_relu(x, 0.2, inplace=True),
    lambda x: F.elu(x, 0.7, inplace=True),
    lambda x: F.celu(x, 1.3),
    lambda x: F.hardtanh(x, 0.0, 6.0),
    lambda x: F.hardtanh(x, -0.5, 2.0, inplace=True),
    lambda x: F.softplus(x, 2, 3),
    lambda x: F.threshold(x, 0.5, -1.5),
    lambda x: F.hardshrink(x, 1.5),
    lambda x: F.softshrink(x, 1.5),
    lambda x: F.silu(x, inplace=True),
    lambda x: F.mish(x, inplace=True),
    lambda x: F.hardswish(x, inplace=True),
    lambda x: F.relu_(x),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions(dtype: str) -> None:
    agree(FUNCTIONS, tensor((2, 3), dtype, low=1))


def test_functions_of_infinities() -> None:
    agree(FUNCTIONS, torch.tensor([0.0, -1.5, torch.inf, -torch.inf, torch.nan]))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_activations_of_integers(dtype: str) -> None:
    functions = [F.relu, F.relu6, lambda x: F.hardtanh(x, 1, 3), lambda x: F.threshold(x, 1, 2)]
    agree(functions, tensor((4, 5), dtype, low=-4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations(dtype: str) -> None:
    agree(ACTIVATIONS, tensor((4, 5), dtype, low=-4) * 2)


def test_prelu() -> None:
    for slopes in (1, 3):
        graph = assert_imports(torch.nn.PReLU(slopes), tensor((2, 3, 4)))
        assert operations(graph) == ["prelu"]


@pytest.mark.parametrize("slopes", [(1,), (3,), ()])
def test_slopes_of_prelu_that_are_no_parameters(slopes: tuple[int, ...]) -> None:
    """A buffer, and a parameter that is computed with."""
    for shape in ((2, 3, 4), (2, 3)):
        x, weight = tensor(shape), torch.rand(slopes)
        assert_imports(Call(torch.nn.functional.prelu, slopes=weight.requires_grad_(False)), x)
        assert_imports(Call(lambda x, slopes: torch.nn.functional.prelu(x, slopes * 2), slopes=weight), x)
        module = torch.nn.Module()
        module.register_buffer("slopes", weight)
        module.forward = lambda x, module=module: torch.nn.functional.prelu(x, module.slopes)
        assert_imports(module, x)


#: Functions along an axis that take tensors without axes.
ALONG_ONE: list[Function] = [
    *(torch.softmax, torch.log_softmax, torch.sum, torch.cumsum, torch.amax, torch.argmax, torch.logsumexp, torch.prod),
    *(torch.unsqueeze, torch.squeeze, torch.sort, torch.max),
    lambda x, dim: torch.nn.functional.normalize(x, dim=dim),
    lambda x, dim: torch.flip(x, [dim]),
    lambda x, dim: torch.mean(x, dim, keepdim=True),
    lambda x, dim: torch.nn.functional.cosine_similarity(x, x + 1, dim),
    lambda x, dim: torch.transpose(x, dim, 0),
    lambda x, dim: torch.flatten(x, dim),
    lambda x, dim: torch.movedim(x, dim, 0),
    torch.median,
]


@pytest.mark.parametrize("function", ALONG_ONE)
@pytest.mark.parametrize("dim", [0, -1])
def test_axes_of_tensors_without_axes(function: Function, dim: int) -> None:
    assert_imports(Call(lambda x: function(x, dim)), torch.tensor(0.7))


def test_cosine_similarity_of_broadcast_tensors() -> None:
    """Norms are those of the shape to which both broadcast."""
    for first, second, dim in (((8,), (2, 1, 2, 8), 2), ((3, 4), (4,), 0), ((), (3,), 0), ((2, 1), (2, 5), 1)):
        x, y = torch.randn(first), torch.randn(second)
        assert_imports(Call(lambda x, y, dim=dim: torch.nn.functional.cosine_similarity(x, y, dim)), x, y)


# -- reductions ----------------------------------------------------------------------------------------

REDUCTIONS: list[Function] = [
    *(torch.sum, torch.mean, torch.amax, torch.amin, torch.var, torch.std, torch.any, torch.all),
    *(torch.var_mean, torch.std_mean, torch.count_nonzero),
    lambda x, dim: torch.sum(x, dim, keepdim=True),
    lambda x, dim: torch.mean(x, dim, dtype=torch.float32),
    lambda x, dim: torch.var(x, dim, unbiased=False),
    lambda x, dim: torch.std(x, dim, correction=0, keepdim=True),
    lambda x, dim: torch.logsumexp(x, dim),
    lambda x, dim: torch.linalg.vector_norm(x, 3, dim),
    lambda x, dim: torch.linalg.vector_norm(x, dim=dim, keepdim=True, dtype=torch.float64),
    lambda x, dim: torch.norm(x, dim=dim),
    lambda x, dim: x.norm(1, dim),
]
ALL: list[Function] = [
    *(torch.sum, torch.mean, torch.max, torch.min, torch.prod, torch.var, torch.std, torch.any, torch.all, torch.norm),
    *(torch.argmax, torch.argmin, torch.count_nonzero, torch.aminmax, torch.linalg.norm, torch.linalg.vector_norm),
    lambda x: torch.sum(x, dtype=torch.float64),
    lambda x: torch.amax(x),
]
ONE_AXIS: list[Function] = [
    *(torch.prod, torch.argmax, torch.argmin, torch.cumsum, torch.cumprod, torch.cummax, torch.diff, torch.aminmax),
    lambda x, dim: torch.max(x, dim)[0],
    lambda x, dim: torch.min(x, dim, keepdim=True)[0],
    lambda x, dim: torch.sort(x, dim, stable=True),
    lambda x, dim: torch.sort(x, dim, descending=True)[0],
    lambda x, dim: torch.argsort(x, dim, stable=True),
    lambda x, dim: torch.topk(x, 2, dim)[0],
    lambda x, dim: torch.topk(x, 2, dim, largest=False)[0],
    lambda x, dim: torch.cumsum(x, dim, dtype=torch.float64),
    lambda x, dim: torch.diff(x, 2, dim, prepend=x, append=x),
    lambda x, dim: torch.argmax(x, dim, keepdim=True),
    lambda x, dim: torch.linalg.norm(x, dim=dim),
]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32"])
@pytest.mark.parametrize("dim", [0, -1, (0, 2), (-2, -1)])
def test_reductions(dim: Any, dtype: str) -> None:
    functions = REDUCTIONS + (ONE_AXIS if isinstance(dim, int) else [])
    agree([lambda x, f=f: f(x, dim=dim) for f in functions], tensor((3, 4, 2), dtype))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_reductions_of_everything(dtype: str) -> None:
    agree(ALL, tensor((3, 4), dtype))
    agree([torch.sum, torch.max, lambda x: torch.sum(x, 0)], tensor((), dtype))


def test_indices_of_distinct_elements() -> None:
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(1))
    agree([lambda x: torch.max(x, 1), lambda x: torch.topk(x, 3), lambda x: torch.sort(x, 0), torch.msort], x)


@pytest.mark.parametrize("order", ["fro", 1, -1, torch.inf, -torch.inf])
def test_matrix_norms(order: Any) -> None:
    x = tensor((2, 3, 4))
    agree([lambda x: torch.linalg.matrix_norm(x, order), lambda x: torch.linalg.norm(x, order, (0, 2), True)], x)


# -- products ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shapes",
    [((4,), (4,)), ((2, 4), (4,)), ((4,), (4, 3)), ((2, 4), (4, 3)), ((5, 2, 4), (4, 3)), ((5, 2, 4), (5, 4, 3))],
)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_matmul(shapes: Any, dtype: str) -> None:
    agree([torch.matmul], *(tensor(shape, dtype, seed) for seed, shape in enumerate(shapes)))


def test_a_product_with_a_stored_matrix_is_linear() -> None:
    x, weight, bias = tensor((2, 4)), tensor((4, 3), seed=1), tensor((3,), seed=2)
    assert operations(assert_imports(Call(lambda x, w: x @ w, w=weight), x)) == ["linear"]
    assert operations(assert_imports(Call(lambda x, w: x @ w, w=weight), tensor((5, 2, 4)))) == ["linear"]
    assert operations(assert_imports(Call(torch.mm, w=weight), x)) == ["linear"]
    graph = assert_imports(Call(lambda x, w, b: torch.addmm(b, x, w), w=weight, b=bias), x)
    assert operations(graph) == ["linear"]
    graph = assert_imports(Call(lambda x, w, b: torch.addmm(b, x, w, beta=2, alpha=0.5), w=weight, b=bias), x)
    assert operations(graph)[0] == "linear"
    graph = assert_imports(Call(lambda x, w: torch.inner(x, w), w=tensor((3, 4))), x)
    assert operations(graph) == ["linear"]


def test_sums_of_products() -> None:
    x, y, z = tensor((5, 2, 4)), tensor((5, 4, 3), seed=1), tensor((5, 2, 3), seed=2)
    factors = [{}, {"beta": 2}, {"beta": 0, "alpha": 0.5}]
    agree([lambda x, y, z, f=f: torch.baddbmm(z, x, y, **f) for f in factors], x, y, z)
    agree([torch.bmm], x, y)
    assert_imports(Call(torch.addbmm), tensor((2, 3)), x, y, flops=False)  # torch counts no product in addbmm


def test_products_with_vectors() -> None:
    x, y, a = tensor((4,)), tensor((4,), seed=1), tensor((3, 4), seed=2)
    agree([lambda x, y, a: torch.mv(a, x), lambda x, y, a: torch.dot(x, y), lambda x, y, a: torch.outer(x, y)], x, y, a)
    agree([torch.inner, lambda a, y: torch.inner(a, a), lambda a, y: torch.inner(y, a)], a, y)
    agree([lambda a, x, b: torch.addmv(b, a, x, beta=0.5, alpha=2)], a, x, tensor((3,)))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bhid,bhjd->bhij", ((2, 3, 4, 5), (2, 3, 6, 5))),
        ("b h i j, b h j d -> b h i d", ((2, 3, 4, 6), (2, 3, 6, 5))),
        ("...ij,jk->...ik", ((2, 3, 4), (4, 5))),
        ("i,j->ij", ((3,), (4,))),
        ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))),
        ("ii->i", ((3, 3),)),
    ],
)
def test_einsum(equation: str, shapes: Any) -> None:
    agree([lambda *x: torch.einsum(equation, *x)], *(tensor(shape, seed=seed) for seed, shape in enumerate(shapes)))


def test_einsum_in_a_given_order() -> None:
    def product(x: Any, y: Any, z: Any) -> Any:
        return torch.ops.aten.einsum("ij,jk,kl->il", [x, y, z], path=[1, 2, 0, 1])

    agree([product], tensor((2, 3)), tensor((3, 4), seed=1), tensor((4, 5), seed=2))


def test_tensordot() -> None:
    agree([lambda x, y: torch.tensordot(x, y, dims=([1, 2], [2, 0]))], tensor((2, 3, 4)), tensor((4, 5, 3), seed=1))


def test_cdist() -> None:
    agree([lambda x, y: torch.cdist(x, y, p=1.0)], tensor((2, 3, 4)), tensor((2, 5, 4), seed=1))


# -- operators that are written out --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_that_are_written_out(dtype: str) -> None:
    x, y = tensor((2, 3), dtype), tensor((2, 3), dtype, 1)
    agree([lambda x, y: torch.special.ndtr(x), lambda x, y: torch.heaviside((x * 2).round(), y)], x, y)
    agree([torch.hypot, torch.logaddexp, torch.xlogy, torch.copysign, torch.linalg.vecdot, torch.dist], x, y)
    agree([torch.linalg.cross, lambda x, y: torch.dist(x, y, 1), lambda x, y: torch.linalg.cross(x, y, dim=1)], x, y)
    special = torch.tensor([0.0, torch.inf, -torch.inf, torch.nan, 2.5])
    ones: list[Function] = [torch.isposinf, torch.isneginf, torch.deg2rad, torch.rad2deg, torch.nansum, torch.nanmean]
    agree([*ones, lambda x: torch.nanmean(x, 0, keepdim=True), lambda x: torch.xlogy(torch.zeros(5), x)], special)
    agree([torch.trace, torch.median], tensor((3, 3), dtype))


def test_shifts() -> None:
    x, y = tensor((2, 3), "int64"), tensor((3,), "int64", 1, low=0)
    agree([lambda x, y: x << y, lambda x, y: x >> y, lambda x, y: x << 2, lambda x, y: x >> 1], x, y)


def test_ranked_elements() -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(2))
    agree([lambda x: torch.median(x, 1), lambda x: torch.kthvalue(x, 2, 0, keepdim=True), torch.median], x)


# -- complex numbers -----------------------------------------------------------------------------------


def test_rotations_by_complex_numbers() -> None:
    def rotated(x: Any, angles: Any) -> Any:
        turn = torch.polar(torch.ones_like(angles), angles) * 2.0
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turn.unsqueeze(0).to("cpu")).flatten(-2)

    assert "polar" not in agree([rotated], tensor((2, 3, 4)), tensor((3, 2), seed=1))


def test_arithmetic_of_complex_numbers() -> None:
    def parts(x: Any, y: Any) -> Any:
        z = torch.complex(x, y)
        turned = torch.cat([z, z.conj() * y], 0).transpose(0, 1)
        return turned.abs(), (turned + turned).imag, turned.real

    agree([parts], tensor((2, 3)), tensor((2, 3), seed=1))


def test_fourier_transforms() -> None:
    agree([lambda x: torch.fft.fftn(x, dim=(1, 2)).real, lambda x: torch.fft.fft(x).real], tensor((2, 3, 5)))
