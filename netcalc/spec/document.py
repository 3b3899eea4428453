"""Pydantic models of a spec document; the lines of ``layers`` stay plain data, which elaboration validates."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from netcalc.amounts import number_in, size_in_bytes
from netcalc.characters import NAME, PART, checked_names
from netcalc.dtypes import DType
from netcalc.models import AfterValidator, ConfigDict, Field, Model, field_validator, model_validator
from netcalc.opdef import ports

_NAMES = AfterValidator(checked_names)
_Name = Annotated[str, Field(pattern=f"^{NAME}$"), _NAMES]
_Size = int | str
#: How a parameter is split over ranks under tensor parallelism.
_Split = Literal["columns", "rows", "heads", "experts", "vocabulary", "replicated"]
_SPLIT_TEXT = (
    "how parameters are split over ranks, by pattern of the path of a parameter or of its layer: by output features "
    "(columns, or heads, which stay whole), by input features (rows), by the hidden units of each expert (experts), by "
    "rows of the vocabulary, or not at all (replicated, as all others)"
)
#: Name of an input or output; `*` in a name such as past_key_values.*.key is the number of each tensor of a list.
_Port = Annotated[str, Field(pattern=rf"^{NAME}(\.({PART}|\*))*$"), _NAMES]


#: Input of a block; `?` if it is optional, and an input before it that it is if it is not given.
_BlockInput = Annotated[str, Field(pattern=rf"^{NAME}\??( *= *{NAME})?$"), _NAMES]


class _Part(Model):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True, defer_build=True)


class CacheDecl(_Part):
    """Declaration of a cache: the output that becomes this input in the next step of decoding."""

    next: str = Field(description="name of the output, with * if the input has one")
    axis: int | None = Field(None, description="axis of the positions, which grows with each step; none for a state")
    window: _Size | None = Field(None, description="positions that a query sees, if it does not see all of them")


class LeastDType(_Part):
    """The wider of two element types: the spec's, and the one given."""

    at_least: DType = Field(description="element type of inputs that are not narrower in a narrower network")


