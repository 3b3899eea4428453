"""Elementwise work: counts per element, their description, and the base of elementwise operations."""

from collections.abc import Sequence
from typing import Any, ClassVar

from netcalc.opdef import Context, Example, Kind, Operation, Term, require_float
from netcalc.tensor_type import TensorType

#: Work per element: the number of operations of each kind.
Work = dict[Kind, int]

# work that operations of several families share
SIGMOID: Work = {"add": 2, "transcendental": 1, "div": 1}  # 1/(1 + exp(−x))
SILU: Work = {"add": 2, "transcendental": 1, "div": 1}  # x/(1 + exp(−x))
GELU_BY: dict[str, Work] = {
    "none": {"mul": 3, "add": 1, "transcendental": 1},  # ½·x·(1 + erf(x·√½))
    "tanh": {"mul": 6, "add": 2, "transcendental": 1},  # ½·x·(1 + tanh(√(2/π)·x·(1 + 0.044715·x²)))
}

# on complex numbers z = a + bi, in real arithmetic
COMPLEX_LOG: Work = {"mul": 2, "add": 1, "transcendental": 3}  # ln √(a² + b²) + i·atan2(b, a)
COMPLEX_EXP: Work = {"transcendental": 3, "mul": 2}  # eᵃ·(cos b + i·sin b)
COMPLEX_POWER: Work = {"transcendental": 6, "mul": 8, "add": 3}  # exp(w·log z)

_NAMES: dict[Kind, str] = {"mac": "MAC", "compare": "comparison", "transcendental": "transcendental function"}


def amount(kind: Kind, times: int | str) -> str:
    """Return an amount of work in words: "1 add", "n − 1 comparisons"."""
    return f"{times} {_NAMES.get(kind, kind)}{'' if times == 1 else 's'}"


def per(unit: str, work: Work) -> str:
    """Return the cost rule of ``work`` per unit: "1 comparison and 2 adds per element"."""
    *others, last = [amount(kind, times) for kind, times in work.items()] or ["none"]
    if not work:
        return last
    return (", ".join(others) + " and " if others else "") + f"{last} per {unit}"


def terms(work: Work, role: str, **elements: Any) -> tuple[Term, ...]:
    """Return ``work`` on each of the elements as terms."""
    return tuple(
        Term.of(kind, role, **elements, **({"each": times} if times > 1 else {})) for kind, times in work.items()
    )


def name_torch_function(declared: type[Operation]) -> None:
    """Make the function of PyTorch of the same name the reference of an operation that names no other."""
    if "name" in vars(declared) and "reference" not in vars(declared):
        declared.reference = f"torch.{declared.name}"


class Elementwise(Operation):
    """Base of functions of each element; ``work`` is the work per element, and the source of the cost rule.

    A function of PyTorch of the same name is the reference unless the class names another.
    """

    takes_empty = True
    elementwise = True
    counts_parts = True
    shape_rule = "unchanged"
    example = Example(((2, 8),))
    usage: ClassVar[tuple[str, ...]] = ("x: [32, 784]", "- linear: 256", "- $op")
    work: ClassVar[Work]
    #: Real arithmetic per complex element; None for a function of real numbers only.
    complex_work: ClassVar[Work | None] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Derive the cost rule from ``work``, the reference from the name, and whether complex numbers are taken."""
        super().__init_subclass__(**keywords)
        name_torch_function(cls)
        if "work" in cls.__dict__ and "cost_rule" not in cls.__dict__:
            cls.cost_rule = per("element", cls.work)
        if cls.__dict__.get("complex_work"):
            assert cls.complex_work is not None
            cls.takes_complex = True
            cls.cost_rule += f"; {per('complex element', cls.complex_work)}"

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        require_float(x, self.name)
        return x

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        work = self.complex_work if x.is_complex and self.complex_work is not None else self.work
        return terms(work, self.name, elements=x.elements)
