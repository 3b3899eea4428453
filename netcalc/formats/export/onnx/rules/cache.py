"""Keys and values of earlier positions."""

from __future__ import annotations

from netcalc.dims import maximum
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("key_value_cache")
def key_value_cache(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the keys and values of the past followed by new ones, as many as the window keeps."""

    def extended(past: Tensor | None, new: Tensor) -> Tensor:
        every = new if past is None else graph.concat([past, new], -2)
        if call.op.window is None:
            return every
        length = every.shape[-2]
        first = maximum(length - (call.op.window - 1 + new.shape[-2]), 0)
        return every if first == 0 else graph.slice(every, -2, first, length)

    return [extended(call.named(f"past_{port}"), call.required(place)) for place, port in enumerate(("key", "value"))]
