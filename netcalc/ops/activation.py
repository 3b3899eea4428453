"""Elementwise activations.

:mod:`netcalc.ops.rectifier` has relu and its variants, :mod:`netcalc.ops.softmax` softmax, and
:mod:`netcalc.ops.gated_units` the gated units.
"""

from collections.abc import Sequence
from typing import Literal, Self

from netcalc.models import model_validator
from netcalc.opdef import Context, Term, attr
from netcalc.ops import operation
from netcalc.ops._elementwise import GELU_BY, SIGMOID, SILU, Elementwise, terms
from netcalc.tensor_type import TensorType


@operation
class Identity(Elementwise):
    """x itself, of any type; a placeholder with a name."""

    name = "identity"
    no_op_in_inference = True
    reference = "torch.nn.Identity"
    work = {}
    takes_complex = True

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return x


@operation
class Detach(Identity):
    """x itself, of any type, through which no gradient flows."""

    name = "detach"
    reference = "torch.Tensor.detach"


@operation
class ELU(Elementwise):
    """x where positive, alpha·(exp(x) − 1) elsewhere."""

    name = "elu"
    reference = "torch.nn.ELU; Clevert et al. 2015, arXiv:1511.07289"
    shorthand = "alpha"
    work = {"compare": 1, "transcendental": 1, "mul": 1}

    alpha: float = attr("negative of the limit for x → −∞", default=1.0)


@operation
class SELU(Elementwise):
    """scale·elu(x), with the scale and alpha that keep mean 0 and variance 1 through layers."""

    name = "selu"
    reference = "torch.nn.SELU; Klambauer et al. 2017, arXiv:1706.02515"
    work = {"compare": 1, "transcendental": 1, "mul": 2}


@operation
class CELU(Elementwise):
    """x where positive, alpha·(exp(x/alpha) − 1) elsewhere: an ELU whose slope is continuous."""

    name = "celu"
    reference = "torch.nn.CELU; Barron 2017, arXiv:1704.07483"
    shorthand = "alpha"
    work = {"compare": 1, "div": 1, "transcendental": 1, "mul": 1}

    alpha: float = attr("negative of the limit for x → −∞; not 0", default=1.0)

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.alpha == 0:
            raise ValueError("alpha should not be 0")
        return self


@operation
class GELU(Elementwise):
    """x·Φ(x), where Φ is the standard normal distribution function: ½·x·(1 + erf(x/√2)).

    ``approximate: tanh`` is ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))).  ``composed`` says that the reference computes
    this formula in several operations, as transformers' ``gelu_new``; only memory in eager mode follows from it.
    """

    name = "gelu"
    reference = "torch.nn.GELU; Hendrycks & Gimpel 2016, arXiv:1606.08415"
    shorthand = "approximate"
    cost_rule = "1 erf, 1 add and 3 muls per element; with tanh: 1 tanh, 2 adds and 6 muls"
    usage = ("x: [1, 197, 768]", "- linear: 3072", "- gelu: tanh", "- linear: 768")

    approximate: Literal["none", "tanh"] = attr("the formula: exact, or the tanh approximation", default="none")
    composed: bool = attr("the reference computes the formula in several operations", default=False)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return terms(GELU_BY[self.approximate], self.name, elements=inputs[0].elements)


@operation
class QuickGELU(Elementwise):
    """x·sigmoid(1.702·x), the GELU of CLIP."""

    name = "quick_gelu"
    reference = "Hendrycks & Gimpel 2016, arXiv:1606.08415; Radford et al. 2021, arXiv:2103.00020"
    work = {**SIGMOID, "mul": 2}


@operation
class SiLU(Elementwise):
    """x·sigmoid(x), also called swish."""

    name = "silu"
    reference = "torch.nn.SiLU; Elfwing et al. 2017, arXiv:1702.03118"
    work = SILU


@operation
class Mish(Elementwise):
    """x·tanh(ln(1 + exp(x)))."""

    name = "mish"
    reference = "torch.nn.Mish; Misra 2019, arXiv:1908.08681"
    work = {"transcendental": 3, "mul": 1}


