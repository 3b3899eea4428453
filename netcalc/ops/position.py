"""Position embeddings that are added to a sequence."""

from collections.abc import Sequence
from typing import Literal

from netcalc.dims import Dim
from netcalc.opdef import (
    Buffer,
    Context,
    Example,
    Init,
    Operation,
    Param,
    RuleError,
    Size,
    SizeOrZero,
    Term,
    attr,
    require_float,
)
from netcalc.ops import operation
from netcalc.tensor_type import TensorType


class _Positions(Operation):
    """Base of position tables, whose rows from ``offset`` on are added to x of (…, length, features)."""

    channel_axis = -1
    kernel_suffices = "adds rows of a table: two NumPy calls"
    shape_rule = "(…, L, d) → unchanged; (L, d) without add"
    cost_rule = "1 add per element; none without add"

    offset: SizeOrZero = attr("row of the table for the first position", default=0)
    add: bool = attr("add the rows to the input; otherwise return the rows", default=True)

    def reads_values(self) -> bool:
        return self.add

    def rows(self, ctx: Context, x: TensorType) -> Dim:
        """Return the number of rows of the table that ``x`` needs."""
        rows: Dim = ctx.size("rows needed", "offset + L", offset=self.offset, L=x.shape[-2])
        return rows

    def check(self, ctx: Context, x: TensorType, max_length: Dim | None) -> TensorType:
        """Return the output type; RuleError if ``x`` is longer than the table."""
        require_float(x, self.name)
        if x.rank < 2:
            raise RuleError(f"{self.name} takes (…, length, features), and this input is {x}")
        rows = self.rows(ctx, x)
        if max_length is not None and rows > max_length:
            start = f" from position {self.offset}" if self.offset else ""
            raise RuleError(
                f"a length of {x.shape[-2]}{start} exceeds the {max_length} positions of the table",
                hint=f"raise max_length to {rows}",
            )
        return x if self.add else x.with_shape(*x.shape[-2:])

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return (Term.of("add", "positions", elements=inputs[0].elements),) if self.add else ()


@operation
class SinusoidalPositions(_Positions):
    """x plus a fixed table of sines and cosines: PE[p, 2i] = sin(p/base^(2i/d)), PE[p, 2i + 1] = cos(p/base^(2i/d)).

    ``layout: halves`` puts all sines before all cosines, and ``downscale_freq_shift: 1`` divides the exponents by
    d/2 − 1 instead of d/2; tensor2tensor, fairseq and Whisper do both.  The table is the buffer ``pe`` of
    ``max_length`` rows, or of as many rows as the input needs.  With ``as_parameter`` it is the parameter ``weight``,
    which is not trained, as in transformers' Whisper and Marian.
    """

    name = "sinusoidal_positions"
    reference = "Vaswani et al. 2017, arXiv:1706.03762, section 3.5"
    shorthand = "max_length"
    param_rule = "buffer pe max_length·d, or weight of that size"
    example = Example(((1, 6, 8),), {"max_length": 24})
    usage = ("x: [1, 128, 512]", "- sinusoidal_positions: 5000")

    max_length: Size | None = attr("rows of the table; by default the length of the input", default=None)
    base: float = attr("ratio of the longest to the shortest wavelength", default=10_000.0, gt=0)
    layout: Literal["interleaved", "halves"] = attr(
        "sines and cosines alternating, or all sines first", default="interleaved"
    )
    downscale_freq_shift: int = attr("subtracted from the divisor d/2 of the exponents", default=0, ge=0, le=1)
    persistent: bool = attr("keep the table in checkpoints", default=True)
    as_parameter: bool = attr("store the table as an untrained parameter instead of a buffer", default=False)

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return self.check(ctx, x, self.max_length)

    def params(self, ctx: Context, x: TensorType) -> Sequence[Param]:
        shape = (self.rows(ctx, x) if self.max_length is None else self.max_length, x.shape[-1])
        if self.as_parameter:
            return (Param("weight", shape, Init.of("table"), trainable=False),)
        return (Buffer("pe", shape, Init.of("table"), persistent=self.persistent),)


@operation
class LearnedPositions(_Positions):
    """x plus a learned row for each position, ``weight[offset : offset + length]``.

    The table has ``max_length`` rows in total, including those before ``offset``: BART and OPT have an offset of 2 and
    two rows more than positions.
    """

    name = "learned_positions"
    looks_up = True
    reference = "torch.nn.Embedding over positions; Gehring et al. 2017, arXiv:1705.03122"
    shorthand = "max_length"
    param_rule = "weight max_length·d"
    example = Example(((1, 6, 8),), {"max_length": 24})
    usage = ("x: [1, 128, 768]", "- learned_positions: 1024")

    max_length: Size = attr("rows of the table")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        return self.check(ctx, x, self.max_length)

    def params(self, ctx: Context, x: TensorType) -> Sequence[Param]:
        return (Param("weight", (self.max_length, x.shape[-1]), Init.of("normal", mean=0.0, std=1.0)),)
