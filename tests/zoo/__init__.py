"""Shipped specs against their reference implementations."""
