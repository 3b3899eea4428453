"""Lines of code of the package, without blank lines, comments and docstrings, by folder.

python benchmarks/code_lines.py [FOLDER …]
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """Return the number of lines of a module that hold code.

    >>> code_lines('\"\"\"A module.\"\"\"\\n\\nx = 1  # one\\n')
    1
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def main(folders: list[str]) -> None:
    """Print the lines of each folder of the packages, and of all."""
    counts: Counter[str] = Counter()
    for folder in folders or ["netcalc"]:
        for path in Path(folder).rglob("*.py"):
            counts[str(path.parent)] += code_lines(path.read_text(encoding="utf-8"))
    for folder, lines in sorted(counts.items()):
        print(f"{lines:7,}  {folder}")
    print(f"{counts.total():7,}  in all")


if __name__ == "__main__":
    main(sys.argv[1:])
