"""The functions that the page of the browser asks for, as JSON texts; they are clients of netcalc's Python API.

A document is a text with the options that the page has of it.  ``call`` answers with a result, or with the errors.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import netcalc
from netcalc import NetcalcError
from netcalc.analysis.shares import shares_of
from netcalc.language import Document, Edit, Options, Position, Problem, Range
from netcalc.limits import MAX_BLOCK_DEPTH, MAX_DEPTH, MAX_SPEC_SIZE
from netcalc.loading import read_settings
from netcalc.records.writing import record
from netcalc.records.writing import written as written_data
from netcalc.spec.shipped import shipped_file

#: Folder of the files that were dropped on the page.
FOLDER = Path("/home/page")
#: Rows of a table that the page draws.
MOST_ROWS = 2000
#: Problems that the page lists.
MOST_PROBLEMS = 100
#: Options of a document that change its network.
_OF_NETWORK = ("set", "dtype", "mode", "symbolic", "quantize", "lora")
_OPEN = MAX_DEPTH * MAX_BLOCK_DEPTH
#: Networks and documents of the last texts.
_networks: dict[str, netcalc.Network] = {}
_document = Document("", folder=FOLDER)


def call(method: str, arguments: str) -> str:
    """Return the answer to a question of the page, as JSON: ``result``, ``errors``, or the ``failure`` of netcalc."""
    try:
        return _written({"result": _METHODS[method](**json.loads(arguments))})
    except NetcalcError as error:
        return _written({"errors": [_unplaced(each) for each in error.diagnostics]})
    except (Exception, RecursionError) as error:
        trace = "".join(traceback.format_exception(error, limit=-6))
        return _written({"failure": f"{type(error).__name__}: {error}"[:500], "trace": trace[-4000:]})


def _written(answer: Any) -> str:
    return json.dumps(_exact(answer), separators=(",", ":"), allow_nan=False)


def _exact(data: Any) -> Any:
    """Return data whose integers are texts where a double does not have them exactly, as on the pages of reports."""
    if isinstance(data, dict):
        return {name: _exact(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [*map(_exact, data)]
    return str(data) if isinstance(data, int) and not -(2**53) < data < 2**53 else data


def _unplaced(error: netcalc.Diagnostic) -> dict[str, Any]:
    """Return an error that is not one of the text, as ``_problem`` does."""
    severity = "warning" if error.is_warning else "error"
    notes = [_named(fact.text) for fact in error.related]
    head = {"code": error.code, "severity": severity, "message": _named(error.message), "range": None}
    return head | {"hint": error.hint, "fixes": [], "notes": notes, "place": _named(str(error.span or ""))}


def _named(text: str) -> str:
    """Return a text with files as the page names them, without the folders that it has them in."""
    for folder in ("files", "imported"):
        text = text.replace(f"{FOLDER / folder}/", "")
    return text


def _problem(problem: Problem) -> dict[str, Any]:
    own = problem.place.startswith("<text>:")
    fixes = [{"title": fix.title, "edits": [*map(_edit, fix.edits)]} for fix in problem.fixes]
    notes = [" ".join(filter(None, (note.message, "" if note.range else note.place))) for note in problem.notes]
    head = {"code": problem.code, "severity": problem.severity, "message": problem.message, "hint": problem.hint}
    place = problem.place.removeprefix("<text>:") if own else problem.place
    placed = own or problem.range.end > Position(0, 0)
    return head | {"range": _range(problem.range) if placed else None, "fixes": fixes, "notes": notes, "place": place}


def _range(place: Range) -> list[list[int]]:
    return [_position(place.start), _position(place.end)]


def _position(position: Position) -> list[int]:
    return [position.line, position.character]


def _edit(edit: Edit) -> dict[str, Any]:
    return {"range": _range(edit.range), "text": edit.text}


def _analyzed(text: str, options: Mapping[str, Any]) -> Document:
    """Return the document of a text, which analyzes it when it is asked."""
    settings = read_settings(options.get("set") or ())
    symbolic = tuple(options.get("symbolic") or ())
    _document.update(text)
    _document.configure(Options(options.get("convention") or "netcalc", symbolic, settings, options.get("dtype")))
    return _document


def _network(text: str, options: Mapping[str, Any]) -> netcalc.Network:
    """Return the network of a document, kept for the next question about it."""
    given = {name: options[name] for name in _OF_NETWORK if options.get(name)}
    key = json.dumps([text, given], sort_keys=True)
    if key in _networks:
        _networks[key] = _networks.pop(key)
        return _networks[key]
    network = netcalc.loads(text, folder=FOLDER, **given)
    _networks[key] = network
    while len(_networks) > 4:
        del _networks[next(iter(_networks))]
    return network


def _counted(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of counts among those of a document."""
    names = ("convention", "training", "backward")
    return {name: options[name] for name in names if options.get(name)}


