"""Terms of work: the kinds of arithmetic, and counts as products of named factors."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

from netcalc.dims import Dim, not_negative, product

Kind: TypeAlias = Literal["mac", "add", "mul", "div", "compare", "transcendental"]
#: The kinds of work.  ``mac`` is one multiplication with its addition; ``add`` includes subtraction, negation and
#: integer arithmetic on indices; ``compare`` includes min, max, comparisons and logic; ``transcendental`` includes
#: roots, powers, exponentials, logarithms and trigonometric functions.  Moving data (reshape, gather, select, pad,
#: copy, cast) is not counted as work.
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Term:
    """Work of one kind, as a product of named factors: ``Term("mac", {"positions": 12544, "taps": 147})``.

    ``role`` names the part of the operation that does the work ("scores", "bias"), for conventions and explanations.
    """

    kind: Kind
    factors: tuple[tuple[str, Dim], ...]
    role: str

    @classmethod
    def of(cls, kind: Kind, role: str, **factors: Dim) -> Self:
        """Return a term from keyword factors: ``Term.of("add", "bias", positions=n, channels=c)``.

        A factor that would be negative is 0, such as the n − 1 additions of a sum over n = 0 elements.
        """
        return cls(kind, tuple((name, not_negative(size)) for name, size in factors.items()), role)

    @property
    def count(self) -> Dim:
        """The product of the factors."""
        return product(size for _, size in self.factors)
