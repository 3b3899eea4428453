"""Spatial operations: attributes with an item per axis, padding, and the number of windows."""

import inspect
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

from netcalc.dims import Dim, ceil_div, divided, maximum
from netcalc.models import field_validator
from netcalc.opdef import (
    AxisReach,
    Context,
    Operation,
    Reach,
    RuleError,
    Window,
    axes_of,
    require_float,
    require_rank,
    whole_number,
)
from netcalc.tensor_type import TensorType

#: The spatial axes by rank, as explanations and cost terms name them.
AXES: dict[int, tuple[str, ...]] = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}

Pads: TypeAlias = tuple[tuple[Any, Any], ...]
PadMode: TypeAlias = Literal["zeros", "reflect", "replicate", "circular"]


class PerAxis(NamedTuple):
    """Marker of an attribute that holds one item per spatial axis; a single item stands for all axes.

    An item is a whole number, or null if ``optional``.  With ``pairs`` it is stored as (before, after), and may be
    written as one number or as [before, after].  ``words`` are strings that are accepted instead.
    """

    least: int = 1
    optional: bool = False
    pairs: bool = False
    words: tuple[str, ...] = ()

    def read(self, value: Any, axes: int) -> Any:
        """Return the value in its internal form; ValueError if it is invalid."""
        if value in self.words:
            return value
        if isinstance(value, str) and self.words:
            raise ValueError(f"should be numbers or one of {', '.join(self.words)}")
        if isinstance(value, (list, tuple)):
            if len(value) != axes:
                raise ValueError(f"should be one item or {axes}, one for each axis")
            return tuple(self._item(item) for item in value)
        return (self._item(value),) * axes

    def _item(self, item: Any) -> Any:
        if item is None and self.optional:
            return None
        if self.pairs and isinstance(item, (list, tuple)):
            if len(item) != 2:
                raise ValueError("should be a number or [before, after] for each axis")
            before, after = item
            return whole_number(before, least=self.least), whole_number(after, least=self.least)
        number = whole_number(item, least=self.least)
        return (number, number) if self.pairs else number

    def schema(self, axes: int) -> dict[str, Any]:
        """Return the JSON Schema of the attribute."""
        number: dict[str, Any] = {"type": "integer", "minimum": self.least}
        forms: list[dict[str, Any]] = [number, {"type": "null"}] if self.optional else [number]
        item = [*forms, {"type": "array", "items": number, "minItems": 2, "maxItems": 2}] if self.pairs else forms
        listed = {"type": "array", "items": {"anyOf": item}, "minItems": axes, "maxItems": axes}
        words: list[dict[str, Any]] = [{"enum": list(self.words)}] if self.words else []
        return {"anyOf": [*forms, listed, *words]}


Sizes = Annotated[tuple[Any, ...], PerAxis()]
#: As ``Sizes``; null, for all axes or for one, selects the default of the operation.
OptionalSizes = Annotated[tuple[Any, ...], PerAxis(optional=True)]
Offsets = Annotated[tuple[Any, ...], PerAxis(least=0)]
Padding = Annotated[tuple[tuple[Any, Any], ...], PerAxis(least=0, pairs=True)]
#: Padding, or the name of a rule that computes it.
AutoPadding = Annotated[
    tuple[tuple[Any, Any], ...] | str, PerAxis(least=0, pairs=True, words=("valid", "same", "same_upper", "same_lower"))
]
#: As ``AutoPadding``, without the rule that is defined for stride 1 only.
PoolPadding = Annotated[
    tuple[tuple[Any, Any], ...] | str, PerAxis(least=0, pairs=True, words=("valid", "same_upper", "same_lower"))
]


