"""Biases of attention that are looked up by buckets of distances, as in T5."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.dims import Dim, Poly
from netcalc.formats.graph.model import Line, Value, operation_named
from netcalc.formats.graph.simplify.arrangement import VIEWS
from netcalc.formats.graph.simplify.evaluation import Evaluation
from netcalc.formats.graph.simplify.rewriting import Rewriter, Rule

#: Lengths at which buckets of symbolic lengths are compared; the last are beyond the distances that usual models tell
#: apart.
_LENGTHS = (3, 41, 700)


def bucket_bias(work: Rewriter, line: Line) -> Sequence[Value] | None:
    """Replace rows of a table (buckets, heads) for each query and key by ``t5_position_bias``."""
    rows = work.maker(line.inputs[0])
    users = work.users(line.outputs[0])
    if rows is None or rows.operation != "embedding" or rows.attributes.keys() != {"num_embeddings", "embedding_dim"}:
        return None
    (ids,) = rows.inputs
    if ids is None or ids.type.rank != 2 or list(line.attributes["axes"]) != [2, 0, 1] or not users:
        return None
    if work.is_result(line.outputs[0]) or not all(_masked(user, line.outputs[0]) for user in users):
        return None
    attributes = next(_matching_attributes(work, ids, rows.attributes["num_embeddings"]), None)
    if attributes is None:
        return None
    queries, keys = ids.type.shape
    inputs = [_source(work, users[0].inputs[0], queries)]
    if keys != queries:
        inputs.append(_source(work, users[0].inputs[1], keys))
    work.build.scope, work.build.hint = rows.scope, line.outputs[0].hint
    attributes = {"num_heads": rows.attributes["embedding_dim"], **attributes}
    return [work.build.line("t5_position_bias", inputs, attributes, {"weight": work.stored(rows.parameters["weight"])})]


def _masked(user: Line, mask: Value) -> bool:
    """Report that a line is an attention that adds a value to its scores."""
    others = [value for place, value in enumerate(user.inputs) if place != 3]
    return user.operation == "scaled_dot_product_attention" and mask not in others


def _source(work: Rewriter, value: Value | None, length: Dim) -> Value | None:
    """Return the input of the linear map that made queries or keys, which says their number."""
    source, line = value, work.maker(value)
    while line is not None and (line.operation in VIEWS or line.operation == "linear"):
        source = line.inputs[0]
        if line.operation == "linear" and source is not None and source.type.rank > 1:
            return source if source.type.shape[-2] == length else value
        line = work.maker(source)
    return value


def _matching_attributes(work: Rewriter, ids: Value, buckets: int) -> Iterator[dict[str, Any]]:
    """Yield attributes that give these buckets at all lengths that are tried."""
    names = sorted({name for size in ids.type.shape if isinstance(size, Poly) for name in size.names()})
    lengths = [{name: length + place for place, name in enumerate(names)} for length in _LENGTHS] if names else [{}]
    try:
        arrays = [Evaluation(work, sizes).array(ids) for sizes in lengths]
    except NetcalcError:  # a size that is not of these lengths
        return
    if any(array is None for array in arrays):
        return
    fields = operation_named("t5_position_bias").model_fields
    for bidirectional in (True, False):
        exact = buckets // (4 if bidirectional else 2)
        for distance in _distances(work, ids, exact):
            chosen = {"num_buckets": buckets, "max_distance": distance, "bidirectional": bidirectional}
            attributes = {name: value for name, value in chosen.items() if value != fields[name].default}
            if 1 <= exact < distance and all(
                (_buckets(attributes, array.shape, buckets) == array).all() for array in arrays
            ):
                yield attributes


def _distances(work: Rewriter, ids: Value, exact: int) -> Iterator[int]:
    """Yield largest distances whose logarithms, relative to the distances with a bucket of their own, are written."""
    waiting, seen = [ids], {ids}
    while waiting:
        line = work.maker(waiting.pop())
        number = None if line is None else line.attributes.get("value")
        if isinstance(number, float) and 0 < number < 20:
            yield round(exact * math.exp(number))
        new = {value for value in line.inputs if value is not None} - seen if line is not None else set()
        seen |= new
        waiting += new
    yield 128


def _buckets(attributes: Mapping[str, Any], shape: tuple[int, int], buckets: int) -> Any:
    """Return the bucket of each pair of positions, by a table that holds its own indices."""
    from netcalc.numerics.kernels import Run, apply

    arange, bias = operation_named("arange"), operation_named("t5_position_bias")

    def count(stop: int) -> Any:
        return apply(arange(stop=stop, dtype="float32"), Run(), (), {})[0].reshape(-1, 1)

    lengths = count(shape[0]), count(shape[1])
    return apply(bias(num_heads=1, **attributes), Run(), lengths, {"weight": count(buckets)})[0][0, 0]


RULES: Mapping[str, Sequence[Rule]] = {"permute": [bucket_bias]}
