"""Graphs of operations from foreign formats, and the readable spec documents that are made of them."""
