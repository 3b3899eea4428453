"""State-space recurrences over a sequence."""

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, divided
from netcalc.dtypes import promote
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
from netcalc.ops._elementwise import SILU, Work, terms
from netcalc.ops.activation import Softplus
from netcalc.tensor_type import TensorType


@operation
class SelectiveScan(Operation):
    """The scan of Mamba: x_t = exp(Δ_t·A)⊙x_{t−1} + Δ_t·B_t·u_t, y_t = C_t·x_t, separately for each channel.

    ``u`` and ``delta`` are (batch, channels, length).  ``A`` is (channels, state), and negative for a stable
    recurrence: Mamba's is −exp(A_log).  ``B`` and ``C`` are selective, (batch, length, state) or, with groups of
    consecutive channels, (batch, length, groups, state); or they are fixed, (channels, state).  ``D`` (channels) adds
    D·u to the output, which ``z`` (shaped as u) then multiplies by silu(z).  ``delta_bias`` (channels) is added to
    delta, and ``delta_softplus`` makes delta positive.  ``initial_state`` (zeros if absent) and ``last_state`` are
    (batch, channels, state).

    The state is at least float32, and ``output`` has the type of u.
    """

    name = "selective_scan"
    takes_empty = True  # a sequence without positions
    kernel_suffices = "a recurrence over positions that depends on the data: the kernel loops in Python"
    reference = "Gu & Dao 2023, arXiv:2312.00752, algorithm 2; mamba_ssm's selective_scan_ref"
    inputs = ports("u", "delta", "A", "B", "C", "D?", "z?", "delta_bias?", "initial_state?")
    outputs = ports("output", "last_state")
    shape_rule = "(batch, channels, length) → output unchanged, last_state (batch, channels, state)"
    cost_rule = (
        "per time step, channel and state: 1 MAC, 3 muls, 1 add and 1 exponential; per time step and channel: 1 mul, "
        "and the work of D, z, delta_bias and delta_softplus"
    )
    example = Example(((2, 8, 5), (2, 8, 5), (8, 4), (2, 5, 4), (2, 5, 4)))
    usage = (
        "u: [1, 256, 64]",
        "delta: {shape: [1, 256, 64], range: [0.001, 0.1]}",
        "A: {shape: [256, 16], range: [-16, -1]}",
        "B: [1, 64, 16]",
        "C: [1, 64, 16]",
        "- {from: [u, delta, A, B, C], selective_scan: {}}",
    )

    delta_softplus: bool = attr("apply softplus to delta, after its bias", default=False)

    def steps(self, inputs: Sequence[Any]) -> Dim:
        length: Dim = inputs[0].shape[-1]
        return length

    def infer(self, ctx: Context, *inputs: TensorType | None) -> tuple[TensorType, TensorType]:
        tensors: dict[str, TensorType] = self.named(inputs)
        for port, tensor in tensors.items():
            require_float(tensor, f"{port} of selective_scan")
        u, a = tensors["u"], tensors["A"]
        require_rank(u, 3, "u of selective_scan")
        require_rank(a, 2, "A of selective_scan")
        batch, channels, length = u.shape
        state = a.shape[1]
        for size, axis in ((batch, "batch"), (channels, "channels"), (state, "state")):
            require_some(size, f"the {axis} of selective_scan")
        expected: dict[str, tuple[str, tuple[Dim, ...]]] = {
            "delta": ("as u", u.shape),
            "A": ("(channels, state)", (channels, state)),
            "D": ("(channels)", (channels,)),
            "z": ("as u", u.shape),
            "delta_bias": ("(channels)", (channels,)),
            "initial_state": ("(batch, channels, state)", (batch, channels, state)),
        }
        for port in ("B", "C"):
            expected[port] = self._projection(port, tensors[port], batch, channels, length, state)
        for port, tensor in tensors.items():
            axes, shape = expected.get(port, ("", u.shape))
            if not same_shape(tensor.shape, shape):
                raise RuleError(f"{port} should be {u.with_shape(*shape)}, {axes}, and it is {tensor}")
        precision = promote("float32", *(tensor.dtype for tensor in tensors.values()))
        return u, TensorType((batch, channels, state), precision)

    def _projection(
        self, port: str, x: TensorType, batch: Dim, channels: Dim, length: Dim, state: Dim
    ) -> tuple[str, tuple[Dim, ...]]:
        """Return the axes and the shape that B or C should have, which depend on its rank."""
        require_rank(x, (2, 3, 4), f"{port} of selective_scan")
        if x.rank == 2:
            return "(channels, state)", (channels, state)
        if x.rank == 3:
            return "(batch, length, state)", (batch, length, state)
        groups = x.shape[2]
        if divided(channels, groups) is None:
            raise RuleError(f"{port} has {groups} groups, which do not divide {channels} channels")
        return "(batch, length, groups, state)", (batch, length, groups, state)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        types = self.named(inputs)
        batch, channels, length = types["u"].shape
        each = {"batch": batch, "length": length, "channels": channels}
        cells = {**each, "state": types["A"].shape[1]}
        work = [
            Term.of("mul", "decay", **cells),
            Term.of("transcendental", "decay", **cells),
            Term.of("mul", "input", **each),
            Term.of("mul", "input", **cells),
            Term.of("mul", "state", **cells),
            Term.of("add", "state", **cells),
            Term.of("mac", "output", **cells),
        ]
        if "delta_bias" in types:
            work.append(Term.of("add", "delta bias", **each))
        if self.delta_softplus:
            work += terms(Softplus.work, "softplus", **each)
        if "D" in types:
            work += [Term.of("mul", "skip", **each), Term.of("add", "skip", **each)]
        if "z" in types:
            work += [*terms(SILU, "gate", **each), Term.of("mul", "gate", **each)]
        return work


