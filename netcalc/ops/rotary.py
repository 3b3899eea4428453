"""Rotary position embedding and the ways of stretching it to longer contexts."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from netcalc.dims import Dim, product
from netcalc.dtypes import INTEGERS
from netcalc.opdef import Context, Example, Operation, RuleError, Size, Term, attr, ports, require_float
from netcalc.ops import operation
from netcalc.ops._lists import Numbers
from netcalc.tensor_type import TensorType


class _Scaling(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class LinearScaling(_Scaling):
    """Positions divided by ``factor``."""

    rope_type: Literal["linear"]
    factor: float = attr("how many times longer the context is", gt=0)


class DynamicScaling(_Scaling):
    """NTK-aware: theta grows with the length once it exceeds the original one."""

    rope_type: Literal["dynamic"]
    factor: float = attr("how many times longer the context is", gt=0)
    original_max_position_embeddings: int = attr("context length before stretching", gt=0)


class Llama3Scaling(_Scaling):
    """Long wavelengths divided by ``factor``, short ones kept, a blend between."""

    rope_type: Literal["llama3"]
    factor: float = attr("how many times longer the context is", gt=0)
    low_freq_factor: float = attr("wavelengths above the original length over this are divided", gt=0)
    high_freq_factor: float = attr("wavelengths below the original length over this are kept", gt=0)
    original_max_position_embeddings: int = attr("context length before stretching", gt=0)


class YarnScaling(_Scaling):
    """YaRN: a blend of interpolation and extrapolation by the number of turns, and a factor on the table."""

    rope_type: Literal["yarn"]
    factor: float = attr("how many times longer the context is", gt=0)
    original_max_position_embeddings: int = attr("context length before stretching", gt=0)
    attention_factor: float | None = attr("factor of cos and sin; from factor unless given", default=None, gt=0)
    beta_fast: float = attr("turns above which a frequency is kept", default=32.0, gt=0)
    beta_slow: float = attr("turns below which a frequency is divided", default=1.0, gt=0)
    mscale: float | None = attr("weight of log(factor) in attention_factor", default=None)
    mscale_all_dim: float | None = attr("the same in its denominator", default=None)
    truncate: bool = attr("round the range of the blend to whole dimensions", default=True)


class LongScaling(_Scaling):
    """LongRoPE: a searched factor for each frequency, one list up to the original length and one beyond."""

    rope_type: Literal["longrope"]
    short_factor: Numbers = attr("divisor of each frequency up to the original length")
    long_factor: Numbers = attr("divisor of each frequency beyond it")
    original_max_position_embeddings: int = attr("context length before stretching", gt=1)
    factor: float = attr("how many times longer the context is", gt=0)
    attention_factor: float | None = attr("factor of cos and sin; from factor unless given", default=None, gt=0)


Scaling: TypeAlias = Annotated[
    LinearScaling | DynamicScaling | Llama3Scaling | YarnScaling | LongScaling, Field(discriminator="rope_type")
]


@operation
class RotaryEmbedding(Operation):
    """Pairs of features of (…, length, head_dim) turned by angles that grow with the position.

    Feature i pairs with feature i + rotary_dim/2 (GPT-NeoX, Llama in Hugging Face's layout) or, ``interleaved``, 2i
    with 2i + 1 (RoFormer, GPT-J, Llama's own layout).  Pair i turns by position / theta^(2i/rotary_dim).  Features
    beyond ``rotary_dim`` pass unchanged.  Positions count from ``offset``, unless the second input gives them, as
    (length) or (batch, length).  ``scaling`` takes Hugging Face's ``rope_scaling`` as it stands in a configuration.

    The cosines and sines are a fixed table that is looked up, so only the turning counts as work.
    """

    name = "rotary_embedding"
    reference = (
        "Su et al. 2021, arXiv:2104.09864; yarn: arXiv:2309.00071, linear: arXiv:2306.15595, "
        "llama3: arXiv:2407.21783, longrope: arXiv:2402.13753; transformers.modeling_rope_utils"
    )
    inputs = ports("input", "positions?")
    shape_rule = "unchanged"
    cost_rule = "two muls and one add for each feature that turns"
    example = Example(((1, 2, 9, 12),))

    theta: float = attr("base of the angles", default=10_000.0, gt=0)
    rotary_dim: Size | None = attr("features that turn, from the first; all unless given", default=None)
    interleaved: bool = attr("pair neighbouring features", default=False)
    offset: int = attr("position of the first element", default=0, ge=0)
    scaling: Scaling | None = attr("how the angles stretch to longer contexts", default=None)

    def infer(self, ctx: Context, x: TensorType, positions: TensorType | None = None) -> TensorType:
        require_float(x, "rotary_embedding")
        if x.rank < 2:
            raise RuleError(f"rotary_embedding takes (…, length, head_dim), and this input is {x}")
        turned = self.turned(x)
        if turned > x.shape[-1]:
            raise RuleError(f"rotary_dim {turned} is over the {x.shape[-1]} features of {x}")
        if turned % 2 > 0:
            raise RuleError(f"features turn in pairs, and {turned} is odd", hint="set an even rotary_dim")
        self._check_scaling(turned)
        if positions is not None:
            if positions.dtype not in INTEGERS:
                raise RuleError(f"positions are whole numbers, not {positions.dtype}", code="E402")
            batched = (*x.shape[: x.rank > 2], x.shape[-2])
            if positions.shape != x.shape[-2:-1] and positions.shape not in (batched, (1, x.shape[-2])):
                raise RuleError(f"positions are (length) or (batch, length) of {x}, and these are {positions}")
        return x

    def turned(self, x: TensorType) -> Dim:
        """How many features turn."""
        size: Dim = x.shape[-1] if self.rotary_dim is None else self.rotary_dim
        return size

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x = inputs[0]
        turned = {"rows": product(x.shape[:-1]), "rotary_dim": self.turned(x)}
        return (Term.of("mul", "rotation", **turned, cos_and_sin=2), Term.of("add", "rotation", **turned))

    def _check_scaling(self, turned: Dim) -> None:
        if isinstance(self.scaling, DynamicScaling) and turned < 4:
            raise RuleError(f"dynamic scaling takes at least 4 features that turn, not {turned}")
        if isinstance(self.scaling, LongScaling):
            for what, factors in (("short", self.scaling.short_factor), ("long", self.scaling.long_factor)):
                if turned != 2 * len(factors):
                    raise RuleError(f"{what}_factor has {len(factors)} numbers for {turned} features; it takes half")
