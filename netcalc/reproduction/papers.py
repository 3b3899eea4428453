"""Published figures as data: the files of ``data/published``, one for each paper, and files of users of the same form.

Keys are those of :class:`Paper`.  A figure is what an expression makes of values, and a value is a number of the
source, or a field of the result of a method of netcalc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.expressions import ExpressionError, parse
from netcalc.models import ConfigDict, Field, Model, ValidationError, field_validator, model_validator
from netcalc.reproduction.printed import Printed, printed_figure
from netcalc.spec.cursor import Cursor
from netcalc.spec.validation import diagnose
from netcalc.spec.yaml_document import parse_yaml

FOLDER = Path(__file__).parent.parent / "data" / "published"
#: Methods of a network that give a value, each also a command.
METHODS = ("summary", "memory", "time")
_Text = Annotated[str, Field(min_length=1, max_length=2000)]


class _Part(Model):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True, defer_build=True)


class NetworkData(_Part):
    """A model at sizes of the paper, under a name."""

    model: _Text = Field(description="shipped spec, or a .yaml file beside this one")
    set: dict[str, Any] = Field({}, description="dims and vars")
    load: dict[str, Any] = Field({}, description="other options of netcalc.load, such as dtype and quantize")


class Value(_Part):
    """Field of a result: of a network, of one of its methods, of an activation function, or of a device."""

    model: str = Field("", description="shipped spec, a .yaml file beside this one, or a name of `networks`")
    set: dict[str, Any] = Field({}, description="dims and vars, beside those of the network")
    load: dict[str, Any] = Field({}, description="other options of netcalc.load")
    summary: dict[str, Any] | None = Field(None, description="arguments of Network.summary")
    memory: dict[str, Any] | None = Field(None, description="arguments of Network.memory")
    time: dict[str, Any] | None = Field(None, description="arguments of Network.time")
    mean_field: dict[str, Any] | None = Field(
        None, description="activation, and variances of weights and biases; see reproduction/mean_field.py"
    )
    device: str = Field("", description="name of a device")
    field: _Text = Field(
        description="path in the JSON record of the method, or of an attribute of the network; of lists the sum of "
        "all items, each as often as its `repeat` says"
    )
    where: dict[str, Any] = Field({}, description="patterns that fields of items of lists match, or null")
    about: str = ""

    @property
    def problem(self) -> str:
        """Reason why the keys do not go together; empty if they do."""
        if (self.model != "") + (self.mean_field is not None) + (self.device != "") != 1:
            return "a value is of a model, a mean_field or a device"
        called = [name for name in METHODS if getattr(self, name) is not None]
        return "a value is of one method of a model" if len(called) > (self.model != "") else ""

    @property
    def method(self) -> str:
        """Name of the method; empty for an attribute of the network."""
        return next((name for name in METHODS if getattr(self, name) is not None), "")

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Arguments of the method."""
        return getattr(self, self.method) if self.method else {}


class FigureData(_Part):
    """A printed figure and what it is computed from."""

    id: Annotated[str, Field(pattern=r"[a-z0-9][a-z0-9.\-]*", max_length=60)]
    printed: _Text | int = Field(description="the figure as printed: 59.25 GiB, 3.14e23, 34,560; a whole one is exact")
    means: str = Field("", description="unit that is meant, where the source prints another: GB for GiB")
    digits: Annotated[int, Field(ge=1)] | None = Field(
        None, description="significant digits of a rounded whole number: 2 of 43,000"
    )
    what: str = Field("", description="quantity in words")
    where: str = Field("", description="table, figure or section of the source")
    convention: str = Field("", description="what is counted, and how; that of the paper by default")
    values: dict[str, int | float | str | Value] = Field({}, description="values by name, beside those of the paper")
    value: _Text | None = Field(None, description="expression of values; by default the only value")
    reason: str = Field("", description="reason why the computed figure is another one, in numbers")
    note: str = Field("", description="remark on a figure that is reproduced")

    @model_validator(mode="after")
    def _is_printed(self) -> Self:
        printed_figure(self.printed, self.means, self.digits)
        if self.value is None and len(self.values) != 1:
            raise ValueError("a figure without `value` has one of `values`")
        if self.reason and self.note:
            raise ValueError("a figure has a reason or a note")
        return self

    @property
    def expression(self) -> str:
        """Expression of values that gives the figure."""
        return self.value or next(iter(self.values))


