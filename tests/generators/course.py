"""The claims of the course, and the table of all of them, generated from the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
#: Pages of the course in their order.
PAGES = ("cnn", "residual", "normalization", "transformer", "beyond")
#: Words for the verdicts in each language, by their folder.
VERDICTS = {
    "course": {"confirmed": "confirmed", "shown": "shown", "refuted": "refuted", "quoted": "quoted"},
    "zh/course": {"confirmed": "属实", "shown": "演示", "refuted": "有误", "quoted": "引用"},
}
#: Headings of claims.
_HEADINGS = {"course": "### Claim {number}: {word}", "zh/course": "### 论断 {number}：{word}"}
_FENCE = re.compile(r"^```.*\n(?:.*\n)*?```$", re.MULTILINE)


class Claim(NamedTuple):
    """A claim with its verdict, its place, and the commands below it."""

    number: int
    verdict: str
    page: str
    anchor: str
    text: str
    commands: tuple[str, ...]


def claims(folder: str) -> list[Claim]:
    """Return the claims on the pages of a folder below ``docs``, in order."""
    verdicts = {word: verdict for verdict, word in VERDICTS[folder].items()}
    pattern = re.escape(_HEADINGS[folder]).replace(r"\{number\}", r"(\d+)").replace(r"\{word\}", r"(\w+)")
    found = []
    for page in PAGES:
        text = (DOCS / folder / f"{page}.md").read_text(encoding="utf-8")
        _, *parts = re.split(rf"^{pattern}$", text, flags=re.MULTILINE)
        for number, word, section in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            quoted = re.findall(r"^> ?(.*)$", _FENCE.sub("", section), re.MULTILINE)
            heading = _HEADINGS[folder].format(number=number, word=word).removeprefix("### ")
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            commands = tuple(re.findall(r"^\$ (.*)$", section, re.MULTILINE))
            joint = "" if folder.startswith("zh") else " "
            found.append(Claim(int(number), verdicts[word], page, anchor, joint.join(quoted), commands))
    return found


def with_table(folder: str) -> str:
    """Return the text of the index of a folder, with the table of its claims in place of the last one."""
    text = (DOCS / folder / "README.md").read_text(encoding="utf-8")
    head, _, _ = text.rpartition("| --- | --- | --- | --- |\n")
    rows = [
        f"| [{claim.number}]({claim.page}.md#{claim.anchor}) | {claim.text} | {VERDICTS[folder][claim.verdict]} "
        f"| `{claim.commands[0]}` |\n"
        for claim in claims(folder)
    ]
    return f"{head}| --- | --- | --- | --- |\n{''.join(rows)}"