def _asked(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as the command line has them."""
    asked = {}
    for name in (*_OF_NETWORK, "convention", "training"):
        value = options.get(name)
        if name == "set":
            asked |= dict(item.split("=", 1) for item in value or ())
        elif value:
            asked[f"--{name}"] = value if isinstance(value, str) else " ".join(value)
    return asked


def count(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is wrong with a document, the results of its lines, and its figures if there is no error."""
    analysis = _analyzed(text, options).analyze()
    problems = [*map(_problem, analysis.problems)]
    network = None
    if all(problem["severity"] != "error" for problem in problems):
        try:
            network = _figures(text, options)
        except NetcalcError as error:
            problems += map(_unplaced, error.diagnostics)
    hints = [[hint.line, hint.text(), hint.path] for hint in analysis.hints[:MOST_ROWS]]
    return {"problems": problems[:MOST_PROBLEMS], "hints": hints, "network": network}


def _figures(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return totals and layers of a document, as the page of a report has them."""
    network = _network(text, options)
    summary = network.summary(**_counted(options))
    program = summary.analysis.program
    counted = record(summary)
    shares = shares_of(summary)
    rows = len(counted["layers"])
    counted["layers"] = counted["layers"][:MOST_ROWS]
    return {
        "title": network.name,
        "about": program.about,
        "source": program.source,
        "settings": _asked(options),
        "counted_by": summary.analysis.convention.about,
        "summary": counted,
        "rows": rows,
        "shares": {name: values[:MOST_ROWS] for name, values in shares.items()},
        "titles": {layer.path: layer.title for layer in summary.layers[:MOST_ROWS]},
    }


def complete(text: str, options: Mapping[str, Any], position: Sequence[int]) -> list[dict[str, Any]]:
    """Return what may stand at a place of a text."""
    found = _analyzed(text, options).complete(Position(*position))
    fields = ("label", "kind", "detail", "documentation", "snippet")
    return [{**{name: getattr(each, name) for name in fields}, "edit": _edit(each.edit)} for each in found]


def hover(text: str, options: Mapping[str, Any], position: Sequence[int]) -> dict[str, Any] | None:
    """Return the text about a place of a text, in Markdown."""
    found = _analyzed(text, options).hover(Position(*position))
    return None if found is None else {"markdown": found.markdown, "range": _range(found.range)}


def describe(text: str, options: Mapping[str, Any], name: str) -> str:
    """Return the page of an operation or block, in Markdown."""
    return _analyzed(text, options).describe(name)


def sizes(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return dims and vars of a document: type, default, limits and meaning, as ``netcalc specs`` has them."""
    from netcalc.reference.specs import describe as described_spec

    described = record(described_spec(_network(text, {**options, "set": ()}).request.source, "netcalc"))
    return {"dims": described["dims"], "vars": described["vars"]}


def explain(
    text: str,
    options: Mapping[str, Any],
    path: str | None = None,
    memory: bool = False,
    operation: str | None = None,
) -> dict[str, Any]:
    """Return the working of a layer or block, of the totals, of the memory, or of all executions of an operation."""
    network = _network(text, options)
    if operation is not None:
        from netcalc.analysis.explain_operation import explain_operation

        return record(explain_operation(network.analysis(**_counted(options)), operation))
    if memory:
        return record(network.explain(memory=True))
    return record(network.explain(path, **_counted(options)))


def memory(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return weights, caches and activations."""
    asked = {name: options[name] for name in ("training", "phase") if options.get(name)}
    return record(_network(text, options).memory(**asked))


def graph(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the architecture with all blocks opened."""
    return record(_network(text, options).graph(convention=options.get("convention") or "netcalc", depth=_OPEN))


def compare(documents: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the comparison of two documents under the convention of the first."""
    networks = [_network(each["text"], each["options"]) for each in documents]
    convention = documents[0]["options"].get("convention") or "netcalc"
    return record(netcalc.compare(*networks, convention=convention))


def written(text: str, options: Mapping[str, Any], format: str) -> str:
    """Return the summary of a document in ``json``, ``csv`` or ``markdown``."""
    from netcalc.render.presentations import View, lines

    summary = _network(text, options).summary(**_counted(options))
    return "\n".join(lines(summary, View(format=format))) + "\n"


def specs() -> list[dict[str, Any]]:
    """Return the shipped specs with their figures."""
    fields = ("name", "family", "about", "aliases", "params", "macs")
    return [{name: spec[name] for name in fields} for spec in record(netcalc.list_specs())["specs"]]


def spec(name: str) -> str:
    """Return the text of a shipped spec."""
    file = shipped_file(name)
    if file is None:
        netcalc.describe(name)  # raises with the nearest name
        raise AssertionError(name)
    return file.read_text()


def choices() -> dict[str, Any]:
    """Return the names of conventions, schemes and optimizers, and the places where workings open fields of records."""
    from netcalc.analysis.conventions import CONVENTIONS
    from netcalc.analysis.opened import OPENED
    from netcalc.analysis.optimizers import optimizer_names
    from netcalc.schemes.scheme import scheme_names

    opened = {name: written_data(OPENED[name]) for name in ("summary", "memory")}
    return {
        "conventions": [*CONVENTIONS],
        "schemes": scheme_names(),
        "optimizers": [*optimizer_names()],
        "opened": opened,
    }


def imported(files: Mapping[str, str]) -> dict[str, Any]:
    """Return the spec of a model in files of other libraries, such as ``config.json``, as ``_imported`` does.

    Args:
        files: texts by name: a configuration, or that of an adapter with the one of its base model.
    """
    adapter = files.get("adapter_config.json")
    name = "config.json" if adapter is None else "adapter_config.json"
    folder = FOLDER / "imported"
    folder.mkdir(parents=True, exist_ok=True)
    if adapter is None:
        (folder / name).write_text(files[name])
    else:
        (folder / name).write_text(adapter)
        base = _base(adapter)
        if base is not None and "config.json" in files:
            (folder / base).mkdir(parents=True, exist_ok=True)
            (folder / base / "config.json").write_text(files["config.json"])
    return _imported(folder / name)


def tensors(name: str) -> dict[str, Any]:
    """Return the tensors of a file that is on the page, from its header."""
    found = record(netcalc.read_checkpoint(FOLDER / "files" / name))
    rows = found["tensors"]
    return {**found, "rows": len(rows), "tensors": rows[:MOST_ROWS]}


def imported_file(name: str) -> dict[str, Any]:
    """Return the spec of a model in one file that is on the page, from its header, as ``_imported`` does."""
    return _imported(FOLDER / "files" / name)


def _imported(path: Path) -> dict[str, Any]:
    """Return the spec of a model, with the options that store its parameters as its checkpoint does.

    The ``note`` says why there are none where the checkpoint has schemes.
    """
    from netcalc.analysis.precision.written import assignments_of

    text = netcalc.import_spec(path)
    try:
        network = netcalc.load(path)
        rules = assignments_of(network.request.program)
        if not rules:
            return {"text": text, "options": {}, "note": ""}
        kept = netcalc.loads(text, folder=FOLDER, quantize=rules)
        if kept.storage().bytes == network.storage().bytes:
            return {"text": text, "options": {"quantize": [*rules]}, "note": ""}
        note = "no setting of the page stores parameters as this file does"
    except NetcalcError as error:
        note = error.diagnostics[0].message
    return {"text": text, "options": {}, "note": f"Parameters are counted in full precision: {note}."}


def _base(adapter: str) -> str | None:
    """Return the name of the base model of an adapter if it can be the name of a folder."""
    try:
        name = json.loads(adapter).get("base_model_name_or_path")
    except (ValueError, AttributeError, RecursionError):
        return None
    plain = isinstance(name, str) and 0 < len(name) <= 200
    return name if plain and not name.startswith("/") and ".." not in name.split("/") else None


_METHODS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(count, complete, hover, describe, sizes, explain, memory, graph, compare),
        *(written, specs, spec, choices, imported, imported_file, tensors),
    )
}
#: Largest text that the page takes from a file.
MOST_TEXT = int(MAX_SPEC_SIZE)
