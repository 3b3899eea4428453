"""State-space recurrences over a sequence, computed in chunks by matrix products."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, ceil_div, divided
from netcalc.dtypes import DType, promote
from netcalc.opdef import (
    Context,
    Example,
    Operation,
    RuleError,
    Term,
    attr,
    ports,
    require_float,
    require_rank,
    require_some,
    same_shape,
)
from netcalc.ops import operation
from netcalc.ops._elementwise import Work, terms
from netcalc.ops.activation import Softplus
from netcalc.tensor_type import TensorType

#: Largest chunk: the work grows with its square, and the kernel stores a matrix for each chunk and head.
MAX_CHUNK = 4096


def _checked(
    name: str, tensors: dict[str, TensorType], sizes: dict[str, Dim], expected: dict[str, tuple[str, tuple[Dim, ...]]]
) -> DType:
    """Return the type of the computation, at least float32.

    Raises:
        RuleError: a size is 0, or a tensor has no float type or not the shape expected, whose axes are named.
    """
    for axis, size in sizes.items():
        require_some(size, f"the {axis} of {name}")
    for port, tensor in tensors.items():
        require_float(tensor, f"{port} of {name}")
        if port in expected:
            axes, shape = expected[port]
            if not same_shape(tensor.shape, shape):
                raise RuleError(f"{port} should be {tensor.with_shape(*shape)}, {axes}, and it is {tensor}")
    return promote("float32", *(tensor.dtype for tensor in tensors.values()))


def chunks(ctx: Context, length: Dim, chunk: int) -> Dim:
    """Return the number of chunks, of which the last is padded."""
    count: Dim = ctx.size("chunks", "ceil_div(length, chunk)", length=length, chunk=chunk)
    return count


@operation
class SsdScan(Operation):
    """The scan of Mamba-2: x_t = exp(Δ_t·a)·x_{t−1} + Δ_t·B_t⊗u_t, y_t = C_t·x_t, where a head has one decay a.

    ``u`` is (batch, length, heads, size), ``delta`` (batch, length, heads) and ``a`` (heads), negative for a stable
    recurrence.  ``B`` and ``C`` are (batch, length, groups, state), each group for as many consecutive heads.  ``D``
    (heads) adds D·u to the output.  ``delta_bias`` (heads) is added to delta, which passes through a softplus if
    ``delta_softplus`` is set, and is limited to the range from ``delta_min`` to ``delta_max``.  ``initial_state``
    (zeros if absent) and ``last_state`` are (batch, heads, size, state).

    The sequence is padded to a multiple of ``chunk`` positions.  Within a chunk every position reads those before it
    through a matrix of scores, as in attention; from chunk to chunk the state is passed on, by a matrix over all
    pairs of chunks.  This is the algorithm of Mamba-2 as transformers computes it in PyTorch if there is no fused
    kernel.  Its work is counted; a fused kernel does less.

    The computation is at least in float32, as is ``last_state``; ``output`` has the type of u.
    """

    name = "ssd_scan"
    kernel_suffices = "a few large matrix products over all chunks, each a single NumPy call"
    reference = "Dao & Gu 2024, arXiv:2405.21060, §6; transformers mamba2_chunk_scan"
    counted_as = "transformers' eager fallback mamba2_chunk_scan"
    inputs = ports("u", "delta", "a", "B", "C", "D?", "delta_bias?", "initial_state?")
    outputs = ports("output", "last_state")
    shape_rule = "(batch, length, heads, size) → output unchanged, last_state (batch, heads, size, state)"
    cost_rule = (
        "as transformers' eager fallback mamba2_chunk_scan: per chunk and head, chunk²·(state + size) + "
        "2·chunk·state·size MACs; per head, (chunks + 1)²·state·size MACs; and the work of decays, D, delta_bias and "
        "delta_softplus"
    )
    example = Example(((2, 5, 4, 3), (2, 5, 4), (4,), (2, 5, 2, 6), (2, 5, 2, 6)), {"chunk": 2})
    usage = (
        "u: [1, 128, 8, 64]",
        "delta: {shape: [1, 128, 8], range: [0.001, 0.1]}",
        "a: {shape: [8], range: [-16, -1]}",
        "B: [1, 128, 1, 64]",
        "C: [1, 128, 1, 64]",
        "- {from: [u, delta, a, B, C], ssd_scan: {chunk: 64}}",
    )

    chunk: int = attr("positions in a chunk (transformers chunk_size)", default=256, ge=1, le=MAX_CHUNK)
    delta_softplus: bool = attr("apply softplus to delta, after its bias", default=False)
    delta_min: float = attr("lower limit of delta", default=0.0, allow_inf_nan=False)
    delta_max: float | None = attr("upper limit of delta; null for none", default=None, allow_inf_nan=False)

    def infer(self, ctx: Context, *inputs: TensorType | None) -> tuple[TensorType, TensorType]:
        tensors: dict[str, TensorType] = self.named(inputs)
        u, b = tensors["u"], tensors["B"]
        require_rank(u, 4, "u of ssd_scan")
        require_rank(b, 4, "B of ssd_scan")
        batch, length, heads, size = u.shape
        groups, state = b.shape[2:]
        sizes = {"batch": batch, "length": length, "heads": heads, "size": size, "groups": groups, "state": state}
        expected = {
            "delta": ("(batch, length, heads)", (batch, length, heads)),
            "a": ("(heads)", (heads,)),
            "B": ("(batch, length, groups, state)", (batch, length, groups, state)),
            "C": ("as B", (batch, length, groups, state)),
            "D": ("(heads)", (heads,)),
            "delta_bias": ("(heads)", (heads,)),
            "initial_state": ("(batch, heads, size, state)", (batch, heads, size, state)),
        }
        precision = _checked(self.name, tensors, sizes, expected)
        if divided(heads, groups) is None:
            raise RuleError(f"B has {groups} groups, which do not divide {heads} heads")
        return u, TensorType((batch, heads, size, state), precision)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        types = self.named(inputs)
        batch, length, heads, size = types["u"].shape
        count = chunks(ctx, length, self.chunk)
        state = {"state": types["B"].shape[3]}
        each = {"batch": batch, "length": length, "heads": heads}
        part = {"batch": batch, "chunks": count, "heads": heads}
        places = {**part, "positions": self.chunk}
        pairs = {**part, "queries": self.chunk, "keys": self.chunk}
        passed = {"batch": batch, "heads": heads, "to_chunks": count + 1, "from_chunks": count + 1}
        work = [
            Term.of("compare", "limits", **each, limits=1 if self.delta_max is None else 2),
            Term.of("mul", "input", **each, size=size),
            Term.of("mul", "decay", **each),
            Term.of("add", "decay", **part, steps=self.chunk - 1),
            Term.of("add", "decay between positions", **places, steps=self.chunk - 1),
            Term.of("transcendental", "decay between positions", **pairs),
            Term.of("mac", "scores", **pairs, **state),
            Term.of("mul", "scores", **pairs),
            Term.of("mac", "output of the chunk", **pairs, size=size),
            Term.of("add", "decay to the end", **places),
            Term.of("transcendental", "decay to the end", **places),
            Term.of("mul", "decay to the end", **places, **state),
            Term.of("mac", "states", **places, size=size, **state),
            Term.of("add", "decay between chunks", batch=batch, heads=heads, chunks=count + 1, steps=count),
            Term.of("transcendental", "decay between chunks", **passed),
            Term.of("mac", "states passed on", **passed, size=size, **state),
            Term.of("transcendental", "decay from the start", **places),
            Term.of("mac", "output of the states", **places, size=size, **state),
            Term.of("mul", "output of the states", **places, size=size),
            Term.of("add", "output", **places, size=size),
        ]
        if "delta_bias" in types:
            work.append(Term.of("add", "delta bias", **each))
        if self.delta_softplus:
            work += terms(Softplus.work, "softplus", **each)
        if "D" in types:
            work += [Term.of("mul", "skip", **each, size=size), Term.of("add", "skip", **each, size=size)]
        return work


@operation
class GatedDeltaRule(Operation):
    """The gated delta rule: S_t = e^{g_t}·S_{t−1} + k_t⊗β_t·(v_t − k_tᵀ·e^{g_t}·S_{t−1}), y_t = q_tᵀ·S_t/√d_k.

    ``query`` and ``key`` are (batch, length, key heads, d_k), each head for as many consecutive heads of ``value``,
    which is (batch, length, heads, d_v).  ``decay`` (g, at most 0 for a stable state) and ``beta`` are (batch, length,
    heads).  With ``normalize`` each query and key is divided by its length.  ``initial_state`` (zeros if absent) and
    ``last_state`` are (batch, heads, d_k, d_v).

    The sequence is padded to a multiple of ``chunk`` positions.  Within a chunk, what each position adds to the state
    is found by solving a triangular system; then the state is passed from chunk to chunk.  This is the algorithm of
    Gated DeltaNet as transformers computes it in PyTorch if there is no fused kernel.  Its work is counted.

    The computation is at least in float32, as is ``last_state``; ``output`` has the type of value.
    """

    name = "gated_delta_rule"
    kernel_suffices = "a few large matrix products for each chunk, each a single NumPy call"
    reference = "Yang et al. 2024, arXiv:2412.06464; transformers torch_chunk_gated_delta_rule"
    counted_as = "transformers' eager fallback torch_chunk_gated_delta_rule"
    inputs = ports("query", "key", "value", "decay", "beta", "initial_state?")
    outputs = ports("output", "last_state")
    shape_rule = "value (batch, length, heads, d_v) → output unchanged, last_state (batch, heads, d_k, d_v)"
    cost_rule = (
        "as transformers' eager fallback torch_chunk_gated_delta_rule: per chunk and head, "
        "chunk²·(2·d_k + d_v) + 3·chunk·d_k·d_v MACs, chunk·(chunk − 1)/2·(d_k + d_v) muls and adds of a triangular "
        "system, and the work of norms, decays and beta"
    )
    example = Example(((2, 5, 2, 3), (2, 5, 2, 3), (2, 5, 4, 6), (2, 5, 4), (2, 5, 4)), {"chunk": 2})
    usage = (
        "query: [1, 128, 4, 64]",
        "key: [1, 128, 4, 64]",
        "value: [1, 128, 8, 64]",
        "decay: {shape: [1, 128, 8], range: [-1, 0]}",
        "beta: {shape: [1, 128, 8], range: [0, 1]}",
        "- from: [query, key, value, decay, beta]",
        "  gated_delta_rule: {normalize: true}",
    )

    chunk: int = attr("positions in a chunk (transformers chunk_size)", default=64, ge=1, le=MAX_CHUNK)
    normalize: bool = attr("divide queries and keys by their lengths, √(Σx² + 1e-6)", default=False)

    def steps(self, inputs: Sequence[Any]) -> Dim:
        """Return the rows of a triangular system, which all chunks solve at once, and the chunks."""
        return self.chunk - 1 + ceil_div(inputs[0].shape[1], self.chunk)

    def infer(self, ctx: Context, *inputs: TensorType | None) -> tuple[TensorType, TensorType]:
        tensors: dict[str, TensorType] = self.named(inputs)
        key, value = tensors["key"], tensors["value"]
        require_rank(key, 4, "key of gated_delta_rule")
        require_rank(value, 4, "value of gated_delta_rule")
        batch, length, heads, size = value.shape
        key_heads, features = key.shape[2:]
        sizes = {"batch": batch, "length": length, "heads": heads, "d_v": size, "key heads": key_heads, "d_k": features}
        expected = {
            "key": ("(batch, length, key heads, d_k)", (batch, length, key_heads, features)),
            "query": ("as key", (batch, length, key_heads, features)),
            "decay": ("(batch, length, heads)", (batch, length, heads)),
            "beta": ("(batch, length, heads)", (batch, length, heads)),
            "initial_state": ("(batch, heads, d_k, d_v)", (batch, heads, features, size)),
        }
        precision = _checked(self.name, tensors, sizes, expected)
        if divided(heads, key_heads) is None:
            raise RuleError(f"there are {key_heads} key heads, which do not divide {heads} heads")
        return value, TensorType((batch, heads, features, size), precision)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        types = self.named(inputs)
        batch, length, heads, size = types["value"].shape
        features = types["key"].shape[3]
        count = chunks(ctx, length, self.chunk)
        each = {"batch": batch, "length": length, "heads": heads}
        part = {"batch": batch, "chunks": count, "heads": heads}
        places = {**part, "positions": self.chunk}
        pairs = {**part, "queries": self.chunk, "keys": self.chunk}
        keyed, valued = {**places, "d_k": features}, {**places, "d_v": size}
        system = {**part, "pairs": self.chunk * (self.chunk - 1) // 2, "d_k + d_v": features + size}
        norm: Work = {"mul": 2, "add": 1} if self.normalize else {}
        root: Work = {"transcendental": 1, "div": 1} if self.normalize else {}
        return [
            *terms(norm, "norms", **each, operands=2, d_k=features),
            *terms(root, "norms", **each, operands=2),
            Term.of("mul", "scale", **each, d_k=features),
            Term.of("mul", "beta", **each, features=features + size),
            Term.of("add", "decay", **part, steps=self.chunk - 1),
            Term.of("add", "decay between positions", **pairs),
            Term.of("transcendental", "decay between positions", **pairs),
            Term.of("mac", "triangular system", **pairs, d_k=features),
            Term.of("mul", "triangular system", **pairs),
            Term.of("mac", "scores", **pairs, d_k=features),
            Term.of("mul", "scores", **pairs),
            Term.of("transcendental", "decay from the start", **places),
            Term.of("mul", "decay from the start", **keyed, operands=2),
            Term.of("mul", "solution of the system", **system),
            Term.of("add", "solution of the system", **system),
            Term.of("add", "decay to the end", **places),
            Term.of("transcendental", "decay to the end", **places),
            Term.of("mul", "decay to the end", **keyed),
            Term.of("transcendental", "decay of the chunk", **part),
            Term.of("mac", "prediction of the state", **keyed, d_v=size),
            Term.of("add", "prediction of the state", **valued),
            Term.of("mac", "output of the state", **keyed, d_v=size),
            Term.of("mac", "output of the chunk", **pairs, d_v=size),
            Term.of("add", "output", **valued),
            Term.of("mul", "state", **part, d_k=features, d_v=size),
            Term.of("mac", "state", **keyed, d_v=size),
            Term.of("add", "state", **part, d_k=features, d_v=size),
        ]
