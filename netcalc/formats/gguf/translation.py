"""Translation of a model in GGUF into a spec document that extends a shipped spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import filter as matching
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import NetcalcError, Span, did_you_mean, written
from netcalc.formats.documents import Document, typed
from netcalc.formats.gguf.rope import DIVISORS, PREFIX, rope_scaling
from netcalc.formats.gguf.tables import GgufTable
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate_expression, words_in

if TYPE_CHECKING:
    from netcalc.weights.gguf.tensors import GgufFile

#: Element type of a program by the type of most weights; quantized ones are computed in float32.
_DTYPES = {"F16": "float16", "BF16": "bfloat16", "F64": "float64"}
#: Bytes of a tensor with divisors of rotary frequencies.
_MAX_DIVISORS = 65_536


def field_name(key: str) -> str:
    """Return the name that a key of the metadata has in expressions.

    >>> field_name("attention.head_count")
    'attention_head_count'
    """
    return key.replace(".", "_")


class Translation:
    """The document of a model: its metadata are vars, from which the vars of the shipped spec follow.

    Attributes:
        values: the values of all fields, by their names in expressions.
    """

    def __init__(self, file: GgufFile, table: GgufTable) -> None:
        self.file = file
        self.table = table
        self.document = Document([])
        self.place = Cursor({}, (), {(): (None, Span(file.name))})
        self.given = self._own_keys()
        self.values = {field_name(key): value for key, value in self._fields()}
        self.values |= {name: self._fact(fact) for name, fact in table.part("tensors").items()}

    def translated(self, name: str) -> Cursor:
        """Return the spec document.

        Raises:
            NetcalcError: E007 with every key and value that netcalc does not know.
        """
        document, table = self.document, self.table
        self._check_known()
        if document.problems:
            raise NetcalcError(document.problems)
        entry = self._model()
        document.expressed = {*table.part("vars"), *entry.data.get("vars", ())}
        document.begin(name, f"{table.architecture} of llama.cpp", table.family, self._dtype(), self.place)
        document.spans[()] = self.place.spans[()]
        used = self._used(entry)
        for field, options in self._declarations():
            document.declare(field, options, self.values[field], self.place, used=field in used)
        document.copy_entries(table.cursor, entry)
        return document.finished()

    def _own_keys(self) -> dict[str, Any]:
        """Return the keys of the architecture, without its name."""
        prefix = f"{self.table.architecture}."
        return {k.removeprefix(prefix): v for k, v in self.file.metadata.items() if k.startswith(prefix)}

    def _fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the value of every field."""
        blocks = self.given.get("block_count")
        for key, declared in self.table.part("fields").items():
            if key == PREFIX:
                yield key, self._rope_scaling()
            elif key in self.given:
                value = self.given[key]
                same = isinstance(value, list) and len(value) == blocks and len(set(value)) == 1
                yield key, value[0] if same and not _is_list(declared) else value
            else:
                if isinstance(declared, dict) and "default" not in declared:
                    self._problem(f"{self.table.architecture}.{key} is missing")
                yield key, declared.get("default") if isinstance(declared, dict) else declared

    def _rope_scaling(self) -> dict[str, Any] | None:
        keys = {key.removeprefix(f"{PREFIX}."): v for key, v in self.given.items() if key.startswith(f"{PREFIX}.")}
        if "rope.scale_linear" in self.given and not keys:  # its former name
            keys = {"type": "linear", "factor": self.given["rope.scale_linear"]}
        try:
            return rope_scaling(keys, self.given.get("context_length"), self._divisors())
        except ValueError as why:
            self._problem(str(why))
            return None

    def _divisors(self) -> list[list[float]]:
        """Return the divisors of rotary frequencies that tensors hold."""
        from netcalc.weights.gguf.header import shortest
        from netcalc.weights.gguf.tensors import GgufWeights

        tensors = self.file.tensors
        names = next((names for names in DIVISORS if all(name in tensors for name in names)), ())
        for name in names:
            if tensors[name].type != "F32" or len(tensors[name].shape) != 1 or tensors[name].size > _MAX_DIVISORS:
                raise ValueError(f"the tensor {name!r} of {tensors[name].type} is not known")
        weights = GgufWeights(self.file)
        return [[shortest(value) for value in weights.load(name).tolist()] for name in names]

    def _fact(self, fact: Mapping[str, Any]) -> Any:
        """Return what the tensors say: whether there are some, or the size of one."""
        tensors = self.file.tensors
        if "size" in fact:
            shape = tensors[fact["size"]].shape if fact["size"] in tensors else ()
            if len(shape) <= fact["axis"]:
                self._problem(f"the tensor {fact['size']!r} is missing")
                return 1
            return shape[fact["axis"]]
        if "present" in fact:
            return bool(matching(tensors, fact["present"]))
        return not matching(tensors, fact["absent"])

    def _check_known(self) -> None:
        """Add an error for every key that the table does not name."""
        fields = self.table.part("fields")
        named = {*fields, *self.table.part("without_effect")}
        for key, value in self.given.items():
            scaling = PREFIX in fields and (key.startswith(f"{PREFIX}.") or key == "rope.scale_linear")
            if key not in named and not scaling:
                name = f"{self.table.architecture}.{key}"
                message = f"the key {name[:80]!r} is not known; it is {_shown_value(value)}"
                self._problem(message, did_you_mean(key, named))
        kind = self.file.metadata.get("general.type", "model")
        if kind != "model":
            self._problem(f"general.type is {written(kind, quoted=True)}: this is no whole model")

    def _model(self) -> Cursor:
        """Return the entry of the first model whose condition holds."""
        for _, entry in self.table.cursor["models"].items():
            if "when" not in entry.data or evaluate_expression(entry["when"], self.values):
                return entry
        raise AssertionError(self.table.architecture)  # the last has no condition

    def _used(self, entry: Cursor) -> frozenset[str]:
        """Return the fields that the document uses, or that are vars of the spec that it extends."""
        own = {key: value for key, value in entry.data.items() if key != "when"}
        words = words_in([*(self.table.part(key) for key in ("vars", "dims", "require", "checkpoint")), own])
        return words | self._names_of_spec(entry.data["extends"])

    def _names_of_spec(self, spec: str) -> frozenset[str]:
        from netcalc.spec.library import load_document

        return frozenset(load_document(spec).document.vars)

    def _declarations(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for key, declared in self.table.part("fields").items():
            options = dict(declared) if isinstance(declared, dict) else {"default": declared}
            options.setdefault("default", self.values[field_name(key)])
            yield field_name(key), typed(options)
        for name in self.table.part("tensors"):
            yield name, typed({"default": self.values[name]})

    def _dtype(self) -> str:
        """Return the element type of most of the weights."""
        elements: Counter[str] = Counter()
        for tensor in self.file.tensors.values():
            elements[tensor.type] += tensor.size
        most = elements.most_common(1)
        return _DTYPES.get(most[0][0], "float32") if most else "float32"

    def _problem(self, message: str, hint: str | None = None) -> None:
        self.document.problem(message, self.place, hint)


def _is_list(declared: Any) -> bool:
    """Return True for a field that has a value for each layer."""
    return isinstance(declared, dict) and str(declared.get("type", "")).startswith("list")


def _shown_value(value: Any) -> str:
    return written(value) if not isinstance(value, tuple) else f"a list of {value[0]:,} items"
