"""Parameters and buffers of an operation, and their initial values."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from netcalc.dims import Dim, product
from netcalc.dtypes import DType
from netcalc.opdef.storage import Storage


class Init(NamedTuple):
    """The initializer of a parameter without weights (``kind`` as in torch.nn.init), with its arguments.

    ``fan_in_uniform(fan_in)`` is PyTorch's default for biases: uniform on ±1/√fan_in.  ``normal`` may have a
    ``padding_idx``, the number of a row of zeros.  A ``table`` is computed by a function that the kernel module of
    the operation registers (:data:`netcalc.numerics.kernels.TABLES`), a ``computed`` buffer by lines of the spec
    (:attr:`netcalc.ir.OpNode.computed`).
    """

    kind: Literal[
        "kaiming_uniform",
        "kaiming_normal",
        "xavier_uniform",
        "xavier_normal",
        "lecun_normal",
        "log_of_uniform",
        "step_size",
        "log_range",
        "uniform",
        "fan_in_uniform",
        "normal",
        "truncated_normal",
        "orthogonal",
        "constant",
        "formula",
        "table",
        "computed",
    ]
    args: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, kind: Any, **args: Any) -> Self:
        """Return an initializer from keyword arguments: ``Init.of("uniform", bound=0.1)``."""
        return cls(kind, tuple(args.items()))


ONES = Init.of("constant", value=1.0)
ZEROS = Init.of("constant", value=0.0)


@dataclass(frozen=True, slots=True)
class Param:
    """A learned tensor of an operation, with the name that PyTorch gives it.

    ``storage`` is the form in which it is stored, see :mod:`netcalc.ir.storage`; None for its own element type.
    """

    name: str
    shape: tuple[Dim, ...]
    init: Init
    dtype: DType | None = None  # None: the type of the operation's floating-point input
    trainable: bool = True
    storage: Storage | None = None
    is_buffer: ClassVar[bool] = False

    @property
    def elements(self) -> Dim:
        """The number of elements."""
        return product(self.shape)


@dataclass(frozen=True, slots=True)
class Buffer(Param):
    """A tensor that is not learned: running statistics, fixed tables.  Checkpoints hold it if ``persistent``."""

    trainable: bool = False
    persistent: bool = True
    is_buffer: ClassVar[bool] = True