@operation
class Wkv(Operation):
    """The weighted mean of RWKV-4: y_t = (Σ_{s<t} e^{(t−1−s)·w + k_s}·v_s + e^{b + k_t}·v_t)/(the same sum without v).

    ``key`` (k) and ``value`` (v) are (batch, length, channels).  ``decay`` (w) and ``bonus`` (b), the weight of the
    position itself, are (channels); decay is negative for weights that fade: RWKV's is −exp(time_decay).  The sums are
    kept relative to their largest exponent.

    ``numerator`` and ``denominator`` are the sums with and without values over earlier positions, (batch, channels),
    relative to e to the power of ``exponent``.  They are given together, and there are none before the first position.
    ``return_state`` adds outputs with those for the next position; no gradient flows through these.

    The computation is at least in float32, as are the sums, and the output has the type of value.
    """

    name = "wkv"
    takes_empty = True  # a sequence without positions
    kernel_suffices = "a recurrence over positions: the kernel loops in Python"
    reference = "Peng et al. 2023, arXiv:2305.13048, §3.1; transformers rwkv_linear_attention_cpu"
    counted_as = "transformers' eager fallback rwkv_linear_attention_cpu"
    inputs = ports("key", "value", "decay", "bonus", "numerator?", "denominator?", "exponent?")
    outputs = ports("output", "last_numerator?", "last_denominator?", "last_exponent?")
    shape_rule = "(batch, length, channels) unchanged; with return_state also three tensors (batch, channels)"
    cost_rule = (
        "as transformers' eager fallback rwkv_linear_attention_cpu: per position and channel, 10 adds, 6 muls, 1 div, "
        "2 comparisons and 4 exponentials"
    )
    example = Example(((2, 5, 8), (2, 5, 8), (8,), (8,)))
    usage = (
        "key: [1, 64, 256]",
        "value: [1, 64, 256]",
        "decay: {shape: [256], range: [-8, -0.1]}",
        "bonus: [256]",
        "- {from: [key, value, decay, bonus], wkv: {}}",
    )

    return_state: bool = attr("return the sums for the next position too", default=False)

    def steps(self, inputs: Sequence[Any]) -> Dim:
        length: Dim = inputs[0].shape[1]
        return length

    def infer(self, ctx: Context, *inputs: TensorType | None) -> TensorType | tuple[TensorType, ...]:
        tensors: dict[str, TensorType] = self.named(inputs)
        for port, tensor in tensors.items():
            require_float(tensor, f"{port} of wkv")
        key, value = tensors["key"], tensors["value"]
        require_rank(key, 3, "key of wkv")
        batch, _, channels = key.shape
        sums = dict.fromkeys(("numerator", "denominator", "exponent"), (batch, channels))
        missing = [port for port in sums if port not in tensors]
        if 0 < len(missing) < len(sums):
            raise RuleError(f"wkv takes {', '.join(sums)} together, and {missing[0]} is missing")
        shapes = {"value": key.shape, "decay": (channels,), "bonus": (channels,), **sums}
        for port, tensor in tensors.items():
            if port in shapes and not same_shape(tensor.shape, shapes[port]):
                raise RuleError(f"{port} should be {key.with_shape(*shapes[port])}, and it is {tensor}")
        precision = promote("float32", *(tensor.dtype for tensor in tensors.values()))
        return (value, *[TensorType((batch, channels), precision)] * 3) if self.return_state else value

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        batch, length, channels = inputs[0].shape
        each = {"batch": batch, "length": length, "channels": channels}
        sums: Work = {"mul": 3, "add": 4, "transcendental": 2, "compare": 1}
        return [
            *terms({**sums, "div": 1}, "output", **each),
            Term.of("add", "bonus", **each),
            *terms(sums, "sums", **each),
            Term.of("add", "decay", **each),
        ]
