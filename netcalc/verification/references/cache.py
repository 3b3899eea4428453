"""References of :mod:`netcalc.ops.cache`."""

from __future__ import annotations

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


@reference("key_value_cache")
def key_value_cache(
    op: Attributes, key: Array, value: Array, past_key: Array | None = None, past_value: Array | None = None
) -> tuple[Expected, Expected]:
    return _extended_cache(op, key, past_key), _extended_cache(op, value, past_value)


def _extended_cache(op: Attributes, new: Array, past: Array | None) -> Expected:
    tensors = [new] if past is None else [past, new]
    places = [(tensor, place) for tensor in tensors for place in range(tensor.shape[-2])]
    if op.window is not None:  # the first of the new queries sees itself and the window − 1 positions before it
        first = len(places) - new.shape[-2]
        places = places[max(first - (op.window - 1), 0) :]

    def at(index: Shape) -> object:
        tensor, place = places[index[-2]]
        return tensor[(*index[:-2], place, index[-1])]

    return Expected((*new.shape[:-2], len(places), new.shape[-1]), new.dtype.name, at)