@operation
class Hardswish(Elementwise):
    """x·relu6(x + 3)/6."""

    name = "hardswish"
    reference = "torch.nn.Hardswish; Howard et al. 2019, arXiv:1905.02244"
    work = {"add": 1, "compare": 2, "mul": 1, "div": 1}


@operation
class Hardsigmoid(Elementwise):
    """relu6(x + 3)/6."""

    name = "hardsigmoid"
    reference = "torch.nn.Hardsigmoid; Howard et al. 2019, arXiv:1905.02244"
    work = {"add": 1, "compare": 2, "div": 1}


@operation
class Hardtanh(Elementwise):
    """x limited to the range from ``min`` to ``max``."""

    name = "hardtanh"
    reference = "torch.nn.Hardtanh"
    work = {"compare": 2}
    usage = ("x: [32, 256]", "- hardtanh: {min: -2.0, max: 2.0}")

    min: float = attr("smallest value (torch: min_val)", default=-1.0)
    max: float = attr("largest value (torch: max_val)", default=1.0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.min <= self.max:
            raise ValueError("min should not be above max, and neither is NaN")
        return self


@operation
class Sigmoid(Elementwise):
    """1/(1 + exp(−x))."""

    name = "sigmoid"
    reference = "torch.nn.Sigmoid"
    work = SIGMOID


@operation
class LogSigmoid(Elementwise):
    """ln(1/(1 + exp(−x))), computed as min(x, 0) − ln(1 + exp(−|x|))."""

    name = "logsigmoid"
    reference = "torch.nn.LogSigmoid"
    work = {"compare": 2, "add": 2, "transcendental": 2}


@operation
class Tanh(Elementwise):
    """The hyperbolic tangent."""

    name = "tanh"
    reference = "torch.nn.Tanh"
    work = {"transcendental": 1}
    # (sinh 2a + i·sin 2b)/(cosh 2a + cos 2b)
    complex_work = {"transcendental": 4, "mul": 2, "add": 1, "div": 2}


@operation
class Tanhshrink(Elementwise):
    """x − tanh(x)."""

    name = "tanhshrink"
    reference = "torch.nn.Tanhshrink"
    work = {"transcendental": 1, "add": 1}


@operation
class Hardshrink(Elementwise):
    """x where |x| exceeds ``lambd``, 0 elsewhere."""

    name = "hardshrink"
    reference = "torch.nn.Hardshrink"
    shorthand = "lambd"
    work = {"compare": 2}

    lambd: float = attr("half-width of the interval of zeros", default=0.5)


@operation
class Softshrink(Elementwise):
    """x moved towards 0 by ``lambd``, 0 where |x| is at most ``lambd``: x − min(max(x, −lambd), lambd)."""

    name = "softshrink"
    reference = "torch.nn.Softshrink"
    shorthand = "lambd"
    work = {"compare": 2, "add": 1}

    lambd: float = attr("distance by which elements move towards 0", default=0.5, ge=0)


@operation
class Threshold(Elementwise):
    """x where it exceeds ``threshold``, ``value`` elsewhere."""

    name = "threshold"
    reference = "torch.nn.Threshold"
    work = {"compare": 1}
    usage = ("x: [32, 256]", "- threshold: {threshold: 0.1, value: 0.0}")

    threshold: float = attr("limit above which x is kept", default=0.0)
    value: float = attr("value of the other elements", default=0.0)


@operation
class Softplus(Elementwise):
    """ln(1 + exp(beta·x))/beta; x itself where beta·x exceeds ``threshold``."""

    name = "softplus"
    reference = "torch.nn.Softplus"
    work = {"mul": 1, "transcendental": 2, "div": 1, "compare": 1}

    beta: float = attr("sharpness", default=1.0)
    threshold: float = attr("value of beta·x above which the result is x", default=20.0)


@operation
class Softsign(Elementwise):
    """x/(1 + |x|)."""

    name = "softsign"
    reference = "torch.nn.Softsign"
    work = {"compare": 1, "add": 1, "div": 1}
