"""Models accept what pydantic accepts in strict mode, with the same values, and leave everything else to pydantic."""

from __future__ import annotations

import copy
import pickle
from functools import cached_property
from typing import Annotated, Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc import ops
from netcalc.dims.functions import symbol
from netcalc.models import ConfigDict, Model, ValidationError
from netcalc.models.twin import read_by_twin
from netcalc.ops.attention import ScaledDotProductAttention as Attention
from netcalc.spec import document
from netcalc.spec.document import CheckpointsDecl, Document
from netcalc.spec.library import load_document
from netcalc.spec.shipped import shipped

EVERY = dict(ops.every())
DECLARED = [value for value in vars(document).values() if isinstance(value, type) and issubclass(value, Model)]

texts = st.sampled_from(["", "same", "zeros", "tanh", "float32", "x", "1", "é", "\ud800", "a\n", "4.5 G", "silu"])
numbers = st.sampled_from([0, 1, -1, 2, 3, 7, 2**400, 0.0, 0.5, -2.5, float("inf"), float("nan"), True, False])


def mappings(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(["name", "from", "shape", "size", "default", "rope_type", "pairs", "that", "message", "é"])
    return st.dictionaries(keys, inner, max_size=3)


values = st.recursive(
    st.one_of(st.none(), numbers, texts, st.just(symbol("n", 4))),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | mappings(inner),
    max_leaves=6,
)


def outcome(read: Any, data: Any) -> Any:
    """Return the values that are read, or the type of the refusal."""
    try:
        return read(data)
    except (ValueError, AssertionError):
        return None


def agrees(model: type[Model], data: dict[str, Any]) -> None:
    """Assert that what is accepted is what pydantic reads."""
    accepted = outcome(model.accepted, data)
    if accepted is not None:
        found, given_names, extra = read_by_twin(model, data)
        assert repr(accepted.__dict__) == repr(found)
        assert (set(accepted.model_fields_set), accepted.model_extra) == (set(given_names), extra)


@given(st.data())
def test_operations_accept_what_pydantic_reads(data: st.DataObject) -> None:
    declared = EVERY[data.draw(st.sampled_from(sorted(EVERY)))]
    attributes = dict(declared.example.attrs)
    for name in data.draw(st.lists(st.sampled_from([*declared.model_fields, "other"]), max_size=3)):
        attributes[name] = data.draw(values)
    agrees(declared, attributes)


@given(st.sampled_from(DECLARED), st.data())
def test_parts_of_documents_accept_what_pydantic_reads(model: type[Model], data: st.DataObject) -> None:
    names = [key for name, field in model.model_fields.items() for key in {name, field.alias or name}]
    agrees(model, data.draw(st.dictionaries(st.sampled_from([*names, "other"]), values, max_size=4)))


@pytest.mark.parametrize("name", sorted(EVERY))
def test_examples_are_accepted(name: str) -> None:
    assert outcome(EVERY[name].accepted, dict(EVERY[name].example.attrs)) is not None
    agrees(EVERY[name], dict(EVERY[name].example.attrs))


@pytest.mark.parametrize("name", ["resnet34", "bert-base", "deepseek-v3", "whisper-tiny", "transformer"])
def test_shipped_documents_are_accepted(name: str) -> None:
    data = load_document(shipped()[name]).cursor.data
    assert outcome(Document.accepted, data) is not None
    agrees(Document, data)


def test_values_that_are_not_plain_are_read_by_pydantic() -> None:
    found = CheckpointsDecl.model_validate({"prefix": "p", "a.*": {"name": ["x", "y"]}, "b": "z"})
    assert found.model_extra is not None
    assert (found.prefix, found.model_extra["a.*"].name, found.model_extra["b"]) == ("p", ["x", "y"], "z")
    with pytest.raises(ValidationError, match="Extra inputs are not permitted") as refused:
        CheckpointsDecl.model_validate({"a": {"other": 1}})
    assert refused.value.error_count() == len(refused.value.errors())
    assert {error["loc"][0] for error in refused.value.errors()} == {"a"}


def test_operations_are_values() -> None:
    one = Attention(causal=True)
    assert one == Attention(causal=True) and one != Attention()
    assert hash(one) == hash(Attention(causal=True))
    assert one != ops.find("relu")
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert one.model_copy(update={"causal": False}) == Attention()
    assert "causal=True" in repr(one)
    assert dict(one) == one.model_dump()
    with pytest.raises(AttributeError):
        one.causal = False


def test_defaults_that_can_change_belong_to_one_model() -> None:
    first, second = (Document.model_validate({"netcalc": 1}) for _ in range(2))
    first.aliases.append("x")
    assert second.aliases == []
    with pytest.raises(TypeError):
        hash(first)


def test_marks_of_pydantic_are_left_to_it() -> None:
    class Marked(Model):
        size: Annotated[int, pydantic.Field(gt=2), pydantic.AfterValidator(lambda value: 2 * value)]

    assert Marked(size=3).__dict__ == {"size": 6}
    with pytest.raises(ValidationError, match="greater than 2"):
        Marked(size=1)


def test_fields_of_pydantic_are_refused() -> None:
    with pytest.raises(TypeError, match="size: declare it"):
        type("Wrong", (Model,), {"__annotations__": {"size": int}, "size": pydantic.Field(1)})


def test_cached_properties_are_no_values() -> None:
    class Bare(Model):
        model_config = ConfigDict(frozen=True)

        @cached_property
        def slow(self) -> int:
            return 1

    one, other = Bare(), Bare()
    assert one.slow == 1
    assert one == other
    assert len({one, other}) == 1