class InputDecl(_Part):
    """An input of the network, or a list of them if its name has a `*`."""

    repeat: _Size | None = Field(None, description="number of inputs of a list, which replace * by the index")

    shape: list[_Size] = Field(description="sizes: numbers, names of dims or vars, or expressions")
    dtype: DType | LeastDType | None = Field(None, description="element type; by default the spec's dtype")
    range: Annotated[list[int | float | str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="random values are drawn from [low, high)"
    )
    also: int | None = Field(None, description="an integer outside the range that is accepted, and never drawn")
    default: bool | int | float | None = Field(None, description="value of all elements if the input is not given")
    when: str | bool | None = Field(None, description="condition under which the input is present")
    layout: Literal["channels_last"] | None = Field(
        None,
        description="channels_last: the last axis has the channels; layers take the input with channels as axis 1",
    )
    cache: CacheDecl | None = Field(None, description="its part in decoding step by step")
    about: str = ""


class DimDecl(_Part):
    """A size with its limits."""

    default: _Size | None = Field(None, description="value, or an expression; null keeps the size symbolic until set")
    min: int = Field(1, ge=0, description="least value")
    max: int | None = Field(None, ge=1, description="greatest value")
    multiple_of: int = Field(1, ge=1, description="number that divides every value")
    precedes: str | None = Field(
        None, description="the dim of the positions that follow these, which earlier steps of decoding have seen"
    )
    about: str = ""

    """Place of a parameter in the reference's checkpoint."""


_Range = Annotated[list[_Size], Field(min_length=2, max_length=2)]


class SourceDecl(_Part):
    """Tensors of the reference's checkpoint: one, a part of one, or several that are joined or stacked."""

    name: str | Annotated[list["str | SourceDecl"], Field(min_length=1)] | None = Field(
        None,
        alias="from",
        description="name in the checkpoint, relative to the block, or a list of what is joined along the axis; "
        "by default the path of the parameter",
    )
    chunk: _Range | None = Field(None, description="[i, n]: the i-th of n equal chunks along the axis")
    slice: _Range | None = Field(None, description="[start, stop]: a range of indices along the axis")
    axis: int = Field(0, description="the axis of a chunk, a slice or a list")
    transpose: bool = Field(False, description="true if stored with the last two axes swapped")
    stack: int | str | bool | None = Field(
        None,
        description="number of tensors that are stacked along the first axis, {} in their names being the number of "
        "each; or true: the tensors of a list are stacked along a new axis",
    )
    flatten: Annotated[int, Field(ge=0)] | None = Field(None, description="this axis and the next one become one")
    interleaved: _Size | None = Field(
        None,
        description="number of equal parts along the axis, of each of which the two halves are stored in turn: of "
        "heads whose neighbouring features are rotated together",
    )


class CheckpointDecl(SourceDecl):
    """Place of a parameter in the reference's checkpoint."""

    any_: Annotated[list[str | SourceDecl], Field(min_length=1)] | None = Field(
        None, alias="any", description="places in order of preference: the first that is present is used"
    )
    optional: bool = Field(False, description="true if the checkpoint may lack it: it then has its initial value")
    reference: bool = Field(
        False,
        description="true if the reference itself has it at the first place, tensors of a list as equal parts: "
        "gradients are written under its name",
    )


class CheckpointsDecl(_Part):
    """Places of the parameters of a spec: an entry for each path or pattern of paths."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, CheckpointDecl | str]
    prefix: str = Field("", description="first part of the paths, which a checkpoint may have or lack")
    ignore: list[str] = Field(default=[], description="patterns of names in the checkpoint that are of no use")
    reference: bool = Field(
        False, description="true if the reference itself has the parameters at the first places of all entries"
    )
    dtype: DType | None = Field(
        None, description="element type of the published checkpoint, in which the spec is counted, and not run"
    )
    packed: str = Field("", description="scheme in which the published checkpoint packs most parameters, for a remark")


class Requirement(_Part):
    """A condition that dims and vars, or arguments and inputs, must meet."""

    that: str = Field(description="an expression that must be true")
    message: str = Field(description="explanation of the condition, for the error")


class Note(_Part):
    """A remark of a spec on what is counted."""

    text: str = Field(description="the remark, which may hold expressions")
    when: str | bool = Field(True, description="condition on dims and vars under which it is printed")


class BlockDecl(_Part):
    """A named group of lines with arguments."""

    about: str = ""
    source: str = ""
    example: str = Field("", description="text of a spec that uses the block, without the line `netcalc: 1`")
    args: dict[_Name, Any] = Field(default={}, description="name: type (required), default, or {type, default, …}")
    inputs: list[_BlockInput] = Field(
        default=["in"],
        description="names of inputs; optional with a trailing ?; `key = query` is the input query if it is not given",
    )
    outputs: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="names of the returned values, with ? if absent when `when` omits their lines"
    )
    require: list[Requirement] = Field(default=[], description="conditions on arguments and inputs")
    layers: list[Any]
    checkpoint: dict[str, CheckpointDecl | str] = Field(default={})
    tensor_parallel: dict[str, _Split] = Field(default={}, description=_SPLIT_TEXT)

    @field_validator("inputs")
    @classmethod
    def _defaults_are_before(cls, declared: list[str]) -> list[str]:
        names: list[str] = []
        for port in ports(*declared):
            if port.name in names:
                raise ValueError(f"{port.name!r} is declared twice")
            if port.default is not None and port.default not in names:
                raise ValueError(f"the default of {port.name!r} should be an input before it, not {port.default!r}")
            names.append(port.name)
        return declared

    @field_validator("outputs")
    @classmethod
    def _first_is_present(cls, names: list[str] | None) -> list[str] | None:
        if names is not None and names[0].endswith("?"):
            raise ValueError("the first output is the value of the block, and cannot be optional")
        return names


class LossDecl(_Part):
    """The loss of a network: lines that take its outputs and further inputs, and end in one floating-point number."""

    inputs: dict[_Name, InputDecl | list[_Size]] = Field(default={}, description="inputs of the loss only: labels")
    layers: list[Any] = Field(description="lines that see the outputs by name; the last value is the loss")
    when: str | bool | None = Field(None, description="condition under which the network has this loss")


class PatchDecl(_Part):
    """Change of the inherited lines at a path, one of set, replace, insert and remove; or lines at the end."""

    at: str | None = Field(None, description="path of the lines that are changed, * for any text of a part")
    set: dict[str, Any] | None = Field(None, description="values of attributes, arguments and modifiers")
    replace: str | dict[str, Any] | None = Field(None, description="the line in place of it, with its name and inputs")
    after: str | None = Field(None, description="path of the lines after which lines are inserted")
    before: str | None = Field(None, description="path of the lines before which lines are inserted")
    insert: Annotated[list[Any], Field(min_length=1)] | None = Field(None, description="the lines that are inserted")
    remove: str | None = Field(None, description="path of the lines that are left out")
    append: Annotated[list[Any], Field(min_length=1)] | None = Field(None, description="lines after all others")

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        keys = frozenset(self.model_fields_set)
        if keys not in _PATCH_FORMS:
            forms = ["{at, set}", "{at, replace}", "{after, insert}", "{before, insert}", "{remove}", "{append}"]
            raise ValueError(f"a patch should have the keys {', '.join(forms[:-1])} or {forms[-1]}")
        if any(value is None or value == "" for value in (getattr(self, name) for name in keys)):
            raise ValueError("an empty value in a patch")
        return self


_PATCH_FORMS = {
    frozenset(keys)
    for keys in (("at", "set"), ("at", "replace"), ("after", "insert"), ("before", "insert"), ("remove",), ("append",))
}
_UNITS = {"": 0, "k": 3, "M": 6, "G": 9, "B": 9, "T": 12}


#: Published quantities that are counted; any other figure is a quoted result.
COUNTED_FIGURES = ("params", "params_active", "macs", "flops")
_PRINTED = re.compile(r"\d+(\.\d+)? ?[kMGBT]?")


#: What a budget limits in bytes.
BYTE_LIMITS = ("weights", "activations", "memory")
_Limit = Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1, max_length=40)] | None


class Published(_Part):
    """Figure that a source prints for the network at its default sizes: one that is counted, or a quoted result."""

    figure: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="params, macs, flops, or params_active, the parameters that one token uses; "
        "with quoted the name of a result: top-1 error"
    )
    value: Annotated[str, Field(min_length=1, max_length=200)] | Annotated[int, Field(ge=1)] = Field(
        description="the figure as printed: 117 M, 4.5 G, 25557032; with quoted any text: 25.03 %"
    )
    where: str = Field(description="table or page of the source")
    set: dict[str, Any] = Field(default={}, description="settings at which the figure is printed, as in {length: 128}")
    exclude: str | list[str] = Field(
        default=[], description="patterns of the layers that the printed figure leaves out, as of --exclude"
    )
    quoted: bool = Field(False, description="true for a result that is only quoted, and cannot be counted")
    note: str = Field("", description="reason why netcalc's figure differs, if it does; with quoted any remark")
    miscounted: str = Field("", description="reason why the printed figure is not that of the network")

    @model_validator(mode="after")
    def _is_counted_or_quoted(self) -> Self:
        if self.quoted:
            if self.set or self.exclude:
                raise ValueError("a quoted result is not counted: set and exclude say nothing of it")
            if self.figure in COUNTED_FIGURES or self.miscounted:
                raise ValueError("a figure that netcalc counts cannot be quoted")
            return self
        if self.figure not in COUNTED_FIGURES:
            raise ValueError(
                f"figure should be {', '.join(COUNTED_FIGURES[:-1])} or {COUNTED_FIGURES[-1]}; "
                "a result that is not counted has quoted: true"
            )
        if isinstance(self.value, str) and not (_PRINTED.fullmatch(self.value) and self.number):
            raise ValueError(f"value should be a number with a unit such as 117 M or 4.5 G, not {self.value!r}")
        if self.note and self.miscounted:
            raise ValueError("a figure has one reason, note or miscounted")
        return self

    @property
    def excluded(self) -> tuple[str, ...]:
        """The patterns of the layers that the figure leaves out."""
        return (self.exclude,) if isinstance(self.exclude, str) else tuple(self.exclude)

    @property
    def number(self) -> Decimal:
        """The figure as a number."""
        digits, power = self._printed
        return digits.scaleb(power)

    def agrees(self, count: int, *, every_digit: bool = False) -> bool:
        """Return True if ``count`` rounds to the printed digits.

        Args:
            every_digit: False if trailing zeros of a whole number are not significant.

        >>> Published(figure="params", value="1.3 B", where="a table").agrees(1_315_723_264)
        True
        """
        return abs(count - self.number) <= self.tolerance(every_digit=every_digit)

    def tolerance(self, *, every_digit: bool = False) -> Decimal:
        """Return half of the last printed digit, 0 for a number that is printed in full; see :meth:`agrees`."""
        if isinstance(self.value, int):
            return Decimal(0)
        digits, power = self._printed
        last = (digits if every_digit or "." in self.value else digits.normalize()).as_tuple().exponent
        assert isinstance(last, int)
        return Decimal(1).scaleb(last + power) / 2

    def stands(self, count: int) -> bool:
        """Return True if a count agrees and no reason is given, or it differs and one is.

        A figure whose last digits are zeros, as in 340 M, may be miscounted in these.
        """
        if self.miscounted:
            return not self.agrees(count, every_digit=True)
        return self.agrees(count) != bool(self.note)

    @property
    def _printed(self) -> tuple[Decimal, int]:
        """The digits and the unit as a power of ten."""
        text = str(self.value)
        digits = text.rstrip(" kMGBT")
        return Decimal(digits), _UNITS[text[len(digits) :].strip()]


class Budget(_Part):
    """Limits of a network at its default sizes; ``netcalc budget`` and ``netcalc check`` hold it to them."""

    params: _Limit = Field(None, description="most parameters, as in 25M")
    macs: _Limit = Field(None, description="most multiply-adds of a forward pass, as in 4.1G")
    flops: _Limit = Field(None, description="most operations of a forward pass, as in 8G")
    macts: _Limit = Field(None, description="most activations as timm and fvcore count them, as in 11M")
    weights: _Limit = Field(None, description="most bytes of parameters, as in 100MiB")
    activations: _Limit = Field(None, description="most bytes of activations at a time, as in 512KiB")
    memory: _Limit = Field(None, description="most bytes of weights, buffers, caches and activations at a time")

    @model_validator(mode="after")
    def _are_amounts(self) -> Self:
        for name, value in self:
            read, example = (size_in_bytes, "100MiB") if name in BYTE_LIMITS else (number_in, "25M")
            if isinstance(value, str) and read(value) is None:
                raise ValueError(f"{name} should be a number, such as {example}, not {value!r}")
        return self


class Document(_Part):
    """A spec."""

    netcalc: Literal[1] = Field(description="version of the spec language")
    name: str = ""
    about: str = Field("", description="description in one line")
    source: str = Field("", description="paper or reference implementation")
    family: str = Field("", description="heading in the list of specs")
    aliases: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[], description="other names under which a shipped spec is found, such as the name of a checkpoint"
    )
    tags: list[Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]] = Field(
        default=[], description="words by which the list of specs is searched, such as detection"
    )
    published: list[Published] = Field(
        default=[], description="figures that the source prints, counted ones and quoted results"
    )
    budget: Budget | None = Field(None, description="limits of the network at its default sizes")
    extends: str | None = Field(None, description="a spec from which this one inherits")
    without: Annotated[list[str], Field(max_length=100)] = Field(
        default=[], description="inherited dims, vars and inputs that this spec does not have, * for any text"
    )
    architecture: str = Field(
        "", description="model type in configurations of Hugging Face, by which conventions of tools know the network"
    )
    import_: list[str] = Field(default=[], alias="import", description="files whose blocks this spec uses")
    dtype: DType = Field("float32", description="element type of floating-point tensors")
    dims: dict[_Name, DimDecl | int | str | None] = Field(default={}, description="sizes that may stay symbolic")
    vars: dict[_Name, Any] = Field(default={}, description="structural hyperparameters")
    require: list[Requirement] = Field(default=[], description="conditions on dims and vars")
    notes: list[Note] = Field(default=[], description="remarks on what is counted, which reports print")
    inputs: dict[_Port, InputDecl | list[_Size]] = Field(default={})
    blocks: dict[_Name, BlockDecl] = Field(default={})
    patch: list[PatchDecl] = Field(default=[], description="changes of inherited lines, in order")
    layers: list[Any] = Field(default=[])
    outputs: dict[_Port, str] | list[str] | None = None
    loss: LossDecl | None = Field(None, description="loss of the network; no part of its figures and outputs")
    init: dict[str, str | dict[str, str]] = Field(
        default={}, description="initializers by pattern of parameter paths, or by operation and name of the parameter"
    )
    checkpoint: CheckpointsDecl = Field(default_factory=CheckpointsDecl)
    tensor_parallel: dict[str, _Split] = Field(default={}, description=_SPLIT_TEXT)

    @field_validator("netcalc", mode="before")
    @classmethod
    def _is_a_whole_number(cls, version: Any) -> Any:
        if type(version) is not int:  # true and 1.0 equal 1
            raise ValueError("should be 1")
        return version
