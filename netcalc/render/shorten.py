"""Shorter forms of paths, names and lists of shapes, for columns that are too narrow for them."""

from __future__ import annotations

from netcalc.render.text import width_of

_GAP = "…"


def shorten_middle(text: str, width: int) -> str:
    """``text`` with its middle replaced by ``…``.

    >>> shorten_middle("scaled_dot_product_attention", 15)
    'scaled_…tention'
    """
    if width_of(text) <= width:
        return text
    keep = max(width - 1, 0)
    head, tail = text[: keep - keep // 2], text[len(text) - keep // 2 :]
    while width_of(head) + 1 + width_of(tail) > width and (head or tail):  # wide characters
        if width_of(head) >= width_of(tail):
            head = head[:-1]
        else:
            tail = tail[1:]
    return f"{head}{_GAP}{tail}"


def shorten_end(text: str, width: int) -> str:
    """``text`` with ``…`` in place of its last words.

    >>> shorten_end("Llama 3, 8B, with a larger vocabulary", 21)
    'Llama 3, 8B, with a…'
    """
    if width_of(text) <= width:
        return text
    words = text.split(" ")
    while len(words) > 1 and width_of(" ".join(words)) >= width:
        words.pop()
    shorter = " ".join(words).rstrip(",;:")
    return f"{shorter}{_GAP}" if width_of(shorter) < width else shorten_middle(text, width)


def shorten_path(path: str, width: int) -> str:
    """A path without some of its middle parts; a count of instances (`` ×3``) stays.

    >>> shorten_path("layer1.0.downsample.conv2", 15)
    'layer1.…conv2'
    >>> shorten_path("encoder.layer.11.output.dense ×12", 25)
    'encoder.…output.dense ×12'
    """
    if width_of(path) <= width:
        return path
    path, times, count = path.partition(" ×")
    suffix = times + count
    available = width - width_of(suffix)
    first, *others = path.split(".")
    for start in range(max(1, len(others) - available), len(others)):  # a part takes a column at least
        shorter = f"{first}.{_GAP}{'.'.join(others[start:])}"
        if width_of(shorter) <= available:
            return shorter + suffix
    return shorten_middle(path, available) + suffix


def shorten_shapes(text: str, width: int) -> str:
    """The first shapes of a list, and the number of the others; a shape is never shortened.

    >>> shorten_shapes("1×64×56×56, 1×64, 2 of 1×32", 20)
    '1×64×56×56 + 3 more'
    """
    if " → " in text:
        return " → ".join(shorten_shapes(part, 0) for part in text.split(" → ")) if width_of(text) > width else text
    shapes = text.split(", ")
    shorter, all_ = text, sum(map(_number, shapes))
    for count in range(min(len(shapes) - 1, max(width, 1)), 0, -1):  # a shape takes a column at least
        if width_of(shorter) <= width:
            break
        more = all_ - sum(map(_number, shapes[:count]))
        shorter = f"{', '.join(shapes[:count])} + {more} more"
    return shorter


def _number(shape: str) -> int:
    """The number of shapes that an item of the list stands for (``2 of 1×32``)."""
    count, of, _ = shape.partition(" of ")
    return int(count) if of else 1
