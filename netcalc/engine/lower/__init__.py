"""Lowering graph nodes to steps, one module for each operation family."""
