"""Reference pages as typed data: of operations, blocks, shipped specs and error codes."""
