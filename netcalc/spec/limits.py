"""Limits on the size of a spec.  They bound the time and memory that any input can cost."""

#: Values in a document, aliases expanded.
MAX_VALUES = 200_000
#: Levels of nested mappings and lists in a document.
MAX_DEPTH = 60
#: Characters of a number.
MAX_DIGITS = 1_000
#: Lines that are elaborated one by one, iterations that cannot be folded included.
MAX_LINES = 50_000
#: Block calls and iterations nested in each other.
MAX_BLOCK_DEPTH = 64
#: Iterations of one ``repeat``.
MAX_TIMES = 100_000_000
