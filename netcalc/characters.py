"""Characters of specs: names in letters of any script, punctuation that stands for ASCII's, and other encodings.

A name begins with a letter or an underscore and goes on with letters, digits, marks and underscores, as identifiers of
Unicode (UAX #31) and of Python do.  Specs are read in the normal form NFC, so that an é of one or two characters is the
same.  Characters that cannot be seen, and forms that only look different (full-width letters), are no part of a name.
"""

from __future__ import annotations

import re
from shlex import quote
from typing import NamedTuple
from unicodedata import decomposition, normalize
from unicodedata import name as unicode_name

#: Regular expressions of a name, and of a name or number, in a form that Python, Rust and JavaScript read alike.  They
#: admit more signs than :func:`is_name`, and are what a schema says.
_FURTHER = r"[^\x00-/:-@\[-\^`{-\xbf]"
NAME = rf"[^\x00-@\[-\^`{{-\xbf]{_FURTHER}*"
PART = f"{_FURTHER}+"
#: Words of a text that may be names.
WORD = re.compile(NAME)
_PART = re.compile(_FURTHER)

#: Letters and marks that show nothing: fillers, selectors of variants, joiners.
_INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: Punctuation of Chinese and Japanese text and what YAML and expressions have in its place; that of U+FF01 to U+FF5E
#: follows from its number.
_ASCII = {
    **{chr(number): chr(number - 0xFEE0) for number in range(0xFF01, 0xFF5F)},
    **dict(zip("、。“”‘’「」【】\u3000\xa0", ',.""\'\'""[]  ', strict=True)),
}
_FULL_WIDTH = re.compile("[" + "".join(map(re.escape, _ASCII)) + "]")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|(?:^|(?<= ))#.*")
#: Where a line of YAML needs a character of ASCII: behind a key, and within brackets.
_BEHIND_KEY = re.compile(r"\s*(?:- +)*[^\s:：#{\[]+(：)")
_IN_BRACKETS = re.compile(r"[\[{][^\]}]*?([：，、｝］])")
_INDENT = re.compile(r" *([\u3000\xa0])")
_OPENING = re.compile(r"(?:: +|- +)([｛［【“「])")


class FullWidth(NamedTuple):
    """A full-width character: its column in the line, counted from 0, and the ASCII character that is meant."""

    column: int
    character: str
    ascii: str

    @property
    def hint(self) -> str:
        """Text that says what to write."""
        return f"write {self.ascii!r} of ASCII in place of {self.character!r} (U+{ord(self.character):04X})"


def is_name(text: str) -> bool:
    """Return True for a name.

    >>> [is_name(text) for text in ("width", "宽度", "नाम", "2x", "d²", "ｗidth", "a\\u200bb")]
    [True, True, True, False, False, False, False]
    """
    return text.isidentifier() and (text.isascii() or unnamed(text) is None)


def _is_part(character: str) -> bool:
    """Return True if names may contain a character."""
    return f"a{character}".isidentifier() and bool(_PART.match(character)) and not _INVISIBLE.match(character)


def checked_names(text: str) -> str:
    """Return a text whose words are names or numbers; ValueError with the character that no name has."""
    problem = None if text.isascii() else unnamed(text)
    if problem is not None:
        raise ValueError(problem)
    return text


def unnamed(text: str) -> str | None:
    """Return the hint at the first character beyond ASCII that no name has; None if there is none."""
    for character in text:
        if character.isascii():
            continue
        known = unicode_name(character, "without a name").lower()
        is_seen = character.isprintable() and not _INVISIBLE.match(character)
        label = f"{character!r} (U+{ord(character):04X}, {known})" if is_seen else f"U+{ord(character):04X} ({known})"
        meant = _plain_form(character)
        if meant is not None:
            return f"write {meant!r} in place of {label}"
        if not _is_part(character):
            return f"leave out {label}"
    return None


def _plain_form(character: str) -> str | None:
    """Return the letters that a character is another form of; None if it is none, or has no visible form."""
    form = decomposition(character).partition(" ")[0]
    meant = normalize("NFKC", character)
    # Thai and Lao write vowels that Unicode has two forms of: both are letters
    is_other = form.startswith("<") and (form != "<compat>" or meant.isascii() or character == "µ")
    return meant if is_other and meant.strip() and f"a{meant}".isidentifier() else None


def lookalike(name: str, meant: str) -> str:
    """Return the remark on a letter of another script in a name of the Latin letters of ``meant``; "" for none.

    >>> lookalike("сhannels", "channels"), lookalike("chanels", "channels")
    (" 'с' is U+0441, cyrillic small letter es", '')
    """
    other = next((character for character in name if not character.isascii()), None)
    if (
        other is None
        or not meant.isascii()
        or not any(character.isascii() and character.isalpha() for character in name)
    ):
        return ""
    return f" {other!r} is U+{ord(other):04X}, {unicode_name(other, 'without a name').lower()}"


def composed(text: str) -> str:
    """Return a text in the normal form NFC."""
    return text if text.isascii() else normalize("NFC", text)


def word_end(text: str, start: int) -> int:
    """Return the end of the longest name that begins at a place of a text; the place itself if none does.

    >>> word_end("宽度（2）", 0), word_end("2", 0)
    (2, 0)
    """
    found = WORD.match(text, start)
    if found is None or found[0].isascii():
        return start if found is None else found.end()
    end = start
    while end < found.end() and _is_part(text[end]):
        end += 1
    return end if text[start:end].isidentifier() else start


def full_width(text: str, start: int = 0) -> FullWidth | None:
    """Return the first full-width character of a text from a place on, None if it has none."""
    found = None if text.isascii() else _FULL_WIDTH.search(text, start)
    return None if found is None else FullWidth(found.start(), found[0], _ASCII[found[0]])


def misread(line: str) -> FullWidth | None:
    """Return the full-width character of a line of YAML where one of ASCII is needed, None if there is none.

    >>> misread("  - {name: fc， linear: 10}").column, misread("about: 卷积，步幅"), misread("名称： a").ascii
    (13, None, ':')
    """
    if line.isascii():
        return None
    bare = _QUOTED.sub(lambda found: "_" * len(found[0]), line)
    found = _INDENT.match(bare) or _BEHIND_KEY.match(bare) or _IN_BRACKETS.search(bare) or _OPENING.search(bare)
    return None if found is None else FullWidth(found.start(1), found[1], _ASCII[found[1]])


def conversion(content: bytes, path: str) -> str:
    """Return the hint at a file that is not UTF-8: the command that converts it from its probable encoding.

    ``path`` is ``-`` for standard input.
    """
    encoding = _encoding(content)
    target = "spec.yaml" if path == "-" else quote(f"{path.removesuffix('.yaml')}-utf8.yaml")
    command = f"iconv -f {encoding or 'ENCODING'} -t UTF-8 {quote(path)} > {target}"
    named = {None: "its encoding is not known: ", "GB18030": "it looks like GBK: "}.get(encoding, f"it is {encoding}: ")
    return f"{named}convert it with `{command}`, or save it as UTF-8"


def _encoding(content: bytes) -> str | None:
    """Return the probable encoding of a text that is not UTF-8, as iconv calls it; None if there is no telling."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    try:
        characters = [character for character in content.decode("gb18030") if not character.isascii()]
    except UnicodeDecodeError:
        return None
    # text in other encodings gives characters that are rare in Chinese, which GB 2312 does not have
    common = sum(_is_common(character) for character in characters)
    return "GB18030" if common >= 0.9 * len(characters) else None


def _is_common(character: str) -> bool:
    try:
        return bool(character.encode("gb2312"))
    except UnicodeEncodeError:
        return False
