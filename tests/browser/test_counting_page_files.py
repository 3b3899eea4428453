"""Ways into and out of the page that counts in the browser."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.counting_page import PATIENCE, CountingPage
from tests.browser.static_server import Served

#: The configuration of Llama 3, 8B.
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


@pytest.fixture(scope="module")
def visit(chromium: Any, site: Served) -> Iterator[CountingPage]:
    visited = CountingPage(chromium, site)
    yield visited
    visited.close()


def test_a_configuration_is_dropped_or_pasted(visit: CountingPage, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA))
    visit.drop(file)
    visit.total("params", "8,030,261,248")  # as transformers counts them
    visit.page.click("button.new")
    visit.paste(json.dumps({**LLAMA, "num_hidden_layers": 16}))
    visit.total("params", "4,540,469,248")  # less 16 layers of 218,112,000
    assert visit.text().startswith("netcalc: 1\n")
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "llama", "r": 8, "target_modules": ["q_proj", "v_proj"]}
    (tmp_path / "adapter_config.json").write_text(json.dumps({**adapter, "task_type": "CAUSAL_LM"}))
    visit.drop(tmp_path / "adapter_config.json", file)
    visit.total("params_trainable", "3,407,872")  # 32 layers of 8·(4096 + 4096) + 8·(4096 + 1024)
    visit.page.click("button.new")
    visit.paste(json.dumps({"model_type": "llama", "hidden_sizes": 4096}))
    visit.page.locator(".problems li[data-code=E007]").first.wait_for()


def test_a_gguf_file_is_read_by_its_header(visit: CountingPage, tmp_path: Path) -> None:
    file = tmp_path / "small.gguf"
    parameters = write_gguf(file)
    assert file.stat().st_size > 60_000_000
    visit.drop(file)
    visit.total("params", f"{parameters:,}")
    visit.total("weight_bytes", f"{2 * parameters + 2 * 17 * 512:,}")  # float16, and 17 norms in float32


def test_parts_of_a_model_are_one(visit: CountingPage, tmp_path: Path) -> None:
    parameters = write_gguf(tmp_path / "model.gguf", "Q8_0", tensors=40)
    parts = sorted(tmp_path.glob("*.gguf"))
    assert len(parts) == 2
    tabs = visit.page.locator(".tabs [role=tab]").count()
    visit.drop(*parts)
    visit.total("params", f"{parameters:,}")
    matrices = parameters - 17 * 512
    visit.total("weight_bytes", f"{matrices // 32 * 34 + 4 * 17 * 512:,}")  # blocks of 32 with a scale of 2 bytes
    assert visit.page.locator(".tabs [role=tab]").count() == tabs + 1


def test_tensors_of_a_large_file_are_listed(visit: CountingPage, tmp_path: Path) -> None:
    file = tmp_path / "large.safetensors"
    size = 3_000_000_000  # which no page could hold; the file has a hole
    entries = {"a.weight": {"dtype": "BF16", "shape": [500_000, 3_000], "data_offsets": [0, size]}}
    header = json.dumps(entries).encode()
    with file.open("wb") as opened:
        opened.write(len(header).to_bytes(8, "little") + header)
        opened.truncate(8 + len(header) + size)
    visit.drop(file)
    dialog = visit.page.locator("#tensors[open]")
    dialog.locator("td", has_text="500000×3000").wait_for(timeout=PATIENCE)
    assert "1,500,000,000 parameters" in dialog.inner_text()
    visit.page.keyboard.press("Escape")


def test_what_is_saved_has_the_figures(visit: CountingPage, tmp_path: Path) -> None:
    visit.open_spec("resnet18")
    visit.total("params", "11,689,512")
    visit.page.click("header .save")
    saved = {suffix: _saved(visit, suffix, tmp_path) for suffix in ("yaml", "json", "csv", "md", "svg")}
    visit.page.keyboard.press("Escape")
    assert saved["yaml"] == visit.text() and "extends: resnet34" in saved["yaml"]
    assert json.loads(saved["json"])["totals"]["params"] == 11_689_512
    rows = list(csv.DictReader(io.StringIO(saved["csv"])))
    assert sum(int(row["params"]) * int(row["repeat"]) for row in rows) == 11_689_512
    assert "| conv1 " in saved["md"] and saved["svg"].startswith("<svg") and "conv1" in saved["svg"]


def _saved(visit: CountingPage, suffix: str, folder: Path) -> str:
    with visit.page.expect_download() as download:
        visit.page.click(f"#save [data-format={suffix}]")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path.read_text()


def test_a_link_gives_the_same_page_in_a_fresh_profile(visit: CountingPage, chromium: Any, site: Served) -> None:
    visit.page.click("button.new")
    visit.paste("netcalc: 1\ndims: {batch: 1}\ninputs: {x: [batch, 8]}\nlayers:\n- {linear: {out: 2}} # Größe\n")
    visit.panel("settings")
    visit.page.get_by_label("batch", exact=True).fill("5")
    visit.total("macs", "80")  # 5·8·2
    visit.page.click("header .save")
    visit.page.click("#save >> text=Copy the link")
    link = visit.page.evaluate("navigator.clipboard.readText()")
    text = visit.text()
    visit.page.keyboard.press("Escape")
    asked = len(site.asked)
    other = CountingPage(chromium, site, fragment=link.removeprefix(site.address))
    other.total("macs", "80")
    other.total("params", "18")
    assert other.text() == text and not any("spec" in path for path in site.asked[asked:])
    other.close()


def write_gguf(file: Path, quantized: str = "F16", tensors: int = 0) -> int:
    """Write a Llama of llama.cpp with eight layers, matrices of a type, and return its number of parameters.

    Several files have so many ``tensors`` each.
    """
    gguf = pytest.importorskip("gguf")
    np = pytest.importorskip("numpy")
    width, layers, heads, hidden, words = 512, 8, 8, 1536, 16000
    writer = gguf.GGUFWriter(file, "llama", split_max_tensors=tensors)
    writer.add_block_count(layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(words)
    writer.add_rope_dimension_count(width // heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_file_type(1)
    shapes = {"token_embd": (words, width), "output": (words, width), "output_norm": (width,)}
    for layer in range(layers):
        block = f"blk.{layer}."
        shapes |= {block + name: (width, width) for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
        shapes |= {block + name: (hidden, width) for name in ("ffn_gate", "ffn_up")}
        shapes |= {block + "ffn_down": (width, hidden), block + "attn_norm": (width,), block + "ffn_norm": (width,)}
    for name, shape in shapes.items():
        kind = gguf.GGMLQuantizationType["F32" if len(shape) == 1 else quantized]
        data = gguf.quantize(np.zeros(shape, np.float32), kind)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sum(int(np.prod(shape)) for shape in shapes.values())
