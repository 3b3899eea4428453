"""The parts of a spec file, as pydantic models; lines of layers stay plain data for the elaborator."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from netcalc.dtypes import DType

__all__ = ["BlockDecl", "CheckpointDecl", "Document", "InputDecl", "Published"]

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
SizeText = int | str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True, defer_build=True)


class InputDecl(_Part):
    """An input of the network."""

    shape: list[SizeText] = Field(description="sizes: numbers, names of dims or vars, or expressions")
    dtype: DType | None = Field(None, description="type of the elements; the spec's dtype if not given")
    range: Annotated[list[int | float | str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="values are drawn from [low, high)"
    )
    default: bool | int | float | None = Field(None, description="what it is filled with when it is not given")
    when: str | bool | None = Field(None, description="present only where this holds")
    about: str = ""


class CheckpointDecl(_Part):
    """Where a parameter stands in the reference's checkpoint."""

    name: str = Field(alias="from", description="name in the checkpoint, relative to the block")
    chunk: Annotated[list[int], Field(min_length=2, max_length=2)] = Field(
        default=[0, 1], description="[i, n]: the i-th of n equal chunks"
    )
    axis: int = Field(0, description="the axis that is chunked")
    transpose: bool = Field(False, description="stored with the last two axes swapped")
    stack: int | str | None = Field(
        None,
        description="stored as so many tensors, the rows of the first axis; {} in the name is the number of each",
    )


class BlockDecl(_Part):
    """A named piece of network with arguments."""

    about: str = ""
    source: str = ""
    args: dict[Name, Any] = Field(default={}, description="name: type (required), default, or {type, default, …}")
    inputs: list[str] = Field(default=["in"], min_length=1, description="names; a trailing ? makes one optional")
    outputs: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="values it returns; the last line's if not given"
    )
    layers: list[Any]
    checkpoint: dict[str, CheckpointDecl | str] = {}


_UNITS = {"": 0, "k": 3, "M": 6, "G": 9, "B": 9, "T": 12}


class Published(_Part):
    """A figure that the source gives for the network at its default sizes."""

    figure: Literal["params", "params_active", "macs", "flops"] = Field(
        description="what is counted; a MAC is a multiply-add, and active is what one token uses"
    )
    value: Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?[kMGBT]?$")] | Annotated[int, Field(ge=1)] = Field(
        description="as printed: 117 M, 4.5 G, 25557032"
    )
    where: str = Field(description="the table or page that it stands in")
    note: str = Field("", description="why the network's own figure is another, where it is")

    @property
    def number(self) -> Decimal:
        """The value as a number."""
        digits, power = self._printed
        return digits.scaleb(power)

    def agrees(self, count: int) -> bool:
        """Whether ``count`` is the value, to the digits that are printed; zeros that end a whole number are no digits.

        >>> Published(figure="params", value="1.3 B", where="a table").agrees(1_315_723_264)
        True
        """
        if isinstance(self.value, int):
            return count == self.value
        digits, power = self._printed
        last = (digits if "." in self.value else digits.normalize()).as_tuple().exponent
        assert isinstance(last, int)
        return abs(count - self.number) * 2 <= Decimal(1).scaleb(last + power)

    @property
    def _printed(self) -> tuple[Decimal, int]:
        """The digits, and the power of ten that the unit stands for."""
        text = str(self.value)
        digits = text.rstrip(" kMGBT")
        return Decimal(digits), _UNITS[text[len(digits) :].strip()]


class Document(_Part):
    """A spec file."""

    netcalc: Literal[1] = Field(description="version of the spec language")
    name: str = ""
    about: str = Field("", description="one line that says what it is")
    source: str = Field("", description="paper or reference implementation")
    family: str = Field("", description="what it is listed under")
    published: list[Published] = Field(default=[], description="figures that the source gives")
    extends: str | None = Field(None, description="a spec whose dims, vars, inputs, blocks and layers this one changes")
    import_: list[str] = Field(default=[], alias="import", description="files whose blocks are used here")
    dtype: DType = Field("float32", description="type of floating-point tensors")
    dims: dict[Name, int | str | None] = Field(default={}, description="sizes that may stay symbolic")
    vars: dict[Name, Any] = Field(default={}, description="structural hyperparameters")
    inputs: dict[Name, InputDecl | list[SizeText]] = {}
    blocks: dict[Name, BlockDecl] = {}
    layers: list[Any] = []
    outputs: dict[Name, str] | list[str] | None = None
    init: dict[str, str] = Field(default={}, description="pattern of parameter names: initialiser")
    checkpoint: dict[str, CheckpointDecl | str] = {}
