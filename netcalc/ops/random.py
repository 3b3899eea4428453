"""Random numbers, which every execution draws anew from the seed of the run."""

from collections.abc import Sequence
from typing import Self

from netcalc.dims import ceil_log2, product
from netcalc.dtypes import FLOATS, INTEGERS, DType, holds
from netcalc.models import model_validator
from netcalc.opdef import (
    Context,
    Domain,
    Example,
    Operation,
    RuleError,
    Size,
    Term,
    attr,
    ports,
    require_float,
    same_shape,
)
from netcalc.ops import operation
from netcalc.ops._lists import Sizes, Whole
from netcalc.ops.sorting import selection
from netcalc.tensor_type import TensorType

_ONE_CALL = "draws random numbers: one or two NumPy calls"


class _Random(Operation):
    """Base of operations that draw: by the seed of the run and the path of the line, or by a seed of their own."""

    draws = True
    kernel_suffices = _ONE_CALL
    cost_rule = "none: drawing random numbers is not counted"

    seed: int | None = attr(
        "seed of the numbers, the same in every run; by default they follow from the run's seed and the path",
        default=None,
        ge=0,
    )

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()


class _Distribution(_Random):
    """Base of operations that draw a tensor of floating-point numbers from a distribution."""

    inputs = ()
    shorthand = "shape"
    shape_rule = "→ shape"
    example = Example((), {"shape": [2, 8]})

    shape: Sizes = attr("sizes; [] is a scalar")
    dtype: DType = attr("floating-point type", default="float32")

    def infer(self, ctx: Context) -> TensorType:
        if self.dtype not in FLOATS:
            raise RuleError(f"{self.name} draws floating-point numbers, not {self.dtype}", code="E402")
        return TensorType(self.shape, self.dtype)


@operation
class Normal(_Distribution):
    """Normal random numbers: the noise of a variational autoencoder or of a diffusion model.

    A run draws them from its seed and the path of the line, so that runs with equal seeds are equal.  In training mode
    each step draws others.
    """

    name = "normal"
    reference = "torch.randn, torch.normal"
    usage = (
        "mean: [32, 16]",
        "std: [32, 16]",
        "- {name: noise, normal: [32, 16]}",
        "- {from: [std, noise], mul: {}}",
        "- {from: [_, mean], add: {}}",
    )

    mean: float = attr("mean", default=0.0)
    std: float = attr("standard deviation", default=1.0, ge=0)


@operation
class Uniform(_Distribution):
    """Random numbers between ``low``, which may occur, and ``high``, all equally likely."""

    name = "uniform"
    reference = "torch.rand, torch.Tensor.uniform_"
    usage = (
        "x: [32, 16]",
        "- {name: noise, uniform: {shape: [32, 16], low: -0.5, high: 0.5}}",
        "- {from: [x, noise], add: {}}",
    )

    low: float = attr("lower end", default=0.0)
    high: float = attr("upper end", default=1.0)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError("low should not be above high")
        return self


@operation
class Exponential(_Distribution):
    """Exponential random numbers, with the density rate·exp(−rate·x).

    The negative logarithm of standard ones is the noise of the Gumbel-softmax.
    """

    name = "exponential"
    reference = "torch.Tensor.exponential_"
    usage = (
        "logits: [32, 10]",
        "- {name: draws, exponential: [32, 10]}",
        "- log",
        "- neg",
        "- {from: [logits, _], add: {}}",
        "- softmax: -1",
    )

    rate: float = attr("rate, 1/mean", default=1.0, gt=0)


class _Whole(_Random):
    """Base of operations that draw whole numbers without inputs."""

    inputs = ()

    dtype: DType = attr("element type", default="int64")

    def infer(self, ctx: Context) -> TensorType:
        if self.dtype not in FLOATS | INTEGERS:
            raise RuleError(f"{self.name} draws numbers, not {self.dtype}", code="E402")
        return TensorType(self.sizes(), self.dtype)

    def sizes(self) -> tuple[Size, ...]:
        """Return the shape of the output."""
        raise NotImplementedError(self.name)


@operation
class Randint(_Whole):
    """Random integers from ``low`` up to, but not including, ``high``, all equally likely."""

    name = "randint"
    reference = "torch.randint"
    shorthand = "high"
    shape_rule = "→ shape"
    example = Example((), {"shape": [2, 8], "high": 10})
    usage = (
        "x: [32, 16]",
        "- {name: steps, randint: {high: 1000, shape: [32]}}",
        "- embedding: {num_embeddings: 1000, embedding_dim: 16}",
        "- {from: [x, _], add: {}}",
    )

    high: Whole = attr("end, which is not included")
    low: Whole = attr("smallest number", default=0)
    shape: Sizes = attr("sizes; [] is a scalar", default=())

    def infer(self, ctx: Context) -> TensorType:
        if not self.low < self.high:
            raise RuleError(f"randint: there is no integer from {self.low} up to, but not including, {self.high}")
        integers: DType = self.dtype if self.dtype in INTEGERS else "int64"
        for number in (self.low, self.high - 1):
            if isinstance(number, int) and not holds(integers, number):
                raise RuleError(f"randint: {number} does not fit {integers}", code="E402")
        return super().infer(ctx)

    def sizes(self) -> tuple[Size, ...]:
        return self.shape


