"""The reader of plain YAML gives the nodes that ruamel's parser gives, or leaves the text to it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml.error import YAMLError

from netcalc.diagnostics import NetcalcError
from netcalc.spec import plain_yaml, yaml_composer, yaml_document
from netcalc.spec.plain_yaml import plain_document
from netcalc.spec.shipped import specs_dir
from netcalc.spec.yaml_composer import compose
from netcalc.spec.yaml_nodes import Node

PIECES = [
    *("\n", " ", ":", "#", "-", ",", "[", "]", "{", "}", '"', "'", "?", "&a", "*a", "!", "|", ">", "%", "@", "`", "\\"),
    *("~", "=", "<<", ".", "0", "1", "2.5", "e", "_", "a", "x", "\t", "  ", "\n  ", "\n- ", ": ", "- ", "\n\n", " #"),
    *(
        "---\n",
        "true",
        "null",
        "0x1",
        "1_0",
        "2020-01-01",
        ".inf",
        "é",
        "\u2028",
        "\ufeff",
        ": >-\n  ",
        "a: |\n   b\n     c\n",
    ),
]


@cache
def texts() -> list[str]:
    """Return the shipped specs."""
    return [path.read_text(encoding="utf-8") for path in sorted(specs_dir().rglob("*.yaml"))]


def flat(node: Node | None) -> Any:
    """Return a node as plain data, with its places."""
    if node is None:
        return None
    value = node.value
    if node.kind == "seq":
        value = [flat(item) for item in value]
    elif node.kind == "map":
        value = [(flat(key), flat(item)) for key, item in value]
    return node.kind, node.tag, value, node.start, node.end


def test_shipped_specs_are_plain_and_read_alike() -> None:
    found = [(flat(plain_document(text)), text) for text in texts()]
    assert all(node is None or node == flat(compose(text)) for node, text in found)
    assert sum(node is None for node, _ in found) < len(found) / 20


@given(st.data())
def test_changed_specs_are_read_alike(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(texts())).split("\n")
    first = data.draw(st.integers(0, len(lines) - 1))
    text = "\n".join(lines[first : first + data.draw(st.integers(1, 12))])
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + data.draw(st.integers(0, 3)) :]
    read_alike(text)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_pieces_are_read_alike(text: str) -> None:
    read_alike(text)


def read_alike(text: str) -> None:
    """Assert that a text is read as ruamel reads it, if it is read."""
    text = text.replace("\r", "\n")
    node = flat(plain_document(text))
    if node is not None:
        assert node == flat(compose(text))


@pytest.mark.parametrize(
    "text",
    [
        *("", "# nothing", "a: b: c", "a: 1\n  b: 2", "a: text\n  more", "- a\n b: 1", "a: 'x", '"\\n"', "[a", "{a}"),
        *("a: 0x1", "a: 1_000", "a: 2020-01-01", "a: .inf", "a: &x 1", "a: !!int 1", "<<: 1", "? a", "a:\tb", "--- a"),
        *(
            "a: [b: ]",
            "a: {b:1}",
            "a: >+\n b\n",
            "a: >\n  b\n\n  c\n",
            "a: >\n  b\n\n   # c\n",
            "a: >-\n  b",
            "[" * 50,
        ),
    ],
)
def test_all_else_is_left_to_ruamel(text: str) -> None:
    assert plain_document(text) is None


@pytest.mark.parametrize(
    "text", ["[a: 1]", "a: [b: 1 , c: 2  # d\n , e: 3\n ]\nf: 4\n", "- [a : 'b: c', \"d\": [e: []],]"]
)
def test_pairs_in_lists_are_read_alike(text: str) -> None:
    assert plain_document(text) is not None
    read_alike(text)


def test_what_ruamel_refuses_is_not_read() -> None:
    for text in ("a: b\n c: d\n", "- a\nb: 1\n", "a: ]\n", "a: 'b' c\n", "a: {b: 1} c\n", "%\n"):
        with pytest.raises(YAMLError):
            compose(text)
        assert plain_document(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, 2, 3, 4, 5, 6, 7, 8, 9]",
        "a: {b: 1, c: [2, 3], d: {e: 4, f: 5}, g: 6, h: 7, i: 8}",
        "- [1, 2]\n- [3, [4, 5], 'six', 7,\n   8, 9]\n",
        "a: [b: 1, c, d: [2, e: 3],\n  f: {g: 4} ]",
        "a:\n  - {b: 1, c: 2}\n  - {b: 1, c: 2}\n  - {b: 1}\n",
    ],
)
@pytest.mark.parametrize("most", range(1, 14))
def test_too_many_values_are_refused_where_ruamel_refuses_them(
    text: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (plain_yaml, yaml_composer, yaml_document):
        monkeypatch.setattr(module, "MAX_VALUES", most)
    problems = []
    for read in (plain_yaml.plain_document, lambda _: None):
        monkeypatch.setattr(yaml_document, "plain_document", read)
        try:
            problems.append(yaml_document.parse_yaml(text, "file").data)
        except NetcalcError as error:
            problems.append(error.diagnostics)
    assert problems[0] == problems[1]
