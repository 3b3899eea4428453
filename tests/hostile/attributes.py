"""Hostile values of the attributes of operations."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.case import Case

#: Shape of the input and the line by attribute; ``@`` is the value.
ATTRIBUTES: dict[str, tuple[str, str]] = {
    "linear.out": ("[1, 8]", "linear: {out: @}"),
    "conv2d.out": ("[1, 4, 8, 8]", "conv2d: {out: @, kernel: 1}"),
    "conv2d.kernel": ("[1, 4, 8, 8]", "conv2d: {out: 4, kernel: @}"),
    "conv2d.stride": ("[1, 4, 8, 8]", "conv2d: {out: 4, kernel: 1, stride: @}"),
    "conv2d.padding": ("[1, 4, 8, 8]", "conv2d: {out: 4, kernel: 1, padding: @}"),
    "conv2d.dilation": ("[1, 4, 8, 8]", "conv2d: {out: 4, kernel: 3, dilation: @}"),
    "conv2d.groups": ("[1, 4, 8, 8]", "conv2d: {out: 4, kernel: 1, groups: @}"),
    "conv_transpose2d.stride": ("[1, 4, 8, 8]", "conv_transpose2d: {out: 4, kernel: 2, stride: @}"),
    "max_pool2d.kernel": ("[1, 4, 8, 8]", "max_pool2d: {kernel: @}"),
    "avg_pool1d.padding": ("[1, 4, 8]", "avg_pool1d: {kernel: 2, padding: @}"),
    "adaptive_avg_pool2d.output_size": ("[1, 4, 8, 8]", "adaptive_avg_pool2d: @"),
    "adaptive_max_pool3d.output_size": ("[1, 4, 4, 4, 4]", "adaptive_max_pool3d: [2, 2, @]"),
    "rnn.hidden": ("[1, 5, 8]", "rnn: {hidden: @}"),
    "lstm.layers": ("[1, 5, 8]", "lstm: {hidden: 4, layers: @}"),
    "reshape.shape": ("[1, 8]", "reshape: [@, 8]"),
    "expand.shape": ("[1, 8]", "expand: [@, 8]"),
    "tile.repeats": ("[1, 8]", "tile: {repeats: [1, @]}"),
    "pad.padding": ("[1, 8]", "pad: {padding: [[0, @]]}"),
    "chunk.chunks": ("[1, 8]", "chunk: {chunks: @, axis: 1}"),
    "split.sizes": ("[1, 8]", "split: {sizes: [@, 4], axis: 1}"),
    "arange.stop": ("[1, 8]", "arange: {stop: @}"),
    "repeat_interleave.repeats": ("[1, 8]", "repeat_interleave: {repeats: @, axis: 1}"),
    "interpolate.size": ("[1, 4, 8, 8]", "interpolate: {size: @}"),
    "pixel_shuffle.factor": ("[1, 4, 8, 8]", "pixel_shuffle: @"),
    "group_norm.groups": ("[1, 4, 8, 8]", "group_norm: {groups: @}"),
    "layer_norm.axes": ("[1, 8]", "layer_norm: {axes: @}"),
    "flatten.start_axis": ("[1, 8]", "flatten: {start_axis: @}"),
    "unsqueeze.axis": ("[1, 8]", "unsqueeze: @"),
    "topk.k": ("[1, 8]", "topk: {k: @}"),
    "top_k_router.k": ("[1, 5, 8]", "top_k_router: @"),
    "sinusoidal_positions.max_length": ("[1, 5, 8]", "sinusoidal_positions: {max_length: @}"),
    "dropout.p": ("[1, 8]", "dropout: {p: @}"),
    "unfold.kernel": ("[1, 4, 8, 8]", "unfold: {kernel: @}"),
    "parameter.shape": ("[1, 8]", "parameter: {shape: [@]}"),
}

VALUES: dict[str, str] = {
    "negative": "-7",
    "10e30": "1" + "0" * 30,
    "400-digits": "9" * 400,
    "nan": ".nan",
    "infinite": "-.inf",
    "text": "'\\e[31m'",
    "nested": "[[[]]]",
    "mapping": "{a: 1}",
}

#: Codes of a value that an attribute takes by its type, and the rule of the operation refuses.
REFUSED = "E104|E105|E401|E402"
#: Attributes that take any whole number, as far as the sizes that it gives are within the limit.
_UNBOUNDED = (
    *("linear.out", "conv2d.out", "conv2d.stride", "conv2d.padding", "conv_transpose2d.stride", "rnn.hidden"),
    *(
        "adaptive_avg_pool2d.output_size",
        "adaptive_max_pool3d.output_size",
        "expand.shape",
        "tile.repeats",
        "arange.stop",
    ),
    *("pad.padding", "chunk.chunks", "repeat_interleave.repeats", "interpolate.size", "parameter.shape"),
    "sinusoidal_positions.max_length",
)
#: Values that are valid.
VALID = {("pad.padding", "negative"), ("chunk.chunks", "400-digits")} | {
    (attribute, "10e30") for attribute in _UNBOUNDED
}


def cases() -> Iterator[Case]:
    """Yield a case for each attribute and value."""
    for attribute, (shape, line) in ATTRIBUTES.items():
        for kind, value in VALUES.items():
            text = f"netcalc: 1\ninputs: {{x: {shape}}}\nlayers:\n  - {line.replace('@', value)}\n"
            code = "" if (attribute, kind) in VALID else REFUSED
            yield Case(f"attribute/{attribute}/{kind}", ("flops", "spec.yaml"), code, {"spec.yaml": text})