class SpatialOperation(Operation):
    """Base of operations over ``axes`` spatial axes: the last axes of (channels, …) or (batch, channels, …)."""

    axes: ClassVar[int]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Append the details of the base classes to the page of an operation."""
        super().__init_subclass__(**keywords)
        if "axes" not in cls.__dict__:
            return
        if "channel_axis" not in cls.__dict__:
            cls.channel_axis = -cls.axes - 1
        family = [base for base in reversed(cls.__mro__[1:]) if issubclass(base, SpatialOperation)]
        pages = [inspect.cleandoc(base.__doc__ or "").partition("\n\n")[2] for base in family]
        cls.__doc__ = "\n\n".join(filter(None, [inspect.cleandoc(cls.__doc__ or ""), *pages]))

    @field_validator("*", mode="before")
    @classmethod
    def _for_each_axis(cls, value: Any, name: str) -> Any:
        marker = cls._markers().get(name)
        return marker.read(value, cls.axes) if marker else value

    @classmethod
    @cache
    def _markers(cls) -> dict[str, PerAxis]:
        return {
            name: marker
            for name, declared in cls.model_fields.items()
            for marker in declared.metadata
            if isinstance(marker, PerAxis)
        }

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        for name, marker in cls._markers().items():
            described = {k: v for k, v in schema["properties"][name].items() if k in ("description", "title")}
            default = cls.model_fields[name].default
            default_entry = {} if cls.model_fields[name].is_required() else {"default": default}
            schema["properties"][name] = described | default_entry | marker.schema(cls.axes)
        return schema

    # -- the input ----------------------------------------------------------------------------------

    def require_spatial(self, x: TensorType) -> None:
        """Raise RuleError unless ``x`` is floating point, (batch, channels, axes…) or (channels, axes…)."""
        require_float(x, self.name)
        require_rank(x, (self.axes + 1, self.axes + 2), self.name)

    def batch_of(self, x: TensorType) -> Dim:
        """Return the batch size; 1 if the input has no batch axis."""
        return x.shape[0] if x.rank == self.axes + 2 else 1

    def channels_of(self, x: TensorType) -> Dim:
        """Return the number of channels."""
        return x.shape[-self.axes - 1]

    def sizes_of(self, x: TensorType) -> tuple[Dim, ...]:
        """Return the sizes of the spatial axes."""
        return x.shape[-self.axes :]

    def by_axis(self, prefix: str, sizes: Sequence[Dim]) -> dict[str, Dim]:
        """Return sizes by axis as factors of a term: ``{"out_height": 112, "out_width": 112}``."""
        return {f"{prefix}_{axis}": size for axis, size in zip(AXES[self.axes], sizes, strict=True)}

    # -- the windows --------------------------------------------------------------------------------

    def window_counts(
        self,
        ctx: Context,
        sizes: Sequence[Dim],
        kernel: Sequence[Dim],
        stride: Sequence[Dim],
        pads: Pads,
        dilation: Sequence[Dim] | None = None,
        *,
        ceil_mode: bool = False,
    ) -> tuple[Any, ...]:
        """Return the number of windows along each axis; RuleError if none fits."""
        every = zip(AXES[self.axes], sizes, kernel, stride, pads, dilation or (1,) * self.axes, strict=True)
        return tuple(self._window_count(ctx, *axis, ceil_mode=ceil_mode) for axis in every)

    def counts_by_rule(self, ctx: Context, rule: str, sizes: Sequence[Dim], stride: Sequence[Dim]) -> tuple[Any, ...]:
        """Return the number of windows along each axis with padding by ``same``, ``same_upper`` or ``same_lower``."""
        results: list[Dim] = []
        for axis, size, step in zip(AXES[self.axes], sizes, stride, strict=True):
            letter = axis[0].upper()
            formula = letter if rule == "same" else f"ceil_div({letter}, s)"
            results.append(ctx.size(axis, formula, **{letter: size, "s": step}))
        return tuple(results)

    def _window_count(
        self,
        ctx: Context,
        axis: str,
        size: Dim,
        kernel: Dim,
        stride: Dim,
        pad: tuple[Dim, Dim],
        dilation: Dim,
        *,
        ceil_mode: bool,
    ) -> Dim:
        before, after = pad
        span = dilation * (kernel - 1) + 1
        padded = size + before + after
        if padded + (stride - 1 if ceil_mode else 0) < span:
            dilated = f" with dilation {dilation}, which spans {span}," if dilation != 1 else ""
            padding = f" with padding {before}" + (f" before and {after} after" if before != after else "")
            raise RuleError(
                f"{self.name}: a kernel of {kernel}{dilated} does not fit into a {axis} of {size}"
                + (padding if before != 0 or after != 0 else ""),
                hint=f"the {axis} with its padding must be at least {span}",
            )
        letter = axis[0].upper()
        extent = f"{letter} + 2*p" if before == after else f"{letter} + p0 + p1"
        extent += " - k" if dilation == 1 else " - d*(k - 1) - 1"
        formula = f"({extent})//s + 1"
        if ceil_mode:  # the last window must start inside the input or the padding before it
            first = "p" if before == after else "p0"
            formula = f"min(ceil_div({extent}, s) + 1, ceil_div({letter} + {first}, s))"
        values = {letter: size, "p": before, "p0": before, "p1": after, "k": kernel, "s": stride, "d": dilation}
        count: Dim = ctx.size(axis, formula, **values)
        return count

    def windows(
        self,
        x: TensorType,
        kernel: Sequence[Dim],
        stride: Sequence[Dim],
        pads: Pads,
        dilation: Sequence[Dim] | None = None,
        *,
        mixes_channels: bool = False,
    ) -> Reach:
        """Return the reach of the input of windows; channels are kept unless ``mixes_channels``."""
        others: dict[int, AxisReach] = {-self.axes - 1: "all"} if mixes_channels else {}
        each = zip(kernel, stride, pads, dilation or (1,) * self.axes, strict=True)
        for axis, (size, step, (before, _), spacing) in enumerate(each, start=x.rank - self.axes):
            others[axis] = "unknown"
            if isinstance(size, int) and isinstance(step, int) and isinstance(before, int) and isinstance(spacing, int):
                others[axis] = Window(axis, step, -before, spacing * (size - 1) - before, spacing=spacing)
        return axes_of(x, others)


def resolve_padding(
    padding: Pads | str, sizes: Sequence[Dim], kernel: Sequence[Dim], stride: Sequence[Dim], dilation: Sequence[Dim]
) -> Pads:
    """Return (before, after) for each axis, where ``padding`` may be the name of a rule.

    ``same`` adds dilation·(kernel − 1) in total; ``same_upper`` and ``same_lower`` add as much as a result of
    ⌈size / stride⌉ requires.  An odd element is added after, with ``same_lower`` before.
    """
    if not isinstance(padding, str):
        return padding
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    pads = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        total = d * (k - 1)
        if padding != "same":
            total = maximum((ceil_div(size, s) - 1) * s + total + 1 - size, 0)
        half = total // 2
        pads.append((total - half, half) if padding == "same_lower" else (half, total - half))
    return tuple(pads)


def check_pad_mode(name: str, mode: str, sizes: Sequence[Dim], pads: Pads) -> None:
    """Raise RuleError if the padding would repeat more elements than the axis has."""
    if mode not in ("reflect", "circular"):
        return
    for axis, size, pad in zip(AXES[len(sizes)], sizes, pads, strict=True):
        for side in pad:
            if side >= size if mode == "reflect" else side > size:
                limit = "smaller than" if mode == "reflect" else "at most"
                raise RuleError(f"{name}: {mode} padding must be {limit} the {axis} of {size}, and is {side}")


def per_group(name: str, what: str, channels: Dim, groups: Dim) -> Dim:
    """Return the channels per group; RuleError if the groups do not divide them."""
    share = divided(channels, groups)
    if share is None:
        raise RuleError(f"{name}: {channels} {what} channels do not divide into {groups} groups")
    return share
