"""The page of ``netcalc report`` in a browser."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc

#: Boxes of the elements that share a parent and overlap, of parts of a page that stand beside one another.
OVERLAPS = """() => {
  const found = []
  const parents = 'main, main > section, .cards, .pair, .sides, .tools, .title, tr, .legend'
  for (const parent of document.querySelectorAll(parents)) {
    const placed = [...parent.children].map((e) => [e, e.getBoundingClientRect()])
    const boxes = placed.filter(([, b]) => b.width && b.height)
    for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i][1], boxes[j][1]]
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left)
      const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
      if (x > 1 && y > 1) found.push(boxes[i][0].outerHTML.slice(0, 80) + ' / ' + boxes[j][0].outerHTML.slice(0, 80))
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window')
  return found
}"""
#: Numbers of tables, cards and legends of a page that open no working, with the column that each is in.
UNOPENED = """() => {
  const found = []
  for (const cell of document.querySelectorAll('main td.num, main .card, main .legend li')) {
    const text = [...cell.childNodes].map((e) => e.textContent).join(' ').trim()
    if (!/[1-9]/.test(text) || cell.querySelector('button.n')) continue
    const row = cell.closest('tr')
    const column = row ? row.closest('table').querySelectorAll('th')[[...row.children].indexOf(cell)].textContent : ''
    found.push(`${cell.closest('section').id}: ${column || text}`)
  }
  return [...new Set(found)]
}"""
#: Numbers whose working, once it is opened, has no marked steps that are the number, or add up to it.
MISPLACED = """(within) => {
  const found = []
  const digits = (text) => (/^-?[0-9,]+$/.test(text) ? BigInt(text.replaceAll(',', '')) : null)
  for (const button of document.querySelectorAll(`${within} button.n`)) {
    button.click()
    const parts = [...document.querySelectorAll('#working .part')]
    const asked = [...document.querySelectorAll('#working .step.asked output')].map((each) => each.textContent)
    const exact = digits(button.title)
    // a step may stand for equal tensors of several layers
    const among = button.closest('.live') ? (each) => each % exact === 0n : (each) => each === exact
    const fits = exact === null || asked.map(digits).some((each) => each !== null && among(each))
    const marked = asked.length || document.querySelector('#working .part.asked')
    if (!parts.length || (parts.length > 1 && !marked) || (asked.length && !fits)) {
      const title = document.querySelector('#working h2').textContent
      found.push(`${button.closest('section').id}: ${button.title} of ${title} is not in ${asked}`)
    }
  }
  return found
}"""
#: Shapes at the edges of a graph: text, what the steps end in that a click marks (null if it opens nothing), and title.
SHAPES = """() => [...document.querySelectorAll('#graph .label')].map((label) => {
  if (!label.matches('.press')) return [label.textContent, null, '']
  label.dispatchEvent(new MouseEvent('click'))
  const asked = [...document.querySelectorAll('#working .part.asked[data-title=shape] .step.asked output')]
  return [label.textContent, asked.map((each) => each.textContent), document.querySelector('#working h2').textContent]
})"""
#: Columns of numbers that have no working: numbers of instances, what is given, and what a step has in its label.
WITHOUT_WORKING = {
    *("layers: ×", "layers: excluded", "caches: Positions", "caches: ×", "time: ×", "memory: Tensors", "split: Layers"),
    *("split: Tensors", "time: Tensors"),
}
#: Requests of plans.
SPLIT: dict[str, Any] = {
    "set": {"vocab": 50260},
    "training": "adamw",
    "tp": 4,
    "dp": 2,
    "zero": "1",
    "device": "h100:8",
}
STAGES: dict[str, Any] = {
    "training": "sgd",
    "precision": "bf16-mixed",
    "pp": 2,
    "micro_batch": 1,
    "accumulate": 4,
    "device": "h100:2",
}
EXPERTS: dict[str, Any] = {
    "set": {"layers": 2, "d_model": 64, "heads": 4, "kv_heads": 4, "d_ff": 128, "vocab": 64, "length": 16},
    "training": "adamw",
    "tp": 2,
    "dp": 8,
    "ep": 4,
    "zero": "2",
}
SERVED: dict[str, Any] = {
    "quantize": "int4-g128",
    "phase": "decode",
    "cache": "vllm",
    "cache_dtype": "fp8",
    "device": "h100",
}
PLACED: dict[str, Any] = {"quantize": "int4-g128", "phase": "decode", "gpu_layers": 8}
NINE = (
    "gpt3-175b",
    "resnet50",
    "resnet34",
    "llama-3-8b",
    "unet",
    "swin_t",
    "deepseek-v3",
    "detr_resnet50",
    "mamba-130m",
)
#: Regions of a printed page that are wider than it, so that a part of them is cut off.
CUT = """() => [...document.querySelectorAll('.scroll, .tall, .canvas, .cards, .facts')]
  .filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth + 1)
  .map((each) => `${each.closest('section').id}: ${each.className} ${each.scrollWidth} > ${each.clientWidth}`)"""
#: Pixels of an A4 page without its margins.
PAPER = 718


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("pages")

    def write(*models: Any, **options: Any) -> Path:
        file = folder / f"{len(list(folder.iterdir()))}.html"
        netcalc.report(*models, **options).save(file)
        return file

    return write


def test_a_click_on_a_number_opens_its_working(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("resnet18", device="h100", signal=False))
    assert page.locator("main > section").evaluate_all("all => all.map((each) => each.id)") == [
        *("about", "graph", "layers", "memory", "time")
    ]
    page.click("#layers tr[data-path=conv1] button.n[title='9,408']")
    assert "64·3·7·7" in page.inner_text("#working").replace(",", "")  # parameters of 7×7 filters
    assert page.url.endswith("#layer=0:conv1")
    page.keyboard.press("Escape")
    assert page.is_hidden("#working")
    page.click("#time .card button.n")
    assert "bandwidth" in page.inner_text("#working")


@pytest.mark.parametrize(
    ("models", "options"),
    [
        (("gpt2",), {"device": "h100", "phase": "decode"}),
        (("resnet18",), {"device": "h100", "training": "adamw", "exclude": ["layer1.*"]}),
        (("gpt2",), {**SPLIT, "efficiency": 0.4, "tokens": "300B"}),
        (("llama-3.2-1b",), {**PLACED, "companion": ["lenet5"], "draft": "llama-3.2-1b"}),
        (("llama-3.2-1b",), {"phase": "decode", "tokens_in": "24GB"}),
        (("gpt2",), STAGES),
        (("mixtral-8x7b",), EXPERTS),
        (("llama-3.2-1b",), SERVED),
        (("mlp",), {"signal": True}),
        (("resnet18", "resnet34"), {}),
        (("gpt2", "llama-3.2-1b"), {}),
    ],
)
def test_every_number_opens_the_steps_that_end_in_it(
    models: tuple[str, ...], options: dict[str, Any], written: Callable[..., Path], opened: Callable[..., Any]
) -> None:
    page = opened(written(*models, **options))
    assert set(page.evaluate(UNOPENED)) <= WITHOUT_WORKING
    assert page.evaluate(MISPLACED, "main") == []
    assert page.locator("main button.n").count() > 30


def test_columns_and_dots_open_the_working_of_their_layer(
    written: Callable[..., Path], opened: Callable[..., Any]
) -> None:
    page = opened(written("resnet18", device="h100"))
    page.click("#memory .column.peak")
    assert page.inner_text("#working .step.asked output") == page.locator("#memory .live button.n").first.get_attribute(
        "title"
    )
    page.click("#time .dot >> nth=0")
    assert "Time of" in page.inner_text("#working h2") and "at least" in page.inner_text("#working .step.asked")


def test_requests_are_shown_as_asked_for(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("gpt2", **SPLIT, efficiency=0.4, tokens="300B"), width=390)
    asked = page.locator("#about code").all_inner_texts()
    assert {"vocab=50260", "--training adamw", "--tp 4", "--zero 1", "--device h100:8"} <= set(asked)
    report = netcalc.load("gpt2", set=SPLIT["set"]).memory(training="adamw", tp=4, dp=2, zero="1")
    fullest = page.locator("#split .total button.n").get_attribute("title")
    assert report.split is not None and fullest == f"{report.split.fullest.total:,}"
    step = page.locator("#memory .stack .total button.n").get_attribute("title")
    assert step == f"{report.trained:,}"
    assert "A whole training" in page.inner_text("#time") and "At 40.0 % of the peak" in page.inner_text("#time")
    assert page.evaluate(OVERLAPS) == []
    page = opened(written("llama-3.2-1b", **PLACED), width=390)
    asked = page.locator("#about code").all_inner_texts()
    assert {"--quantize int4-g128", "--gpu-layers 8"} <= {*asked}
    assert "8 of 17 layers on the device" in page.inner_text("#memory")
    assert page.evaluate(OVERLAPS) == []
    page = opened(written("llama-3.2-1b", phase="decode", tokens_in="24GB"))
    assert "Tokens of each sequence in 22.4 GiB" in page.inner_text("#memory")
    page = opened(written("resnet18", engine="fast"))
    assert "NumPy's engine, fast" in page.inner_text("#memory")


def test_figures_of_blocks_open_their_working(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("gpt2"))
    page.click("#graph button:has-text('Close all')")
    block = page.locator("#graph .node.k-block").first
    block.locator(".figures").click()
    assert page.inner_text("#working h2") == "transformer.h.0"
    assert page.locator("#working output", has_text="7,087,872").count()  # 12·768² + 13·768
    page.keyboard.press("Escape")
    assert block.get_attribute("aria-expanded") == "false"
    block.focus()
    page.keyboard.press("Enter")
    page.locator("#graph .group[data-id]").first.focus()
    page.keyboard.press("w")
    assert page.inner_text("#working h2") == "transformer.h.0"


@pytest.mark.parametrize(
    ("model", "layer", "given"),
    [("gpt2", "attn.chunk", {"1×1024 int64"}), ("lstm", "rnn", {"1×50×128"}), ("unet", "", {"1×1×572×572"})],
)
def test_shapes_at_edges_open_the_shape_of_their_layer(
    model: str, layer: str, given: set[str], written: Callable[..., Path], opened: Callable[..., Any]
) -> None:
    page = opened(written(model))
    for press in ("Close all", "Open all"):
        page.click(f"#graph button:has-text('{press}')")
        shapes = page.evaluate(SHAPES)
        assert {shape for shape, asked, _ in shapes if asked is None} == given  # those of inputs are not computed
        marked = [(shape, asked) for shape, asked, _ in shapes if asked is not None]
        assert marked and all(asked and {*asked} <= {shape, f"{shape} float32"} for shape, asked in marked), marked
    assert any(title.endswith(layer) for _, _, title in shapes)
    page.locator("#graph .label.press").first.focus()
    page.keyboard.press("Enter")
    assert page.is_visible("#working .part.asked[data-title=shape]") and "#layer=0:" in page.url


def test_the_table_is_sorted_searched_and_copied(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("resnet18"))
    page.click("#layers th button[data-key=params]")
    first = page.locator("#layers tbody tr").first
    assert first.get_attribute("data-path") == "layer4.0.conv2"  # 512·512·9, as are two others
    page.fill("#layers input", "layer1 conv2d")
    assert page.locator("#layers tbody tr").count() == 2
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }")
    page.click("#layers button.copy")
    rows = list(csv.DictReader(io.StringIO(page.evaluate("window.copied"))))
    assert [(row["path"], row["params"]) for row in rows] == [("layer1.0.conv1", "36864"), ("layer1.0.conv2", "36864")]
    page.fill("#layers input", "")
    page.select_option("#layers select[aria-label=Operation]", "linear")
    page.select_option("#layers select[aria-label='Share of']", "params")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no clipboard')) }")
    page.evaluate("() => { document.execCommand = () => (window.copied = document.activeElement.value) }")
    page.click("#layers button.copy")  # from a file the clipboard may be missing
    page.wait_for_selector("#layers button.copy:has-text('Copied')")
    (row,) = csv.DictReader(io.StringIO(page.evaluate("window.copied")))
    assert (row["path"], row["op"]) == ("fc", "linear")
    assert float(row["share_params"]) == pytest.approx(513_000 / 11_689_512)


def test_blocks_open_and_close_and_are_found(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("gpt2"))
    page.click("#graph button:has-text('Close all')")
    closed = page.locator("#graph .node").count()
    assert "×12" in page.inner_text("#graph .canvas")
    block = page.locator("#graph .node[aria-expanded=false]").first
    block.focus()
    page.keyboard.press("Enter")
    assert page.locator("#graph .node").count() > closed
    page.fill("#graph input", "gelu")
    assert "gelu" in page.text_content("#graph .found").lower()
    width = page.locator("#graph svg").bounding_box()["width"]
    page.click("#graph button[aria-label='Zoom in']")
    assert page.locator("#graph svg").bounding_box()["width"] > 1.2 * width


def test_all_that_can_be_pressed_is_reached_by_keys(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("mlp", "lenet5", device="h100", signal=True))
    number = page.evaluate(
        """() => {
          const all = [...document.querySelectorAll('button, a[href], input, select, [tabindex="0"]')]
          const shown = all.filter((each) => each.getClientRects().length)
          shown.forEach((each, place) => (each.dataset.key = place))
          return shown.length
        }"""
    )
    reached = []
    page.keyboard.press("Tab")
    assert page.inner_text("*:focus") == "Skip to the content"
    for _ in range(number):
        reached.append(page.evaluate("document.activeElement.dataset.key"))
        page.keyboard.press("Tab")
    assert number > 100 and reached == [str(place) for place in range(number)]
    one = page.locator("#layers tr[data-path=output] button.n").first
    one.focus()
    page.keyboard.press("Enter")
    assert page.is_visible("#working") and page.evaluate("document.activeElement.id") == "working-title"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the button that closes it
    assert page.is_hidden("#working") and one.evaluate("(each) => each === document.activeElement")


def test_a_fragment_opens_a_layer(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("resnet18"), fragment="#layer=0:layer1.0.conv1")
    assert page.inner_text("#working h2") == "layer1.0–1.conv1"


def test_the_page_is_dark_and_prints(written: Callable[..., Path], opened: Callable[..., Any]) -> None:
    page = opened(written("mlp", signal=True), dark=True)
    color = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(color)
    page.click("button.theme")
    assert page.evaluate(color) == "rgb(255, 255, 255)" != dark
    page.emulate_media(media="print")
    assert page.is_hidden("nav") and page.is_hidden("#layers .tools") and page.is_visible("#signal svg")
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("name", [*NINE, "resnet18 resnet34"])
def test_nothing_overlaps(name: str, written: Callable[..., Path], opened: Callable[..., Any], tmp_path: Path) -> None:
    file = written(*name.split(), device="h100")
    for width in (1280, 390):
        page = opened(file, width=width)
        assert page.evaluate(OVERLAPS) == []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size({"width": PAPER, "height": 1000})
    assert page.evaluate(OVERLAPS) == [] and page.evaluate(CUT) == []


def test_long_specs_and_large_models_have_few_elements(
    written: Callable[..., Path], opened: Callable[..., Any], tmp_path: Path
) -> None:
    lines = "\n".join(f"  - {{name: l{place}, linear: 8}}" for place in range(1000))
    long = tmp_path / "long.yaml"
    long.write_text(f"netcalc: 1\nname: long\ninputs: {{x: [1, 8]}}\nlayers:\n{lines}\n", encoding="utf-8")
    page = opened(written(long))
    assert page.locator("#layers tbody tr").count() == 1000
    small, large = (opened(written(name)).locator("*").count() for name in ("gpt2", "gpt3-175b"))
    assert large < 1.5 * small < 10_000  # 96 layers against 12: layers that are equal are drawn once
    opened(written("llama-3.1-405b"))


def test_hostile_names_stay_text(written: Callable[..., Path], opened: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "hostile.yaml"
    text = "<img src=x onerror=console.log(1)></script><script>console.log(2)</script>"
    file.write_text(f'netcalc: 1\nname: "{text}"\nabout: "{text}"\ninputs: {{x: [1, 8]}}\nlayers: [{{linear: 4}}]\n')
    page = opened(written(file))
    assert page.inner_text("h1") == text and page.locator("main img").count() == 0