class Paper(_Part):
    """Source with figures."""

    paper: _Text = Field(description="authors, year and title")
    source: _Text = Field(description="number of the preprint, or address")
    read: str = Field("", description="where the printed digits were read, if not there")
    convention: str = ""
    networks: dict[str, NetworkData] = Field({}, description="models at sizes of the paper, by name")
    values: dict[str, int | float | str | Value] = Field({}, description="values by name, for all figures")
    figures: list[FigureData]

    @field_validator("figures")
    @classmethod
    def _has_each_once(cls, figures: list[FigureData]) -> list[FigureData]:
        names = [figure.id for figure in figures]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the id {repeated[0]} is given twice")
        return figures


class PaperFile(NamedTuple):
    """A paper with the place of everything in its file."""

    name: str
    """Name of the file without suffix."""
    paper: Paper
    cursor: Cursor
    folder: Path
    """Folder that models in files are relative to."""

    def figures(self) -> Iterator[tuple[str, FigureData]]:
        """Yield the figures with their full names."""
        for figure in self.paper.figures:
            yield f"{self.name}/{figure.id}", figure

    def network(self, value: Value) -> NetworkData:
        """Return the model of a value with all settings."""
        known = self.paper.networks.get(value.model)
        if known is None:
            return NetworkData(model=value.model, set=value.set, load=value.load)
        return NetworkData(model=known.model, set={**known.set, **value.set}, load={**known.load, **value.load})

    def values_of(self, figure: FigureData) -> dict[str, Any]:
        """Return the values that the expression of a figure uses, in the order of their first use."""
        given = {**self.paper.values, **figure.values}
        used: dict[str, Any] = {}

        def visit(text: str, above: tuple[str, ...]) -> None:
            for name in sorted(parse(text).names(), key=text.find):
                if name in above or name not in given:
                    what = "refers to itself" if name in above else "is no value of the figure or the paper"
                    raise self.error(figure, "E202", f"{name!r} {what}")
                value = given[name]
                if isinstance(value, str):
                    visit(value, (*above, name))
                used.setdefault(name, value)

        try:
            visit(figure.expression, ())
        except ExpressionError as error:
            raise self.error(figure, error.code, error.message) from None
        return used

    def error(self, figure: FigureData, code: str, message: str, hint: str | None = None) -> NetcalcError:
        """Return an error of a figure at its place in the file."""
        index = next(index for index, own in enumerate(self.paper.figures) if own is figure)
        return self.cursor.at(("figures", index)).error(code, f"{self.name}/{figure.id}: {message}", hint)

    def printed(self, figure: FigureData) -> Printed:
        """Return a printed figure as a number."""
        return printed_figure(figure.printed, figure.means, figure.digits)


def paper_in(path: Path, label: str = "") -> PaperFile:
    """Return the paper of a file.

    Args:
        path: the file.
        label: name of the file in diagnostics, by default the path.

    Raises:
        NetcalcError: E605 if the file cannot be read; E001 to E003 if it is no YAML, and E101, E104 and E105 for
            everything in it that is no paper, at its place.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NetcalcError(Diagnostic("E605", f"{path}: {getattr(error, 'strerror', None) or error}")) from None
    cursor = parse_yaml(text, label or str(path))
    try:
        paper = Paper.model_validate(cursor.data)
    except ValidationError as error:
        raise NetcalcError(diagnose(error, cursor, Paper)) from None
    _check_values(cursor, paper.values)
    for place, figure in enumerate(paper.figures):
        _check_values(cursor.at(("figures", place)), figure.values)
    return PaperFile(path.stem, paper, cursor, path.parent)


def _check_values(cursor: Cursor, values: Mapping[str, Any]) -> None:
    """Raise NetcalcError (E104) for a value that is not of one thing; unions of types have no room for the reason."""
    for name, value in values.items():
        if isinstance(value, Value) and value.problem:
            raise cursor.at(("values", name)).error("E104", f"value {name!r}: {value.problem}")


def paper_names() -> list[str]:
    """Return the names of the shipped papers."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def shipped_paper(name: str) -> PaperFile:
    """Return a shipped paper by its name."""
    return paper_in(FOLDER / f"{name}.yaml", f"netcalc/data/published/{name}.yaml")
