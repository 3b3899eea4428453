"""Rotary position embedding, and its scaling to longer contexts."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from netcalc.dims import Dim, equal, product
from netcalc.dtypes import INTEGERS
from netcalc.models import ConfigDict, Field, Model
from netcalc.opdef import Context, Example, Operation, Position, RuleError, Size, Term, attr, ports, require_float
from netcalc.ops import operation
from netcalc.ops._broadcast import expands
from netcalc.ops._lists import Numbers
from netcalc.tensor_type import TensorType


class _Scaling(Model):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class LinearScaling(_Scaling):
    """Positions divided by ``factor``."""

    rope_type: Literal["linear"]
    factor: float = attr("factor of the context length", gt=0)


class DynamicScaling(_Scaling):
    """NTK-aware scaling: theta grows with the length beyond the original length."""

    rope_type: Literal["dynamic"]
    factor: float = attr("factor of the context length", gt=0)
    original_max_position_embeddings: int = attr("original context length", gt=0)


class Llama3Scaling(_Scaling):
    """Low frequencies divided by ``factor``, high frequencies unchanged, and interpolation between them."""

    rope_type: Literal["llama3"]
    factor: float = attr("factor of the context length", gt=0)
    low_freq_factor: float = attr("wavelengths above the original length divided by this are scaled", gt=0)
    high_freq_factor: float = attr("wavelengths below the original length divided by this are unchanged", gt=0)
    original_max_position_embeddings: int = attr("original context length", gt=0)


class YarnScaling(_Scaling):
    """YaRN: interpolation or extrapolation by the number of rotations, and a factor of the table."""

    rope_type: Literal["yarn"]
    factor: float = attr("factor of the context length", gt=0)
    original_max_position_embeddings: int = attr("original context length", gt=0)
    attention_factor: float | None = attr("factor of cos and sin; by default computed from factor", default=None, gt=0)
    beta_fast: float = attr("number of rotations above which a frequency is unchanged", default=32.0, gt=0)
    beta_slow: float = attr("number of rotations below which a frequency is divided by factor", default=1.0, gt=0)
    mscale: float | None = attr("weight of log(factor) in attention_factor", default=None)
    mscale_all_dim: float | None = attr("weight of log(factor) in the denominator of attention_factor", default=None)
    truncate: bool = attr("round the range of interpolated dimensions to whole numbers", default=True)


class LongScaling(_Scaling):
    """LongRoPE: a divisor for each frequency, for lengths up to the original length and for longer ones."""

    rope_type: Literal["longrope"]
    short_factor: Numbers = attr("divisor of each frequency for lengths up to the original length")
    long_factor: Numbers = attr("divisor of each frequency for longer lengths")
    original_max_position_embeddings: int = attr("original context length", gt=1)
    factor: float = attr("factor of the context length", gt=0)
    attention_factor: float | None = attr("factor of cos and sin; by default computed from factor", default=None, gt=0)


class ProportionalScaling(_Scaling):
    """Rotation of a share of the pairs alone, with the frequencies that they have among all pairs (p-RoPE)."""

    rope_type: Literal["proportional"]
    partial_rotary_factor: float = attr(
        "share of the pairs that are rotated, from the first on", default=1.0, ge=0, le=1
    )
    factor: float = attr("divisor of the frequencies", default=1.0, gt=0)


Scaling: TypeAlias = Annotated[
    LinearScaling | DynamicScaling | Llama3Scaling | YarnScaling | LongScaling | ProportionalScaling,
    Field(discriminator="rope_type"),
]


@operation
class RotaryEmbedding(Operation):
    """Rotation of pairs of features of (…, length, head_dim) by angles proportional to the position.

    Feature i pairs with feature i + rotary_dim/2 (GPT-NeoX, Llama in Hugging Face's layout) or, if ``interleaved``, 2i
    with 2i + 1 (RoFormer, GPT-J, Llama's original layout).  Pair i rotates by position / theta^(2i/rotary_dim).
    Features beyond ``rotary_dim`` do not change.  An odd ``rotary_dim`` rotates one feature more, by the angles of the
    odd number, as GPT-NeoX in transformers does with a share of an odd head size.  Positions start at ``offset``, or
    are the second input, (length) or (batch, length).  ``scaling`` takes the ``rope_scaling`` of a Hugging Face
    configuration.

    The cosines and sines come from a fixed table, so that only the rotation counts as work.
    """

    name = "rotary_embedding"
    channel_axis = -1
    takes_empty = True
    reference = (
        "Su et al. 2021, arXiv:2104.09864; yarn: arXiv:2309.00071, linear: arXiv:2306.15595, "
        "llama3: arXiv:2407.21783, longrope: arXiv:2402.13753, proportional: arXiv:2410.06205; "
        "transformers.modeling_rope_utils"
    )
    inputs = ports("input", "positions?")
    shape_rule = "unchanged"
    cost_rule = "2 muls and 1 add per rotated feature"
    example = Example(((1, 2, 9, 12),))
    usage = ("query: [1, 32, 128, 128]", "- rotary_embedding: {theta: 500000.0}")
    kernel_suffices = "products of queries or keys and a table: little time beside attention"

    theta: float = attr("base of the angles", default=10_000.0, gt=0)
    rotary_dim: Size | None = attr("number of rotated features, from the first on; by default all", default=None)
    interleaved: bool = attr("pair neighboring features", default=False)
    offset: Position = attr("position of the first element", default=0)
    scaling: Scaling | None = attr("scaling of the angles to longer contexts", default=None)

    def infer(self, ctx: Context, x: TensorType, positions: TensorType | None = None) -> TensorType:
        require_float(x, "rotary_embedding")
        if x.rank < 2:
            raise RuleError(f"rotary_embedding takes (…, length, head_dim), and this input is {x}")
        rotated = self.rotated(x)
        if rotated > x.shape[-1]:
            pairs = f", which takes {rotated} in pairs," if rotated != self.rotary_dim else ""
            raise RuleError(f"rotary_dim {self.rotary_dim}{pairs} exceeds the {x.shape[-1]} features of {x}")
        if rotated % 2 > 0:
            raise RuleError(f"features are rotated in pairs, and {rotated} is odd", hint="set an even rotary_dim")
        if self.rotary_dim != rotated and self.rotary_dim is not None and isinstance(self.scaling, YarnScaling):
            raise RuleError(f"yarn takes an even rotary_dim, and this is {self.rotary_dim}")
        self._check_scaling(rotated)
        if positions is not None:
            if positions.dtype not in INTEGERS:
                raise RuleError(f"positions must be integers, and these are {positions.dtype}", code="E402")
            batch = x.shape[:1] if x.rank > 2 else (1,)
            fits = positions.rank in (1, 2) and equal(positions.shape[-1], x.shape[-2])
            if not fits or not expands(positions.shape[:-1], batch):
                raise RuleError(f"positions must be (length) or (batch, length) of {x}, and these are {positions}")
        return x

    def rotated(self, x: TensorType) -> Dim:
        """Return the number of rotated features."""
        size: Dim = x.shape[-1] if self.rotary_dim is None else self.rotary_dim
        rounds = isinstance(self.rotary_dim, int) and not self.interleaved
        return size + size % 2 if rounds else size

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x = inputs[0]
        features = {"rows": product(x.shape[:-1]), "rotary_dim": self.rotated(x)}
        return (Term.of("mul", "rotation", **features, cos_and_sin=2), Term.of("add", "rotation", **features))

    def _check_scaling(self, rotated: Dim) -> None:
        if isinstance(self.scaling, DynamicScaling) and rotated < 4:
            raise RuleError(f"dynamic scaling takes at least 4 rotated features, not {rotated}")
        if isinstance(self.scaling, LongScaling):
            for what, factors in (("short", self.scaling.short_factor), ("long", self.scaling.long_factor)):
                if not equal(rotated, 2 * len(factors)):
                    raise RuleError(
                        f"{what}_factor has {len(factors)} numbers, and {rotated} features take half as many"
                    )