@operation
class Randperm(_Whole):
    """The numbers from 0 to n − 1 in random order."""

    name = "randperm"
    reference = "torch.randperm"
    shorthand = "n"
    shape_rule = "→ (n)"
    example = Example((), {"n": 8})
    usage = ("x: [32, 196, 64]", "- {name: order, randperm: 196}", "- {from: [x, order], index_select: {axis: 1}}")

    n: Size = attr("number of elements")

    def sizes(self) -> tuple[Size, ...]:
        return (self.n,)


class _LikeInput(_Random):
    """An element for each one of the input, in its type."""

    shape_rule = "unchanged"

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        return x


@operation
class Bernoulli(_LikeInput):
    """1 with the probability that the input gives, else 0, in the type of the input."""

    name = "bernoulli"
    reference = "torch.bernoulli"
    cost_rule = "1 comparison per element"
    example = Example(((2, 8),))
    usage = ("x: [32, 784]", "- linear: 256", "- sigmoid", "- bernoulli")

    def domains(self, *inputs: TensorType) -> Sequence[Domain | None]:
        return (Domain(0, 1),)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("compare", "with random numbers", elements=inputs[0].elements),)


@operation
class Poisson(_LikeInput):
    """Whole numbers from Poisson distributions whose rates the input gives, in the type of the input."""

    name = "poisson"
    reference = "torch.poisson"
    example = Example(((2, 8),))
    usage = ("image: [8, 3, 32, 32]", "- mul: 255", "- clamp: {min: 0}", "- poisson")


@operation
class Gamma(_LikeInput):
    """Random numbers from gamma distributions of scale 1 whose shapes α the input gives, in the type of the input.

    Divided by their sum along an axis they have a Dirichlet distribution.  PyTorch differentiates such numbers by α;
    here they have no gradient.
    """

    name = "gamma"
    reference = "torch.distributions.Gamma"
    example = Example(((2, 8),))
    usage = (
        "concentration: [32, 10]",
        "- softplus",
        "- {name: draws, gamma: {}}",
        "- {sum: {axis: -1, keepdim: true}}",
        "- {from: [draws, _], div: {}}",
    )


@operation
class Binomial(_Random):
    """Numbers of successes among ``count`` trials, each with the probability ``prob``, in the type of the inputs.

    A count with a fraction is rounded down.
    """

    name = "binomial"
    inputs = ports("count", "prob")
    reference = "torch.binomial"
    shape_rule = "both inputs and the output have one shape"
    example = Example(((2, 8), (2, 8)))
    usage = (
        "trials: {shape: [32, 10], range: [0, 100]}",
        "logits: [32, 10]",
        "- {from: logits, sigmoid: {}}",
        "- {from: [trials, _], binomial: {}}",
    )

    def infer(self, ctx: Context, count: TensorType, prob: TensorType) -> TensorType:
        require_float(count, "binomial")
        if not same_shape(count.shape, prob.shape) or count.dtype != prob.dtype:
            hint = "expand or cast one of them"
            raise RuleError(f"binomial takes inputs of one type, and these are {count} and {prob}", hint=hint)
        return count

    def domains(self, *inputs: TensorType) -> Sequence[Domain | None]:
        return (None, Domain(0, 1))


@operation
class Multinomial(_Random):
    """Indices drawn along the last axis with the probabilities, or multiples of them, that the input gives.

    Without ``replacement`` an index is drawn once.
    """

    name = "multinomial"
    reference = "torch.multinomial"
    shorthand = "samples"
    shape_rule = "(rows, n) → (rows, samples), or (n) → (samples); int64"
    cost_rule = (
        "without replacement n divisions and the comparisons of topk for each row; with it n − 1 additions for each "
        "row, and a multiplication and ⌈log₂ n⌉ comparisons for each sample"
    )
    example = Example(((2, 5),), {"samples": 2})
    usage = ("logits: [32, 1000]", "- softmax: -1", "- multinomial: 1")

    samples: Size = attr("number of indices to draw", default=1)
    replacement: bool = attr("draw an index more than once", default=False)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, "multinomial")
        if x.rank not in (1, 2):
            raise RuleError(f"multinomial takes an input of 1 or 2 dimensions, and this one has {x.rank}")
        if not self.replacement and self.samples > x.shape[-1]:
            hint = "replacement: true draws an index more than once"
            raise RuleError(f"multinomial: {self.samples} different indices of {x.shape[-1]}", hint=hint)
        return TensorType((*x.shape[:-1], self.samples), "int64")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        rows, n = product(x.shape[:-1]), x.shape[-1]
        if not self.replacement:
            race = Term.of("div", "by exponential numbers", elements=x.elements)
            return race, Term.of("compare", "selection", rows=rows, comparisons=selection(n, self.samples))
        return (
            Term.of("add", "cumulative sums", rows=rows, others=n - 1),
            Term.of("mul", "random numbers by the sums", rows=rows, samples=self.samples),
            Term.of("compare", "search", rows=rows, samples=self.samples, steps=ceil_log2(n)),
        )
