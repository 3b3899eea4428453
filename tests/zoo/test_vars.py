"""The page on the vars of the shipped specs (``pytest --update`` writes it)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "vars.md"

#: Names that mean the same in every spec: type and meaning.
CANONICAL = {
    "d_model": ("int", "features of a token between layers; in Swin Transformers of the first stage"),
    "heads": ("int", "query heads; in Swin Transformers a list with those of each stage"),
    "kv_heads": ("int", "key and value heads; fewer than `heads` in grouped-query attention"),
    "head_dim": ("int", "features of a head"),
    "layers": ("int", "layers"),
    "encoder_layers": ("int", "layers of the encoder"),
    "decoder_layers": ("int", "layers of the decoder"),
    "d_ff": ("int", "hidden units of a feed-forward network"),
    "d_expert": ("int", "hidden units of an expert"),
    "experts": ("int", "experts among which a router chooses"),
    "experts_per_token": ("int", "experts that it chooses for a token"),
    "shared_experts": ("int", "experts that every token uses"),
    "vocab": ("int", "rows of the embedding, and classes of the output"),
    "max_length": ("int", "positions, or rows of the position table"),
    "window": ("int?", "width of the sliding window in positions, or of a square window in patches"),
    "rope_theta": ("float", "base of the rotary angles"),
    "rope_scaling": ("any", "scaling of the rotary angles, as `scaling` of `rotary_embedding`; null for none"),
    "activation": ("op", "activation of the feed-forward networks, by name or as `{gelu: {approximate: tanh}}`"),
    "norm": ("op", "norm, by name or as `{batch_norm: {eps: 0.001}}`"),
    "eps": ("float", "added to the variance in norms"),
    "dropout": ("float", "probability of dropping a feature in training"),
    "attention_bias": ("bool", "biases of the projections of the attention"),
    "mlp_bias": ("bool", "biases of the feed-forward networks"),
    "tied": ("bool", "use the embedding as the output matrix"),
    "classes": ("int", "classes of the output"),
    "patch": ("int", "height and width of a patch"),
    "channels": ("list[int]", "channels of each stage; in U-Net the channels at full resolution"),
    "depths": ("list[int]", "blocks of each stage"),
}


def documents() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the vars of every shipped spec, without those that it inherits."""
    for path in sorted((ROOT / "specs").rglob("*.yaml")):
        if path.parent.name != "blocks":
            document = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
            yield document.get("family", ""), document


def declared() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Return by var and family its (spec, meaning) in the specs that declare it."""
    found: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for family, document in documents():
        if "extends" not in document:
            for var, value in document.get("vars", {}).items():
                about = value.get("about", "") if isinstance(value, dict) else ""
                found[var][family].append((document["name"], about))
    return found


def common_names() -> Iterator[str]:
    """Yield the rows of the table of names that all specs share."""
    sizes: dict[str, int] = defaultdict(int)
    for family, document in documents():
        sizes[family] += "extends" not in document
    found = declared()
    for var, (type_, meaning) in CANONICAL.items():
        specs = [
            family if len(entries) == sizes[family] else ", ".join(f"`{name}`" for name, _ in entries)
            for family, entries in sorted(found[var].items())
        ]
        yield f"| `{var}` | {type_} | {meaning} | {', '.join(specs)} |"


def names_of_families() -> Iterator[str]:
    """Yield the rows of the table of the other names."""
    rows = {
        (family, var, about)
        for var, families in declared().items()
        if var not in CANONICAL
        for family, entries in families.items()
        for _, about in entries
    }
    for family, var, about in sorted(rows):
        yield f"| {family} | `{var}` | {about} |"


def page() -> str:
    """Return the page with the rows of its first two tables generated anew."""
    parts = re.split(
        r"(?<=^\|:--\|)(.*\n)(?:\|.*\n)*", PAGE.read_text(encoding="utf-8"), maxsplit=2, flags=re.MULTILINE
    )
    text = parts[0]
    for rows, rule, after in zip((common_names(), names_of_families()), parts[1::2], parts[2::2], strict=True):
        text += rule + "".join(f"{row}\n" for row in rows) + after
    return text


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_var_has_a_common_name_or_a_meaning() -> None:
    unexplained = {
        (name, var)
        for var, families in declared().items()
        if var not in CANONICAL
        for entries in families.values()
        for name, about in entries
        if not about
    }
    assert not unexplained


def test_common_names_are_used() -> None:
    assert CANONICAL.keys() <= declared().keys()


def test_a_spec_with_hidden_units_of_its_own_has_no_ratio() -> None:
    assert not [var for var in declared() if "ratio" in var and var != "se_ratio"]
