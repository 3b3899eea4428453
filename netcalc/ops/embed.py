"""Embeddings: rows of a table, looked up by integer ids."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.opdef import (
    Context,
    Domain,
    Example,
    Init,
    Operation,
    Param,
    RuleError,
    Size,
    Term,
    attr,
    ports,
    same_shape,
)
from netcalc.ops import operation
from netcalc.tensor_type import TensorType


def require_ids(x: TensorType, what: str) -> None:
    """Raise RuleError (E402) unless ``x`` holds ids: int64 or int32."""
    if x.dtype not in ("int64", "int32"):
        raise RuleError(f"{what} takes ids of int64 or int32, and its input is {x.dtype}", code="E402")


class _Table(Operation):
    """Base of look-ups in a learned table of ``num_embeddings`` rows."""

    param_rule = "weight num_embeddings·embedding_dim"

    num_embeddings: Size = attr("rows of the table; ids are smaller")
    embedding_dim: Size = attr("features per row")
    padding_idx: int | None = attr("row of the padding id: initially zero, not trained", default=None)
    max_norm: float | None = attr("largest norm of a row; rows with a larger norm are scaled down", default=None, gt=0)
    norm_type: float = attr("order p of that norm", default=2.0, gt=0)

    def domains(self, *inputs: TensorType | None) -> Sequence[Domain | None]:
        return (Domain(0, self.num_embeddings),)

    def check_padding(self) -> None:
        """Raise RuleError unless ``padding_idx`` is the number of a row, counted from either end."""
        if self.padding_idx is not None and not -self.num_embeddings <= self.padding_idx < self.num_embeddings:
            raise RuleError(f"padding_idx {self.padding_idx} is not a row of a table of {self.num_embeddings}")

    def params(self, ctx: Context, *inputs: Any) -> Sequence[Param]:
        padding = {} if self.padding_idx is None else {"padding_idx": self.padding_idx}
        init = Init.of("normal", mean=0.0, std=1.0, **padding)
        return (Param("weight", (self.num_embeddings, self.embedding_dim), init, ctx.dtype),)

    def norm_terms(self, rows: Dim) -> Iterator[Term]:
        """Return the work of limiting the norm of the rows to ``max_norm``."""
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
        yield Term.of("div", "renormalize", ids=rows)
        yield Term.of("mul", "renormalize", **each)


@operation
class Embedding(_Table):
    """The row of the table for each id, times ``scale`` if set.

    Ids are from 0 to num_embeddings − 1; a run with other ids is an error.  The look-up moves data, which is not
    counted as work.  With ``max_norm`` the norm of every row that is looked up is computed; unlike in PyTorch the table
    itself does not change.  PyTorch's ``sparse`` and ``scale_grad_by_freq`` only concern gradients and are not
    attributes here.
    """

    name = "embedding"
    channel_axis = -1
    looks_up = True
    takes_empty = True
    reference = "torch.nn.Embedding; scale √d_model: Vaswani et al. 2017, arXiv:1706.03762, section 3.4"
    shape_rule = "(…) → (…, embedding_dim)"
    cost_rule = "none; …·embedding_dim muls with scale; the norms with max_norm"
    example = Example((TensorType((2, 6), "int64"),), {"num_embeddings": 20, "embedding_dim": 16})
    usage = (
        "ids: {shape: [1, 128], dtype: int64, range: [0, 30522]}",
        "- embedding: {num_embeddings: 30522, embedding_dim: 768}",
    )

    any_real = frozenset({"scale"})

    scale: float | None = attr("constant factor, such as √embedding_dim", default=None)

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

    Bags are the rows of ids of shape (bags, ids per bag), or the runs of a flat list of ids that start at ``offsets``;
    with ``include_last_offset`` the last offset is the end of the last bag.  Ids equal to ``padding_idx`` are ignored,
    and an empty bag gives zeros.  ``per_sample_weights`` multiply the rows of a sum.
    """

    name = "embedding_bag"
    kernel_suffices = "bags of ids differ in length, which is known only at run time"
    reference = "torch.nn.EmbeddingBag"
    inputs = ports("input", "offsets?", "per_sample_weights?")
    shape_rule = "(bags, ids) → (bags, embedding_dim), or (ids) with offsets (bags)"
    cost_rule = (
        "bags·(ids − 1)·embedding_dim adds (or comparisons), 1 div per output element for the mean, 1 mul per id and "
        "feature for per-sample weights; with offsets 1 add per id and feature; with padding_idx 1 comparison per id"
    )
    example = Example((TensorType((2, 6), "int64"),), {"num_embeddings": 20, "embedding_dim": 6})
    usage = (
        "words: {shape: [32, 50], dtype: int64, range: [0, 10000]}",
        "- embedding_bag: {num_embeddings: 10000, embedding_dim: 64}",
        "- linear: 2",
    )

    mode: Literal["sum", "mean", "max"] = attr("reduction of the rows of a bag", default="mean")
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
                "a flat list of ids needs offsets, the start of each bag"
                if offsets is None
                else f"ids of (bags, ids per bag) take no offsets, and these are {ids}"
            )
        if offsets is not None:
            require_ids(offsets, "embedding_bag's offsets")
            if offsets.rank != 1:
                raise RuleError(f"offsets must have 1 dimension, and these have {offsets.rank}: {offsets}")
        if per_sample_weights is not None:
            if self.mode != "sum":
                raise RuleError(f"per_sample_weights require mode sum, and this one is {self.mode}")
            if not same_shape(per_sample_weights.shape, ids.shape):
                raise RuleError(
                    f"per_sample_weights must have the shape of the ids, {ids}, and these are {per_sample_weights}"
                )
            if per_sample_weights.dtype != ctx.dtype:
                raise RuleError(
                    f"per_sample_weights must be {ctx.dtype}, and these are {per_sample_weights.dtype}", code="E402"
                )
        if offsets is not None and self.include_last_offset:
            bags = ctx.size("bags", "offsets - 1", offsets=offsets.shape[0])
        else:
            bags = (offsets or ids).shape[0]
        if bags < 1:
            raise RuleError("with include_last_offset there must be at least 2 offsets")
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
    """A 1 at the index of each id, along a new last axis of ``num_classes``; 0 elsewhere."""

    name = "one_hot"
    kernel_suffices = "works on ids, which are small: two NumPy calls"
    reference = "torch.nn.functional.one_hot"
    shorthand = "num_classes"
    shape_rule = "(…) → (…, num_classes)"
    cost_rule = "none: data moves"
    example = Example((TensorType((2, 3), "int64"),), {"num_classes": 5})
    usage = ("labels: {shape: [32], dtype: int64, range: [0, 10]}", "- one_hot: 10")

    num_classes: Size = attr("length of the new axis; ids are smaller")
    dtype: DType = attr("element type of the result", default="int64")

    def infer(self, ctx: Context, ids: TensorType) -> TensorType:
        require_ids(ids, "one_hot")
        return TensorType((*ids.shape, self.num_classes), self.dtype)

    def domains(self, *inputs: TensorType | None) -> Sequence[Domain | None]:
        return (Domain(0, self.num_classes),)

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()
