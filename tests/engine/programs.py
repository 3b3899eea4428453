"""Random specs for tests of the planner: lines that use each other's results.

A drawn line may be refused only if its drawing expects that, for instance since a kernel is larger than the input; it
is then left out.  Any other error is a failure of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from netcalc.analysis.walk import parameters
from netcalc.diagnostics import NetcalcError
from netcalc.dims import value_at
from netcalc.ir import Program
from netcalc.numerics.numpy_dtypes import numpy_dtype
from netcalc.opdef import Buffer
from netcalc.spec import elaborate
from netcalc.spec.library import load_data

__all__ = ["Drawing", "Spec", "drawings", "drawn_weights", "program", "specs"]

Spec: TypeAlias = dict[str, Any]
Draw: TypeAlias = Callable[[Any], Any]

#: The maximum number of elements of a value.
_MAX_ELEMENTS = 20_000

#: Elementwise functions whose results are not much larger than their inputs.
_TAME: list[Any] = [
    *("relu", "relu6", "silu", "mish", "hardswish", "hardsigmoid", "sigmoid", "tanh", "softsign", "abs", "neg"),
    *("selu", "quick_gelu", "sin", "cos", "sign", "elu", "celu"),
    *({"gelu": {"approximate": how}} for how in ("none", "tanh")),
    *({"leaky_relu": {"negative_slope": slope}} for slope in (0.0, 0.2, 1.5, -0.5)),
    *({op: {"alpha": 0.7}} for op in ("elu", "celu")),
    {"hardtanh": {"min": -0.4, "max": 0.9}},
    {"softplus": {"beta": 2.0, "threshold": 3.0}},
    {"clamp": {"min": -0.5}},
    {"clamp": {"min": -0.25, "max": 0.75}},
    {"prelu": {}},
]
#: Elementwise functions that may return infinities and NaN.  Their results are inputs of elementwise operations only.
_WILD = ["log", "sqrt", "rsqrt", "reciprocal", "exp", "square", "squared_relu"]


def program(spec: Spec, dtype: str | None = None) -> Program:
    """Return the program of a spec; ``dtype`` is the default type of its inputs and parameters."""
    return elaborate(load_data(spec | ({"dtype": dtype} if dtype else {})))


def drawn_weights(net: Program, seed: int) -> dict[str, np.ndarray]:
    """Return values for all parameters and statistics, none of them a default such as 0 or 1."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for parameter in parameters(net):
        param, shape = parameter.param, tuple(value_at(size, {}) for size in parameter.param.shape)
        if parameter.tied or (isinstance(param, Buffer) and not param.persistent):
            continue
        if param.name == "running_var":
            array = rng.uniform(0.3, 2, shape)
        elif len(shape) > 1:
            array = rng.normal(size=shape) / np.sqrt(prod(shape[1:]) or 1)
        else:
            array = rng.normal(0.2, 0.6, shape)
        arrays[parameter.path] = array.astype(numpy_dtype(parameter.dtype))
    return arrays


@st.composite
def specs(draw: Draw) -> Spec:
    """A spec with up to ten lines and up to four outputs, some of which may be inputs or the same value."""
    return draw(drawings()).spec()


@st.composite
def drawings(draw: Draw) -> Drawing:
    """A spec before its outputs are drawn, with the number of its refused lines."""
    drawing = Drawing(draw)
    for _ in range(draw(st.integers(1, 10))):
        draw(st.sampled_from(_KINDS))(drawing)
    return drawing


