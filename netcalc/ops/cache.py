"""The key–value cache of incremental decoding."""

from collections.abc import Sequence

from netcalc.dims import Dim, equal
from netcalc.opdef import Context, Example, Operation, RuleError, Size, Term, attr, ports, same_shape
from netcalc.ops import operation
from netcalc.ops._movement import MOVES
from netcalc.tensor_type import TensorType


@operation
class KeyValueCache(Operation):
    """Past keys and values followed by the new ones, along the length axis of (…, length, head_dim).

    The outputs are the inputs of attention, and the ``past_key`` and ``past_value`` of the next step.  The first step
    has no past.  With ``window`` a query sees its own position and the window − 1 positions before it, and positions
    that no new query sees are dropped.  Attention over the result uses ``alignment: lower_right``.
    """

    name = "key_value_cache"
    takes_empty = True
    kernel_suffices = MOVES
    reference = "Pope et al. 2022, arXiv:2211.05102; rolling buffer: Mistral 7B, arXiv:2310.06825"
    inputs = ports("key", "value", "past_key?", "past_value?")
    outputs = ports("key", "value")
    shape_rule = "(…, new, E) after (…, past, E) → (…, past + new, E), at most window − 1 + new"
    cost_rule = "none: data moves"
    example = Example(((1, 2, 1, 8), (1, 2, 1, 8), (1, 2, 5, 8), (1, 2, 5, 8)))
    usage = (
        "key: [1, 8, 1, 128]",
        "value: [1, 8, 1, 128]",
        "past_key: [1, 8, 511, 128]",
        "past_value: [1, 8, 511, 128]",
        "- {from: [key, value, past_key, past_value], key_value_cache: {}}",
    )

    window: Size | None = attr("number of positions that a query sees, its own included", default=None)

    def infer(
        self,
        ctx: Context,
        key: TensorType,
        value: TensorType,
        past_key: TensorType | None = None,
        past_value: TensorType | None = None,
    ) -> tuple[TensorType, TensorType]:
        if min(key.rank, value.rank) < 2:
            raise RuleError(f"key_value_cache takes (…, length, head_dim), and these are {key} and {value}")
        if not same_shape(key.shape[:-1], value.shape[:-1]):
            raise RuleError(f"key and value differ before their last axis: {key} against {value}")
        if (past_key is None) != (past_value is None):
            raise RuleError("past_key and past_value must both be present or both absent")
        past: Dim = 0
        if past_key is not None and past_value is not None:
            for what, new, old in (("key", key, past_key), ("value", value, past_value)):
                if old.dtype != new.dtype:
                    raise RuleError(f"past_{what} is {old.dtype} and {what} is {new.dtype}", code="E402")
                others = [(*x.shape[:-2], x.shape[-1]) for x in (old, new) if x.rank == new.rank]
                if len(others) < 2 or not same_shape(*others):
                    raise RuleError(f"past_{what} {old} and {what} {new} may differ only in length")
            past = past_key.shape[-2]
            if not equal(past, past_value.shape[-2]):
                raise RuleError(f"past_key and past_value differ in length: {past_key} against {past_value}")
        formula = "past + new" if self.window is None else "min(past + new, window - 1 + new)"
        length = ctx.size("length", formula, past=past, new=key.shape[-2], window=self.window)
        key, value = (x.with_shape(*x.shape[:-2], length, x.shape[-1]) for x in (key, value))
        return key, value

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return ()
