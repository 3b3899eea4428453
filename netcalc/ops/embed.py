"""Look-ups: rows of a table by whole-number ids."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.opdef import Context, Example, Init, Operation, Param, RuleError, Size, Term, attr, ports
from netcalc.ops import operation
from netcalc.tensor_type import TensorType


def require_ids(x: TensorType, what: str) -> None:
    """RuleError (E402) unless ``x`` holds ids: int64 or int32."""
    if x.dtype not in ("int64", "int32"):
        raise RuleError(f"{what} takes ids of int64 or int32, and its input is {x.dtype}", code="E402")


class _Table(Operation):
    """A learned table of ``num_embeddings`` rows, looked up by id."""

    shorthand = "num_embeddings"
    param_rule = "weight num_embeddings·embedding_dim"

    num_embeddings: Size = attr("rows of the table; ids are below it")
    embedding_dim: Size = attr("features of a row")
    padding_idx: int | None = attr("row that stands for padding: zero at first, never learned", default=None)
    max_norm: float | None = attr("scale rows of a larger norm down to this one", default=None, gt=0)
    norm_type: float = attr("the p of that norm", default=2.0, gt=0)

    def check_padding(self) -> None:
        """RuleError unless ``padding_idx`` is a row, counted from either end."""
        if self.padding_idx is not None and not -self.num_embeddings <= self.padding_idx < self.num_embeddings:
            raise RuleError(f"padding_idx {self.padding_idx} is no row of a table of {self.num_embeddings}")

    def params(self, ctx: Context, *inputs: Any) -> Sequence[Param]:
        padding = {} if self.padding_idx is None else {"padding_idx": self.padding_idx}
        init = Init.of("normal", mean=0.0, std=1.0, **padding)
        return (Param("weight", (self.num_embeddings, self.embedding_dim), init, ctx.dtype),)

    def norm_terms(self, rows: Dim) -> Iterator[Term]:
        """The work of bringing looked-up rows to ``max_norm``."""
        if self.max_norm is None:
            return
        each = {"ids": rows, "embedding_dim": self.embedding_dim}
        sums = {"ids": rows, "embedding_dim": self.embedding_dim - 1}
        if self.norm_type == 2:
            yield Term.of("mul", "norm", **each)
        else:
            yield Term.of("compare", "norm", **each)  # absolute values
        if self.norm_type not in (1, 2, math.inf):
            yield Term.of("transcendental", "norm", **each)
        yield Term.of("compare" if self.norm_type == math.inf else "add", "norm", **sums)
        if self.norm_type not in (1, math.inf):
            yield Term.of("transcendental", "norm", ids=rows)
        yield Term.of("compare", "norm above max_norm", ids=rows)
        yield Term.of("add", "norm eps", ids=rows)
        yield Term.of("div", "renormalise", ids=rows)
        yield Term.of("mul", "renormalise", **each)


@operation
class Embedding(_Table):
    """The table's row for each id, times ``scale`` if given.

    Ids lie from 0 to num_embeddings − 1; a run with others is refused.  The look-up moves data and counts as no
    work.  With ``max_norm`` the norm of every row that is looked up is computed; unlike PyTorch, the table itself
    stays as it is.  PyTorch's ``sparse`` and ``scale_grad_by_freq`` concern gradients only and have no place here.
    """

    name = "embedding"
    reference = "torch.nn.Embedding; scale √d_model: Vaswani et al. 2017, arXiv:1706.03762, section 3.4"
    shape_rule = "(…) → (…, embedding_dim)"
    cost_rule = "none; …·embedding_dim muls for the scale; the norms with max_norm"
    example = Example((TensorType((2, 6), "int64"),), {"num_embeddings": 20, "embedding_dim": 16})

    scale: float | None = attr("constant factor of the rows, such as √embedding_dim", default=None)

    def infer(self, ctx: Context, ids: TensorType) -> TensorType:
        require_ids(ids, "embedding")
        self.check_padding()
        return TensorType((*ids.shape, self.embedding_dim), ctx.dtype)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (ids,) = inputs
        terms = list(self.norm_terms(ids.elements))
        if self.scale is not None:
            terms.append(Term.of("mul", "scale", ids=ids.elements, embedding_dim=self.embedding_dim))
        return terms


@operation
class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows of each bag of ids.

    Bags are the rows of ids of (bags, ids a bag), or the runs of a flat list of ids that start at ``offsets`` (and
    end at the last of them with ``include_last_offset``).  Ids equal to ``padding_idx`` stay out of their bag, and
    an empty bag gives zeros.  ``per_sample_weights`` multiply the rows of a sum.
    """

    name = "embedding_bag"
    reference = "torch.nn.EmbeddingBag"
    inputs = ports("input", "offsets?", "per_sample_weights?")
    shape_rule = "(bags, ids) → (bags, embedding_dim), or (ids) with offsets (bags)"
    cost_rule = (
        "bags·(ids − 1)·embedding_dim adds (or comparisons), a div for the mean, a mul for per-sample weights; one "
        "add an id and feature with offsets; a comparison an id with padding_idx"
    )
    example = Example((TensorType((2, 6), "int64"),), {"num_embeddings": 20, "embedding_dim": 6})

    mode: Literal["sum", "mean", "max"] = attr("how the rows of a bag become one", default="mean")
    include_last_offset: bool = attr("the last offset is the end of the last bag", default=False)

    def infer(
        self,
        ctx: Context,
        ids: TensorType,
        offsets: TensorType | None = None,
        per_sample_weights: TensorType | None = None,
    ) -> TensorType:
        require_ids(ids, "embedding_bag")
        self.check_padding()
        if ids.rank not in (1, 2):
            raise RuleError(f"embedding_bag takes ids of 1 or 2 dimensions, and these have {ids.rank}: {ids}")
        if (ids.rank == 1) != (offsets is not None):
            raise RuleError(
                "flat ids come with offsets, where each bag starts"
                if offsets is None
                else f"ids of (bags, ids a bag) take no offsets, and these are {ids}"
            )
        if offsets is not None:
            require_ids(offsets, "embedding_bag's offsets")
            if offsets.rank != 1:
                raise RuleError(f"offsets are a list, of 1 dimension, and these have {offsets.rank}: {offsets}")
        if per_sample_weights is not None:
            if self.mode != "sum":
                raise RuleError(f"per_sample_weights go with mode sum, and this one is {self.mode}")
            if per_sample_weights.shape != ids.shape:
                raise RuleError(f"per_sample_weights {per_sample_weights} have not the shape of the ids, {ids}")
            if per_sample_weights.dtype != ctx.dtype:
                raise RuleError(f"per_sample_weights are {ctx.dtype}, not {per_sample_weights.dtype}", code="E402")
        if offsets is not None and self.include_last_offset:
            bags = ctx.size("bags", "offsets - 1", offsets=offsets.shape[0])
        else:
            bags = (offsets or ids).shape[0]
        if bags < 1:
            raise RuleError("with include_last_offset one offset makes no bag")
        return TensorType((bags, self.embedding_dim), ctx.dtype)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        ids, offsets, weights = [*inputs, None, None][:3]
        bags = outputs[0].shape[0]
        each = {"ids": ids.elements, "embedding_dim": self.embedding_dim}
        terms = list(self.norm_terms(ids.elements))
        if weights is not None:
            terms.append(Term.of("mul", "per-sample weights", **each))
        if self.padding_idx is not None:
            terms.append(Term.of("compare", "padding", ids=ids.elements))
        joins = each if offsets else {"bags": bags, "ids": ids.shape[1] - 1, "embedding_dim": self.embedding_dim}
        terms.append(Term.of("compare" if self.mode == "max" else "add", self.mode, **joins))
        if self.mode == "mean":
            if self.padding_idx is not None:  # the sizes of the bags
                terms.append(Term.of("add", "bag size", **{k: n for k, n in joins.items() if k != "embedding_dim"}))
            terms.append(Term.of("div", "mean", bags=bags, embedding_dim=self.embedding_dim))
        return terms


@operation
class OneHot(Operation):
    """A 1 at the place of each id, along a new last axis of ``num_classes``; zeros elsewhere."""

    name = "one_hot"
    reference = "torch.nn.functional.one_hot"
    shorthand = "num_classes"
    shape_rule = "(…) → (…, num_classes)"
    cost_rule = "none: placing ones moves data"
    example = Example((TensorType((2, 3), "int64"),), {"num_classes": 5})

    num_classes: Size = attr("length of the new axis; ids are below it")
    dtype: DType = attr("type of the zeros and ones", default="int64")

    def infer(self, ctx: Context, ids: TensorType) -> TensorType:
        require_ids(ids, "one_hot")
        return TensorType((*ids.shape, self.num_classes), self.dtype)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()
