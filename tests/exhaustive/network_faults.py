"""Faults of figures that no single family computes: initializers, counting conventions and memory.

A topic is a function or a method.  Some of its changes are planted, one at a time, and looked for in small networks.
A change that makes networks be refused is none: there are no figures that could be wrong.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from operator import eq
from typing import Any, NamedTuple

from netcalc.analysis.activations import EXECUTIONS, activations
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.conventions.convention import Pass
from netcalc.analysis.cost import analyze
from netcalc.analysis.memory import memory
from netcalc.analysis.saved import saved_bytes, saved_tensors
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.numerics.initializers import Initializers
from netcalc.numerics.parameters import Parameters
from netcalc.ops.eager import _DECLARED
from netcalc.verification.figure_references.conventions import COUNTED
from tests.exhaustive.mutation import Site, forget, function_sites, method_sites, replaced
from tests.numerics.programs import program

__all__ = ["EACH", "KINDS", "Network", "Topic", "observed", "topics"]


class Network(NamedTuple):
    """A network in which faults are looked for."""

    text: str
    training: bool = False

    def program(self) -> Program:
        """Return its program, elaborated anew."""
        forget()
        return program(self.text, training=self.training)


class Topic(NamedTuple):
    """A function or a method, its changes, and the networks that use it."""

    name: str
    sites: Sequence[Site]
    cases: Sequence[Network]


def topics(kind: str) -> Iterator[Topic]:
    """Yield the topics of a kind."""
    names, cases = KINDS[kind]
    for name in names:
        module = import_module(name)
        own = [member for _, member in inspect.getmembers(module) if getattr(member, "__module__", "") == name]
        for function in filter(inspect.isfunction, own):
            found = tuple(function_sites(module, [function.__name__]))
            yield Topic(f"{name}:{function.__name__}", found, cases)
        for cls in filter(inspect.isclass, own):
            for method in vars(cls):
                found = tuple(method_sites(cls, partial(eq, method), name))
                yield Topic(f"{name}:{cls.__name__}.{method}", found, cases)
    if kind == "convention":
        yield from (Topic(f"convention {name}", tuple(_fields(name)), cases) for name in COUNTED)


def _fields(name: str) -> Iterator[Site]:
    """Yield other weights of operations in a convention."""
    right = CONVENTIONS[name]
    for changed in (
        right._replace(per_mac=right.per_mac + 1),
        right._replace(forward=Pass({**right.forward.kinds, "add": 2}, right.rules)),
        right._replace(forward=Pass(right.forward.kinds, {})),
    ):
        what = next(f for f, one, other in zip(right._fields, right, changed, strict=True) if one is not other)
        change = f"{what} is {getattr(changed, what)!r}"[:60]
        yield Site(name, partial(str, change), partial(replaced, right, changed))


def observed(kind: str, network: Network) -> list[Any]:
    """Return all that a user can see of the figures of this kind."""
    try:
        return _OBSERVED[kind](network.program())
    except NetcalcError as error:
        return [str(error)]
    except Exception as error:  # a broken rule may raise anything
        return [type(error).__name__]


def _observed_initializers(of: Program) -> list[Any]:
    """Return what each parameter starts from, and the moments of it."""
    rules, drawn = Initializers.of(of), Parameters(of, seed=0)
    seen: list[Any] = []

    def evaluate(instance: Instance, values: Sequence[Any]) -> Sequence[Any]:
        for param in instance.node.params:
            seen.append((param.init, None if param.is_buffer else rules.spread(instance.owners[param.name], param)))
            seen.append(drawn.fetch(instance, param))
        return [None for _ in instance.node.outputs]

    unroll(of, [None for _ in of.inputs], evaluate)
    return seen


def _observed_conventions(of: Program) -> list[Any]:
    """Return the work by operation and convention."""
    seen: list[Any] = []
    for name, backward in itertools.product(COUNTED, (False, True)):
        if backward and CONVENTIONS[name].backward is None:
            continue
        analysis = analyze(of, name, backward=backward)
        costs = [analysis.total, *(cost for _, cost in analysis.by_operation.values())]
        seen += [(integer(cost.macs), integer(cost.flops)) for cost in costs]
        seen += [integer(analysis.total.macs_backward), integer(analysis.total.flops_backward)] if backward else []
        seen.append(analysis.uncounted)
    return seen


def _observed_memory(of: Program) -> list[Any]:
    """Return the memory of each execution, by layer, and of what is saved."""
    seen: list[Any] = [_figures(of), saved_bytes(saved_tensors(of))]
    for execution in EXECUTIONS:
        found = activations(of, execution)
        seen += [found.peak, [(point.path, point.bytes) for point in found.points()]]
    return seen


def _figures(of: Program) -> tuple[int, ...]:
    found = memory(of)
    return found.weights, found.buffers, found.activations, found.peak


_INITIALIZED = (
    Network(
        "inputs: {x: [2, 12]}\n"
        "layers:\n"
        "  - {name: a, linear: 48}\n  - {name: b, linear: 32}\n  - {name: c, linear: 40}\n  - {name: d, linear: 24}\n"
        "  - {name: e, linear: 56}\n  - {name: f, linear: 16}\n  - {name: g, linear: {out: 36}}\n"
        "  - {name: h, linear: 20}\n  - {name: i, linear: 28}\n"
        "init:\n"
        "  a.weight: kaiming_normal(mode=fan_out, nonlinearity=relu)\n  b.weight: xavier_uniform(gain=2)\n"
        "  c.weight: 'truncated_normal(std=0.5, a=-0.6, b=0.9)'\n  d.weight: orthogonal(gain=2)\n"
        "  e.weight: lecun_normal\n  f.weight: 'uniform(-0.1, 0.3)'\n  g.weight: 'normal(0.2, 0.5)'\n"
        "  'h.w*': 'he_uniform(0.3)'\n  i.weight: default\n"
        "  f.bias: constant(0.25)\n  g.bias: ones\n  linear: {bias: zeros, weight: zeros}\n"
    ),
    Network(
        "inputs: {x: [2, 3, 8, 8]}\n"
        "layers:\n"
        "  - {conv2d: {out: 8, kernel: 3, groups: 1}}\n  - {batch_norm: {}}\n"
        "  - {conv_transpose2d: {out: 4, kernel: 2}}\n  - {prelu: {}}\n  - flatten\n  - {linear: 10}\n"
        "init: {'conv2d.weigh?': 'kaiming_uniform(a=1, mode=fan_out)', 'linear.weight': 'glorot_normal(2)'}\n"
    ),
    Network(
        "inputs: {x: {shape: [2, 5], dtype: int64, range: [0, 9]}}\n"
        "layers:\n"
        "  - {embedding: {num_embeddings: 9, embedding_dim: 8, padding_idx: 2}}\n  - {rms_norm: {offset: 1.0}}\n"
        "  - {lstm: {hidden: 6}}\n"
        "init: {'embedding.weight': normal(std=0.02)}\n"
    ),
    Network(
        "layers:\n"
        "  - {name: a, parameter: {shape: [6, 16], init: log_range}}\n"
        "  - {name: b, parameter: {shape: [64], init: 'step_size(0.01, 0.2)'}}\n"
        "  - {name: c, parameter: {shape: [48], init: log_of_uniform}}\n"
        "  - {name: d, parameter: {shape: [16, 4], init: orthogonal}}\n"
        "  - {name: e, parameter: {shape: [4, 16], init: 'truncated_normal(std=1)'}}\n"
        "  - {name: f, parameter: {shape: [16, 3, 3], init: 'kaiming_normal(nonlinearity=tanh)'}}\n"
        "  - {name: g, parameter: {shape: [9], dtype: float64, init: 'uniform(1, 2)'}}\n"
        "outputs: [a, b, c, d, e, f, g]\n"
    ),
)
_IMAGE = "inputs: {x: [2, 4, 12, 12]}\nlayers:\n  - {conv2d: {out: 8, kernel: 3, stride: 2, groups: 2}}\n"
_COUNTED = (
    Network(
        _IMAGE + "  - {batch_norm: {}}\n  - relu\n"
        "  - {interpolate: {scale_factor: 2, mode: bilinear}}\n  - {global_avg_pool2d: {}}\n"
    ),
    Network(_IMAGE + "  - {batch_norm: {affine: false}}\n  - {adaptive_avg_pool2d: 2}\n  - flatten\n  - {linear: 5}\n"),
    Network(_IMAGE + "  - {batch_norm: {track_running_stats: false}}\n  - {group_norm: {groups: 2}}\n", training=True),
    Network(
        _IMAGE + "  - {conv2d: {out: 4, kernel: 3, padding: same, weight_standardization: true}}\n"
        "  - {conv2d: {out: 4, kernel: 3, padding: 1, weight_standardization: true}}\n"
        "  - {conv_transpose2d: {out: 6, kernel: 2, groups: 2}}\n  - {interpolate: {scale_factor: 2, mode: nearest}}\n"
        "  - {interpolate: {scale_factor: 0.5, mode: area}}\n  - {interpolate: {scale_factor: 2, mode: bicubic}}\n"
    ),
    Network(
        "inputs: {x: [3, 4, 6], m: [6, 5], v: [6], t: [3, 6, 7]}\nlayers:\n"
        "  - {name: one, from: [x, m], matmul: {}}\n  - {name: two, from: [x, v], matmul: {}}\n"
        "  - {name: w, parameter: [6]}\n  - {name: three, from: [w, t], matmul: {}}\n"
        "  - {name: four, from: [v, t], matmul: {}}\n  - {name: p, parameter: [3, 6, 7]}\n"
        "  - {name: five, from: [v, p], matmul: {}}\n  - {name: six, from: [w, p], matmul: {}}\n"
        "outputs: [one, two, three, four, five, six]\n"
    ),
    Network(
        "inputs: {q: [2, 2, 5, 4], x: [2, 5, 8], y: [2, 5, 6]}\nlayers:\n"
        "  - {name: a, from: [q, q, q], scaled_dot_product_attention: {}}\n"
        "  - {name: b, from: x, lstm: {hidden: 4}}\n  - {name: c, from: [x, y], bilinear: 3}\n"
        "  - {name: d, from: x, layer_norm: {}}\n  - {name: e, from: x, layer_norm: {affine: false}}\n"
        "outputs: [a, b, c, d, e]\n"
    ),
    Network(
        "inputs: {x: [1, 2, 6, 6], g: [1, 4, 4, 2]}\nlayers:\n  - {from: [x, g], grid_sample: {}}\n"
        "  - {instance_norm: {affine: true}}\n"
    ),
)

_ROWS = "inputs: {x: [2, 6, 8]}\nlayers:\n"
_HELD = (
    Network(
        _ROWS + "  - {name: a, linear: 8}\n  - {name: b, from: [a, x], add: {}}\n  - {transpose: [1, 2]}\n"
        "  - {name: t, gelu: {}}\n  - {linear: 4}\n  - {transpose: [1, 2]}\n  - {flatten: {start_axis: 1}}\n"
        "  - {linear: {out: 3, bias: false}}\n"
    ),
    Network(
        _ROWS + "  - {softsign: {}}\n  - {quick_gelu: {}}\n  - {logsigmoid: {}}\n  - {tanhshrink: {}}\n"
        "  - {squared_relu: {}}\n  - {layer_norm: {}}\n  - {rms_norm: {}}\n  - {normalize: {axis: -1}}\n"
        "  - {swiglu: {}}\n  - {glu: {}}\n"
    ),
    Network(
        "inputs: {x: [2, 4, 9, 9]}\nlayers:\n  - {conv2d: {out: 8, kernel: 4, padding: same}}\n"
        "  - {permute: [0, 2, 3, 1]}\n  - {layer_norm: {}}\n  - {permute: [0, 3, 1, 2]}\n"
        "  - {conv2d: {out: 8, kernel: 3, padding: 1, padding_mode: reflect}}\n  - {batch_norm: {}}\n  - relu\n"
        "  - {permute: [0, 2, 3, 1]}\n  - {flatten: {start_axis: 1}}\n"
    ),
    Network(
        "inputs: {x: [2, 4, 9, 9]}\nlayers:\n  - {max_pool2d: {kernel: 3, stride: 1}}\n  - {frozen_batch_norm: {}}\n"
        "  - {lp_pool2d: {norm_type: 2, kernel: 2, stride: 1}}\n  - {local_response_norm: 3}\n"
        "  - {group_norm: {groups: 2}}\n  - {instance_norm: {affine: true}}\n  - {adaptive_max_pool2d: 3}\n"
    ),
    Network(
        "inputs: {x: [2, 4, 9, 9]}\nlayers:\n  - {batch_norm: {}}\n  - {dropout: 0.5}\n"
        "  - {instance_norm: {track_running_stats: true}}\n  - {identity: {}}\n",
        training=True,
    ),
    Network(
        "inputs: {q: [2, 4, 6, 8], k: [2, 2, 5, 8], m: {shape: [6, 5], dtype: bool}, p: [2, 4, 6, 6]}\nlayers:\n"
        "  - {name: a, from: [q, k, k], scaled_dot_product_attention: {enable_gqa: true}}\n"
        "  - {name: b, from: [q, k, k, m], scaled_dot_product_attention: {enable_gqa: true}}\n"
        "  - {name: c, from: [q, q, q], scaled_dot_product_attention: {causal: true, alignment: lower_right}}\n"
        "  - {name: d, from: [q, q, q], scaled_dot_product_attention: {causal: true, window: [2, 0]}}\n"
        "  - {name: e, from: [q, q, p], scaled_dot_product_attention: {}}\n"
        "  - {name: f, from: q, rotary_embedding: {}}\n"
        "  - {name: g, from: q, rotary_embedding: {rotary_dim: 4}}\n  - {name: r, from: q, transpose: [1, 2]}\n"
        "  - {name: h, from: [r, r, r], scaled_dot_product_attention: {}}\noutputs: [a, b, c, d, e, f, g, h]\n"
    ),
    Network(
        "inputs: {x: [3, 1, 4, 6], y: [3, 5, 6, 4]}\nlayers:\n  - {name: e, from: x, expand: [3, 5, 4, 6]}\n"
        "  - {name: m, from: [e, y], matmul: {}}\n  - {name: t, from: y, transpose: [1, 2]}\n"
        "  - {name: s, from: t, slice: {axis: 2, start: 1, stop: 5, step: 2}}\n"
        "  - {name: u, from: s, select: {axis: 1, index: 0}}\n"
        "  - {name: r, from: t, reshape: [3, 6, 20]}\n"
        "  - {name: w, from: r, chunk: {chunks: 2, axis: 2}, as: [w1, w2]}\n"
        "  - {name: z, from: w1, unsqueeze: 0}\n"
        "  - {name: v, from: z, squeeze: {axis: [0]}}\n  - {name: l, from: w2, learned_positions: {max_length: 6}}\n"
        "outputs: [m, u, v, l]\n"
    ),
    Network(
        _ROWS + "  - {name: a, linear: 8}\n"
        "  - {repeat: 4, name: stack, sequence: [{name: b, linear: 8}, relu, {name: c, linear: 8}]}\n"
        "  - {name: l, from: stack, linear: 2}\n"
    ),
)

_ANALYSIS = ("activations.bodies", "activations.execution", "activations.frame", "activations.peaks", "layout")
_ANALYSIS = (*_ANALYSIS, "strides", "liveness", "memory", "saved")

#: Changes that are planted in a function of each kind.
EACH = {"initializer": 2, "convention": 2, "memory": 1}
#: The modules of each kind, and networks that use them.
KINDS: Mapping[str, tuple[Sequence[str], Sequence[Network]]] = {
    "initializer": (("netcalc.inits", "netcalc.numerics.initializers"), _INITIALIZED),
    "convention": (
        tuple(f"netcalc.analysis.conventions.{name}" for name in ("convention", "scope")),
        _COUNTED,
    ),
    "memory": (
        (*(f"netcalc.ops.eager.{family}" for family in _DECLARED), *(f"netcalc.analysis.{name}" for name in _ANALYSIS)),
        _HELD,
    ),
}
_OBSERVED: Mapping[str, Callable[[Program], list[Any]]] = {
    "initializer": _observed_initializers,
    "convention": _observed_conventions,
    "memory": _observed_memory,
}
