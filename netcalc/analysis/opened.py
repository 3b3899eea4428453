"""Places where ``netcalc explain`` opens the figures of records, each declared once.

A record's field is named by its path: ``layers.*.macs`` is a figure of each item of a list.  In the texts of a place,
braces stand for fields of the record, or of the item.  Fields without a working are declared too, with the reason:
what is given, what is measured, and the gaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc.analysis.figures import FIGURES, Figure
from netcalc.results import recorded

#: Reason why a field has no working of its own.
#:
#: ``given`` by the model, options or the data of a device, which the record names;  ``numbering`` of instances;
#: ``part`` of the working of another field, in a step that stands for several;  ``measured`` in a run;  ``gap``.
Reason: TypeAlias = Literal["given", "numbering", "part", "measured", "gap"]


@recorded("field", "sections", "steps", "without", "where", "together", "reason")
class Opened(NamedTuple):
    """Place of the working of a figure.

    Attributes:
        field: path of the field in the record; ``*`` stands for items of lists and for keys.
        sections: patterns of the titles of sections, of which all that match are added.
        steps: pattern of the labels of steps in each section, of which all that match are added; the last if empty.
        without: pattern of the labels of steps that do not count.
        options: options of ``explain`` beside those of the verb.
        path: path of the layer.
        where: values of fields of the item, to which the place is restricted.
        model: place of the model among those of the record, ``*`` for the place of the item; empty for a record of one.
        settings: field of the item that has the settings of the model; empty for those of the record.
        together: True if the working is of the sum over all items.
        reason: reason for no working; empty for a working.
    """

    field: str
    sections: tuple[str, ...] = ()
    steps: str = ""
    without: str = ""
    options: Mapping[str, Any] = {}
    path: str = ""
    where: Mapping[str, str] = {}
    together: bool = False
    model: str = ""
    settings: str = ""
    reason: Reason | Literal[""] = ""


def without_working(reason: Reason, *fields: str) -> Iterator[Opened]:
    """Yield fields that have no working of their own, for one reason."""
    yield from (Opened(field, reason=reason) for field in fields)


_TYPES = ("inputs.*", "outputs.*")


def _counts() -> Iterator[Opened]:
    """Yield the places of the counts."""
    for name, figure in FIGURES.items():
        title = figure.total or figure.title
        alternatives = (title,) if name != "params_trainable" else (title, _title(FIGURES["params"]))
        yield Opened(f"totals.{name}", alternatives, "sum")
        yield Opened(f"excluded.*.totals.{name}", (title,), "without {pattern}")
    yield Opened("sizes.total", ("size in bytes",), "sum")
    yield Opened("sizes.*", ("size in bytes",), "{field}")
    yield Opened("figures.*.value", ("{name}",))
    layer = "{path}"
    yield Opened("layers.*.macts", ("activations",), "activations", path=layer)
    yield Opened("layers.*.params", ("parameters",), "*", "*(*buffer*|*(*tied to*", path=layer)
    yield Opened("layers.*.buffers", ("parameters",), "*(buffer*", path=layer)
    yield Opened("layers.*.params_tied", ("parameters",), "*(tied to*", path=layer)
    for figure_name, label in (("macs", "MACs"), ("flops", "FLOPs")):
        yield Opened(f"layers.*.{figure_name}", ("counted",), label, path=layer)
        yield Opened(f"layers.*.{figure_name}_backward", ("backward counted",), label, path=layer)
        yield Opened(f"layers.*.{figure_name}_update", ("update",), label, path=layer)
        yield Opened(f"layers.*.{figure_name}_total", ("counted", "backward counted", "update"), label, path=layer)
    yield from without_working(
        "part", "layers.*.params_trainable", "layers.*.weight_bytes", "figures.*.netcalc", "figures.*.differences.*"
    )
    yield from without_working("part", "masked_attention.*")
    yield from without_working("numbering", "layers.*.repeat", "layers.*.instances.*", "layers.*.calls")
    yield from without_working("numbering", "layers.*.excluded", "excluded.*.layers")
    yield from without_working("part", "layers.*.inputs.*", "layers.*.outputs.*")
    yield from without_working("given", *_TYPES)


def _title(figure: Figure) -> str:
    return figure.total or figure.title


def _memory() -> Iterator[Opened]:
    """Yield the places of ``memory``, which ``explain --memory`` opens."""
    step = {"memory": True}
    yield Opened("weights", ("weights, *", "adapters, *"), options=step)
    yield Opened("buffers", ("buffers",), "*", options=step)
    yield Opened("stored.*.bytes", ("weights, {scheme}",), options=step, where={"role": "weights"})
    yield Opened("stored.*.bytes", ("buffers",), "{scheme}", options=step, where={"role": "buffers"})
    yield Opened("token_bytes", ("cells of caches and states",), "a token in all layers", options=step)
    yield Opened("conventions.*.caches", ("caches and states, {name}",), options=step)
    yield Opened("conventions.*.total", ("total",), "{name}|ideal", options=step)
    yield Opened("kept.*.bytes.*", ("caches and states, {field}",), options=step, together=True)
    for name in ("ideal", "eager"):
        yield Opened(f"{name}.peak", (f"activations, {name}",), options=step)
        yield Opened(f"{name}.live.*.bytes", (f"activations, {name}",), options=step, together=True)
        yield from without_working("part", f"{name}.live.*.shape.*")
    yield Opened("saved.eager", ("kept for the backward pass",), "sum", options=step)
    yield Opened("saved.operations.*.bytes", ("kept for the backward pass",), "{op}, *", options=step)
    yield Opened("training.kept", ("kept for the backward pass",), "sum", options=step)
    yield Opened("training.master", ("copy of the weights",), options=step)
    yield Opened("training.gradients", ("gradients",), options=step)
    yield Opened("training.states.*.bytes", ("states of the optimizer",), "{name}", options=step)
    for name in ("gradients", "kept", "temporaries"):
        yield Opened(f"training.peak.{name}", ("peak of the step",), name, options=step)
    yield Opened("training.peak.total", ("peak of the step",), options=step)
    yield Opened("step", ("total",), "step of training", options=step)
    yield from without_working("part", "stored.*.elements", "kept.*.cell.*", "kept.*.cell_bytes", "kept.*.cells.*")
    yield from without_working("part", "training.trained", "saved.operations.*.tensors")
    yield from without_working("given", "past", "new", "kept.*.sequences", "kept.*.positions", "kept.*.window")
    yield from without_working("given", "training.micro_batch", "training.accumulate", "tokens_in.budget", *_TYPES)
    yield from without_working("given", "symbolic_step.accumulate")
    yield from without_working("numbering", "kept.*.layer", "layers.*.repeat")
    yield Opened("layers.*.bytes", ("live by layer",), "{path}", options=step)
    yield Opened("saved.ideal", ("kept for the backward pass, ideal",), options=step)
    yield Opened("engine.*", ("memory of the engine",), "{field}", options=step)
    yield Opened("tokens_in.tokens.*", ("tokens that fit, {field}",), "tokens", options=step)
    for place in ("device", "host"):
        memory = f"memory of the {place}"
        yield Opened(f"placement.{place}.weights", (memory,), "weights", options=step)
        yield Opened(f"placement.{place}.activations", (memory,), "activations", options=step)
        for name, label in (("caches", "caches and states"), ("beside", "further models"), ("totals", "total")):
            yield Opened(f"placement.{place}.{name}.*", (memory,), f"{label}, {{field}}", options=step)
    yield Opened("placement.copied", ("memory of the device",), "weights copied embeddings", options=step)
    beside = "{role} {name}"
    for name, label in (
        ("weights", "weights"),
        ("activations", "activations"),
        ("caches.*", "caches and states, {field}"),
    ):
        yield Opened(f"placement.beside.*.{name}", (f"{beside}: {label}",), options=step)
    yield from without_working("given", "placement.gpu_layers", "placement.host_experts")
    yield from without_working("numbering", "placement.layers")


def _fit() -> Iterator[Opened]:
    """Yield the places of ``fit``, which ``explain --fit`` opens."""
    fit = {"fit": True}
    yield Opened("need.*.bytes", ("memory of the workload",), "{name}", options=fit)
    yield Opened("total", ("memory of the workload",), "sum", options=fit)
    yield Opened("margin", ("margin",), options=fit)
    # the memory on both sides of an edge; of a scheme, `explain --fit --quantize SCHEME`
    yield from without_working("part", "largest_batch.number", "largest_length.number", "schemes.*")
    yield from without_working("given", "workload.*", "memory.*")


def _time() -> Iterator[Opened]:
    """Yield the places of ``time``, which ``explain --device`` opens."""
    yield Opened("flops", ("FLOPs of the layers",))
    yield Opened("read", ("bytes that are read",))
    yield Opened("written", ("bytes that are written",))
    yield Opened("seconds", ("time of the layers",))
    yield Opened("roofs.*", ("{field} on its own",))
    for field, label in (("intensity", "FLOPs a byte"), ("tokens_per_second", "tokens/s"), ("mfu", "MFU")):
        yield Opened(field, ("rates at the bound",), label)
    for field, label in (("flops", "FLOPs"), ("intensity", "FLOPs a byte"), ("seconds", "at least")):
        yield Opened(f"layers.*.{field}", ("{title}", "{title} ×*"), label, path="{title}")
    yield Opened("layers.*.roofs.*", ("{title}", "{title} ×*"), "{field}", path="{title}")
    yield from without_working("part", "layers.*.read", "layers.*.written", "layers.*.sent", "layers.*.sent_away")
    yield from without_working("part", "masked_attention.*")
    yield from without_working("numbering", "layers.*.repeat")
    yield from without_working("part", "layers.*.rate", "roofline.ridge")
    yield from without_working(
        "given", "device.*", "devices", "peak.flops", "roofline.*", "tokens", "efficiency", *_TYPES
    )
    yield Opened("estimated_seconds", ("time at the efficiency",))
    yield from without_working("given", "run.tokens", "run.efficiency")
    yield Opened("run.*", ("whole training",), "{field}")


def _budget() -> Iterator[Opened]:
    """Yield the places of ``budget``: those of the counts and of ``memory``."""
    for name in ("params", "macs", "flops"):
        yield Opened("rows.*.counted", (_title(FIGURES[name]),), "sum", where={"figure": name})
    activations = {"convention": "timm"}  # of a convention that does not count them
    yield Opened("rows.*.counted", ("activations",), "sum", options=activations, where={"figure": "macts"})
    memory = {"memory": True}
    yield Opened("rows.*.counted", ("weights, *",), options=memory, where={"figure": "weights"})
    yield Opened("rows.*.counted", ("activations, ideal",), options=memory, where={"figure": "activations"})
    yield Opened("rows.*.counted", ("total",), "ideal", options=memory, where={"figure": "memory"})
    yield from without_working("given", "rows.*.limit")
    yield from without_working("part", "rows.*.heaviest.*")


def _reconcile() -> Iterator[Opened]:
    """Yield the places of ``reconcile``, whose groups are the working of the difference."""
    for side in ("before", "after"):
        options = {"convention": f"{{{side}.convention}}"}
        for figure in ("flops", "flops_total"):
            title = _title(FIGURES[figure])
            yield Opened(f"{side}.work", (title,), "sum", options=options, where={"figure": figure})
    # `reconcile --depth` has the layers of a group, and `explain PATH --convention` their terms
    yield from without_working("part", "difference", "groups.*")


def _compare() -> Iterator[Opened]:
    """Yield the places of ``compare``, each in the working of one of the models."""
    for name, figure in FIGURES.items():
        alternatives = (_title(figure),) if name != "params_trainable" else (_title(figure), _title(FIGURES["params"]))
        yield Opened(f"totals.{name}.values.*", alternatives, "sum", model="*")
    yield from without_working("part", "totals.*.difference.*", "totals.*.ratio.*")
    # figures of layers and operations are those of `summary` of each model
    yield from without_working("part", "operations.*", "layers.*")
    yield from without_working("given", *_TYPES)


def _memory_table() -> Iterator[Opened]:
    """Yield the places of ``memory --over``, each in the working of the memory at the sizes of a point."""
    step = {"memory": True}
    places = (
        ("weights", ("weights, *", "adapters, *"), ""),
        ("buffers", ("buffers",), "*"),
        ("caches.*", ("caches and states, {field}",), ""),
        ("activations", ("activations, ideal",), ""),
        ("gradients", ("peak of the step",), "gradients"),
        ("states", ("copy of the weights", "states of the optimizer"), ""),
        ("saved", ("peak of the step",), "kept"),
        ("temporaries", ("peak of the step",), "temporaries"),
        ("totals.*", ("total",), "step of training|{field}"),
    )
    for name, sections, steps in places:
        yield Opened(f"points.*.{name}", sections, steps, options=step, settings="sizes")
    yield from without_working("given", "ranges.*", "points.*.sizes.*")


def _reconcile_models() -> Iterator[Opened]:
    """Yield the places of ``reconcile MODEL MODEL``: totals in the workings of the models."""
    counted = {"convention": "{convention}"}
    for place, side in enumerate(("before", "after")):
        yield Opened(f"params.{side}", (_title(FIGURES["params"]),), "sum", model=str(place))
        yield Opened(f"work.{side}", (_title(FIGURES["flops"]),), "sum", options=counted, model=str(place))
    # layers are the working of the difference, and `explain PATH` of each model opens them
    yield from without_working("part", "params.difference", "work.difference", "layers.*", "operations.*", "equal.*")


def _reported() -> Iterator[Opened]:
    """Yield the places of ``reconcile --reported``: a record has the command that prints each figure."""
    yield from without_working("measured", "explanations.*.chance", "nearest.chance")
    # `counted` is opened where its command prints it, and the arithmetic of the value stands beside it
    yield from without_working("part", "explanations.*", "nearest.*", "left_over")
    yield from without_working("numbering", "candidates")


#: Places by the name of the record; the first that matches a field counts.
OPENED: Mapping[str, tuple[Opened, ...]] = {
    **dict.fromkeys(("shapes", "params", "flops", "summary"), tuple(_counts())),
    "memory": tuple(_memory()),
    "fit": tuple(_fit()),
    "time": tuple(_time()),
    "budget": tuple(_budget()),
    "reconcile": tuple(_reconcile()),
    "compare": tuple(_compare()),
    "memory-table": tuple(_memory_table()),
    "reconcile-models": tuple(_reconcile_models()),
    "reconcile-reported": tuple(_reported()),
    # the workings that other figures end in
    "explain": tuple(without_working("part", "*")),
    # a published figure as it is printed, beside what a command prints
    "reproduce": tuple(without_working("part", "*")),
    # totals of `summary` in the sizes, whose formulas are their workings
    **dict.fromkeys(("formulas", "scaling"), tuple(without_working("part", "*"))),
    # boxes, networks and parts whose figures are those of `summary`, `memory` and `time`
    **dict.fromkeys(("graph", "report", "pipeline"), tuple(without_working("part", "*"))),
    # a file, with the parameters that `summary` counts
    "export": tuple(without_working("part", "*")),
    # networks at other sizes, whose figures are those of these commands there
    **dict.fromkeys(("solution", "sweep"), tuple(without_working("part", "*"))),
    # statistics of a run, beside the mean-field predictions of stages, which `signal` prints with their formulas
    "signal": tuple(without_working("measured", "*")),
    **dict.fromkeys(
        ("run", "gradients", "rounding", "train", "verify", "verify-reference"), tuple(without_working("measured", "*"))
    ),
}


def opened(record: str, field: str, item: Mapping[str, Any]) -> Opened | None:
    """Return the place where a field of a record is opened; None if none is declared.

    Args:
        record: name of the record.
        field: path of the field, with ``*`` for the items of lists.
        item: the fields of the record, and of the item.

    >>> opened("memory", "ideal.peak", {}).sections
    ('activations, ideal',)
    """
    for place in OPENED.get(record, ()):
        if fnmatchcase(field, place.field) and all(item.get(name) == value for name, value in place.where.items()):
            return place
    return None
