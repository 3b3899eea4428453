"""Mermaid text of graphs, read and drawn by Mermaid itself in Chromium; ``npm ci --ignore-scripts`` in ``tests/web``
installs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.render.test_graph_layout import SPECS, hostile

SCRIPT = Path(__file__).parent.parent / "web/node_modules/mermaid/dist/mermaid.min.js"
_DRAW = """async text => {
  await mermaid.parse(text)
  const drawn = await mermaid.render('picture', text)
  document.body.innerHTML = drawn.svg
  const count = selector => document.body.querySelectorAll(selector).length
  return {
    counts: ['g.node', 'g.cluster', 'path.flowchart-link', 'script, img, a, b, strong, li'].map(count),
    labels: [...document.querySelectorAll('g.node .nodeLabel')].map(label => label.textContent),
  }
}"""


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    if not SCRIPT.exists():
        pytest.skip("needs Mermaid in tests/web")
    opened = chromium.new_page()
    opened.set_content("<body></body>")
    opened.add_script_tag(path=str(SCRIPT))
    opened.evaluate("mermaid.initialize({startOnLoad: false, securityLevel: 'strict', maxTextSize: 1e6})")
    yield opened
    opened.close()


@pytest.mark.parametrize("name", ["hostile", *SPECS])
def test_mermaid_draws_every_box_group_and_edge(name: str, page: Any) -> None:
    graph = hostile() if name == "hostile" else netcalc.load(name).graph()
    drawn = page.evaluate(_DRAW, graph.to_mermaid())
    assert drawn["counts"] == [len(graph.nodes), len(graph.groups), len(graph.edges), 0]
    if name == "hostile":
        texts = "\n".join(drawn["labels"])
        assert all(
            text in texts for text in ("<img src=x onerror=alert(1)>", '"]; subgraph x', "`**bold**` [a](", "- item")
        )
    else:
        expected = {node.name.split(".")[-1] for node in graph.nodes}
        assert all(any(part in label for label in drawn["labels"]) for part in expected)