class Drawing:
    """A spec as it is drawn: the lines and the shapes of their results so far."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.inputs: dict[str, Any] = {}
        self.lines: list[Any] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.wild: set[str] = set()
        self.refused = 0
        self.linears: dict[str, tuple[int, bool]] = {}  # of equal input and output width
        self.widths = draw(st.sampled_from([[1, 2, 4], [3, 6], [8, 16, 32]]))
        rank = draw(st.sampled_from([4, 4, 4, 3, 3, 5, 2, 1]))
        channels = draw(st.sampled_from(self.widths))
        longest = {4: 14, 5: 6}.get(rank, 20)
        sizes = [draw(st.integers(1, longest)) for _ in range(rank)]
        if rank > 1:
            sizes[1] = channels
            sizes[0] = draw(st.sampled_from([1, 2, 3]))
        self.input("x", sizes)

    def input(self, name: str, shape: list[int], **declared: Any) -> str:
        self.inputs[name] = {"shape": shape, **declared}
        self.shapes[name] = tuple(shape)
        if declared.get("dtype") in ("int64", "bool"):
            del self.shapes[name]  # for one operation alone
        return name

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def source(self, *, tame: bool = True, scalar: bool = False, ranks: Collection[int] = range(9)) -> str | None:
        """Draw a value of one of these ranks, mostly the last, so that there are chains; None if there is none."""
        names = [
            name
            for name, shape in self.shapes.items()
            if (shape or scalar) and not (tame and name in self.wild) and len(shape) in ranks
        ]
        if not names:
            return None
        return names[-1] if self.draw(st.integers(0, 3)) else self.draw(st.sampled_from(names))

    def add(
        self,
        line: Any,
        sources: Any,
        ports: tuple[str, ...] = ("",),
        wild: bool = False,
        refusable: bool = False,
        **more: Any,
    ) -> bool:
        """Append a line, whose results later lines may use; return False if it was refused, or its results too large.

        Raises:
            NetcalcError: if it is invalid, unless it is ``refusable`` and its shapes are at fault.
        """
        name = f"n{len(self.lines)}"
        attributes = {line: {}} if isinstance(line, str) else line
        operands = (
            list(sources.values()) if isinstance(sources, dict) else [sources] if isinstance(sources, str) else sources
        )
        self.lines.append({"name": name, **attributes, **({"from": sources} if sources else {}), **more})
        results = [f"{name}.{port}" if port else name for port in ports]
        try:
            types = [value.type for value in program(self.spec(results)).main.outputs]
        except NetcalcError as error:
            if not refusable or {diagnostic.code for diagnostic in error.diagnostics} != {"E401"}:
                raise
            self.lines.pop()
            self.refused += 1
            return False
        shapes = [type_.shape for type_ in types if type_ is not None]
        if any(0 in shape or prod(shape) > _MAX_ELEMENTS for shape in shapes):
            self.lines.pop()
            return False
        for result, shape in zip(results, shapes, strict=True):
            self.shapes[result] = shape
            if wild or not self.wild.isdisjoint(operands):
                self.wild.add(result)
        return True

    def spec(self, outputs: list[str] | None = None) -> Spec:
        if outputs is None:
            known = list(self.shapes)
            outputs = [known[-1], *self.draw(st.lists(st.sampled_from(known), max_size=3))]
        return {
            "netcalc": 1,
            "inputs": self.inputs,
            "layers": self.lines or [{"identity": {}, "from": "x"}],
            "outputs": {f"out{i}": name for i, name in enumerate(outputs)},
        }


# -- lines ------------------------------------------------------------------------------------------


def _conv(drawing: Drawing) -> None:
    source, one_of = drawing.source(ranks=range(2, 6)), drawing.one_of
    if source is None:
        return
    shape = drawing.shapes[source]
    axes = one_of(*(n for n in (1, 2, 3) if len(shape) in (n + 1, n + 2)))
    channels = shape[-axes - 1]
    groups = one_of(1, 1, channels, *(g for g in (2, 3) if channels % g == 0))
    each = one_of(1, 1, 2) if groups > 1 else one_of(*drawing.widths)
    attrs = {"out": groups * each, "groups": groups, "bias": one_of(True, False)}
    attrs["kernel"] = one_of(1, 3, 3, [one_of(1, 2, 3) for _ in range(axes)])
    attrs["padding"] = one_of(0, 1, 1, "same", "valid", [[one_of(0, 1, 2), one_of(0, 1, 3)] for _ in range(axes)])
    if attrs["padding"] != "same":
        attrs["stride"] = one_of(1, 1, 2, [one_of(1, 2, 3) for _ in range(axes)])
    attrs["dilation"] = one_of(1, 1, 1, [one_of(1, 2) for _ in range(axes)])
    attrs["padding_mode"] = one_of("zeros", "zeros", "zeros", "zeros", "reflect", "replicate", "circular")
    drawing.add({f"conv{axes}d": attrs}, source, refusable=_too_small(attrs, shape[-axes:]))


def _too_small(attrs: Spec, sizes: tuple[int, ...]) -> bool:
    """Return True if a window does not fit its padded input, or the padding takes more elements than there are."""
    for axis, size in enumerate(sizes):
        kernel, dilation = (
            value[axis] if isinstance(value, list) else value for value in (attrs["kernel"], attrs.get("dilation", 1))
        )
        span, padding = dilation * (kernel - 1) + 1, attrs["padding"]
        if padding in ("same", "valid"):
            pads = [(span - 1) // 2, span // 2] if padding == "same" else [0, 0]
        else:
            pads = padding[axis] if isinstance(padding, list) else [padding, padding]
        mode = attrs.get("padding_mode", "zeros")
        if span > size + sum(pads) or max(pads) > {"reflect": size - 1, "circular": size}.get(mode, max(pads)):
            return True
    return False


def _norm(drawing: Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    if source is None:
        return
    affine, shape = one_of(True, True, False), drawing.shapes[source]
    norms: list[Spec] = [
        {"layer_norm": {"affine": affine, "bias": one_of(True, False), "axes": one_of(*range(1, len(shape) + 1))}},
        {"rms_norm": {"affine": affine, "eps": 1e-5, "offset": one_of(0.0, 1.0)}},
    ]
    if len(shape) > 1:
        norms.append({"group_norm": {"groups": one_of(*(g for g in (1, 2) if shape[1] % g == 0)), "affine": affine}})
    if 2 <= len(shape) <= 5:
        norms += [{"batch_norm": {"affine": affine, "eps": one_of(1e-5, 0.1)}}] * 4
        norms += [{"batch_norm": {"track_running_stats": False}}, {"frozen_batch_norm": {}}]
    if 3 <= len(shape) <= 5:
        norms.append({"instance_norm": {"affine": affine}})
    drawing.add(one_of(*norms), source, refusable=prod(shape[:1] + shape[2:]) < 2 or prod(shape[2:]) < 2)


def _activation(drawing: Drawing) -> None:
    source = drawing.source(tame=False, scalar=True)
    wild = drawing.draw(st.integers(0, 5)) == 0
    drawing.add(drawing.one_of(*(_WILD if wild else _TAME)), source, wild=wild)


def _arithmetic(drawing: Drawing) -> None:
    one_of = drawing.one_of
    op = one_of("add", "add", "add", "mul", "sub", "div", "minimum", "maximum")
    source = drawing.source(tame=False, scalar=True)
    assert source is not None
    reverse: Spec = {"reverse": True} if op in ("sub", "div") and one_of(True, False) else {}
    if one_of(False, False, True):
        drawing.add({op: {"value": one_of(0.5, -2, 3, 1.25), **reverse}}, source, wild=op == "div")
        return
    fitting = [name for name in drawing.shapes if _broadcasts(drawing.shapes[name], drawing.shapes[source])]
    pair = [source, one_of(*fitting)]
    drawing.add({op: reverse}, pair if one_of(True, False) else pair[::-1], wild=op in ("div", "mul"))


def _broadcasts(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1], strict=False))


def _linear(drawing: Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    if source is None:
        return
    width, bias = drawing.shapes[source][-1], one_of(True, True, False)
    kind = one_of("plain", "plain", "repeated", "shared", "tied")
    name = f"n{len(drawing.lines)}"
    alike = [name for name, like in drawing.linears.items() if like == (width, bias)]
    if kind == "tied" and alike:
        drawing.add({"linear": {"out": width, "bias": bias}}, source, tie=one_of(*alike))
    elif kind in ("repeated", "shared"):
        again = {"repeat": one_of(2, 3), **({"share": True} if kind == "shared" else {})}
        drawing.add({"linear": {"out": width, "bias": bias}}, source, **again)
    else:
        out = one_of(width, 1, 5, 24)
        if drawing.add({"linear": {"out": out, "bias": bias}}, source) and out == width:
            drawing.linears[name] = (width, bias)


def _pool(drawing: Drawing) -> None:
    source, one_of = drawing.source(ranks=range(2, 6)), drawing.one_of
    if source is None:
        return
    rank = len(drawing.shapes[source])
    axes = one_of(*(n for n in (1, 2, 3) if rank in (n + 1, n + 2)))
    attrs: Spec = {"kernel": one_of(2, 3), "stride": one_of(None, 1, 2), "padding": one_of(0, 1)}
    attrs["ceil_mode"] = one_of(False, True)
    average = {**attrs, "count_include_pad": one_of(True, False)}
    pools: list[Spec] = [
        {f"max_pool{axes}d": {**attrs, "dilation": one_of(1, 1, 2)}},
        {f"avg_pool{axes}d": average},
        {f"global_avg_pool{axes}d": {"keepdim": one_of(True, False)}},
        {f"adaptive_avg_pool{axes}d": {"output_size": one_of(1, 2, 3)}},
    ]
    sizes = drawing.shapes[source][-axes:]
    drawing.add(one_of(*pools), source, refusable=_too_small({**attrs, "padding": 0, "dilation": 2}, sizes))


def _view(drawing: Drawing) -> None:
    source, one_of = drawing.source(tame=False), drawing.one_of
    assert source is not None
    shape = drawing.shapes[source]
    axes = list(range(len(shape)))
    axis, other = one_of(*axes), one_of(*axes)
    size = shape[axis]
    sizes = [-1 if a == axis else n for a, n in enumerate(shape)]
    factor = next((n for n in (2, 3) if size % n == 0), 1)
    parts = one_of(1, 2, 3)
    kind = one_of(
        *("reshape", "flatten", "unflatten", "transpose", "permute", "slice", "select", "expand", "squeeze"),
        *("unsqueeze", "chunk", "flip", "reverse", *(["split"] if size > 1 else [])),
    )
    order = drawing.draw(st.permutations(axes))
    simple: dict[str, Any] = {
        "reshape": {"reshape": {"shape": one_of([-1], [size, -1], [*sizes, 1], [-1, shape[-1]])}},
        "flatten": {"flatten": {"start_axis": min(axis, other), "end_axis": max(axis, other)}},
        "unflatten": {"unflatten": {"axis": axis, "sizes": one_of([factor, -1], [-1, factor])}},
        "transpose": {"transpose": {"axes": [axis, other - len(axes)]}},
        "permute": {"permute": {"axes": order}},
        "slice": {"slice": {"axis": axis, "start": one_of(0, 1, -2), "stop": one_of(None, -1), "step": one_of(1, 2)}},
        "select": {"select": {"axis": axis, "index": one_of(0, -1)}},
        "expand": {"expand": {"shape": [3 if n == 1 else -1 for n in shape]}},
        "squeeze": {"squeeze": {}},
        "unsqueeze": {"unsqueeze": {"axis": one_of(*axes, -1)}},
        "flip": {"flip": {"axis": axis}},
        "reverse": {"permute": {"axes": axes[::-1]}},
    }
    if kind == "chunk":
        pieces = -(-size // -(-size // parts))  # as torch: pieces of equal size, which may be fewer
        drawing.add({"chunk": {"axis": axis, "chunks": parts}}, source, tuple(map(str, range(pieces))))
    elif kind == "split":
        drawing.add({"split": {"axis": axis, "sizes": [1, size - 1]}}, source, ("0", "1"))
    else:
        drawing.add(simple[kind], source, refusable=kind == "slice" and size < 3)


def _join(drawing: Drawing) -> None:
    source, one_of = drawing.source(tame=False), drawing.one_of
    assert source is not None
    shape, join = drawing.shapes[source], one_of("concat", "concat", "stack")
    axis = one_of(*range(len(shape)))
    alike = [
        name
        for name, other in drawing.shapes.items()
        if len(other) == len(shape)
        and all((a == axis and join == "concat") or n == other[a] for a, n in enumerate(shape))
    ]
    pieces = [source, *(one_of(*alike) for _ in range(one_of(1, 2)))]
    drawing.add({join: {"axis": axis}}, pieces)


def _attention(drawing: Drawing) -> None:
    source, one_of = drawing.source(ranks=range(2, 5)), drawing.one_of
    if source is None:
        return
    shape = drawing.shapes[source]
    attrs: Spec = {"causal": one_of(True, False), "scale": one_of(None, 0.3), "softcap": one_of(None, None, 2.0)}
    attrs["window"] = one_of(None, None, 1, [2, 0], [None, 1])
    attrs["global_tokens"] = one_of(0, 0, 1) if attrs["window"] is not None else 0
    attrs["alignment"] = one_of("upper_left", "lower_right")
    key, value = source, source
    lengths = list(shape)
    if one_of(True, False):  # another number of keys
        lengths[-2] = one_of(1, 3, 7)
        others = lengths[:]
        if len(shape) > 2 and one_of(True, False):
            shares = [n for n in (1, 2, 3, shape[-3]) if shape[-3] % n == 0]
            lengths[-3], others[-3] = one_of(*shares), one_of(*shares)
            attrs["enable_gqa"] = True
        key = drawing.input(f"key{len(drawing.inputs)}", lengths)
        value = drawing.input(f"value{len(drawing.inputs)}", [*others[:-1], one_of(1, 4)])
    operands = {"query": source, "key": key, "value": value}
    pairs = [shape[-2], lengths[-2]]
    mask = one_of(None, None, "float", "bool")
    if mask == "bool":
        operands["attn_mask"] = drawing.input(f"mask{len(drawing.inputs)}", one_of(pairs, [1, pairs[1]]), dtype="bool")
    elif mask == "float":
        operands["attn_mask"] = drawing.input(f"bias{len(drawing.inputs)}", one_of(pairs, [pairs[0], 1]))
    if len(shape) == 4 and one_of(True, False, False):
        padding = drawing.input(f"padding{len(drawing.inputs)}", [shape[0], pairs[1]], dtype="bool")
        operands["key_padding_mask"] = padding
    drawing.add({"scaled_dot_product_attention": attrs}, operands)


def _recurrent(drawing: Drawing) -> None:
    source, one_of = drawing.source(ranks=(2, 3)), drawing.one_of
    if source is None:
        return
    op = one_of("lstm", "gru", "rnn")
    attrs: Spec = {name: one_of(True, False) for name in ("bias", "bidirectional", "batch_first")}
    attrs |= {"hidden": one_of(1, 3, 4), "layers": one_of(1, 1, 2)}
    if op == "rnn":
        attrs["nonlinearity"] = one_of("tanh", "relu")
    if op == "lstm" and attrs["hidden"] > 1:
        attrs["proj_size"] = one_of(None, None, 2)
    drawing.add({op: attrs}, source, ("output", "h_n", "c_n") if op == "lstm" else ("output", "h_n"))


def _embedding(drawing: Drawing) -> None:
    ids = drawing.input(
        f"ids{len(drawing.inputs)}", drawing.one_of([4], [2, 3], [1, 1], [2, 3, 2]), dtype="int64", range=[0, 7]
    )
    attrs = {"num_embeddings": 7, "embedding_dim": drawing.one_of(1, 4, 6), "scale": drawing.one_of(None, 2.0)}
    drawing.add({"embedding": attrs}, ids)


def _other(drawing: Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    if source is None:
        return
    shape = drawing.shapes[source]
    axis = one_of(*range(len(shape)))
    if one_of(*[False] * 7, True):
        drawing.add({"parameter": {"shape": [n if a == axis else 1 for a, n in enumerate(shape)]}}, [])
        return
    lines: list[Any] = [
        {"softmax": {"axis": axis}},
        {"mean": {"axis": axis, "keepdim": one_of(True, False)}},
        {"sum": {"axis": axis}},
        {"pad": {"padding": [[1, 0]], "axis": [axis], "value": 0.5}},
        {"dropout": {"p": 0.5}},
        "identity",
        {"repeat": 2, "sequence": ["relu", {"layer_norm": {}}]},
    ]
    if shape[axis] % 2 == 0:
        lines.append({"glu": {"axis": axis}})
    if 3 <= len(shape) <= 5:
        lines.append({"interpolate": {"scale_factor": 2.0, "mode": "nearest"}})
    drawing.add(one_of(*lines), source)


def _matmul(drawing: Drawing) -> None:
    source = drawing.source(ranks=range(2, 9))
    if source is None:
        return
    shape = drawing.shapes[source]
    fitting = [
        name
        for name, other in drawing.shapes.items()
        if name not in drawing.wild
        and len(other) > 1
        and other[-2] == shape[-1]
        and _broadcasts(other[:-2], shape[:-2])
    ]
    if fitting:
        drawing.add("matmul", [source, drawing.one_of(*fitting)])


_KINDS: list[Callable[[Drawing], None]] = [
    *[_conv] * 4,
    *[_norm] * 3,
    *[_activation] * 4,
    *[_arithmetic] * 4,
    *[_linear] * 2,
    *[_view] * 3,
    *[_pool, _join, _attention, _recurrent, _embedding, _other, _matmul],
]
