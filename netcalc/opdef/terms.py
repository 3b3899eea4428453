"""Terms of work: the kinds of arithmetic, and counts as products of named factors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

from netcalc.dims import Dim, not_negative, product

Kind: TypeAlias = Literal["mac", "add", "mul", "div", "compare", "transcendental"]
#: The kinds of work.  ``mac`` is one multiplication with its addition; ``add`` includes subtraction, negation and
#: integer arithmetic on indices; ``compare`` includes min, max, comparisons and logic; ``transcendental`` includes
#: roots, powers, exponentials, logarithms and trigonometric functions.  Moving data (reshape, gather, select, pad,
#: copy, cast) is not counted as work.
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Real arithmetic of one operation on complex numbers: (a + bi)·(c + di) = (ac − bd) + (ad + bc)i, and
#: (a + bi)/(c + di) = (a + bi)·(c − di)/(c² + d²).
COMPLEX_WORK: Mapping[Kind, Mapping[Kind, int]] = {
    "mac": {"mac": 4},
    "add": {"add": 2},
    "mul": {"mul": 4, "add": 2},
    "div": {"mul": 6, "add": 3, "div": 2},
    "compare": {"compare": 2},
}
#: Name of the factor of a term that is real arithmetic for each operation on complex numbers.
PER_COMPLEX = "per_complex"


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

    @property
    def count_of_elements(self) -> Dim:
        """The product of the factors, with an operation on complex numbers counted as one."""
        return product(size for name, size in self.factors if name != PER_COMPLEX)


def on_complex(terms: Iterable[Term]) -> Sequence[Term]:
    """Return terms of work on complex numbers as terms of real arithmetic, by :data:`COMPLEX_WORK`.

    Raises:
        KeyError: for a transcendental function, whose work the operation has to count itself.
    """
    return tuple(
        Term(kind, (*term.factors, (PER_COMPLEX, times)), term.role)
        for term in terms
        for kind, times in COMPLEX_WORK[term.kind].items()
    )
